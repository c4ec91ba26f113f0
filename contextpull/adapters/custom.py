"""Retrievers of one's own, named by where they stand.

    my_module:MyRetriever          in a module of the current folder, or in one that is installed
    path/to/file.py:MyRetriever    in a file

The name may be that of an object with `retrieve(query, k)`, which is taken as it is, or that of a
class or a function, which is called: with all passages where it has a positional parameter
without a default, else with nothing. ragbisect makes its adapters of objects and classes in the
same way, so that one name serves both.
"""

import inspect
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from contextpull.errors import InvalidInput
from contextpull.types import Passage, Retriever

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched

MOST_AT_ONCE = 64
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_WITHOUT_DEFAULT = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def names_retriever(text: str) -> bool:
    """Whether a text has the form of such a name; what it names may still not be there."""
    module, _, attribute = text.rpartition(":")
    is_module = module.endswith(".py") or _MODULE.fullmatch(module) is not None
    return is_module and attribute.isidentifier()


def load_retriever(name: str, searched: "Searched") -> Retriever:
    """The retriever of this name; one that wants passages gets those that are searched.

    Raises InvalidInput where there is none of that name, it cannot be made, or it is no retriever.
    """
    module, _, attribute = name.rpartition(":")
    loaded = _module(name, module)
    if not hasattr(loaded, attribute):
        raise InvalidInput(
            f"{module!r} has no {attribute!r}. It has: {', '.join(_retrievers(loaded)) or 'none'}."
        )
    found = getattr(loaded, attribute)
    if inspect.isclass(found) or not hasattr(found, "retrieve"):
        found = _made(name, found, searched)
    if not callable(getattr(found, "retrieve", None)):
        raise InvalidInput(f"{name!r} has no method retrieve(query, k).")
    concurrency_of(found)
    return cast(Retriever, found)


def concurrency_of(retriever: object) -> int:
    """How many questions a retriever may be asked at once: its `concurrency`, 64 at most.

    1 where it does not say. Raises InvalidInput for anything but a whole number from 1.
    """
    given = getattr(retriever, "concurrency", None)
    if given is None:
        return 1
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise InvalidInput(
            f"concurrency of {type(retriever).__name__} must be a whole number from 1,"
            f" not {given!r}."
        )
    return min(given, MOST_AT_ONCE)


def passages_of(searched: "Searched") -> list[Passage]:
    """What is searched, as passages under the ids that count, in the order of these ids."""
    snapshot, ids = searched
    documents = snapshot.documents.values()
    rows = {row.number: row for each in documents for row in snapshot.database.sections_of(each)}
    return [Passage(ids[number], rows[number].text, rows[number].path) for number in ids]


def _module(name: str, module: str) -> ModuleType:
    """The module; its folder, or the current one where it is named without, can be imported."""
    path = Path(module).resolve()
    is_file = module.endswith(".py")
    if is_file and not path.is_file():
        raise InvalidInput(f"{name!r} cannot be loaded: there is no file {module!r}.")
    folder = str(path.parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _run_file(path) if is_file else import_module(module)
    except ModuleNotFoundError as error:
        if error.name and not is_file and f"{module}.".startswith(f"{error.name}."):
            raise InvalidInput(
                f"{name!r} cannot be loaded: no module {error.name!r} is installed or lies in"
                f" {folder}."
            ) from error
        raise _failed(name, "loaded", error) from error
    except (Exception, SystemExit) as error:  # whatever somebody's module does
        raise _failed(name, "loaded", error) from error


def _run_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"contextpull_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _made(name: str, make: Any, searched: "Searched") -> object:
    if not callable(make):
        raise InvalidInput(f"{name!r} has no method retrieve(query, k).")
    try:
        return make(passages_of(searched)) if _wants_passages(make) else make()
    except (Exception, SystemExit) as error:
        raise _failed(name, "made", error) from error


def _wants_passages(make: Any) -> bool:
    try:
        parameters = inspect.signature(make).parameters.values()
    except ValueError:  # nothing is known of some that are written in C
        return False
    return any(
        each.default is inspect.Parameter.empty and each.kind in _WITHOUT_DEFAULT
        for each in parameters
    )


def _retrievers(module: ModuleType) -> Sequence[str]:
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and hasattr(value, "retrieve")
    )


def _failed(name: str, what: str, error: BaseException) -> InvalidInput:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return InvalidInput(f"{name!r} cannot be {what}: {reason}")

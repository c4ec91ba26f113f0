"""How a model is named: one string, which a store can record and open again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.packs import PACKS, Kind, Pack

Form = Literal["pack", "folder", "sentence-transformers", "endpoint"]
_LIBRARY = "st:"
_SCHEMES = ("http://", "https://")
_PATH_STARTS = (".", "/", "~")


class Spec(NamedTuple):
    """A model's name, taken apart."""

    form: Form
    text: str
    """The spec in its one normal form: folders absolute, packs in their own spelling."""
    target: str
    """The pack's name, the folder, the library's name for the model, or the endpoint's URL."""
    model: str = ""
    """Endpoints only: the model that is asked for."""


def parse_spec(text: str, kind: Kind, packs: Iterable[Pack] = PACKS) -> Spec:
    """What a spec names. Raises `InvalidInput` with the forms that there are."""
    text = text.strip()
    if text.startswith(_SCHEMES):
        if kind != "embedder":
            raise InvalidInput(f"{text!r} is an endpoint, which only embeds. {forms(kind)}")
        return parse_endpoint(text, forms(kind))
    if text.startswith(_LIBRARY):
        name = text.removeprefix(_LIBRARY).strip()
        if not name:
            raise InvalidInput(f"{text!r} names no model. {forms(kind)}")
        target = str(Path(name).expanduser().absolute()) if _is_path(name) else name
        return Spec("sentence-transformers", f"{_LIBRARY}{target}", target)
    for pack in packs:
        if pack.name.casefold() == text.casefold():
            if pack.kind != kind:
                raise InvalidInput(f"The pack {pack.name} is no {kind}. {forms(kind, packs)}")
            return Spec("pack", pack.name, pack.name)
    if text and _is_path(text):
        folder = str(Path(text).expanduser().absolute())
        return Spec("folder", folder, folder)
    raise InvalidInput(f"{text!r} names no {kind}. {forms(kind, packs)}")


def check_named(recorded: str, named: str | None) -> None:
    """Raise ModelUnavailable for an endpoint that a store names and its user does not.

    A store may come from anybody: what is asked, and a key, go only where the user sends them.
    """
    if not recorded.startswith(_SCHEMES):
        return
    if not named or parse_spec(named, "embedder").text != recorded:
        raise ModelUnavailable(
            f"The vectors of this store come from {recorded}. Name it yourself to let text go"
            " there: --embedder, or CONTEXTPULL_EMBEDDER."
        )


def forms(kind: Kind, packs: Iterable[Pack] = PACKS) -> str:
    """A sentence that says how a model of this kind can be named."""
    names = " or ".join(pack.name for pack in packs if pack.kind == kind)
    listed = [
        f"a pack ({names})",
        "a folder with model.onnx and tokenizer.json (./my-model)",
        "st:NAME for sentence-transformers",
    ]
    if kind == "embedder":
        listed.append("http://HOST:PORT/v1#MODEL for an OpenAI-compatible endpoint")
    return f"Give {', '.join(listed[:-1])}, or {listed[-1]}."


def _is_path(text: str) -> bool:
    return text.startswith(_PATH_STARTS) or Path(text).is_dir()


def parse_endpoint(text: str, hint: str) -> Spec:
    """What `URL#MODEL` names. Raises InvalidInput, whose sentence ends with the hint."""
    address, _, model = text.partition("#")
    model = model.strip()
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"{address!r} is no URL: {error}. {hint}") from error
    if "@" in parts.netloc or parts.query:
        raise InvalidInput(
            "An endpoint's URL may hold no user, password or query, since it is recorded."
            f" Give the key apart. {hint}"
        )
    if not host or not model:
        raise InvalidInput(f"{text!r} names no host and #MODEL. {hint}")
    url = address.rstrip("/")
    return Spec("endpoint", f"{url}#{model}", url, model)

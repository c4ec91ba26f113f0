"""Options that several commands share."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from contextpull.retrieval.models import Models

DEFAULT_STORE = Path(".contextpull")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A decorator that adds all of these options, the first of them first in the help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_STORE,
    envvar="CONTEXTPULL_STORE",
    show_default=True,
    help="The store's folder.",
)
served_store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CONTEXTPULL_STORE",
    help="The store's folder.  [.contextpull here, or one in your cache]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
paths_option = click.option(
    "-p",
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Only this document, folder or glob; may be given several times.",
)


snippets_option = click.option(
    "--snippets",
    type=click.Choice(["heading", "short", "full"]),
    default="short",
    show_default=True,
    envvar="CONTEXTPULL_SNIPPETS",
    help="How much a search hit shows.",
)


mode_option = click.option(
    "--mode",
    type=click.Choice(["lexical", "dense", "hybrid", "rerank"]),
    envvar="CONTEXTPULL_MODE",
    help="How to rank: by words, by vectors, by both, by both and then by a cross-encoder."
    "  [hybrid where the store keeps vectors, else lexical]",
)
embedder_option = click.option(
    "--embedder",
    metavar="MODEL",
    envvar="CONTEXTPULL_EMBEDDER",
    help="The model that makes vectors: a pack of `contextpull models`, a folder with an ONNX"
    " model, st:NAME for sentence-transformers, or URL#NAME for an OpenAI-compatible endpoint."
    " A store remembers it; an endpoint is only asked where it is named.",
)
reranker_option = click.option(
    "--reranker",
    metavar="MODEL",
    default="ms-marco-MiniLM-L-12-v2",
    show_default=True,
    envvar="CONTEXTPULL_RERANKER",
    help="The cross-encoder that --mode rerank uses: a pack, a folder, or st:NAME.",
)
api_key_option = click.option(
    "--api-key",
    default="",
    envvar="CONTEXTPULL_API_KEY",
    help="What an endpoint wants to see; better given as CONTEXTPULL_API_KEY.",
)


watch_options = together(
    click.option("--watch", is_flag=True, help="Follow the folder: read what changes."),
    click.option(
        "--watch-poll",
        type=click.FloatRange(0.1, 86_400),
        metavar="SECONDS",
        help="Follow it by looking through it so often, where the system does not tell of"
        " changes. Known network file systems are recognised.",
    ),
)
"""Whether to follow the folder, and how."""


def _joined(_context: click.Context, _option: click.Parameter, rules: Sequence[str]) -> str | None:
    return ",".join(rules) if rules else None


read_as_option = click.option(
    "--read-as",
    multiple=True,
    callback=_joined,
    metavar="PATTERN=FORMAT",
    help="Read files as another format than their names say, or of names that say none:"
    " '*.txt=rst'; may be given several times. '' goes by the names again.",
)
cut_options = together(
    click.option("--heading-depth", type=int, help="Headings of levels 1 to this cut.  [6]"),
    click.option("--max-chars", type=int, help="Longer sections are split.  [2000]"),
    click.option("--hard-max-chars", type=int, help="Longer code is split.  [8000]"),
    click.option("--min-chars", type=int, help="Shorter fragments are merged.  [40]"),
    read_as_option,
)
"""How documents are read and cut; what is not given stays as the store was made."""


budget_options = together(
    click.option("--max-usd", type=float, help="Stop asking at this cost."),
    click.option(
        "--max-tokens", type=click.IntRange(min=1), help="Stop asking after so many tokens."
    ),
)
"""What asking may cost."""


def concurrency_option(what: str, most: int = 64) -> Callable[[_Command], _Command]:
    """How much a model is asked for at once, of which `what` tells users."""
    return click.option(
        "--concurrency",
        default=4,
        show_default=True,
        type=click.IntRange(1, most),
        help=what,
    )


writer_key_option = click.option(
    "--writer-key",
    default="",
    envvar="CONTEXTPULL_MODEL_KEY",
    help="The key for --writer; better given as CONTEXTPULL_MODEL_KEY.",
)


def names_in(value: str) -> tuple[str, ...]:
    """The names in the value of an option, separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in value.split(",")))


def chosen_of(known: tuple[str, ...], noun: str) -> Callable[..., tuple[str, ...]]:
    """What checks an option that names some of what is known, separated by commas."""

    def choose(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
        names = names_in(value)
        for name in names:
            if name not in known:
                raise click.BadParameter(f"{name!r} is no {noun}. Choose from: {', '.join(known)}.")
        return names

    return choose


def models_of(options: dict[str, Any], *, keep_all_vectors: bool = False) -> "Models":
    """The models that `embedder_option`, `reranker_option` and `api_key_option` name."""
    from contextpull.retrieval.models import Models

    named = {name: options[name] for name in ("embedder", "reranker", "api_key")}
    return Models(**named, keep_all_vectors=keep_all_vectors)


def print_json(record: object) -> None:
    """Print a record as JSON."""
    click.echo(json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2))

"""The rows that measuring commands share: their names, and how they are opened."""

import os
from collections.abc import Callable, Iterator, Sequence
from math import inf, nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import click

from contextpull.cli.options import api_key_option, reranker_option
from contextpull.cli.progress import progress_bar
from contextpull.config import Mode, cache_folder

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched
    from contextpull.types import Retriever

ROWS: dict[str, tuple[Mode, Literal["scores", "ranks"]]] = {
    "bm25": ("lexical", "scores"),
    "dense": ("dense", "scores"),
    "hybrid": ("hybrid", "scores"),
    "hybrid-rrf": ("hybrid", "ranks"),
    "hybrid+rerank": ("rerank", "scores"),
}
"""The rows by name, each with the mode of search that it is, and by what that fuses."""
ROWS_HELP = (
    f"Rows: {', '.join(ROWS)}. hybrid-rrf is reciprocal rank fusion, k = 60. A number behind a"
    " hybrid says what words weigh: hybrid:0.7 gives them 0.7 and vectors 0.3, hybrid-rrf:2 twice"
    " the weight of vectors."
    "\n\n"
    "MODULE:NAME and FILE.py:NAME are rows of your own: an object with retrieve(query, k), or a"
    " class or function that makes one, of the current folder or installed. If it takes an argument"
    " it gets the sections, each with id, text and source. `concurrency` questions are asked at"
    " once, and what stats() counts is reported. ragbisect takes the same for its adapters."
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _names(value: str, is_other: Callable[[str], bool]) -> tuple[str, ...]:
    """The rows that are asked for; `is_other` knows those that are no push rows."""
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is named more than once.")
        if is_other(name):
            continue
        if _is_own(name):
            continue
        row, weight = _parts(name)
        if row not in ROWS:
            raise click.BadParameter(
                f"{name!r} is no row. Choose from: {', '.join(ROWS)}; or name a retriever of your"
                " own: MODULE:NAME or FILE.py:NAME."
            )
        if weight is not None and not _is_weight(row, weight):
            raise click.BadParameter(
                f"{name!r}: hybrid takes 0 to 1, hybrid-rrf any number from 0."
            )
    return names


def _parts(name: str) -> tuple[str, float | None]:
    """A row's name and what words weigh in it; not a number where that is none."""
    row, colon, weight = name.partition(":")
    try:
        return row, float(weight) if colon else None
    except ValueError:
        return row, nan


def _is_own(name: str) -> bool:
    """Whether a row is a retriever of the user's: no row of ours stands before a colon."""
    from contextpull.adapters.custom import names_retriever

    return name.partition(":")[0] not in ROWS and names_retriever(name)


def _is_weight(row: str, weight: float) -> bool:
    mode, by = ROWS[row]
    return mode in {"hybrid", "rerank"} and 0 <= weight <= (1 if by == "scores" else inf)


def rows_option(is_other: Callable[[str], bool] = lambda _name: False) -> Callable[..., Any]:
    """The option that names rows: push rows, and others that `is_other` knows."""
    return click.option(
        "--rows",
        default="bm25",
        show_default=True,
        callback=lambda _context, _parameter, value: _names(value, is_other),
        help="What to measure, separated by commas.",
    )


seed_option = click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the bootstrap.",
)
close_gold_option = click.option(
    "--close-gold",
    is_flag=True,
    help="Sections with exactly the text of a gold section count as that gold too, once.",
)
by_shape_option = click.option(
    "--by-shape/--no-shapes",
    "by_shape",
    default=True,
    help="Show each row by shape too, or over all questions only.  [default: --by-shape]",
)
rounds_option = click.option(
    "--rounds",
    default=10_000,
    show_default=True,
    type=click.IntRange(100, 1_000_000),
    help="Rounds of the bootstrap; fewer than 1,000 give shaky intervals.",
)


def row_model_options(command: _Command) -> _Command:
    """The models of the rows `dense`, `hybrid` and `hybrid+rerank`."""
    embedder = click.option(
        "--embedder",
        metavar="MODEL",
        default="bge-small-en-v1.5",
        show_default=True,
        help="What makes the vectors: a pack, a folder, st:NAME, or URL#NAME.",
    )
    return embedder(reranker_option(api_key_option(command)))


class RowModels(NamedTuple):
    """The models that rows may need, by name."""

    embedder: str
    reranker: str
    api_key: str


def open_rows(
    names: Sequence[str], searched: "Searched", named: RowModels, *, embed: bool = True
) -> Iterator[tuple[str, "Retriever"]]:
    """The rows of these names over the same sections, all with the same models.

    Without `embed` the store is used as it is: it must keep vectors already.
    """
    # The engine behind it takes a moment to load, which `--help` should not wait for.
    from contextpull.adapters import push
    from contextpull.adapters.custom import load_retriever
    from contextpull.retrieval.models import Models
    from contextpull.retrieval.ranking import Fusion

    # What cannot be made is said before the first question, and before anything is embedded.
    own = {name: load_retriever(name, searched) for name in names if _is_own(name)}
    if any(ROWS[_parts(name)[0]][0] != "lexical" for name in names if name not in own):
        if embed:
            searched = _with_vectors(searched, named)
        push.require_vectors(searched.snapshot)  # before the first question
    # Rows are asked the same questions: each is embedded once.
    models = Models(
        embedder=named.embedder,
        reranker=named.reranker,
        api_key=named.api_key,
        keep_all_vectors=True,
    )
    for name in names:
        if name in own:
            yield name, own[name]
            continue
        row, weight = _parts(name)
        mode, by = ROWS[row]
        yield name, push.Push(searched, mode, models, Fusion(by, weight))


def _with_vectors(searched: "Searched", named: RowModels) -> "Searched":
    from contextpull.adapters import push
    from contextpull.models.embedding import open_embedder

    embedder = open_embedder(named.embedder, api_key=named.api_key)
    cache = cache_folder(os.environ) / "vectors"
    with progress_bar("embedding", "count") as bar:
        return push.with_vectors(searched, embedder, cache=cache, progress=bar)

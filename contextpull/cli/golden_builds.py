"""`contextpull golden sweep`: a corpus cut anew in many ways; what `golden chunking` shares."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.golden_measuring import (
    check_output,
    golden_record,
    questions_of,
    questions_options,
    whole_numbers,
)
from contextpull.cli.options import (
    DEFAULT_STORE,
    api_key_option,
    chosen_of,
    embedder_option,
    json_option,
    models_of,
    print_json,
    read_as_option,
    reranker_option,
    together,
)
from contextpull.cli.progress import bar_on_terminal
from contextpull.cli.rows import rounds_option, seed_option
from contextpull.config import cache_folder

if TYPE_CHECKING:
    from contextpull.eval.golden.chunking.corpus import SourceCorpus
    from contextpull.eval.metered import Spent
    from contextpull.models.embedding import Embedder

_HERE = click.Path(path_type=Path)
_CUTTERS = ("sections", "recursive", "sentence", "fixed", "semantic")
"""As `contextpull.eval.golden.sweep` has them, without loading it for `--help`."""
_ANSWERS_BETWEEN_LINES = 20

_SWEEP_HELP = """Cut and index FOLDER anew for every combination, and ask a GOLDEN file of each.

\b
  --cutter    sections   our own: at headings, then at blocks; what an ingest does
              recursive  at paragraphs, else sentences, lines, words
              sentence   whole sentences
              fixed      so many characters, to the word
              semantic   between the neighbouring sentences least alike (needs --embedder)
  --headings  in: headings, title and description are searched with each section, as an ingest
              has it; out: without them

--min-chars and --heading-depth are of `sections` alone, --overlap is of all others: a piece begins
so much earlier, with a word, but under the same headings. Files are read once, as the store of
FOLDER reads them if there is one. Each build lies in a scratch folder that is gone afterwards: no
store is changed. Questions are scored as by `golden report`, at a grain that no cutting moves:
documents, pages, or evidence. A label that names a section counts as its document; --by section is
refused.

Rows are ranked by nDCG, then MRR, then the median time of a search. The best one is named with
whether its distance to the next could be luck (permutation test, Holm over all
comparisons with the best), and with the command that ingests so.

\b
Examples:
  contextpull golden sweep golden.jsonl ./docs
  contextpull golden sweep golden.jsonl ./docs --cutter sections,recursive --headings in,out
  contextpull golden sweep golden.jsonl ./docs --cutter recursive --overlap 0,20
  contextpull golden sweep golden.jsonl ./docs --by evidence --embedder bge-small-en-v1.5 \\
    --settings lexical,dense,hybrid

Exit code: 0, 1 when a search failed (it counts as a miss), 2 when nothing could be measured.
"""


def build_options(default_headings: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The arguments and options that both commands have."""
    return together(
        click.argument("golden", type=_HERE),
        click.argument("folder", type=_HERE),
        questions_options,
        click.option(
            "--store",
            type=click.Path(path_type=Path, file_okay=False),
            envvar="CONTEXTPULL_STORE",
            help="A store that was read from FOLDER: its --read-as holds, and its name for the"
            " folder begins paths. It is not changed.  [.contextpull, if there is one]",
        ),
        read_as_option,
        click.option(
            "--headings",
            default=default_headings,
            show_default=True,
            callback=chosen_of(("in", "out"), "way to search headings"),
            help="Whether headings are searched with each section: in, out, or both.",
        ),
        numbers_option(
            "--overlap",
            "0",
            "What a piece carries over from the text before it, in percent of its size; our own"
            " sections never overlap.",
        ),
        embedder_option,
        reranker_option,
        api_key_option,
        json_option,
        click.option("--markdown", is_flag=True, help="Print Markdown."),
        seed_option,
    )


def numbers_option(name: str, default: str, text: str) -> Callable[..., Any]:
    """An option of whole numbers, separated by commas."""
    return click.option(name, default=default, show_default=True, callback=whole_numbers, help=text)


@click.command(name="sweep", help=_SWEEP_HELP)
@build_options("in")
@numbers_option("--max-chars", "1000,2000", "The most characters of a section.")
@numbers_option("--min-chars", "40", "Shorter sections are merged.")
@numbers_option("--heading-depth", "6", "Headings of levels 1 to this cut.")
@click.option(
    "--cutter",
    "cutters",
    default="sections",
    show_default=True,
    callback=chosen_of(_CUTTERS, "cutter"),
    help="The ways to cut, separated by commas.",
)
@click.option(
    "--settings",
    default="lexical",
    show_default=True,
    help="The ways to search, as in golden report.",
)
@click.option(
    "--by",
    type=click.Choice(["doc", "page", "evidence", "section"]),
    default="doc",
    show_default=True,
    help="What counts as found; section is refused, since it moves with the cutting.",
)
@numbers_option("--k", "1,3,5,10", "Cut-offs.")
@rounds_option
@click.pass_context
def sweep_command(context: click.Context, /, **options: Any) -> None:
    """Measure and print; the help text above is for users."""
    from contextpull.eval.golden.reporting import checked_cutoffs
    from contextpull.eval.golden.settings import parse_settings
    from contextpull.eval.golden.sweep import check_embedder, check_grain, sweep, sweep_builds
    from contextpull.eval.golden.sweep_table import (
        render_sweep,
        render_sweep_markdown,
        sweep_record,
    )

    check_output(options)
    check_grain(options["by"])
    cutoffs = checked_cutoffs(options["k"])
    settings = parse_settings(options["settings"])
    builds = sweep_builds(
        options["cutters"],
        options["max_chars"],
        options["min_chars"],
        options["heading_depth"],
        headings_of(options),
        options["overlap"],
    )
    check_embedder(builds, settings, options["embedder"])
    questions = questions_of(options["golden"], options)
    with builds_progress() as told:
        corpus = corpus_of(options)
        report = sweep(
            corpus,
            questions,
            builds,
            settings,
            by=options["by"],
            k=cutoffs,
            embedder=opened_embedder(options),
            models=models_of(options, keep_all_vectors=True),
            cache=cache_folder(os.environ) / "vectors",
            rounds=options["rounds"],
            seed=options["seed"],
            on_progress=told.step,
        )
    if options["as_json"]:
        print_json({"golden": golden_record(options["golden"], options), **sweep_record(report)})
    else:
        render = render_sweep_markdown if options["markdown"] else render_sweep
        click.echo(render(report), nl=False)
    context.exit(1 if any(each.measured.row.failures for each in report.rows) else 0)


def corpus_of(options: dict[str, Any]) -> "SourceCorpus":
    """The documents of the folder, read as the store reads them where it is of that folder."""
    from contextpull.eval.golden.chunking.corpus import read_corpus
    from contextpull.store.database import FILE

    store = options["store"] or (DEFAULT_STORE if (DEFAULT_STORE / FILE).exists() else None)
    return read_corpus(options["folder"], store, read_as=options["read_as"])


def opened_embedder(options: dict[str, Any]) -> "Embedder | None":
    """The embedder that is named, if one is."""
    from contextpull.models.embedding import open_embedder

    spec = options["embedder"]
    return open_embedder(spec, api_key=options["api_key"]) if spec else None


def headings_of(options: dict[str, Any]) -> tuple[bool, ...]:
    """Whether headings are searched, for each way that is named."""
    return tuple(each == "in" for each in options["headings"])


class BuildsTold:
    """What is said on stderr while builds are made and models asked."""

    def __init__(self, show: Callable[[str, int, int], None]) -> None:
        self._show = show
        self._last = ("", 0, 0)

    def step(self, name: str, done: int, total: int) -> None:
        """Another build is begun, or answers are asked for."""
        self._last = (name, done, total)
        self._show(*self._last)

    def asked(self, done: int, _total: int, spent: "Spent") -> None:
        """A model has answered."""
        if done % _ANSWERS_BETWEEN_LINES == 0:
            tokens = spent.tokens.input + spent.tokens.output
            cost = f", ${spent.dollars:.2f}" if spent.dollars else ""
            name, at, total = self._last
            failed = f", {spent.failures} failed" if spent.failures else ""
            self._show(f"{name}: {done} answers, {tokens:,} tokens{cost}{failed}", at, total)


@contextmanager
def builds_progress() -> Iterator[BuildsTold]:
    """A bar on a terminal, else a line each time."""
    with bar_on_terminal("count") as bar:
        if bar is None:
            yield BuildsTold(_line)
            return
        task = bar.add_task("reading", total=None)
        yield BuildsTold(
            lambda name, done, total: bar.update(
                task, description=name, completed=done, total=total
            )
        )


def _line(name: str, done: int, total: int) -> None:
    if name:
        click.echo(f"{name} ({done} of {total} done)", err=True)

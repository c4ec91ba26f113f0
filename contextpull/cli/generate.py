"""`contextpull eval generate`: make an eval set out of a corpus."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import chosen_of, concurrency_option, print_json, writer_key_option
from contextpull.cli.progress import bar_on_terminal
from contextpull.cli.sections import check_sections, open_sections, sections_options

if TYPE_CHECKING:
    from contextpull.eval.generation.chat_writer import ChatWriter
    from contextpull.eval.generation.generating import Generated
    from contextpull.eval.generation.saving import Files
    from contextpull.eval.generation.writing import AskedWriter

_SHAPES = ("conceptual", "exact_lookup", "comparison", "aggregation", "table")
"""As `contextpull.eval.generation.plan` has them, without loading it for `--help`."""

_HELP = """Make an eval set over the sections of a corpus, in five shapes.

\b
  aggregation   which sections mention a name, or the names of one family; by rule
  table         the value of one cell, by its row and its column; by rule
  exact_lookup  what a name means; by rule, or by a writer where one is given
  conceptual    what a section says, in other words than its own; needs a writer
  comparison    how two nearly equal sections of two documents differ; needs a writer

A writer is a model: --writer anthropic:NAME, openai:NAME, openai-chat:NAME, or URL#NAME for an
endpoint that speaks OpenAI's chat completions. What it writes is checked: quotes must stand in
the section, and a question must neither copy its section nor point at it.

The same seed over the same sections makes the same questions. A shape that the corpus cannot
support is skipped, and the reason said. Beside FILE.jsonl lies FILE.report.json, which lists
everything that was tried and set aside, and why; and FILE.answers.jsonl, which keeps what the
writer answered, so that an interrupted run goes on where it stopped.

\b
Examples:
  contextpull eval generate --store .contextpull --out questions.jsonl
  contextpull eval generate --sections sections.jsonl --shapes table --per-shape 20 --out t.jsonl

Exit code: 0 when there are questions, 1 when there is none (no file is written then), 2 for an
error.
"""


@click.command(name="generate", help=_HELP)
@sections_options
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write: JSON lines, in ragbisect's format.",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
@click.option(
    "--shapes",
    default=",".join(_SHAPES),
    show_default=True,
    callback=chosen_of(_SHAPES, "shape"),
    help="Which shapes to make, separated by commas.",
)
@click.option(
    "--per-shape",
    default=100,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="How many questions of each shape; fewer where the corpus holds no more.",
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the choice."
)
@click.option(
    "--most-gold",
    default=5,
    show_default=True,
    type=click.IntRange(2, 100),
    help="Most gold sections of a question; with more than k, recall@k cannot reach 1.",
)
@click.option("--writer", "spec", metavar="MODEL", help="The model that writes questions.")
@writer_key_option
@concurrency_option("Questions that the writer is asked at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def generate_command(
    context: click.Context,
    store_path: Path | None,
    sections_path: Path | None,
    out: Path,
    force: bool,
    shapes: tuple[str, ...],
    per_shape: int,
    seed: int,
    most_gold: int,
    spec: str | None,
    writer_key: str,
    concurrency: int,
    as_json: bool,
) -> None:
    """Make the questions and write them; the help text above is for users."""
    from contextpull.eval.generation.corpus import corpus_of
    from contextpull.eval.generation.generating import generate
    from contextpull.eval.generation.plan import Plan
    from contextpull.eval.generation.saving import check_target, files_of, save
    from contextpull.eval.generation.writing import AskedWriter

    check_sections(sections_path, store_path)
    files = files_of(out)
    check_target(files, force=force)
    plan = Plan(shapes, per_shape, seed, most_gold, workers=concurrency)
    chat = open_writer(spec, writer_key) if spec else None
    writer = AskedWriter(chat, chat.name, files.answers) if chat else None
    with open_sections(sections_path, store_path) as searched, _progress() as on_progress:
        generated = generate(corpus_of(searched), plan, writer, on_progress)
    if generated.questions:
        save(generated, files, writer=chat.name if chat else "", force=force)
    _print(generated, files, _writer_record(chat, writer), as_json=as_json)
    context.exit(0 if generated.questions else 1)


def open_writer(spec: str, key: str) -> "ChatWriter":
    """The writer that a spec names; nothing is sent yet."""
    from contextpull.eval.generation.chat_writer import ChatWriter
    from contextpull.models.chat import open_chat

    return ChatWriter(open_chat(spec, api_key=key))


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar a shape on stderr; nothing where nobody watches."""
    with bar_on_terminal("count") as bar:
        if bar is None:
            yield None
            return
        tasks = {shape: bar.add_task(shape, visible=False) for shape in _SHAPES}

        def show(shape: str, done: int, wanted: int) -> None:
            bar.update(tasks[shape], completed=done, total=wanted, visible=True)

        yield show


def _writer_record(chat: "ChatWriter | None", writer: "AskedWriter | None") -> dict[str, Any]:
    """What the writer was asked and what that took; empty without one."""
    if chat is None or writer is None:
        return {}
    return {"model": chat.name, **writer.count._asdict(), "tokens": chat.usage._asdict()}


def _print(
    generated: "Generated", files: "Files", writer: dict[str, Any], *, as_json: bool
) -> None:
    from contextpull.eval.generation.saving import corpus_record, shape_record

    wanted = generated.plan.per_shape
    shapes = {each.shape: shape_record(each, wanted) for each in generated.made}
    written = bool(generated.questions)
    if as_json:
        record = {
            "out": str(files.questions) if written else None,
            "sidecar": str(files.sidecar) if written else None,
            "questions": len(generated.questions),
            "corpus": corpus_record(generated),
            "shapes": shapes,
            "writer": writer or None,
            "set_aside": [item._asdict() for each in generated.made for item in each.set_aside],
        }
        print_json(record)
        return
    for shape, each in shapes.items():
        click.echo(_line(shape, each))
    if writer:
        click.echo(
            f"The writer was called {writer['calls']} times, {writer['failed']} of them in vain;"
            f" {writer['cached']} answers were kept from before."
        )
    click.echo(
        f"{len(generated.questions)} questions are in {files.questions};"
        f" what was set aside, and why, is in {files.sidecar}."
        if written
        else "There is no question, so nothing was written."
    )


def _line(shape: str, record: dict[str, Any]) -> str:
    counts = f"{shape:<14}{record['questions']:>5} of {record['wanted']}"
    if record["skipped"]:
        return f"{counts}  skipped: {record['skipped']}"
    aside = f"{record['set_aside']} set aside" if record["set_aside"] else ""
    by = "by a writer" if record["by"] == "writer" else "by rule"
    notes = "; ".join(filter(None, (by, aside, record["stopped"])))
    return f"{counts}  {notes}"

"""`contextpull eval run`: rows over an eval set, pushes and agents side by side."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.agents import (
    AGENTS_HELP,
    AgentOptions,
    agent_options,
    asking_progress,
    check_stops,
    interruptible,
    is_agent,
    open_agent,
)
from contextpull.cli.gates import check_gates, gates_option
from contextpull.cli.progress import progress_bar
from contextpull.cli.rows import (
    ROWS_HELP,
    RowModels,
    by_shape_option,
    close_gold_option,
    open_rows,
    rounds_option,
    row_model_options,
    rows_option,
    seed_option,
)
from contextpull.cli.sections import check_sections, open_sections, sections_options

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched
    from contextpull.eval.closing import ClosedGold
    from contextpull.eval.ledger import Ledger
    from contextpull.eval.runs import Row
    from contextpull.eval.transcripts import Transcript

_HELP = f"""Ask every question and print how often the right sections come back.

Each row of the table is one way to search. It shows recall@k (the share of the gold that is among
the first k sections), mrr@k (how early the first gold stands) and ndcg@k|hit (how well gold is
placed where it is found at all), over all questions and for each shape of question. The brackets
hold a 95% interval: how far the figure could move with other questions of the same kind.

Every row is then set beside the push row with the best recall@k, over all questions and by shape:
the difference, the p-value of a paired permutation test, the same corrected for the number of
comparisons (Holm), and the smallest difference that so many questions could have shown. "cannot
tell" says that nothing was shown, not that the rows are alike.

Give the sections with either --sections or --store. The gold of every question must be among
them; where it is not, nothing is scored.

\b
Examples:
  contextpull eval run --questions questions.jsonl --store .contextpull
  contextpull eval run --questions questions.jsonl --sections sections.jsonl --k 10 --json
  contextpull eval run --questions questions.jsonl --store .contextpull --rows bm25,pull \\
      --model anthropic:claude-haiku-4-5 --sample 50 --max-usd 2 --out runs/first

{ROWS_HELP}

{AGENTS_HELP}

--out keeps a run as a folder: what agents did is written as it happens, so that a run that was
stopped goes on where it was, and --offline prints it again without asking anybody. What failed is
asked again; a changed model, prompt, tool or corpus is another question.

A budget (--max-usd, --max-tokens) is for all rows of this command together and counts only what is
newly spent: answers that are kept cost nothing, and the same command goes on with a budget of its
own. What is under way when it is spent is still finished. Asking also ends where it can only go on
failing: a key that is refused, a model that is not there. What was not asked is listed.

Exit code: 0 when every question was answered, 1 when one failed or was not asked (it is listed and
counts as a miss) or a --min was not reached, 2 when nothing could be measured, 130 or 143 when it
was interrupted.
"""
_HERE = click.Path(path_type=Path)


@click.command(name="run", help=_HELP)
@click.option(
    "--questions",
    "questions_path",
    required=True,
    type=_HERE,
    help="The eval set: JSON lines with id, q, shape, gold_chunk_ids (ragbisect's format).",
)
@sections_options
@rows_option(is_agent)
@row_model_options
@agent_options
@click.option("--shapes", help="Only questions of these shapes, separated by commas.")
@click.option(
    "--sample", type=click.IntRange(min=1), help="Only so many questions, drawn by the seed."
)
@click.option(
    "--repeats",
    default=1,
    show_default=True,
    type=click.IntRange(1, 20),
    help="How often agents are asked each question.",
)
@click.option(
    "--answers",
    is_flag=True,
    help="Also ask rows of your own that have generate(query, ids) for answers; --out keeps them.",
)
@click.option("--out", type=_HERE, help="Keep the run in this folder.")
@click.option(
    "--offline",
    is_flag=True,
    help="Ask no agent; all must be in the folder --out. Rows of your own are asked all the same.",
)
@click.option("--max-usd", type=float, help="Stop asking agents at this new cost.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Stop asking after so many new tokens."
)
@close_gold_option
@gates_option
@click.option(
    "--k",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many sections each answer may hold.",
)
@by_shape_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@seed_option
@rounds_option
@click.pass_context
def run_command(context: click.Context, /, **options: Any) -> None:
    """Measure the rows and print them; the help text above is for users."""
    from contextpull.eval.statistics import require_numpy

    check_sections(options["sections_path"], options["store_path"])
    if options["offline"] and not options["out"]:
        raise click.UsageError("--offline needs the run's folder: --out.")
    require_numpy()  # before an index is built in vain
    run = _Run(options)
    out = options["out"]
    with interruptible(out), _ledger(out) as ledger:  # a folder that cannot be used is said now
        with open_sections(options["sections_path"], options["store_path"]) as searched:
            run.measure(searched, ledger)
        run.show()
    failed = any(row.failures or row.unanswered for row in run.rows)
    means = {
        row.name: {name: each.mean for name, each in row.overall.measures.items()}
        for row in run.rows
    }
    context.exit(1 if failed or not check_gates(options["gates"], means) else 0)


class _Run:
    """One run of the command: what was asked for, and what came of it."""

    def __init__(self, options: dict[str, Any]) -> None:
        from contextpull.adapters.ragbisect import load_questions
        from contextpull.eval.metered import Budget
        from contextpull.eval.running import Settings, chosen

        self._options = options
        self._agent_names = [name for name in options["rows"] if is_agent(name)]
        self._push_names = [name for name in options["rows"] if not is_agent(name)]
        shapes = [each.strip() for each in (options["shapes"] or "").split(",") if each.strip()]
        loaded = load_questions(options["questions_path"])
        self._questions = chosen(loaded, shapes, options["sample"], options["seed"])
        asked = {each.shape for each in self._questions}
        self._left_out = sorted({each.shape for each in loaded} - asked - {""})
        self._settings = Settings(
            options["k"], options["rounds"], options["seed"], options["repeats"]
        )
        self.rows: list[Row] = []
        self._agents: dict[str, dict[str, Any]] = {}
        self._failures: dict[tuple[str, str, int], Transcript] = {}
        self._corpus = ""
        self._budget = Budget(options["max_tokens"], options["max_usd"])
        self._closed: ClosedGold | None = None
        self._copies: dict[str, str] = {}

    def measure(self, searched: "Searched", ledger: "Ledger") -> None:
        """Measure all rows over the same sections, pushes first."""
        from contextpull.eval.closing import close_gold, section_texts
        from contextpull.eval.running import corpus_fingerprint
        from contextpull.eval.runs import check_gold

        check_gold(self._questions, set(searched.ids.values()))
        if self._options["close_gold"]:
            self._closed = close_gold(self._questions, section_texts(searched))
            self._questions, self._copies = list(self._closed.questions), self._closed.copies
        if self._agent_names or self._options["out"]:
            self._corpus = corpus_fingerprint(searched.snapshot)
        self._measure_pushes(searched)
        for name in self._agent_names:
            self._measure_agent(name, searched, ledger)
        check_stops(self._agents, self._options["out"], is_alone=not self._push_names)

    def _measure_pushes(self, searched: "Searched") -> None:
        from contextpull.eval.runs import evaluate

        options, settings = self._options, self._settings
        models = RowModels(options["embedder"], options["reranker"], options["api_key"])
        embed = options["store_path"] is None
        for name, retriever in open_rows(self._push_names, searched, models, embed=embed):
            with progress_bar(name, "share") as on_progress:
                row = evaluate(
                    retriever,
                    self._questions,
                    name=name,
                    k=settings.k,
                    copies=self._copies,
                    rounds=settings.rounds,
                    seed=settings.seed,
                    known_ids=searched.ids.values(),
                    answers=options["answers"],
                    on_progress=on_progress,
                )
            self.rows.append(row)

    def _measure_agent(self, name: str, searched: "Searched", ledger: "Ledger") -> None:
        from contextpull.eval.pricing import price_of
        from contextpull.eval.running import measure_agent
        from contextpull.store import open_store

        options = self._options
        store = open_store(searched.snapshot.database.path.parent)
        given = {each: options[each] for each in AgentOptions._fields}
        agent = open_agent(name, store, AgentOptions(**given))
        with asking_progress(name) as on_progress:
            measured = measure_agent(
                agent,
                self._questions,
                ledger,
                self._settings,
                corpus=self._corpus,
                price=price_of(options["model"] or ""),
                budget=self._budget,
                copies=self._copies,
                offline=options["offline"],
                on_progress=on_progress,
            )
        self.rows += [measured.read, measured.surfaced]
        self._agents[name] = measured.record
        self._failures |= {(name, *job): each for job, each in measured.failed.items()}

    def show(self) -> None:
        """Print the figures, and write the run's folder where one is named."""
        from contextpull.eval.run_directory import write_run
        from contextpull.eval.run_table import render_run
        from contextpull.eval.running import compared_with_best_push, full_report

        beside = compared_with_best_push(self.rows, self._push_names, self._settings)
        report = full_report(self.rows, self._agents, beside, self._settings, self._closed)
        model = self._options["model"]
        render = partial(render_run, self.rows, self._agents, beside, self._closed, model)
        if self._options["out"]:
            write_run(
                self._options["out"],
                manifest=self._manifest(),
                questions=self._questions,
                rows=self.rows,
                failures=self._failures,
                report=report,
                table=render(),
            )
        if self._options["as_json"]:
            click.echo(json.dumps(report, ensure_ascii=False, allow_nan=False, indent=2))
        else:
            click.echo(render(by_shape=self._options["by_shape"]), nl=False)

    def _manifest(self) -> dict[str, Any]:
        from contextpull import __version__
        from contextpull.eval.generation.saving import skipped_shapes
        from contextpull.eval.run_directory import questions_digest

        options, closed = self._options, self._closed
        return {
            "contextpull": __version__,
            "has_text": True,
            "rows": list(options["rows"]),
            "model": options["model"],
            "settings": self._settings._asdict(),
            "corpus": self._corpus,
            "questions": questions_digest(closed.with_copies() if closed else self._questions),
            "skipped": {
                **skipped_shapes(options["questions_path"]),
                **dict.fromkeys(self._left_out, "not drawn: --shapes and --sample left it out"),
            },
            "close_gold": closed and {"questions": closed.affected, "copies": closed.copies},
            "models": {name: options[name] for name in ("embedder", "reranker")},
            "limits": {name: options[name] for name in ("max_turns", "max_usd", "max_tokens")},
        }


@contextmanager
def _ledger(out: Path | None) -> Iterator["Ledger"]:
    """Where transcripts are kept: in the run's folder, or for the length of the command."""
    from contextpull.eval.ledger import Ledger
    from contextpull.eval.run_directory import writing_run

    if out is not None:
        with writing_run(out) as ledger:
            yield ledger
        return
    with TemporaryDirectory(prefix="contextpull-") as folder:
        yield Ledger(Path(folder, "transcripts.jsonl"))

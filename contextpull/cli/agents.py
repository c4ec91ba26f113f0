"""The rows of agents: their names, how they are opened, how they are asked."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from contextpull.cli.options import concurrency_option, together
from contextpull.cli.progress import bar_on_terminal

if TYPE_CHECKING:
    from contextpull.eval.asking import Agent
    from contextpull.eval.metered import Progress, Spent
    from contextpull.store import Store

AGENTS: dict[str, dict[str, Any]] = {
    "pull": {},
    "pull-strict": {"strict": True},
    "pull-json": {"actions": "json"},
    "pull-json-strict": {"actions": "json", "strict": True},
    "claude-code": {},
    "claude-code-strict": {"strict": True},
}
"""The rows that are asked once and scored twice: by what was read, and by what was shown."""
AGENTS_HELP = (
    f"Rows of agents: {', '.join(AGENTS)}; each gives two, by what was read and by what was shown."
    " They need --model, those of Claude Code its command instead. /heading or /full behind a name"
    " changes what a search hit shows."
)
_SIGNALLED = 128
"""What shells add to the number of a signal."""
_SNIPPETS = ("heading", "short", "full")


class AgentOptions(NamedTuple):
    """What agents are opened with."""

    model: str | None
    model_key: str
    max_turns: int
    reply_tokens: int
    temperature: float | None
    concurrency: int
    claude: str


agent_options = together(
    click.option(
        "--model",
        metavar="MODEL",
        help="Who pulls: anthropic:NAME, openai:NAME, openai-chat:NAME, or URL#NAME.",
    ),
    click.option(
        "--model-key",
        default="",
        envvar="CONTEXTPULL_MODEL_KEY",
        help="The key for --model; better given as CONTEXTPULL_MODEL_KEY.",
    ),
    click.option(
        "--max-turns",
        default=8,
        show_default=True,
        type=click.IntRange(min=1),
        help="Answers of the model to one question, calls of tools included.",
    ),
    click.option(
        "--reply-tokens",
        default=8_192,
        show_default=True,
        type=click.IntRange(min=1),
        help="The most tokens that --model may write in one answer.",
    ),
    click.option(
        "--temperature",
        type=click.FloatRange(min=0),
        help="How freely --model draws its words; without it, its own default.",
    ),
    concurrency_option("Questions that an agent is asked at once."),
    click.option(
        "--claude", default="claude", show_default=True, help="The command of Claude Code."
    ),
)
"""The options of rows of agents; their names are the fields of AgentOptions."""


def is_agent(name: str) -> bool:
    """Whether a row's name is that of an agent."""
    base, _, snippets = name.partition("/")
    return base in AGENTS and (not snippets or snippets in _SNIPPETS)


def open_agent(name: str, store: "Store", options: AgentOptions) -> "Agent":
    """The agent of a row, over a store."""
    base, _, snippets = name.partition("/")
    settings = {**AGENTS[base], "snippets": snippets or "short", "max_turns": options.max_turns}
    if base.startswith("claude-code"):
        from contextpull.eval.claude_code import ClaudeCodeRetriever

        return ClaudeCodeRetriever(
            store,
            model=options.model,
            claude=options.claude,
            concurrency=options.concurrency,
            env={"ANTHROPIC_API_KEY": options.model_key} if options.model_key else None,
            **settings,
        )
    if not options.model:
        raise click.UsageError(f"The row {name!r} needs --model.")
    from contextpull.eval.loop import ApiLoopRetriever
    from contextpull.models.chat import open_chat

    chat = open_chat(
        options.model,
        api_key=options.model_key,
        max_tokens=options.reply_tokens,
        temperature=options.temperature,
    )
    return ApiLoopRetriever(store, chat, concurrency=options.concurrency, **settings)


@contextmanager
def asking_progress(name: str) -> Iterator["Progress"]:
    """A bar on stderr with what new answers have cost; off a terminal a line every tenth."""
    shown = _Shown(name)
    with bar_on_terminal("count") as bar:
        if bar is None:
            yield shown.line
            return
        task = bar.add_task(name, total=None)

        def move(done: int, total: int, spent: "Spent") -> None:
            bar.update(task, completed=done, total=total, description=shown.text(spent))
            if shown.is_to_end(spent):
                bar.console.print(shown.ending, highlight=False, markup=False)

        yield move


class _Shown:
    """What is said of a row while it is asked."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = monotonic()
        self._tenths = -1
        self._is_to_end = False
        self.ending = (
            f"{name}: no further question is asked; what is under way is finished and kept."
            " Interrupt again to drop that."
        )

    def text(self, spent: "Spent") -> str:
        """What new answers have cost, how fast they come, and how many failed."""
        minutes = max(monotonic() - self._started, 1.0) / 60
        tokens = spent.tokens.input + spent.tokens.output
        parts = [f"{self._name}: {tokens:,} new tokens"]
        parts += [f"${spent.dollars:.2f}"] if spent.dollars else []
        return ", ".join(
            [*parts, f"{spent.questions / minutes:.1f}/min", f"{spent.failures} failed"]
        )

    def line(self, done: int, total: int, spent: "Spent") -> None:
        """The same for a log, each time that another tenth of the questions is done."""
        tenths = done * 10 // total
        if tenths > self._tenths:
            self._tenths = tenths
            click.echo(f"{self.text(spent)}, {done} of {total} done", err=True)
        if self.is_to_end(spent):
            click.echo(self.ending, err=True)

    def is_to_end(self, spent: "Spent") -> bool:
        """Whether it was just interrupted; true once."""
        is_first = spent.is_interrupted and not self._is_to_end
        self._is_to_end = spent.is_interrupted
        return is_first


@contextmanager
def interruptible(out: Path | None) -> Iterator[None]:
    """Ends the command with a sentence on SIGINT and SIGTERM: how to go on from the folder `out`.

    The exit code is 130 or 143.
    """
    received = [signal.SIGINT]

    def terminate(number: int, _frame: object) -> None:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if is_main else None
    try:
        yield
    except KeyboardInterrupt as interrupt:
        click.echo(f"Interrupted. {_going_on(out)}", err=True)
        raise click.exceptions.Exit(_SIGNALLED + received[-1]) from interrupt
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


def check_stops(
    agents: Mapping[str, Mapping[str, Any]], out: Path | None, *, is_alone: bool
) -> None:
    """Say of which rows some questions were not asked, and why; `agents` are their records.

    Raises EvaluationError where nothing was answered and the rows stand alone: a table of misses
    would look like a result.
    """
    from contextpull.errors import EvaluationError

    stops = [_stop(name, record) for name, record in agents.items() if record["stopped"]]
    if not stops:
        return
    said = " ".join([*stops, _going_on(out)])
    if is_alone and not any(record["answered"] for record in agents.values()):
        raise EvaluationError(f"Nothing was measured. {said}")
    click.echo(said, err=True)


def _stop(name: str, record: Mapping[str, Any]) -> str:
    asked = record["queries"] + record["not_asked"]
    why = record["stopped"].rstrip(".")
    return f"{name}: {record['not_asked']} of {asked} questions were not asked: {why}."


def _going_on(out: Path | None) -> str:
    if out is None:
        return "Nothing is kept: with --out FOLDER the same command would go on from there."
    return f"What was answered is kept in {out}: the same command goes on from there."

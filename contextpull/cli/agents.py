"""The rows of agents: their names, how they are opened, how they are asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from contextpull.cli.progress import bar_on_terminal

if TYPE_CHECKING:
    from contextpull.eval.asking import Agent, Spent
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
_SNIPPETS = ("heading", "short", "full")
_Command = TypeVar("_Command", bound=Callable[..., Any])


class AgentOptions(NamedTuple):
    """What agents are opened with."""

    model: str | None
    model_key: str
    max_turns: int
    concurrency: int
    claude: str


def agent_options(command: _Command) -> _Command:
    """The options of rows of agents; their names are the fields of AgentOptions."""
    options = (
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
            "--concurrency",
            default=4,
            show_default=True,
            type=click.IntRange(1, 64),
            help="Questions that an agent is asked at once.",
        ),
        click.option(
            "--claude", default="claude", show_default=True, help="The command of Claude Code."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


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

    chat = open_chat(options.model, api_key=options.model_key)
    return ApiLoopRetriever(store, chat, concurrency=options.concurrency, **settings)


@contextmanager
def asking_progress(name: str) -> Iterator[Callable[[int, int, "Spent"], None] | None]:
    """A bar on stderr with what new answers have cost; nothing where nobody watches."""
    with bar_on_terminal("share") as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task(name)

        def show(done: int, total: int, spent: "Spent") -> None:
            tokens = spent.tokens.input + spent.tokens.output
            cost = f", ${spent.dollars:.2f}" if spent.dollars else ""
            text = f"{name}: {tokens:,} new tokens{cost}"
            bar.update(task, completed=done, total=total, description=text)

        yield show

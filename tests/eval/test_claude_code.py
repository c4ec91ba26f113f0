"""How Claude Code is started, stopped and understood, with a program that stands in for it."""

import json
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import contextpull.eval
from contextpull.errors import EvaluationError, InvalidInput, ModelUnavailable, StoreNotFound
from contextpull.eval.claude_code import APPENDIX, ClaudeCodeRetriever
from contextpull.eval.talks import STRICT
from contextpull.store import open_store
from contextpull.store.ingest import ingest
from contextpull.types import Question
from tests.claude_streams import answered, call, ended, init, said
from tests.conftest import write_corpus

STAND_IN = """
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
config = Path(sys.argv[sys.argv.index("--mcp-config") + 1])
seen = {
    "argv": sys.argv[1:],
    "env": dict(os.environ),
    "cwd": os.listdir(os.getcwd()),
    "stdin": sys.stdin.read(),
    "config": json.loads(config.read_text()),
}
(here / "seen.json").write_text(json.dumps(seen))
exec((here / "then.py").read_text())
"""
HANGS = """
import signal, subprocess
print((here / "stream.jsonl").read_text(), flush=True)
child = '''
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
alive = open(sys.argv[1], "w")
print("begun", flush=True)
signal.pause()
'''
process = subprocess.Popen(
    [sys.executable, "-c", child, str(here / "alive")], stdout=subprocess.PIPE
)
process.stdout.readline()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pause()
"""


class StandIn:
    """A program in the place of Claude Code that prints a stream and remembers its call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "claude.py").write_text(STAND_IN)
        self.command = (sys.executable, str(folder / "claude.py"))
        self.prints(answered())

    def prints(self, lines: Sequence[str], then: str = "") -> None:
        (self.folder / "stream.jsonl").write_text("\n".join(lines))
        show = "print((here / 'stream.jsonl').read_text())\n"
        (self.folder / "then.py").write_text(then if then == HANGS else show + then)

    @property
    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "seen.json").read_text())
        return found

    def option(self, name: str) -> str:
        argv = self.seen["argv"]
        return str(argv[argv.index(name) + 1])


@pytest.fixture
def claude(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "claude")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    text = "# A\n\nAn introduction of some length, as they are.\n\n## B\n\n"
    text += "The limit is 7, and it is never more than that.\n"
    ingest(write_corpus(tmp_path / "docs", {"a.md": text}), tmp_path / "store")
    return tmp_path / "store"


def test_a_run_becomes_a_transcript(store: Path, claude: StandIn) -> None:
    retriever = ClaudeCodeRetriever(store, claude=claude.command)
    found = retriever.run(Question("q1", "What is the limit?", "conceptual", ("a.md#b",)))
    assert (found.question_id, found.question) == ("q1", "What is the limit?")
    assert (found.outcome, found.answer) == ("ok", "It is 7 [a.md#b].")
    assert found.ids_read == found.cited == ("a.md#b",)
    assert found.ids_surfaced == ("a.md#b", "a.md#a")
    assert found.seconds > 0


def test_it_is_started_with_our_server_and_nothing_else(store: Path, claude: StandIn) -> None:
    retriever = ClaudeCodeRetriever(
        open_store(store),
        claude=claude.command,
        model="some-model",
        max_turns=3,
        max_usd=0.5,
        snippets="heading",
        env={"ANTHROPIC_API_KEY": "dummy"},
        serve_options=["--mode", "lexical"],
        serve_env={"CONTEXTPULL_MODELS": "/models"},
    )
    retriever.run("What is the limit?")
    seen = claude.seen
    assert seen["argv"][:2] == ["-p", "What is the limit?"]
    assert {"--strict-mcp-config", "--verbose", "--no-session-persistence"} <= set(seen["argv"])
    for name, value in {
        "--tools": "",
        "--allowedTools": "mcp__contextpull",
        "--setting-sources": "",
        "--output-format": "stream-json",
        "--model": "some-model",
        "--max-turns": "3",
        "--max-budget-usd": "0.5",
        "--append-system-prompt": APPENDIX,
    }.items():
        assert claude.option(name) == value
    server = seen["config"]["mcpServers"].pop("contextpull")
    assert seen["config"] == {"mcpServers": {}}
    assert server["command"] == sys.executable
    assert server["args"][:4] == ["-m", "contextpull", "serve", str(store)]
    assert server["args"][4:] == ["--snippets", "heading", "--mode", "lexical"]
    assert server["env"]["CONTEXTPULL_MODELS"] == "/models"


def test_it_learns_nothing_of_where_it_runs(
    store: Path, claude: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not to be passed on")
    monkeypatch.setenv("PRIVATE", "x")
    ClaudeCodeRetriever(store, claude=claude.command, env={"GIVEN": "y"}).run("?")
    seen = claude.seen
    assert (seen["cwd"], seen["stdin"]) == ([], "")
    assert seen["env"]["GIVEN"] == "y"
    assert not {"ANTHROPIC_API_KEY", "PRIVATE"} & set(seen["env"])
    home = Path(seen["env"]["HOME"])
    assert Path(seen["env"]["CLAUDE_CONFIG_DIR"]).is_relative_to(home)
    assert home != Path.home()
    assert not home.exists()


@pytest.mark.parametrize("question", ["--no-cache?", "/clear", "!ls", "# a note", "@a.md", " -p"])
def test_a_question_is_never_a_command(store: Path, claude: StandIn, question: str) -> None:
    found = ClaudeCodeRetriever(store, claude=claude.command).run(question)
    assert claude.seen["argv"][1] == f"Question: {question}"
    assert found.question == question


def test_rows_are_named_and_told_apart_by_what_differs(store: Path, claude: StandIn) -> None:
    plain = ClaudeCodeRetriever(store)
    strict = ClaudeCodeRetriever(store, strict=True, claude=claude.command)
    full = ClaudeCodeRetriever(store, strict=True, snippets="full")
    rows = [each.row_name for each in (plain, strict, full)]
    assert rows == ["claude-code", "claude-code-strict", "claude-code-strict/full"]
    others = [ClaudeCodeRetriever(store, model="m"), ClaudeCodeRetriever(store, max_turns=9)]
    assert len({each.fingerprint for each in (plain, strict, full, *others)}) == 5
    assert plain.fingerprint == ClaudeCodeRetriever(store, claude="elsewhere").fingerprint
    strict.run("?")
    assert claude.option("--append-system-prompt") == f"{APPENDIX}\n\n{STRICT}"


def test_it_is_a_retriever(store: Path, claude: StandIn) -> None:
    retriever = contextpull.eval.ClaudeCodeRetriever(store, claude=claude.command, k=5)
    assert retriever.retrieve("limit?", 1) == retriever.retrieve("limit?") == ["a.md#b"]
    assert retriever.generate("limit?", ["a.md#b"]) == "It is 7 [a.md#b]."
    assert retriever.stats()["queries"] == 1  # one run serves all of them
    assert retriever.generate("another?") == "It is 7 [a.md#b]."
    retriever.run("limit?")
    stats = retriever.stats()
    assert (stats["queries"], stats["tool_calls"], stats["errors"]) == (3, 6, 0)
    assert (stats["reads_per_query"], stats["answered_without_reading"]) == (1.0, 0)
    assert (stats["tokens_in"], stats["tokens_out"], stats["usd"]) == (540, 75, 1.5)


def test_a_run_without_an_answer_is_no_ranking(store: Path, claude: StandIn) -> None:
    end = ended(None, subtype="error_max_turns", is_error=True, errors=["Reached the limit"])
    claude.prints([*answered()[:-1], end], "sys.exit(1)")
    retriever = ClaudeCodeRetriever(store, claude=claude.command)
    with pytest.raises(EvaluationError, match="max_turns: Reached the limit"):
        retriever.retrieve("limit?", 5)
    found = retriever.run("limit?")
    assert (found.outcome, found.ids_read) == ("max_turns", ("a.md#b",))
    assert "exit code 1" in found.errors[-1]
    assert retriever.generate("limit?") == ""
    assert retriever.stats()["outcomes"] == {"max_turns": 3}
    lenient = ClaudeCodeRetriever(store, claude=claude.command, failures="miss")
    assert lenient.retrieve("limit?", 5) == []


def test_what_claude_code_complains_of_is_kept(store: Path, claude: StandIn) -> None:
    claude.prints([], "print('error: unknown option', file=sys.stderr); sys.exit(1)")
    found = ClaudeCodeRetriever(store, claude=claude.command).run("?")
    assert found.outcome == "not_started"
    assert found.errors == (
        "Claude Code ended with the exit code 1.",
        "It said: error: unknown option",
    )


def test_a_run_that_takes_too_long_is_stopped_with_all_it_started(
    store: Path, claude: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextpull.eval.claude_code._GRACE", 0.2)
    claude.prints([init(), said("m1", call("c", "search", query="x"))], HANGS)
    os.mkfifo(claude.folder / "alive")
    alive = os.open(claude.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    found = ClaudeCodeRetriever(store, claude=claude.command, timeout=3).run("?")
    assert found.outcome == "killed"
    assert found.calls_by_name == {"search": 1}
    assert found.errors[-1] == "It was stopped after 3 seconds."
    assert select.select([alive], [], [], 10)[0]  # it ends when its child has ended, too
    assert os.read(alive, 1) == b""
    os.close(alive)


def test_what_cannot_work_is_said_before_it_costs_anything(store: Path, claude: StandIn) -> None:
    with pytest.raises(ModelUnavailable, match="no command 'claude-nowhere'"):
        ClaudeCodeRetriever(store, claude="claude-nowhere").run("?")
    with pytest.raises(StoreNotFound):
        ClaudeCodeRetriever(store / "nowhere", claude=claude.command).run("?")
    for wrong in ({"max_turns": 0}, {"k": 0}, {"timeout": 0}, {"snippets": "x"}):
        with pytest.raises(InvalidInput):
            ClaudeCodeRetriever(store, **wrong)  # type: ignore[arg-type]

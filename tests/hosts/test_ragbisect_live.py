"""ragbisect itself beside us: each reads the other's files and asks the other's retrievers.

`make test-ragbisect` installs both under a Python that ragbisect runs on and names the folder of
their commands in CONTEXTPULL_RAGBISECT; without it they are skipped. Nothing leaves the machine:
the model is a stand-in on 127.0.0.1, no key is set, and every other address is a proxy that is not
there.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from threading import Barrier
from typing import NamedTuple

import pytest

from contextpull.adapters.ragbisect import load_questions
from contextpull.types import Question
from tests.claude_streams import answered
from tests.standins import Calls, Held, Request, Says, StandIn, Step, standing_in

BIN = os.environ.get("CONTEXTPULL_RAGBISECT", "")
ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = Path(".ragbisect", "questions.jsonl")
SECTIONS = "sections.jsonl"
DATA = Path(os.environ.get("CONTEXTPULL_TEST_DATA") or ROOT.parent / "shared" / "data")
UV = DATA / "eval"

pytestmark = pytest.mark.skipif(not BIN, reason="CONTEXTPULL_RAGBISECT names no ragbisect")


class Host:
    """A user's folder, in which both commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, command: str, *arguments: str | Path) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            [Path(BIN) / command, *map(str, arguments)],
            cwd=self.folder,
            env={
                "PATH": os.pathsep.join((BIN, os.defpath)),
                "HOME": str(self.folder),
                "LANG": "C.UTF-8",
                "HTTPS_PROXY": "http://127.0.0.1:9",
                "HTTP_PROXY": "http://127.0.0.1:9",
                "NO_PROXY": "127.0.0.1",
                # A module that is written twice in a second is not read from its first cache.
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def measured(self, *rows: str, questions: str | Path = QUESTIONS) -> dict[str, list[str]]:
        """Our figures by row: recall, MRR and nDCG given a hit, as ragbisect rounds them."""
        where = ("--questions", questions, "--store", ".contextpull", "--rounds", "100", "--json")
        report = json.loads(
            self.run("contextpull", "eval", "run", *where, "--rows", ",".join(rows))
        )
        return {
            row["row"]: [f"{each['mean']:.3f}" for each in row["measures"].values()]
            for row in report["rows"]
        }

    def bisected(self, *options: str | Path, questions: str | Path = QUESTIONS) -> "Bisected":
        """What ragbisect prints of an adapter, or of its own rows."""
        where = ("--corpus", SECTIONS, "--questions", questions)
        return Bisected(self.run("ragbisect", "run", *where, *options))


class Bisected(NamedTuple):
    """What ragbisect printed."""

    text: str

    def figures(self, row: str) -> list[str]:
        """The three figures of a row."""
        return self.cells(row)[:3]

    def cells(self, row: str) -> list[str]:
        """The columns of a row behind its name."""
        (line,) = re.findall(rf"^{re.escape(row)} (.*)$", self.text, re.M)
        return str(line).split()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A user who has read a folder, exported its sections and made questions of them."""
    host = Host(tmp_path_factory.mktemp("user"))
    host.run("contextpull", "ingest", ROOT / "demo" / "corpus")
    sections = host.run("contextpull", "export-chunks")
    (host.folder / SECTIONS).write_text(sections, encoding="utf-8")
    host.run("ragbisect", "generate", "--corpus", SECTIONS, "--shapes", "aggregation,table")
    return host


@pytest.fixture(scope="module")
def questions(host: Host) -> dict[str, Question]:
    """The questions that ragbisect made, by their text."""
    made = load_questions(host.folder / QUESTIONS)
    assert {each.shape for each in made} == {"aggregation", "table"}
    return {each.text: each for each in made}


@pytest.fixture
def model(questions: dict[str, Question]) -> Iterator[StandIn]:
    """Reads the first gold of each question; its first answers wait until four are asked for."""
    meeting, begun = Barrier(4, timeout=60), iter(range(4))

    def script(request: Request) -> Step:
        gold = questions[request.question].gold
        if request.turn == 0:
            search = Calls([("search", {"query": request.question})])
            return search if next(begun, None) is None else Held(search, meeting.wait)
        if request.turn == 1:
            return Calls([("read", {"ids": [gold[0]]})])
        return Says(f"It stands in [{gold[0]}].")

    with standing_in(script) as standin:
        yield standin


@pytest.fixture
def ours(host: Host, model: StandIn) -> StandIn:
    """The module that docs/evaluation.md shows, with the stand-in as its model."""
    page = ROOT.joinpath("docs/evaluation.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(# ours\.py\n.*?)```", page, re.S)
    named = shown.replace("http://127.0.0.1:8080/v1#my-model", model.endpoint)
    assert model.endpoint in named
    (host.folder / "ours.py").write_text(named, encoding="utf-8")
    return model


def test_we_score_the_questions_that_ragbisect_made(host: Host, questions: object) -> None:
    recall, *_ = host.measured("bm25")["bm25"]
    assert 0.5 < float(recall) <= 1


def test_ragbisects_own_retriever_is_a_row_of_ours_with_the_same_figures(host: Host) -> None:
    name = "ragbisect.retrievers:BM25Retriever"
    assert host.measured(name)[name] == host.bisected().figures("bm25 (built-in)")


def test_ragbisect_reads_the_questions_that_we_made(host: Host) -> None:
    made = ("--out", "made.jsonl", "--shapes", "aggregation,table,exact_lookup")
    host.run("contextpull", "eval", "generate", "--sections", SECTIONS, *made)
    name = "ragbisect.retrievers:BM25Retriever"
    found = host.bisected(questions="made.jsonl")
    assert "  exact_lookup" in found.text
    assert host.measured(name, questions="made.jsonl")[name] == found.figures("bm25 (built-in)")


def test_an_agent_is_an_adapter_that_is_asked_four_at_once(
    host: Host, ours: StandIn, questions: dict[str, Question]
) -> None:
    found = host.bisected("--adapter", "ours.py:Pull", "--no-baselines")
    recall = sum(1 / len(each.gold) for each in questions.values()) / len(questions)
    assert found.figures("your adapter")[:2] == [f"{recall:.3f}", "1.000"]
    assert found.cells("your adapter")[-1] == "2.0"  # calls a question: a search and a read
    assert f"{2 * len(questions)} tool calls over {len(questions)} queries" in found.text
    assert ours.most_under_way == 4
    assert len(ours.asked) == 3 * len(questions)  # its answers were asked for, not its runs again


def test_the_other_view_of_an_agent_is_an_adapter_too(host: Host, ours: StandIn) -> None:
    read = host.bisected("--adapter", "ours.py:Pull", "--no-baselines").figures("your adapter")
    shown = host.bisected("--adapter", "ours.py:Surfaced", "--no-baselines")
    assert float(shown.figures("your adapter")[0]) > float(read[0])
    assert shown.cells("your adapter")[-1] == "2.0"


def test_the_same_module_is_a_row_of_ours(host: Host, ours: StandIn) -> None:
    found = [
        host.bisected("--adapter", f"ours.py:{name}", "--no-baselines").figures("your adapter")
        for name in ("Pull", "Surfaced")
    ]
    assert list(host.measured("ours:Pull", "ours.py:Surfaced").values()) == found


def test_a_question_without_an_answer_is_a_miss_and_stays_in_the_mean(
    host: Host, ours: StandIn, questions: dict[str, Question]
) -> None:
    answering = ours.script
    assert callable(answering)
    ours.script = lambda request: (
        Says("") if questions[request.question].shape == "table" else answering(request)
    )
    found = host.bisected("--adapter", "ours.py:Pull", "--no-baselines", "--gen-sample", "0")
    assert found.cells("  table")[:2] == ["0.000", "0.000"]
    assert found.cells("your adapter")[4] == str(len(questions))


def test_a_push_row_is_an_adapter(host: Host) -> None:
    text = """
        from contextpull.adapters.push import bm25_over_store

        Push = bm25_over_store(".contextpull")
    """
    (host.folder / "pushing.py").write_text(dedent(text), encoding="utf-8")
    found = host.bisected("--adapter", "pushing.py:Push", "--no-baselines").figures("your adapter")
    assert host.measured("bm25", "pushing:Push") == {"bm25": found, "pushing:Push": found}


def test_claude_code_is_an_adapter(host: Host, questions: dict[str, Question]) -> None:
    gold = next(each.gold[0] for each in questions.values() if each.shape == "table")
    printed = "\n".join(answered()).replace("a.md#b", gold)
    (host.folder / "claude.py").write_text(f"print({printed!r})", encoding="utf-8")
    text = """
        import sys
        from pathlib import Path

        from contextpull.eval import ClaudeCodeRetriever

        claude = [sys.executable, str(Path("claude.py").resolve())]
        Claude = ClaudeCodeRetriever(".contextpull", claude=claude, failures="miss")
    """
    (host.folder / "claudes.py").write_text(dedent(text), encoding="utf-8")
    found = host.bisected("--adapter", "claudes.py:Claude", "--no-baselines")
    assert float(found.figures("your adapter")[0]) > 0
    assert f"over {len(questions)} queries; ≈ $" in found.text


@pytest.mark.corpus
@pytest.mark.skipif(not UV.is_dir(), reason="the published questions are not there")
def test_the_published_questions_score_alike_in_both(host: Host) -> None:
    name = "ragbisect.retrievers:BM25Retriever"
    where = ("--corpus", UV / "uv-sections.jsonl", "--questions", UV / "uv-questions.jsonl")
    theirs = Bisected(host.run("ragbisect", "run", *where))
    where = ("--sections", UV / "uv-sections.jsonl", "--questions", UV / "uv-questions.jsonl")
    options = ("--rows", name, "--rounds", "100", "--json")
    (row,) = json.loads(host.run("contextpull", "eval", "run", *where, *options))["rows"]
    for label, record in (
        ("bm25 (built-in)", row),
        *((f"  {s}", r) for s, r in row["shapes"].items()),
    ):
        ours = [f"{each['mean']:.3f}" for each in record["measures"].values()]
        assert ours == theirs.figures(label)
    assert theirs.figures("bm25 (built-in)") == ["0.923", "0.805", "0.904"]

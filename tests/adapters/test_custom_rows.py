"""Rows of one's own: `--rows module:Class`, from the command line's side and from Python."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from threading import Barrier, Event, Lock, current_thread, main_thread
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.adapters.custom import concurrency_of, load_retriever, names_retriever
from contextpull.adapters.push import Searched, over_passages, over_store
from contextpull.adapters.ragbisect import (
    load_passages,
    load_questions,
    save_passages,
    save_questions,
)
from contextpull.cli.main import cli
from contextpull.errors import InvalidInput
from contextpull.eval.runs import evaluate
from contextpull.store.ingest import ingest
from contextpull.types import Passage, Question
from tests.conftest import write_corpus
from tests.judged import write_collection
from tests.standins import Calls, Says, standing_in

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
UV = DATA / "eval"

PASSAGES = [
    Passage("b.md#bread", "# Bread\n\nYeast makes bread rise.", "b.md"),
    Passage("a.md#lamp", "The keeper lights the lamp.", "a.md"),
    Passage("b.md#salt", "Salt slows that down.", "b.md"),
]
QUESTIONS = [
    Question("q1", "keeper", "conceptual", ("a.md#lamp",)),
    Question("q2", "salt", "conceptual", ("b.md#salt",)),
]
CONTAINS = """
    class Contains:
        def __init__(self, passages):
            self.passages = passages

        def retrieve(self, query, k):
            return [each.id for each in self.passages if query in each.text.lower()][:k]
"""
FIXED = """
    class Fixed:
        def retrieve(self, query, k):
            return ["a.md#lamp"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, from which nothing could be imported before."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    known = set(sys.modules)
    yield tmp_path / "here"
    for name in set(sys.modules) - known:
        if "mine" in name:
            del sys.modules[name]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    save_questions(tmp_path / "questions.jsonl", QUESTIONS)
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    return [
        *("--questions", str(tmp_path / "questions.jsonl")),
        *("--sections", str(tmp_path / "sections.jsonl")),
    ]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return path


def run(*arguments: str | Path, command: str = "run") -> Result:
    return CliRunner().invoke(cli, ["eval", command, *map(str, arguments), "--rounds", "100"])


def recalls(result: Result) -> dict[str, float]:
    assert result.exit_code in {0, 1}, result.output
    rows = json.loads(result.stdout)["rows"]
    return {row["row"]: row["measures"]["recall@5"]["mean"] for row in rows}


# Where a retriever may stand


def test_a_class_of_the_current_folder_is_a_row_beside_others(
    folder: Path, files: list[str]
) -> None:
    write(folder / "mine.py", CONTAINS)
    result = run(*files, "--rows", "bm25,mine:Contains", "--json")
    assert recalls(result) == {"bm25": 1.0, "mine:Contains": 1.0}
    (compared,) = json.loads(result.stdout)["comparisons"]
    assert {compared["row"], compared["baseline"]} == {"bm25", "mine:Contains"}
    assert "mine:Contains" in run(*files, "--rows", "mine:Contains").stdout


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("mine/rows.py", "mine.rows:Fixed"),
        ("mine_2.py", "mine_2:Fixed"),
        ("mine.py", "mine.py:Fixed"),
        ("mine.py", "./mine.py:Fixed"),
        ("../else where/mine-1.py", "../else where/mine-1.py:Fixed"),
        ("../pull.py", "../pull.py:Fixed"),
        ("hybrid.py", "hybrid.py:Fixed"),
    ],
)
def test_modules_of_packages_and_files_anywhere_are_found(
    folder: Path, files: list[str], place: str, name: str
) -> None:
    write(folder / place, FIXED)
    assert recalls(run(*files, "--rows", name, "--json")) == {name: 0.5}


def test_a_file_imports_its_neighbours(folder: Path, files: list[str]) -> None:
    write(folder / "../other/mine_too.py", "FOUND = ['a.md#lamp']")
    write(
        folder / "../other/mine.py",
        """
        import mine_too

        class Fixed:
            def retrieve(self, query, k):
                return mine_too.FOUND
        """,
    )
    assert recalls(run(*files, "--rows", "../other/mine.py:Fixed", "--json")) == {
        "../other/mine.py:Fixed": 0.5
    }


def test_a_file_is_a_module_of_its_own_name_to_what_it_defines(
    folder: Path, files: list[str]
) -> None:
    write(
        folder / "mine.py",
        """
        from __future__ import annotations
        from dataclasses import dataclass

        @dataclass
        class Fixed:
            found: str = "a.md#lamp"

            def retrieve(self, query: str, k: int) -> list[str]:
                return [self.found]
        """,
    )
    assert recalls(run(*files, "--rows", "mine.py:Fixed", "--json")) == {"mine.py:Fixed": 0.5}


# How it is made


def test_a_function_that_makes_one_and_a_ready_object_are_rows_too(
    folder: Path, files: list[str]
) -> None:
    made = """
        def with_passages(passages):
            return Contains(passages)

        def with_defaults(passages=(), *, also=None):
            return Contains(passages)

        ready = Contains([])
    """
    write(folder / "mine.py", dedent(CONTAINS) + dedent(made))
    rows = ("mine:with_passages", "mine:with_defaults", "mine:ready")
    found = recalls(run(*files, "--rows", ",".join(rows), "--json"))
    assert list(found.values()) == [1.0, 0.0, 0.0]


class Keeps:
    def __init__(self, passages: list[Passage]) -> None:
        self.passages = passages

    def retrieve(self, query: str, k: int) -> list[str]:
        return []


def kept(searched: Searched) -> list[Passage]:
    retriever: Any = load_retriever(f"{__name__}:Keeps", searched)
    passages: list[Passage] = retriever.passages
    return passages


def test_it_gets_the_passages_of_a_file_as_they_stand_there(tmp_path: Path) -> None:
    searched = over_passages(PASSAGES, tmp_path / "store")
    assert kept(searched) == [PASSAGES[0], PASSAGES[2], PASSAGES[1]]  # those of one source together


def test_it_gets_what_a_store_exports(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "docs", {"b.md": "# B\n\nTwo.\n", "a.md": "# A\n\nOne.\n"})
    ingest(docs, tmp_path / "store")
    exported = CliRunner().invoke(cli, ["export-chunks", "--store", str(tmp_path / "store")])
    (tmp_path / "exported.jsonl").write_text(exported.stdout, encoding="utf-8")
    assert kept(over_store(tmp_path / "store")) == load_passages(tmp_path / "exported.jsonl")


def test_each_judged_collection_gives_its_own_documents(tmp_path: Path, folder: Path) -> None:
    write(folder / "mine.py", CONTAINS.replace("query in", "query.split()[-1] in"))
    one = write_collection(tmp_path / "one")
    runs = tmp_path / "runs"
    rows = ("--rows", "bm25,./mine.py:Contains", "--run-files", runs, "--json")
    result = run(one, *rows, command="beir")
    assert result.exit_code == 0, result.output
    (collection,) = json.loads(result.stdout)["collections"]
    own = collection["rows"][1]
    assert own["row"] == "./mine.py:Contains"
    assert own["measures"]["R@100"]["mean"] == 0.75  # a half of two documents, and one of one
    written = (runs / "one.._mine.py:Contains.run").read_text().splitlines()
    assert written[0] == "q1 Q0 d1 1 100 ./mine.py:Contains"


# What it may have beside retrieve


def test_so_many_questions_are_asked_at_once_and_outcomes_keep_their_order() -> None:
    meeting, lock, late = Barrier(3, timeout=30), Lock(), Event()
    under_way: list[int] = [0, 0]

    class Together:
        concurrency = 3

        def retrieve(self, query: str, k: int) -> list[str]:
            with lock:
                under_way[0] += 1
                under_way[1] = max(under_way)
            meeting.wait()
            if query == "word 0":
                assert late.wait(30)
            late.set()
            with lock:
                under_way[0] -= 1
            return [query]

    questions = [Question(f"q{n}", f"word {n}", "", (f"word {n}",)) for n in range(6)]
    seen: list[tuple[int, int]] = []
    row = evaluate(
        Together(),
        questions,
        name="together",
        k=1,
        rounds=100,
        on_progress=lambda *at: seen.append(at),
    )
    assert [outcome.ranking for outcome in row.outcomes] == [(each.text,) for each in questions]
    assert not row.failures
    assert under_way == [0, 3]
    assert seen == [(n, 6) for n in range(1, 7)]


def test_without_concurrency_all_is_asked_in_the_main_thread() -> None:
    threads = []

    class Alone:
        def retrieve(self, query: str, k: int) -> list[str]:
            threads.append(current_thread())
            return []

    evaluate(Alone(), QUESTIONS, name="alone", k=1, rounds=100)
    assert threads == [main_thread()] * 2


def test_concurrency_is_bounded_and_anything_but_a_number_is_refused() -> None:
    given = (SimpleNamespace(concurrency=each) for each in (None, 1, 5, 1_000))
    assert [concurrency_of(each) for each in given] == [1, 1, 5, 64]
    for wrong in (0, -1, 2.0, "4", True):
        with pytest.raises(InvalidInput, match="must be a whole number from 1, not"):
            concurrency_of(SimpleNamespace(concurrency=wrong))


TALKS = """
    class Talks:
        def retrieve(self, query, k):
            return ["a.md#lamp"]

        def generate(self, query, chunk_ids):
            {generate}

        def stats(self):
            {stats}
"""


def talks(folder: Path, *, generate: str = "return query", stats: str = "return {}") -> None:
    write(folder / "mine.py", dedent(TALKS).format(generate=generate, stats=stats))


def test_what_it_counted_is_in_the_report_and_under_the_table(
    folder: Path, files: list[str]
) -> None:
    counted = {"queries": 2, "tool_calls": 3, "tokens_in": 400, "tokens_out": 50, "usd": 0.25}
    talks(folder, stats=f"return {counted | {'errors': 1, 'by_tool': {'read': 3}}!r}")
    result = run(*files, "--rows", "bm25,mine:Talks", "--json")
    assert [row["stats"] for row in json.loads(result.stdout)["rows"]] == [{}, counted]
    table = run(*files, "--rows", "mine:Talks").stdout
    assert "mine:Talks counted: queries 2, tool_calls 3, tokens_in 400, tokens_out 50," in table


@pytest.mark.parametrize(
    ("stats", "kept"),
    [
        ("return None", {}),
        ("return {'queries': 'many', 'usd': float('nan'), 'tokens_in': -1}", {}),
        ("return {'tokens_in': float('inf'), 'queries': 2}", {"queries": 2}),
        ("raise RuntimeError('no\\n counter')", {"error": "RuntimeError: no counter"}),
        ("return 7", {"error": "TypeError: 'int' object is not iterable"}),
    ],
)
def test_stats_that_are_none_cost_nothing_but_themselves(
    folder: Path, files: list[str], stats: str, kept: dict[str, object]
) -> None:
    talks(folder, stats=stats)
    result = run(*files, "--rows", "mine:Talks", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"][0]["stats"] == kept


def answers_in(out: Path) -> list[str]:
    lines = (out / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["answer"] for line in lines]


def test_answers_are_kept_where_they_are_asked_for(
    folder: Path, files: list[str], tmp_path: Path
) -> None:
    talks(folder, generate="return query + ': ' + ' '.join(chunk_ids)")
    row = (*files, "--rows", "mine:Talks")
    assert run(*row, "--out", tmp_path / "without").exit_code == 0
    assert answers_in(tmp_path / "without") == ["", ""]
    assert run(*row, "--out", tmp_path / "with", "--answers").exit_code == 0
    assert answers_in(tmp_path / "with") == ["keeper: a.md#lamp", "salt: a.md#lamp"]


@pytest.mark.parametrize(
    ("generate", "why"),
    [
        ("raise ValueError('too long')", "ValueError: too long"),
        ("return None", "generate must return text, not NoneType"),
    ],
)
def test_an_answer_that_fails_is_listed_and_changes_no_measure(
    folder: Path, files: list[str], generate: str, why: str
) -> None:
    talks(folder, generate=generate)
    row = (*files, "--rows", "mine:Talks", "--answers")
    result = run(*row, "--json")
    assert result.exit_code == 1
    assert recalls(result) == {"mine:Talks": 0.5}
    (record,) = json.loads(result.stdout)["rows"]
    assert record["unanswered"] == [{"id": each.id, "error": why} for each in QUESTIONS]
    assert record["failures"] == []
    assert f"mine:Talks: 2 answers failed, the first of q1: {why}" in run(*row).stdout


def test_the_module_that_the_page_shows_gives_two_rows(folder: Path) -> None:
    pytest.importorskip("openai")
    page = Path(__file__).parents[2].joinpath("docs", "evaluation.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(# ours\.py\n.*?)```", page, re.S)
    ingest(write_corpus(folder / "docs", {"a.md": "# Lamp\n\nLit.\n"}), folder / ".contextpull")
    save_questions("questions.jsonl", [Question("q1", "lamp", "conceptual", ("a.md#lamp",))])
    with standing_in([Calls([("search", {"query": "lamp"})]), Says("It is lit.")]) as model:
        text = shown.replace("http://127.0.0.1:8080/v1#my-model", model.endpoint)
        write(folder / "mine.py", text)
        where = ("--questions", "questions.jsonl", "--store", ".contextpull", "--json")
        found = run(*where, "--rows", "mine:Pull,mine:Surfaced")
    assert recalls(found) == {"mine:Pull": 0.0, "mine:Surfaced": 1.0}
    for row in json.loads(found.stdout)["rows"]:
        assert (row["stats"]["queries"], row["stats"]["tool_calls"]) == (1, 1)


# What can be wrong with it


@pytest.mark.parametrize(
    "name", ["mine", "mine:", ":Row", "mi ne:Row", "mine:Ro.w", "1mine:Row", "mine.txt.:Row", "a,"]
)
def test_what_has_not_the_form_of_a_name_is_no_row(files: list[str], name: str) -> None:
    assert not names_retriever(name)
    result = run(*files, "--rows", name)
    assert result.exit_code == 2
    assert "or name a retriever of your own: MODULE:NAME or FILE.py:NAME." in " ".join(
        result.stderr.split()
    )


@pytest.mark.parametrize("name", ["hybrid:0.7", "hybrid-rrf:2"])
def test_a_number_behind_a_row_of_ours_stays_its_weight(files: list[str], name: str) -> None:
    result = run(*files, "--rows", name, "--embedder", "no such model")
    assert "no such model" in result.stderr


def test_a_row_of_ours_never_names_a_module(folder: Path, files: list[str]) -> None:
    write(folder / "hybrid.py", FIXED)
    assert "hybrid takes 0 to 1" in run(*files, "--rows", "hybrid:Fixed").stderr


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("", "elsewhere:Row", "no module 'elsewhere' is installed or lies in "),
        ("", "mine.below:Row", "no module 'mine.below' is installed or lies in "),
        ("", "nowhere/mine.py:Row", "there is no file 'nowhere/mine.py'."),
        (FIXED, "mine:Row", "'mine' has no 'Row'. It has: Fixed."),
        ("x = 1", "mine:Row", "'mine' has no 'Row'. It has: none."),
        ("import nothing_of_that_name", "mine:Row", "No module named 'nothing_of_that_name'"),
        ("import nothing_of_that_name", "mine.py:Row", "No module named 'nothing_of_that_name'"),
        ("1 / 0", "mine:Row", "'mine:Row' cannot be loaded: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "mine:Row", "cannot be loaded: SystemExit: 3"),
        ("class Row(", "mine.py:Row", "cannot be loaded: SyntaxError: "),
        ("Row = 7", "mine:Row", "'mine:Row' has no method retrieve(query, k)."),
        ("class Row: pass", "mine:Row", "'mine:Row' has no method retrieve(query, k)."),
        ("class Row: retrieve = 1", "mine:Row", "'mine:Row' has no method retrieve(query, k)."),
        ("def Row(): return None", "mine:Row", "'mine:Row' has no method retrieve(query, k)."),
        ("def Row(): raise OSError('no\\n index')", "mine:Row", "made: OSError: no index"),
        ("def Row(): exit('no key')", "mine:Row", "cannot be made: SystemExit: no key"),
        ("def Row(one, two): pass", "mine:Row", "missing 1 required positional argument: 'two'"),
        (FIXED + "        concurrency = 'all'", "mine:Fixed", "a whole number from 1, not 'all'."),
    ],
)
def test_what_cannot_be_made_is_said_before_the_first_question(
    folder: Path, files: list[str], text: str, name: str, why: str
) -> None:
    write(folder / "mine.py", text)
    result = run(*files, "--rows", f"bm25,{name}")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert why in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("None", "retrieve must return a list of section ids, not NoneType"),
        ("'a.md#lamp'", "retrieve must return a list of section ids, not str"),
        ("(each for each in ())", "retrieve must return a list of section ids, not generator"),
        ("[('a.md#lamp', 0.5)]", "retrieve must return a list of section ids, not of tuple: ("),
        ("['a.md#lamp', 7]", "retrieve must return a list of section ids, not of int: 7"),
        ("['a.md#lamp', 'a.md#0']", "retrieve returned 'a.md#0', which is the id of no section"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_junk_fails_the_question_that_it_answers_and_no_other(
    folder: Path, files: list[str], returned: str, why: str
) -> None:
    write(
        folder / "mine.py",
        f"""
        class Row:
            def retrieve(self, query, k):
                return {returned} if query == "salt" else ["a.md#lamp"]
        """,
    )
    result = run(*files, "--rows", "mine:Row", "--json")
    assert result.exit_code == 1
    assert recalls(result) == {"mine:Row": 0.5}
    (failure,) = json.loads(result.stdout)["rows"][0]["failures"]
    assert failure["id"] == "q2"
    assert why in failure["error"]


def test_a_document_that_a_collection_lacks_fails_its_query(tmp_path: Path, folder: Path) -> None:
    write(folder / "mine.py", FIXED)
    result = run(write_collection(tmp_path / "one"), "--rows", "mine:Fixed", command="beir")
    assert result.exit_code == 1
    assert "retrieve returned 'a.md#lamp', which is the id of no" in result.stdout


# The same figures as elsewhere


@pytest.mark.corpus
@pytest.mark.skipif(not UV.is_dir(), reason="the published questions are not there")
def test_the_published_row_of_ragbisect_comes_out_to_three_decimals() -> None:
    pytest.importorskip("bm25s")
    where = ("--questions", UV / "uv-questions.jsonl", "--sections", UV / "uv-sections.jsonl")
    result = run(*where, "--rows", "tests.plain_bm25:PlainBm25", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["rows"]

    def figures(record: dict[str, Any]) -> list[float]:
        names = ("recall@5", "mrr@5", "ndcg@5|hit")
        return [round(record["measures"][name]["mean"], 3) for name in names]

    assert row["n"] == len(load_questions(UV / "uv-questions.jsonl")) == 221
    assert figures(row) == [0.923, 0.805, 0.904]
    assert figures(row["shapes"]["conceptual"]) == [0.921, 0.811, 0.911]
    assert figures(row["shapes"]["exact_lookup"]) == [0.926, 0.797, 0.896]

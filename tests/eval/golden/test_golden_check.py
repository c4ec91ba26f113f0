"""`contextpull golden check`: what is wrong with a golden file, by itself and beside a store."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.eval.golden.checking import check_golden
from contextpull.eval.golden.schema import golden_schema
from tests.eval.golden.stores import lines, paged_store, store_of

FILES = {
    "guide/cache.md": "# Cache\n\nThe cache keeps wheels.\n\n"
    "## Clear\n\nRun clear to remove all 12 entries of the cache at once.\n\n"
    "## Prune\n\nRun prune to remove what nothing uses any more.\n",
    "zh.md": "# 还款\n\n客户可以在灾区推迟还款，没有滞纳金。\n",
    "th.md": "# เงิน\n\nลูกค้าสามารถเลื่อนการชำระเงินได้โดยไม่มีค่าธรรมเนียม\n",
}
CLEAR = "guide/cache.md#clear"
QUOTE = "remove all 12 entries"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store_of(tmp_path, FILES)
    return tmp_path / "store"


def check(path: Path, *rows: dict[str, object] | str, arguments: tuple[str, ...] = ()) -> Result:
    texts = (each if isinstance(each, str) else json.dumps(each) for each in rows)
    path.write_text("".join(f"{text}\n" for text in texts))
    arguments = ("golden", "check", str(path), *arguments)
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def beside(store: Path, *rows: dict[str, object] | str) -> Result:
    arguments = ("--store", str(store))
    return check(store.parent / "golden.jsonl", *rows, arguments=arguments)


def row(*expected: str, **more: object) -> dict[str, object]:
    return {"question": "How?", "expected": list(expected), **more}


def test_a_file_without_fault_passes(store: Path) -> None:
    result = beside(store, row(CLEAR, "zh.md", evidence=[QUOTE, "推迟还款，没有"]))
    assert result.return_value == 0
    assert result.stdout.endswith("rows: 1, ready to be scored: 1, faults: 0\n")
    assert "note" not in result.stdout


def test_every_fault_is_listed_and_fails(tmp_path: Path) -> None:
    faulty = ['{"question": 1, "expeted": []}'] * 30
    result = check(tmp_path / "golden.jsonl", *faulty)
    assert result.return_value == 1
    assert result.stdout.count("golden.jsonl:30:") == 3
    assert "faults: 90" in result.stdout


def test_json_holds_faults_and_notes_apart(tmp_path: Path) -> None:
    rows = (row("a.md"), {"question": "B", "expected": [], "draft": True}, "x")
    result = check(tmp_path / "golden.jsonl", *rows, arguments=("--json",))
    record = json.loads(result.stdout)
    assert not record["ok"]
    assert (record["rows"], record["ready"]) == (3, 1)
    assert record["faults"] == [{"line": 3, "column": 1, "message": "not JSON: Expecting value"}]
    assert [each["lines"] for each in record["notes"]] == [[2], [2], [1]]


def test_notes_do_not_fail(tmp_path: Path) -> None:
    result = check(
        tmp_path / "golden.jsonl",
        {"question": "", "expected": [], "hint": "ask about a.md"},
        row("a.md", draft=True),
        {"question": "What?", "expected": []},
        {"question": "Why?", "expected": ["a.md"], "evidence": ["a fee", "保险费不可"]},
    )
    assert result.return_value == 0
    notes = [line for line in result.stdout.splitlines() if line.startswith("note: ")]
    assert [line.partition("(")[2] for line in notes] == [
        "line 1)",
        "line 2)",
        "line 3)",
        "line 2)",
        "line 4)",
    ]
    assert "rows: 3, ready to be scored: 2" in result.stdout


def test_a_chinese_quote_is_not_short(tmp_path: Path) -> None:
    result = check(tmp_path / "golden.jsonl", row("a.md", evidence=["保险费不可退还"]))
    assert "fewer than" not in result.stdout


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "the file holds no questions"),
        ('{"question": "How?", "expected": []}', "none says what is expected"),
        ('{"question": "", "expected": [], "hint": "x"}', "still to be filled in"),
    ],
)
def test_a_file_with_nothing_to_score_fails(tmp_path: Path, content: str, reason: str) -> None:
    result = check(tmp_path / "golden.jsonl", content)
    assert result.return_value == 1
    assert reason in result.stdout


def test_what_cannot_be_used_is_told_apart(tmp_path: Path) -> None:
    absent = CliRunner().invoke(cli, ("golden", "check", "absent.jsonl"), standalone_mode=False)
    assert absent.return_value == 2
    assert "There is no file absent.jsonl" in absent.stderr
    folder = CliRunner().invoke(cli, ("golden", "check", str(tmp_path)), standalone_mode=False)
    assert folder.return_value == 2
    bedrock = check(tmp_path / "b.jsonl", '{"conversationTurns": []}')
    assert bedrock.return_value == 2
    assert "contextpull golden label" in bedrock.stderr
    store = check(tmp_path / "g.jsonl", row("a.md"), arguments=("--store", str(tmp_path / "no")))
    assert store.return_value == 2


def test_the_schema_is_printed() -> None:
    result = CliRunner().invoke(cli, ("golden", "check", "--schema"), standalone_mode=False)
    assert json.loads(result.stdout) == golden_schema()


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("guide/cache.md#cleer", "'guide/cache.md#clear'"),
        ("guide/cahce.md#clear", "'guide/cache.md#clear'"),
        ("guide/cahce.md", "'guide/cache.md'"),
        ("Guide/Cache.md", "'guide/cache.md'"),
        ("cache.md", "'guide/cache.md'"),
    ],
)
def test_what_the_store_lacks_comes_with_what_was_meant(
    store: Path, entry: str, meant: str
) -> None:
    result = beside(store, row("zh.md", entry))
    assert result.return_value == 1
    assert f"1:44: the store holds no {entry!r}; did you mean {meant}" in result.stdout


def test_another_normal_form_is_another_id(tmp_path: Path) -> None:
    store_of(tmp_path, {"caf\u00e9.md": "# A\n\nSome text of it.\n"})
    result = beside(tmp_path / "store", row("cafe\u0301.md"))
    assert result.return_value == 1
    assert "did you mean 'caf\u00e9.md'" in result.stdout


@pytest.mark.parametrize(
    ("entry", "quote", "closest"),
    [
        (CLEAR, "remove all 14 entries of the cache", "remove all 12 entries of the cache"),
        ("zh.md", "客户可以在灾区推迟缴费，没有滞纳金", "客户可以在灾区推迟还款，没有滞纳金"),
        ("th.md", "ลูกค้าสามารถเลื่อนการจ่ายเงินได้", "เลื่อนการชำระเงินได้"),
    ],
)
def test_stale_evidence_is_shown_with_the_closest_text(
    store: Path, entry: str, quote: str, closest: str
) -> None:
    result = beside(store, row(entry, evidence=[quote]))
    assert result.return_value == 1
    assert "does not stand in" in result.stdout
    assert closest in result.stdout


def test_evidence_that_stands_elsewhere_is_said_to(store: Path) -> None:
    result = beside(store, row("guide/cache.md#prune", evidence=["all 12 entries of the cache"]))
    assert f"it stands in {CLEAR}" in result.stdout


def test_evidence_like_nothing_there_shows_nothing(store: Path) -> None:
    result = beside(store, row(CLEAR, evidence=["ZZZ qqq xxyy vvkk jjj"]))
    assert "nothing there comes close" in result.stdout


def test_a_page_of_a_document_without_pages_is_noted(store: Path) -> None:
    result = beside(store, row("zh.md#page=99", evidence=["推迟还款，没有"]))
    assert result.return_value == 0
    assert "note: rows that name a page where the store does not know" in result.stdout


def test_a_page_that_a_document_lacks_is_a_fault(tmp_path: Path) -> None:
    snapshot = paged_store(tmp_path / "store", {"zh.md": [("推迟还款，没有", range(2, 4))]})
    path = tmp_path / "golden.jsonl"
    path.write_text(lines([row("zh.md#page=2"), {**row("zh.md#page=9"), "question": "B"}]))
    checked = check_golden(path, snapshot)
    assert [(each.line, each.message) for each in checked.faults] == [
        (2, "'zh.md' has no page 9; its pages with text end at 3")
    ]


def test_faults_of_the_file_and_of_the_store_come_together(store: Path) -> None:
    result = beside(store, row("absent.md"), '{"question": "Why?"}')
    assert [line.split(":")[1] for line in result.stdout.splitlines()[:2]] == ["1", "2"]

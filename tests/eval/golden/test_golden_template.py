"""`contextpull golden template`: rows that wait for a person's questions."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.golden import golden_group
from contextpull.errors import EvaluationError
from contextpull.eval.golden.questions import load_golden
from tests.embedders import update
from tests.eval.golden.writers import topics


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Of eight documents with a passage each."""
    update(tmp_path, topics(8))
    return tmp_path / "store"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(golden_group, list(map(str, arguments)))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_spread_over_documents_and_wait_for_their_questions(
    store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "golden.jsonl"
    result = invoke("template", "--store", store, "-n", 5, "-o", out)
    assert result.exit_code == 0, result.output
    rows = rows_of(out)
    assert len({row["expected"][0].partition("#")[0] for row in rows}) == 5
    for row in rows:
        assert (row["question"], row["reference"], row["evidence"]) == ("", "", [])
        assert row["draft"] is True
        topic = row["expected"][0].partition(".md#")[0]
        assert f"The {topic} closes its heavy gate" in row["hint"]
    again = tmp_path / "again.jsonl"
    invoke("template", "--store", store, "-n", 5, "-o", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_check_counts_them_as_waiting_until_they_are_filled_in(
    store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "golden.jsonl"
    invoke("template", "--store", store, "-n", 3, "-o", out)
    checked = json.loads(invoke("check", out, "--store", store, "--json").stdout)
    assert checked["ready"] == 0
    assert any("template rows that wait" in each["message"] for each in checked["notes"])
    with pytest.raises(EvaluationError, match="holds no questions"):
        load_golden(out)
    first, *others = rows_of(out)
    first |= {"question": "When is it shut?", "reference": "At a low pressure."}
    out.write_text("".join(json.dumps(row) + "\n" for row in [first, *others]))
    result = invoke("check", out, "--store", store, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["ready"] == 1
    assert [each.question for each in load_golden(out)] == ["When is it shut?"]


def test_labels_that_somebody_made_are_never_written_over(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "golden.jsonl"
    out.write_text("mine")
    result = invoke("template", "--store", store, "-o", out)
    assert "is there already" in str(result.exception)
    assert out.read_text() == "mine"


def test_fewer_passages_than_rows_are_said_and_paths_narrow_the_choice(
    store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "golden.jsonl"
    result = invoke("template", "--store", store, "-n", 9, "-p", "harbour.md", "-o", out)
    assert f"{out}: 1 of 9 rows, about 1 documents" in result.stdout
    assert [row["expected"][0].partition("#")[0] for row in rows_of(out)] == ["harbour.md"]


def test_nothing_to_ask_about_writes_nothing(tmp_path: Path) -> None:
    update(tmp_path, {"a.md": "# A\n\nShort.\n"})
    out = tmp_path / "golden.jsonl"
    result = invoke("template", "--store", tmp_path / "store", "-o", out, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["rows"] == 0
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-o", "x.jsonl"), "either --sections or --store"),
        (("--store", "s", "-o", "no/such/x.jsonl"), "There is no folder"),
        (("--store", "s", "-n", 0, "-o", "x.jsonl"), "-n"),
    ],
)
def test_what_cannot_work_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("template", *arguments)
    assert result.exit_code != 0
    assert sentence in result.output + str(result.exception)

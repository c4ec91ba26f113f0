"""`contextpull golden report` and `golden cutoff`, from the command line's side."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from tests.eval.golden.stores import lines, store_of

WORDS = ("anchor", "bollard", "capstan", "davit", "eyelet", "fender")
SHIP = {
    f"{word}.md": f"# {word.title()}\n\nWhat the {word} of a ship is for, and its place.\n"
    for word in WORDS
}
QUESTIONS = [
    {"id": word, "question": f"what is the {word} for", "expected": [f"{word}.md"]}
    for word in WORDS
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store and a golden file, which is also the current one."""
    for name in ("STORE", "EMBEDDER", "RERANKER", "MODE", "API_KEY", "MODELS"):
        monkeypatch.delenv(f"CONTEXTPULL_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    store_of(tmp_path, SHIP)
    (tmp_path / "golden.jsonl").write_text(lines(QUESTIONS))
    (tmp_path / "outside.txt").write_text(
        "\n".join(
            f"which {each} lives on a ship" for each in ("zebra", "mole", "ant", "owl", "eel")
        )
        + "\n\n"
    )
    return tmp_path


def run(*arguments: str) -> Result:
    common = ("--store", "store", "--rounds", "200")
    return CliRunner().invoke(cli, ["golden", *arguments, *common], standalone_mode=False)


def test_report_prints_measures_times_and_notes() -> None:
    result = run("report", "golden.jsonl", "--k", "1,3")
    assert result.return_value == 0
    assert result.stderr == ""
    head, *rest = result.stdout.splitlines()
    assert head.split() == ["by", "doc", "lexical"]
    names = [line.split("  ")[0] for line in rest[:9]]
    assert names == [
        "recall@1", "recall@3", "hit_rate@1", "hit_rate@3", "mrr@3", "ndcg@3",
        "median ms", "p95 ms", "found nothing",
    ]  # fmt: skip
    assert "6 of 6 questions scored by doc; 0 without labels" in result.stdout
    assert "finds the most" not in result.stdout


def test_report_of_several_settings_states_picks_and_rules(
    place: Path, tiny_embedder: Path
) -> None:
    store_of(place, SHIP, tiny_embedder)
    result = run("report", "golden.jsonl", "--settings", "lexical,dense,hybrid")
    assert result.return_value == 0
    assert "best for time: the fastest by median of those whose recall@10" in result.stdout
    assert "comes next" in result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines()[:11])


def test_the_frontier_is_what_no_other_beats_in_both(place: Path, tiny_embedder: Path) -> None:
    store_of(place, SHIP, tiny_embedder)
    record = json.loads(
        run("report", "golden.jsonl", "--settings", "lexical,dense,hybrid", "--json").stdout
    )
    merits = [
        (each["setting"], each["measures"]["recall@10"]["mean"], each["median_ms"])
        for each in record["settings"]
    ]
    unbeaten = {
        name
        for name, found, took in merits
        if not any(
            more >= found and less <= took and (more, less) != (found, took)
            for _, more, less in merits
        )
    }
    assert set(record["frontier"]) == unbeaten != set()
    assert record["rules"][-1].startswith("frontier: no other has a higher recall@10 without")
    for more in ((), ("--markdown",)):
        shown = run("report", "golden.jsonl", "--settings", "lexical,dense", *more).stdout
        assert "frontier: " in shown


def test_report_lists_what_came_instead(place: Path) -> None:
    wrong = {"id": "wrong", "question": "where is the anchor", "expected": ["davit.md"]}
    (place / "golden.jsonl").write_text(lines([wrong]))
    result = run("report", "golden.jsonl", "--k", "1")
    assert "  wrong: where is the anchor\n    expected davit.md\n" in result.stdout
    assert "    came     anchor.md#anchor\n" in result.stdout


def test_report_as_json_and_markdown() -> None:
    record = json.loads(run("report", "golden.jsonl", "--json").stdout)
    assert record["settings"][0]["measures"]["recall@1"]["mean"] == 1
    assert record["picks"]["finds the most"] == "lexical"
    markdown = run("report", "golden.jsonl", "--markdown").stdout
    assert markdown.startswith("| by doc | lexical |\n| --- | --- |\n| recall@1 | 1.000 ")
    both = CliRunner().invoke(cli, ["golden", "report", "golden.jsonl", "--json", "--markdown"])
    assert both.exit_code == 2


@pytest.mark.parametrize("k", ["0", "1,x", "2.9", "", "1,,3", "5000"])
def test_a_cutoff_that_is_none_is_an_error(k: str) -> None:
    result = CliRunner().invoke(cli, ["golden", "report", "golden.jsonl", "--k", k])
    assert result.exit_code == 2
    assert "whole number" in result.stderr


@pytest.mark.parametrize("command", ["report", "cutoff"])
def test_a_file_or_a_store_that_is_not_there_is_an_error(command: str) -> None:
    absent = CliRunner().invoke(cli, ["golden", command, "nope.jsonl", "--store", "store"])
    assert absent.exit_code == 2
    assert "nope.jsonl" in absent.stderr
    no_store = CliRunner().invoke(cli, ["golden", command, "golden.jsonl", "--store", "nowhere"])
    assert no_store.exit_code == 2
    assert "nowhere" in no_store.stderr
    assert no_store.stdout == ""


def test_what_the_store_does_not_hold_is_an_error_and_no_zeros(place: Path) -> None:
    (place / "golden.jsonl").write_text(
        lines([{"id": "a", "question": "what is it for", "expected": ["ancor.md"]}])
    )
    result = run("report", "golden.jsonl")
    assert result.return_value == 2
    assert result.stdout == ""
    assert "does not hold 'ancor.md' (question a)" in result.stderr


def test_cutoff_prints_separation_cutoff_and_table() -> None:
    result = run("cutoff", "golden.jsonl", "--unanswerable", "outside.txt", "--measure", "score")
    assert result.return_value == 0, result.stdout
    assert result.stdout.startswith("6 answers and 5 near misses by doc, 5 unanswerable")
    assert "separation  1.000 [1.000, 1.000]" in result.stdout
    assert "\nheld out " in result.stdout
    assert "\nchosen " in result.stdout


def test_cutoff_that_is_not_supported_exits_1_with_the_reason() -> None:
    result = run("cutoff", "golden.jsonl", "--measure", "score")
    assert result.return_value == 1
    assert "No cut-off: 6 answers and 0 near misses are too few" in result.stdout
    record = json.loads(run("cutoff", "golden.jsonl", "--measure", "score", "--json").stdout)
    assert record["cutoff"] is None
    assert "too few" in record["reason"]


@pytest.mark.parametrize("command", [["report"], ["cutoff", "--measure", "score"]])
def test_figures_say_which_file_they_are_of(place: Path, command: list[str]) -> None:
    told = json.loads(run(command[0], "golden.jsonl", *command[1:], "--json").stdout)["golden"]
    content = (place / "golden.jsonl").read_bytes()
    assert told == {"path": "golden.jsonl", "sha256": sha256(content).hexdigest()}


@pytest.mark.parametrize("command", [["report"], ["cutoff", "--measure", "score"]])
def test_only_the_questions_that_are_named_are_asked(command: list[str]) -> None:
    chosen = ("--only", "*e*", "--only", "anchor", "--skip", "fen*", "--json")
    told = json.loads(run(command[0], "golden.jsonl", *command[1:], *chosen).stdout)
    assert told["golden"]["only"] == ["*e*", "anchor"]
    assert told["golden"]["skip"] == ["fen*"]
    assert told["questions"] == 2  # anchor and eyelet
    for wrong in (("--only", "Anchor"), ("--skip", "keel"), ("--skip", "*")):
        assert run(command[0], "golden.jsonl", *command[1:], *wrong).return_value == 2


def test_cutoff_as_json() -> None:
    arguments = ("--unanswerable", "outside.txt", "--measure", "score", "--json")
    record = json.loads(run("cutoff", "golden.jsonl", *arguments).stdout)
    assert record["at_cutoff"]["cutoff"] == record["cutoff"]
    assert record["cutoff_interval"]["low"] <= record["cutoff"]
    assert len(record["tops"]) == 11


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"", "holds no question"), (b"\n \n", "holds no question"), (b"a\n\xff\n", "2: not UTF-8")],
)
def test_unanswerable_files_that_hold_none_are_errors(
    place: Path, content: bytes, complaint: str
) -> None:
    (place / "outside.txt").write_bytes(content)
    result = run("cutoff", "golden.jsonl", "--unanswerable", "outside.txt")
    assert result.return_value == 2
    assert complaint in result.stderr


def test_unanswerable_file_that_is_not_there_is_an_error() -> None:
    result = run("cutoff", "golden.jsonl", "--unanswerable", "nope.txt")
    assert result.return_value == 2
    assert "There is no file nope.txt" in result.stderr


def test_cutoff_takes_one_setting() -> None:
    result = CliRunner().invoke(
        cli, ["golden", "cutoff", "golden.jsonl", "--setting", "lexical,hybrid"]
    )
    assert result.exit_code == 2
    assert "Name one setting only" in result.stderr

"""`contextpull eval run` with agents, from the command line's side, against a scripted model."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.evaluate import eval_group
from contextpull.types import Passage, Question
from tests.standins import Calls, Fails, Request, Says, StandIn, Step, standing_in

pytest.importorskip("openai")

PASSAGES = [
    Passage("a.md#red", "# Red\n\nThe red kettle boils in four minutes.", "a.md"),
    Passage("a.md#blue", "# Blue\n\nThe blue kettle boils in nine minutes.", "a.md"),
    Passage("b.md#oven", "# Oven\n\nThe oven needs ten minutes to get hot.", "b.md"),
]
QUESTIONS = [
    Question(
        "q1", "How long does the red kettle take?", "conceptual", ("a.md#red",), source="a.md"
    ),
    Question("q2", "How long does the oven take?", "table", ("b.md#oven",), source="b.md"),
]
GOLD = {each.text: each.gold[0] for each in QUESTIONS}


def reads_then_answers(request: Request) -> Step:
    """Searches, reads the gold of the first question only, and answers."""
    question = request.question
    if request.turn == 0:
        return Calls([("search", {"query": question})])
    if request.turn == 1 and "red" in question:
        return Calls([("read", {"ids": [GOLD[question]]})])
    return Says(f"It says so in [{GOLD[question]}].")


@pytest.fixture
def model() -> Iterator[StandIn]:
    with standing_in(reads_then_answers) as standin:
        yield standin


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    save_questions(tmp_path / "questions.jsonl", QUESTIONS)
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    return [
        "--questions",
        str(tmp_path / "questions.jsonl"),
        "--sections",
        str(tmp_path / "sections.jsonl"),
    ]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(eval_group, ["run", *map(str, arguments), "--rounds", "100"])


def means(result: Result) -> dict[str, float]:
    rows = json.loads(result.stdout)["rows"]
    return {row["row"]: row["measures"]["recall@5"]["mean"] for row in rows}


def test_an_agent_stands_beside_a_push_scored_by_what_it_read_and_was_shown(
    files: list[str], model: StandIn
) -> None:
    result = run(*files, "--rows", "bm25,pull", "--model", model.endpoint, "--json")
    assert result.exit_code == 0, result.output
    assert means(result) == {"bm25": 1.0, "pull, read": 0.5, "pull, surfaced": 1.0}
    report = json.loads(result.stdout)
    agent = report["agents"]["pull"]
    assert agent["leakage"] == 0.5
    assert agent["answered_without_reading"] == 1
    assert agent["reads_per_query"] == 0.5
    assert agent["dollars"] is None
    assert [each["row"] for each in report["comparisons"]] == ["pull, read", "pull, surfaced"]
    assert {each["baseline"] for each in report["comparisons"]} == {"bm25"}


def test_the_table_names_agents_their_model_and_their_cost(
    files: list[str], model: StandIn
) -> None:
    result = run(*files, "--rows", "bm25,pull", "--model", model.endpoint)
    assert "pull, surfaced" in result.stdout
    assert "recall@5 beside the best push row, bm25" in result.stdout
    assert f"agents ask the model {model.endpoint}\n" in result.stdout
    assert "$: all questions, - where the price is unknown." in result.stdout


def test_a_kept_run_goes_on_and_replays_without_asking_anybody(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = [*files, "--rows", "pull", "--model", model.endpoint, "--out", out, "--json"]
    first = run(*arguments, "--shapes", "table")
    assert len(json.loads(first.stdout)["rows"][0]["shapes"]) == 1
    asked = len(model.asked)
    both = run(*arguments)
    assert len(model.asked) > asked
    assert json.loads(both.stdout)["agents"]["pull"]["replayed"] == 1
    asked = len(model.asked)
    replayed = run(*arguments, "--offline")
    assert len(model.asked) == asked
    assert means(replayed) == means(both)
    names = {"run.json", "questions.jsonl", "transcripts.jsonl", "outcomes.jsonl", "writer.lock"}
    names |= {"failures.jsonl", "report.json", "table.txt"}
    assert {each.name for each in out.iterdir()} == names


def test_offline_says_what_was_never_asked(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    arguments = [*files, "--rows", "pull", "--model", model.endpoint, "--out", tmp_path / "run"]
    result = run(*arguments, "--offline")
    assert result.exit_code != 0
    assert "Nothing is kept of the row 'pull' for q1, q2" in str(result.exception)
    assert model.asked == []


def test_what_failed_is_a_miss_and_is_asked_again(files: list[str], tmp_path: Path) -> None:
    down = [True]

    def sometimes(request: Request) -> Step:
        return Fails(401) if down[0] else reads_then_answers(request)

    with standing_in(sometimes) as model:
        arguments = [*files, "--rows", "pull", "--model", model.endpoint, "--out", tmp_path / "run"]
        failed = run(*arguments, "--json")
        assert failed.exit_code == 1
        assert means(failed) == {"pull, read": 0.0, "pull, surfaced": 0.0}
        assert json.loads(failed.stdout)["agents"]["pull"]["outcomes"] == {"key_refused": 2}
        down[0] = False
        assert means(run(*arguments, "--json")) == {"pull, read": 0.5, "pull, surfaced": 1.0}


def test_a_budget_ends_the_asking_and_lists_what_was_left(files: list[str], model: StandIn) -> None:
    arguments = [*files, "--rows", "pull", "--model", model.endpoint, "--concurrency", 1]
    result = run(*arguments, "--max-tokens", 1, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["agents"]["pull"]["not_asked"] == 1
    assert "not asked: the budget was spent" in result.stdout


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--min", "recall@5=0.4"], 0, ""),
        (["--min", "recall@5=0.9"], 1, "pull, read: recall@5 is 0.5000, below 0.9"),
        (["--min", "bm25:recall@5=0.9"], 0, ""),
        (["--min", "recall@5"], 2, "'recall@5' is no gate"),
        (["--min", "recall@7=0.1"], 2, "'recall@7' is no measure"),
        (["--min", "dense:recall@5=0.1"], 2, "there is no row 'dense'"),
        (["--offline"], 2, "--offline needs the run's folder"),
        (["--shapes", "poem"], 1, "No question has the shape 'poem'"),
        (["--max-usd", "1"], 1, "The price of this model is unknown"),
    ],
)
def test_gates_and_wrong_usage(
    files: list[str], model: StandIn, more: list[str], code: int, message: str
) -> None:
    result = run(*files, "--rows", "bm25,pull", "--model", model.endpoint, *more)
    assert result.exit_code == code
    assert message in result.output + result.stderr + str(result.exception or "")


def test_an_agent_without_a_model_is_told_to_name_one(files: list[str]) -> None:
    result = run(*files, "--rows", "pull")
    assert result.exit_code == 2
    assert "The row 'pull' needs --model." in result.output


def test_a_question_of_a_kept_run_can_be_looked_at(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run(*files, "--rows", "bm25,pull", "--model", model.endpoint, "--out", out)
    shown = CliRunner().invoke(eval_group, ["show", str(out), "q1"])
    assert shown.exit_code == 0
    for part in (
        "q1 (conceptual): How long does the red kettle take?",
        "gold     a.md#red",
        "pull, read: recall@5 1.00",
        "  1. a.md#red   <- gold",
        'read({"ids": ["a.md#red"]})',
        "The red kettle boils in four minutes.",
        "answer: It says so in [a.md#red].",
    ):
        assert part in shown.stdout
    missing = CliRunner().invoke(eval_group, ["show", str(out), "q9"])
    assert "The run asked no question 'q9'" in str(missing.exception)


def test_two_runs_are_compared_question_by_question(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    arguments = [*files, "--rows", "pull", "--model", model.endpoint]
    run(*arguments, "--out", tmp_path / "one")
    model.script = [Says("I would rather not look.")]
    run(*arguments, "--max-turns", 3, "--out", tmp_path / "two")
    names = [str(tmp_path / name) for name in ("one", "two")]
    result = CliRunner().invoke(eval_group, ["compare", *names, "--json"])
    report = json.loads(result.stdout)
    assert list(report["changed"]) == ["limits.max_turns"]
    rows = {row["row"]: row for row in report["rows"]}
    assert rows["pull, read"]["lost"] == ["q1"]
    assert rows["pull, surfaced"]["lost"] == ["q1", "q2"]
    assert rows["pull, surfaced"]["difference"]["mean"] == -1.0
    assert [(each["row"], each["shape"], each["n"]) for each in report["shapes"]] == [
        (row, shape, 1)
        for row in ("pull, read", "pull, surfaced")
        for shape in ("conceptual", "table")
    ]
    text = CliRunner().invoke(eval_group, ["compare", *names]).stdout
    assert max(map(len, text.replace(str(tmp_path), "").splitlines())) <= 100
    lines = [line.split() for line in text.splitlines()]
    assert ["pull,", "surfaced", "2", "1.000", "0.000", "0", "2"] in lines
    assert "pull, surfaced lost: q1, q2" in text


def test_runs_over_different_questions_are_not_compared(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    arguments = [*files, "--rows", "bm25"]
    run(*arguments, "--out", tmp_path / "one")
    run(*arguments, "--shapes", "table", "--out", tmp_path / "two")
    names = [str(tmp_path / name) for name in ("one", "two")]
    result = CliRunner().invoke(eval_group, ["compare", *names])
    assert "asked 2 questions" in str(result.exception)


def test_repeats_are_averaged_by_question_and_the_first_decides_yes_or_no(
    files: list[str], tmp_path: Path
) -> None:
    talks: Counter[str] = Counter()

    def every_other_time(request: Request) -> Step:
        """Reads the gold of one question the first time, of the other the second time."""
        question = request.question
        talks[question] += request.turn == 0
        if request.turn == 0 and (talks[question] == 1) == ("red" in question):
            return Calls([("read", {"ids": [GOLD[question]]})])
        return Says("Four minutes.")

    with standing_in(every_other_time) as model:
        arguments = [*files, "--rows", "pull", "--model", model.endpoint, "--concurrency", 1]
        result = run(*arguments, "--repeats", 2, "--out", tmp_path / "twice", "--json")
        run(*arguments, "--out", tmp_path / "once")
    report = json.loads(result.stdout)
    row = report["rows"][0]
    assert row["n"] == 2
    assert {
        shape: each["measures"]["recall@5"]["mean"] for shape, each in row["shapes"].items()
    } == {
        "conceptual": 0.5,
        "table": 0.5,
    }
    assert (row["hits"]["yes"], row["shapes"]["conceptual"]["hits"]["yes"]) == (1, 1)
    agent = report["agents"]["pull"]
    assert agent["flips"] == {"read": 1, "surfaced": 1}
    flips = "pull: 1.000 of the questions flip by what was read, 1.000 by what was surfaced."
    assert flips in (tmp_path / "twice" / "table.txt").read_text()
    assert "flip" not in (tmp_path / "once" / "table.txt").read_text()
    assert agent["answered_share"]["mean"] == 1
    assert agent["answered_share"]["low"] == pytest.approx(2 / (2 + 1.959964**2), abs=1e-6)
    both = [str(tmp_path / name) for name in ("once", "twice")]
    compared = json.loads(CliRunner().invoke(eval_group, ["compare", *both, "--json"]).stdout)
    assert compared["changed"]["settings.repeats"] == [1, 2]
    assert {each["n"] for each in compared["rows"]} == {2}


def kept(folder: Path, questions: list[Question], *more: object) -> str:
    """A kept run of the row bm25 over these questions and the sections above; its folder."""
    folder.mkdir()
    save_questions(folder / "questions.jsonl", questions)
    save_passages(folder / "sections.jsonl", PASSAGES)
    named = ["--questions", folder / "questions.jsonl", "--sections", folder / "sections.jsonl"]
    result = run(*named, "--out", folder / "run", *more)
    assert result.exit_code == 0, result.output
    return str(folder / "run")


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(eval_group, ["compare", *arguments])


def test_runs_scored_otherwise_are_not_compared(tmp_path: Path) -> None:
    first = kept(tmp_path / "one", QUESTIONS)
    other_gold = [replace(QUESTIONS[0], gold=("a.md#blue",)), QUESTIONS[1]]
    for name, questions, more, message in (
        ("gold", other_gold, (), "Question 'q1' or its gold differs between the two runs"),
        ("cut", QUESTIONS, ("--k", 3), "has k = 5 and"),
        ("closed", QUESTIONS, ("--close-gold",), "Only one of the two runs was scored with"),
    ):
        result = compare(first, kept(tmp_path / name, questions, *more))
        assert message in str(result.exception)


def test_runs_over_other_sections_are_compared_only_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept(tmp_path / "one", QUESTIONS)
    monkeypatch.setattr(f"{__name__}.PASSAGES", [replace(PASSAGES[0], text="Red."), *PASSAGES[1:]])
    second = kept(tmp_path / "two", QUESTIONS)
    assert "give --across-corpora" in str(compare(first, second).exception)
    across = compare(first, second, "--across-corpora", "--json")
    assert list(json.loads(across.stdout)["changed"]) == ["corpus"]


def test_rows_that_one_run_lacks_are_listed(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    arguments = [*files, "--model", model.endpoint]
    both, push, pull = (str(tmp_path / name) for name in ("both", "push", "pull"))
    for out, rows in ((both, "bm25,pull"), (push, "bm25"), (pull, "pull")):
        run(*arguments, "--rows", rows, "--out", out)
    assert "only in the first: pull, read, pull, surfaced" in compare(both, push).stdout
    report = json.loads(compare(push, both, "--json").stdout)
    assert report["only_first"] == []
    assert report["only_second"] == ["pull, read", "pull, surfaced"]
    assert "have no row of the same name" in str(compare(push, pull).exception)


def test_compared_runs_draw_the_questions_of_a_document_together(tmp_path: Path) -> None:
    def asking(text: str, sources: int) -> list[Question]:
        return [
            Question(f"q{at}", text, "table", ("b.md#oven",), source=f"{at % sources}.md")
            for at in range(12)
        ]

    def p_of(sources: int) -> float:
        folders = []
        for name, words in (("good", "oven"), ("bad", "zebra")):
            folder = Path(kept(tmp_path / f"{name}-{sources}", asking(words, sources)))
            # The same questions, as far as the comparison can tell.
            path = folder / "questions.jsonl"
            path.write_text(path.read_text().replace("zebra", "oven"))
            folders.append(str(folder))
        [row] = json.loads(compare(*folders, "--json").stdout)["rows"]
        assert row["difference"]["mean"] == -1
        return float(row["p"])

    assert p_of(sources=3) == 2 / 2**3
    assert p_of(sources=12) == 2 / 2**12

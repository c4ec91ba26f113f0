"""Tables of a report in files for other programs."""

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError
from contextpull.eval.report.exports import guarded, markdown, write_csv
from contextpull.eval.report.model import RunView, view_of
from contextpull.eval.report.tables import tables_of
from contextpull.types import Question
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, QUESTIONS, keep_run
from tests.properties import same_every_time

HOSTILE = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "'=1",
    "＝1",
    'a "quoted", cell',
    "two\nlines",
    "a\r\nb",
    "|",
    "<script>alert(1)</script>",
    "![x](http://example.com/x.png)",
    "\u202egnp.exe",
    "-->",
)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    push = {"bm25": FINDS_ONE, "hybrid": FINDS_ALL}
    return view_of(keep_run(tmp_path_factory.mktemp("set") / "first", push, {"pull": FINDS_ALL}))


def read(path: Path) -> tuple[list[str], list[list[str | float]]]:
    """The heads and the lines of a file; what is not quoted is a number, as it must be."""
    with path.open(encoding="utf-8", newline="") as stream:
        heads, *lines = csv.reader(stream, quoting=csv.QUOTE_NONNUMERIC)
    return [str(each) for each in heads], [list(line) for line in lines]


def column(path: Path, name: str) -> list[str | float]:
    heads, lines = read(path)
    return [line[heads.index(name)] for line in lines]


def test_every_table_of_a_report_is_a_file_with_one_line_of_heads(
    view: RunView, tmp_path: Path
) -> None:
    paths = write_csv([view], tmp_path / "csv")
    assert [each.name for each in paths] == [
        "rows.csv",
        "shapes.csv",
        "comparisons.csv",
        "hits.csv",
        "behaviour.csv",
        "judgements.csv",
        "questions.csv",
        "results.csv",
    ]
    for each in paths:
        heads, lines = read(each)
        assert len(set(heads)) == len(heads), each.name
        assert {len(line) for line in lines} <= {len(heads)}, each.name


def test_figures_are_those_of_the_run_to_the_last_digit(view: RunView, tmp_path: Path) -> None:
    write_csv([view], tmp_path)
    assert column(tmp_path / "rows.csv", "recall@5") == [
        row.overall.measures["recall@5"].mean for row in view.rows
    ]
    assert column(tmp_path / "rows.csv", "tokens a question") == [0, 0, 2000, 2000]
    assert column(tmp_path / "comparisons.csv", "p holm") == [
        each.p_holm for each in (*view.comparisons, *view.comparisons_by_shape)
    ]
    assert column(tmp_path / "questions.csv", "recall: bm25") == [1, 0, 0]


def test_what_is_undefined_is_empty(view: RunView, tmp_path: Path) -> None:
    write_csv([view], tmp_path)
    dollars = column(tmp_path / "rows.csv", "dollars a question")
    assert [dollars[0], dollars[-1]] == [0, ""]
    assert math.isnan(view.rows[-1].cost.dollars)


def test_lists_of_ids_can_be_read_whatever_a_path_holds(tmp_path: Path) -> None:
    gold = ('a, "b" | c.md#x', "=d.md#y")
    question = Question("q1", "Where?", "table", gold)
    found = keep_run(tmp_path / "run", {"bm25": {"q1": list(gold)}}, questions=[question])
    write_csv([view_of(found)], tmp_path / "csv")
    assert column(tmp_path / "csv" / "questions.csv", "gold") == [
        '["a, \\"b\\" | c.md#x", "=d.md#y"]'
    ]


def plain(cells: Sequence[str | float]) -> Iterator[str]:
    """Texts as they were before they were guarded, by the rule that the documentation gives."""
    for each in cells:
        assert isinstance(each, str)
        yield each.removeprefix("'")


def texts() -> st.SearchStrategy[str]:
    free = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return st.one_of(st.sampled_from(HOSTILE), free, st.sampled_from("=+-@'").map(lambda x: x * 2))


@same_every_time(60)
@given(st.lists(texts(), min_size=1, max_size=4))
def test_texts_survive_a_spreadsheet_file_and_begin_no_formula(found: list[str]) -> None:
    questions = [
        Question(f"q{at}", f"{text}?", "table", ("a#b",), answer=text)
        for at, text in enumerate(found)
    ]
    rankings = {each.id: ["a#b"] for each in questions}
    with TemporaryDirectory() as place:
        folder = keep_run(Path(place, "run"), {f"row {found[0]}": rankings}, questions=questions)
        view = view_of(folder)
        write_csv([view], Path(place, "csv"))
        answers = column(Path(place, "csv", "questions.csv"), "answer")
        names = column(Path(place, "csv", "rows.csv"), "row")
    assert list(plain(answers)) == [each.answer for each in view.questions]
    assert list(plain(names)) == [row.name for row in view.rows]
    formulas = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
    assert not any(str(each).startswith(formulas) for each in answers)


def test_half_of_a_pair_of_characters_does_not_stop_a_file() -> None:
    assert guarded("a\ud800b") == "a?b"


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_keeps_its_columns_and_makes_nothing_of_text(tmp_path: Path, text: str) -> None:
    question = Question("q1", f"What is {text}?", "table", ("a#b",), answer=text)
    rows = {f"row {text}": {"q1": ["a#b"]}}
    written = markdown([view_of(keep_run(tmp_path / "run", rows, questions=[question]))])
    for block in written.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1, block
    assert "<" not in written
    assert "![" not in written
    assert "\u202e" not in written


def test_markdown_writes_figures_as_the_terminal_does(view: RunView) -> None:
    written = markdown([view])
    assert "| hybrid | push or own | yes | 3 | 0 | 1.000 [1.000, 1.000] |" in written
    assert "| 2,000 [2,000, 2,000] |" in written
    assert "| −0.667 [−1.000, −0.075] |" in written
    assert "cannot tell" in written
    assert "## Judgements" not in written, "a table without a line is left out"


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    folders = [keep_run(tmp_path / each / "run", {"bm25": FINDS_ONE}) for each in ("a", "b")]
    views = [view_of(each) for each in folders]
    runs = [str(line[0]) for line in tables_of(views)[0].lines]
    assert runs == list(map(str, folders))
    assert "| run | row |" in markdown(views)


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(view: RunView, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("x")
    with pytest.raises(EvaluationError, match="Cannot make the folder"):
        write_csv([view], taken)


def test_all_questions_are_in_the_tables(view: RunView) -> None:
    questions = next(each for each in tables_of([view]) if each.name == "questions")
    assert [line[1] for line in questions.lines] == [each.id for each in QUESTIONS]


def test_the_command_writes_tables_of_all_runs_beside_the_page(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    runs = [keep_run(tmp_path / name, {"bm25": FINDS_ALL}) for name in ("older", "newer")]
    files = ["-o", tmp_path / "page.html", "--csv", tmp_path / "t", "--markdown", tmp_path / "t.md"]
    result = CliRunner().invoke(cli, ["eval", "report", *map(str, (*runs, *files))])
    assert result.exit_code == 0, result.output
    assert column(tmp_path / "t" / "rows.csv", "run") == ["older", "newer"]
    assert (tmp_path / "t.md").read_text().startswith("# older, newer\n")
    assert str(tmp_path / "t" / "rows.csv") in result.output


def test_of_two_runs_the_tables_say_what_changed(tmp_path: Path) -> None:
    push = {"bm25": FINDS_ALL}
    runs = [
        keep_run(tmp_path / name, push, {"pull": found}, model=name)
        for name, found in (("older", FINDS_ONE), ("newer", FINDS_ALL))
    ]
    views = [view_of(each) for each in runs]
    paths = {each.stem: each for each in write_csv(views, tmp_path / "csv")}
    of_pull = column(paths["changes"], "row").index("pull, read")
    assert column(paths["changes"], "won")[of_pull] == '["q2", "q3"]'
    assert column(paths["changes"], "before")[of_pull] == pytest.approx(1 / 3)
    assert column(paths["changes"], "now")[of_pull] == 1
    assert read(paths["settings"])[1] == [["newer", "older", "model", "older", "newer"]]
    assert "## Settings that differ from the run before" in markdown(views)


def test_runs_that_cannot_be_compared_have_tables_all_the_same(tmp_path: Path) -> None:
    runs = [keep_run(tmp_path / name, {name: FINDS_ALL}) for name in ("older", "newer")]
    paths = {
        each.stem: each for each in write_csv([view_of(each) for each in runs], tmp_path / "t")
    }
    assert read(paths["changes"])[1] == []
    assert column(paths["rows"], "run") == ["older", "newer"]


def test_no_value_has_one_sign_in_every_table(view: RunView) -> None:
    cells = {cell.strip() for line in markdown([view]).splitlines() for cell in line.split("|")}
    assert "–" in cells
    assert "-" not in cells


def test_a_plot_needs_a_run(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    (tmp_path / "golden.json").write_text("{}")
    named = [str(tmp_path / "golden.json"), "-o", str(tmp_path / "page.html"), "--plot", "p.svg"]
    result = CliRunner().invoke(cli, ["eval", "report", *named])
    assert result.exit_code == 2
    assert "needs the folder of a run" in result.output
    assert not (tmp_path / "page.html").exists()

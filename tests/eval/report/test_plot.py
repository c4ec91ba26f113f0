"""The picture of a run: the same bytes for the same run, every row named, no name over another."""

import builtins
import re
import struct
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError, InvalidInput, MissingExtra
from contextpull.eval.report.model import RunView, view_of
from contextpull.eval.report.plot import plot_trade_off
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, keep_run

pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"
PUBLISHED = Path(__file__).resolve().parents[3] / "benchmarks" / "pull" / "demo"
LETTER = 6.0
"""Points of a letter of a name, about."""


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    push = {"bm25": FINDS_ONE, "dense": FINDS_ONE, "hybrid": FINDS_ALL, "hybrid+rerank": FINDS_ALL}
    pull = {"pull": FINDS_ALL, "pull-strict": FINDS_ONE}
    return view_of(keep_run(tmp_path_factory.mktemp("set") / "run", push, pull))


def names(path: Path) -> dict[str, tuple[float, float]]:
    """The texts of an SVG file and where they begin."""
    found = {}
    for each in ElementTree.parse(path).iter(f"{SVG}text"):
        if "x" in each.attrib:
            found["".join(each.itertext())] = float(each.attrib["x"]), float(each.attrib["y"])
    return found


@pytest.mark.parametrize("ending", [".svg", ".png", ".PNG"])
def test_the_same_run_gives_the_same_bytes(view: RunView, tmp_path: Path, ending: str) -> None:
    one, other = (tmp_path / f"{name}{ending}" for name in ("one", "other"))
    plot_trade_off(view, one)
    plot_trade_off(view, other)
    assert one.read_bytes() == other.read_bytes()
    assert b"Matplotlib v" not in one.read_bytes(), "another version is no other picture"


def test_a_png_file_is_wide_enough_for_a_readme(view: RunView, tmp_path: Path) -> None:
    plot_trade_off(view, tmp_path / "run.png")
    data = (tmp_path / "run.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG")
    assert (width, height) == (1200, 690)


def test_every_row_is_named_and_no_name_lies_over_another(view: RunView, tmp_path: Path) -> None:
    plot_trade_off(view, tmp_path / "run.svg")
    found = names(tmp_path / "run.svg")
    rows = [f"{row.name} (best push)" if row.is_best_push else row.name for row in view.rows]
    assert set(rows) <= found.keys()
    for one, other in combinations(rows, 2):
        (x1, y1), (x2, y2) = found[one], found[other]
        apart = x1 + len(one) * LETTER < x2 or x2 + len(other) * LETTER < x1
        assert apart or abs(y1 - y2) >= 10, (one, other)


def test_marks_of_about_one_cost_stand_apart_and_near_their_own_cost(tmp_path: Path) -> None:
    run = view_of(PUBLISHED)
    plot_trade_off(run, tmp_path / "run.svg")
    drawn = (tmp_path / "run.svg").read_text(encoding="utf-8")
    marks = [float(x) for x in re.findall(r'<use [^>]*x="(\S+)"[^>]*stroke-width: 1\.6[;"]', drawn)]
    zero, thousand = (names(tmp_path / "run.svg")[tick][0] for tick in ("0", "1,000"))
    belongs = [zero + row.cost.tokens.mean / 1000 * (thousand - zero) for row in run.rows]
    assert len(marks) == len(belongs) == 12
    assert min(right - left for left, right in pairwise(sorted(marks))) >= 9.4
    assert min(marks) >= zero
    pulled = zip(sorted(marks)[4:], sorted(belongs)[4:], strict=True)
    assert max(abs(mark - own) for mark, own in pulled) < 13


def test_the_text_beside_the_picture_holds_every_figure(view: RunView, tmp_path: Path) -> None:
    said = plot_trade_off(view, tmp_path / "run.svg")
    assert said.startswith("recall@5 against tokens per question: bm25 0.333 [0.000, 0.925] at 0")
    assert "hybrid (the best push row) 1.000 [1.000, 1.000] at 0 tokens" in said
    assert "pull, read 1.000 [1.000, 1.000] at 2,000 tokens" in said


def test_names_of_rows_are_text_and_nothing_else(tmp_path: Path) -> None:
    hostile = {"$\\frac{a}{0}$ <b>&": FINDS_ALL, "a\u202eb\x00": FINDS_ONE}
    plot_trade_off(view_of(keep_run(tmp_path / "run", hostile)), tmp_path / "run.svg")
    assert {"$\\frac{a}{0}$ <b>& (best push)", "a�b�"} <= names(tmp_path / "run.svg").keys()


def test_one_row_is_drawn(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "run", {"bm25": FINDS_ONE})
    assert "bm25" in plot_trade_off(view_of(run), tmp_path / "run.svg")


@pytest.mark.parametrize("name", ["run.jpg", "run", "run.svg.gz"])
def test_another_ending_is_refused_with_those_that_there_are(
    view: RunView, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInput, match=r"must end in \.png or \.svg"):
        plot_trade_off(view, tmp_path / name)


def test_a_place_that_cannot_be_written_is_said(view: RunView, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="Cannot write"):
        plot_trade_off(view, tmp_path / "nowhere" / "run.svg")


def test_a_missing_library_is_one_sentence_with_the_command(
    view: RunView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *more: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[eval\]'"):
        plot_trade_off(view, tmp_path / "run.svg")


def test_the_command_draws_the_last_run_and_prints_the_text(tmp_path: Path) -> None:
    runs = [keep_run(tmp_path / name, {name: FINDS_ALL}) for name in ("older", "newer")]
    files = ["-o", tmp_path / "page.html", "--plot", tmp_path / "run.svg"]
    result = CliRunner().invoke(cli, ["eval", "report", *map(str, (*runs, *files))])
    assert result.exit_code == 0, result.output
    assert "newer (the best push row) 1.000" in result.output
    assert "newer (best push)" in names(tmp_path / "run.svg")

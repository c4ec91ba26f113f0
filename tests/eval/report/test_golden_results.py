"""What `golden report` and `golden cutoff` print as JSON, as parts of a page."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("jinja2")

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError
from contextpull.eval.golden.declining import answer_cutoff, cutoff_record
from contextpull.eval.golden.questions import save_golden
from contextpull.eval.golden.reporting import golden_report, report_record
from contextpull.eval.golden.settings import parse_settings
from contextpull.eval.report.cells import cell_text
from contextpull.eval.report.exports import markdown, write_csv
from contextpull.eval.report.golden import golden_file, golden_parts
from contextpull.eval.report.golden_view import GoldenView
from contextpull.eval.report.rendering import report_page
from contextpull.store.opening import Snapshot
from tests.eval.golden.stores import asks, store_of
from tests.eval.report.kept_runs import FINDS_ALL, keep_run

WORDS = ("kettle", "tower", "harbour", "bread", "rope", "lamp", "boat", "clock")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    files = {f"{word}.md": f"# {word}\n\nThe {word} is kept {word}ed.\n" for word in WORDS}
    return store_of(tmp_path_factory.mktemp("words"), files)


@pytest.fixture(scope="module")
def report(snapshot: Snapshot) -> dict[str, Any]:
    questions = [asks(f"where is the {word}", f"{word}.md") for word in WORDS]
    questions.append(asks("<script>alert(1)</script> ]]> & nothing", "rope.md"))
    settings = parse_settings("lexical")
    return report_record(golden_report(snapshot, questions, settings, k=(1, 3), rounds=50))


def cutoff_of(snapshot: Snapshot, *unanswerable: str) -> dict[str, Any]:
    questions = [asks(f"where is the {word}", f"{word}.md") for word in WORDS]
    found = answer_cutoff(
        snapshot, questions, unanswerable=unanswerable, measure="score", rounds=50
    )
    return cutoff_record(found)


def view(folder: Path, record: object) -> GoldenView:
    path = folder / "results.json"
    path.write_text(json.dumps(record))
    return golden_parts(path)


def printed(folder: Path, command: str, *options: str) -> dict[str, Any]:
    """What a command about a small folder of documents prints as JSON."""
    docs = folder / "docs"
    docs.mkdir()
    for word in WORDS:
        (docs / f"{word}.md").write_text(f"# {word}\n\nThe {word} is kept {word}ed.\n")
    questions = [asks(f"where is the {word}", f"{word}.md", named=word) for word in WORDS]
    save_golden(folder / "golden.jsonl", questions)
    arguments = ["golden", command, str(folder / "golden.jsonl"), str(docs), "--json", *options]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
    record: dict[str, Any] = json.loads(result.stdout)
    return record


def cells(found: GoldenView) -> list[str]:
    """Every cell as the page writes it."""
    return [
        " ".join(filter(None, cell_text(column, cell)))
        for table in found.tables
        for line in table.lines
        for column, cell in zip(table.columns, line, strict=True)
    ]


def test_a_report_says_what_finds_the_most_with_its_interval(
    report: dict[str, Any], tmp_path: Path
) -> None:
    found = view(tmp_path, report)
    assert (
        found.claim == "“lexical” finds the most: recall@3 0.889 [0.727, 1.000] over 9 questions."
    )
    assert "0.889 [0.727, 1.000]" in cells(found)
    assert found.tables[-1].title == "“lexical” found nothing right for 1"


def test_an_order_that_could_be_luck_is_said_to_be(report: dict[str, Any], tmp_path: Path) -> None:
    other = json.loads(json.dumps(report))
    other["settings"].append({**other["settings"][0], "setting": "dense"})
    pair = {
        **{"better": "lexical", "other": "dense", "n": 9, "p": 0.25, "p_holm": 0.25},
        "difference": {"mean": 0.1, "low": -0.1, "high": 0.3},
        **{"detectable": None, "verdict": "cannot tell", "could_be_luck": True},
    }
    found = view(tmp_path, {**other, "comparisons": [pair]})
    assert "“dense” comes next, 0.100 lower, which could be luck (p 0.250" in found.claim
    assert [each.title for each in found.tables[1:3]] == [
        "Picks",
        "Pairs of settings in recall@3",
    ]
    assert "+0.100 [−0.100, +0.300]" in cells(found)
    picks = found.tables[1].lines
    assert picks[-1][:2] == ("frontier", "lexical")
    assert str(picks[-1][2]).startswith("no other has a higher recall@3")
    del other["frontier"]  # older results have none
    assert view(tmp_path, {**other, "comparisons": [pair]}).tables[1].lines == picks[:-1]
    level = {**pair, "verdict": "none differs", "could_be_luck": True}
    assert "is level with it" in view(tmp_path, {**other, "comparisons": [level]}).claim


def test_a_cutoff_is_told_with_what_it_costs_elsewhere(snapshot: Snapshot, tmp_path: Path) -> None:
    outside = [
        f"what is kept of a {word}" for word in ("zebra", "moon", "tax", "piano", "star", "fox")
    ]
    record = cutoff_of(snapshot, *outside)
    found = view(tmp_path, record)
    assert found.claim.startswith(f"Decline below a score of {record['cutoff']:.3f} [")
    assert "On questions that it was not chosen by" in found.claim
    assert "chosen" in cells(found)
    assert 'class="band"' in found.chart
    assert "cut-off" in found.chart


def test_no_cutoff_is_said_with_the_reason_and_drawn_without_one(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    found = view(tmp_path, cutoff_of(snapshot))
    assert found.claim.startswith("These questions support no cut-off: ")
    assert "too few" in found.claim
    assert 'class="band"' not in found.chart


def test_a_sweep_names_the_best_build_and_says_what_could_be_luck(tmp_path: Path) -> None:
    record = printed(tmp_path, "sweep", "--max-chars", "500,1000", "--rounds", "100")
    found = view(tmp_path, record)
    assert found.claim.startswith(f"“{record['best']}” ranks first: ndcg@10 1.000 [1.000, 1.000]")
    assert "which could be luck" in found.claim
    assert [each.title for each in found.tables] == [
        "Builds, best first",
        "ndcg@10 of the best build, less that of",
    ]
    assert found.chart.count("<circle") == 2


def test_techniques_that_cannot_be_told_apart_are_said_to_be(tmp_path: Path) -> None:
    techniques = ("--techniques", "fixed,sentence,semantic", "--sizes", "500", "--headings", "in")
    found = view(tmp_path, printed(tmp_path, "chunking", *techniques))
    assert "has 4 of 4 questions right, as has" in found.claim
    assert "These questions cannot tell it from" in found.claim
    assert found.tables[0].title == "Techniques, each by its best build"
    assert "semantic" in cells(found), "what was left out is told"


def test_the_folder_of_a_comparison_may_be_named_in_place_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "report.json").write_text('{"kind": "chunking"}')
    assert golden_file(tmp_path / "kept") == tmp_path / "kept" / "report.json"
    assert golden_file(keep_run(tmp_path / "run", {"bm25": FINDS_ALL})) is None
    assert golden_file(tmp_path) is None


def test_the_command_draws_results_beside_a_run(report: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(json.dumps(report))
    run = keep_run(tmp_path / "run", {"bm25": FINDS_ALL})
    out = tmp_path / "page.html"
    named = [str(each) for each in (run, tmp_path / "golden.json", "-o", out)]
    assert CliRunner().invoke(cli, ["eval", "report", *named]).exit_code == 0
    html = out.read_text()
    assert "bm25" in html
    assert "“lexical” finds the most" in html


def test_results_alone_are_a_page_whose_parts_are_in_the_bar_above(
    report: dict[str, Any], snapshot: Snapshot, tmp_path: Path
) -> None:
    parts = [view(tmp_path, report), view(tmp_path, cutoff_of(snapshot))]
    html = report_page([], parts).html
    assert '<h1 id="golden-title">' in html
    assert '<a href="#golden-1">What each setting finds</a>' in html
    assert '<a href="#golden-2">Where to decline</a>' in html


def test_what_was_found_for_all_has_no_empty_table_of_misses(
    report: dict[str, Any], tmp_path: Path
) -> None:
    all_found = json.loads(json.dumps(report))
    all_found["settings"][0]["misses"] = []
    assert [each.name for each in view(tmp_path, all_found).tables] == ["measures"]


def test_tables_of_results_are_exported_with_bare_figures(
    report: dict[str, Any], tmp_path: Path
) -> None:
    found = view(tmp_path, report)
    paths = write_csv([], tmp_path / "csv", [found, found])
    assert [each.name for each in paths] == [
        *("golden-1-measures.csv", "golden-1-misses.csv"),
        *("golden-2-measures.csv", "golden-2-misses.csv"),
    ]
    heads, line = paths[0].read_text().splitlines()
    assert heads.startswith('"setting","recall@3","recall@3 low","recall@3 high",')
    assert line.startswith('"lexical",0.888')
    written = markdown([], [found])
    assert written.startswith("# results.json\n")
    assert "## What each setting finds (results.json)" in written
    assert "| lexical | 0.889 [0.727, 1.000] |" in written
    assert "<" not in written


def test_text_of_others_is_text_in_the_page(report: dict[str, Any], tmp_path: Path) -> None:
    hostile = json.loads(json.dumps(report).replace("lexical", "<img src=x onerror=alert(1)>"))
    html = report_page([], [view(tmp_path, hostile)]).html
    assert "<img" not in html
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ]]&gt; &amp; nothing" in html


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON file of golden results"),
        ("[1]", "holds no results that can be drawn"),
        ('{"rows": []}', "holds no results that can be drawn"),
        ('{"kind": "poem", "settings": []}', "holds no results that can be drawn"),
        ('{"kind": "sweep", "format": 2}', "reads up to format 1. Upgrade contextpull"),
        ('{"kind": "sweep", "rows": []}', "cannot be read as golden results"),
        ('{"kind": "chunking", "techniques": []}', "cannot be read as golden results"),
        ('{"settings": 3}', "cannot be read as golden results"),
        ('{"settings": []}', "cannot be read as golden results"),
        ('{"cutoff": 1, "tops": [{"kind": "guess", "value": 1}]}', "cannot be read"),
        ('{"cutoff": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "is no JSON file of golden results"),
    ],
)
def test_a_file_that_is_something_else_is_an_error(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(EvaluationError, match=said):
        golden_parts(path)


@pytest.mark.parametrize("value", ["high", True, None, 1e999])
def test_a_figure_that_is_none_is_an_error(
    report: dict[str, Any], tmp_path: Path, value: object
) -> None:
    spoilt = json.loads(json.dumps(report))
    spoilt["settings"][0]["measures"]["recall@3"]["mean"] = value
    with pytest.raises(EvaluationError, match="results"):
        view(tmp_path, spoilt)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="cannot be read: No such file"):
        golden_parts(tmp_path / "nothing.json")

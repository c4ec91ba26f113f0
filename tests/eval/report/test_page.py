"""The page that `contextpull eval report` writes, as text."""

import base64
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.errors import ContextPullError
from contextpull.eval.judging import FunctionJudge, judge_run
from contextpull.eval.judging import Settings as Judging
from contextpull.eval.report.model import view_of
from contextpull.eval.report.packing import as_json, pack
from contextpull.eval.run_directory import load_run, open_ledger
from contextpull.types import Question
from tests.agent_runs import number_of, reads_and_answers, write_set
from tests.agent_runs import run as eval_run
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, QUESTIONS, READ, keep_run
from tests.properties import same_every_time
from tests.standins import Refuses, Request, Step, standing_in

pytest.importorskip("jinja2")

from contextpull.eval.publishing import publish
from contextpull.eval.report.rendering import report_page

PUSH = {"bm25": FINDS_ONE, "hybrid": FINDS_ALL}
HOSTILE = (
    "</script><script>alert(1)</script> ]]> <!-- <img src=x onerror=alert(1)> \"' & \u202ex\x07"
)
NOTHING: Mapping[str, Sequence[str]] = {"q1": [], "q2": [], "q3": []}


def report(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["eval", "report", *map(str, arguments)])


def html_of(*folders: Path) -> str:
    return report_page(folders).html


def items_of(html: str) -> tuple[dict[str, Any], list[Any]]:
    """The index of a page, and the items of all its chunks in order."""
    index = json.loads(re.findall(r'id="index">(.*?)</script>', html, re.DOTALL)[0])
    chunks = re.findall(r'class="chunk">(.*?)</script>', html)
    return index, [
        each for chunk in chunks for each in json.loads(gzip.decompress(base64.b64decode(chunk)))
    ]


def test_the_command_writes_the_page_and_names_it(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL})
    result = report(run, "-o", tmp_path / "page.html")
    assert (result.exit_code, result.output) == (0, f"{tmp_path / 'page.html'}\n")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "These 3 questions cannot tell" not in html
    assert "scores as the best push row" in html


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL})
    assert html_of(run) == html_of(run)


@pytest.mark.parametrize("name", ["nothing", "file.txt"])
def test_what_is_no_run_is_said_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("not a run")
    result = report(tmp_path / name, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert name in result.output
    assert not (tmp_path / "page.html").exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH)
    result = report(run, "-o", tmp_path / "no" / "page.html")
    assert result.exit_code == 2
    assert "Cannot write" in result.output


def test_without_jinja_the_command_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = keep_run(tmp_path / "first", PUSH)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = report(run, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "pip install 'contextpull[eval]'" in result.output


def test_only_the_page_s_own_style_and_script_may_run(tmp_path: Path) -> None:
    html = html_of(keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL}))
    policy = re.findall(r'Content-Security-Policy" content="(.*?)"', html)[0].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("style", "script"):
        (text,) = re.findall(f"<{name}>(.*?)</{name}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    of_runs = html.replace(re.findall("<script>(.*?)</script>", html, re.DOTALL)[0], "")
    assert not re.search(r"<[^>]+ (?:style|on\w+)=", of_runs)
    assert not re.search(r'(?:src|href)="(?!#|data:,)', of_runs)


def test_what_runs_hold_never_becomes_part_of_the_page(tmp_path: Path) -> None:
    questions = [Question("q1", HOSTILE, HOSTILE, ("a.md#red",), HOSTILE, HOSTILE)]
    run = keep_run(
        tmp_path / "first",
        {HOSTILE: {"q1": [HOSTILE]}, "fails <b>": {}},
        {f"pull {HOSTILE}": {"q1": [HOSTILE]}},
        questions=questions,
        model=HOSTILE,
        result=HOSTILE,
        answer=HOSTILE,
    )
    html = html_of(run)
    assert len(re.findall(r"<script\b", html)) == len(re.findall("</script>", html))
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<!--" not in html
    assert "\u202e" not in html
    index, items = items_of(html)
    assert index["questions"][0][1] == HOSTILE
    assert HOSTILE in items


def test_a_lone_surrogate_does_not_keep_the_page_from_being_written(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL})
    (run / "run.json").write_text(
        json.dumps({**json.loads((run / "run.json").read_text()), "model": "a\ud800b"})
    )
    assert report(run, "-o", tmp_path / "page.html").exit_code == 0


VARIANTS = {
    "push alone": (PUSH, {}),
    "one push row": ({"bm25": FINDS_ONE}, {}),
    "pull alone": ({}, {"pull": FINDS_ALL}),
    "nothing found": ({"bm25": NOTHING}, {"pull": NOTHING}),
    "questions that failed": ({"bm25": {}, "hybrid": FINDS_ALL}, {"pull": FINDS_ALL}),
    "a retriever of one's own": ({"bm25": FINDS_ONE, "mine:Retriever": FINDS_ALL}, {}),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("questions", [QUESTIONS, QUESTIONS[:1]])
def test_runs_of_every_kind_are_drawn(
    tmp_path: Path, variant: str, questions: Sequence[Question]
) -> None:
    push, pull = VARIANTS[variant]
    asked = {each.id for each in questions}
    rows = [
        {name: {at: ids for at, ids in of.items() if at in asked} for name, of in each.items()}
        for each in (push, pull)
    ]
    run = keep_run(tmp_path / "first", rows[0], rows[1], questions=questions)
    html = html_of(run)
    assert ("How agents went about it" in html) == bool(pull)
    index, items = items_of(html)
    assert [line[0] for line in index["questions"]] == [each.id for each in questions]
    assert [items[line[4]]["gold"] for line in index["questions"]] == [
        list(each.gold) for each in questions
    ]


def test_a_question_that_failed_has_no_recall_and_says_why(tmp_path: Path) -> None:
    html = html_of(keep_run(tmp_path / "first", {"bm25": {}, "hybrid": FINDS_ALL}))
    index, items = items_of(html)
    assert [line[3] for line in index["questions"]] == [[None, 1.0]] * 3
    assert "KeyError" in items[index["questions"][0][4]]["results"][0]["error"]
    assert "3 of 3 in “bm25”" in html


def test_what_a_retriever_of_one_s_own_costs_is_not_known(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", {"bm25": FINDS_ONE, "mine:Retriever": FINDS_ALL})
    ours, own = view_of(run).rows
    assert (ours.cost.tokens.mean, ours.cost.dollars) == (0, 0)
    assert str(own.cost.tokens.mean) == str(own.cost.dollars) == "nan"


def test_a_price_gives_dollars_a_question_and_a_drawing(tmp_path: Path) -> None:
    html = html_of(keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL}, dollars=0.25))
    assert "$0.2500" in html
    radio = '<input type="radio" name="cost" value="dollars"'
    assert radio in html
    without = html_of(keep_run(tmp_path / "second", PUSH, {"pull": FINDS_ALL}))
    assert radio not in without
    assert "Dollars are not drawn: no price is known" in without


def test_equal_texts_are_stored_once_and_sections_are_found_by_id(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL, "strict": FINDS_ALL}, result=READ)
    index, items = items_of(html_of(run))
    assert items.count(READ) == 1
    sections = items[index["sections"]]
    assert {name: items[at] for name, at in sections.items()} == {
        "a.md#red": "# Red\n\nFour minutes.",
        "b.md#blue": "# Blue\n\nNine minutes.",
    }


def test_chunks_are_named_by_their_first_item(tmp_path: Path) -> None:
    many = [replace(QUESTIONS[0], id=f"q{at}") for at in range(40)]
    reads = {each.id: ["a.md#red"] for each in many}
    run = keep_run(
        tmp_path / "first", {"bm25": reads}, {"pull": reads}, questions=many, answer="x" * 20_000
    )
    packed = pack(view_of(run))
    sizes = [len(json.loads(gzip.decompress(base64.b64decode(each)))) for each in packed.chunks]
    assert len(sizes) > 1
    assert packed.index["starts"] == [sum(sizes[:at]) for at in range(len(sizes))]


def test_a_published_copy_says_that_texts_are_not_in_it(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL}, result=READ)
    publish(load_run(run), open_ledger(run), tmp_path / "copy")
    html = html_of(tmp_path / "copy")
    assert "published copy of a run" in html
    index, items = items_of(html)
    assert index["hasText"] is False
    assert items[index["sections"]] == {}


def test_judgements_are_shown_with_the_answers_and_on_their_own(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ALL})
    assert "What judges said" not in html_of(run)
    judge = FunctionJudge(lambda _item: {"score": 0.5, "reason": "half <b>"}, "a judge")
    judge_run(run, judge, Judging(measures=("correctness",), rounds=50))
    html = html_of(run)
    assert "What judges said" in html
    assert "A judge's mean is no result before" in html
    index, items = items_of(html)
    (attempt,) = items[index["questions"][0][4]]["attempts"]
    assert attempt["verdicts"] == [["a judge", "correctness", 0.5, "half <b>"]]


def test_of_two_runs_the_second_is_shown_with_what_changed(tmp_path: Path) -> None:
    first = keep_run(tmp_path / "first", PUSH, {"pull": FINDS_ONE}, model="old")
    second = keep_run(tmp_path / "second", PUSH, {"pull": FINDS_ALL}, model="new")
    html = html_of(first, second)
    assert "What changed from <bdi>first</bdi> to <bdi>second</bdi>" in html
    assert "<td><bdi>old</bdi></td><td><bdi>new</bdi></td>" in html
    assert "“second” beside “first”: of 4 rows that both have" in html
    assert 'Won: <a class="question-link" href="#q=q2">' in html
    index, items = items_of(html)
    of_pull = items[index["questions"][1][4]]["before"][2]
    assert (of_pull["row"], of_pull["scores"]["recall@5"]) == ("pull, read", 0.0)


def test_runs_of_other_questions_are_said_not_to_compare(tmp_path: Path) -> None:
    found = {name: {at: of[at] for at in ("q1", "q2")} for name, of in PUSH.items()}
    first = keep_run(tmp_path / "first", found, questions=QUESTIONS[:2])
    second = keep_run(tmp_path / "second", PUSH)
    html = html_of(first, second)
    assert "They cannot be compared:" in html
    assert "The last two runs cannot be compared with each other." in html
    assert '<span class="tag">other questions</span>' in html


def test_of_many_runs_every_row_has_a_history_with_its_gaps(tmp_path: Path) -> None:
    runs = [
        keep_run(tmp_path / f"run{at}", PUSH, {"pull": FINDS_ALL} if at else {}) for at in range(3)
    ]
    html = html_of(*runs)
    assert "recall@5 of pull, read, run by run" in html
    assert "run 1: not there; run 2: 1.000; run 3: 1.000" in html


def test_a_history_joins_only_runs_that_can_be_compared(tmp_path: Path) -> None:
    corpora = ("one", "two", "two")
    runs = [
        keep_run(tmp_path / f"run{at}", {"bm25": FINDS_ONE}, corpus=corpus)
        for at, corpus in enumerate(corpora)
    ]
    assert html_of(*runs).count('class="trend push best"') == 1


def test_a_shape_without_questions_is_named_with_the_reason_that_the_run_has(
    tmp_path: Path,
) -> None:
    skipped = {"aggregation": "no <b>key</b>", "table": "it has questions all the same"}
    html = html_of(keep_run(tmp_path / "run", PUSH, skipped=skipped))
    assert "Skipped: <bdi>aggregation</bdi> (<bdi>no &lt;b&gt;key&lt;/b&gt;</bdi>)." in html
    assert "The questions have none of the shape exact lookup." in html
    assert "it has questions all the same" not in html


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ('{"shapes": {"table": {"skipped": "no table has a key"}}}', "no table has a key"),
        ('{"shapes": {"table": {"skipped": null}}}', ""),
        ('{"shapes": [1]}', ""),
        ("{", ""),
    ],
)
def test_a_run_keeps_why_a_generated_set_skipped_a_shape(
    tmp_path: Path, report: str, said: str
) -> None:
    options = write_set(tmp_path, 2)
    (tmp_path / "questions.report.json").write_text(report)
    eval_run(*options, "--out", tmp_path / "run")
    html = html_of(tmp_path / "run")
    assert ("Skipped: <bdi>table</bdi>" in html) == bool(said)
    assert said in html


def test_shapes_that_were_not_asked_for_are_said_to_be_left_out(tmp_path: Path) -> None:
    options = write_set(tmp_path, 2)
    lines = (tmp_path / "questions.jsonl").read_text()
    (tmp_path / "questions.jsonl").write_text(lines.replace("conceptual", "table", 1))
    eval_run(*options, "--shapes", "table", "--out", tmp_path / "run")
    skipped = "<bdi>conceptual</bdi> (<bdi>not drawn: --shapes and --sample left it out</bdi>)"
    assert skipped in html_of(tmp_path / "run")


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(ContextPullError, match="at least one run"):
        report_page([])


@same_every_time(100)
@given(
    st.recursive(
        st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_in_a_page_means_the_same_and_opens_no_tag(value: object) -> None:
    written = as_json(value)
    assert json.loads(written) == value
    assert "<" not in written
    assert written.isascii()


def test_a_run_of_the_command_with_repeats_and_failures_is_drawn(tmp_path: Path) -> None:
    def sometimes(request: Request) -> Step:
        return Refuses() if number_of(request) == 3 else reads_and_answers(request)

    with standing_in(sometimes) as model:
        options = ["--rows", "bm25,pull", "--model", model.endpoint, "--repeats", 2]
        eval_run(*write_set(tmp_path, 4), *options, "--out", tmp_path / "run")
    html = html_of(tmp_path / "run")
    assert '<h3><bdi>pull</bdi> <span class="count">8 runs</span></h3>' in html
    assert "questions that flip" in html
    assert "Questions that failed count as misses: 1 of 4 in “pull”." in html
    index, items = items_of(html)
    attempts = items[index["questions"][1][4]]["attempts"]
    assert [(each["agent"], each["repeat"]) for each in attempts] == [("pull", 0), ("pull", 1)]
    (name,) = items[index["sections"]].keys() - {"4.md#kettle"}
    assert items[items[index["sections"]][name]] == "# Kettle 2\n\nIt boils in 2 minutes."


def test_a_refusal_names_runs_and_is_whole_wherever_the_report_was_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {name: {at: of[at] for at in ("q1", "q2")} for name, of in PUSH.items()}
    keep_run(tmp_path / "first", found, questions=QUESTIONS[:2])
    keep_run(tmp_path / "second", PUSH)
    monkeypatch.chdir(tmp_path / "second")
    html = html_of(Path("../first"), Path())
    assert re.search(
        r"first asked 2 questions and second \d, not the same ones: their figures cannot be"
        r" compared\.<",
        html,
    )

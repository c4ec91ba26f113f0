"""Rows over judged collections: scored, averaged, compared, written down, shown."""

import json
import re
from collections.abc import Mapping
from math import log2
from pathlib import Path

import ir_measures
import pytest
from rich.cells import cell_len

from contextpull.adapters.beir import Collection, load_collection
from contextpull.eval.judged import (
    Block,
    JudgedRun,
    judged_report,
    judged_run,
    measure,
    query_records,
    run_lines,
)
from contextpull.eval.judged_table import render_judged
from contextpull.eval.runs import Row
from tests.judged import DOCUMENTS, QRELS, lines, write_collection

PERFECT = {"boats in the harbour": ["d1", "d2"], "what makes bread rise": ["d4"]}
SWAPPED = {"boats in the harbour": ["d2", "d1"], "what makes bread rise": ["d1", "d4"]}


class Canned:
    """Answers from a table by query; what is not in it fails."""

    def __init__(self, answers: Mapping[str, list[str]]) -> None:
        self.answers = answers
        self.depths: set[int] = set()

    def retrieve(self, query: str, k: int) -> list[str]:
        self.depths.add(k)
        return self.answers[query]


def row_of(collection: Collection, answers: Mapping[str, list[str]], name: str = "canned") -> Row:
    return measure(collection, Canned(answers), name=name, rounds=200, seed=0)


def many(folder: Path, queries: int, misses: int) -> Block:
    """A collection of so many queries; the row `weak` misses some that `strong` finds."""
    texts = [f"query {number}" for number in range(queries)]
    collection = load_collection(
        write_collection(
            folder,
            queries=lines({"_id": text, "text": text} for text in texts),
            qrels="".join(f"{text}\td1\t1\n" for text in texts),
        )
    )
    strong = {text: ["d1"] for text in texts}
    weak = {text: ["d2"] if at < misses else ["d1"] for at, text in enumerate(texts)}
    rows = (row_of(collection, strong, "strong"), row_of(collection, weak, "weak"))
    return Block(collection, rows)


@pytest.fixture
def small(tmp_path: Path) -> Collection:
    return load_collection(write_collection(tmp_path / "small"))


@pytest.fixture
def two(tmp_path: Path) -> JudgedRun:
    blocks = [many(tmp_path / "fewer", 20, 2), many(tmp_path / "more", 60, 30)]
    return judged_run(blocks, "strong", rounds=500, seed=0)


def test_rows_are_scored_with_the_grades_to_depth_100(small: Collection) -> None:
    retriever = Canned(SWAPPED)
    row = measure(small, retriever, name="canned", rounds=200, seed=0)
    means = {name: interval.mean for name, interval in row.overall.measures.items()}
    first = (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    assert means == pytest.approx(
        {"nDCG@10": (first + 1 / log2(3)) / 2, "R@100": 1, "RR@10": 0.75, "AP@100": 0.75}
    )
    assert retriever.depths == {100}
    assert row.shapes == {}


def test_run_file_gives_trec_eval_the_same_figures(small: Collection, tmp_path: Path) -> None:
    row = row_of(small, {**SWAPPED, "what makes bread rise": ["d3", "d1", "d4"]})
    path = tmp_path / "rows.run"
    path.write_text("".join(run_lines(row)))
    run = list(ir_measures.read_trec_run(str(path)))
    assert path.read_text().splitlines()[0] == "q1 Q0 d2 1 100 canned"
    qrels = [
        ir_measures.Qrel(query, document, int(score))
        for query, document, score in (line.split("\t") for line in QRELS.splitlines()[1:])
    ]
    names = {"nDCG@10": ir_measures.nDCG @ 10, "R@100": ir_measures.R @ 100}
    names |= {"RR@10": ir_measures.RR, "AP@100": ir_measures.AP @ 100}
    theirs = ir_measures.pytrec_eval.calc_aggregate(names.values(), qrels, run)
    for name, each in names.items():
        assert row.overall.measures[name].mean == pytest.approx(theirs[each], abs=5e-7)


def test_failed_query_counts_as_a_miss_and_is_listed(small: Collection) -> None:
    row = row_of(small, {"boats in the harbour": ["d1", "d2"]})
    assert row.overall.measures["nDCG@10"].mean == 0.5
    run = judged_run([Block(small, (row,))], "canned", rounds=200, seed=0)
    assert run.failed
    text = render_judged(run)
    assert "small, canned: 1 failed question, counted as a miss:\n  q2: KeyError" in text
    assert "No query failed" not in text


def test_single_row_over_one_collection_has_nothing_to_compare(small: Collection) -> None:
    run = judged_run([Block(small, (row_of(small, PERFECT),))], "canned", rounds=200, seed=0)
    assert (run.means, run.comparisons, run.failed) == ({}, (), False)
    assert "beside" not in render_judged(run)


def test_means_weigh_every_collection_the_same(two: JudgedRun) -> None:
    assert two.means["strong"]["nDCG@10"].mean == 1
    assert two.means["weak"]["nDCG@10"].mean == pytest.approx((0.9 + 0.5) / 2)


def test_rows_are_compared_in_each_collection_and_over_all(two: JudgedRun) -> None:
    found = {each.collection: each for each in two.comparisons}
    assert list(found) == ["fewer", "more", None]
    assert {each.row for each in two.comparisons} == {"weak"}
    assert found["fewer"].comparison.p == 0.5  # two differences: 2 of 4 ways are as extreme
    assert found["fewer"].p_holm == 0.5
    assert found["more"].comparison.p < 0.01
    assert found["more"].p_holm == pytest.approx(2 * found["more"].comparison.p)
    assert found[None].comparison.difference.mean == pytest.approx(-0.3)
    assert found[None].p_holm == found[None].comparison.p


def test_report_is_json_with_everything(two: JudgedRun) -> None:
    record = json.loads(json.dumps(judged_report(two), allow_nan=False))
    assert list(record) == [
        *("contextpull", "depth", "interval", "collections", "means"),
        *("baseline", "compared", "comparisons"),
    ]
    assert record["interval"] == {"level": 0.95, "rounds": 500, "seed": 0}
    fewer, more = record["collections"]
    assert (fewer["collection"], fewer["documents"], fewer["queries"]) == ("fewer", 4, 20)
    assert fewer["fingerprint"] == more["fingerprint"]
    assert [row["row"] for row in more["rows"]] == ["strong", "weak"]
    assert more["rows"][1]["measures"]["R@100"]["mean"] == 0.5
    assert more["rows"][1]["median_ms"] >= 0
    assert record["means"][1]["row"] == "weak"
    assert (record["baseline"], record["compared"]) == ("strong", "nDCG@10")
    *_, over_all = record["comparisons"]
    assert (over_all["collection"], over_all["row"], over_all["n"]) == (None, "weak", 80)
    assert over_all["sd"] is None
    assert over_all["difference"]["low"] < -0.3 < over_all["difference"]["high"]


def test_each_query_can_be_written_down(tmp_path: Path) -> None:
    others = [{"_id": f"x{at}", "text": "Some other words."} for at in range(30)]
    corpus = lines([*DOCUMENTS, *others])
    small = load_collection(write_collection(tmp_path / "small", corpus=corpus))
    answers = {"boats in the harbour": [f"x{at}" for at in range(30)]}
    first, second = query_records(small, row_of(small, answers))
    assert first.pop("seconds") != second.pop("seconds")
    assert first == {
        "collection": "small",
        "row": "canned",
        "query": "q1",
        **dict.fromkeys(["nDCG@10", "R@100", "RR@10", "AP@100"], 0.0),
        "top": [f"x{at}" for at in range(10)],
        "error": None,
    }
    assert (second["query"], second["top"]) == ("q2", [])
    assert str(second["error"]).startswith("KeyError")


def test_table_has_a_block_a_collection_then_means_then_comparisons(two: JudgedRun) -> None:
    blocks = [block.splitlines() for block in render_judged(two).split("\n\n")]
    assert [block[0] for block in blocks] == [
        "fewer: 4 documents, 20 queries, test",
        "more: 4 documents, 60 queries, test",
        "mean over 2 collections, each of which weighs the same",
        "nDCG@10 beside the row strong",
        "[low, high]: 95% interval, bootstrap over queries, 500 rounds, seed 0.",
    ]
    assert blocks[1][1].split() == [
        *("row", "n", "nDCG@10", "R@100", "RR@10", "AP@100", "ms/query", "errors")
    ]
    figure = r"0\.500 \[0\.\d{3}, 0\.\d{3}\]"
    assert re.fullmatch(rf"weak +60  {figure}  0\.500  0\.500   0\.500 +\d+\.\d +0", blocks[1][3])
    mean = r"0\.700 \[0\.\d{3}, 0\.\d{3}\]"
    assert re.fullmatch(rf"weak +{mean}  0\.700  0\.700   0\.700", blocks[2][3])
    difference = r"[+-]0\.\d{3} \[[+-]0\.\d{3}, [+-]0\.\d{3}\]"
    assert re.fullmatch(rf"fewer +weak  {difference}  0\.500 +0\.500 +0\.\d+", blocks[3][2])
    assert re.fullmatch(rf"more +weak  {difference}  0\.002 +0\.004 +0\.\d+", blocks[3][3])
    assert re.fullmatch(rf"mean over 2 +weak  {difference}  0\.002 +0\.002 +0\.\d+", blocks[3][4])
    assert blocks[4][-1] == "No query failed."


def test_table_is_aligned_and_fits_a_hundred_columns(tmp_path: Path) -> None:
    block = many(tmp_path / "数据库" / ("a-collection-with-a-long-name-" * 3), 12, 3)
    rows = tuple(row_of(block.collection, {}, name) for name in ("hybrid + rerank", "bm25"))
    run = judged_run([Block(block.collection, rows)], "bm25", rounds=200, seed=0)
    table, comparisons, _ = (part.splitlines() for part in render_judged(run).split("\n\n"))
    assert max(map(cell_len, [*table[1:], *comparisons])) <= 100
    assert len({cell_len(line) for line in table[1:]}) == 1
    assert [line.index("0.000 [") for line in table[2:]] == [table[1].index("nDCG")] * 2


def test_small_p_values_and_undefined_figures_are_not_spelt_out(tmp_path: Path) -> None:
    clear, single = many(tmp_path / "clear", 200, 150), many(tmp_path / "single", 1, 1)
    text = render_judged(judged_run([clear, single], "strong", rounds=5_000, seed=0))
    assert re.search(r"clear +weak .* <0\.001", text)
    assert re.search(r"single +weak  -1\.000 \[-\] +1\.000 +1\.000 +-", text)


def test_names_from_files_cannot_steer_the_terminal(tmp_path: Path) -> None:
    collection = load_collection(write_collection(tmp_path / "\x1b[31mred"))
    row = row_of(collection, {"boats in the harbour": ["d1"]})
    text = render_judged(judged_run([Block(collection, (row,))], "canned", rounds=200, seed=0))
    assert all(character.isprintable() or character == "\n" for character in text)

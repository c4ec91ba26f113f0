"""The demo: its questions fit its corpus, and its parts run."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from click.testing import CliRunner

from contextpull.adapters.ragbisect import load_questions
from contextpull.cli.main import cli

DEMO = Path(__file__).resolve().parent.parent / "demo"
SHAPES = {"conceptual", "exact_lookup", "comparison", "aggregation", "table"}


def test_the_questions_cover_all_five_shapes() -> None:
    counts = Counter(question.shape for question in load_questions(DEMO / "questions.jsonl"))
    assert counts.keys() == SHAPES
    assert min(counts.values()) >= 10


def test_every_gold_section_exists_and_holds_the_identifier(tmp_path: Path) -> None:
    from contextpull import open_store
    from contextpull.retrieval.reading import read
    from contextpull.store.ingest import ingest

    ingest(DEMO / "corpus", tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    for question in load_questions(DEMO / "questions.jsonl"):
        sections = read(snapshot, question.gold)
        assert [each.section.id for each in sections] == list(question.gold), question.id
        texts = " ".join(each.section.text for each in sections)
        assert question.identifier in texts, question.id


def test_eval_run_scores_the_demo_from_its_store(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "contextpull", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    run("ingest", str(DEMO / "corpus"))
    questions = str(DEMO / "questions.jsonl")
    given = ("--questions", questions, "--store", ".contextpull", "--rows", "bm25", "--k", "5")
    report = json.loads(run("eval", "run", *given, "--json"))
    (row,) = report["rows"]
    assert (report["k"], row["row"], row["n"], row["errors"]) == (5, "bm25", 69, 0)
    assert row["shapes"].keys() == SHAPES
    assert row["measures"].keys() == {"recall@5", "mrr@5", "ndcg@5|hit"}
    recall = row["measures"]["recall@5"]
    assert 0 < recall["low"] <= recall["mean"] <= recall["high"] < 1
    assert "aggregation" in run("eval", "run", *given)


def test_the_question_that_the_demo_names_was_asked_of_the_model() -> None:
    (named,) = re.findall(r"eval show .* (\w+)\\n", DEMO.joinpath("run.py").read_text())
    run = DEMO.parent / "benchmarks" / "pull" / "demo"
    result = CliRunner().invoke(cli, ["eval", "show", str(run), named])
    assert result.exit_code == 0, result.stderr
    assert "pull-json" in result.stdout

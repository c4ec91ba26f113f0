"""A kept run whose answers were read for, seen in snippets, guessed, and refused; to be judged."""

from pathlib import Path

from click.testing import CliRunner

from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.evaluate import eval_group
from contextpull.types import Passage, Question
from tests.standins import Calls, Refuses, Request, Says, Step, standing_in

PASSAGES = [
    Passage("a.md#red", "# Red\n\nThe red kettle boils in four minutes.", "a.md"),
    Passage("a.md#blue", "# Blue\n\nThe blue kettle boils in nine minutes.", "a.md"),
    Passage("b.md#oven", "# Oven\n\nThe oven needs ten minutes to get hot.", "b.md"),
]
RED = Question("q1", "How long does red take?", "table", ("a.md#red",), "Four minutes.", "a.md")
OVEN = Question("q2", "How long does the oven take?", "table", ("b.md#oven",), source="b.md")
BLIND = Question("q3", "How long does blue take?", "table", ("a.md#blue",), "Nine.", "c.md")
REFUSED = Question("q4", "What is not said?", "table", ("a.md#blue",), "Nothing.", "d.md")
QUESTIONS = [RED, OVEN, BLIND, REFUSED]
ANSWERS = {
    RED.text: "Four minutes, says a.md#red.",
    OVEN.text: "Ten.",
    BLIND.text: "Nine, I guess.",
}


def agent(request: Request) -> Step:
    """Reads for q1, answers q2 from what search showed, q3 from nothing, and refuses q4."""
    question = request.question
    if question == REFUSED.text:
        return Refuses()
    if question == BLIND.text or request.turn == 2:
        return Says(ANSWERS[question])
    if request.turn == 0:
        return Calls([("search", {"query": question})])
    if question == RED.text:
        return Calls([("read", {"ids": ["a.md#red"]})])
    return Says(ANSWERS[question])


def answered_run(folder: Path) -> Path:
    """The run, made in this folder."""
    save_questions(folder / "questions.jsonl", QUESTIONS)
    save_passages(folder / "sections.jsonl", PASSAGES)
    files = ["--questions", folder / "questions.jsonl", "--sections", folder / "sections.jsonl"]
    with standing_in(agent) as model:
        how = ["--rows", "bm25,pull", "--model", model.endpoint, "--rounds", 100]
        command = ["run", *files, *how, "--out", folder / "run"]
        result = CliRunner().invoke(eval_group, list(map(str, command)))
    assert (folder / "run" / "run.json").is_file(), result.output
    return folder / "run"

"""Runs on the disk whose rankings and conversations the test names: nobody is asked."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextpull.eval.metered import Budget
from contextpull.eval.run_directory import questions_digest, write_run, writing_run
from contextpull.eval.run_table import render_run
from contextpull.eval.running import (
    Settings,
    compared_with_best_push,
    full_report,
    measure_agent,
)
from contextpull.eval.runs import evaluate
from contextpull.eval.transcripts import (
    Tokens,
    ToolCall,
    Transcript,
    Turn,
    cited_ids,
    total_tokens,
)
from contextpull.types import Question

SETTINGS = Settings(k=5, rounds=50, seed=0)
QUESTIONS = (
    Question("q1", "How long does red take?", "table", ("a.md#red",), "Four.", "a.md"),
    Question("q2", "How long does blue take?", "conceptual", ("b.md#blue",), "Nine.", "b.md"),
    Question("q3", "What differs?", "comparison", ("a.md#red", "b.md#blue"), "Time.", "c.md"),
)
FINDS_ALL = {"q1": ["a.md#red"], "q2": ["b.md#blue"], "q3": ["a.md#red", "b.md#blue"]}
FINDS_ONE = {"q1": ["a.md#red"], "q2": ["a.md#red"], "q3": []}
READ = """\
[a.md#red] A > Red (lines 1-3)
# Red

Four minutes.

[b.md#blue] B > Blue (lines 1-3)
# Blue

Nine minutes."""
"""What `read` returns of both sections."""


@dataclass
class _Fixed:
    """A push row that returns what it is told to."""

    rankings: Mapping[str, Sequence[str]]
    concurrency: int = 1

    def retrieve(self, query: str, k: int) -> list[str]:
        return list(self.rankings[query])[:k]


@dataclass
class _Reads:
    """An agent that reads what it is told to, and answers."""

    row_name: str
    reads: Mapping[str, Sequence[str]]
    result: str
    answer: str
    fingerprint: str = "0123456789abcdef"
    concurrency: int = 1

    def run(self, question: Question) -> Transcript:
        ids = tuple(self.reads[question.id])
        call = ToolCall(name="read", arguments={"ids": list(ids)}, result=self.result, read=ids)
        turns = (
            Turn(calls=(call,), tokens=Tokens(input=900, output=30), seconds=1.0),
            Turn(text=self.answer, tokens=Tokens(input=1_000, cached=900, output=70), seconds=2.0),
        )
        return Transcript(
            question_id=question.id,
            question=question.text,
            outcome="ok",
            answer=self.answer,
            cited=cited_ids(self.answer, ids),
            turns=turns,
            api_calls=2,
            tokens=total_tokens(turns),
            seconds=3.0,
        )


def keep_run(
    folder: Path,
    push: Mapping[str, Mapping[str, Sequence[str]]],
    pull: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    *,
    questions: Sequence[Question] = QUESTIONS,
    finished: int = 1_700_000_000,
    result: str = "Text.",
    answer: str = "So it is.",
    dollars: float | None = None,
    **manifest: Any,
) -> Path:
    """Write a run: rankings by row and question id, and what agents read by name and question id.

    A question that a push row has no ranking for fails. All agents get the same `result` of each
    call, give the same `answer`, and pay `dollars` for every question. `finished` is when, in
    seconds since 1970; further arguments go into `run.json`.
    """
    of_text = {each.id: each.text for each in questions}
    rows = [
        evaluate(
            _Fixed({of_text[at]: ids for at, ids in of.items()}),
            questions,
            name=name,
            k=SETTINGS.k,
            rounds=SETTINGS.rounds,
            seed=SETTINGS.seed,
        )
        for name, of in push.items()
    ]
    agents = {}
    with writing_run(folder) as ledger:
        for name, reads in (pull or {}).items():
            measured = measure_agent(
                _Reads(name, reads, result, answer),
                questions,
                ledger,
                SETTINGS,
                corpus="c0ffee",
                price=lambda _tokens: dollars,
                budget=Budget(None, None),
            )
            rows += [measured.read, measured.surfaced]
            agents[name] = measured.record
        beside = compared_with_best_push(rows, push, SETTINGS)
        write_run(
            folder,
            manifest={**_manifest([*push, *(pull or {})], questions), **manifest},
            questions=questions,
            rows=rows,
            failures={},
            report=full_report(rows, agents, beside, SETTINGS),
            table=render_run(rows, agents, beside),
        )
    os.utime(folder / "run.json", (finished, finished))
    return folder


def _manifest(rows: Sequence[str], questions: Sequence[Question]) -> dict[str, Any]:
    return {
        "contextpull": "0.1.0",
        "has_text": True,
        "rows": list(rows),
        "model": "a-model",
        "settings": SETTINGS._asdict(),
        "corpus": "c0ffee",
        "questions": questions_digest(questions),
        "close_gold": None,
        "models": {"embedder": None, "reranker": None},
        "limits": {"max_turns": 8, "max_usd": None, "max_tokens": None},
    }

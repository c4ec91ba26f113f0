"""A run of any size without a model: made-up documents, questions, rankings and conversations.

Scores, intervals and comparisons are made by the same functions as those of a real run; only what
rows return is drawn, with a seed. Texts are the demo's words in the frequencies that they have
there, in no order, so that they compress worse than documents do.
"""

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contextpull import __version__
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
from contextpull.eval.transcripts import Tokens, ToolCall, Transcript, Turn, total_tokens
from contextpull.types import Question

CORPUS = Path(__file__).resolve().parents[2] / "demo" / "corpus"
SHAPES = ("conceptual", "exact_lookup", "comparison", "aggregation", "table")
PUSHES = {"bm25": 0.55, "dense": 0.5, "hybrid": 0.65, "hybrid+rerank": 0.68}
"""How often a row finds each gold section."""
AGENTS = {"pull": (0.8, 0.05), "pull-strict": (0.75, 0.0)}
"""How often an agent reads each gold section, and how often it answers from snippets alone."""
K = 5


class Corpus:
    """Made-up sections: ids and texts, in the demo's words."""

    def __init__(self, sections: int, seed: int) -> None:
        self.random = random.Random(seed)
        text = "\n".join(each.read_text() for each in sorted(CORPUS.rglob("*.md")))
        self._words = re.findall(r"\S+", text)
        self.texts: dict[str, str] = {}
        for number in range(sections):
            path = f"{self._slug(1)}/{self._slug(2)}-{number // 6}.md"
            self.texts[f"{path}#{self._slug(3)}-{number}"] = self.prose(150)
        self.ids = list(self.texts)

    def prose(self, words: int) -> str:
        """About so many words in lines of a document's width."""
        count = self.random.randint(words // 2, words * 3 // 2)
        drawn = self.random.choices(self._words, k=count)
        lines = (" ".join(drawn[at : at + 14]) for at in range(0, count, 14))
        return "\n".join(lines)

    def _slug(self, words: int) -> str:
        drawn = "-".join(self.random.choices(self._words, k=words)).lower()
        return re.sub(r"[^a-z0-9-]", "", drawn) or "section"


def questions_over(corpus: Corpus, count: int) -> list[Question]:
    """So many questions in five shapes, each with one to four sections of gold."""
    found = []
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        size = {"comparison": 2, "aggregation": 4}.get(shape, 1)
        gold = tuple(corpus.random.sample(corpus.ids, size))
        text = " ".join(corpus.prose(14).split())
        answer = " ".join(corpus.prose(20).split())
        source = gold[0].partition("#")[0]
        found.append(Question(f"q{number:04}", f"{text}?", shape, gold, answer, source))
    return found


class DrawnPush:
    """A push row that finds each gold section so often, at any rank."""

    concurrency = 1

    def __init__(self, corpus: Corpus, questions: Sequence[Question], share: float) -> None:
        self._corpus = corpus
        self._gold = {each.text: each.gold for each in questions}
        self._share = share

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids, best first."""
        drawn = self._corpus.random
        others = drawn.sample(self._corpus.ids, k)
        found = [each for each in self._gold[query] if drawn.random() < self._share]
        ids = [*found, *(each for each in others if each not in found)][:k]
        drawn.shuffle(ids)
        return ids


class DrawnAgent:
    """An agent that searches, sometimes greps, reads, and answers."""

    concurrency = 1

    def __init__(self, corpus: Corpus, name: str, reads: float, unread: float) -> None:
        self._corpus = corpus
        self.row_name = name
        self.fingerprint = f"{name:0<16}"[:16]
        self._reads = reads
        self._unread = unread

    def run(self, question: Question) -> Transcript:
        """A conversation of two to five turns."""
        drawn = self._corpus.random
        calls = [[self._search(question)]]
        if drawn.random() < 0.3:
            calls.append([self._search(question), self._grep()])
        if drawn.random() >= self._unread:
            calls.append([self._read(question)])
        turns, sent = [], 1_800
        for each in [*calls, []]:
            written = 40 + drawn.randint(0, 60)
            turns.append(self._turn(each, Tokens(input=sent, output=written)))
            sent += written + sum(len(call.result) // 4 for call in each)
        lost = drawn.random() < 0.02
        return Transcript(
            question_id=question.id,
            question=question.text,
            outcome="max_turns" if lost else "ok",
            answer="" if lost else self._corpus.prose(60),
            cited=question.gold[:1],
            turns=tuple(turns),
            api_calls=len(turns),
            tokens=total_tokens(turns),
            seconds=sum(turn.seconds for turn in turns),
        )

    def _turn(self, calls: Sequence[ToolCall], tokens: Tokens) -> Turn:
        seconds = self._corpus.random.uniform(0.5, 4.0)
        return Turn(text="", calls=tuple(calls), tokens=tokens, seconds=seconds)

    def _search(self, question: Question) -> ToolCall:
        drawn = self._corpus.random
        others = drawn.sample(self._corpus.ids, 6)
        found = [each for each in question.gold if drawn.random() < 0.9]
        shown = tuple(dict.fromkeys([*found, *others]))[:8]
        lines = []
        for place, each in enumerate(shown, start=1):
            snippet = " ".join(self._corpus.texts[each].split()[:25])
            lines.append(f"{place}. {each} | {each.rpartition('#')[2]}\n   …{snippet}…")
        query = {"query": question.text[:40]}
        return ToolCall(
            name="search",
            arguments=query,
            result="\n".join(lines),
            surfaced=shown,
            seconds=drawn.uniform(0.001, 0.02),
        )

    def _grep(self) -> ToolCall:
        failed = self._corpus.random.random() < 0.2
        result = "'pattern': the regular expression cannot be used." if failed else "No line."
        return ToolCall(name="grep", arguments={"pattern": "("}, result=result, is_error=failed)

    def _read(self, question: Question) -> ToolCall:
        drawn = self._corpus.random
        gold = [each for each in question.gold if drawn.random() < self._reads]
        ids = tuple(dict.fromkeys([*gold, drawn.choice(self._corpus.ids)]))
        text = "\n\n".join(f"## {each}\n{self._corpus.texts[each]}" for each in ids)
        return ToolCall(name="read", arguments={"ids": list(ids)}, result=text, read=ids)


def write_synthetic(folder: Path, count: int, *, rounds: int = 1_000, seed: int = 0) -> None:
    """A run of so many questions and eight rows; the folder is made."""
    corpus = Corpus(sections=max(600, count * 3), seed=seed)
    questions = questions_over(corpus, count)
    settings = Settings(K, rounds, seed)
    shared: dict[str, Any] = {"k": K, "rounds": rounds, "seed": seed}
    rows = [
        evaluate(DrawnPush(corpus, questions, share), questions, name=name, **shared)
        for name, share in PUSHES.items()
    ]
    agents, failures = {}, {}
    with writing_run(folder) as ledger:
        for name, (reads, unread) in AGENTS.items():
            measured = measure_agent(
                DrawnAgent(corpus, name, reads, unread),
                questions,
                ledger,
                settings,
                corpus="synthetic0000000",
                price=lambda tokens: (tokens.input + 5 * tokens.output) / 1e6,
                budget=Budget(None, None),
            )
            rows += [measured.read, measured.surfaced]
            agents[name] = measured.record
            failures |= {(name, *job): each for job, each in measured.failed.items()}
        beside = compared_with_best_push(rows, PUSHES, settings)
        write_run(
            folder,
            manifest=_manifest(settings, questions),
            questions=questions,
            rows=rows,
            failures=failures,
            report=full_report(rows, agents, beside, settings),
            table=render_run(rows, agents, beside),
        )


def _manifest(settings: Settings, questions: Sequence[Question]) -> dict[str, Any]:
    return {
        "contextpull": __version__,
        "has_text": True,
        "rows": [*PUSHES, *AGENTS],
        "model": "synthetic:no-model",
        "settings": settings._asdict(),
        "corpus": "synthetic0000000",
        "questions": questions_digest(questions),
        "close_gold": None,
        "models": {"embedder": None, "reranker": None},
        "limits": {"max_turns": 8, "max_usd": None, "max_tokens": None},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the run is written")
    parser.add_argument("--questions", type=int, default=221)
    arguments = parser.parse_args()
    write_synthetic(arguments.folder, arguments.questions)


if __name__ == "__main__":
    main()

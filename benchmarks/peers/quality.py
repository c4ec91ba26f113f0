"""How good the rankings are: published questions, and judged collections."""

import json
import shutil
from collections.abc import Sequence
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

import datasets
from measuring import table
from peer import Spec, running

from contextpull.eval.measures import distinct, recall_at, reciprocal_rank_at
from contextpull.eval.statistics import bootstrap_interval

K = 5
DEPTH = 10
_HITS_FOR_FILES = 20
"""Sections asked for where files are scored: enough that five different files are among them."""


class Questions:
    """The published questions, with gold as sections and as files."""

    def __init__(self, data: Path, most: int | None) -> None:
        lines = (data / "eval" / "uv-questions.jsonl").read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines[:most]]
        self.texts = [record["q"] for record in records]
        self.gold = [set(record["gold_chunk_ids"]) for record in records]
        self.gold_files = [{file_of(each) for each in gold} for gold in self.gold]
        self.sources = [record["source"] for record in records]
        self.sections = data / "eval" / "uv-sections.jsonl"


def over_sections(
    specs: Sequence[Spec], questions: Questions, corpus: datasets.Corpus, work: Path
) -> dict[str, Any]:
    """Engines over the 603 sections that the gold names; a library that cuts the same ones."""
    rankings = {}
    for spec in specs:
        if spec.kind != "engine" and not (spec.kind == "library" and spec.beside):
            continue
        with running([spec], work / "environments") as peers:
            folder = work / "indexes" / "questions" / spec.driver
            _emptied(folder)
            peers[spec.name].build(corpus.folder, questions.sections, folder)
            answers = peers[spec.name].search(questions.texts, DEPTH)
        rankings[spec.name] = [each["ids"] for each in answers]
    return _scored(rankings, questions.gold)


def over_files(
    specs: Sequence[Spec], peers: dict[str, Any], questions: Questions
) -> dict[str, Any]:
    """Servers over the folder: whether the gold's file is among the first five files."""
    rankings = {}
    for spec in specs:
        if spec.kind == "server" and spec.name in peers:
            depth = K if spec.ids == "files" else _HITS_FOR_FILES
            answers = peers[spec.name].search(questions.texts, depth)
            rankings[spec.name] = [[file_of(one) for one in each["ids"]] for each in answers]
    return _scored(rankings, questions.gold_files)


def questions_table(specs: Sequence[Spec], scores: dict[str, Any], sources: Sequence[str]) -> str:
    """Recall and MRR, times ours, and the difference to ours with its interval."""
    rows = []
    for spec in specs:
        if spec.name not in scores:
            continue
        own = scores[spec.name]
        base = scores.get(spec.beside if spec.kind != "library" else "ours, push row")
        cells = [spec.name]
        for term in ("recall", "mrr"):
            cells += [f"{fmean(own[term]):.3f}", ratio_of_scores(own[term], base and base[term])]
        if base:
            differences = [a - b for a, b in zip(own["recall"], base["recall"], strict=True)]
            interval = bootstrap_interval(differences, sources)
            cells.append(f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]")
        else:
            cells.append("")
        rows.append(cells)
    return table(("", f"recall@{K}", "×", f"MRR@{K}", "×", "recall less ours, 95%"), rows)


def over_judged(
    specs: Sequence[Spec], data: Path, names: Sequence[str], work: Path
) -> dict[str, dict[str, float]]:
    """nDCG@10 by collection and engine."""
    scores: dict[str, dict[str, float]] = {}
    for name in names:
        collection = datasets.judged(data, work, name)
        queries = list(collection.queries)
        for spec in specs:
            if spec.kind != "engine":
                continue
            with running([spec], work / "environments") as peers:
                folder = work / "indexes" / name / spec.driver
                _emptied(folder)
                peers[spec.name].build(folder, collection.sections, folder)
                answers = peers[spec.name].search(list(collection.queries.values()), DEPTH)
            scores.setdefault(spec.name, {})[name] = fmean(
                ndcg(answer["ids"], collection.relevant[query])
                for query, answer in zip(queries, answers, strict=True)
            )
    return scores


def judged_table(
    specs: Sequence[Spec], scores: dict[str, dict[str, float]], names: Sequence[str]
) -> str:
    """A row an engine, a column a collection, the mean, and the mean times ours."""
    rows = []
    for spec in specs:
        if spec.name not in scores:
            continue
        own, base = scores[spec.name], scores.get(spec.beside)
        mean = fmean(own.values())
        best = {name: max(each[name] for each in scores.values()) for name in names}
        rows.append(
            (
                spec.name,
                *(
                    f"{'**' * (own[name] == best[name])}{own[name]:.3f}"
                    f"{'**' * (own[name] == best[name])}"
                    for name in names
                ),
                f"{mean:.3f}",
                f"{mean / fmean(base.values()):.3f}" if base else "",
            )
        )
    return table(("", *names, "mean", "×"), rows)


def ndcg(ranking: Sequence[str], grades: dict[str, int], k: int = DEPTH) -> float:
    """nDCG@k with linear gain and discount log2(place + 1) (Järvelin and Kekäläinen, 2002)."""
    gains = [grades.get(each, 0) for each in distinct(ranking)[:k]]
    return _discounted(gains) / _discounted(sorted(grades.values(), reverse=True)[:k])


def file_of(section: str) -> str:
    """The path in a section id; a path is its own."""
    return section.partition("#")[0]


def ratio_of_scores(own: Sequence[float], base: Sequence[float] | None) -> str:
    """Mean over mean, to three digits."""
    return f"{fmean(own) / fmean(base):.3f}" if base and fmean(base) else ""


def _scored(rankings: dict[str, list[list[str]]], gold: Sequence[set[str]]) -> dict[str, Any]:
    return {
        name: {
            "recall": [recall_at(*each, K) for each in zip(ranked, gold, strict=True)],
            "mrr": [reciprocal_rank_at(*each, K) for each in zip(ranked, gold, strict=True)],
        }
        for name, ranked in rankings.items()
    }


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)

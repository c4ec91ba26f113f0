"""What building, searching and grepping cost, beside each other."""

import shutil
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import datasets
from measuring import table
from peer import Peer, PeerFailed, Spec, running

K = 10
_MOST_COUNTED = 10_000
"""Ours stops counting there."""
_TERMS = ("wall_s", "cpu_s", "peak_mb", "bytes")


def indexed(
    specs: Sequence[Spec], corpus: datasets.Corpus, work: Path, rounds: int, stack: ExitStack
) -> tuple[dict[str, Peer], dict[str, Any]]:
    """Running peers with the corpus indexed, and what each round of building it cost.

    The peers build in turns, `rounds` times, each time from nothing and in a new process. A peer
    that shares an index opens it. One that fails is left out, with its reason among the costs.
    """
    costs: dict[str, Any] = {}
    peers: dict[str, Peer] = {}
    for turn in range(rounds):
        for spec in specs:
            done = turn >= spec.rounds or "error" in costs.get(spec.name, {})
            if spec.shares or done:
                continue
            if spec.most_files < corpus.files:
                costs[spec.name] = {"error": f"not tried on more than {spec.most_files} files"}
                continue
            if spec.name in peers:
                peers.pop(spec.name).close()
            peer = stack.enter_context(running([spec], work / "environments"))[spec.name]
            try:
                cost = peer.build(corpus.folder, corpus.sections, _folder(spec, corpus, work))
            except PeerFailed as failure:
                costs[spec.name] = {"error": str(failure)}
                continue
            peers[spec.name] = peer
            costs.setdefault(spec.name, {"rounds": []})["rounds"].append(cost)
        by_name = {spec.name: spec for spec in specs}
    for spec in specs:
        if spec.shares in peers:
            peer = stack.enter_context(running([spec], work / "environments"))[spec.name]
            peer.open(corpus.folder, work / "indexes" / corpus.name / _slug(by_name[spec.shares]))
            peers[spec.name] = peer
    return {spec.name: peers[spec.name] for spec in specs if spec.name in peers}, costs


def builds_table(specs: Sequence[Spec], costs: dict[str, Any]) -> str:
    """The median of the rounds, and times ours."""
    medians = {
        name: {term: statistics.median(each[term] for each in cost["rounds"]) for term in _TERMS}
        for name, cost in costs.items()
        if "error" not in cost
    }
    shared_by = {spec.name: spec.shares for spec in specs}
    rows = []
    for spec in specs:
        if spec.name not in costs or spec.kind == "grep":
            continue
        if spec.name not in medians:
            rows.append((spec.name, costs[spec.name]["error"], *[""] * 6))
            continue
        own = medians[spec.name]
        base = medians.get(spec.beside) or medians.get(shared_by.get(spec.beside, ""))
        size = f"{own['bytes'] / 1e6:.1f}" if own["bytes"] else "none"
        rows.append(
            (
                spec.name,
                f"{own['cpu_s']:.2f}",
                f"{own['wall_s']:.2f}",
                f"{own['peak_mb']:.0f}",
                size,
                *(ratio(own[term], base[term] if base else None) for term in _TERMS[1::-1]),
                ratio(own["bytes"], base["bytes"] if base else None),
            )
        )
    header = ("", "CPU s", "wall s", "peak MB", "MB on disk", "CPU ×", "wall ×", "disk ×")
    return table(header, rows)


def searched(
    peers: dict[str, Peer], queries: Sequence[str], rounds: int
) -> dict[str, list[dict[str, Any]]]:
    """Every answer of every round, the peers taking turns; one call each to warm up."""
    return _in_turns(peers, rounds, lambda peer: peer.search(queries, K), queries[:1])


def grepped(
    peers: dict[str, Peer], patterns: Sequence[str], regex: bool, rounds: int
) -> dict[str, list[dict[str, Any]]]:
    """The same for patterns."""
    return _in_turns(peers, rounds, lambda peer: peer.grep(patterns, regex), ())


def _in_turns(
    peers: dict[str, Peer],
    rounds: int,
    call: Callable[[Peer], list[dict[str, Any]]],
    warm_up: Sequence[str],
) -> dict[str, list[dict[str, Any]]]:
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in peers}
    for name, peer in peers.items():
        try:
            if warm_up:
                peer.search(warm_up, K)
            else:
                peer.grep(("warm up",), False)
        except PeerFailed:
            answers.pop(name)
    for turn in range(rounds):
        for name in list(answers):
            if turn >= peers[name].spec.rounds:
                continue
            try:
                answers[name] += call(peers[name])
            except PeerFailed:
                answers.pop(name)
    return answers


def countable(
    answers: dict[str, list[dict[str, Any]]], patterns: int
) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """How many patterns match few enough lines for everyone to count them, and their answers."""
    most = [0] * patterns
    for each in answers.values():
        for place, answer in enumerate(each):
            most[place % patterns] = max(most[place % patterns], answer["lines"])
    kept = {place for place, lines in enumerate(most) if lines < _MOST_COUNTED}
    return len(kept), {
        name: [answer for place, answer in enumerate(each) if place % patterns in kept]
        for name, each in answers.items()
    }


def latency_table(
    specs: Sequence[Spec], answers: dict[str, list[dict[str, Any]]], found: str = ""
) -> str:
    """Quantiles of wall time, mean CPU time, times ours; `found` names a field to add up."""
    rows = []
    for spec in specs:
        if not (own := answers.get(spec.name)):
            continue
        base = answers.get(spec.beside)
        failed = sum(each["error"] is not None for each in own)
        cells = [
            spec.name,
            *(f"{quantile(own, 'wall_ms', at):.2f}" for at in (0.5, 0.95, 0.99)),
            f"{_mean(own, 'cpu_ms'):.2f}",
            ratio(quantile(own, "wall_ms", 0.5), quantile(base, "wall_ms", 0.5) if base else None),
            ratio(_mean(own, "cpu_ms"), _mean(base, "cpu_ms") if base else None),
            f"{failed / len(own):.0%}" if failed else "",
        ]
        if found:
            cells.append(f"{sum(each[found] for each in own) / len(own):,.0f}")
        rows.append(cells)
    header = ["", "p50 ms", "p95 ms", "p99 ms", "CPU ms", "p50 ×", "CPU ×", "failed"]
    return table([*header, *([f"{found} a call"] if found else [])], rows)


def quantile(answers: Sequence[dict[str, Any]], term: str, at: float) -> float:
    """The value that the share `at` of the answers does not exceed."""
    values = sorted(each[term] for each in answers)
    return float(values[min(int(len(values) * at), len(values) - 1)])


def ratio(own: float, base: float | None) -> str:
    """How often `base` goes into `own`; empty where there is nothing to divide by."""
    if not base:
        return ""
    times = own / base
    return f"{times:.0f}" if times >= 100 else f"{times:.2g}" if times < 1 else f"{times:.1f}"


def _mean(answers: Sequence[dict[str, Any]], term: str) -> float:
    return statistics.fmean(each[term] for each in answers)


def _folder(spec: Spec, corpus: datasets.Corpus, work: Path) -> Path:
    """An empty place for an index; the one of the round before goes."""
    folder = work / "indexes" / corpus.name / _slug(spec)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _slug(spec: Spec) -> str:
    return "".join(each if each.isalnum() else "-" for each in spec.name)

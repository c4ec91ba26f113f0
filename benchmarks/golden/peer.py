"""Golden questions, scored and checked beside the public package vectrixdb 2.2.0.

    python benchmarks/golden/peer.py --work WORK > benchmarks/golden/peer.md

WORK keeps the peer's environment, which is made from the package registry. The pack
bge-small-en-v1.5 must be installed (contextpull models install --all).
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from math import hypot
from operator import mul
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import machine, table
from measuring import run as run_command
from peers.environments import make, python_of
from run import EMBEDDER, WithoutPrefix

from contextpull.adapters.ragbisect import load_questions
from contextpull.config import cache_folder
from contextpull.errors import EvaluationError
from contextpull.eval.golden.checking import check_golden
from contextpull.eval.golden.questions import GoldenQuestion, load_golden, save_golden
from contextpull.eval.golden.reporting import GoldenReport, SettingRow, golden_report
from contextpull.eval.golden.settings import Searcher, Setting, parse_settings
from contextpull.models.embedding import open_embedder
from contextpull.retrieval.models import Models
from contextpull.store import Snapshot, open_store
from contextpull.store.embedding import embed_store, embedded_text
from contextpull.store.ingest import ingest

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "demo"
PEER = {"packages": ["vectrixdb==2.2.0", "usearch==2.26.0"]}
"""The newest usearch crashes beside the onnxruntime that comes with it."""
CUTOFFS = (1, 3, 5, 10)
PEER_LOOKS_AT = 4 * CUTOFFS[-1]
LINES = 200_000
PLAIN = '{"question": "How?", "expected": ["a.md"]'
FAULTY = {
    "a misspelt `expected`": '{"question": "How?", "expeted": ["a.md"]}',
    "`expected` is blank": '{"question": "How?", "expected": [" "]}',
    "a line break in `expected`": '{"question": "How?", "expected": ["a.pdf#page=1\\n"]}',
    "a field twice": PLAIN + ', "expected": ["b.md"]}',
    "an id twice": f'{PLAIN}, "id": "a"}}\n{{"question": "B", "expected": ["a.md"], "id": "a"}}',
    "the id that a line gives": f'{PLAIN}}}\n{{"question": "B", "expected": ["a.md"], "id": "q1"}}',
    "a question twice, composed and not": '{"question": "Caf\u00e9?", "expected": ["a.md"]}\n'
    '{"question": "Cafe\u0301?", "expected": ["a.md"]}',
    "page 0": '{"question": "How?", "expected": ["a.pdf#page=0"]}',
    "nested 100,000 deep": '{"question": ' + "[" * 100_000,
    "no object": '["How?"]',
    "UTF-16": f"{PLAIN}}}".encode("utf-16"),
    "Latin-1": '{"question": "Caf\u00e9?", "expected": ["a.md"]}'.encode("latin-1"),
    "half a character": PLAIN + ', "hint": "\\ud800"}',
}
SOUND = {
    "U+2028 in a question": '{"question": "How\u2028so?", "expected": ["a.md"]}',
    "U+2028 there, escaped": '{"question": "How\\u2028so?", "expected": ["a.md"]}',
    "Chinese evidence": PLAIN + ', "evidence": ["\u63a8\u8fdf\u8fd8\u6b3e"]}',
}
SAME_SEARCH = """\
*Same search* hands both the same sections in the same order, so that scoring alone is compared: the
same hits, the same MRR and the same nDCG, to the four digits that the peer gives. What it calls
recall is the hit rate, whether any of what is expected came; the share of it is ours alone, and
lower for the questions that expect several documents."""
OWN_SEARCH = """\
*Own search* is the peer's, over the same texts, with the weights of the same model in 8 bits. It
leaves out the prefix that the model was trained to see before a question, so it stands beside ours
with and without. What is left are the vectors. Those of one question agree to a cosine of
{median:.3f} (median): in 8 bits a vector depends on its neighbours in a batch. They agree least
where the peer, which has a tokenizer of its own, makes other tokens: {least}.
The differences are of one to three questions of {questions}, which could be luck."""
BARE = """\
A bare U+2028 is JSON, and ours refuses it on purpose: programs that split lines there, as the peer
does, would break the row in two."""
LONG = """\
One document has {sections} sections that all match better than the one that is expected. The peer
looks at the first {looks}, four times the largest k, and counts a miss; ours goes as deep as it
takes."""


class Side(NamedTuple):
    """What the peer made of one way to search."""

    name: str
    ours: SettingRow
    peer: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    work: Path = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    environment = work.resolve() / "vectrixdb"
    make("vectrixdb", PEER, environment)
    print(f"# Golden questions beside vectrixdb 2.2.0\n\n{machine()}\n")
    with TemporaryDirectory(prefix="contextpull-bench-") as scratch:
        for part in parts(Path(scratch), environment):
            print(part, flush=True)


def parts(scratch: Path, environment: Path) -> Iterator[str]:
    """The parts of the page, as they are measured."""
    snapshot = embedded(scratch / "store")
    golden = scratch / "golden.jsonl"
    save_golden(golden, documents_wanted())
    questions = load_golden(golden)
    settings = parse_settings("lexical,dense")
    report = golden_report(snapshot, questions, settings, k=CUTOFFS, rounds=100)
    plain = golden_report(
        snapshot, questions, settings[1:], models=WithoutPrefix(open_embedder(EMBEDDER)), rounds=100
    )
    (lexical, dense, own), vectors = peers(environment, snapshot, golden, questions, settings)
    yield "## Scored\n"
    sides = [
        Side("lexical, same search", report.rows[0], lexical),
        Side("dense, same search", report.rows[1], dense),
        Side("dense, own search", report.rows[1], own),
        Side("dense, own search, ours without its prefix", plain.rows[0], own),
    ]
    yield f"{len(questions)} questions of the demo, by document: ours / the peer.\n"
    yield f"{scores(sides)}\n\n{SAME_SEARCH} Here these are {several(report)}.\n"
    yield f"{own_search(questions, vectors)}\n"
    yield f"## A long document\n\n{long_document(scratch, environment)}\n"
    yield f"## Checked\n\n{checked(scratch, environment)}\n\n{BARE}\n"
    yield f"## {LINES:,} lines checked\n\n{timed(scratch, environment)}"


def embedded(store: Path) -> Snapshot:
    """The demo's documents, with vectors."""
    ingest(DEMO / "corpus", store)
    embed_store(store, open_embedder(EMBEDDER), cache=cache_folder(os.environ) / "vectors")
    return open_store(store).snapshot()


def documents_wanted() -> list[GoldenQuestion]:
    """The demo's questions, which expect documents: the peer knows no sections."""
    return [
        GoldenQuestion(
            each.id,
            each.text,
            tuple(dict.fromkeys(gold.rpartition("#")[0] for gold in each.gold)),
            reference=each.answer,
        )
        for each in load_questions(DEMO / "questions.jsonl")
    ]


def peers(
    environment: Path,
    snapshot: Snapshot,
    golden: Path,
    questions: Sequence[GoldenQuestion],
    settings: Sequence[Setting],
) -> tuple[list[dict[str, Any]], list[list[float]]]:
    """The peer's report over each of our rankings, then over its own search; its vectors."""
    database = snapshot.database
    sections = [each for path in snapshot.documents.values() for each in database.sections_of(path)]
    given = {
        "golden": str(golden),
        "rankings": [rankings(snapshot, questions, each) for each in settings],
        "sections": [
            {"id": f"{each.path}:{each.number}", "text": embedded_text(each)} for each in sections
        ],
    }
    answer = ask(environment, given)
    return answer["reports"], answer["vectors"]


def rankings(
    snapshot: Snapshot, questions: Sequence[GoldenQuestion], setting: Setting
) -> dict[str, list[str]]:
    """The first sections for each question, named as the peer tells documents by."""
    searcher = Searcher(snapshot, setting, Models())
    found = {}
    for each in questions:
        results = searcher.results(each.question, PEER_LOOKS_AT, "section")
        addresses = snapshot.database.addresses([result.number for result in results])
        found[each.question] = [
            f"{addresses[result.number].path}:{result.number}" for result in results
        ]
    return found


def ask(environment: Path, given: object) -> Any:
    """What the driver answers."""
    done = subprocess.run(
        [python_of(environment), HERE / "peer_driver.py"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The peer's driver failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def scores(sides: Sequence[Side]) -> str:
    """Ours and the peer's figures, and how many questions have their first hit at one rank."""
    header = ["", *(each.name for each in sides)]
    rows = []
    for k in CUTOFFS:
        pairs = [
            (mean(side, f"hit_rate@{k}"), side.peer["all"]["recall"][f"@{k}"]) for side in sides
        ]
        rows.append([f'hit rate@{k} (the peer\'s "recall")', *shown(pairs)])
    deepest = CUTOFFS[-1]
    for k in CUTOFFS:
        pairs = [(mean(side, f"recall@{k}"), None) for side in sides]
        rows.append([f"recall@{k}", *shown(pairs)])
    rows.append(["MRR", *shown([(mean(s, f"mrr@{deepest}"), s.peer["all"]["mrr"]) for s in sides])])
    ndcg = f"ndcg@{deepest}"
    rows.append([f"nDCG@{deepest}", *shown([(mean(s, ndcg), s.peer["all"][ndcg]) for s in sides])])
    rows.append(["first right document at the same rank", *map(same_rank, sides)])
    return table(header, rows)


def mean(side: Side, measure: str) -> float:
    return side.ours.row.overall.measures[measure].mean


def shown(pairs: Sequence[tuple[float, float | None]]) -> list[str]:
    return [f"{ours:.4f} / {'-' if peer is None else f'{peer:.4f}'}" for ours, peer in pairs]


def same_rank(side: Side) -> str:
    outcomes = side.ours.row.outcomes
    name = f"mrr@{CUTOFFS[-1]}"
    same = sum(
        abs(each.scores[name] - side.peer["mrr"][each.question.id]) < 1e-4 for each in outcomes
    )
    return f"{same} of {len(outcomes)}"


def own_search(questions: Sequence[GoldenQuestion], vectors: Sequence[Sequence[float]]) -> str:
    """How the vectors of the peer differ from ours, of the questions without a prefix."""
    embedder = open_embedder(EMBEDDER)
    ours = [embedder.embed_passages([each.question])[0] for each in questions]
    cosines = sorted(
        (sum(map(mul, map(float, left), right)) / (hypot(*right) * hypot(*left)), each.question)
        for left, right, each in zip(ours, vectors, questions, strict=True)
    )
    least = " and ".join(f"{cosine:.2f} ({question})" for cosine, question in cosines[:2])
    middle = median(cosine for cosine, _ in cosines)
    return OWN_SEARCH.format(median=middle, least=least, questions=len(questions))


def several(report: GoldenReport) -> int:
    """How many questions expect more than one document."""
    return sum(len(each.question.gold) > 1 for each in report.rows[0].row.outcomes)


def long_document(scratch: Path, environment: Path) -> str:
    """What both make of a document that comes behind one with very many sections."""
    docs, sections = scratch / "docs", 2 * PEER_LOOKS_AT
    docs.mkdir()
    every = (f"# Part {at}\n\nThe anchor of a ship, part {at}.\n" for at in range(sections))
    docs.joinpath("long.md").write_text("\n".join(every))
    docs.joinpath("short.md").write_text("# Rope\n\nThe anchor hangs on a rope, not on a chain.\n")
    ingest(docs, scratch / "long")
    snapshot = open_store(scratch / "long").snapshot()
    questions = [GoldenQuestion("a", "anchor of a ship", ("short.md",))]
    settings = parse_settings("lexical")
    save_golden(scratch / "long.jsonl", questions)
    report = golden_report(snapshot, questions, settings, k=CUTOFFS, rounds=100)
    reports, _ = peers(environment, snapshot, scratch / "long.jsonl", questions, settings)
    side = Side("lexical, same search", report.rows[0], reports[0])
    told = LONG.format(sections=sections, looks=PEER_LOOKS_AT)
    return f"{scores([side])}\n\n{told}"


def checked(scratch: Path, environment: Path) -> str:
    """What both checks say of files with one fault each, and of some without."""
    files = {}
    for at, (name, content) in enumerate({**FAULTY, **SOUND}.items()):
        path = files[name] = scratch / f"checked-{at}.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    theirs = ask(environment, {"check": [str(path) for path in files.values()]})
    rows = [
        [name, "fault" if name in FAULTY else "sound", ours_says(path), peer_says(found)]
        for (name, path), found in zip(files.items(), theirs, strict=True)
    ]
    return table(["file", "it is", "ours", "peer"], rows)


def ours_says(path: Path) -> str:
    try:
        check = check_golden(path)
    except EvaluationError as error:
        return cell(str(error).replace(str(path), "FILE"))
    return "sound" if check.ok else cell(check.faults[0].at("FILE"))


def peer_says(found: dict[str, Any]) -> str:
    if found["raised"]:
        return f"raises {found['raised']}"
    return "sound" if found["ok"] else cell(found["errors"][0])


def cell(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= 90 else f"{flat[:90]}…"


def timed(scratch: Path, environment: Path) -> str:
    """CPU of both checks over a long file."""
    path = scratch / "long.jsonl"
    rows = (
        {"id": f"w{at}", "question": f"What is tariff {at}?", "expected": ["overview.md"]}
        for at in range(LINES)
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    store = ["--store", str(scratch / "store")]
    ours = [sys.executable, "-m", "contextpull", "golden", "check", str(path)]
    code = f"from vectrixdb.evaluation import check_golden; assert check_golden({str(path)!r}).ok"
    costs = {
        "ours": run_command(ours),
        "ours, beside a store": run_command([*ours, *store]),
        "peer": run_command([str(python_of(environment)), "-c", code]),
    }
    rows_of = [
        [name, f"{cost.cpu_s:.1f}", f"{cost.wall_s:.1f}", f"{cost.peak_mb:.0f}"]
        for name, cost in costs.items()
    ]
    return table(["", "CPU s", "wall s", "peak MB"], rows_of)


if __name__ == "__main__":
    main()

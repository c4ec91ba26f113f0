"""How well every row of search ranks, on judged collections and on questions over documentation.

    python benchmarks/retrieval/run.py --data DATA --work WORK [--reference FILE] [--rerank N]

DATA holds `judged/NAME` in BEIR's layout and `eval/uv-*.jsonl`. WORK keeps the stores. The packs
bge-small-en-v1.5 and ms-marco-MiniLM-L-12-v2 must be installed (contextpull models install --all).
FILE is a JSON of other engines' scores on the same collections, made on such a machine: under
`collections`, NAME, `rows`, ROW, `nDCG@10`. N is how many queries of each collection the
cross-encoder reads for; none without it, since every query costs it seconds.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dense_index
import fields
from measuring import machine, table

CLI = [sys.executable, "-m", "contextpull"]
TUNED_ON = ("adi", "cisi", "claude_codebase", "hotpotqa_100")
"""The weights of fields were chosen on these and on the uv questions, and on no other."""
ROWS = ("bm25", "dense", "hybrid", "hybrid-rrf")
LEXICAL = ("bm25s", "tantivy", "fts5")
"""How the rows of the reference begin that rank by words."""

Scores = dict[str, dict[str, float]]
"""nDCG@10 by collection and row."""


def main() -> None:
    arguments = parse()
    collections = sorted(path.parent for path in arguments.data.glob("judged/*/corpus.jsonl"))
    print(f"# Retrieval benchmark\n\n{machine()}\n", flush=True)
    report = beir(collections, ROWS, arguments.work / "stores")
    print(judged(report), flush=True)
    if arguments.reference:
        print(beside(scores_of(report), json.loads(arguments.reference.read_bytes())), flush=True)
    print(documentation(arguments.data / "eval"), flush=True)
    if arguments.rerank:
        print(reranked(collections, arguments.work / "stores", arguments.rerank), flush=True)
    print(fields.report(collections, arguments.work / "stores"), flush=True)
    print(dense_index.report(collections), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--rerank", type=int, default=0)
    return parser.parse_args()


def beir(collections: Iterable[Path], rows: Iterable[str], stores: Path, *more: str) -> Any:
    """What `contextpull eval beir` says, as JSON."""
    command = [*CLI, "eval", "beir", *collections, "--rows", ",".join(rows), "--store", stores]
    done = subprocess.run([*map(str, command), *more, "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def scores_of(report: Any) -> Scores:
    return {
        each["collection"]: {row["row"]: row["measures"]["nDCG@10"]["mean"] for row in each["rows"]}
        for each in report["collections"]
    }


def judged(report: Any) -> str:
    """Every row on every collection, and the means."""
    cells = []
    for each in report["collections"]:
        for row in each["rows"]:
            measures = row["measures"]
            low, high = measures["nDCG@10"]["low"], measures["nDCG@10"]["high"]
            figures = [f"{measures[name]['mean']:.3f}" for name in ("R@100", "RR@10", "AP@100")]
            ndcg = f"{measures['nDCG@10']['mean']:.3f} [{low:.3f}, {high:.3f}]"
            cells.append(
                (each["collection"], row["row"], ndcg, *figures, f"{row['median_ms']:.1f}")
            )
    scores = scores_of(report)
    for row in ROWS:
        mean = fmean(each[row] for each in scores.values())
        cells.append(("mean", row, f"{mean:.4f}", "", "", "", ""))
    heads = ("collection", "row", "nDCG@10", "R@100", "RR@10", "AP@100", "ms/query")
    return f"## Judged collections\n\n{table(heads, cells)}\n"


def beside(ours: Scores, reference: Any) -> str:
    """Our rows beside the best that others reach on each collection, each with its own settings."""
    cells = []
    theirs = {name: figures_of(reference["collections"][name]["rows"]) for name in ours}
    for name, rows in ours.items():
        best = best_lexical(theirs[name])
        hybrid = max(theirs[name][row] for row in hybrids(theirs[name]))
        plain = theirs[name]["dense_bge_small_int8_b1"]
        cells.append(
            (
                f"{name}{' *' if name in TUNED_ON else ''}",
                f"{rows['bm25']:.4f}",
                f"{theirs[name][best]:.4f}",
                f"{rows['bm25'] - theirs[name][best]:+.4f}",
                best,
                f"{rows['dense']:.4f}",
                f"{rows['dense'] - plain:+.4f}",
                f"{rows['hybrid']:.4f}",
                f"{rows['hybrid'] - hybrid:+.4f}",
            )
        )
    heads = ("collection", "bm25", "best of others", "", "which", "dense", "", "hybrid", "")
    others = sorted(set(ours) - set(TUNED_ON))
    lines = [
        means(ours, theirs, TUNED_ON, "with *, on which the weights were chosen"),
        means(ours, theirs, others, "the others"),
        means(ours, theirs, ours, "all"),
    ]
    listed = "\n".join(f"- {line}" for line in lines)
    return f"## Beside others\n\n{table(heads, cells)}\n\n{listed}\n"


def figures_of(rows: Mapping[str, Any]) -> dict[str, float]:
    return {name: row["nDCG@10"] for name, row in rows.items() if not name.endswith("q")}


def best_lexical(rows: Mapping[str, float]) -> str:
    return max((name for name in rows if name.startswith(LEXICAL)), key=lambda name: rows[name])


def hybrids(rows: Mapping[str, float]) -> list[str]:
    return [name for name in rows if name.startswith("hybrid")]


def means(ours: Scores, theirs: Scores, names: Iterable[str], title: str) -> str:
    names = list(names)
    best = fmean(theirs[name][best_lexical(theirs[name])] for name in names)
    kinds = sorted({row for name in names for row in hybrids(theirs[name])})
    fused = ", ".join(f"{row} {fmean(theirs[name][row] for name in names):.4f}" for row in kinds)
    mine = {row: fmean(ours[name][row] for name in names) for row in ROWS}
    return (
        f"mean of {len(names)} ({title}): bm25 {mine['bm25']:.4f}, best of others on each"
        f" {best:.4f}; dense {mine['dense']:.4f}; hybrid {mine['hybrid']:.4f}, hybrid-rrf"
        f" {mine['hybrid-rrf']:.4f}; others' {fused}"
    )


def documentation(questions: Path) -> str:
    """The 221 questions over the uv documentation, whose sections others cut."""
    command = [*CLI, "eval", "run", "--rows", ",".join(ROWS)]
    files = ["--questions", questions / "uv-questions.jsonl"]
    files += ["--sections", questions / "uv-sections.jsonl"]
    done = subprocess.run(
        [*command, *map(str, files)], check=True, stdout=subprocess.PIPE, text=True
    )
    return f"## uv documentation, 221 questions, 603 sections\n\n```\n{done.stdout}```\n"


def reranked(collections: Sequence[Path], stores: Path, queries: int) -> str:
    """The cross-encoder over the hybrid row, on the first queries of each collection."""
    rows = ("bm25", "hybrid", "hybrid+rerank")
    report = beir(collections, rows, stores, "--queries", str(queries))
    scores = scores_of(report)
    cells = [(name, *(f"{each[row]:.3f}" for row in rows)) for name, each in scores.items()]
    cells.append(("mean", *(f"{fmean(s[row] for s in scores.values()):.3f}" for row in rows)))
    return (
        f"## Reranking: the first {queries} queries of each, nDCG@10\n\n"
        + table(("collection", *rows), cells)
        + "\n"
    )


if __name__ == "__main__":
    main()

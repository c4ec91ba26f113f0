"""Ingest, search, grep, server and tokens on real corpora, beside other tools, in one run.

    python benchmarks/core/run.py --data DATA [--peer-python PYTHON] [--tokenizer FILE]

DATA holds `corpora/uv_docs`, `corpora/cpp_docs` (each one .tar.xz) and `eval/uv-*.jsonl`.
PYTHON has the peer contextpull 0.2.1 installed; FILE is a Hugging Face tokenizer.json.
What is not given is left out of the report and said so. `rg` is ripgrep.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import servers
import tantivy
from measuring import Cost, Quantiles, machine, quantiles, run, table

from contextpull import open_store
from contextpull.adapters.push import bm25_over_passages
from contextpull.adapters.ragbisect import load_passages, load_questions
from contextpull.eval.runs import evaluate
from contextpull.eval.table import render_table
from contextpull.retrieval.grep import grep
from contextpull.retrieval.search import search
from contextpull.store import Snapshot
from contextpull.tools import DISCIPLINE, ToolSession, to_mcp

CLI = [sys.executable, "-m", "contextpull"]
CONTRIVED_QUERIES = ("the of and to in", "a " * 1000, '"the" "of"', '* ( " AND', "e" * 2000)
CONTRIVED_PATTERNS = ("(a+)+$", ".*", "x*", "[^a]*$", ".{0,500}x.{0,500}y.{0,1000}zq", r"\w+\s+zz")


def main() -> None:
    arguments = parse()
    print(f"# Core benchmark\n\n{machine()}\n")
    with TemporaryDirectory(prefix="contextpull-bench-") as folder:
        work = Path(folder)
        uv = unpack(arguments.data, "uv_docs", work) / "docs"
        cpp = unpack(arguments.data, "cpp_docs", work)
        print(quality(arguments.data, uv, work / "uv-store"))
        print(ingest_costs(cpp, work, arguments.peer_python))
        store = work / "cpp-store"
        print(search_latency(store, work))
        print(grep_latency(store, cpp))
        print(contrived(store))
        print(servers.report(uv, work))
        print(tokens(work / "uv-store", arguments.tokenizer))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    return parser.parse_args()


def unpack(data: Path, name: str, work: Path) -> Path:
    """Unpack a corpus; the folder that holds its files."""
    target = work / name
    with tarfile.open(data / "corpora" / name / f"{name}.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target


def quality(data: Path, uv: Path, store: Path) -> str:
    """Retrieval over the 221 published questions, and where a definition ranks."""
    passages = load_passages(data / "eval" / "uv-sections.jsonl")
    questions = load_questions(data / "eval" / "uv-questions.jsonl")
    row = evaluate(bm25_over_passages(passages), questions, name="bm25", k=5)
    run([*CLI, "ingest", uv, "--store", store])
    hits = search(open_store(store).snapshot(), "UV_CACHE_DIR").hits
    return (
        "## Quality: uv documentation, 221 questions, 603 sections\n\n"
        f"```\n{render_table([row])}```\n"
        f"\nFirst hit for `UV_CACHE_DIR`: `{hits[0].section.id}`\n"
    )


def ingest_costs(cpp: Path, work: Path, peer: Path | None) -> str:
    """Full, unchanged and one-file ingests of 9,746 Markdown pages."""
    store = work / "cpp-store"
    ours = [*CLI, "ingest", cpp, "--store", store]
    rows: list[tuple[str, Cost]] = [("start-up alone (`--version`)", run([*CLI, "--version"]))]
    for attempt in ("full", "full again, from nothing"):
        shutil.rmtree(store, ignore_errors=True)
        rows.append((f"ours, {attempt}", run(ours)))
        if peer:
            theirs = work / "peer-store"
            shutil.rmtree(theirs, ignore_errors=True)
            theirs.unlink(missing_ok=True)
            command = [peer, "-m", "contextpull.cli", "ingest", cpp, "--store", theirs]
            rows.append((f"peer, {attempt}", run(peer_command(peer, command))))
    rows.append(("ours, nothing changed", run(ours)))
    page = next(iter(sorted(cpp.rglob("*.md"))))
    page.write_bytes(page.read_bytes() + b"\nOne more line at the end of the page.\n")
    rows.append(("ours, one file changed", run(ours)))
    text = sum(file.stat().st_size for file in cpp.rglob("*.md"))
    stored = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    cells = [
        (name, f"{cost.cpu_s:.2f}", f"{cost.wall_s:.2f}", f"{cost.peak_mb:.0f}")
        for name, cost in rows
    ]
    return (
        "## Ingest: C++ documentation\n\n"
        + table(("", "CPU s", "wall s", "peak MB"), cells)
        + f"\n\nText {text / 1e6:.1f} MB, store {stored / 1e6:.1f} MB: {stored / text:.2f} times."
        + ("" if peer else "\n\nThe peer was not given.")
        + "\n"
    )


def peer_command(peer: Path, fallback: Sequence[str | Path]) -> Sequence[str | Path]:
    """The peer's console script, where it is installed."""
    script = peer.parent / "contextpull"
    return [script, *fallback[3:]] if script.exists() else fallback


def search_latency(store: Path, work: Path) -> str:
    """Queries of 2 to 8 words taken from the corpus, beside the bare engine."""
    snapshot = open_store(store).snapshot()
    queries = list(sampled_queries(snapshot, 200))
    index = bare_tantivy(snapshot, work / "bare")
    searcher = index.searcher()

    def bare(query: str) -> None:
        hits = searcher.search(index.parse_query(query, ["body"]), 10).hits
        searcher.fast_field_values("number", [address for _, address in hits])

    rows = [
        ("tantivy alone, OR of all words", quantiles(bare, queries)),
        ("search", quantiles(lambda query: search(snapshot, query), queries)),
        (
            "search, snippets=heading",
            quantiles(lambda query: search(snapshot, query, snippets="heading"), queries),
        ),
    ]
    _, sections, _ = snapshot.database.counts()
    ratio = rows[1][1].p50 / rows[0][1].p50
    heading = f"## Search: {sections:,} sections, 200 queries\n\n"
    return f"{heading}{latencies(rows)}\n\nsearch takes {ratio:.1f} times the bare engine (p50).\n"


def sampled_queries(snapshot: Snapshot, count: int) -> Iterator[str]:
    """Runs of words as they stand in random sections."""
    chance = random.Random(7)
    documents = list(snapshot.documents.values())
    while count:
        section = chance.choice(snapshot.database.sections_of(chance.choice(documents)))
        words = [word for word in section.text.split() if word.isalpha()]
        if len(words) > 12:
            start = chance.randrange(len(words) - 8)
            yield " ".join(words[start : start + chance.randint(2, 8)])
            count -= 1


def bare_tantivy(snapshot: Snapshot, folder: Path) -> tantivy.Index:
    """One text field with the engine's default tokenizer, over the same sections."""
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body")
    builder.add_unsigned_field("number", fast=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer(200_000_000, 2)
    for _, sections in snapshot.database.texts():
        for number, text in sections:
            entry = tantivy.Document(body=text)
            entry.add_unsigned("number", number)
            writer.add_document(entry)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def grep_latency(store: Path, cpp: Path) -> str:
    """Twenty words and twenty expressions, beside ripgrep's whole process on the same files."""
    if not shutil.which("rg"):
        return "## Grep\n\nripgrep is not installed.\n"
    snapshot = open_store(store).snapshot()
    words = sorted({word for query in sampled_queries(snapshot, 200) for word in query.split()})
    words = [word for word in words if len(word) > 5][::10][:20]
    expressions = [rf"\b{word[:5]}\w*" for word in words[:10]]
    expressions += [rf"{word}\s+\w+" for word in words[10:]]

    def ripgrep(pattern: str, *flags: str) -> None:
        command = ["rg", "--count", "--ignore-case", *flags, pattern, str(cpp)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)

    rows = [
        ("grep, literal", quantiles(lambda each: grep(snapshot, each), words)),
        ("ripgrep, literal", quantiles(lambda each: ripgrep(each, "--fixed-strings"), words)),
        ("grep, regex", quantiles(lambda each: grep(snapshot, each, regex=True), expressions)),
        ("ripgrep, regex", quantiles(ripgrep, expressions)),
    ]
    version = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=True)
    return (
        f"## Grep: {snapshot.text.text.end / 1e6:.0f} MB\n\n{latencies(rows)}\n\n"
        f"{version.stdout.splitlines()[0]}. Ours counts every matching line up to 10,000 and shows"
        " twenty; ripgrep counts all, and starts a process for each.\n"
    )


def contrived(store: Path) -> str:
    """Inputs made to be slow: the longest of each kind."""
    session = ToolSession(open_store(store))
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("search", {"query": query, "limit": 50}) for query in CONTRIVED_QUERIES),
        *(
            ("grep", {"pattern": pattern, "regex": True, "limit": 100, "context": 10})
            for pattern in CONTRIVED_PATTERNS
        ),
        ("index", {}),
        ("read", {"ids": [next(iter(open_store(store).snapshot().documents))], "context": 5}),
    ]
    taken = {}
    for name, arguments in calls:
        start = time.perf_counter()
        session.call(name, arguments)
        shown = str(next(iter(arguments.values()), ""))[:32]
        taken[f"{name} {shown!r}"] = time.perf_counter() - start
    worst = sorted(taken.items(), key=lambda each: -each[1])[:4]
    listed = "; ".join(f"{name}: {seconds:.2f} s" for name, seconds in worst)
    return f"## Contrived input\n\nSlowest of {len(calls)}: {listed}\n"


def tokens(store: Path, tokenizer: Path | None) -> str:
    """How much of a model's context the tools take."""
    session = ToolSession(open_store(store))
    questions = ("how do I clear the cache", "UV_CACHE_DIR", "python version for a project")
    hits = [session.call("search", {"query": query, "limit": 10}).text for query in questions]
    count = counter(tokenizer)
    listed = json.dumps(to_mcp(), ensure_ascii=False)
    rows = [
        (
            "tool list and discipline",
            f"{len(listed) + len(DISCIPLINE):,}",
            count(listed + DISCIPLINE),
        ),
        *(
            (f"10 hits for {query!r}", f"{len(text):,}", count(text))
            for query, text in zip(questions, hits, strict=True)
        ),
    ]
    named = tokenizer.name if tokenizer else "none given: four characters a token"
    return f"## Context\n\n{table(('', 'characters', 'tokens'), rows)}\n\nTokenizer: {named}.\n"


def counter(tokenizer: Path | None) -> Any:
    if tokenizer is None:
        return lambda text: f"about {len(text) // 4:,}"
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    return lambda text: f"{len(loaded.encode(text).ids):,}"


def latencies(rows: Sequence[tuple[str, Quantiles]]) -> str:
    cells = [
        (name, f"{each.p50:.2f}", f"{each.p99:.2f}", f"{each.most:.2f}") for name, each in rows
    ]
    return table(("", "p50 ms", "p99 ms", "most ms"), cells)


if __name__ == "__main__":
    main()

"""A judged collection small enough to know by heart."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCUMENTS = [
    {"_id": "d1", "title": "Harbour", "text": "Boats lie in the harbour while the tide is out."},
    {"_id": "d2", "title": "Lighthouse", "text": "A lighthouse warns boats of the rocks."},
    {"_id": "d3", "title": "", "text": "Bread rises better in a warm kitchen."},
    {"_id": "d4", "title": "Yeast", "text": "Yeast makes bread rise; salt slows it down."},
]
QUERIES = [
    {"_id": "q1", "text": "boats in the harbour"},
    {"_id": "q2", "text": "what makes bread rise"},
    {"_id": "q3", "text": "who keeps bees"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td4\t1\nq2\td1\t0\n"


def lines(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write_collection(
    folder: Path,
    *,
    corpus: str | bytes = lines(DOCUMENTS),
    queries: str | bytes = lines(QUERIES),
    qrels: str | bytes = QRELS,
    split: str = "test",
) -> Path:
    """Write a collection, the small one unless told otherwise, and return its folder."""
    files = {"corpus.jsonl": corpus, "queries.jsonl": queries, f"qrels/{split}.tsv": qrels}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder

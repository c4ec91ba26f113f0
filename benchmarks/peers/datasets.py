"""The files that are searched, the sections cut from them, and what is asked."""

import json
import os
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SEED = 7
_FILES_FOR_WORDS = 20
_LONG_WORD = re.compile(r"\b[A-Za-z]{6,}\b")


@dataclass(frozen=True)
class Corpus:
    """A folder of documents and its sections as this project cuts them."""

    name: str
    folder: Path
    sections: Path
    """JSON lines `id`, `text`, `source`."""

    @property
    def files(self) -> int:
        """How many Markdown files."""
        return sum(1 for _ in self.folder.rglob("*.md"))


@dataclass(frozen=True)
class Judged:
    """Documents, queries and graded judgements."""

    name: str
    sections: Path
    queries: dict[str, str]
    """By id; those that have a relevant document."""
    relevant: dict[str, dict[str, int]]
    """The grade of each document above 0, by query id."""


def corpus(data: Path, work: Path, name: str, *, cut: bool = True) -> Corpus:
    """Unpack a corpus into `work`, unless that was done before, and cut it anew if it is to be."""
    target = work / "corpora" / name
    if not target.exists():
        partial = target.with_suffix(".partial")
        with tarfile.open(data / "corpora" / name / f"{name}.tar.xz") as archive:
            archive.extractall(partial, filter="data")
        partial.rename(target)
    folder = target / "docs" if name == "uv_docs" else target
    return with_sections(name, folder, work) if cut else Corpus(name, folder, Path(os.devnull))


def with_sections(name: str, folder: Path, work: Path) -> Corpus:
    """A folder as a corpus, cut anew by the working tree."""
    store, sections = work / "cut" / name, work / "cut" / f"{name}.jsonl"
    command = [sys.executable, "-m", "contextpull"]
    for arguments in (
        ["ingest", str(folder), "--store", str(store)],
        ["export-chunks", "--store", str(store), "--output", str(sections)],
    ):
        subprocess.run([*command, *arguments], check=True, capture_output=True)
    return Corpus(name, folder, sections)


def judged(data: Path, work: Path, name: str) -> Judged:
    """A judged collection; title and text of a document make one section.

    The source of each is its number, so that no name gives anything away.
    """
    folder, target = data / "judged" / name, work / "judged" / f"{name}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as file:
        for number, record in enumerate(_lines(folder / "corpus.jsonl")):
            heading = f"# {record['title']}\n\n" if record.get("title") else ""
            section = {"id": record["_id"], "text": heading + record["text"], "source": str(number)}
            file.write(json.dumps(section, ensure_ascii=False) + "\n")
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, {})[document] = int(grade)
    asked = {record["_id"]: record["text"] for record in _lines(folder / "queries.jsonl")}
    queries = {each: text for each, text in asked.items() if each in relevant}
    return Judged(name, target, queries, relevant)


def word_runs(corpus: Corpus, count: int) -> list[str]:
    """Two to eight words as they stand in sections drawn at random; the same on every run."""
    chance = random.Random(_SEED)
    texts = [record["text"] for record in _lines(corpus.sections)]
    runs: list[str] = []
    while len(runs) < count:
        words = [word for word in chance.choice(texts).split() if word.isalpha()]
        if len(words) > 12:
            start = chance.randrange(len(words) - 8)
            runs.append(" ".join(words[start : start + chance.randint(2, 8)]))
    return runs


def patterns(corpus: Corpus, count: int) -> tuple[list[str], list[str]]:
    """Literal words of the corpus, and expressions made of others; the same on every run."""
    chance = random.Random(_SEED)
    files = sorted(corpus.folder.rglob("*.md"))
    words: set[str] = set()
    for file in chance.sample(files, min(_FILES_FOR_WORDS, len(files))):
        words.update(_LONG_WORD.findall(file.read_text(encoding="utf-8", errors="replace")))
    chosen = chance.sample(sorted(words), min(2 * count, len(words)))
    literal, rest = chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]
    half = len(rest) // 2
    expressions = [rf"\b{word[:5]}\w*" for word in rest[:half]]
    return literal, expressions + [rf"{word}\s+\w+" for word in rest[half:]]


def _lines(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)

"""Odd, broken and difficult files of many formats: what becomes of each, and what is found in it.

    python benchmarks/formats/hostile.py --data DATA

DATA holds `hostile/manifest.jsonl`, which says for each file beside it what must come of it. The
folder is ingested as a user would. `phrases.jsonl` says what a person sees in each file that can be
read: the first hit of a search in it must hold that, and grep must find it. What is `absent` there
(scripts, navigation, half a picture) must not be found. Exit code 1 when anything is otherwise.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from contextpull import open_store
from contextpull.errors import PathNotFound
from contextpull.retrieval.grep import grep
from contextpull.retrieval.search import search
from contextpull.store import Snapshot

PHRASES = Path(__file__).parent / "phrases.jsonl"
EMPTY = "no text in it"


class Fault(NamedTuple):
    """Something that is not as it must be."""

    file: str
    what: str


def main() -> int:
    arguments = parse()
    folder = arguments.data / "hostile"
    expected = {each["file"]: each["expect"] for each in lines(folder / "manifest.jsonl")}
    with TemporaryDirectory(prefix="contextpull-bench-") as store:
        reasons = ingest(folder, Path(store))
        snapshot = open_store(store).snapshot()
        ends = list(outcome_faults(snapshot, expected, reasons))
        said = list(lines(PHRASES))
        finds = [phrase_fault(snapshot, each) for each in said]
    unsaid = readable(expected) - {each["file"] for each in said if "phrase" in each}
    faults = [*ends, *(each for each in finds if each)]
    faults += [Fault(file, "no phrase for it") for file in sorted(unsaid)]
    print(summary(expected, ends, said, finds))
    print("".join(f"- {fault.file}: {fault.what}\n" for fault in faults), end="")
    return 1 if faults else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    return parser.parse_args()


def lines(file: Path) -> Iterator[dict[str, str]]:
    """The objects of a file of JSON lines."""
    with file.open(encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream if line.strip())


def ingest(folder: Path, store: Path) -> dict[str, str]:
    """Ingest a folder by the command; why each file is not in the store, by path."""
    command = [sys.executable, "-m", "contextpull", "ingest", str(folder), "--store", str(store)]
    done = subprocess.run([*command, "--json"], capture_output=True, check=True)
    return {each["path"]: each["reason"] for each in json.loads(done.stdout)["skipped"]}


def outcome_faults(
    snapshot: Snapshot, expected: dict[str, str], reasons: dict[str, str]
) -> Iterator[Fault]:
    """The files that did not end as they must."""
    for file, wanted in expected.items():
        reason = reasons.get(file, "")
        is_there = file in snapshot.documents and not reason
        if (came := "ok" if is_there else outcome(reason)) != wanted:
            yield Fault(file, f"must end as {wanted}, ended as {came} ({reason})")


def outcome(reason: str) -> str:
    """How a file ended that is not in the store."""
    if reason == EMPTY:
        return "empty"
    return "encrypted" if reason.startswith("encrypted") else "error"


def phrase_fault(snapshot: Snapshot, said: dict[str, str]) -> Fault | None:
    """What is wrong with how a phrase is found, if anything is."""
    file = said["file"]
    phrase = said.get("phrase") or said["absent"]
    try:
        is_grepped = bool(grep(snapshot, phrase, paths=[file], ignore_case=False).matches)
        hits = search(snapshot, phrase, paths=[file], limit=1).hits
    except PathNotFound:
        return Fault(file, "is not in the store")
    if "absent" in said:
        return Fault(file, f"{phrase!r} was found") if is_grepped else None
    if not is_grepped:
        return Fault(file, f"grep does not find {phrase!r}")
    if not hits or folded(phrase) not in folded(hits[0].section.text):
        return Fault(file, f"the first hit of a search for {phrase!r} does not hold it")
    return None


def folded(text: str) -> str:
    return " ".join(text.casefold().split())


def readable(expected: dict[str, str]) -> set[str]:
    return {file for file, wanted in expected.items() if wanted == "ok"}


def summary(
    expected: dict[str, str],
    ends: list[Fault],
    said: list[dict[str, str]],
    finds: list[Fault | None],
) -> str:
    """Three lines of counts; `finds` holds what is wrong with each of `said`, if anything is."""
    wanted = ", ".join(f"{count} {each}" for each, count in Counter(expected.values()).items())
    pairs = list(zip(said, finds, strict=True))
    seen = [fault is None for each, fault in pairs if "absent" not in each]
    unseen = [fault is None for each, fault in pairs if "absent" in each]
    return (
        f"{len(expected) - len(ends)} of {len(expected)} files end as they must ({wanted})\n"
        f"{sum(seen)} of {len(seen)} phrases are found, by grep and as the"
        f" first hit of a search\n"
        f"{sum(unseen)} of {len(unseen)} texts that nobody sees are not found"
    )


if __name__ == "__main__":
    sys.exit(main())

"""What is wrong with a golden file, all of it at once; with a store, what it does not hold too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.eval.golden.places import Places
from contextpull.eval.golden.quotes import LEAST_PART, Match, closest, hold_all, holds, tokens_in
from contextpull.eval.golden.reading import Fault, GoldenFile, Row, on_one_line, read_rows
from contextpull.retrieval.search import search
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection

_LINES_SHOWN = 10
_TEXT_SHOWN = 200
_LOOKED_AT = 5
_LIKE = 0.5
"""The likeness below which a text is not worth showing as the closest one."""


class Note(NamedTuple):
    """Something to know of some rows that keeps nothing from being scored."""

    message: str
    lines: tuple[int, ...]

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.lines[:_LINES_SHOWN]))
        more = ", …" if len(self.lines) > _LINES_SHOWN else ""
        noun = "line" if len(self.lines) == 1 else "lines"
        return f"{self.message}: {len(self.lines)} ({noun} {shown}{more})"


@dataclass(frozen=True, slots=True)
class GoldenCheck:
    """What a check found."""

    source: str
    rows: int
    """Lines that hold a question, whatever else is wrong with them."""
    ready: int
    """Questions that can be scored: without a fault, and with what is expected; drafts too."""
    faults: tuple[Fault, ...]
    """Every one, by line and column."""
    notes: tuple[Note, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, JSON-ready."""
        return {
            "source": self.source,
            "ok": self.ok,
            "rows": self.rows,
            "ready": self.ready,
            "faults": [fault._asdict() for fault in self.faults],
            "notes": [note._asdict() for note in self.notes],
        }


def check_golden(path: Path, snapshot: Snapshot | None = None) -> GoldenCheck:
    """What is wrong with a file by itself and, with a snapshot, beside what that holds.

    Raises `EvaluationError` for a file that cannot be read at all, and for a Bedrock dataset.
    """
    golden = read_rows(path)
    faults = list(golden.faults)
    unpaged: tuple[int, ...] = ()
    if snapshot is not None:
        beside = _Beside(snapshot)
        faults += [fault for row in golden.rows for fault in beside.faults(row)]
        unpaged = tuple(row.line for row in golden.rows if beside.names_unknown_page(row))
    faulty = {fault.line for fault in faults}
    ready = sum(bool(row.content.expected) and row.line not in faulty for row in golden.rows)
    if not ready and not faults:
        faults.append(Fault(1, 1, _why_none(golden)))
    return GoldenCheck(
        source=str(path),
        rows=len(faulty | {row.line for row in golden.rows}),
        ready=ready,
        faults=tuple(sorted(faults)),
        notes=tuple(_notes(golden, unpaged)),
    )


def _why_none(golden: GoldenFile) -> str:
    if golden.rows:
        return (
            "no question can be scored: none says what is expected; "
            "contextpull golden label suggests it"
        )
    if golden.unfilled:
        return "no question can be scored: the template rows are still to be filled in"
    return "the file holds no questions"


def _notes(golden: GoldenFile, unpaged: tuple[int, ...]) -> Iterator[Note]:
    rows = golden.rows
    kinds: tuple[tuple[str, Iterable[Row]], ...] = (
        ("template rows that wait for a question", golden.unfilled),
        ("drafts that nobody has checked", (row for row in rows if row.content.draft)),
        ("rows that expect nothing yet", (row for row in rows if not row.content.expected)),
        (
            "rows without evidence to check their labels against",
            (row for row in rows if row.content.expected and not row.content.evidence),
        ),
        (
            f"rows with evidence of fewer than {LEAST_PART} words, which many sections may hold",
            (row for row in rows if any(map(_is_short, row.content.evidence))),
        ),
    )
    for message, of_kind in kinds:
        lines = tuple(row.line for row in of_kind)
        if lines:
            yield Note(message, lines)
    if unpaged:
        yield Note(
            "rows that name a page where the store does not know the pages, so that only the whole"
            " document can be found",
            unpaged,
        )


def _is_short(quote: str) -> bool:
    return tokens_in(quote) < LEAST_PART


class _Beside:
    """Checks rows against a store."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._places = Places(snapshot)

    def faults(self, row: Row) -> Iterator[Fault]:
        for index, entry in enumerate(row.content.expected):
            if fault := self._places.fault(entry):
                yield row.fault(("expected", index), fault)
        places = map(self._places, row.content.expected)
        sections = [section for place in places for section in self._places.sections(place)]
        for index, quote in enumerate(row.content.evidence):
            if sections and not self._is_held(quote, sections):
                yield row.fault(("evidence", index), self._stale(quote, sections))

    def names_unknown_page(self, row: Row) -> bool:
        return any(self._places(entry).names_unknown_page for entry in row.content.expected)

    def _is_held(self, quote: str, sections: list[StoredSection]) -> bool:
        """Whether a quote stands in a section, or across its border in the same document."""
        held = [each for each in sections if holds(each.text, quote)]
        return any(hold_all([each.text], quote) for each in held) or any(
            hold_all([self._places.text(path)], quote)
            for path in dict.fromkeys(each.path for each in held)
        )

    def _stale(self, quote: str, sections: list[StoredSection]) -> str:
        matches = [(closest(each.text, quote), each) for each in sections]
        match, section = max(matches, key=lambda each: each[0].likeness)
        expected = section.id if len(sections) == 1 else "what is expected"
        return f"does not stand in {expected}{self._elsewhere(quote)}{_nearly(match, section)}"

    def _elsewhere(self, quote: str) -> str:
        found = search(self._snapshot, quote, limit=_LOOKED_AT, mode="lexical", snippets="heading")
        held = next((hit.section for hit in found.hits if holds(hit.section.text, quote)), None)
        return f"; it stands in {held.id}" if held else ""


def _nearly(match: Match, section: StoredSection) -> str:
    if match.likeness < _LIKE:
        return "; nothing there comes close"
    shown = on_one_line(match.text, _TEXT_SHOWN)
    return f"; closest, alike to {match.likeness:.2f}, is {shown!r} in {section.id}"

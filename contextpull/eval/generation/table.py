"""Table: the value of one cell, asked for by its row and its column; computed, not guessed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.corpus import Corpus, searchable
from contextpull.eval.generation.names import FEW
from contextpull.eval.generation.plan import Made, Plan, SetAside, new_question
from contextpull.eval.generation.sampling import choose, spread
from contextpull.eval.generation.tables import Row, rows_of

SHAPE = "table"
MOST_PER_SECTION = 5
_LONGEST_KEY = 60
_LONGEST_COLUMN = 40
_LONGEST_VALUE = 200
_MOST_HOLDERS = 50
_TRIED_PER_QUESTION = 20
"""Candidates that may be set aside for each question that is wanted."""
_NOTHING = re.compile(r"[\W_]*|n/?a|x|none|tbd|todo|see\b.*", re.I)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NO_TABLE = "no table has a row and a column of its own to ask for"
_NO_KEY = "every row of the tables is named in other rows too, or holds nothing to ask for"
_NOUNS = frozenset(
    {"condition", "default", "description", "effect", "example", "format", "maximum", "meaning"}
    | {"minimum", "price", "purpose", "range", "reason", "size", "status", "type", "unit", "value"}
)
"""Columns that read well inside a sentence."""
_NATURAL = ("What is the {noun} of {key}?", "Which {noun} is given for {key}?")
_PLAIN = (
    "What is given as “{column}” for {key}?",
    "What does the column “{column}” say about {key}?",
    "What stands under “{column}” for {key}?",
)
_KEYED = (
    "What is given as “{column}” where “{key_column}” is {key}?",
    "Look up the “{key_column}” {key}: what is its “{column}”?",
)
_UNDER = " (under the heading “{heading}”)"


class _Cell(NamedTuple):
    row: Row
    at: int
    """Which of the columns."""

    @property
    def column(self) -> str:
        return self.row.columns[self.at]

    @property
    def value(self) -> str:
        return self.row.cells[self.at]


def table(corpus: Corpus, plan: Plan, kept: Kept) -> Made:
    """Questions about single cells; the gold is the section, or part, that holds the row."""
    rows = list(rows_of(corpus))
    cells = _in_order(corpus, list(_cells(rows)), plan.seed)
    made = Made(SHAPE, by="rule", candidates=len(cells))
    in_section: Counter[int] = Counter()
    for cell in cells:
        number = cell.row.section
        if len(made.questions) == plan.per_shape:
            break
        if len(made.set_aside) >= _TRIED_PER_QUESTION * plan.per_shape:
            made.stopped = f"{len(made.set_aside)} cells were set aside"
            break
        if in_section[number] == MOST_PER_SECTION:
            continue
        holders = corpus.holding(cell.row.key, _MOST_HOLDERS)
        text = _text(corpus, cell, holders, plan.seed)
        gold = corpus.at({number})
        question = new_question(SHAPE, text, gold, answer=cell.value, identifier=cell.row.key)
        reason = _fault(corpus, cell, holders) or kept.add(question)
        if reason:
            about = f"{gold[0].id}: {cell.row.key} | {cell.column}"
            made.set_aside.append(SetAside(SHAPE, about, reason, text))
        else:
            in_section[number] += 1
            made.questions.append(question)
    if not made.questions:
        made.skipped = _NO_KEY if rows else _NO_TABLE
    return made


def _cells(rows: Sequence[Row]) -> Iterator[_Cell]:
    """The cells that can be asked for: their row is named once in the corpus, and they say much."""
    times = Counter(row.key.casefold() for row in rows)
    for row in rows:
        if times[row.key.casefold()] > 1 or not _is_key(row):
            continue
        columns = Counter(column.casefold() for column in row.columns)
        for at in range(1, len(row.columns)):
            column, value = row.columns[at], row.cells[at]
            if (
                columns[column.casefold()] == 1
                and _LETTERS.search(column)
                and len(column) <= _LONGEST_COLUMN
                and len(value) <= _LONGEST_VALUE
                and value.casefold() != row.key.casefold()
                and not _NOTHING.fullmatch(value)
            ):
                yield _Cell(row, at)


def _is_key(row: Row) -> bool:
    """Whether the first cell names the row: by letters, or by a number of a named kind."""
    if not 2 <= len(row.key) <= _LONGEST_KEY or _NOTHING.fullmatch(row.key):
        return False
    return _LETTERS.search(row.key) is not None or _has_name(row)


def _in_order(corpus: Corpus, cells: Sequence[_Cell], seed: int) -> list[_Cell]:
    return spread(
        cells,
        seed,
        name=lambda cell: f"{corpus.sections[cell.row.section].id} {cell.row.key} {cell.column}",
        groups=(
            lambda cell: corpus.sections[cell.row.section].document,
            lambda cell: (cell.row.section, cell.row.columns),
            lambda cell: (cell.row.section, cell.row.key),
            lambda cell: (cell.row.section, cell.column),
        ),
    )


def _fault(corpus: Corpus, cell: _Cell, holders: Sequence[int]) -> str:
    number = cell.row.section
    if number in corpus.repeated:
        return "its section stands in the corpus more than once"
    if len(holders) > _MOST_HOLDERS:
        return f"the row's name stands in more than {_MOST_HOLDERS} sections"
    if number not in holders:
        return "the row's name is not written as it is read"
    if len(holders) > FEW and not corpus.sections[number].heading:
        return "the row's name is common, and no heading says which table is meant"
    value = searchable(cell.value)
    for other in holders:
        if other != number and value in searchable(corpus.sections[other].text):
            return f"{corpus.sections[other].id} holds the row's name and the value too"
    return ""


def _text(corpus: Corpus, cell: _Cell, holders: Sequence[int], seed: int) -> str:
    row = cell.row
    noun = cell.column.casefold()
    templates: Sequence[str]
    if not _LETTERS.search(row.key):
        templates = _KEYED
    elif noun in _NOUNS:
        templates = _NATURAL
    else:
        templates = (*_PLAIN, *_KEYED) if _has_name(row) else _PLAIN
    text = choose(templates, seed, SHAPE, row.key, cell.column).format(
        column=cell.column,
        noun=noun,
        key=f"“{row.key}”" if " " in row.key else row.key,
        key_column=row.columns[0],
    )
    heading = corpus.sections[row.section].heading
    if len(holders) > FEW and heading:
        return text.removesuffix("?") + _UNDER.format(heading=heading) + "?"
    return text


def _has_name(row: Row) -> bool:
    """Whether the column of the keys has a name to ask by."""
    name = row.columns[0]
    return len(name) <= _LONGEST_COLUMN and _LETTERS.search(name) is not None

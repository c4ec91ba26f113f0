"""Golden questions, and the files that hold them: one JSON object a line.

    {"question": "...", "expected": ["guide/cache.md#clear"]}

and, where there is more to say, `id`, `reference`, `evidence`, `hint`, `draft` and `shape`.
`golden.schema.json` says what each may hold; `docs/golden.md` says what each is for.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from unicodedata import normalize

from contextpull.adapters.files import creating, replacing
from contextpull.adapters.lines import FAULTS_SHOWN, Faults, Record
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.reading import Row, read_rows, rows_of


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question from somebody who knows the answer, and where the answer stands."""

    id: str
    question: str
    expected: tuple[str, ...]
    """Section ids `path#slug`, paths of documents, or pages `report.pdf#page=41`; none where nobody
    has said yet what is right."""
    reference: str = ""
    """An answer that a person would accept."""
    evidence: tuple[str, ...] = ()
    """The words in what is expected that answer the question, quote by quote."""
    hint: str = ""
    """A note for whoever checks the row; nothing is scored by it."""
    draft: bool = False
    """Nobody has checked the row yet."""
    shape: str = ""


def load_golden(path: str | os.PathLike[str], *, unfilled: bool = False) -> list[GoldenQuestion]:
    """The questions of a file, drafts included, in its order.

    Template rows, which still wait for a question, are left out unless `unfilled` asks for them.

    Raises `EvaluationError` that lists every fault with line and column (the first 20, and the
    count), and for a file that cannot be read or holds no question.
    """
    read = read_rows(Path(path))
    raise_faults(str(path), [fault.at(str(path)) for fault in read.faults])
    rows = sorted([*read.rows, *read.unfilled], key=lambda row: row.line) if unfilled else read.rows
    questions = [question_of(row) for row in rows]
    if not questions:
        raise EvaluationError(
            f"{path} holds no questions. Give a file with one JSON object a line."
        )
    return questions


def chosen_questions(
    questions: Sequence[GoldenQuestion], only: Sequence[str] = (), skip: Sequence[str] = ()
) -> list[GoldenQuestion]:
    """The questions that `only` names, all where that is empty, less those that `skip` names.

    Each is an id, or a glob over ids in which case counts. Raises `InvalidInput` for one that names
    no question, and where no question is left.
    """
    for each in (*only, *skip):
        if not any(_is_named(question, [each]) for question in questions):
            raise InvalidInput(
                f"No question has the id {each!r}, nor one that matches it. The first is"
                f" {questions[0].id!r}."
            )
    chosen = [each for each in questions if not only or _is_named(each, only)]
    left = [each for each in chosen if not _is_named(each, skip)]
    if not left:
        raise InvalidInput("No question is left: --skip names all of them.")
    return left


def _is_named(question: GoldenQuestion, names: Sequence[str]) -> bool:
    return any(question.id == each or fnmatchcase(question.id, each) for each in names)


def save_golden(
    path: str | os.PathLike[str],
    questions: Iterable[GoldenQuestion],
    *,
    replace: bool = False,
    blanks: bool = False,
) -> None:
    """Write questions so that `load_golden` returns equal ones, their texts in NFC.

    With `blanks`, fields that say nothing are written too, for somebody to fill in.

    The file appears whole or not at all, and never over one that is there unless `replace` says so.
    Raises `EvaluationError` for that, for an unwritable path, and for questions that would not load
    again.
    """
    target = Path(path)
    lines = [golden_line(question, blanks=blanks) for question in questions]
    read = rows_of(enumerate((line.encode() for line in lines), start=1))
    faults = [f"question {fault.line}: {fault.message}" for fault in read.faults]
    raise_faults(f"the questions for {path}", faults)
    if not lines:
        raise EvaluationError(f"There is no question to write to {path}.")
    with (replacing if replace else creating)(target) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def file_record(path: Path) -> dict[str, str]:
    """Which file figures are of: its path, and the SHA-256 of its bytes, in hexadecimal digits."""
    return {"path": str(path), "sha256": sha256(path.read_bytes()).hexdigest()}


def question_of(row: Row) -> GoldenQuestion:
    """The question that a row holds, named after its line where it has no id."""
    content = row.content
    return GoldenQuestion(
        id=content.id or f"q{row.line}",
        question=content.question,
        expected=tuple(content.expected),
        reference=content.reference,
        evidence=tuple(content.evidence),
        hint=content.hint,
        draft=content.draft,
        shape=content.shape,
    )


def golden_line(question: GoldenQuestion, *, blanks: bool = False) -> str:
    """A question as a line without its end; what says nothing is left out, but with `blanks`.

    Ids in `expected` stay as the store writes them, other texts become NFC; characters that some
    programs take for the end of a line are escaped.
    """
    record: Record = {
        "id": _composed(question.id),
        "question": _composed(question.question),
        "expected": _listed(question.expected),
    }
    more: Record = {
        "reference": _composed(question.reference),
        "evidence": [_composed(each) for each in _sequence(question.evidence)],
        "hint": _composed(question.hint),
        "draft": question.draft,
        "shape": _composed(question.shape),
    }
    record.update((name, value) for name, value in more.items() if value or blanks)
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        line.encode()
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            f"The question {question.id!r} cannot be written as JSON: {error}."
        ) from None
    return line.translate(_ESCAPED)


def raise_faults(subject: str, faults: Sequence[str]) -> None:
    """Raise `EvaluationError` with the first 20 faults and their count, if there are any."""
    Faults(subject, "", list(faults[:FAULTS_SHOWN]), len(faults)).raise_if_any()


_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def _composed(text: str) -> str:
    return normalize("NFC", text)


def _listed(texts: Sequence[str]) -> object:
    return list(_sequence(texts))


def _sequence(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise EvaluationError(
            f"Give a list of texts, not the text {texts!r}: it would be spelt out."
        )
    return texts

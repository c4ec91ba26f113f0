"""Questions to and from the formats of others, with a list of what these cannot hold.

Where nothing is lost, converting back gives equal questions.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from contextpull.adapters.beir import load_queries
from contextpull.adapters.files import check_absent, name_new, replacing
from contextpull.adapters.lines import numbered_lines, record_of
from contextpull.adapters.ragbisect import load_questions, save_questions
from contextpull.errors import EvaluationError
from contextpull.eval.golden.bedrock import bedrock_record, is_bedrock, load_bedrock
from contextpull.eval.golden.questions import GoldenQuestion, load_golden, save_golden
from contextpull.types import Question

Format = Literal["golden", "ragbisect", "beir", "bedrock"]

_NO_SHAPE = "golden"
"""The shape that ragbisect's format, which wants one, gets for a question that has none."""
_RELEVANT = 1

_Test = Callable[[GoldenQuestion], object]


class Loss(NamedTuple):
    """Something that the other format cannot hold, and the questions that had it."""

    what: str
    ids: tuple[str, ...]


class Conversion(NamedTuple):
    """What became of a file's questions."""

    source_format: Format
    written: int
    losses: tuple[Loss, ...]


def convert(
    source: Path, target: Path, to: Format, from_: Format | None = None, split: str = "test"
) -> Conversion:
    """Write the questions of one file (for `beir` a folder) in another format.

    Without `from_` the format is told by what the file holds. `split` names the judgements of a
    BEIR folder, read and written. Documents are never converted.
    Raises `EvaluationError` for faults of the source, questions that the format cannot hold at
    all, and a target that is there already; nothing is written then.
    """
    check_absent(target)
    source_format = from_ or format_of(source)
    questions, lost_in_reading = _read(source, source_format, split)
    kept, lost_in_writing = _fitting(questions, to)
    if not kept:
        raise EvaluationError(f"No question of {source} fits the format {to}. Nothing was written.")
    with _new(target) as path:
        _write(path, to, kept, split)
    return Conversion(source_format, len(kept), (*lost_in_reading, *lost_in_writing))


def format_of(path: Path) -> Format:
    """The format of a file or folder, by what it holds; `golden` where nothing speaks for another.

    Raises `EvaluationError` for a file that cannot be read.
    """
    if path.is_dir():
        return "beir"
    if is_bedrock(path):
        return "bedrock"
    for _, line in numbered_lines(path):
        try:
            return "ragbisect" if "gold_chunk_ids" in record_of(line) else "golden"
        except ValueError:
            break
    return "golden"


def _read(path: Path, format_: Format, split: str) -> tuple[list[GoldenQuestion], Sequence[Loss]]:
    if format_ == "golden":
        return load_golden(path, unfilled=True), ()
    if format_ == "bedrock":
        dataset = load_bedrock(path)
        return dataset.questions, [Loss(*each) for each in dataset.passed_over.items()]
    if format_ == "ragbisect":
        return _from_ragbisect(load_questions(path))
    return _from_beir(path, split)


def _from_ragbisect(questions: Sequence[Question]) -> tuple[list[GoldenQuestion], list[Loss]]:
    lost: dict[str, list[str]] = {}
    golden = []
    for question in questions:
        ours, others = _ours(question)
        golden.append(ours)
        for name in others:
            lost.setdefault(name, []).append(question.id)
    return golden, [Loss(name, tuple(ids)) for name, ids in lost.items()]


def _ours(question: Question) -> tuple[GoldenQuestion, list[str]]:
    """A question, and the names of those of its fields that have no place in ours."""
    extra = dict(question.extra)
    evidence, hint, draft = (extra.get(name) for name in ("evidence", "hint", "draft"))
    golden = GoldenQuestion(
        id=question.id,
        question=question.text,
        expected=question.gold,
        reference=question.answer,
        shape="" if question.shape == _NO_SHAPE else question.shape,
    )
    if isinstance(evidence, list) and all(isinstance(each, str) for each in evidence):
        golden = replace(golden, evidence=tuple(evidence))
        del extra["evidence"]
    if isinstance(hint, str):
        golden = replace(golden, hint=hint)
        del extra["hint"]
    if isinstance(draft, bool):
        golden = replace(golden, draft=draft)
        del extra["draft"]
    others = [name for name in ("source", "identifier") if getattr(question, name)]
    return golden, [*others, *extra]


def _from_beir(path: Path, split: str) -> tuple[list[GoldenQuestion], list[Loss]]:
    queries, judged = load_queries(path, split)
    known = {query.id for query in queries}

    def having(test: Callable[[int], bool]) -> Iterator[str]:
        return (each for each in judged if each in known and any(map(test, judged[each].values())))

    losses = [
        Loss("grades of relevance above 1", tuple(having(lambda score: score > _RELEVANT))),
        Loss("judgements of no relevance", tuple(having(lambda score: score < _RELEVANT))),
        Loss("judgements of unknown queries", tuple(each for each in judged if each not in known)),
        Loss("other fields of the queries", tuple(each.id for each in queries if each.extra)),
    ]
    golden = [GoldenQuestion(each.id, each.text, each.gold) for each in queries]
    return golden, [loss for loss in losses if loss.ids]


def _fitting(
    questions: Sequence[GoldenQuestion], to: Format
) -> tuple[list[GoldenQuestion], list[Loss]]:
    """The questions that a format can hold, and what of them all it cannot."""
    if to == "golden":
        return list(questions), []
    asked = [each for each in questions if each.question.strip()]
    kept = [each for each in asked if each.expected] if to == "ragbisect" else asked
    left_out = {each.id for each in asked} - {each.id for each in kept}
    losses = [
        _loss("template rows, left out", questions, lambda each: not each.question.strip()),
        _loss("questions that expect nothing, left out", asked, lambda each: each.id in left_out),
        *(_loss(what, kept, test) for what, test in _LOST_IN[to]),
    ]
    if to == "bedrock":
        moved = (each.id for at, each in enumerate(kept, start=1) if each.id != f"q{at}")
        losses.append(Loss("id", tuple(moved)))
    return kept, [loss for loss in losses if loss.ids]


def _loss(what: str, questions: Iterable[GoldenQuestion], test: _Test) -> Loss:
    return Loss(what, tuple(each.id for each in questions if test(each)))


_LOST_IN: dict[Format, tuple[tuple[str, _Test], ...]] = {
    "ragbisect": (
        (f"the shape {_NO_SHAPE!r}, which stands for none", lambda each: each.shape == _NO_SHAPE),
    ),
    "beir": (
        ("reference", lambda each: each.reference),
        ("evidence", lambda each: each.evidence),
        ("hint", lambda each: each.hint),
        ("draft", lambda each: each.draft),
        ("shape", lambda each: each.shape),
    ),
    "bedrock": (
        ("expected", lambda each: each.expected),
        ("hint", lambda each: each.hint),
        ("draft", lambda each: each.draft),
        ("shape", lambda each: each.shape),
    ),
}


def _write(path: Path, to: Format, questions: Sequence[GoldenQuestion], split: str) -> None:
    if to == "golden":
        save_golden(path, questions)
    elif to == "ragbisect":
        save_questions(path, map(_ragbisect, questions))
    elif to == "bedrock":
        _write_lines(path, (_json(bedrock_record(each)) for each in questions))
    else:
        (path / "qrels").mkdir(parents=True)
        queries = (_json({"_id": each.id, "text": each.question}) for each in questions)
        _write_lines(path / "queries.jsonl", queries)
        rows = (f"{each.id}\t{entry}\t1" for each in questions for entry in each.expected)
        _write_lines(path / "qrels" / f"{split}.tsv", ("query-id\tcorpus-id\tscore", *rows))


def _ragbisect(question: GoldenQuestion) -> Question:
    more: dict[str, object] = {
        "evidence": list(question.evidence),
        "hint": question.hint,
        "draft": question.draft,
    }
    return Question(
        id=question.id,
        text=question.question,
        shape=question.shape or _NO_SHAPE,
        gold=question.expected,
        answer=question.reference,
        extra={name: value for name, value in more.items() if value},
    )


def _json(record: object) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


@contextmanager
def _new(target: Path) -> Iterator[Path]:
    """A path whose file or folder becomes the target when the block ends well."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        if temporary.is_dir():
            os.rename(temporary, target)  # noqa: PTH104 - fails where a folder with files is
        else:
            name_new(temporary, target)
    except OSError as error:
        raise EvaluationError(f"Cannot write {target}: {error.strerror}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.unlink(missing_ok=True)

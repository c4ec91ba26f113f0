"""Golden-file results that can be drawn beside runs, from the JSON files that hold them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contextpull.errors import EvaluationError
from contextpull.eval.report.golden_builds import chunking_view, sweep_view
from contextpull.eval.report.golden_declining import cutoff_view
from contextpull.eval.report.golden_settings import settings_view
from contextpull.eval.report.golden_view import GoldenView, Record
from contextpull.eval.run_directory import MANIFEST, REPORT

_MOST_BYTES = 64 << 20
_FORMAT = 1
"""Of results that say which they have."""


def golden_file(path: Path) -> Path | None:
    """The file of results that a path means; None for one that means a run's folder.

    `golden chunking --out` keeps its results as `report.json` in a folder.
    """
    if path.is_file():
        return path
    kept = path / REPORT
    return kept if kept.is_file() and not (path / MANIFEST).exists() and _kind(kept) else None


def golden_parts(path: Path) -> GoldenView:
    """Read what `contextpull golden report`, `cutoff`, `sweep` or `chunking` printed with --json.

    Raises EvaluationError for a file that is not there, is none of these, or a newer one.
    """
    record = _read(path)
    make = _MAKERS.get(_kind_of(record))
    if make is None:
        raise EvaluationError(
            f"{path} holds no results that can be drawn. Name a run's folder, or what"
            " `contextpull golden report`, `cutoff`, `sweep` or `chunking` printed with --json."
        )
    try:
        if record.get("format", _FORMAT) > _FORMAT:
            raise EvaluationError(
                f"{path} has format {record['format']}; this contextpull reads up to format"
                f" {_FORMAT}. Upgrade contextpull."
            )
        name = path.resolve().parent.name if path.name == REPORT else path.name
        return make(name, record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise EvaluationError(
            f"{path} cannot be read as golden results ({error!r}). Make it anew with --json."
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EvaluationError(f"{path} is larger than any golden results. Name another file.")
        record = json.loads(path.read_bytes(), parse_constant=_no_number)
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"{path} is no JSON file of golden results: {error}.") from error
    return record if isinstance(record, dict) else {}


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _kind(path: Path) -> str:
    try:
        return _kind_of(_read(path))
    except EvaluationError:
        return ""


def _kind_of(record: Record) -> str:
    """What the results are of; empty where they do not say so, nor have a field that does."""
    if "kind" in record:
        return str(record["kind"])
    return next((name for name in ("settings", "cutoff") if name in record), "")


_MAKERS: dict[str, Callable[[str, Record], GoldenView]] = {
    "settings": settings_view,
    "cutoff": cutoff_view,
    "sweep": sweep_view,
    "chunking": chunking_view,
}

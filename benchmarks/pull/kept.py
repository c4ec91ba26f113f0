"""The rankings of one row of a kept run, as an adapter of ragbisect: `kept.py:Kept`.

RUN names the run's folder and ROW the row. Nothing is asked anew.
"""

import json
import os
from pathlib import Path


class Kept:
    """Answers each question of a run with what the row returned for it then, first."""

    def __init__(self) -> None:
        run, row = Path(os.environ["RUN"]), os.environ["ROW"]
        texts = {each["id"]: each["q"] for each in _lines(run / "questions.jsonl")}
        self._rankings = {
            texts[each["id"]]: each["ranking"]
            for each in _lines(run / "outcomes.jsonl")
            if each["row"] == row
        }

    def retrieve(self, query: str, k: int) -> list[str]:
        """At most k ids, best first."""
        return list(self._rankings[query][:k])


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

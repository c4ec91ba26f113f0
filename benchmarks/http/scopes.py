"""Random calls within random scopes, beside a store of the documents inside alone."""

import json
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import run

from contextpull import open_store
from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store import Store
from contextpull.tools import ToolSession

_CALLS = 100
"""Calls within one scope."""
_WORD = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]{3,}")


def check_scopes(corpus: Path, work: Path, checks: int) -> Iterator[str]:
    """How many calls answered otherwise than a store would that never held the rest."""
    draw = random.Random(1)
    whole = ingested(corpus, work / "whole")
    facts = Facts(whole)
    leaks: list[str] = []
    scopes = max(checks // _CALLS, 1)
    hidden = 0
    for number in range(scopes):
        scope = Scope(tuple(facts.globs(draw)))
        inside = [path for path in facts.documents if scope.allows(path)]
        hidden += len(facts.documents) - len(inside)
        folder = work / f"alone-{number}"
        for path in inside:
            (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "docs" / path).write_bytes((corpus / path).read_bytes())
        (folder / "docs").mkdir(parents=True, exist_ok=True)
        alone = ToolSession(ingested(folder / "docs", folder / "store"))
        scoped = ToolSession(ScopedStore(whole, scope))
        for _ in range(_CALLS):
            name, arguments = facts.call(draw)
            if scoped.call(name, arguments) != alone.call(name, arguments):
                leaks.append(f"{scope} {name} {json.dumps(arguments)}")
        shutil.rmtree(folder)
    shown = "".join(f"\n- {leak}" for leak in leaks[:10])
    yield (
        f"## Scopes\n\n{len(leaks)} of {scopes * _CALLS:,} random calls within {scopes:,} random"
        f" scopes answered otherwise, in text or data, than a store that never held what is hidden"
        f" ({hidden / scopes:.0f} of {len(facts.documents)} documents on average).{shown}"
    )


def ingested(folder: Path, store: Path) -> Store:
    """A store of a folder; one without any document is a store, too."""
    command = [sys.executable, "-c", "import sys; from pathlib import Path"]
    command[-1] += "; from contextpull.store.ingest import ingest"
    command[-1] += "; ingest(Path(sys.argv[1]), Path(sys.argv[2]))"
    run([*command, folder, store])
    return open_store(store)


class Facts:
    """What calls and scopes are made of: the paths, ids and words of a store."""

    def __init__(self, store: Store) -> None:
        snapshot = store.snapshot()
        self.documents = sorted(snapshot.documents)
        numbers = [n for each in snapshot.documents.values() for n in each.section_numbers]
        sections = snapshot.database.sections(numbers)
        self._ids = [section.id for section in sections]
        self._words = sorted({word for each in sections for word in _WORD.findall(each.text)})
        self._folders = sorted({f"{Path(path).parent}/" for path in self.documents} - {"./"})

    def globs(self, draw: random.Random) -> list[str]:
        """One to four globs: folders, documents, endings, some of them taken out again."""
        kinds = [self._folders, self.documents, ["**", "**/*.md", "*s.md"]]
        globs = [draw.choice(draw.choice(kinds)) for _ in range(draw.randint(1, 4))]
        return [f"!{glob}" if at and draw.random() < 0.4 else glob for at, glob in enumerate(globs)]

    def call(self, draw: random.Random) -> tuple[str, dict[str, Any]]:
        """A call that names what may be inside or outside."""
        words = " ".join(draw.sample(self._words, draw.randint(1, 3)))
        paths = [draw.choice([*self.documents, *self._folders])] if draw.random() < 0.3 else []
        section = draw.choice(self._ids)
        name = draw.choice(["search", "grep", "read", "index"])
        arguments: dict[str, dict[str, Any]] = {
            "search": {"query": words, "paths": paths, "limit": draw.choice([1, 10, 50])},
            "grep": {"pattern": draw.choice(self._words), "paths": paths, "limit": 20},
            "read": {"ids": [section], "context": draw.randint(0, 2)},
            "index": {"path": draw.choice(["", section, section.partition("#")[0]])},
        }
        return name, arguments[name]

"""What each peer does with queries that are not plain words, and what it sends back.

The folder behaviours/ holds a few pages made for this: for every query one page that answers it,
and others that share its letters but not its meaning.
"""

import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import datasets
from measuring import table
from peer import HERE, Peer, PeerFailed, Spec
from quality import file_of

_LONGEST_CALL = 30.0
_LOOK_AT = 3
_SURVIVES = "Versions"

WANTED = (
    ("a flag", "--no-cache", "flags.md"),
    ("a variable, defined before used", "LOADER_CACHE_DIR", "variables.md"),
    ("a name with signs", "C++", "cplusplus.md"),
    ("a code, not its digits", "TX-4419", "errors.md"),
    ("a version", "3.12", "versions.md"),
    ("Japanese, no spaces", "東京", "weather-ja.md"),
    ("a capital outside ASCII", "ärger", "german.md"),
    ("another form of a word", "chapters", "menu.md"),
)
"""What is asked, and the page that must come first."""

PHRASE = ('"blue green deployment"', "releases.md")

HOSTILE = (
    ("an empty query", ""),
    ("white space", " \t\n "),
    ("signs only", '"*^:)( -- "" NEAR(/5 AND'),
    ("a broken quote", 'say "hello'),
    ("operators", "NOT AND OR NEAR -x +y body:z"),
    ("a NUL byte", "cache\0folder"),
    ("20,000 letters", "e" * 20_000),
    ("5,000 words", "the cache folder of a loader " * 1000),
    ("500 common words", "the " * 500),
)


def report(specs: Sequence[Spec], work: Path) -> dict[str, dict[str, str]]:
    """A cell for each behaviour and peer, by peer, each from really calling it.

    Of what comes both as a library and as a server, the server stands for both.
    """
    corpus = datasets.with_sections("behaviours", HERE / "behaviours", work)
    cells = {}
    for spec in specs:
        if spec.kind == "server" or (spec.kind == "engine" and spec.beside):
            cells[spec.name] = _Subject(spec, corpus, work).cells()
    return cells


def report_table(specs: Sequence[Spec], cells: dict[str, dict[str, str]]) -> str:
    """A row a behaviour, a column a peer."""
    names = [spec.name for spec in specs if spec.name in cells]
    kinds = list(cells[names[0]])
    rows = [(kind, *(cells[name].get(kind, "") for name in names)) for kind in kinds]
    return table(("", *names), rows)


class _Subject:
    """One peer over the pages; started again whenever a call has ended it."""

    def __init__(self, spec: Spec, corpus: datasets.Corpus, work: Path) -> None:
        self._spec, self._corpus, self._work = spec, corpus, work
        self._peer: Peer | None = None

    def cells(self) -> dict[str, str]:
        cells = {f"{name}: `{query}`": self._place(query, page) for name, query, page in WANTED}
        cells["a phrase"] = self._phrase()
        for name, query in HOSTILE:
            cells[name] = self._survival(query)
        cells["id after a section was added above"] = self._stability()
        self._end()
        return cells

    def _place(self, query: str, page: str) -> str:
        """Where the page stands in the ranking."""
        files = self._files(query)
        if isinstance(files, str):
            return files
        return _ordinal(files.index(page)) if page in files else "missed"

    def _phrase(self) -> str:
        """Whether quotes keep pages out that hold the words apart."""
        query, page = PHRASE
        files = self._files(query)
        if isinstance(files, str):
            return files
        return "only it" if files == [page] else self._place(query, page) + ", not only it"

    def _survival(self, query: str) -> str:
        """What came back and in what time, and whether the next query is answered."""
        try:
            answer = self._asked().ask("search", _LONGEST_CALL, queries=[query], k=10)["answers"][0]
        except PeerFailed as failure:
            self._end()
            return f"**{failure}**"
        said = f"{len(answer['ids'])} hits"
        if answer["error"]:
            said = "refused" if answer["error"].startswith("ToolError") else "error"
        alive = not isinstance(self._files(_SURVIVES), str)
        return f"{said}, {answer['wall_ms']:.0f} ms" + ("" if alive else ", **then dead**")

    def _stability(self) -> str:
        """The id of one page's section before and after another was put above it."""
        if self._spec.kind == "engine":
            return "has none of its own"
        if self._spec.ids == "files":
            return "names the file only"
        before = self._ids("LOADER_LOG_LEVEL")
        self._end()
        edited = self._work / "edited"
        shutil.rmtree(edited, ignore_errors=True)
        shutil.copytree(HERE / "behaviours", edited)
        page = edited / "variables.md"
        title, rest = page.read_text().split("\n", 1)
        page.write_text(f"{title}\n\n## LOADER_AGE\n\nHow long things are kept.\n{rest}")
        original = self._corpus
        self._corpus = datasets.with_sections("edited", edited, self._work)
        after = self._ids("LOADER_LOG_LEVEL")
        self._end()
        self._corpus = original
        if isinstance(before, str) or isinstance(after, str) or not before or not after:
            return "no answer"
        return "the same" if before[0] == after[0] else f"`{before[0]}` is now `{after[0]}`"

    def _files(self, query: str) -> list[str] | str:
        """The files of the first hits, or the error."""
        ids = self._ids(query)
        return ids if isinstance(ids, str) else list(dict.fromkeys(map(file_of, ids)))

    def _ids(self, query: str) -> list[str] | str:
        try:
            answer = self._asked().ask("search", _LONGEST_CALL, queries=[query], k=10)["answers"][0]
        except PeerFailed as failure:
            self._end()
            return str(failure)
        return "error" if answer["error"] else list(answer["ids"])

    def _asked(self) -> Peer:
        if self._peer is None:
            self._peer = Peer(self._spec, self._work / "environments")
            folder = self._work / "indexes" / "behaviours" / self._spec.name.replace(" ", "-")
            shutil.rmtree(folder, ignore_errors=True)
            self._peer.build(self._corpus.folder, self._corpus.sections, folder)
        return self._peer

    def _end(self) -> None:
        if self._peer:
            self._peer.close()
            self._peer = None


def sizes(
    specs: Sequence[Spec],
    peers: dict[str, Peer],
    queries: Sequence[str],
    count: Callable[[str], int] | None,
) -> str:
    """What ten hits put into a model's context; a token count where there is a tokenizer."""
    rows = []
    for spec in specs:
        if spec.kind != "server" or spec.name not in peers:
            continue
        answers = peers[spec.name].search(queries, 10, texts=True)
        chars = statistics.median(each["chars"] for each in answers)
        rows.append(
            (
                spec.name,
                f"{statistics.fmean(len(each['ids']) for each in answers):.1f}",
                f"{chars:,.0f}",
                f"{statistics.median(count(each['text']) for each in answers):,.0f}"
                if count
                else "",
                f"{statistics.median(each['structured'] for each in answers):,.0f}",
                f"`{next((each['ids'][0] for each in answers if each['ids']), '')}`",
            )
        )
    header = ("", "hits", "characters", "tokens", "structured, characters", "cited as")
    return table(header, rows)


def _ordinal(place: int) -> str:
    return ("first", "2nd", "3rd")[place] if place < _LOOK_AT else f"{place + 1}th"

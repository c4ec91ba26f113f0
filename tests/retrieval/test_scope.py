"""A store within a scope answers as a store would that was made of the documents inside alone."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings, Mode
from contextpull.errors import InvalidInput, StoreError
from contextpull.retrieval.models import Models
from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store.embedding import keep_vectors
from contextpull.store.ingest import ingest
from contextpull.store.opening import Snapshot, Store
from contextpull.tools import ToolSession, instructions
from tests.conftest import Files, write_corpus
from tests.properties import same_every_time
from tests.standins import Gate

NOTICE = "## Notice\n\nThis page is kept by the archive. Ask the keeper before you copy it.\n"


def page(title: str, marker: str, links: str = "") -> str:
    """A document of several sections, one of which stands in others too."""
    lines = "\n".join(f"- step {n} of {marker}: pull the lever" for n in range(6))
    prose = f"The {marker} lever opens the sluice. See {links or 'nothing else'}.\n\n"
    return (
        f"---\ndescription: About {marker}\n---\n# {title}\n\n{prose * 3}"
        f"## Merged\n\n## Steps of {marker}\n\n{lines}\n\n{prose * 8}\n\n{NOTICE}"
    )


FILES: Files = {
    "README.md": page("Read me", "zqroot", "[the plan](hr/plan.md#plan)"),
    "manual/setup.md": page("Setup", "zqsetup", "[more](deep/setup.md)"),
    "manual/setups.md": page("Setup", "zqsetups"),
    "manual/deep/setup.md": page("Setup", "zqdeep", "`--no-cache`"),
    "manual/deep/er/tables.md": "# Tables\n\n| lever | zqtable |\n|---|---|\n| a | b |\n" * 3,
    "Manual/SETUP.md": page("Setup", "zqupper"),
    "hr/plan.md": page("Plan", "zqplan", "[setup](../manual/setup.md)"),
    "hr/plan-2.md": page("Plan", "zqplantwo"),
    "hr/pay/bands.md": page("Bands", "zqbands", "HG-4419"),
    "hr/pay/notice.md": "# Pay zqpay\n\n" + NOTICE,
    "legal/hr/cases.md": page("Cases", "zqcases", "HG-4419"),
    "legal/notes.txt": "zqnotes: plain text about the lever\n" * 40,
    "star*.md": page("Star", "zqstar"),
    "starling.md": page("Starling", "zqstarling"),
    "résumés/liste.md": page("Été", "zqete"),
}
HR = [path for path in FILES if path.startswith("hr/")]
MARKERS = {path: re.findall(r"zq\w+", str(text))[0] for path, text in FILES.items()}
GLOBS = st.sampled_from(
    [
        *("**", "/manual/", "manual", "hr/", "/hr/**", "hr/pay", "*.txt", "setup.md", "legal/**"),
        *("**/setup.md", "manual/*.md", "star*.md", "Manual/", "README.md", "résumés/", "nothing"),
        *("!hr/", "!/hr/", "!manual/deep/", "!*.txt", "!hr/plan.md", "!README.md", "!**/setup.md"),
    ]
)
SCOPES = st.lists(GLOBS, min_size=1, max_size=4).map(lambda globs: Scope(tuple(globs)))


def inside(scope: Scope, files: Files = FILES) -> Files:
    return {path: text for path, text in files.items() if scope.allows(path)}


# --- which documents a scope holds ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("globs", "held"),
    [
        ((), list(FILES)),
        (("**",), list(FILES)),
        (("/**",), list(FILES)),
        (("hr",), [*HR, "legal/hr/cases.md"]),
        (("/hr/",), HR),
        (("hr/*.md",), ["hr/plan.md", "hr/plan-2.md"]),
        (("./hr/pay/",), ["hr/pay/bands.md", "hr/pay/notice.md"]),
        (("/README.md",), ["README.md"]),
        (("/setup.md",), []),
        (("readme.md",), []),
        (("manual/setup.md",), ["manual/setup.md"]),
        (("setup.md",), ["manual/setup.md", "manual/deep/setup.md"]),
        (("hr/", "!/hr/"), ["legal/hr/cases.md"]),
        (("hr/", "!/hr/", "hr/pay/bands.md"), ["hr/pay/bands.md", "legal/hr/cases.md"]),
        (("!hr/plan*", "hr/plan.md", "!**"), []),
        (("!manual/", "!hr", "!legal", "!star*", "!résumés"), ["README.md", "Manual/SETUP.md"]),
        (("!/hr", "hr/pay"), ["hr/pay/bands.md", "hr/pay/notice.md"]),
        (("star?.md",), ["star*.md"]),
        (("re\u0301sume\u0301s/",), ["résumés/liste.md"]),
        (("nothing",), []),
    ],
)  # fmt: skip
def test_the_last_glob_that_matches_decides(globs: tuple[str, ...], held: list[str]) -> None:
    assert sorted(inside(Scope(globs))) == sorted(held)


def test_a_path_with_a_line_break_is_one_path() -> None:
    assert not Scope(("open/",)).allows("secret\nopen/x.md")
    assert Scope(("secret*",)).allows("secret\nx.md")


@pytest.mark.parametrize(
    ("globs", "said"),
    [
        (("",), "'' of a scope names nothing. Leave it out, or write ** for everything"),
        (("hr/", "!"), "'!' of a scope names nothing"),
        (("/",), "'/' of a scope names nothing"),
        (("../hr",), "'../hr' of a scope matches nothing: paths begin at the top"),
        (("!hr/../legal",), "have no '..'"),
        (("x" * 501,), "longer than 500 characters. Name a folder above"),
        ("hr/**", "takes a list of globs, not the text 'hr/**'"),
    ],
)
def test_a_glob_that_cannot_be_meant_is_refused(globs: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        Scope(globs)


def test_equal_globs_make_equal_scopes() -> None:
    globs: Any = ["hr/", "!pay"]
    assert Scope(globs) == Scope(("hr/", "!pay"))
    assert len({Scope(globs), Scope(("hr/", "!pay")), Scope(("!pay", "hr/"))}) == 2


# --- what the tools answer within a scope --------------------------------------------------------


class Side:
    """The whole store, and beside it one made of the allowed files alone for each scope."""

    def __init__(self, folder: Path, embedder: Path | None = None) -> None:
        self._folder = folder
        self._embedder = embedder
        self.store = self.store_of(FILES)
        self.ids = every_id(self.store.snapshot())
        self._alone: dict[tuple[str, ...], Store] = {}
        self._scoped: dict[Scope, ScopedStore] = {}

    def store_of(self, files: Files) -> Store:
        place = Path(tempfile.mkdtemp(dir=self._folder))
        ingest(write_corpus(place / "docs", files), place / "store")
        if self._embedder:
            cache = self._folder / "cache"
            keep_vectors(place / "store", model=str(self._embedder), cache=cache)
        return open_store(place / "store")

    def scoped(self, scope: Scope) -> ScopedStore:
        return self._scoped.setdefault(scope, ScopedStore(self.store, scope))

    def alone(self, scope: Scope) -> Store:
        files = inside(scope)
        if tuple(files) not in self._alone:
            self._alone[tuple(files)] = self.store_of(files)
        return self._alone[tuple(files)]


def every_id(snapshot: Snapshot) -> list[str]:
    numbers = [n for each in snapshot.documents.values() for n in each.section_numbers]
    return [section.id for section in snapshot.database.sections(numbers)]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Side:
    return Side(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory, tiny_embedder: Path) -> Side:
    return Side(tmp_path_factory.mktemp("vectors"), tiny_embedder)


CHANGES: list[Callable[[str], str]] = [
    *(str, str.upper, str.lower, str.swapcase, lambda text: f"./{text}", lambda text: f"../{text}"),
    *(lambda text: f"hr/../{text}", lambda text: f" `{text}` ", lambda text: text[:-1]),
    *(lambda text: f"{text}#", lambda text: text.partition("#")[0], lambda text: f"{text}-1"),
    *(lambda text: text.replace("/", "\\"), lambda text: text.rpartition("/")[0] + "/"),
    *(lambda text: f"**/{text}", lambda text: f"{text[:3]}*", lambda text: f"/{text}"),
    lambda text: text[1:],
]
WORDS = st.sampled_from(
    [
        *MARKERS.values(),
        *("lever", "sluice", "keeper", "steps", "HG-4419", "--no-cache", '"pull the lever"'),
        *('"kept by the archive"', "setup", "plan", "the", "zzz", "Steps of", "nothing else"),
    ]
)
QUERIES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
PATTERNS = st.one_of(WORDS, st.sampled_from(["zq", "step [0-4]", "^#", "[a-z]+\\.md", "lever$"]))


def calls(ids: list[str], modes: tuple[Mode | None, ...]) -> st.SearchStrategy[Any]:
    """Calls of all tools: by what is there, by what is hidden, and by what nearly is either."""
    wild = st.sampled_from(["*.md", "**/setup.md", "manual/**", "h?", "**"])
    changes = st.sampled_from(CHANGES)
    named = st.builds(lambda change, each: change(each), changes, st.sampled_from(ids))
    of_paths = st.one_of(st.just([]), st.lists(st.one_of(named.map(_path_of), wild), max_size=2))
    offsets = st.sampled_from([0, 0, 0, 1, 2, 5, 40, 999])
    search = st.fixed_dictionaries(
        {"query": QUERIES, "paths": of_paths, "limit": st.sampled_from([1, 3, 50])}
        | {"offset": offsets, "mode": st.sampled_from(modes)}
    )
    grep = st.fixed_dictionaries(
        {"pattern": PATTERNS, "paths": of_paths, "limit": st.sampled_from([1, 7, 100])}
        | {"offset": offsets, "context": st.sampled_from([0, 3]), "regex": st.booleans()}
    )
    read = st.fixed_dictionaries(
        {"ids": st.lists(named, min_size=1, max_size=3), "context": st.integers(0, 5)}
        | {"offset": offsets}
    )
    index = st.fixed_dictionaries(
        {"path": st.one_of(st.just(""), named, named.map(_path_of), wild), "offset": offsets}
    )
    every = {"search": search, "grep": grep, "read": read, "index": index}
    return st.one_of(*(st.tuples(st.just(name), given) for name, given in every.items()))


def _path_of(text: str) -> str:
    return text.partition("#")[0]


def assert_nothing_else_is_told(scope: Scope, arguments: object, told: str) -> None:
    """No path and no word of a document outside, but for what was asked or is linked inside."""
    known = json.dumps(arguments, ensure_ascii=False).lower() + str(inside(scope)).lower()
    for path in FILES:
        if not scope.allows(path):
            for secret in (path.lower(), MARKERS[path]):
                assert secret not in told.lower() or secret in known, (scope, arguments, told)


def assert_scoped_is_alone(
    side: Side, scope: Scope, asked: list[tuple[str, Mapping[str, Any]]], models: Models | None
) -> None:
    """Both answer every call alike, in text and data."""
    scoped, alone = side.scoped(scope), side.alone(scope)
    one, other = ToolSession(scoped, models=models), ToolSession(alone, models=models)
    for name, arguments in asked:
        result = one.call(name, arguments)
        assert result == other.call(name, arguments), (scope, name, arguments)
        told = result.text + json.dumps(result.data, ensure_ascii=False)
        assert_nothing_else_is_told(scope, arguments, told)


@same_every_time(60)
@given(scope=SCOPES, data=st.data())
def test_within_a_scope_every_tool_answers_as_over_the_documents_inside_alone(
    words: Side, scope: Scope, data: st.DataObject
) -> None:
    asked = data.draw(st.lists(calls(words.ids, (None, "lexical")), min_size=8, max_size=16))
    assert_scoped_is_alone(words, scope, asked, None)


@same_every_time(25)
@given(scope=SCOPES, data=st.data())
def test_with_vectors_too(
    vectors: Side, tiny_reranker: Path, scope: Scope, data: st.DataObject
) -> None:
    models = Models(reranker=str(tiny_reranker))
    modes = (None, *get_args(Mode))
    asked = data.draw(st.lists(calls(vectors.ids, modes), min_size=4, max_size=10))
    if inside(scope):  # a store of nothing has no vectors, and says so
        assert_scoped_is_alone(vectors, scope, asked, models)


@same_every_time(30)
@given(scope=SCOPES, limit=st.sampled_from([600, 900, 1200, 4096]))
def test_instructions_and_the_whole_index_tell_of_nothing_outside(
    words: Side, scope: Scope, limit: int
) -> None:
    told = instructions(words.scoped(scope).snapshot(), limit)
    assert told == instructions(words.alone(scope).snapshot(), limit)
    assert_nothing_else_is_told(scope, "", told)


@same_every_time(30)
@given(scope=SCOPES, number=st.integers(0, 10_000))
def test_a_hidden_section_and_one_that_never_was_give_the_same_answer(
    words: Side, scope: Scope, number: int
) -> None:
    near = {path.lower() for path in inside(scope)}  # capitals may be wrong in an id
    hidden = [each for each in words.ids if _path_of(each).lower() not in near]
    if not hidden:
        return
    asked = hidden[number % len(hidden)]
    never = asked.replace(_path_of(asked), "x" * len(_path_of(asked)))
    session = ToolSession(words.scoped(scope))
    for section_id in (asked, never):
        result = session.call("read", {"ids": section_id})
        assert result.is_error
        assert result.text.startswith(f"No section has the id {section_id!r}.")
        assert session.call("index", {"path": _path_of(section_id)}).is_error


def test_hidden_copies_do_not_crowd_out_those_that_may_be_seen(tmp_path: Path) -> None:
    files = {f"a/{n:03}.md": f"# Page\n\n{NOTICE}" for n in range(150)}
    files |= {f"open/{n}.md": f"# Page\n\n{NOTICE}" for n in range(3)}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    session = ToolSession(ScopedStore(open_store(tmp_path / "store"), Scope(("open/",))))
    result = session.call("search", {"query": "archive keeper"})
    assert "same text: open/1.md#notice, open/2.md#notice\n" in result.text + "\n"
    assert result.data["hits"][0]["copies"] == ["open/1.md#notice", "open/2.md#notice"]
    assert result.data["has_more"] is False


def test_what_is_frequent_outside_does_not_change_the_order_inside(tmp_path: Path) -> None:
    files = {"in/a.md": "# A\n\nA heron stood there.\n", "in/b.md": "# B\n\nA stork stood here.\n"}
    orders = []
    for word in ("heron", "stork"):
        folder = tmp_path / word
        outside = {f"out/{n}.md": f"# N{n}\n\nThe {word} again.\n" for n in range(50)}
        ingest(write_corpus(folder / "docs", {**files, **outside}), folder / "store")
        session = ToolSession(ScopedStore(open_store(folder / "store"), Scope(("in/",))))
        orders.append(session.call("search", {"query": "heron stork"}))
    assert orders[0] == orders[1]


def test_nothing_outside_is_reached_by_its_number(words: Side) -> None:
    scope = Scope(("/hr/", "!hr/plan.md"))
    whole = words.store.snapshot()
    part = words.scoped(scope).snapshot().database
    numbers = [number for each in whole.documents.values() for number in each.section_numbers]
    held = [each for each in words.ids if scope.allows(_path_of(each))]
    assert 0 < len(held) < len(numbers)
    assert sorted(each.id for each in part.sections(numbers)) == sorted(held)
    assert sorted(each.id for each in part.addresses(numbers).values()) == sorted(held)
    for document in whole.documents.values():
        is_held = scope.allows(document.path)
        assert bool(part.sections_of(document)) is is_held
        assert bool(part.texts_of(document)) is is_held
        assert bool(part.slugs_of(document)) is is_held
    hidden = whole.documents["hr/plan.md"]
    assert whole.database.resolve(hidden, "merged")
    assert part.resolve(hidden, "merged") is None
    assert part.counts()[:2] == (3, len(held))


def test_nearer_vectors_outside_do_not_crowd_out_those_inside(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    near = {f"shut/{n:03}.md": f"# Otter {n}\n\nThe otter swims, entry{n}.\n" for n in range(300)}
    changed(tmp_path, {**SMALL, **near})
    keep_vectors(tmp_path / "store", model=str(tiny_embedder), cache=None)
    session = ToolSession(ScopedStore(open_store(tmp_path / "store"), OPEN))
    for mode in ("dense", "hybrid"):
        arguments = {"query": "the otter swims", "mode": mode, "limit": 2}
        hits = session.call("search", arguments).data["hits"]
        assert [hit["id"] for hit in hits] == ["open/a.md#a", "open/b.md#b"]


def test_files_that_were_left_out_are_hidden_like_others(tmp_path: Path) -> None:
    files = {"a/x.png": b"", "b/y.png": b"", "a/bad.md": b"\0" * 99, "b/a.md": "# A\n\nText.\n"}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    whole = open_store(tmp_path / "store")
    database = ScopedStore(whole, Scope(("b/",))).snapshot().database
    assert [each.path for each in whole.snapshot().database.skipped()] == ["a/x.png", "b/y.png"]
    assert [each.path for each in database.skipped()] == ["b/y.png"]
    assert [each.path for each in database.documents()] == ["b/a.md"]


def test_a_scope_without_globs_is_the_store_itself(words: Side) -> None:
    assert ScopedStore(words.store, Scope()).snapshot() is words.store.snapshot()


# --- following the store -------------------------------------------------------------------------


OPEN = Scope(("open/",))
SMALL: Files = {
    "open/a.md": "# A\n\nAn otter swims.\n",
    "open/b.md": "# B\n\nA beaver builds.\n",
    "shut/c.md": "# C\n\nA secret lynx.\n",
}


def changed(folder: Path, files: Files, **settings: int) -> Store:
    """The store after `folder/docs` was made to hold these files and no others."""
    shutil.rmtree(folder / "docs", ignore_errors=True)
    root = write_corpus(folder / "docs", files)
    ingest(root, folder / "store", CutSettings(**settings))
    return open_store(folder / "store")


def found(store: Store | ScopedStore, query: str) -> str:
    return ToolSession(store).call("search", {"query": query}).text


def test_a_change_inside_is_seen_at_the_next_call(tmp_path: Path) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    assert "open/a.md#a" in found(scoped, "otter")
    changed(tmp_path, {**SMALL, "open/a.md": "# A\n\nA badger digs.\n"})
    assert "of 2." in found(scoped, "otter")
    assert "open/a.md#a" in found(scoped, "badger")
    changed(tmp_path, {"shut/c.md": SMALL["shut/c.md"]})
    assert "No section matches, of 0." in found(scoped, "badger")


def test_a_change_outside_costs_no_new_index_and_shows_nothing(tmp_path: Path) -> None:
    store = changed(tmp_path, SMALL)
    scoped = ScopedStore(store, OPEN)
    before = scoped.snapshot()
    write_corpus(tmp_path / "docs", {"shut/d.md": "# D\n\nA new lynx.\n"})
    ingest(tmp_path / "docs", tmp_path / "store")
    after = scoped.snapshot()
    assert (before.generation, after.generation) == (1, 2)
    assert after.index is before.index
    assert after.text is before.text
    assert "of 2." in found(scoped, "lynx")
    assert scoped.snapshot() is after


def test_a_file_that_moves_in_or_out_appears_and_goes(tmp_path: Path) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    assert "of 2." in found(scoped, "lynx")
    changed(tmp_path, {"open/c.md": SMALL["shut/c.md"], "shut/a.md": SMALL["open/a.md"]})
    assert "open/c.md#c" in found(scoped, "lynx")
    assert "of 1." in found(scoped, "otter")


def test_sections_that_were_cut_anew_are_indexed_anew(tmp_path: Path) -> None:
    text = "# A\n\n" + "An otter swims. " * 60 + "\n\n## B\n\n" + "A beaver builds. " * 60
    scoped = ScopedStore(changed(tmp_path, {"open/a.md": text}), OPEN)
    assert "open/a.md#b" in found(scoped, "beaver")
    changed(tmp_path, {"open/a.md": text}, heading_depth=1)
    assert "open/a.md#b" not in found(scoped, "beaver").split()
    assert "open/a.md#a" in found(scoped, "beaver")


def test_another_store_in_its_place_is_taken_up(tmp_path: Path) -> None:
    scoped = ScopedStore(changed(tmp_path / "one", SMALL), OPEN)
    assert "open/a.md#a" in found(scoped, "otter")
    before = scoped.snapshot()
    other = {path: str(text).replace("otter", "viper") for path, text in SMALL.items()}
    for files in (SMALL, other):
        changed(tmp_path / "two", files)
        shutil.rmtree(tmp_path / "one" / "store")
        shutil.move(tmp_path / "two" / "store", tmp_path / "one" / "store")
        assert scoped.snapshot().index is not before.index
    assert "open/a.md#a" in found(scoped, "viper")
    assert "of 2." in found(scoped, "otter")


def test_a_store_deleted_under_it_goes_on_answering(tmp_path: Path) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    scoped.snapshot()
    shutil.rmtree(tmp_path / "store")
    assert "open/a.md#a" in found(scoped, "otter")
    result = ToolSession(scoped).call("grep", {"pattern": "beaver"})
    assert "open/b.md#b" in result.text


def test_vectors_that_come_later_are_used(tmp_path: Path, tiny_embedder: Path) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    before = scoped.snapshot()
    keep_vectors(tmp_path / "store", model=str(tiny_embedder), cache=None)
    after = scoped.snapshot()
    assert after.index is before.index
    result = ToolSession(scoped).call("search", {"query": "lynx", "mode": "dense", "limit": 50})
    assert {hit["id"] for hit in result.data["hits"]} == {"open/a.md#a", "open/b.md#b"}
    assert not result.data["notes"]


def test_no_room_for_the_index_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        with pytest.raises(StoreError, match=r"no room for temporary files.*TMPDIR"):
            scoped.snapshot()
    assert "open/a.md#a" in found(scoped, "otter")


def test_many_that_ask_first_get_one_snapshot(tmp_path: Path) -> None:
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    with ThreadPoolExecutor(8) as pool:
        snapshots = list(pool.map(lambda _: scoped.snapshot(), range(32)))
    assert len(set(map(id, snapshots))) == 1


class Slow(Scope):
    """A scope that waits at a gate for each path, once it has one."""

    gate: Gate | None = None

    def allows(self, path: str) -> bool:
        if self.gate:
            self.gate()
        return super().allows(path)


def test_while_one_brings_it_up_to_date_others_are_answered(tmp_path: Path) -> None:
    scope = Slow(OPEN.globs)
    scoped = ScopedStore(changed(tmp_path, SMALL), scope)
    before = scoped.snapshot()
    changed(tmp_path, {**SMALL, "open/a.md": "# A\n\nA badger digs.\n"})
    gate = Gate()
    object.__setattr__(scope, "gate", gate)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(scoped.snapshot)
        assert gate.reached.wait(timeout=60)
        assert scoped.snapshot() is before
        gate.opened.set()
        assert first.result(timeout=60).generation == 2
    assert scoped.snapshot() is first.result()


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be unlinked there")
def test_nothing_is_left_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    scoped = ScopedStore(changed(tmp_path, SMALL), OPEN)
    assert "open/a.md#a" in found(scoped, "otter")
    assert list((tmp_path / "private").iterdir()) == []

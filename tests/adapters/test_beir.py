"""Judged collections: what is read, what is refused, and the store that is made of one."""

import json
import re
from pathlib import Path

import pytest

from contextpull.adapters.beir import Collection, load_collection, open_collection
from contextpull.adapters.push import Push
from contextpull.errors import EvaluationError, StoreConflict
from contextpull.store.database import FILE
from tests.judged import DOCUMENTS, QRELS, QUERIES, lines, write_collection


def faults_of(folder: Path) -> list[str]:
    """What is wrong with a collection, fault by fault, without the folder's name."""
    with pytest.raises(EvaluationError) as caught:
        load_collection(folder)
    return str(caught.value).replace(f"{folder}/", "").split("\n  ")


def bm25(collection: Collection, folder: Path) -> Push:
    return Push(open_collection(collection, folder), "lexical")


def test_collection_is_read_whole(tmp_path: Path) -> None:
    collection = load_collection(write_collection(tmp_path / "small"))
    assert (collection.name, collection.split) == ("small", "test")
    assert [tuple(each) for each in collection.documents] == [
        (each["_id"], each["title"], each["text"]) for each in DOCUMENTS
    ]
    assert [(each.id, each.text, each.gold) for each in collection.queries] == [
        ("q1", "boats in the harbour", ("d1", "d2")),
        ("q2", "what makes bread rise", ("d4",)),
    ]
    assert collection.judgements == {"q1": {"d1": 2, "d2": 1}, "q2": {"d4": 1, "d1": 0}}
    assert collection.notes == ("1 queries without a relevant document were left out.",)


def test_another_split_can_be_chosen(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "small")
    write_collection(folder, qrels="q2\td3\t1\n", split="test_closed")
    assert load_collection(folder, "test_closed").judgements == {"q2": {"d3": 1}}
    with pytest.raises(EvaluationError, match=r"no split 'dev'.*--split: test, test_closed"):
        load_collection(folder, "dev")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.removeprefix("query-id\tcorpus-id\tscore\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n").removesuffix("\r\n"),
        lambda text: "\n" + text + "\n\n",
        lambda text: text.replace("query-id\tcorpus-id\tscore", "query\tdocument\trelevance"),
    ],
    ids=["no header", "BOM", "CRLF", "BOM and CRLF", "blank lines", "other header"],
)
def test_qrels_may_be_written_in_several_ways(tmp_path: Path, change: object) -> None:
    plain = load_collection(write_collection(tmp_path / "plain"))
    other = write_collection(tmp_path / "other", qrels=change(QRELS))  # type: ignore[operator]
    assert load_collection(other).judgements == plain.judgements


def test_json_lines_may_have_a_mark_and_foreign_line_ends(tmp_path: Path) -> None:
    corpus = "\ufeff" + lines(DOCUMENTS).replace("\n", "\r\n")
    collection = load_collection(write_collection(tmp_path / "small", corpus=corpus))
    assert collection.documents == load_collection(write_collection(tmp_path / "o")).documents


def test_title_may_be_absent_and_other_fields_are_passed_over(tmp_path: Path) -> None:
    corpus = '{"_id": "d1", "text": "boats", "metadata": {"year": 1990}}\n'
    (document,) = load_collection(write_collection(tmp_path / "small", corpus=corpus)).documents
    assert document == ("d1", "", "boats")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at column "),
        ('["d5"]', 'not a JSON object but ["d5"]'),
        ('{"text": "x"}', "'_id' is missing"),
        ('{"id": "d5", "text": "x"}', "'_id' is missing; is \"id\" meant?"),
        ('{"_id": 5, "text": "x"}', "'_id' must be text, not 5"),
        ('{"_id": " ", "text": "x"}', "'_id' must not be blank"),
        ('{"_id": "d5"}', "'text' is missing"),
        ('{"_id": "d5", "title": null, "text": "x"}', "'title' must be text, not null"),
        ('{"_id": "d2", "text": "x"}', 'the id "d2" already stands in corpus.jsonl:2'),
        ('{"_id": "d5", "_id": "d6", "text": "x"}', 'the field "_id" stands there twice'),
    ],
)
def test_faulty_documents_are_named_with_their_line(tmp_path: Path, line: str, fault: str) -> None:
    folder = write_collection(tmp_path / "small", corpus=lines(DOCUMENTS) + line + "\n")
    head, *faults = faults_of(folder)
    assert head == "Cannot use corpus.jsonl: 1 fault. Correct and try again."
    assert len(faults) == 1
    assert faults[0].startswith(f"corpus.jsonl:5: {fault}")


def test_faulty_queries_are_named_with_their_line(tmp_path: Path) -> None:
    queries = lines([*QUERIES, {"_id": "q1", "text": "again"}, {"_id": "q4", "text": " "}])
    _, *faults = faults_of(write_collection(tmp_path / "small", queries=queries))
    assert faults == [
        'queries.jsonl:4: the id "q1" already stands in queries.jsonl:1',
        "queries.jsonl:5: 'text' must not be blank",
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q1 0 d1 1", "1 columns between tabs; expected 3: query id, document id, score"),
        ("q1\t0\td1\t1", "4 columns between tabs; expected 3: query id, document id, score"),
        ("q1\td3\t1.0", 'the score must be a whole number such as 1, not "1.0"'),
        ("q1\td3\trelevant", 'the score must be a whole number such as 1, not "relevant"'),
        ("q1\td3\t", 'the score must be a whole number such as 1, not ""'),
        ("q1\t\t1", "an id is blank; expected query id, document id and score"),
        (b"q1\td\xff\t1", "not UTF-8 at byte 5 of the line"),
        ("q1\td1\t1", 'the query "q1" and the document "d1" have the score 1, but 2 further up'),
    ],
)
def test_faulty_judgements_are_named_with_their_line(
    tmp_path: Path, line: str | bytes, fault: str
) -> None:
    data = line if isinstance(line, bytes) else line.encode()
    folder = write_collection(tmp_path / "small", qrels=QRELS.encode() + data + b"\n")
    head, found = faults_of(folder)
    assert head == "Cannot use qrels/test.tsv: 1 fault. Correct and try again."
    assert found.startswith(f"qrels/test.tsv:6: {fault}")


def test_first_line_with_a_wrong_score_is_no_header(tmp_path: Path) -> None:
    _, fault = faults_of(write_collection(tmp_path / "small", qrels="q1\td1\t0.5\nq1\td2\t1\n"))
    assert fault.startswith("qrels/test.tsv:1: the score must be a whole number")


def test_what_real_collections_have_is_counted_not_refused(tmp_path: Path) -> None:
    qrels = QRELS + "q1\td1\t2\nq1\tgone\t1\nq9\td1\t1\nq9\td2\t1\n"
    corpus = lines([*DOCUMENTS, {"_id": "d5", "text": " "}])
    collection = load_collection(write_collection(tmp_path / "small", corpus=corpus, qrels=qrels))
    assert collection.notes == (
        "1 queries without a relevant document were left out.",
        "2 judgements of unknown queries were left out.",
        "1 relevant documents are not in the collection; nothing can find them.",
        "1 judgements stand there more than once, with the same score.",
        "1 documents hold no text.",
    )
    assert collection.judgements["q1"] == {"d1": 2, "d2": 1, "gone": 1}


def test_collection_without_anything_relevant_is_refused(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "small", qrels="q1\td1\t0\nq7\td1\t1\n")
    with pytest.raises(EvaluationError, match=r"No query of .* has a relevant document"):
        load_collection(folder)


@pytest.mark.parametrize("present", ["corpus.jsonl", "qrels/test.tsv"])
def test_folder_that_is_no_collection_is_refused(tmp_path: Path, present: str) -> None:
    whole = write_collection(tmp_path / "whole")
    path = tmp_path / "part" / present
    path.parent.mkdir(parents=True)
    path.write_bytes((whole / present).read_bytes())
    with pytest.raises(EvaluationError, match=r"is no judged collection|There is no file .*corpus"):
        load_collection(tmp_path / "part")


def test_first_queries_only_is_said(tmp_path: Path) -> None:
    collection = load_collection(write_collection(tmp_path / "small"))
    assert [query.id for query in collection.first(1).queries] == ["q1"]
    assert collection.first(1).notes[-1] == "Only the first 1 of 2 queries were asked."
    assert collection.first(2) is collection


def test_document_is_one_section_under_its_title(tmp_path: Path) -> None:
    long = "# No heading\n\n" + "One sentence after the other. " * 400
    corpus = lines([{"_id": "d1", "title": "Two\n lines", "text": long}, *DOCUMENTS[2:3]])
    collection = load_collection(write_collection(tmp_path / "small", corpus=corpus))
    snapshot, ids = open_collection(collection, tmp_path / "store")
    first, second = snapshot.database.sections([1, 2])
    assert ids == {1: "d1", 2: "d3"}
    assert (first.id, first.headings) == ("d1#two-lines", ("Two lines",))
    assert first.text == f"Two\n lines\n\n{long}"
    assert (second.id, second.headings) == ("d3#top", ())
    assert second.text == DOCUMENTS[2]["text"]
    assert snapshot.documents["d1"].title == "Two lines"


def test_ids_may_hold_any_characters(tmp_path: Path) -> None:
    names = ["a b", "a#b", "../up", "x\ty\n", "x\ry\n", "\x1b[2J", "x\ufffdy\ufffd", "ß", "d~2"]
    corpus = lines({"_id": name, "text": f"word{at}"} for at, name in enumerate(names))
    queries = lines([{"_id": "q", "text": "word1"}])
    folder = write_collection(tmp_path / "odd", corpus=corpus, queries=queries, qrels="q\ta#b\t1\n")
    collection = load_collection(folder)
    searched = open_collection(collection, tmp_path / "store")
    assert list(searched.ids.values()) == names
    retriever = Push(searched, "lexical")
    for at, name in enumerate(names):
        assert retriever.retrieve(f"word{at}", 1) == [name]
    paths = searched.snapshot.documents
    assert len(paths) == len(names)
    assert all(path.isprintable() for path in paths)


def test_equal_documents_rank_by_id(tmp_path: Path) -> None:
    corpus = lines({"_id": name, "text": "the same words"} for name in ("c", "a", "b"))
    folder = write_collection(tmp_path / "equal", corpus=corpus, qrels="q1\ta\t1\n")
    retriever = bm25(load_collection(folder), tmp_path / "store")
    assert retriever.retrieve("same words", 3) == ["a", "b", "c"]


def test_query_that_is_a_document_does_not_find_itself(tmp_path: Path) -> None:
    queries = lines([{"_id": "d2", "text": "A  lighthouse warns boats of the rocks."}, *QUERIES])
    folder = write_collection(tmp_path / "small", queries=queries, qrels=QRELS + "d2\td1\t1\n")
    collection = load_collection(folder)
    retriever = bm25(collection, tmp_path / "store")
    own = collection.queries[0].text
    assert retriever.retrieve(own, 1) == ["d2"]
    assert collection.ask(retriever).retrieve(own, 1) == ["d1"]
    assert collection.ask(retriever).retrieve("lighthouse", 1) == ["d2"]
    assert "1 queries are documents themselves" in " ".join(collection.notes)


@pytest.mark.parametrize(
    ("text", "judged"),
    [("boats in the harbour", "d1"), ("A lighthouse warns boats of the rocks.", "d2")],
    ids=["ids that merely coincide", "judged relevant"],
)
def test_document_with_the_id_of_a_query_may_stay(tmp_path: Path, text: str, judged: str) -> None:
    queries = lines([{"_id": "d2", "text": text}])
    folder = write_collection(tmp_path / "small", queries=queries, qrels=f"d2\t{judged}\t1\n")
    collection = load_collection(folder)
    retriever = bm25(collection, tmp_path / "store")
    assert collection.own == {}
    assert collection.ask(retriever) is retriever


def test_store_is_used_again_for_the_same_documents(tmp_path: Path) -> None:
    collection = load_collection(write_collection(tmp_path / "small"))
    first = open_collection(collection, tmp_path / "store")
    made = (tmp_path / "store" / FILE).stat().st_mtime_ns
    moved = load_collection(write_collection(tmp_path / "elsewhere", qrels="q2\td3\t1\n"))
    again = open_collection(moved, tmp_path / "store")
    assert (tmp_path / "store" / FILE).stat().st_mtime_ns == made
    assert again.ids == first.ids
    found = [Push(searched, "lexical").retrieve("bread", 4) for searched in (first, again)]
    assert found[0] == found[1] != []


def test_store_of_other_documents_is_refused(tmp_path: Path) -> None:
    open_collection(load_collection(write_collection(tmp_path / "small")), tmp_path / "store")
    for changed in (DOCUMENTS[::-1], DOCUMENTS[:3], [*DOCUMENTS[:3], {**DOCUMENTS[3], "text": ""}]):
        other = load_collection(write_collection(tmp_path / "other", corpus=lines(changed)))
        with pytest.raises(StoreConflict, match="other documents than those of other"):
            open_collection(other, tmp_path / "store")


def test_damaged_store_is_refused_with_the_way_out(tmp_path: Path) -> None:
    collection = load_collection(write_collection(tmp_path / "small"))
    open_collection(collection, tmp_path / "store")
    (tmp_path / "store" / FILE).write_bytes(b"no database" * 99)
    with pytest.raises(StoreConflict, match=r"damaged.*delete that folder"):
        open_collection(collection, tmp_path / "store")


def test_fingerprint_tells_where_one_field_ends(tmp_path: Path) -> None:
    prints = set()
    for at, (title, text) in enumerate([("ab", "c"), ("a", "bc"), ("", "abc")]):
        corpus = json.dumps({"_id": "d1", "title": title, "text": text})
        folder = write_collection(tmp_path / f"c{at}", corpus=corpus)
        prints.add(load_collection(folder).fingerprint)
    assert len(prints) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in prints)

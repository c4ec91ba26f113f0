"""What a report over golden questions says, grain by grain and setting by setting."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.adapters.push import Push, over_store
from contextpull.errors import EvaluationError, InvalidInput, ModelUnavailable, StoreError
from contextpull.eval.golden.grains import Grain, asked_of
from contextpull.eval.golden.reporting import GoldenReport, golden_report, report_record
from contextpull.eval.golden.settings import parse_settings
from contextpull.eval.measures import ndcg_at, recall_at, reciprocal_rank_at
from contextpull.retrieval.models import Models
from contextpull.store.opening import Snapshot
from tests.documents.pdf_files import lines as printed
from tests.documents.pdf_files import pdf
from tests.eval.golden.stores import HARBOUR, asks, long_document, paged_store, store_of


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return store_of(tmp_path_factory.mktemp("harbour"))


def report(snapshot: Snapshot, *questions: Any, settings: str = "lexical", **more: Any) -> Any:
    more = {"k": (1, 3), "rounds": 100, **more}
    return golden_report(snapshot, questions, parse_settings(settings), **more)


def means(of: GoldenReport, setting: int = 0) -> dict[str, float]:
    measures = of.rows[setting].row.overall.measures
    return {name: interval.mean for name, interval in measures.items()}


def test_recall_and_hit_rate_differ_where_one_of_three_is_found(harbour: Snapshot) -> None:
    question = asks("who lights the lamp", "lamp.md", "boats.md", "bread.md")
    found = means(report(harbour, question, k=(1,)))
    assert found["recall@1"] == pytest.approx(1 / 3)
    assert found["hit_rate@1"] == 1
    assert found["mrr@1"] == 1


def test_figures_are_those_of_the_measures_over_the_same_ranking(harbour: Snapshot) -> None:
    gold = ("lamp.md#oil", "boats.md#boats")
    query = "oil at night near the harbour"
    ranking = Push(over_store(harbour.database.path.parent), "lexical").retrieve(query, 3)
    found = means(report(harbour, asks(query, *gold), by="section", k=(1, 2, 3)))
    for k in (1, 2, 3):
        assert found[f"recall@{k}"] == recall_at(ranking, gold, k)
    assert found["mrr@3"] == reciprocal_rank_at(ranking, gold, 3)
    assert found["ndcg@3"] == ndcg_at(ranking, gold, 3)


@given(st.lists(st.sampled_from(sorted(HARBOUR)), min_size=1, max_size=5))
def test_recall_is_never_above_the_hit_rate_and_grows_with_k(
    harbour: Snapshot, expected: list[str]
) -> None:
    found = means(report(harbour, asks("oil in the harbour at night", *expected)))
    assert 0 <= found["recall@1"] <= found["recall@3"] <= found["hit_rate@3"] <= 1
    assert found["recall@1"] <= found["hit_rate@1"]
    assert 0 <= found["ndcg@3"] <= 1


@pytest.mark.parametrize("setting", ["lexical", "dense", "hybrid"])
def test_a_document_of_many_sections_hides_no_other(
    tmp_path: Path, tiny_embedder: Path, setting: str
) -> None:
    sentence = "The harbour light burns oil all night"
    files = {
        "long.md": long_document(300, sentence),
        "short.md": f"# Short\n\n{sentence}, says this one as well, and then some more.\n",
    }
    snapshot = store_of(tmp_path, files, tiny_embedder)
    question = asks("harbour light burns oil all night", "short.md")
    found = report(snapshot, question, settings=setting, k=(2,))
    assert means(found)["recall@2"] == 1


def test_equal_documents_rank_by_path_however_many_there_are(tmp_path: Path) -> None:
    files = {f"{number:03}.md": "# Same\n\nThe same words.\n" for number in range(200)}
    snapshot = store_of(tmp_path, files)
    first, last = asks("same words", "000.md", named="a"), asks("same words", "199.md", named="b")
    found = report(snapshot, first, last, k=(1, 200))
    assert [outcome.scores["mrr@200"] for outcome in found.rows[0].row.outcomes] == [1, 1 / 200]


def test_a_section_is_found_by_its_own_id_and_by_that_of_a_merged_heading(tmp_path: Path) -> None:
    files = {"a.md": "# Outer\n\n## Inner\n\nWhere the oil is kept, in the cellar of the tower.\n"}
    snapshot = store_of(tmp_path, files)
    (number,) = snapshot.documents["a.md"].section_numbers
    (section,) = snapshot.database.sections([number])
    questions = [
        asks("where is oil kept", f"a.md#{each}", named=each) for each in ("outer", "inner")
    ]
    assert section.slug in ("outer", "inner")
    assert means(report(snapshot, *questions, by="section"))["recall@1"] == 1


def test_coarser_labels_are_counted_and_left_out(harbour: Snapshot) -> None:
    fine, coarse = asks("who lights the lamp", "lamp.md#lamp"), asks("what rises", "bread.md")
    found = report(harbour, fine, coarse, asks("unlabelled"), by="section")
    record = report_record(found)
    assert record["scored"] == 1
    assert record["too_coarse"] == ["what rises"]
    assert record["unlabelled"] == ["unlabelled"]


def test_no_label_at_all_is_an_error_that_says_so(harbour: Snapshot) -> None:
    with pytest.raises(EvaluationError, match="None of the 1 questions is labelled"):
        report(harbour, asks("what rises"))


def test_labels_of_another_grain_are_an_error_that_names_theirs(harbour: Snapshot) -> None:
    with pytest.raises(EvaluationError, match="Their labels name documents"):
        report(harbour, asks("what rises", "bread.md"), by="section")


@pytest.mark.parametrize(
    "expected", ["breed.md", "bread.md#rye", " ", "bread.md#page=0", "bread.md#page=1\n", "bread"]
)
def test_what_the_store_does_not_hold_is_an_error(harbour: Snapshot, expected: str) -> None:
    good = asks("who lights the lamp", "lamp.md")
    with pytest.raises(EvaluationError, match="does not hold") as error:
        report(harbour, good, asks("what rises", expected, named="bad"))
    assert f"{expected!r} (question bad)" in str(error.value)


def test_a_text_in_place_of_a_list_is_an_error_not_letters(harbour: Snapshot) -> None:
    question = asks("what rises")
    for wrong in ("expected", "evidence"):
        fields = {"id": "q", "question": "what rises", "expected": ("bread.md",), wrong: "bread.md"}
        with pytest.raises(InvalidInput, match=f"`{wrong}` is the text 'bread.md'"):
            report(harbour, type(question)(**fields))


def test_two_questions_of_one_id_are_an_error(harbour: Snapshot) -> None:
    with pytest.raises(EvaluationError, match="Two questions have the id 'q1'"):
        report(harbour, asks("oil", "lamp.md", named="q1"), asks("yeast", "bread.md", named="q1"))


@pytest.mark.parametrize("k", [(), (0,), (-1,), ("10",), "10", (2.9,), (True,), (1_001,), 3, None])
def test_a_cutoff_that_is_none_is_an_error(harbour: Snapshot, k: Any) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        report(harbour, asks("oil", "lamp.md"), k=k)


def test_cutoffs_come_in_order_and_once(harbour: Snapshot) -> None:
    assert report(harbour, asks("oil", "lamp.md"), k=(3, 1, 3)).cutoffs == (1, 3)


def test_evidence_counts_only_where_the_passage_holds_it(harbour: Snapshot) -> None:
    question = asks("keeper lights the lamp", "lamp.md", evidence=("eleven litres of oil",))
    assert means(report(harbour, question, k=(1,), by="doc"))["recall@1"] == 1
    found = means(report(harbour, question, k=(1, 2), by="evidence"))
    assert (found["recall@1"], found["recall@2"]) == (0, 1)


def test_each_quote_is_to_be_found_and_elsewhere_does_not_count(tmp_path: Path) -> None:
    quote = "oil is kept in the cellar"
    files = {
        "a.md": f"# Cellar\n\nThe {quote} of the tower.\n\n"
        "# Roof\n\nThe roof is made of lead, and nobody goes there.\n",
        "copy.md": f"# Copy\n\nThe {quote}, the oil, the oil.\n",
    }
    question = asks("oil cellar", "a.md", evidence=(quote, "made of lead"))
    found = report(store_of(tmp_path, files), question, by="evidence", k=(2,))
    assert means(found)["recall@2"] == 0.5
    only_copy = asks("oil copy", "copy.md", evidence=("made of lead",))
    assert means(report(store_of(tmp_path, files), only_copy, by="evidence"))["hit_rate@3"] == 0


def test_a_quote_cut_at_the_border_of_two_sections_is_found_in_either(tmp_path: Path) -> None:
    first = "Where the keeper lives, the oil for the lamp is carried up in buckets"
    second = "by two strong men every morning before the first boat leaves the harbour"
    snapshot = store_of(tmp_path, {"a.md": f"# Oil\n\n{first}\n\n# Men\n\n{second}\n"})
    lower = "the oil for the lamp is carried up in buckets men by two strong men"
    found = report(snapshot, asks("buckets of oil", "a.md", evidence=(lower,)), by="evidence")
    assert means(found)["recall@1"] == 1
    middle = "where the keeper sleeps the oil for the lamp is carried up in barrels"
    found = report(snapshot, asks("buckets of oil", "a.md", evidence=(middle,)), by="evidence")
    assert means(found)["hit_rate@3"] == 0


def test_without_evidence_what_is_expected_counts_and_a_note_says_so(harbour: Snapshot) -> None:
    bare = asks("litres of oil in the lamp", "lamp.md#lamp", named="bare")
    quoted = asks("what slows bread", "bread.md", evidence=("salt slows that down",))
    found = report(harbour, bare, quoted, by="evidence", k=(1, 2))
    assert "1 of 2 questions have no evidence" in found.asked.notes[0]
    assert found.rows[0].row.outcomes[0].scores["recall@1"] == 0
    assert found.rows[0].row.outcomes[0].scores["recall@2"] == 1


@pytest.fixture
def paged(tmp_path: Path) -> Snapshot:
    """A document whose n-th section covers the pages 2n - 1 and 2n; bread has none."""
    words = ("anchor", "bollard", "capstan")
    told = [
        f"# Part {at}\n\nAll about the {word}, which every ship needs in a harbour.\n\n"
        for at, word in enumerate(words)
    ]
    sections = [(text, range(2 * at + 1, 2 * at + 3)) for at, text in enumerate(told)]
    bread = [(HARBOUR["bread.md"], None)]
    return paged_store(tmp_path / "store", {"report.md": sections, "bread.md": bread})


def test_a_page_is_found_where_a_section_covers_it(paged: Snapshot) -> None:
    page = asks("about the bollard", "report.md#page=4")
    found = report(paged, page, by="page")
    assert means(found)["recall@1"] == 1
    assert found.rows[0].row.outcomes[0].ranking[0] == "report.md#page=3-4"
    missed = report(paged, asks("about the bollard", "report.md#page=5"), by="page")
    assert means(missed)["hit_rate@1"] == 0


def test_pages_of_a_pdf_are_those_that_the_store_keeps(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    words = ("anchor", "", "capstan")
    pages = [
        printed(*[f"All about the {word} {n}." for n in range(5 * bool(word))]) for word in words
    ]
    snapshot = store_of(tmp_path, {"ship.pdf": pdf(*pages)})
    for number, recall in (("1", 0), ("3", 1)):
        asked = asks("about the capstan", f"ship.pdf#page={number}")
        assert means(report(snapshot, asked, by="page", k=(1,)))["recall@1"] == recall
    for number in ("2", "4"):
        with pytest.raises(EvaluationError, match=f"does not hold 'ship.pdf#page={number}'"):
            report(snapshot, asks("about", f"ship.pdf#page={number}"), by="page")


def test_two_pages_of_one_section_are_found_at_once(paged: Snapshot) -> None:
    pages = asks("about the bollard", "report.md#page=3", "report.md#page=4")
    found = means(report(paged, pages, by="page"))
    assert (found["recall@1"], found["ndcg@3"]) == (1, 1)


@pytest.mark.parametrize("by", ["doc", "section", "page", "evidence"])
def test_a_page_that_a_document_does_not_have_is_an_error(paged: Snapshot, by: Grain) -> None:
    with pytest.raises(EvaluationError, match=r"does not hold 'report\.md#page=7'"):
        report(paged, asks("bollard", "report.md#page=7"), by=by)


def test_a_page_of_a_document_without_pages_counts_as_the_document_and_is_noted(
    harbour: Snapshot,
) -> None:
    found = report(harbour, asks("what makes bread rise", "bread.md#page=99"))
    assert means(found)["recall@1"] == 1
    assert "1 of 1 questions name pages of documents whose pages" in found.asked.notes[0]
    with pytest.raises(EvaluationError, match=r"page 99 of 'bread\.md'"):
        report(harbour, asks("what makes bread rise", "bread.md#page=99"), by="page")


def test_evidence_on_another_page_does_not_count(paged: Snapshot) -> None:
    quote = ("All about the bollard",)
    right = asks("bollard", "report.md#page=3", evidence=quote)
    wrong = asks("bollard", "report.md#page=1", evidence=quote)
    assert means(report(paged, right, by="evidence"))["hit_rate@3"] == 1
    assert means(report(paged, wrong, by="evidence"))["hit_rate@3"] == 0


def test_misses_say_what_came_instead(harbour: Snapshot) -> None:
    found = report(harbour, asks("who lights the lamp", "bread.md", named="q1"), k=(1,))
    (missed,) = found.rows[0].misses
    assert (missed.id, missed.expected, missed.got) == ("q1", ("bread.md",), ("lamp.md#lamp",))


def test_drafts_are_noted(harbour: Snapshot) -> None:
    found = report(harbour, asks("who lights the lamp", "lamp.md", draft=True))
    assert found.asked.notes == ("1 of 1 questions are drafts that nobody has checked.",)


class NoVectorFor(Models):
    """Cannot embed one question."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def query_vector(self, made_of: Any, query: str, work: Any = None) -> Any:
        if query == self._question:
            raise ModelUnavailable("no vector today")
        return super().query_vector(made_of, query, work)


def test_a_search_that_fails_is_a_miss_and_its_setting_is_not_picked(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    snapshot = store_of(tmp_path, embedder=tiny_embedder)
    questions = [asks("who lights the lamp", "lamp.md"), asks("what slows bread", "bread.md")]
    models = NoVectorFor("what slows bread")
    found = report(snapshot, *questions, settings="dense,lexical", models=models)
    assert means(found, 0)["recall@3"] == 0.5
    (failure,) = found.rows[0].row.failures
    assert "no vector today" in (failure.error or "")
    assert found.rows[0].misses == ()
    assert {pick.setting for pick in found.choice.picks} == {"lexical"}


def test_a_setting_without_vectors_is_an_error_before_the_first_question(
    harbour: Snapshot,
) -> None:
    with pytest.raises(StoreError, match="keeps no vectors"):
        report(harbour, asks("oil", "lamp.md"), settings="lexical,dense")


def test_several_settings_are_asked_the_same_and_every_pair_is_compared(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    snapshot = store_of(tmp_path, embedder=tiny_embedder)
    questions = [asks("who lights the lamp", "lamp.md"), asks("what slows bread", "bread.md")]
    found = report(snapshot, *questions, settings="lexical,dense,hybrid,hybrid:ranks:2")
    record = report_record(found)
    assert [each["setting"] for each in record["settings"]] == [
        "lexical", "dense", "hybrid", "hybrid:ranks:2",
    ]  # fmt: skip
    assert len(record["comparisons"]) == 6
    assert list(record["picks"]) == ["finds the most", "best for balance", "best for time"]
    assert all("recall@3" in rule for rule in record["rules"])
    assert all(each["median_ms"] <= each["p95_ms"] for each in record["settings"])
    assert all(each["could_be_luck"] for each in record["comparisons"])  # two questions show little


def test_rerank_ranks_by_the_cross_encoder(
    tmp_path: Path, tiny_embedder: Path, tiny_reranker: Path
) -> None:
    snapshot = store_of(tmp_path, embedder=tiny_embedder)
    models = Models(reranker=str(tiny_reranker))
    found = report(snapshot, asks("oil", "lamp.md"), settings="rerank", models=models)
    assert means(found)["recall@3"] == 1


def test_the_same_report_twice_but_for_its_times(harbour: Snapshot) -> None:
    def figures() -> Any:
        record = report_record(report(harbour, asks("oil", "lamp.md"), asks("dark", "lamp.md")))
        return [(each["measures"], each["misses"]) for each in record["settings"]]

    assert figures() == figures()


def test_shapes_have_figures_of_their_own(harbour: Snapshot) -> None:
    questions = (
        asks("who lights the lamp", "lamp.md", shape="table"),
        asks("who lights a lamp", "bread.md", shape="conceptual"),
    )
    (setting,) = report_record(report(harbour, *questions, k=(1,)))["settings"]
    hits = {shape: each["measures"]["hit_rate@1"] for shape, each in setting["shapes"].items()}
    assert (hits["table"]["mean"], hits["conceptual"]["mean"]) == (1, 0)
    assert 0 < hits["table"]["low"] < 1  # Wilson's; a bootstrap of one value has no width


def test_a_path_with_a_hash_is_a_document(tmp_path: Path) -> None:
    snapshot = store_of(tmp_path, {"c#.md": "# Sharp\n\nA language with a sharp name.\n"})
    asked = asked_of(snapshot, [asks("sharp", "c#.md"), asks("name", "c#.md#sharp")], "doc")
    assert [each.document for each in asked.wanted] == ["c#.md", "c#.md"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("bm25", "'bm25' is no setting. Choose from: lexical, dense, hybrid, rerank."),
        ("", "'' is no setting"),
        ("lexical:0.5", "lexical takes no options"),
        ("hybrid:2", "a number from 0 to 1"),
        ("hybrid:nan", "'nan' is no option"),
        ("hybrid:ranks:-1", "a number from 0."),
        ("hybrid:0.5:0.6", "an option twice"),
        ("rerank:ranks:ranks", "an option twice"),
        ("hybrid,hybrid", "named more than once"),
        ("hybrid:0.5,hybrid:.5", "named more than once"),
    ],
)
def test_a_setting_that_is_none_is_an_error(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(complaint)):
        parse_settings(text)

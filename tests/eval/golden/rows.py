"""Golden questions of any kind, for property tests."""

from unicodedata import normalize

from hypothesis import strategies as st

from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.reading import same_question

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: normalize("NFC", text))
LABELS = (
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
    .map(lambda text: normalize("NFC", text))
    .filter(lambda text: "#page=" not in text)
)
FILLED = TEXTS.filter(str.strip)
ENTRIES = st.sampled_from(["a.md", "a.md#top", "b c.md#x~2", "r.pdf#page=41", "ü/ß.md"]) | LABELS


def _lists(texts: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(texts, max_size=3, unique=True).map(tuple)


_ANY = st.builds(
    GoldenQuestion,
    id=LABELS,
    question=FILLED,
    expected=_lists(ENTRIES),
    reference=TEXTS,
    evidence=_lists(FILLED),
    hint=TEXTS,
    draft=st.booleans(),
    shape=st.just("") | LABELS,
)
_TEMPLATES = st.builds(
    GoldenQuestion, id=LABELS, question=st.just(""), expected=_lists(ENTRIES), hint=FILLED
)


def _has_no_twins(questions: list[GoldenQuestion]) -> bool:
    asked = [same_question(each.question) for each in questions if each.question.strip()]
    return len(set(asked)) == len(asked)


QUESTIONS = st.lists(
    _ANY | _TEMPLATES, min_size=1, max_size=4, unique_by=lambda each: each.id
).filter(_has_no_twins)

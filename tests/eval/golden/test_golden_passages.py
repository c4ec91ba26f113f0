"""What is asked about: chosen by seed, with a share for each document, and scraps passed over."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.adapters.push import over_store
from contextpull.errors import InvalidInput
from contextpull.eval.generation.corpus import Corpus, SourceSection, corpus_of
from contextpull.eval.golden.writing.neighbours import neighbour_finder
from contextpull.eval.golden.writing.passages import (
    choose_passages,
    reason_to_pass_over,
    shares_of_documents,
)
from contextpull.eval.golden.writing.plan import KINDS, MIX, WritingPlan, shared_out
from contextpull.eval.golden.writing.verbatim import verbatim
from contextpull.eval.untrusted import INVISIBLE, inert, mark_for
from tests.eval.golden.stores import store_of
from tests.eval.golden.writers import topic_text, topics
from tests.properties import same_every_time

PROSE = (
    "The keeper of the lamp fills it with oil at dusk, trims the wick with a pair of brass"
    " scissors, winds the clock that turns the lens and then writes the hour into a book."
)
SIZES = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.integers(1, 30), min_size=1, max_size=12
)
SHARES = st.fixed_dictionaries(
    {kind: st.just(0.0) | st.floats(1e-300, 1e300) for kind in KINDS}
).filter(lambda mix: any(mix.values()))


def section(text: str, heading: str = "Lamp", document: str = "a.md") -> SourceSection:
    return SourceSection(f"{document}#{heading}", document, (heading,), text)


def corpus_of_sizes(sizes: Mapping[str, int]) -> Corpus:
    return Corpus(
        [
            SourceSection(
                f"{path}.md#{at}", f"{path}.md", (path, f"Part {at % 3}"), f"{PROSE} {path} {at}."
            )
            for path, size in sizes.items()
            for at in range(size)
        ]
    )


@same_every_time(150)
@given(count=st.integers(1, 60), sizes=SIZES, seed=st.integers(0, 9))
def test_every_document_gets_its_share(count: int, sizes: dict[str, int], seed: int) -> None:
    shares = shares_of_documents(sizes, count, seed)
    assert sum(shares.values()) == min(count, sum(sizes.values()))
    assert all(0 <= shares[path] <= size for path, size in sizes.items())
    if count >= len(sizes):
        assert min(shares.values()) >= 1
        even = count // (2 * len(sizes))
        assert all(share >= min(even, sizes[path]) for path, share in shares.items())
    else:
        assert max(shares.values()) == 1
    assert shares == shares_of_documents(dict(reversed(sizes.items())), count, seed)


@same_every_time(80)
@given(count=st.integers(1, 40), sizes=SIZES, seed=st.integers(0, 9))
def test_a_choice_repeats_and_takes_each_passage_once(
    count: int, sizes: dict[str, int], seed: int
) -> None:
    corpus = corpus_of_sizes(sizes)
    choice = choose_passages(corpus, count, seed)
    assert choice == choose_passages(corpus, count, seed)
    assert len(choice.chosen) == min(count, len(corpus.sections))
    assert Counter(each.id for each in choice.all) == Counter(each.id for each in corpus.sections)
    again = Corpus(list(reversed(corpus.sections)))
    assert set(choose_passages(again, count, seed).chosen) == set(choice.chosen)


def test_a_long_document_is_asked_about_all_the_way_through() -> None:
    sections = [
        SourceSection(f"a.md#{at}", "a.md", ("Report", f"Chapter {at // 20}"), f"{PROSE} {at}.")
        for at in range(100)
    ]
    chosen = choose_passages(Corpus(sections), 10, seed=1).chosen
    assert set(Counter(each.headings for each in chosen).values()) == {2}


def test_another_seed_makes_another_choice() -> None:
    corpus = corpus_of_sizes({"a": 30, "b": 30})
    assert choose_passages(corpus, 8, 1).chosen != choose_passages(corpus, 8, 2).chosen


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"# Lamp\n\n{PROSE}\n", ""),
        ("# 灯\n\n" + "灯塔的看守人在黄昏时分给灯加油,用黄铜剪刀修剪灯芯,然后给钟上发条。" * 2, ""),
        ("| Model | Use |\n| --- | --- |\n" + "| Lamp of brass | on ships and in huts |\n" * 6, ""),
        (f"{PROSE}\n\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n", ""),
        ("# Lamp\n\nSee below.\n", "a scrap"),
        ("```\n" + "print('one two three four five')\n" * 20 + "```\n", "a scrap"),
        ("![" + "a picture of the lamp " * 20 + "](lamp.png)\n", "a scrap"),
        (
            "- [Oil](oil.md)\n- [Wick](wick.md)\n- [Lens](lens.md)\n- [Clock](clock.md)\n",
            "contents",
        ),
        ("".join(f"Chapter about lamps {at} ........ {at}\n" for at in range(8)), "contents"),
        (
            "| Year | Oil | Wick |\n|---|---|---|\n"
            + "".join(f"| 20{at} | 1,2{at}.50 | {at}% |\n" for at in range(10, 30)),
            "bare numbers",
        ),
        ("%$&§ ## ()=? '*' ~~ |<> a b c " * 12, "hardly be read"),
        (f"{PROSE} \ufffd\ufffd", "hardly be read"),
    ],
)
def test_what_says_nothing_is_passed_over_with_its_reason(text: str, reason: str) -> None:
    found = reason_to_pass_over(section(text))
    assert reason in found
    assert bool(found) == bool(reason)


def test_texts_that_stand_twice_and_front_matter_are_passed_over() -> None:
    twice = [section(PROSE, document="a.md"), section(PROSE, document="b.md")]
    matter = section(PROSE, "Matter")._replace(is_metadata=True)
    choice = choose_passages(Corpus([*twice, matter]), 3, 0)
    assert choice.chosen == ()
    assert choice.passed_over == {
        "front matter": 1,
        "its text stands in another section, too": 2,
    }


@same_every_time(200)
@given(count=st.integers(1, 500), mix=SHARES)
def test_kinds_share_out_all_questions_in_proportion(count: int, mix: dict[str, float]) -> None:
    plan = WritingPlan(count, mix)
    assert sum(plan.counts.values()) == len(plan.kinds) == count
    whole = math.fsum(share / max(mix.values()) for share in mix.values())
    for kind, share in mix.items():
        fair = count * (share / max(mix.values())) / whole
        assert fair - 1 - 1e-6 <= plan.counts[kind] <= fair + 1 + 1e-6
        assert share or not plan.counts[kind]


@same_every_time(200)
@given(
    count=st.integers(0, 50),
    named=st.dictionaries(
        st.text("abc", min_size=1, max_size=3), st.tuples(st.floats(0, 5), st.integers(0, 9))
    ),
)
def test_nothing_is_given_more_than_it_can_hold(
    count: int, named: dict[str, tuple[float, int]]
) -> None:
    shares = {name: share for name, (share, _) in named.items()}
    room = {name: most for name, (_, most) in named.items()}
    given_out = shared_out(count, shares, room)
    can_hold = sum(room[name] for name, share in shares.items() if share > 0)
    assert sum(given_out.values()) == min(count, can_hold)
    assert all(0 <= given_out[name] <= room[name] for name in named)


def test_the_usual_mix_is_what_the_documents_say() -> None:
    assert WritingPlan(20).counts == {"search": 4, "fact": 6, "why": 4, "two_places": 3, "long": 3}
    assert math.isclose(sum(MIX.values()), 1)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"mix": {"fact": math.nan}}, "0 or more, not nan"),
        ({"mix": {"fact": -0.1, "why": 1}}, "0 or more, not -0.1"),
        ({"mix": {"fact": math.inf}}, "0 or more, not inf"),
        ({"mix": {"fact": "much"}}, "must be a number"),
        ({"mix": {"fact": True}}, "must be a number"),
        ({"mix": {"facts": 1}}, "'facts' is no kind"),
        ({"mix": {"fact": 0}}, "asks for nothing"),
        ({"mix": {}}, "asks for nothing"),
        ({"count": 0}, "1 or more"),
        ({"tries": 0}, "1 or more"),
        ({"evolve": 2}, "once or not at all"),
        ({"threshold": math.nan}, "threshold must be"),
        ({"similarity": 1.5}, "similarity must be"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        WritingPlan(**fields)  # type: ignore[arg-type]


# Neighbours


def harbours() -> dict[str, str]:
    """Two documents that share rare terms, and others that do not."""
    rare = "The breakwater shelters schooners from the equinoctial swell beside the semaphore."
    return {
        "north.md": f"# North\n\n{rare} Herring is landed there by night, as nobody would guess.\n",
        "south.md": f"# South\n\n{rare} Salt is loaded there by day, as everybody might expect.\n",
        **topics(6),
    }


def test_without_vectors_places_are_alike_by_rare_terms(tmp_path: Path) -> None:
    store_of(tmp_path, harbours())
    searched = over_store(tmp_path / "store")
    sections = corpus_of(searched).sections
    find, by = neighbour_finder(searched, sections, 0.3)
    assert by == "rare terms"
    by_id = {each.id: each for each in sections}
    other = find(by_id["north.md#north"])
    assert other is not None
    assert other.id == "south.md#south"
    assert neighbour_finder(searched, sections, 1.0)[0](by_id["harbour.md#the-harbour"]) is None


def test_with_vectors_places_are_alike_by_their_cosine(tmp_path: Path, tiny_embedder: Path) -> None:
    pytest.importorskip("faiss")
    store_of(tmp_path, harbours(), tiny_embedder)
    searched = over_store(tmp_path / "store")
    sections = corpus_of(searched).sections
    find, by = neighbour_finder(searched, sections, 0.0)
    assert by == "vectors"
    numbers = {section_id: number for number, section_id in searched.ids.items()}
    dense = searched.snapshot.dense
    for each in sections:
        other = find(each)
        assert other is not None
        vector = dense.vector(numbers[each.id])
        assert vector @ vector == pytest.approx(1)
        cosines = [near for near in dense.search(vector, 9) if near.number != numbers[each.id]]
        assert numbers[other.id] == next(n.number for n in cosines if n.cosine < 0.98)


def test_parts_of_one_section_are_not_two_places(tmp_path: Path) -> None:
    long = "\n\n".join(topic_text("harbour", at).split("\n\n")[1] for at in range(30))
    store_of(tmp_path, {"a.md": f"# Harbour\n\n{long}\n"})
    searched = over_store(tmp_path / "store")
    sections = corpus_of(searched).sections
    assert len(sections) > 1
    find, _ = neighbour_finder(searched, sections, 0.0)
    assert [find(each) for each in sections] == [None] * len(sections)


# Quotes, and texts that want to be more than data


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("fills it with oil", PROSE, "fills it with oil"),
        ("  fills  it\nwith oil ", PROSE, "fills it with oil"),
        ("fills it with oil", "He fills it\n  with\toil.", "fills it\n  with\toil"),
        ("Fills it with oil", PROSE, ""),
        ("fills it, with oil", PROSE, ""),
        ("a lamp for 5 million", "a lamp for 9 million", ""),
        ("Café öffnet", normalize("NFD", "Das Café öffnet."), normalize("NFD", "Café öffnet")),
        ("sys\u200bt\u200bem", "the system: fine", "system"),
        ("soft hyphen", "a soft hy\u00adphen", "soft hy\u00adphen"),
        ("", PROSE, ""),
        ("\u200b", PROSE, ""),
        ("给灯加油", "看守人给灯加油。", "给灯加油"),
    ],
)
def test_a_quote_is_found_letter_by_letter(quote: str, text: str, found: str) -> None:
    assert verbatim(quote, text) == found


_HOSTILE = st.lists(
    st.sampled_from(
        [
            *("<", ">", "|", "/", " ", "\n", "[", "]", "#", ":", "＜", "｜", "〈"),
            *("\u00ad", "\u200b", "\u2028", "ſ", "x", "s", "system", "passage", "user"),
            *("INST", "start_of_turn", "Human"),
        ]
    ),
    max_size=14,
).map("".join)


@same_every_time(600)
@given(text=_HOSTILE)
def test_inert_text_stays_so_and_loses_nothing_that_is_seen(text: str) -> None:
    shown = inert(text)
    assert inert(shown) == shown
    visible = INVISIBLE.sub("", text)
    assert shown.replace("\u200b", "") == visible
    assert verbatim(shown, text).strip() or not visible.strip()


@same_every_time(200)
@given(texts=st.lists(st.text(max_size=30), max_size=3))
def test_a_mark_stands_in_none_of_the_texts_even_when_they_hold_their_own(texts: list[str]) -> None:
    mark = mark_for(*texts)
    assert not any(mark in text for text in texts)
    hostile = [*texts, mark]
    assert mark_for(*hostile) not in "".join(hostile)

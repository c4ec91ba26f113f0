"""Questions made by rule: their gold is what a reader would find by hand."""

import re
from collections import Counter
from pathlib import Path

import pytest

from contextpull.eval.generation.corpus import Corpus
from contextpull.eval.generation.generating import NEEDS_WRITER, generate
from contextpull.eval.generation.plan import Made, Plan
from contextpull.store.ingest import ingest
from contextpull.types import Question
from tests.corpora import corpus_from

DEMO = Path(__file__).parents[3] / "demo" / "corpus"
FILLER = "Nothing in here names anything, so that the corpus has more sections than names.\n"


def sections(*bodies: str) -> str:
    """Sections that are long enough to stand alone."""
    return "".join(
        f"## Part {number}\n\n{body}\n\nMore is to be said about it elsewhere.\n\n"
        for number, body in enumerate(bodies)
    )


def made(corpus: Corpus, shape: str, **settings: int) -> Made:
    [result] = generate(corpus, Plan((shape,), **settings)).made
    return result


def by_text(result: Made, part: str) -> Question:
    [question] = [each for each in result.questions if part in each.text]
    return question


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    from contextpull.adapters.push import over_store
    from contextpull.eval.generation.corpus import corpus_of

    store = tmp_path_factory.mktemp("demo")
    ingest(DEMO, store)
    return corpus_of(over_store(store))


# Aggregation


def test_gold_of_a_mention_is_every_section_that_holds_the_name(demo: Corpus) -> None:
    result = made(demo, "aggregation")
    mentions = [each for each in result.questions if each.identifier and "only." not in each.text]
    assert len(mentions) >= 20
    for question in mentions:
        name = re.escape(question.identifier)
        whole = re.compile(rf"(?<!\w){name}(?!\w)(?![-_.:]+\w)", re.I)
        expected = {each.id for each in demo.sections if whole.search(each.text)}
        assert set(question.gold) == expected, question
        assert 2 <= len(question.gold) <= 5


def test_gold_of_a_family_is_every_section_that_holds_a_member(demo: Corpus) -> None:
    result = made(demo, "aggregation")
    families = [each for each in result.questions if not each.identifier]
    assert len(families) >= 20
    for question in families:
        shown = re.search(r"`([^`]+)`( \(each N is a digit\))?", question.text)
        assert shown
        pattern = re.escape(shown[1])
        if shown[2]:
            head, digits = re.fullmatch(r"(.*?)(N+)", pattern).groups()  # type: ignore[union-attr]
            pattern = rf"{head}\d{{{len(digits)}}}(?!\w)"
        place = re.search(r"Look in (\S+) only\.", question.text)
        expected = {
            each.id
            for each in demo.sections
            if re.search(rf"(?<!\w){pattern}", each.text, re.I)
            and (place is None or each.document == place[1])
        }
        assert set(question.gold) == expected, question


def test_families_with_and_without_digits_are_found(tmp_path: Path) -> None:
    corpus = corpus_from(
        tmp_path,
        {
            "codes.md": sections("Code HG-4412 is bad.", "HG-4419 is worse, as HG-4418 was."),
            "names.md": sections("Set `UV_CACHE_DIR`.", "`UV_CACHE_TTL` and `UV_CACHE_SIZE`."),
            "flags.md": sections("Give `--no-cache`.", "Or `--no-index`, or `--no-color`."),
            "other.md": sections(*[FILLER] * 8),
        },
    )
    result = made(corpus, "aggregation")
    assert by_text(result, "`HG-NNNN`").answer.startswith("3 names: HG-4412, HG-4418, HG-4419.")
    assert by_text(result, "`UV_CACHE_`").gold == ("names.md#part-0", "names.md#part-1")
    assert by_text(result, "`--no-`").gold == ("flags.md#part-0", "flags.md#part-1")


def test_names_that_are_unique_or_everywhere_are_not_asked_for(tmp_path: Path) -> None:
    common = [f"Here is `TX-1` again, number {number}." for number in range(12)]
    corpus = corpus_from(
        tmp_path,
        {
            "a.md": sections("Only here: `QQ-77`.", "Twice: `RR-88`.", "And `RR-88`.", *common),
            "b.md": sections(*[FILLER] * 20),
        },
    )
    asked = {each.identifier for each in made(corpus, "aggregation").questions}
    assert asked == {"RR-88"}


def test_a_common_name_is_asked_for_within_one_document(tmp_path: Path) -> None:
    files = {
        f"doc{number}.md": sections(f"`TX-10` in {number}.", f"`TX-10`, {number}.", *[FILLER] * 3)
        for number in range(4)
    }
    questions = made(corpus_from(tmp_path, files), "aggregation").questions
    assert {each.gold for each in questions} == {
        (f"doc{number}.md#part-0", f"doc{number}.md#part-1") for number in range(4)
    }
    assert all(f"Look in {each.source} only." in each.text for each in questions)


def test_a_mention_in_code_counts_and_one_in_a_longer_name_does_not(tmp_path: Path) -> None:
    corpus = corpus_from(
        tmp_path,
        {
            "a.md": sections(
                "Set `APP_HOME`.", "```sh\nAPP_HOME=/tmp run\n```", "`APP_HOME_DIR` is another."
            ),
            "b.md": sections(*[FILLER] * 8),
        },
    )
    question = by_text(made(corpus, "aggregation"), "`APP_HOME`")
    assert question.gold == ("a.md#part-0", "a.md#part-1")


def test_a_name_inside_a_path_is_set_aside_with_its_reason(tmp_path: Path) -> None:
    corpus = corpus_from(
        tmp_path,
        {
            "a.md": sections("`AB-12` one.", "`AB-12` two.", "See <https://x.example/AB-12/y>."),
            "b.md": sections(*[FILLER] * 8),
        },
    )
    result = made(corpus, "aggregation")
    assert result.questions == []
    assert result.skipped
    [aside] = result.set_aside
    assert aside.about == "ab-12"
    assert "inside a path" in aside.reason


def test_front_matter_is_nobodys_gold_however_long(tmp_path: Path) -> None:
    keywords = "".join(f"- keyword number {number} of this page\n" for number in range(200))
    matter = f"---\ntitle: A\nkeywords:\n{keywords}- AB-12\n---\n"
    corpus = corpus_from(
        tmp_path,
        {
            "a.md": matter + sections("`AB-12` one.", "`CD-34` one.", "`CD-34` two."),
            "b.md": "---\ntitle: B\n---\n\nThe `CD-34` stands before any heading in here.\n",
            "c.md": sections(*[FILLER] * 8),
        },
    )
    assert sum(each.is_metadata for each in corpus.sections) > 2
    [question] = made(corpus, "aggregation").questions
    assert question.identifier == "CD-34"
    assert question.gold == ("a.md#part-1", "a.md#part-2", "b.md#top")


def test_gold_stays_within_its_bound(demo: Corpus) -> None:
    for most in (2, 3, 8):
        sizes = {len(each.gold) for each in made(demo, "aggregation", most_gold=most).questions}
        assert min(sizes) == 2
        assert max(sizes) == most


def test_words_with_a_hyphen_are_no_names(tmp_path: Path) -> None:
    body = "A well-known, cross-platform tool, e.g. for 10-minute runs on version 3.12."
    corpus = corpus_from(tmp_path, {"a.md": sections(body, body + " Yes.", *[FILLER] * 8)})
    assert made(corpus, "aggregation").candidates == 0


# Table

TABLE = "| Register | Name | Unit |\n|---|---|---|\n"


def test_gold_of_a_cell_is_the_part_that_holds_its_row(tmp_path: Path) -> None:
    rows = "".join(
        f"| {number} | `REG_{number}_VALUE` | kilo{number} |\n" for number in range(1000, 1160)
    )
    corpus = corpus_from(tmp_path, {"map.md": f"# Map\n\n{TABLE}{rows}", "b.md": FILLER})
    parts = [each for each in corpus.sections if each.document == "map.md"]
    assert len(parts) > 2
    questions = made(corpus, "table").questions
    assert len({each.gold for each in questions}) > 2
    for question in questions:
        [section] = [each for each in parts if each.id in question.gold]
        [line] = [
            line
            for line in section.text.splitlines()
            if line.startswith(f"| {question.identifier} |")
        ]
        assert question.answer in line
        assert "Register" in question.text


def test_a_header_that_stands_in_every_part_is_no_row(tmp_path: Path) -> None:
    one = f"{TABLE}| 10 | ALPHA_ONE | volt |\n"
    two = f"{TABLE}| 20 | BETA_TWO | watt |\n"
    corpus = corpus_from(tmp_path, {"a.md": sections(one, two)})
    questions = made(corpus, "table").questions
    assert {each.identifier for each in questions} == {"10", "20"}
    assert {each.answer for each in questions} == {"ALPHA_ONE", "volt", "BETA_TWO", "watt"}


def test_rows_that_are_named_twice_are_ambiguous(tmp_path: Path) -> None:
    first = f"{TABLE}| 10 | ALPHA | volt |\n| 11 | BETA | ohm |\n"
    second = f"{TABLE}| 10 | GAMMA | watt |\n"
    corpus = corpus_from(tmp_path, {"a.md": sections(first), "b.md": sections(second)})
    assert {each.identifier for each in made(corpus, "table").questions} == {"11"}


def test_a_fact_that_stands_elsewhere_too_is_set_aside(tmp_path: Path) -> None:
    table = "| Model | Weight |\n|---|---|\n| Halden G2 | 410 grams |\n"
    text = "The Halden G2 weighs 410 grams, without its clip."
    corpus = corpus_from(tmp_path, {"a.md": sections(table, text)})
    result = made(corpus, "table")
    assert result.questions == []
    assert "a.md#part-1 holds" in result.set_aside[0].reason


def test_a_common_row_is_asked_for_under_its_heading(tmp_path: Path) -> None:
    table = "## Ports\n\n| Service | Port |\n|---|---|\n| gateway | 8443 |\n"
    usage = sections(*[f"The gateway does thing number {number}." for number in range(8)])
    [question] = made(corpus_from(tmp_path, {"a.md": table, "b.md": usage}), "table").questions
    assert "(under the heading “Ports”)?" in question.text


def test_cells_are_shown_as_they_are_read(tmp_path: Path) -> None:
    row = "| [`APP_HOME`](x.md#y) | **the** home &amp; *all*, `a\\|b` | |\n"
    corpus = corpus_from(tmp_path, {"a.md": sections(f"| Name | Meaning | Rest |\n|-|-|-|\n{row}")})
    [question] = made(corpus, "table").questions
    assert question.identifier == "APP_HOME"
    assert question.answer == "the home & all, a|b"


def test_corpora_without_tables_skip_them_with_a_reason(tmp_path: Path) -> None:
    code = "```\n| a | b |\n|---|---|\n| c | d |\n```\n"
    assert "no table" in made(corpus_from(tmp_path, {"a.md": sections(code)}), "table").skipped


# Exact look-up


def test_the_one_section_that_defines_a_name_is_the_gold(tmp_path: Path) -> None:
    corpus = corpus_from(
        tmp_path,
        {
            "flags.md": sections("- `--dry-run`: download and verify, but write nothing.\n"),
            "codes.md": "# Codes\n\n### HG-4412: clock differs\n\nThe clock is off by a minute.\n",
            "use.md": sections("Run it with `--dry-run` first.", "It may log HG-4412 then."),
        },
    )
    questions = {each.identifier: each for each in made(corpus, "exact_lookup").questions}
    assert questions.keys() == {"--dry-run", "HG-4412"}
    assert questions["--dry-run"].gold == ("flags.md#part-0",)
    assert questions["--dry-run"].answer == "download and verify, but write nothing."
    assert questions["HG-4412"].gold == ("codes.md#hg-4412-clock-differs",)
    assert questions["HG-4412"].answer == "clock differs The clock is off by a minute."


def test_a_name_that_is_defined_twice_is_not_asked_for(tmp_path: Path) -> None:
    line = "- `--dry-run`: download and verify, but write nothing"
    corpus = corpus_from(tmp_path, {"a.md": sections(f"{line}.\n"), "b.md": sections(f"{line}!\n")})
    assert made(corpus, "exact_lookup").questions == []


def test_release_notes_define_nothing(tmp_path: Path) -> None:
    text = "# Release notes\n\n- `net.max_skew`: was 60 seconds and is now 30 seconds.\n"
    result = made(corpus_from(tmp_path, {"a.md": text}), "exact_lookup")
    assert result.questions == []
    assert "changed" in result.set_aside[0].reason


def test_no_section_gets_more_than_a_few_questions(demo: Corpus) -> None:
    for shape, most in (("exact_lookup", 3), ("table", 5)):
        times = Counter(each.gold for each in made(demo, shape).questions)
        assert max(times.values()) <= most


# All of them


def test_the_same_seed_makes_the_same_questions_and_another_one_others(demo: Corpus) -> None:
    first = generate(demo, Plan(per_shape=20, seed=1)).questions
    assert generate(demo, Plan(per_shape=20, seed=1)).questions == first
    other = generate(demo, Plan(per_shape=20, seed=2)).questions
    assert {each.id for each in first} != {each.id for each in other}


def test_a_smaller_set_is_the_beginning_of_a_larger_one(demo: Corpus) -> None:
    small = made(demo, "aggregation", per_shape=10).questions
    assert made(demo, "aggregation", per_shape=40).questions[:10] == small


def test_questions_are_spread_over_documents(demo: Corpus) -> None:
    questions = made(demo, "table", per_shape=10).questions
    assert len({each.source for each in questions}) == 10


def test_ids_and_texts_are_unique_and_gold_is_of_the_corpus(demo: Corpus) -> None:
    questions = generate(demo, Plan()).questions
    assert len({each.id for each in questions}) == len(questions) > 200
    assert len({each.text for each in questions}) == len(questions)
    known = {each.id for each in demo.sections}
    assert all(known.issuperset(each.gold) for each in questions)


def test_shapes_that_need_a_writer_say_so(demo: Corpus) -> None:
    skipped = {each.shape: each.skipped for each in generate(demo, Plan()).made}
    assert skipped == {
        "conceptual": NEEDS_WRITER,
        "exact_lookup": "",
        "comparison": NEEDS_WRITER,
        "aggregation": "",
        "table": "",
    }


def test_sections_that_stand_twice_are_nobodys_gold(tmp_path: Path) -> None:
    text = sections("- `--dry-run`: download and verify, but write nothing.\n", FILLER)
    corpus = corpus_from(tmp_path, {"a.md": text, "b.md": text, "c.md": sections(*[FILLER] * 5)})
    assert generate(corpus, Plan()).questions == []

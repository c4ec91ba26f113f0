"""`contextpull golden chunking`: what is handed over, found, told and kept, without a model."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.chunking.building import Cuts, Means, make_build, own_sections
from contextpull.eval.golden.chunking.comparing import (
    best_builds,
    halves_of,
    ranked_techniques,
)
from contextpull.eval.golden.chunking.corpus import SourceCorpus, read_corpus
from contextpull.eval.golden.chunking.handing import Handed, Wants, wants_of, within_budget
from contextpull.eval.golden.chunking.plan import SIZES, TECHNIQUES, Build, plan_builds
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.settings import parse_settings
from contextpull.models.embedding import open_embedder
from contextpull.retrieval.models import Models
from tests.conftest import write_corpus
from tests.documents.pdf_files import lines as printed
from tests.documents.pdf_files import pdf
from tests.eval.golden.stores import asks, golden_place, json_of, lines
from tests.properties import same_every_time

REPOSITORY = Path(__file__).parents[3]
TOPICS = ("anchor", "bollard", "capstan", "davit", "eyelet", "fender", "gantry", "hawser")


def topic(name: str) -> str:
    told = " ".join(f"The {name} has {name}part {n} for the {n}th task." for n in range(40))
    return (
        f"# The {name}\n\n{told}\n\n## Care\n\nOil the {name} every {len(name)}th day of spring."
        f"\n\n{told}\n"
    )


FILES = {f"{name}.md": topic(name) for name in TOPICS}
ASKED: list[dict[str, object]] = [
    {
        "id": name,
        "question": f"how often is the {name} oiled",
        "expected": [f"{name}.md#care"],
        "evidence": [f"Oil the {name} every {len(name)}th day of spring"],
        "reference": f"Every {len(name)}th day.",
    }
    for name in TOPICS
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents and a golden file, which is also the current one."""
    return golden_place(tmp_path, monkeypatch, FILES, ASKED)


def run(*arguments: object) -> Result:
    command = ["golden", "chunking", "golden.jsonl", "docs", *map(str, arguments)]
    return CliRunner().invoke(cli, command)


def record(*arguments: object) -> Any:
    return json_of(run("--json", *arguments))


SOME = ("--techniques", "structure-aware,parent-child,fixed", "--sizes", "500,1000")


def test_every_technique_that_can_be_built_is_and_the_others_are_listed() -> None:
    told = record("--budget", "2000")
    assert (told["kind"], told["format"]) == ("chunking", 1)
    built = {each["technique"] for each in told["builds"]}
    assert built == {"structure-aware", "parent-child", "recursive", "sentence", "fixed"}
    assert len(told["builds"]) == len(built) * 3 * 2
    reasons = {each["name"]: each["reason"] for each in told["left_out"]}
    assert set(reasons) == {"semantic", "late", "llm", "notes"}
    assert "--embedder" in reasons["semantic"]
    assert "--writer" in reasons["llm"]
    assert len(told["pairs"]) == 10
    assert {each["technique"] for each in told["techniques"]} == built


def test_the_report_says_what_was_chosen_by_and_what_was_told_of() -> None:
    told = record(*SOME)
    choosing, others = told["questions"]["choosing"], told["questions"]["told"]
    assert sorted(choosing + others) == sorted(TOPICS)
    assert len(others) == 4
    assert all(each["of"] == 4 for each in told["techniques"])
    assert all(0 <= each["right"] <= 4 for each in told["builds"])
    shown = run(*SOME).stdout
    assert "was chosen on 4 questions; right is told of the 4 others (seed 0)" in shown
    assert "exact McNemar" in shown
    assert run(*SOME).stdout.split("seconds")[0] == shown.split("seconds")[0]


def test_another_seed_draws_other_halves() -> None:
    first, other = (record(*SOME, "--seed", seed)["questions"]["told"] for seed in (0, 1))
    assert first != other


def corpus_of(folder: Path, **files: str) -> SourceCorpus:
    return read_corpus(write_corpus(folder, {f"{name}.md": text for name, text in files.items()}))


def means(budget: int, **more: Any) -> Means:
    setting = parse_settings(more.pop("setting", "lexical"))[0]
    return Means(setting, budget, Models(keep_all_vectors=True), **more)


@pytest.mark.parametrize("technique", ["structure-aware", "parent-child", "recursive", "fixed"])
@pytest.mark.parametrize("budget", [1_000, 2_500])
@pytest.mark.parametrize("overlap", [0, 20])
def test_all_techniques_are_handed_the_same_characters(
    place: Path, technique: Any, budget: int, overlap: int
) -> None:
    corpus = read_corpus(place / "docs")
    wants = [Wants(asks("the task of each part", "anchor.md", named="all"), ())]
    build = Build(technique, 500, headings=True, overlap=overlap)
    built = make_build(build, corpus, wants, means(budget))
    handed = built.handed["all"]
    spent = sum(each.end - each.start for each in handed)
    # Only white space at the end of what was cut to fit may be missing.
    assert budget - 5 <= spent <= budget
    assert len(set(handed)) == len(handed)


def test_builds_that_differ_in_headings_alone_share_a_cut(place: Path) -> None:
    cuts = Cuts(read_corpus(place / "docs"), means(2_000))
    cut = cuts.of(Build("recursive", 500, headings=True))
    assert cuts.of(Build("recursive", 500, headings=False)) is cut
    assert cuts.of(Build("recursive", 1_000, headings=False)).documents != cut.documents


def test_parents_are_handed_over_for_their_children(place: Path) -> None:
    corpus = read_corpus(place / "docs")
    wants = [Wants(asks("how often is the davit oiled", "davit.md", named="d"), ())]
    by_child = make_build(Build("parent-child", 1_000, True), corpus, wants, means(6_000))
    sections = [
        Handed(source.path, *span)
        for source in corpus.sources
        for span, _ in own_sections(source, 1_000)
    ]
    assert by_child.pieces > len(sections)
    *whole, _cut_to_fit = by_child.handed["d"]
    assert set(whole) <= set(sections)
    assert max(each.end - each.start for each in whole) > 500


def test_the_last_one_is_cut_to_fit(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "c", a="abcde fghij", b="klmno pqrst")
    ranked = [Handed("a.md", 0, 11), Handed("a.md", 0, 11), Handed("b.md", 0, 11)]
    assert within_budget(ranked, corpus, 17) == [Handed("a.md", 0, 11), Handed("b.md", 0, 5)]
    assert within_budget(ranked, corpus, 11) == [Handed("a.md", 0, 11)]
    assert within_budget([], corpus, 10) == []


QUOTE = "the lamp burns eleven litres of oil"


def found(folder: Path, question: GoldenQuestion, *handed: Handed, **files: str) -> bool:
    corpus = corpus_of(folder, **(files or {"a": f"One. {QUOTE}. Two.", "b": f"Other. {QUOTE}."}))
    [wants], _ = wants_of(corpus, [question])
    return wants.is_found(handed, corpus)


def test_a_quote_that_was_cut_is_found_when_both_pieces_were_handed_over(tmp_path: Path) -> None:
    asked = asks("q", "a.md", evidence=(QUOTE,))
    first, second = Handed("a.md", 0, 19), Handed("a.md", 20, 47)
    assert not found(tmp_path / "1", asked, first)
    assert not found(tmp_path / "2", asked, second)
    assert found(tmp_path / "3", asked, second, first)


def test_pieces_that_overlap_are_one_and_each_costs_all_its_characters(tmp_path: Path) -> None:
    asked = asks("q", "a.md", evidence=(QUOTE,))
    first, second = Handed("a.md", 0, 19), Handed("a.md", 14, 46)
    assert not found(tmp_path / "1", asked, second)
    assert found(tmp_path / "2", asked, second, first)
    corpus = corpus_of(tmp_path / "c", a=f"One. {QUOTE}. Two.")
    assert within_budget([first, second], corpus, 51) == [first, second]
    assert within_budget([first, second], corpus, 50) == [first, second._replace(end=45)]


def test_half_a_quote_at_the_border_is_not_the_quote(tmp_path: Path) -> None:
    asked = asks("q", "a.md", evidence=(QUOTE,))
    assert not found(tmp_path, asked, Handed("a.md", 0, len(f"One. {QUOTE}") - 4))


def test_evidence_counts_in_what_is_expected_alone_and_all_of_it(tmp_path: Path) -> None:
    asked = asks("q", "a.md", evidence=(QUOTE,))
    assert not found(tmp_path / "1", asked, Handed("b.md", 0, 44))
    both = asks("q", "a.md", evidence=(QUOTE, "Two"))
    assert not found(tmp_path / "2", both, Handed("a.md", 0, 42))
    assert found(tmp_path / "3", both, Handed("a.md", 0, 47))


def test_words_of_two_places_are_no_quote(tmp_path: Path) -> None:
    text = "the lamp burns. In between. eleven litres of oil. the lamp burns eleven litres of oil"
    asked = asks("q", "a.md", evidence=(QUOTE,))
    apart = [Handed("a.md", 0, 14), Handed("a.md", 28, 48)]
    assert not found(tmp_path / "1", asked, *apart, a=text)
    pieces = asks("q", "a.md", evidence=("the lamp burns … eleven litres of oil",))
    assert found(tmp_path / "2", pieces, *apart, a=text)


def test_without_evidence_a_page_or_a_document_counts(tmp_path: Path) -> None:
    asked = asks("q", "a.md", "b.md")
    assert found(tmp_path / "1", asked, Handed("b.md", 0, 5))
    pytest.importorskip("pypdfium2")
    corpus = read_corpus(
        write_corpus(tmp_path / "c", {"s.pdf": pdf(printed("First page."), printed("Second one."))})
    )
    [wants], _ = wants_of(corpus, [asks("q", "s.pdf#page=2")])
    text = corpus.sources[0].text
    at = text.index("Second")
    assert not wants.is_found([Handed("s.pdf", 0, 5)], corpus)
    assert wants.is_found([Handed("s.pdf", at, len(text))], corpus)
    with pytest.raises(EvaluationError, match=r"does not hold 's\.pdf#page=3'"):
        wants_of(corpus, [asks("q", "s.pdf#page=3")])


@given(st.lists(st.booleans(), min_size=2, max_size=12), st.integers(0, 5))
@same_every_time(50)
def test_halves_share_no_question_and_leave_none_out(marks: list[bool], seed: int) -> None:
    ids = [f"q{at}" for at in range(len(marks))]
    halves = halves_of(ids, seed)
    assert sorted((*halves.choosing, *halves.told)) == sorted(ids)
    assert 0 <= len(halves.told) - len(halves.choosing) <= 1
    assert halves_of(list(reversed(ids)), seed) == halves


def test_the_best_build_is_chosen_by_the_choosing_half_alone() -> None:
    small, large = Build("fixed", 500, True), Build("fixed", 1_000, True)
    pieces = {small: 9, large: 3}
    assert best_builds({small: 2, large: 1}, pieces) == {"fixed": small}
    assert best_builds({small: 2, large: 2}, pieces) == {"fixed": large}


def outcomes(right: int, of: int) -> list[bool]:
    return [at < right for at in range(of)]


def test_a_distance_that_could_be_luck_is_a_tie_and_pairs_are_corrected() -> None:
    builds = [Build(name, 500, True) for name in ("recursive", "sentence", "fixed")]
    right = dict(zip(builds, (outcomes(20, 20), outcomes(14, 20), outcomes(14, 20)), strict=True))
    rows, pairs = ranked_techniques(right, dict.fromkeys(builds, 7))
    assert [(row.technique, row.is_tie) for row in rows] == [
        ("recursive", False),
        ("fixed", True),
        ("sentence", True),
    ]
    first = pairs[0]
    assert (first.only_first, first.only_second, first.both, first.neither) == (6, 0, 14, 0)
    # 6 to 0 alone would be p = 2 / 2^6, which is no luck; among three pairs it may be.
    assert (first.p, first.p_holm) == (0.03125, 0.09375)
    assert rows[1].share.mean == pytest.approx(0.7)


def test_a_distance_beyond_luck_is_no_tie() -> None:
    builds = [Build("recursive", 500, True), Build("fixed", 500, True)]
    right = dict(zip(builds, (outcomes(20, 20), outcomes(5, 20)), strict=True))
    rows, _ = ranked_techniques(right, dict.fromkeys(builds, 7))
    assert [(row.technique, row.is_tie) for row in rows] == [("recursive", False), ("fixed", False)]


def test_what_could_be_luck_is_a_matter_of_the_level_that_is_chosen() -> None:
    builds = [Build("recursive", 500, True), Build("fixed", 500, True)]
    right = dict(zip(builds, (outcomes(20, 20), outcomes(15, 20)), strict=True))
    for alpha, is_tie in ((0.05, True), (0.1, False)):  # 5 to 0 is p = 2 / 2^5
        rows, [pair] = ranked_techniques(right, dict.fromkeys(builds, 7), alpha)
        assert (rows[1].is_tie, pair.could_be_luck) == (is_tie, is_tie)
    told = record(*SOME, "--alpha", "0.1")
    assert told["settings"]["alpha"] == 0.1
    assert "(Holm p of 0.1 or more)" in told["rules"][-1]


def test_equal_techniques_rank_by_fewer_pieces() -> None:
    many, few = Build("fixed", 500, True), Build("recursive", 500, True)
    rows, _ = ranked_techniques({many: [True], few: [True]}, {many: 9, few: 3})
    assert [row.technique for row in rows] == ["recursive", "fixed"]
    assert [row.is_tie for row in rows] == [False, True]


def test_the_plan_builds_dear_ones_at_the_middle_size_only() -> None:
    builds = plan_builds(TECHNIQUES, SIZES, (True, False), notes=True)
    assert {each.size for each in builds if each.technique == "late"} == {1_000}
    noted = [each for each in builds if each.notes]
    assert {each.size for each in noted} == {1_000}
    assert "late" not in {each.technique for each in noted}
    assert len(builds) == 7 * 3 * 2 + 2 + 7


def test_overlaps_and_sizes_of_children_are_builds_of_their_own() -> None:
    asked = (*SOME[:2], "--sizes", "500", "--headings", "in", "--overlap", "0,20")
    told = record(*asked, "--children", "25,50")
    assert [each["name"] for each in told["builds"]] == [
        "structure-aware 500",
        "parent-child 500 children 25%",
        "parent-child 500",
        "parent-child 500 children 25% overlap 20%",
        "parent-child 500 overlap 20%",
        "fixed 500",
        "fixed 500 overlap 20%",
    ]
    figures = {each["name"]: each for each in told["builds"]}
    quarter, half = (figures[f"parent-child 500{name}"] for name in (" children 25%", ""))
    assert quarter["pieces"] > half["pieces"]
    plain, overlapping = (figures[f"fixed 500{name}"] for name in ("", " overlap 20%"))
    assert plain["pieces"] == overlapping["pieces"]
    assert plain["mean_chars"] + 50 < overlapping["mean_chars"] < plain["mean_chars"] + 100
    assert {"structure-aware with overlap": "our sections never overlap"}.items() <= {
        each["name"]: each["reason"] for each in told["left_out"]
    }.items()
    assert (told["settings"]["overlaps"], told["settings"]["children"]) == ([0, 20], [25, 50])
    assert "A piece costs all its characters" in told["rules"][1]
    assert "Pieces do not overlap." in record(*SOME)["rules"]


def test_a_quote_over_a_cut_is_in_a_piece_that_carries_its_beginning_over(place: Path) -> None:
    for path in (place / "docs").iterdir():
        path.unlink()
    told = [f"Rope number {word} is tarred twice a year." for word in TOPICS]
    write_corpus(place / "docs", {"ropes.md": f"# Ropes\n\n{' '.join(told)}\n"})
    asked = [
        {
            "id": one,
            "question": other,
            "expected": ["ropes.md"],
            "evidence": [f"{one} is tarred twice a year. Rope number {other}"],
        }
        for one, other in pairwise(TOPICS)
    ]
    (place / "golden.jsonl").write_text(lines(asked))
    sentences = ("--techniques", "sentence", "--sizes", "200", "--headings", "in")
    plain, overlapping = record(*sentences, "--overlap", "0,25")["builds"]
    assert plain["found"] < overlapping["found"] == len(asked)


def test_builds_with_notes_are_of_the_first_way_that_is_named() -> None:
    plan = {"notes": True, "overlaps": (20, 0), "children": (25, 50)}
    builds = plan_builds(TECHNIQUES, SIZES, (False, True), **plan)
    noted = {each.technique: each for each in builds if each.notes}
    assert noted["fixed"] == Build("fixed", 1_000, False, notes=True, overlap=20)
    assert noted["parent-child"].children == 25
    assert noted["structure-aware"].overlap == 0


def test_what_was_built_is_kept_and_taken_up_again(place: Path) -> None:
    first = record(*SOME, "--out", "kept")
    builds = (place / "kept" / "builds.jsonl").read_text()
    assert record(*SOME, "--out", "kept") == first
    assert (place / "kept" / "builds.jsonl").read_text() == builds
    assert json.loads((place / "kept" / "report.json").read_text()) == first


def test_another_overlap_is_another_build(place: Path) -> None:
    once = ("--techniques", "fixed,parent-child", "--sizes", "500", "--headings", "in")
    for number, more in enumerate([(), ("--overlap", "20"), ("--children", "25")], start=1):
        for _ in range(2):
            assert run(*once, "--out", "kept", *more).exit_code == 0
        kept = (place / "kept" / "builds.jsonl").read_text().splitlines()
        # `fixed` has no children, and is not built a third time.
        assert len(kept) == [2, 4, 5][number - 1]


def test_a_changed_document_budget_or_question_is_built_anew(place: Path) -> None:
    def kept() -> int:
        assert run(*SOME, "--out", "kept").exit_code == 0
        return len((place / "kept" / "builds.jsonl").read_text().splitlines())

    before = kept()
    write_corpus(place / "docs", {"new.md": "# New\n\nNothing of note.\n"})
    assert kept() == 2 * before
    run(*SOME, "--out", "kept", "--budget", "3000")
    (place / "golden.jsonl").write_text(lines(ASKED[:-1]))
    assert kept() == 4 * before


def test_a_torn_line_costs_one_build(place: Path) -> None:
    first = record(*SOME, "--out", "kept")
    path = place / "kept" / "builds.jsonl"
    whole = path.read_text()
    path.write_text(whole[: whole.rindex("{", 0, -50) + 40] + "\n")
    again = record(*SOME, "--out", "kept")
    assert again["techniques"] == first["techniques"]
    path.write_bytes(b"\xff\x00 no json\n{}\n[1]\n")
    assert record(*SOME, "--out", "kept")["techniques"] == first["techniques"]


def test_a_run_that_is_killed_goes_on_behind_the_builds_that_it_finished(place: Path) -> None:
    command = [
        sys.executable, "-m", "contextpull", "golden", "chunking", "golden.jsonl", "docs",
        "--out", "kept", "--sizes", "200,500,1000", "--json",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "(3 of " in line:
                process.send_signal(signal.SIGKILL)
                break
        process.wait(timeout=120)
    finished = (place / "kept" / "builds.jsonl").read_text()
    assert len(finished.splitlines()) >= 3
    told = record("--out", "kept", "--sizes", "200,500,1000")
    assert (place / "kept" / "builds.jsonl").read_text().startswith(finished.rstrip("\n"))
    assert told["techniques"] == record("--sizes", "200,500,1000")["techniques"]


def test_an_interrupt_says_how_to_go_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import contextpull.eval.golden.chunking.running as running

    def interrupt(*_arguments: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "make_build", interrupt)
    result = run(*SOME, "--out", "kept")
    assert result.exit_code == 130
    assert "kept: the same command goes on from there" in result.stderr
    assert not (place / "kept" / "report.json").exists()


@pytest.mark.parametrize("content", ['{"kind": "retrieval"}', "[]", "no json", ""])
def test_a_report_of_another_program_is_never_written_over(place: Path, content: str) -> None:
    write_corpus(place / "kept", {"report.json": content})
    result = run(*SOME, "--out", "kept")
    assert result.exit_code == 2
    assert "left as it is" in result.stderr
    assert (place / "kept" / "report.json").read_text() == content


def test_the_golden_file_and_the_documents_stay_as_they_are(place: Path) -> None:
    names = ["golden.jsonl", *(f"docs/{name}" for name in FILES)]
    before = [(place / name).read_bytes() for name in names]
    assert run(*SOME, "--out", "kept").exit_code == 0
    assert [(place / name).read_bytes() for name in names] == before


@pytest.mark.parametrize("folder", ["nope", "golden.jsonl", "/nope.txt"])
def test_a_folder_that_is_not_there_is_an_error_and_never_text(folder: str) -> None:
    result = CliRunner().invoke(cli, ["golden", "chunking", "golden.jsonl", folder])
    assert result.exit_code == 2
    assert folder in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ASKED[0]], "1 question cannot be split"),
        ([{**ASKED[0], "expected": []}], "None of the 1 questions is labelled"),
        ([{**ASKED[0], "expected": ["lost.md"]}, ASKED[1]], "does not hold 'lost.md'"),
        ([{**ASKED[0], "evidence": ["words of nobody"]}, ASKED[1]], "evidence of anchor does not"),
        ([ASKED[0], {**ASKED[1], "id": "anchor"}], "anchor"),
    ],
)
def test_questions_that_nothing_could_find_are_errors(
    place: Path, rows: list[dict[str, object]], said: str
) -> None:
    (place / "golden.jsonl").write_text(lines(rows))
    result = run(*SOME)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_two_questions_of_one_id_are_an_error_from_python_too(place: Path) -> None:
    corpus = read_corpus(place / "docs")
    with pytest.raises(EvaluationError, match="Two questions have the id 'a'"):
        wants_of(corpus, [asks("x", "davit.md", named="a"), asks("y", "davit.md", named="a")])


@pytest.mark.parametrize("name", ["expected", "evidence"])
def test_a_text_in_place_of_a_list_is_an_error_and_not_spelt_out(place: Path, name: str) -> None:
    question = replace(asks("x", "davit.md"), **{name: "davit.md"})
    with pytest.raises(InvalidInput, match=f"`{name}` is the text 'davit.md'; give a list"):
        wants_of(read_corpus(place / "docs"), [question])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "0"], "A size must be a whole number of characters from 200"),
        (["--sizes", "5.5"], "whole numbers"),
        (["--sizes", "1000000"], "to 100,000"),
        (["--budget", "1999"], "at least those of the longest piece (2,000)"),
        (["--budget", "2399", "--overlap", "20"], "the longest piece (2,400)"),
        (["--overlap", "101"], "An overlap must be a whole number of percent of the size"),
        (["--overlap", "-1"], "from 0 to 100, not -1"),
        (["--children", "5"], "What a child holds must be a whole number of percent of the size"),
        (["--alpha", "0"], "The level of significance must be between 0 and 1, not 0.0"),
        (["--alpha", "nan"], "between 0 and 1, not nan"),
        (["--only", "mast"], "No question has the id 'mast'"),
        (["--budget", "0"], "--budget"),
        (["--techniques", "markdown"], "'markdown' is no technique"),
        (["--techniques", "semantic,late"], "There is nothing to build. it needs vectors"),
        (["--setting", "dense"], "needs vectors: name an --embedder"),
        (["--setting", "lexical,dense"], "Name one setting only"),
        (["--notes"], "name a --writer"),
        (["--judge", "openai:x"], "name an --answerer"),
        (["--headings", "both"], "Choose from: in, out"),
        (["--embedder", "nothing"], "names no embedder"),
        (["--writer", "nobody"], "Give anthropic:MODEL"),
        (["--json", "--markdown"], "Choose one of --json and --markdown"),
    ],
)
def test_what_cannot_be_is_said(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("overlaps", [(), (True,), ("20",), (2.5,)])
def test_overlaps_from_python_are_checked_too(overlaps: Any) -> None:
    with pytest.raises(InvalidInput, match="An overlap must be"):
        plan_builds(("fixed",), (500,), (True,), notes=False, overlaps=overlaps)


@pytest.mark.parametrize("sizes", [(), (True,), ("500",), (500.0,), (199,)])
def test_sizes_from_python_are_checked_too(sizes: Any) -> None:
    with pytest.raises(InvalidInput):
        plan_builds(("fixed",), sizes, (True,), notes=False)


def test_markdown_keeps_every_row_on_one_line_and_no_mark_up_of_a_terminal() -> None:
    shown = run(*SOME, "--markdown").stdout
    tables = [part for part in shown.split("\n\n") if part.startswith("|")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines()}) == 1
    assert "[/" not in shown
    assert "\x1b" not in shown


def test_the_table_of_techniques_fits_a_terminal() -> None:
    shown = run(*SOME).stdout
    assert max(map(len, shown.split("\n\n")[0].splitlines())) <= 100
    assert "tie" in shown
    assert "Left out: notes: they need a model" in shown


def test_questions_without_evidence_that_name_sections_are_pointed_at(place: Path) -> None:
    bare = [{name: row[name] for name in ("id", "question", "expected")} for row in ASKED]
    (place / "golden.jsonl").write_text(lines(bare))
    assert "8 without evidence name sections" in run(*SOME).stdout


def test_vectors_serve_semantic_cuts_and_late_chunking(place: Path, tiny_embedder: Path) -> None:
    pytest.importorskip("faiss")
    told = record(
        "--embedder", tiny_embedder, "--setting", "dense", "--sizes", "500",
        "--techniques", "recursive,semantic,late", "--headings", "in", "--overlap", "0,10",
    )  # fmt: skip
    assert [each["name"] for each in told["builds"]] == [
        f"{technique} 500{overlap}"
        for technique in ("recursive", "semantic", "late")
        for overlap in ("", " overlap 10%")
    ]
    assert {each["name"] for each in told["left_out"]} == {"notes"}
    assert told["settings"]["setting"] == "dense"
    by_words = record("--embedder", tiny_embedder, "--setting", "lexical", *SOME[2:])
    reasons = {each["name"]: each["reason"] for each in by_words["left_out"]}
    assert "the search here is lexical" in reasons["late"]


def test_late_chunking_is_left_out_where_the_model_pools_otherwise(
    place: Path, tiny_embedder: Path
) -> None:
    import shutil

    folder = place / "cls"
    shutil.copytree(tiny_embedder, folder)
    write_corpus(folder / "1_Pooling", {"config.json": '{"pooling_mode_cls_token": true}'})
    told = record("--embedder", folder, "--setting", "dense", "--sizes", "500", "--headings", "in")
    reasons = {each["name"]: each["reason"] for each in told["left_out"]}
    assert "pooling: cls" in reasons["late"]


def test_tokens_cover_their_own_characters_and_their_mean_is_the_vector(
    tiny_embedder: Path,
) -> None:
    numpy = pytest.importorskip("numpy")
    embedder: Any = open_embedder(str(tiny_embedder))
    text = "Émile lights the lamp; the lamp burns oil. " * 40
    places, vectors = embedder.token_vectors(text)
    assert len(places) == len(vectors) > 512
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)
    assert text[places[0][0] : places[-1][1]] == text.strip()
    short = "the lamp burns oil"
    _, tokens = embedder.token_vectors(short)
    mean = tokens.mean(axis=0)
    cosine = mean @ embedder.embed_query(short) / numpy.linalg.norm(mean)
    assert cosine > 0.999

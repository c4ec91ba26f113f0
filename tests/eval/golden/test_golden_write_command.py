"""`contextpull golden write`, from the command line's side."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import contextpull.cli.golden_writing
from contextpull.cli.main import cli
from contextpull.eval.golden.questions import load_golden
from contextpull.eval.golden.writing.plan import MIX
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.eval.golden.writers import is_critic, sound, topics, writes_and_judges
from tests.standins import (
    Fails,
    Gate,
    Held,
    IsCut,
    Refuses,
    Request,
    Says,
    Step,
    nobodys_url,
    standing_in,
)

pytest.importorskip("openai")
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    ingest(write_corpus(folder / "docs", topics(16)), folder / "store")
    return folder / "store"


def arguments(store: Path, out: Path, writer: str, *more: object) -> list[str]:
    options = ["--store", store, "--out", out, "--writer", writer, "-n", 6, "--mix", "fact=1"]
    return ["golden", "write", *map(str, [*options, *more])]


def run(store: Path, out: Path, writer: str, *more: object) -> Result:
    return CliRunner().invoke(cli, arguments(store, out, writer, *more))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_drafts_pass_the_check_of_golden_files(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "drafts.jsonl"
    with standing_in(writes_and_judges) as model:
        result = run(store, out, model.endpoint, "--mix", "fact=1,two_places=1,search=1")
    assert result.exit_code == 0, result.stderr
    questions = load_golden(out)
    assert len(questions) == 6
    assert all(question.draft and question.evidence for question in questions)
    assert "6 of 6 questions, 6 of them made harder; 0 tries set aside." in result.stdout
    assert f"6 drafts are in {out}" in result.stdout
    assert names(tmp_path) == {"drafts.jsonl", "drafts.set-aside.json", "drafts.answers.jsonl"}
    check = CliRunner().invoke(cli, ["golden", "check", str(out), "--store", str(store)])
    assert check.exit_code == 0 or "draft" in check.output


def test_the_report_counts_calls_and_tokens_and_says_how_the_set_was_made(
    store: Path, tmp_path: Path
) -> None:
    with standing_in(writes_and_judges) as model:
        result = run(store, tmp_path / "d.jsonl", model.endpoint, "--no-evolve", "--json")
    report = json.loads(result.stdout)
    assert report["drafts"] == report["wanted"] == 6
    assert report["kinds"] == {"fact": {"drafts": 6, "wanted": 6}}
    assert report["asked"]["calls"] == len(model.asked) == 12
    assert report["asked"]["tokens"]["input"] > 0
    kept = json.loads((tmp_path / "d.set-aside.json").read_text())
    assert kept["corpus"]["sections"] == 16
    assert kept["writer"].startswith(model.endpoint)
    assert kept["set_aside"] == []


def test_replies_are_bound_to_a_schema_and_the_critic_has_a_system_of_its_own(
    store: Path, tmp_path: Path
) -> None:
    with standing_in(writes_and_judges) as model:
        run(store, tmp_path / "d.jsonl", model.endpoint)
    for request in model.asked:
        schema = request.body["response_format"]["json_schema"]["schema"]
        assert ("alone" in schema["properties"]) == is_critic(request)


def test_a_killed_run_asks_nothing_twice_and_comes_to_the_same_files(
    store: Path, tmp_path: Path
) -> None:
    gate = Gate()
    seen: list[str] = []

    def script(request: Request) -> Step:
        step = writes_and_judges(request)
        seen.append(request.question)
        return Held(step, gate) if len(seen) > 9 and not gate.opened.is_set() else step

    out = tmp_path / "killed" / "drafts.jsonl"
    out.parent.mkdir()
    with standing_in(script) as model:
        command = arguments(store, out, model.endpoint, "--concurrency", 1)
        process = subprocess.Popen(
            [sys.executable, "-m", "contextpull", *command], cwd=REPOSITORY, env=dict(os.environ)
        )
        assert gate.reached.wait(timeout=60)
        process.kill()
        assert process.wait(timeout=60) == -signal.SIGKILL
        assert names(out.parent) == {"drafts.answers.jsonl"}
        answered = set(seen[:9])
        gate.opened.set()
        seen.clear()
        result = run(store, out, model.endpoint, "--json")
        assert result.exit_code == 0, result.stderr
        assert not answered & set(seen)
        assert json.loads(result.stdout)["asked"]["kept_from_before"] == 9
        other = tmp_path / "drafts.jsonl"
        assert run(store, other, model.endpoint).exit_code == 0
        assert other.read_bytes() == out.read_bytes()
        seen.clear()
        kept = out.with_name("drafts.answers.jsonl")
        third = tmp_path / "third.jsonl"
        assert run(store, third, model.endpoint, "--answers", kept).exit_code == 0
        assert third.read_bytes() == out.read_bytes()
        assert seen == []


def test_answers_of_one_address_never_serve_another(store: Path, tmp_path: Path) -> None:
    kept = tmp_path / "answers.jsonl"
    for name in ("a", "b"):
        with standing_in(writes_and_judges) as model:
            run(store, tmp_path / f"{name}.jsonl", model.endpoint, "--answers", kept)
        assert len(model.asked) == 24


def test_answers_with_other_settings_are_not_used_again(store: Path, tmp_path: Path) -> None:
    kept = tmp_path / "answers.jsonl"
    with standing_in(writes_and_judges) as model:
        for most in (500, 600):
            out = tmp_path / f"{most}.jsonl"
            run(store, out, model.endpoint, "--answers", kept, "--reply-tokens", most)
    assert len(model.asked) == 48


def test_a_file_of_answers_that_holds_none_costs_nothing_but_them(
    store: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "answers.jsonl"
    kept.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff\xfe")
    with standing_in(writes_and_judges) as model:
        result = run(store, tmp_path / "d.jsonl", model.endpoint, "--answers", kept)
    assert result.exit_code == 0, result.stderr
    assert len(model.asked) == 24


def test_an_error_is_a_sentence_without_marks_of_a_terminal(store: Path, tmp_path: Path) -> None:
    result = run(store, tmp_path / "[red]" / "d.jsonl", "http://127.0.0.1:9/v1#x")
    assert result.exit_code == 2
    assert result.stderr.startswith("contextpull: There is no folder '")
    assert "[/" not in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "asks for a key"), (403, "asks for a key"), (404, "check the model's name")],
)
def test_a_refusal_ends_the_run_at_once_with_a_sentence(
    store: Path, tmp_path: Path, status: int, reason: str
) -> None:
    with standing_in([Fails(status, "No.")]) as model:
        result = run(store, tmp_path / "d.jsonl", model.endpoint, "--concurrency", 1)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert "in a row" not in result.stderr
    assert len(model.asked) == 1
    assert not (tmp_path / "d.jsonl").exists()


def test_a_dead_server_ends_the_run_at_once(store: Path, tmp_path: Path) -> None:
    result = run(store, tmp_path / "d.jsonl", f"{nobodys_url()}/v1#tiny")
    assert result.exit_code == 2
    assert "cannot be reached" in result.stderr
    assert names(tmp_path) == set()


def test_a_refusal_in_the_middle_says_how_many_answers_are_kept(
    store: Path, tmp_path: Path
) -> None:
    taken: list[None] = []

    def script(request: Request) -> Step:
        taken.append(None)
        return writes_and_judges(request) if len(taken) <= 3 else Fails(401, "Expired.")

    with standing_in(script) as model:
        result = run(store, tmp_path / "d.jsonl", model.endpoint, "--concurrency", 1)
    assert result.exit_code == 2
    assert "(3 answers); the same command goes on from there" in result.stderr
    lines = (tmp_path / "d.answers.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert names(tmp_path) == {"d.answers.jsonl"}


@pytest.mark.parametrize("step", [Says("OK"), Says("[1]"), Refuses(), IsCut("{")])
def test_junk_throughout_leaves_no_file_that_blocks_the_next_run(
    store: Path, tmp_path: Path, step: Step
) -> None:
    out = tmp_path / "d.jsonl"
    with standing_in([step]) as model:
        result = run(store, out, model.endpoint)
        assert result.exit_code == 1, result.stderr
        assert "0 of 6 questions" in result.stdout
        assert "no golden file was written" in result.stdout
        assert not out.exists()
        asides = json.loads((tmp_path / "d.set-aside.json").read_text())["set_aside"]
        assert all(each["reason"] for each in asides)
        model.script = writes_and_judges
        assert run(store, out, model.endpoint).exit_code == 0
    assert len(load_golden(out)) == 6


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: path.symlink_to("nowhere")])
def test_what_is_there_is_never_written_over(
    store: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    out = tmp_path / "d.jsonl"
    make(out)
    with standing_in(writes_and_judges) as model:
        result = run(store, out, model.endpoint)
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert model.asked == []
    assert names(tmp_path) == {"d.jsonl"}


def test_a_file_that_comes_in_the_meantime_stays(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.jsonl"

    def script(request: Request) -> Step:
        out.write_text("mine")
        return writes_and_judges(request)

    with standing_in(script) as model:
        result = run(store, out, model.endpoint)
        assert result.exit_code == 2
        assert "asks nobody again" in result.stderr
        assert out.read_text() == "mine"
        asked = len(model.asked)
        answers = tmp_path / "d.answers.jsonl"
        again = run(store, tmp_path / "e.jsonl", model.endpoint, "--answers", answers)
    assert again.exit_code == 0
    assert len(model.asked) == asked
    assert len(load_golden(tmp_path / "e.jsonl")) == 6


@pytest.mark.parametrize("folder", ["none", "file"])
def test_a_folder_that_cannot_be_written_to_is_said_before_anybody_is_asked(
    store: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    with standing_in(writes_and_judges) as model:
        for more in ([], ["--answers", tmp_path / folder / "answers.jsonl"]):
            out = tmp_path / "d.jsonl" if more else tmp_path / folder / "d.jsonl"
            result = run(store, out, model.endpoint, *more)
            assert result.exit_code == 2
            assert "Make it" in result.stderr
        assert model.asked == []


def test_one_file_cannot_be_both_drafts_and_answers(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.jsonl"
    result = run(store, out, "http://127.0.0.1:9/v1#x", "--answers", out)
    assert result.exit_code == 2
    assert "two different files" in result.stderr


def test_a_budget_ends_a_run_with_what_there_is(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.jsonl"
    with standing_in(writes_and_judges) as model:
        limits = ["--max-tokens", 30, "--concurrency", 1, "--no-evolve"]
        result = run(store, out, model.endpoint, *limits)
    assert result.exit_code in {0, 1}
    assert "No more was tried: the budget was spent." in result.stdout
    assert len(model.asked) < 12


def test_dollars_need_a_known_price(store: Path, tmp_path: Path) -> None:
    result = run(store, tmp_path / "d.jsonl", "http://127.0.0.1:9/v1#x", "--max-usd", 1)
    assert result.exit_code == 2
    assert "give --max-tokens" in result.stderr


def test_a_critic_of_its_own_judges(store: Path, tmp_path: Path) -> None:
    with standing_in(writes_and_judges) as writer, standing_in(writes_and_judges) as critic:
        more = ["--critic", critic.endpoint, "--no-evolve"]
        assert run(store, tmp_path / "d.jsonl", writer.endpoint, *more).exit_code == 0
    assert len(writer.asked) == len(critic.asked) == 6
    assert not any(map(is_critic, writer.asked))
    assert all(map(is_critic, critic.asked))


def test_only_the_paths_that_are_named_are_asked_about(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.jsonl"
    with standing_in(writes_and_judges) as model:
        result = run(store, out, model.endpoint, "-p", "dairy.md", "-p", "stable.md")
        missing = run(store, tmp_path / "e.jsonl", model.endpoint, "-p", "none.md")
    assert result.exit_code == 0
    assert {each.expected[0].partition("#")[0] for each in load_golden(out)} == {
        "dairy.md",
        "stable.md",
    }
    assert "2 of 6 questions" in result.stdout
    assert "Of 2 sections 2 can be asked about, each once" in result.stdout
    assert missing.exit_code == 2


def test_examples_are_read_and_shown_to_the_writer(store: Path, tmp_path: Path) -> None:
    examples = tmp_path / "asked.txt"
    examples.write_text("\nwhen may i go home?\n\n")
    with standing_in(writes_and_judges) as model:
        run(store, tmp_path / "d.jsonl", model.endpoint, "--examples", examples)
        examples.write_bytes(b"caf\xe9\n")
        result = run(store, tmp_path / "e.jsonl", model.endpoint, "--examples", examples)
    written = [request for request in model.asked if not is_critic(request)]
    assert all("  when may i go home?\n" in request.question for request in written)
    assert result.exit_code == 2
    assert "line 1: not UTF-8" in result.stderr


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--mix", "fact=nan"], "0 or more, not nan"),
        (["--mix", "fact=-1,why=2"], "0 or more, not -1"),
        (["--mix", "facts=1"], "'facts' is no kind of question"),
        (["--mix", "fact"], "Write it as fact=0.3"),
        (["--mix", "fact=much"], "Write it as fact=0.3"),
        (["--mix", "fact=1,fact=2"], "stands there twice"),
        (["--mix", "fact=0"], "asks for nothing"),
        (["-n", "0"], "-n"),
        (["--writer", "somebody"], "names no model that chats"),
        (["--writer", "openai:x"], "needs a key"),
        (["--examples", "nowhere.txt"], "There is no file"),
    ],
)
def test_wrong_use_is_refused_with_a_sentence(
    store: Path, tmp_path: Path, more: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTEXTPULL_MODEL_KEY", raising=False)
    result = run(store, tmp_path / "d.jsonl", "http://127.0.0.1:9/v1#x", *more)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert names(tmp_path) == set()


def test_progress_off_a_terminal_goes_to_stderr(store: Path, tmp_path: Path) -> None:
    with standing_in(writes_and_judges) as model:
        result = run(store, tmp_path / "d.jsonl", model.endpoint, "--json")
    assert "drafts: " in result.stderr
    assert json.loads(result.stdout)["drafts"] == 6


def test_a_writer_may_fence_its_json(store: Path, tmp_path: Path) -> None:
    def script(request: Request) -> Step:
        if is_critic(request):
            return writes_and_judges(request)
        answer: dict[str, Any] = sound(request.question)
        return Says(f"```json\n{json.dumps(answer)}\n```")

    with standing_in(script) as model:
        assert run(store, tmp_path / "d.jsonl", model.endpoint).exit_code == 0


def test_the_help_shows_the_usual_mix() -> None:
    shown = dict(part.split("=") for part in contextpull.cli.golden_writing._MIX.split(","))
    assert {kind: float(share) for kind, share in shown.items()} == MIX

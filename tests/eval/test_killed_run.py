"""A run that ends before its end: what is kept, what is said, and how it goes on."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.eval.asking import ask_all
from contextpull.eval.ledger import Ledger
from contextpull.eval.transcripts import Transcript
from contextpull.store.ingest import ingest
from contextpull.types import Question
from tests.agent_runs import (
    asked,
    figures,
    kept,
    number_of,
    reads_and_answers,
    run,
    start,
    write_set,
)
from tests.conftest import hear_interrupts, write_corpus
from tests.properties import same_every_time
from tests.standins import Gate, Held, Request, Says, StandIn, Step, standing_in

pytest.importorskip("openai")

AGAIN = "no further question is asked; what is under way is finished and kept."


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write_set(tmp_path, 6)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def model(gate: Gate) -> Iterator[StandIn]:
    """A model that holds the first request of question 3 until the gate is opened."""

    def script(request: Request) -> Step:
        step = reads_and_answers(request)
        is_third = number_of(request) == 3 and request.turn == 0
        return Held(step, gate) if is_third and not gate.opened.is_set() else step

    with standing_in(script) as standin:
        yield standin


def options(files: list[str], model: StandIn, out: Path, concurrency: int = 1) -> list[str]:
    agent = ["--rows", "bm25,pull", "--model", model.endpoint, "--concurrency", str(concurrency)]
    return [*files, *agent, "--out", str(out), "--json"]


def undisturbed(files: list[str], folder: Path) -> dict[str, object]:
    with standing_in(reads_and_answers) as model:
        return figures(json.loads(run(*options(files, model, folder)).stdout))


def without_address(report: dict[str, object]) -> str:
    """A stand-in has another address each time, which shows in the agent's fingerprint only."""
    report["agents"]["pull"].pop("fingerprint")  # type: ignore[index]
    return json.dumps(report, sort_keys=True)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_killed_run_asks_only_what_is_missing_and_comes_to_the_same_figures(
    files: list[str], model: StandIn, gate: Gate, tmp_path: Path, concurrency: int
) -> None:
    out = tmp_path / "run"
    arguments = options(files, model, out, concurrency)
    with start(*arguments) as process:
        assert gate.reached.wait(timeout=60)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    before = kept(out)
    assert "q3" not in before
    assert before[:2] == ["q1", "q2"] or concurrency > 1
    assert not (out / "run.json").exists()
    gate.opened.set()
    model.asked.clear()
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    missing = {f"q{number}" for number in range(1, 7)} - set(before)
    assert {f"q{number}" for number in asked(model)} == missing
    assert len(asked(model)) == len(missing)
    report = json.loads(result.stdout)
    assert report["agents"]["pull"]["replayed"] == len(before)
    expected = without_address(undisturbed(files, tmp_path / "other"))
    assert without_address(figures(report)) == expected


def test_a_line_that_was_being_written_is_asked_again_and_spoils_no_other(
    files: list[str], model: StandIn, gate: Gate, tmp_path: Path
) -> None:
    gate.opened.set()
    arguments = options(files, model, tmp_path / "run")
    first = run(*arguments)
    transcripts = tmp_path / "run" / "transcripts.jsonl"
    transcripts.write_bytes(transcripts.read_bytes()[:-40])
    model.asked.clear()
    second = run(*arguments)
    assert asked(model) == [6]
    assert figures(json.loads(second.stdout)) == figures(json.loads(first.stdout))
    model.asked.clear()
    assert run(*arguments, "--offline").exit_code == 0
    assert asked(model) == []


@same_every_time(60)
@given(share=st.floats(0, 1), text=st.text())
def test_a_ledger_that_is_cut_anywhere_keeps_every_whole_line_and_takes_new_ones(
    share: float, text: str
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "transcripts.jsonl")
        ledger = Ledger(path)
        made = {
            key: Transcript(question_id=key, question=text, outcome="ok", answer=text)
            for key in ("one", "two", "three")
        }
        for key, transcript in made.items():
            ledger.add(key, "pull", transcript)
        written = path.read_bytes()
        data = written[: round(share * len(written))]
        path.write_bytes(data)
        torn = Ledger(path)
        ends = [at for at, byte in enumerate(written) if byte == ord("\n")]
        whole = sum(end <= len(data) for end in ends)
        assert len(torn) == whole
        torn.add("four", "pull", made["one"])
        again = Ledger(path)
        assert len(again) == whole + 1
        for key in list(made)[:whole]:
            assert again.get(key) == made[key]


def test_what_an_agent_raises_ends_the_asking_and_keeps_what_came_before(tmp_path: Path) -> None:
    class Breaks:
        row_name = fingerprint = "breaks"
        concurrency = 1

        def run(self, question: Question) -> Transcript:
            if question.id == "two":
                raise ZeroDivisionError
            return Transcript(question_id=question.id, question="?", outcome="ok", answer="!")

    ledger = Ledger(tmp_path / "transcripts.jsonl")
    questions = [Question(name, "?", "", ()) for name in ("one", "two", "three")]
    with pytest.raises(ZeroDivisionError):
        ask_all(Breaks(), questions, ledger, corpus="")
    assert kept(tmp_path) == ["one"]


def test_two_runs_never_write_to_one_folder_at_once(
    files: list[str], model: StandIn, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = options(files, model, out)
    with start(*arguments) as process:
        assert gate.reached.wait(timeout=60)
        model_before = len(model.asked)
        second = run(*arguments)
        assert second.exit_code == 2
        assert f"Another process is writing to the run in '{out}'" in second.stderr
        assert len(model.asked) == model_before
        gate.opened.set()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert kept(out) == [f"q{number}" for number in range(1, 7)]
    assert run(*arguments, "--offline").exit_code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_finishes_what_is_under_way_and_says_how_to_go_on(
    files: list[str],
    model: StandIn,
    gate: Gate,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    out = tmp_path / "run"
    arguments = options(files, model, out)
    with start(*arguments) as process:
        assert process.stderr
        assert gate.reached.wait(timeout=60)
        process.send_signal(number)
        assert any(AGAIN in line for line in process.stderr)
        gate.opened.set()
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"Interrupted. What was answered is kept in {out}: the same command goes on" in stderr
    assert "Traceback" not in stderr
    assert stdout == ""
    assert kept(out) == ["q1", "q2", "q3"]
    assert asked(model) == [1, 2, 3]
    assert run(*arguments).exit_code == 0
    assert asked(model) == [1, 2, 3, 4, 5, 6]


def test_a_second_interrupt_drops_what_is_under_way(
    files: list[str], model: StandIn, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with start(*options(files, model, out)) as process:
        assert process.stderr
        assert gate.reached.wait(timeout=60)
        process.send_signal(signal.SIGINT)
        assert any(AGAIN in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted. What was answered is kept" in stderr
    assert "Traceback" not in stderr
    assert kept(out) == ["q1", "q2"]


def test_a_second_interrupt_takes_claude_code_along(files: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        calls_us = f"socket.create_connection({listener.getsockname()!r}).recv(1)"
        claude = tmp_path / "claude"
        claude.write_text(f"#!{sys.executable}\nimport socket\n{calls_us}\n")
        claude.chmod(0o755)
        rows = ["--rows", "claude-code", "--claude", claude, "--concurrency", 1]
        with start(*files, *rows) as process:
            assert process.stderr
            line, _ = listener.accept()
            process.send_signal(signal.SIGINT)
            assert any(AGAIN in said for said in process.stderr)
            process.send_signal(signal.SIGINT)
            line.settimeout(60)
            assert line.recv(1) == b""  # since nobody is left at the other end
            line.close()
            _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Nothing is kept: with --out FOLDER" in stderr


def test_a_folder_that_cannot_be_written_to_is_said_before_anybody_is_asked(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    result = run(*options(files, model, tmp_path / "file" / "run"))
    assert result.exit_code == 2
    assert "Nothing can be kept in" in result.stderr
    assert "name another folder" in result.stderr
    assert model.asked == []


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_only_be_read_is_said_to_be(
    files: list[str], model: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir(mode=0o555)
    result = run(*options(files, model, tmp_path / "run"))
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr
    assert model.asked == []


@pytest.fixture
def stored(files: list[str], tmp_path: Path) -> list[str]:
    """The same questions over a store, so that the command writes nothing but the run."""
    pages = {f"{n}.md": f"# Kettle\n\nIt boils in {n} minutes.\n" for n in range(1, 7)}
    ingest(write_corpus(tmp_path / "docs", pages), tmp_path / "store")
    return [*files[:2], "--store", str(tmp_path / "store")]


def test_a_full_disk_is_said_before_anybody_is_asked(
    stored: list[str], model: StandIn, tmp_path: Path
) -> None:
    with start(*options(stored, model, tmp_path / "run"), most_bytes=100_000) as process:
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Nothing can be kept in" in stderr
    assert "Make room there" in stderr
    assert model.asked == []


def test_a_disk_that_fills_up_ends_the_run_and_loses_nothing_that_was_kept(
    stored: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with standing_in([Says("word " * 50_000)]) as model:
        arguments = options(stored, model, out)
        with start(*arguments, most_bytes=1_200_000) as process:
            _, stderr = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "Cannot keep the transcripts in" in stderr
        assert "What was kept before is whole." in stderr
        assert kept(out) == ["q1", "q2"]
        assert not (out / "transcripts.jsonl").read_bytes().endswith(b"\n")
        assert asked(model) == [1, 2, 3]
        model.asked.clear()
        assert run(*arguments).exit_code == 0
        assert asked(model) == [3, 4, 5, 6]


def test_a_run_that_dies_while_its_files_are_written_leaves_no_mixture(
    files: list[str], model: StandIn, gate: Gate, tmp_path: Path
) -> None:
    gate.opened.set()
    out = tmp_path / "run"
    arguments = options(files, model, out)
    assert run(*arguments).exit_code == 0
    (out / "report.json").unlink()
    (out / "report.json").mkdir()  # which no file can replace
    assert run(*arguments).exit_code == 2
    assert not (out / "run.json").exists()
    (out / "report.json").rmdir()
    assert run(*arguments, "--offline").exit_code == 0
    assert (out / "run.json").exists()


def test_an_interrupt_just_as_the_last_answer_comes_is_not_waited_for_ever() -> None:
    code = """
        import _thread
        from contextpull.eval.metered import Meter, ask_for_all

        def ask(job):
            sum(range(500_000))  # until the others wait
            _thread.interrupt_main()

        for interrupted in range(20):
            try:
                ask_for_all([1], ask, concurrency=1, meter=Meter(total=1))
            except KeyboardInterrupt:
                continue
            break
        print(interrupted)
    """
    command = [sys.executable, "-c", dedent(code)]
    done = subprocess.run(
        command,
        preexec_fn=hear_interrupts,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "19\n"

"""A kept run is scored anew from its folder alone, and can be published without its text."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from tests.agent_runs import lines, number_of, reads_and_answers, run, write_set
from tests.standins import Fails, Request, Says, Step, standing_in

pytest.importorskip("openai")


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["eval", *map(str, arguments)])


def script(request: Request) -> Step:
    """Answers, but for the third question, which fails."""
    return Fails(400) if number_of(request) == 3 else reads_and_answers(request)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a push row and an agent, judged; its corpus and model are gone."""
    place = tmp_path_factory.mktemp("set")
    with standing_in(script) as model:
        rows = ["--rows", "bm25,pull", "--model", model.endpoint, "--repeats", 2]
        run(*write_set(place, 4), *rows, "--close-gold", "--out", place / "run")
        model.script = [Says('{"reason": "It boils in two minutes.", "score": 1}')]
        command("judge", place / "run", "--judge", model.endpoint)
    for name in ("questions", "sections"):
        (place / f"{name}.jsonl").unlink()
    return place / "run"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def test_a_run_replays_without_its_corpus_and_its_model(folder: Path) -> None:
    result = command("replay", folder)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (folder / "table.txt").read_text()
    assert "All figures are those that were kept." in result.stderr


def test_shapes_may_be_left_out_of_what_is_printed(folder: Path) -> None:
    shape = lines(folder / "questions.jsonl")[0]["shape"]
    assert f"\n  {shape} " in command("replay", folder).stdout
    short = command("replay", folder, "--no-shapes")
    assert f"\n  {shape} " not in short.stdout
    assert "pull, read" in short.stdout
    assert short.exit_code == 0


def test_a_replay_as_json_is_the_report_but_for_what_was_kept_before(folder: Path) -> None:
    report = json.loads(command("replay", folder, "--json").stdout)
    kept = json.loads((folder / "report.json").read_text())
    assert report["rows"] == kept["rows"]
    assert report["agents"]["pull"]["replayed"] == 8


def test_a_figure_that_was_changed_is_named(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    report["rows"][0]["measures"]["recall@5"]["mean"] = 0.123
    (folder / "report.json").write_text(json.dumps(report))
    result = command("replay", folder)
    assert result.exit_code == 1
    assert "rows[0].measures.recall@5.mean: 0.123 was kept, 1.0 is found" in result.stderr


def test_a_transcript_that_is_missing_is_named(folder: Path) -> None:
    path = folder / "transcripts.jsonl"
    kept = [each for each in lines(path) if each["transcript"]["question_id"] != "q2"]
    path.write_text("".join(json.dumps(each) + "\n" for each in kept))
    result = command("replay", folder)
    assert result.exit_code == 2
    assert "lacks the transcript of 'q2' in the row 'pull'" in result.stderr


def test_transcripts_of_another_prompt_do_not_count(folder: Path) -> None:
    path = folder / "transcripts.jsonl"
    others = [{**each, "key": f"stale{n}"} for n, each in enumerate(lines(path))]
    with path.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in others)
    assert command("replay", folder).exit_code == 0


def test_a_published_copy_replays_and_holds_no_text_of_the_documents(
    folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "published"
    assert command("publish", folder, copy).exit_code == 0
    assert command("replay", copy).exit_code == 0
    assert "boils" in (folder / "transcripts.jsonl").read_text()
    assert not [each.name for each in copy.iterdir() if "boils" in each.read_text()]
    assert json.loads((copy / "run.json").read_text())["has_text"] is False
    assert command("compare", folder, copy).exit_code == 0
    assert "2.md#kettle" in command("show", copy, "q2").stdout


def test_judgements_are_published_without_their_reasons(folder: Path, tmp_path: Path) -> None:
    command("publish", folder, tmp_path / "copy")
    kept, shown = (lines(each / "judgements.jsonl") for each in (folder, tmp_path / "copy"))
    assert [{**each, "reason": ""} for each in kept] == shown
    assert any(each["score"] == 1 for each in shown)


def test_nothing_is_published_over_something(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.txt").write_text("mine")
    result = command("publish", folder, tmp_path / "copy")
    assert result.exit_code == 2
    assert "There is something at" in result.stderr
    assert [each.name for each in (tmp_path / "copy").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["replay", "publish"])
def test_a_folder_without_a_finished_run_is_refused(name: str, tmp_path: Path) -> None:
    result = command(name, tmp_path, *([tmp_path / "copy"] if name == "publish" else []))
    assert result.exit_code == 2
    assert "holds no finished run" in result.stderr

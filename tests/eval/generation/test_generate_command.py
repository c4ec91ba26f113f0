"""`contextpull eval generate`, from the command line's side."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import contextpull.cli.generate
from contextpull.adapters.export import passages
from contextpull.adapters.ragbisect import load_questions, save_passages
from contextpull.cli.evaluate import eval_group
from contextpull.errors import ContextPullError, EvaluationError, ModelUnavailable
from contextpull.eval.generation.chat_writer import ChatWriter
from contextpull.eval.generation.plan import SHAPES
from contextpull.models.chat import Message, Reply, ToolDefinition, Usage
from contextpull.store import open_store
from contextpull.store.ingest import ingest
from tests.terminals import watched

DEMO = Path(__file__).parents[3] / "demo" / "corpus"


class Talker:
    """A chat model with one answer."""

    name = "scripted:model"
    fingerprint = "0123456789abcdef"

    def __init__(self, text: str = "{}", **fields: Any) -> None:
        self.text = text
        self.fields = fields
        self.calls = 0

    def settings(self) -> dict[str, Any]:
        return {}

    def reply(
        self,
        system: str,
        messages: list[Message],
        *,
        tools: list[ToolDefinition] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        self.calls += 1
        return Reply(self.text, (), Usage(input=10, output=2), "stop", **self.fields)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("demo")
    ingest(DEMO, folder)
    return str(folder)


@pytest.fixture
def talker(monkeypatch: pytest.MonkeyPatch) -> Talker:
    model = Talker()
    monkeypatch.setattr(
        contextpull.cli.generate,
        "open_writer",
        lambda spec, key: ChatWriter(model),  # type: ignore[arg-type]
    )
    return model


def run(*arguments: object) -> Result:
    return CliRunner().invoke(eval_group, ["generate", *map(str, arguments)])


def test_questions_load_again_and_the_report_counts_them(store: str, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    result = run("--store", store, "--out", out, "--per-shape", 20, "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    report = json.loads(result.stdout)
    questions = load_questions(out)
    assert report["questions"] == len(questions) == 60
    shapes = {name: each["questions"] for name, each in report["shapes"].items()}
    assert shapes == {
        "conceptual": 0,
        "exact_lookup": 20,
        "comparison": 0,
        "aggregation": 20,
        "table": 20,
    }
    assert report["shapes"]["conceptual"]["skipped"] == "needs --writer MODEL"
    assert report["writer"] is None


def test_the_sidecar_says_how_the_set_was_made(store: str, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    run("--store", store, "--out", out, "--per-shape", 100, "--seed", 7)
    record = json.loads((tmp_path / "set.report.json").read_text())
    assert record["plan"]["seed"] == 7
    assert record["corpus"]["documents"] == 19
    assert len(record["corpus"]["fingerprint"]) == 64
    assert record["shapes"]["comparison"]["skipped"] == "needs --writer MODEL"
    asides = record["set_aside"]
    assert len(asides) == sum(each["set_aside"] for each in record["shapes"].values()) > 0
    assert all(each["reason"] and each["about"] for each in asides)
    assert not (tmp_path / "set.answers.jsonl").exists()


def test_text_report_goes_to_stdout(store: str, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    result = run("--store", store, "--out", out, "--shapes", "table,conceptual", "--per-shape", 5)
    assert result.stdout.splitlines() == [
        "conceptual        0 of 5  skipped: needs --writer MODEL",
        "table             5 of 5  by rule",
        f"5 questions are in {out}; what was set aside, and why, is in"
        f" {tmp_path / 'set.report.json'}.",
    ]


def test_a_store_and_its_exported_sections_give_the_same_set(store: str, tmp_path: Path) -> None:
    save_passages(tmp_path / "sections.jsonl", passages(open_store(store).snapshot()))
    run("--store", store, "--out", tmp_path / "a.jsonl")
    run("--sections", tmp_path / "sections.jsonl", "--out", tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert (tmp_path / "a.report.json").read_bytes() == (tmp_path / "b.report.json").read_bytes()


def test_bm25_answers_them_neither_all_nor_none(store: str, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    run("--store", store, "--out", out)
    arguments = ["run", "--questions", str(out), "--store", store, "--rounds", "200", "--json"]
    result = CliRunner().invoke(eval_group, arguments)
    [row] = json.loads(result.stdout)["rows"]
    assert row["errors"] == 0
    recall = {name: each["measures"]["recall@5"]["mean"] for name, each in row["shapes"].items()}
    assert all(each > 0.4 for each in recall.values())
    assert recall["aggregation"] < 0.9


def test_a_file_that_is_there_is_replaced_by_force_only(store: str, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    out.write_text("mine")
    result = run("--store", store, "--out", out)
    assert isinstance(result.exception, EvaluationError)
    assert "is there already" in str(result.exception)
    assert out.read_text() == "mine"
    assert run("--store", store, "--out", out, "--force").exit_code == 0
    assert load_questions(out)


def test_a_file_that_comes_in_the_meantime_is_not_replaced(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextpull.eval.generation import generating

    out = tmp_path / "set.jsonl"
    generate = generating.generate

    def and_meanwhile(*arguments: Any) -> Any:
        out.write_text("somebody else's")
        return generate(*arguments)

    monkeypatch.setattr(generating, "generate", and_meanwhile)
    result = run("--store", store, "--out", out, "--shapes", "table")
    assert isinstance(result.exception, EvaluationError)
    assert out.read_text() == "somebody else's"


def test_no_questions_leave_no_file(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nNothing in here has a name or a table.\n")
    ingest(tmp_path / "docs", tmp_path / "store")
    out = tmp_path / "set.jsonl"
    result = run("--store", tmp_path / "store", "--out", out)
    assert result.exit_code == 1
    assert "nothing was written" in result.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["docs", "store"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "either --sections or --store"),
        (["--store", "x", "--sections", "y"], "either --sections or --store"),
        (["--store", "x", "--shapes", "tables"], "'tables' is no shape"),
        (["--store", "x", "--per-shape", "0"], "per-shape"),
        (["--store", "x", "--most-gold", "1"], "most-gold"),
    ],
)
def test_wrong_use_is_refused_with_a_sentence(
    tmp_path: Path, arguments: list[str], reason: str
) -> None:
    result = run("--out", tmp_path / "set.jsonl", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_a_missing_folder_is_said_before_any_work(store: str, tmp_path: Path) -> None:
    result = run("--store", store, "--out", tmp_path / "none" / "set.jsonl")
    assert isinstance(result.exception, EvaluationError)
    assert "Make it first" in str(result.exception)


def test_a_missing_store_is_an_error(tmp_path: Path) -> None:
    result = run("--store", tmp_path / "none", "--out", tmp_path / "set.jsonl")
    assert isinstance(result.exception, ContextPullError)


def test_the_command_knows_all_shapes() -> None:
    assert contextpull.cli.generate._SHAPES == SHAPES


def test_progress_shows_on_a_terminal(
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = watched(monkeypatch)
    with pytest.raises(SystemExit) as caught:
        eval_group.main(["generate", "--store", store, "--out", str(tmp_path / "s.jsonl")])
    assert caught.value.code == 0
    assert "aggregation" in terminal.getvalue()
    assert "aggregation     100 of 100" in capsys.readouterr().out


# The writer


def draft(**fields: Any) -> str:
    empty = {"reason": "", "question": "", "answer": "", "quotes": [], "identifier": ""}
    return json.dumps({"suitable": False} | empty | fields)


def test_calls_and_tokens_of_the_writer_are_counted(
    store: str, tmp_path: Path, talker: Talker
) -> None:
    talker.text = draft(reason="no")
    arguments = ["--store", store, "--out", tmp_path / "set.jsonl", "--per-shape", 4, "--json"]
    report = json.loads(run(*arguments, "--writer", "scripted:model").stdout)
    writer = report["writer"]
    assert writer["model"] == "scripted:model 0123456789abcdef"
    assert writer["calls"] == talker.calls > 10
    assert writer["tokens"]["input"] == 10 * talker.calls
    assert report["shapes"]["conceptual"]["skipped"] == "12 candidates in a row gave no question"
    declined = {each["reason"] for each in report["set_aside"]} - {""}
    assert "the writer declined: no" in declined
    again = json.loads(run(*arguments, "--writer", "scripted:model", "--force").stdout)
    assert (again["writer"]["calls"], again["writer"]["cached"]) == (0, writer["calls"])


def test_a_fenced_answer_is_read(talker: Talker) -> None:
    talker.text = f"```json\n{draft(reason='x')}\n```"
    assert ChatWriter(talker)("prompt", {})["reason"] == "x"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("Sure! Here it is.", {}, "Expecting value"),
        ("", {"refusal": "not today"}, "refused: not today"),
        ('{"suit', {"is_cut": True}, "cut off"),
    ],
)
def test_answers_that_are_none_are_value_errors(
    text: str, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        ChatWriter(Talker(text, **fields))("prompt", {})  # type: ignore[arg-type]


def test_a_model_that_does_not_answer_leaves_no_questions_behind(
    store: str, tmp_path: Path, talker: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any, **__: Any) -> Reply:
        raise ModelUnavailable("The endpoint cannot be reached.")

    monkeypatch.setattr(talker, "reply", unreachable)
    result = run("--store", store, "--out", tmp_path / "set.jsonl", "--writer", "m")
    assert isinstance(result.exception, ModelUnavailable)
    assert list(tmp_path.iterdir()) == []

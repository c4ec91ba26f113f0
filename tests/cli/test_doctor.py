"""`contextpull doctor`: the server as a host would see it."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from contextpull.server.hosting.launching import Launch
from contextpull.server.hosting.probing import look
from contextpull.server.hosting.report import facts_of, lines_of
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = {"a.md": "# Cache\n\nClear it with `tool clean`, as often as it is needed.\n"}
MANY = {f"{n:03}.md": f"# Rule {n} of the house, as agreed\n\nBe kind.\n" for n in range(200)}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "docs", DOCUMENTS)


def doctor(*arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "contextpull", "doctor", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_a_folder_is_served_as_for_a_host(docs: Path, tmp_path: Path) -> None:
    done = doctor("docs", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    server = report["server"]
    assert server["command"][-4:] == [
        *("serve", str(docs), "--store", str(tmp_path / ".contextpull"))
    ]
    assert server["protocol"] == "2026-07-28"
    assert server["server"].startswith("contextpull ")
    assert server["seconds"] > 0
    assert [tool["name"] for tool in server["tools"]] == ["search", "grep", "read", "index"]
    assert 200 < server["tools_tokens"] < 2_000
    assert [each["call"] for each in server["results"]] == ["index", "read a.md"]
    assert (server["resources"], server["templates"], server["prompts"]) == (2, 3, 3)
    assert server["problems"] == []
    assert report["is_current"]


def test_it_is_told_to_a_person_too(docs: Path, tmp_path: Path) -> None:
    done = doctor("docs", cwd=tmp_path)
    assert done.returncode == 0
    assert f"host runs    {sys.executable.rpartition('/')[0]}" in done.stdout
    assert "greeting     contextpull " in done.stdout
    assert "no host cuts them" in done.stdout
    assert "state        sound and up to date" in done.stdout


def test_without_a_folder_the_store_is_served_as_it_is(docs: Path, tmp_path: Path) -> None:
    ingest(docs, tmp_path / ".contextpull")
    write_corpus(docs, {"new.md": "# New\n\nIt came later than the others, and is not read.\n"})
    report = json.loads(doctor("--json", cwd=tmp_path).stdout)
    assert report["server"]["command"][-2:] == ["serve", str(tmp_path / ".contextpull")]
    assert report["server"]["problems"] == []
    assert (report["store"]["generation"], report["store"]["new"]) == (1, 1)


def test_without_a_store_nothing_is_started_or_made(tmp_path: Path) -> None:
    done = doctor("--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["server"], report["store"]) == (1, None, None)
    assert "contextpull ingest FOLDER" in report["problem"]
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_fails_is_told_with_its_words(docs: Path, tmp_path: Path) -> None:
    ingest(write_corpus(tmp_path / "other", DOCUMENTS), tmp_path / "store")
    done = doctor("docs", "--store", "store", cwd=tmp_path)
    assert done.returncode == 1
    assert "problem      The server failed before it answered" in done.stdout
    assert "holds the corpus" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_what_python_prints_before_the_server_is_named(docs: Path, tmp_path: Path) -> None:
    site = write_corpus(
        tmp_path / "site",
        {"sitecustomize.py": "import sys\nif 'serve' in sys.orig_argv: print('hello there')\n"},
    )
    done = doctor("docs", "--json", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 1
    server = json.loads(done.stdout)["server"]
    assert server["stray_output"] == ["hello there"]
    (problem,) = server["problems"]
    assert "'hello there'" in problem
    assert f"sitecustomize ({site / 'sitecustomize.py'})" in problem
    assert server["protocol"] == "2026-07-28"


def test_every_extra_is_listed_with_what_is_missing(tmp_path: Path) -> None:
    provided = set(metadata.metadata("contextpull").get_all("Provides-Extra") or [])
    report = json.loads(doctor("--json", cwd=tmp_path).stdout)
    assert set(report["extras"]) == provided - {"dev", "all"}
    assert all(isinstance(missing, list) for missing in report["extras"].values())
    assert report["packages"]["mcp"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit('contextpull: broken')", "failed before it answered"),
        ("import sys; sys.stdin.read()", "gave no answer in 2 seconds"),
    ],
)
def test_a_server_that_does_not_answer_is_given_up(code: str, expected: str) -> None:
    facts = seen(Launch(sys.executable, ("-c", code)), patience=2)
    (problem,) = facts["problems"]
    assert expected in problem
    assert facts["tools"] == []
    assert any(expected in line for line in lines_of(facts))


@pytest.mark.parametrize("program", ["/nowhere/contextpull", __file__])
def test_a_program_that_cannot_be_started_is_told(program: str) -> None:
    (problem,) = seen(Launch(program, ("serve",)))["problems"]
    assert f"The program '{program}' cannot be started" in problem


def seen(launch: Launch, patience: float = 60) -> dict[str, Any]:
    return facts_of(look(launch, dict(os.environ), patience))


def test_what_older_hosts_cut_of_the_instructions_is_told(tmp_path: Path) -> None:
    ingest(write_corpus(tmp_path / "docs", MANY), tmp_path / ".contextpull")
    report = json.loads(doctor("--json", cwd=tmp_path).stdout)["server"]
    told = report["instructions"]
    (cut,) = told["cuts"]
    assert (cut["at"], cut["lost"]) == (2_048, told["chars"] - 2_048)
    assert report["problems"] == []
    assert f"lose {cut['lost']:,}, from {cut['from']!r} on" in "\n".join(lines_of(report))


def test_the_page_on_hosts_shows_what_it_prints(tmp_path: Path) -> None:
    page = ROOT.joinpath("docs", "hosts.md").read_text(encoding="utf-8").splitlines()
    printed = doctor(str(ROOT / "demo" / "corpus"), cwd=tmp_path).stdout.splitlines()
    shown = [line for line in printed if line.split()[0] in {"instructions", "tools", "results"}]
    assert len(shown) == 3
    assert set(shown) <= set(page)

"""A folder of runs served to this machine: what is listed, shown, refused and left alone."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from click.testing import CliRunner

pytest.importorskip("jinja2")

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.report.finding import DEEPEST, FoundRuns, find_runs
from contextpull.eval.report.listing import list_page
from contextpull.eval.report.rendering import Page
from contextpull.eval.report.serving import RunsServer
from tests.conftest import hear_interrupts
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, keep_run

PATIENCE = 120
"""Seconds that a process may take before it is given up; far more than it needs."""


class Reply:
    """What a server said to one request."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


class Served:
    """A server that makes small pages, with what it was asked to make."""

    def __init__(self, root: Path) -> None:
        self.made: list[list[str]] = []
        self.server = RunsServer(root, 0, list_page=self._list, report_page=self._report)
        self.port = self.server.server_port

    def ask(self, target: str, method: str = "GET", **headers: str) -> Reply:
        return ask(self.port, target, method, **headers)

    def _list(self, found: FoundRuns, _folder: str) -> Page:
        return Page("\n".join(each.name for each in found.runs), "default-src 'none'")

    def _report(self, folders: Sequence[Path]) -> Page:
        self.made.append([each.name for each in folders])
        if folders[0].name == "broken":
            raise EvaluationError("The run cannot be read.")
        return Page(f"<p>{[each.name for each in folders]}</p>", "default-src 'none'")


def ask(port: int, target: str, method: str = "GET", **headers: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        skip = "host" in headers
        connection.putrequest(method, target, skip_host=skip, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return Reply(connection.getresponse())
    finally:
        connection.close()


@contextmanager
def serving(root: Path) -> Iterator[Served]:
    served = Served(root)
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        served.server.server_close()
        thread.join(PATIENCE)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with an older and a newer run, one of them deeper."""
    root = tmp_path / "runs"
    keep_run(root / "old", {"bm25": FINDS_ONE, "hybrid": FINDS_ALL}, finished=1_000_000_000)
    keep_run(root / "deep" / "new", {"bm25": FINDS_ALL}, finished=1_500_000_000)
    return root


def test_runs_are_found_newest_first_with_their_best_row(runs: Path) -> None:
    found = find_runs(runs).runs
    assert [each.name for each in found] == ["deep/new", "old"]
    assert (found[1].best_row, found[1].recall.mean) == ("hybrid", 1.0)
    assert (found[1].rows, found[1].questions, found[1].model) == (2, 3, "a-model")


def test_what_an_agent_was_only_shown_is_no_best_row(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "run", {"bm25": FINDS_ONE}, {"pull": FINDS_ONE})
    report = json.loads((run / "report.json").read_text())
    surfaced = next(each for each in report["rows"] if each["row"] == "pull, surfaced")
    surfaced["measures"]["recall@5"]["mean"] = 1.0
    (run / "report.json").write_text(json.dumps(report))
    (found,) = find_runs(tmp_path).runs
    assert (found.best_row, found.k) == ("bm25", 5)


def test_a_run_itself_may_be_named(runs: Path) -> None:
    assert [each.name for each in find_runs(runs / "old").runs] == ["."]


def test_an_unfinished_run_is_none_and_a_spoilt_one_says_why(runs: Path) -> None:
    (runs / "deep" / "new" / "run.json").unlink()
    (runs / "old" / "report.json").write_text("{}")
    (found,) = find_runs(runs).runs
    assert found.problem.startswith("cannot be read")


def test_links_lead_nowhere(runs: Path, tmp_path: Path) -> None:
    outside = keep_run(tmp_path / "outside", {"bm25": FINDS_ALL})
    (runs / "linked").symlink_to(outside, target_is_directory=True)
    (runs / "old" / "table.txt").unlink()
    (runs / "old" / "table.txt").symlink_to(outside / "table.txt")
    assert [each.name for each in find_runs(runs).runs] == ["deep/new"]


def test_what_lies_very_deep_is_not_looked_for_and_that_is_said(runs: Path) -> None:
    deep = runs.joinpath(*["x"] * (DEEPEST + 1))
    keep_run(deep, {"bm25": FINDS_ALL})
    found = find_runs(runs)
    assert (len(found.runs), found.is_cut) == (2, True)


def test_the_list_shows_runs_that_were_made_since(runs: Path) -> None:
    with serving(runs) as served:
        assert served.ask("/").text == "deep/new\nold"
        keep_run(runs / "newest", {"bm25": FINDS_ALL})
        assert served.ask("/").text == "newest\ndeep/new\nold"


def test_a_report_is_made_once_and_again_when_a_file_has_changed(runs: Path) -> None:
    with serving(runs) as served:
        for _ in range(2):
            assert served.ask("/report?run=old").text == "<p>['old']</p>"
        assert served.made == [["old"]]
        os.utime(runs / "old" / "outcomes.jsonl", (1, 1))
        served.ask("/report?run=old")
        assert served.made == [["old"], ["old"]]


def test_several_runs_are_compared_the_newest_last_each_once(runs: Path) -> None:
    with serving(runs) as served:
        served.ask("/report?run=deep/new&run=old&run=old")
        assert served.made == [["old", "new"]]


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "../outside",
        "..",
        "/etc",
        "old/../../outside",
        "old/",
        "./old",
        "deep",
        "old\0",
        "",
        "%2e%2e/outside",
    ],
)
def test_only_runs_that_are_listed_are_shown(runs: Path, tmp_path: Path, name: str) -> None:
    keep_run(tmp_path / "outside", {"bm25": FINDS_ALL})
    with serving(runs) as served:
        reply = served.ask(f"/report?run={quote(name, safe='')}")
        assert reply.status in {400, 404}
        assert served.made == []


@pytest.mark.parametrize("path", ["/old/run.json", "/../outside/run.json", "//old", "/favicon.ico"])
def test_files_are_not_served(runs: Path, path: str) -> None:
    with serving(runs) as served:
        assert served.ask(path).status == 404


def test_too_many_runs_for_one_report_are_refused(runs: Path) -> None:
    with serving(runs) as served:
        query = "&".join(f"run={number}" for number in range(21))
        assert served.ask(f"/report?{query}").status == 400


def test_a_run_that_cannot_be_read_is_a_sentence_not_a_crash(runs: Path) -> None:
    keep_run(runs / "broken", {"bm25": FINDS_ALL})
    with serving(runs) as served:
        reply = served.ask("/report?run=broken")
        assert (reply.status, reply.text) == (422, "The run cannot be read.\n")
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert served.ask("/").status == 200


def test_a_run_of_an_older_program_says_what_to_do(runs: Path) -> None:
    report = runs / "old" / "report.json"
    report.write_text(report.read_text().replace('"hits"', '"strikes"'))
    result = CliRunner().invoke(cli, ["eval", "report", str(runs / "old")])
    assert result.exit_code == 2
    assert "lacks what a report needs" in result.output
    assert "--offline" in result.output


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil", ""])
def test_another_host_s_name_is_refused(runs: Path, host: str) -> None:
    with serving(runs) as served:
        reply = served.ask("/", host=host)
        assert reply.status == 403
        assert "deep/new" not in reply.text


def test_localhost_is_a_name_of_ours(runs: Path) -> None:
    with serving(runs) as served:
        assert served.ask("/", host=f"localhost:{served.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_get_and_head_is_answered(runs: Path, method: str) -> None:
    with serving(runs) as served:
        reply = served.ask("/report?run=old", method)
        assert reply.status in {405, 501}
        assert served.made == []


def test_head_has_the_headers_and_no_page(runs: Path) -> None:
    with serving(runs) as served:
        reply = served.ask("/", "HEAD")
        assert (reply.status, reply.text) == (200, "")
        assert int(reply.headers["content-length"]) == len("deep/new\nold")


def test_pages_are_not_kept_by_browsers_nor_framed_and_carry_their_policy(runs: Path) -> None:
    with serving(runs) as served:
        headers = served.ask("/report?run=old").headers
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_only_this_machine_can_connect(runs: Path) -> None:
    with serving(runs) as served:
        assert served.server.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_said(runs: Path) -> None:
    with serving(runs) as served, pytest.raises(InvalidInput, match="Take another --port"):
        RunsServer(runs, served.port, list_page=list_page, report_page=lambda _: Page("", ""))


def test_the_list_escapes_what_a_run_says_of_itself(tmp_path: Path) -> None:
    keep_run(
        tmp_path / "runs" / "<b>&\"'run",
        {"<script>alert(1)</script>": FINDS_ALL},
        model="</title><img src=x onerror=alert(1)>",
    )
    html = list_page(find_runs(tmp_path / "runs"), "</script>").html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert 'href="report?run=%3Cb%3E%26%22%27run"' in html


def test_a_folder_whose_name_is_no_text_is_listed_and_shown(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    keep_run(tmp_path / name, {"bm25": FINDS_ALL})
    html = list_page(find_runs(tmp_path), str(tmp_path)).html
    assert 'href="report?run=caf%E9"' in html
    with serving(tmp_path) as served:
        assert served.ask("/report?run=caf%E9").status == 200
        assert served.made == [[name]]


def test_an_empty_folder_says_how_to_make_a_run(tmp_path: Path) -> None:
    assert "contextpull eval run" in list_page(find_runs(tmp_path), str(tmp_path)).html


def test_a_folder_that_is_not_there_is_an_error() -> None:
    result = CliRunner().invoke(cli, ["eval", "view", "nowhere", "--port", "0"])
    assert result.exit_code == 2
    assert "There is no folder 'nowhere'" in result.output


def test_the_command_prints_its_address_serves_and_ends_at_ctrl_c(runs: Path) -> None:
    command = [sys.executable, "-m", "contextpull", "eval", "view", str(runs), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = urlsplit(line.split()[0]).port
        assert port
        listed = ask(port, "/").text
        assert "deep/new" in listed
        report = ask(port, f"/report?run={quote('deep/new')}")
        assert report.status == 200
        assert "recall@5" in report.text
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, errors.strip()) == (130, "")

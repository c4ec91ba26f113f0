"""The protocol's own conformance suite against our server over HTTP.

`make test-hosts` installs it and names it in CONTEXTPULL_CONFORMANCE; without it these tests are
skipped. Most of its scenarios ask for things that only a server made for it has: such a scenario
stands in NOT_OURS with the reason, and one that stands nowhere fails.
"""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.server.conftest import DOCUMENTS
from tests.server.http_servers import Served, serving

CONFORMANCE = os.environ.get("CONTEXTPULL_CONFORMANCE", "")

pytestmark = pytest.mark.skipif(not CONFORMANCE, reason="CONTEXTPULL_CONFORMANCE names no suite")

REVISIONS = ("2025-11-25", "2026-07-28")

PASSES = {
    "2025-11-25": {
        "dns-rebinding-protection",
        "ping",
        "prompts-list",
        "resources-list",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-list",
    },
    "2026-07-28": {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "server-stateless",
        "tools-list",
    },
}
"""By revision, the scenarios that any server must pass."""

FIXTURE_CHECKS = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
}
"""Checks of server-stateless that call the tool test_missing_capability, which we do not have."""

NOT_OURS = {
    r"tools-call-.*": "calls tools named test_*",
    r"prompts-get-.*": "asks for prompts named test_*",
    r"completion-complete": "completes an argument of the prompt test_prompt_with_arguments",
    r"resources-read-.*|resources-templates-read": "reads resources named test://*",
    r"resources-(un)?subscribe": "subscribes to test://watched-resource",
    r"json-schema-2020-12": "looks for the tool json_schema_2020_12_tool",
    r"http-custom-header-server-validation": "needs a tool with x-mcp-header; ours have none",
    r"server-sse-polling": "calls the tool test_reconnection; our streams are not resumed",
    r"logging-set-level": "the log goes to standard error, not to clients",
    r"elicitation-.*|input-required-result-.*": "no tool of ours asks its client for anything",
    r"tasks-.*": "no call of ours is a task",
    r"sep-2640-skills-.*": "the server has no skills",
}
"""Patterns of names of scenarios that are no measure of our server, each with the reason."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("conformance")
    ingest(write_corpus(folder / "docs", DOCUMENTS), folder / "store")
    with serving("store", cwd=folder) as served:
        yield served


@pytest.fixture(scope="module", params=REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def checks(
    served: Served, revision: str, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, list[dict[str, Any]]]:
    """The checks of every scenario of a revision, by the scenario's name."""
    folder = tmp_path_factory.mktemp(f"results-{revision}")
    where = ("--url", served.url, "--output-dir", str(folder))
    conformance("server", *where, "--requirements", revision)
    return {
        scenario_of(each.parent): json.loads(each.read_text()) for each in folder.rglob("*.json")
    }


def conformance(*arguments: str) -> str:
    """What the suite prints; it exits with 1 when any scenario fails."""
    done = subprocess.run(
        [*shlex.split(CONFORMANCE), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def scenario_of(results: Path) -> str:
    """The scenario whose results lie in a folder: server-NAME-TIME."""
    found = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", results.name)
    assert found, results
    return found[1]


def test_every_scenario_that_any_server_must_pass_is_passed(
    checks: Mapping[str, list[dict[str, Any]]], revision: str
) -> None:
    failed = {
        (scenario, check["id"]): check.get("errorMessage")
        for scenario in PASSES[revision]
        for check in checks[scenario]
        if check["status"] == "FAILURE" and check["id"] not in FIXTURE_CHECKS
    }
    assert failed == {}
    assert all(
        any(check["status"] == "SUCCESS" for check in checks[each]) for each in PASSES[revision]
    )


def test_every_scenario_is_one_to_pass_or_is_not_ours_for_a_reason() -> None:
    listed = re.findall(r"^  - (\S+) \[", conformance("list", "--server"), re.MULTILINE)
    known = set.union(*PASSES.values())
    unknown = [
        each
        for each in listed
        if each not in known and not any(re.fullmatch(pattern, each) for pattern in NOT_OURS)
    ]
    assert len(listed) > 40
    assert unknown == []


@pytest.mark.usefixtures("checks")
def test_no_scenario_finds_a_fault_inside_the_server(served: Served) -> None:
    assert [each for each in served.entries() if each["status"] >= 500] == []
    assert "Traceback" not in "".join(served.written)

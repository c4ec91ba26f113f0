"""Agent libraries as clients of our server, each in an environment of its own.

`make test-hosts` makes the environments and names their folder in CONTEXTPULL_AGENTS; without it
they are skipped. The model behind each is a stand-in on 127.0.0.1 that follows a script.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contextpull import open_store
from contextpull.server.tokens import add_token
from contextpull.store.ingest import ingest
from contextpull.tools import DISCIPLINE, TOOLS, ToolSession
from tests.server.http_servers import serving
from tests.standins import KEY, Calls, Request, Says, Step, standing_in

AGENTS = os.environ.get("CONTEXTPULL_AGENTS", "")
HERE = Path(__file__).parent
LIBRARIES = {
    "openai-agents": "openai_agents_client.py",
    "pydantic-ai": "pydantic_ai_client.py",
    "langchain": "langchain_client.py",
}
NOWHERE_ELSE = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""Every other address is a proxy that is not there."""
PASS_ON_INSTRUCTIONS = {"pydantic-ai"}
"""Where the library is asked to; the others leave the server's instructions to the application."""

pytestmark = pytest.mark.skipif(not AGENTS, reason="CONTEXTPULL_AGENTS names no environments")

CODES = "reference/error-codes.md"
LONG = {"ids": [CODES, "manual/operation.md"]}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "warranty of a repaired gateway", "limit": 3}),
    ("grep", {"pattern": "HG-4419", "context": 1}),
    ("index", {"path": CODES}),
    ("read", {"ids": ["reference/modbus-registers.md"]}),
    ("read", {"ids": "nowhere.md#x"}),
    ("read", {"ids": "nowhere.md#y"}),
    ("search", {"query": "warranty", "top_k": 3}),
    ("read", LONG),
]
QUESTION = "How long is a repaired gateway under warranty?"
ANSWER = "As the policy says [policies/returns-and-warranty-2025.md]."


class Talk(NamedTuple):
    """What a library asked of the model, and what it printed as the answer."""

    library: str
    requests: list[Request]
    printed: str

    @property
    def results(self) -> list[str]:
        """What the tools answered, as the model was shown it."""
        messages = self.requests[-1].body["messages"]
        return [shown(each["content"]) for each in messages if each["role"] == "tool"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's corpus in a store."""
    folder = tmp_path_factory.mktemp("hosts")
    ingest(HERE.parents[1] / "demo" / "corpus", folder / "store")
    return folder


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["stdio", "http"])
def talk(request: pytest.FixtureRequest, library: str, folder: Path) -> Iterator[Talk]:
    """A question that the library answered, with every tool called on the way."""
    with ExitStack() as stack:
        model = stack.enter_context(standing_in(next_step))
        if request.param == "http":
            token = add_token(folder / f"{library}.jsonl", library, ["**"], None)
            options = ("store", "--tokens", f"{library}.jsonl")
            url = stack.enter_context(serving(*options, cwd=folder)).url
            server = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
        else:
            command = [sys.executable, "-m", "contextpull", "serve", str(folder / "store")]
            server = {"command": command}
        asked = {
            "server": server,
            "model": model.base_url("openai-chat"),
            "key": KEY,
            "question": QUESTION,
        }
        printed = run(library, asked, folder)
        yield Talk(library, model.asked, printed)


def run(library: str, asked: dict[str, Any], cwd: Path) -> str:
    python = Path(AGENTS) / library / "bin" / "python"
    done = subprocess.run(
        [python, HERE / "clients" / LIBRARIES[library], json.dumps(asked)],
        cwd=cwd,
        env={"HOME": str(cwd), "PATH": os.defpath, **NOWHERE_ELSE},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def next_step(request: Request) -> Step:
    """The calls one after the other, then the rest of the long one, then the answer."""
    if request.turn < len(CALLS):
        return Calls([CALLS[request.turn]])
    if request.turn == len(CALLS):
        return Calls([("read", {**LONG, "offset": offset_in(shown(request.last))})])
    return Says(ANSWER)


def offset_in(text: str) -> int:
    """Where a cut result says that it goes on."""
    found = re.search(r"offset=(\d+)", text)
    assert found, text
    return int(found[1])


def shown(content: Any) -> str:
    """The text of a message, which may be in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_model_is_offered_the_four_tools_as_they_are(talk: Talk) -> None:
    offered = [each["function"] for each in talk.requests[0].body["tools"]]
    assert [(each["name"], each["description"], each["parameters"]) for each in offered] == [
        (tool.name, tool.description, tool.schema) for tool in TOOLS
    ]


def test_results_reach_the_model_verbatim_and_errors_keep_their_sentence(
    talk: Talk, folder: Path
) -> None:
    session = ToolSession(open_store(folder / "store"))
    results = [session.call(*each) for each in CALLS]
    assert [each.is_error for each in results] == [False] * 4 + [True] * 3 + [False]
    for seen, result in zip(talk.results, results, strict=False):
        assert (sentence(seen) if result.is_error else seen) == result.text
    assert talk.printed == ANSWER


def sentence(error: str) -> str:
    """What an error says, without the JSON that a library may put around it."""
    return str(json.loads(error)["error"]) if error.startswith("{") else error


def test_a_result_that_was_cut_goes_on_where_it_says(talk: Talk, folder: Path) -> None:
    first, rest = talk.results[-2:]
    assert "an image that eighty" not in first
    assert "an image that eighty" in rest
    session = ToolSession(open_store(folder / "store"))
    assert rest == session.call("read", {**LONG, "offset": offset_in(first)}).text


def test_instructions_reach_the_model_where_the_library_passes_them_on(talk: Talk) -> None:
    system = talk.requests[0].system
    assert "Answer from the documents." in system
    assert (DISCIPLINE in system) == (talk.library in PASS_ON_INSTRUCTIONS)

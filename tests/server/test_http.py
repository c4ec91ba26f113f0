"""`contextpull serve --http` as a process of its own, with clients of the SDK."""

import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from contextpull.server.tokens import add_token, revoke_token
from contextpull.store.ingest import ingest
from tests.server.http_servers import (
    JSON,
    PATIENCE,
    Served,
    call,
    request,
    serving,
    serving_with_limits,
    use,
)

DOCUMENTS = {
    "eng/build.md": "# Build\n\nRun make quokka, as everybody may, to build it all.\n",
    "hr/pay.md": "# Pay bands\n\nThe zanzibar band is nobody's business but ours.\n\n"
    "## Zanzibar rules\n\nMake no quokka of the zanzibar band.\n",
}
SECRETS = re.compile("zanzibar|pay|hr/", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    for name, text in DOCUMENTS.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ingest(folder / "docs", folder / ".contextpull")
    return folder


@pytest.fixture(scope="module")
def tokens(folder: Path) -> dict[str, str]:
    file = folder / "tokens.jsonl"
    return {
        "alice": add_token(file, "alice", ["eng/**"], None),
        "boss": add_token(file, "boss", ["**"], None),
    }


@pytest.fixture(scope="module")
def team(folder: Path, tokens: dict[str, str]) -> Iterator[Served]:
    with serving(".contextpull", "--tokens", "tokens.jsonl", cwd=folder) as served:
        yield served


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_clients_of_both_eras_use_the_tools(
    team: Served, tokens: dict[str, str], mode: str, slash: str
) -> None:
    text = call(team.url + slash, "search", {"query": "zanzibar"}, token=tokens["boss"], mode=mode)
    assert text.startswith("1. hr/pay.md#")


@pytest.mark.parametrize("slash", ["", "/"])
def test_nothing_is_redirected(team: Served, slash: str) -> None:
    assert httpx2.post(team.url + slash, json={}).status_code == 401


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_sees_its_scope_and_no_trace_of_the_rest(
    team: Served, tokens: dict[str, str], mode: str
) -> None:
    seen = use(team.url, everything, token=tokens["alice"], mode=mode)
    assert any("quokka" in each for each in seen)
    assert [each for each in seen if SECRETS.search(each)] == []
    # The same calls by somebody who may see it all: so the calls would have shown it.
    whole = use(team.url, everything, token=tokens["boss"], mode=mode)
    assert sum(bool(SECRETS.search(each)) for each in whole) > 10


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_forbidden_and_what_is_not_there_are_answered_alike(
    team: Served, tokens: dict[str, str], mode: str
) -> None:
    async def do(client: Client) -> list[tuple[str, str]]:
        return [
            (
                await answers(client, "hr/pay.md#pay-bands"),
                await answers(client, "hx/pax.mx#pax-bands"),
            )
        ]

    for forbidden, absent in use(team.url, do, token=tokens["alice"], mode=mode):
        there = forbidden.replace("hr/pay.md", "P").replace("pay-bands", "S")
        assert there.replace("hr%2Fpay.md", "P") == absent.replace("hx/pax.mx", "P").replace(
            "pax-bands", "S"
        ).replace("hx%2Fpax.mx", "P")


async def answers(client: Client, section: str) -> str:
    """Everything that is said of a section, however it is asked for."""
    path = section.partition("#")[0]
    quoted = section.replace("/", "%2F").replace("#", "%23")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read", {"ids": section}),
        ("read", {"ids": path}),
        ("index", {"path": path}),
        ("search", {"query": "quokka", "paths": path}),
        ("grep", {"pattern": "quokka", "paths": path}),
    ]
    told = [(await client.call_tool(*each)).content[0].text for each in calls]
    for uri in (f"contextpull://section/{quoted}", f"contextpull://outline/{quoted}"):
        told.append(await failure(client.read_resource(uri)))
    return "\n".join(told)


async def failure(awaitable: Any) -> str:
    with pytest.raises(MCPError) as caught:
        await awaitable
    return f"{caught.value.error.code} {caught.value.error.message} {caught.value.error.data}"


async def everything(client: Client) -> list[str]:
    """Whatever a client can be shown: greeting, tools, resources, completions, errors."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "quokka band"}),
        ("search", {"query": "nothing of this kind"}),
        ("search", {"query": "quokka", "paths": "h*/"}),
        ("grep", {"pattern": "a"}),
        ("grep", {"pattern": "quokka", "paths": "**/*.md"}),
        ("read", {"ids": "eng/build.md#build", "context": 5}),
        ("read", {"ids": "h/a.md#bands"}),
        ("index", {}),
        ("index", {"path": "h"}),
    ]
    results = [await client.call_tool(*each) for each in calls]
    seen = [each.content[0].text for each in results]
    seen.append(str(client.instructions))
    seen.append((await client.list_resources()).model_dump_json())
    for uri in ("contextpull://index", "contextpull://outline/eng%2Fbuild.md"):
        seen.append((await client.read_resource(uri)).model_dump_json())
    for template in (await client.list_resource_templates()).resource_templates:
        reference = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
        name = "id" if "{id" in template.uri_template else "path"
        for typed in ("", "h", "a", "z"):
            argument = {"name": name, "value": typed}
            seen.append((await client.complete(reference, argument)).model_dump_json())
    for prompt in (await client.list_prompts()).prompts:
        for argument_name in [each.name for each in prompt.arguments or []]:
            reference = PromptReference(type="ref/prompt", name=prompt.name)
            argument = {"name": argument_name, "value": ""}
            seen.append((await client.complete(reference, argument)).model_dump_json())
    return seen


def test_without_a_token_there_is_a_challenge_and_a_sentence(team: Served) -> None:
    answer = httpx2.post(team.url, **request("tools/list"))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="contextpull"'
    with pytest.raises(BaseExceptionGroup) as caught:
        call(team.url, "index", {}, token="cpt_made-up", mode="legacy")
    assert "not known here" in _first(caught.value)


def test_a_session_belongs_to_the_token_that_opened_it(
    team: Served, tokens: dict[str, str]
) -> None:
    session = opened(team, tokens["boss"])
    assert pinged(team, tokens["boss"], session) == 200
    assert pinged(team, tokens["alice"], session) == 404


def test_a_session_ends_when_its_token_lets_see_something_else(team: Served, folder: Path) -> None:
    file = folder / "tokens.jsonl"
    token = add_token(file, "mover", ["hr/**"], None)
    session = opened(team, token)
    file.write_text(file.read_text().replace('["hr/**"]', '["eng/**"]'))
    assert pinged(team, token, session) == 404
    revoke_token(file, "mover")


def opened(served: Served, token: str) -> str:
    """A session of the older protocol."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    headers = {**JSON, "Authorization": f"Bearer {token}"}
    return httpx2.post(served.url, json=body, headers=headers).headers["mcp-session-id"]


def pinged(served: Served, token: str, session: str) -> int:
    headers = {**JSON, "Authorization": f"Bearer {token}", "Mcp-Session-Id": session}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    return httpx2.post(served.url, json=ping, headers=headers).status_code


def test_a_token_is_added_and_revoked_while_the_server_runs(
    team: Served, folder: Path, tokens: dict[str, str]
) -> None:
    file = folder / "tokens.jsonl"
    token = add_token(file, "guest", ["eng/**"], None)
    assert "eng/build.md" in call(team.url, "index", {}, token=token)
    revoke_token(file, "guest")
    answer = httpx2.post(
        team.url, json=request("tools/list")["json"], headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_broken_tokens_file_changes_nothing_and_is_told(
    team: Served, folder: Path, tokens: dict[str, str]
) -> None:
    file = folder / "tokens.jsonl"
    good = file.read_text()
    for broken, told in (("{", "line 1"), (None, "cannot be read"), ("\xff", "line 1")):
        file.unlink() if broken is None else file.write_text(broken)
        assert "eng/build.md" in call(team.url, "index", {}, token=tokens["alice"])
        assert told in team.line_with("still holds")[0] or told in "".join(team.written)
        assert "tokens_file_current 0" in httpx2.get(f"{team.base}/metrics").text
    file.write_text(good)
    assert "eng/build.md" in call(team.url, "index", {}, token=tokens["alice"])
    assert "tokens_file_current 1" in httpx2.get(f"{team.base}/metrics").text


def test_the_log_says_who_did_what_and_neither_what_nor_with_which_token(
    team: Served, tokens: dict[str, str]
) -> None:
    call(team.url, "search", {"query": "zanzibar marsupilami"}, token=tokens["boss"])
    call(team.url, "read", {"ids": "hr/pay.md#pay-bands"}, token=tokens["boss"])
    team.line_with('"tool": "read"')
    entry = next(each for each in team.entries() if each.get("tool") == "search")
    assert set(entry) == {
        *("time", "caller", "client", "http", "path", "method", "tool", "outcome"),
        *("status", "ms", "bytes"),
    }
    log = "".join(team.written)
    for secret in ("marsupilami", "nobody's business", *tokens.values()):
        assert secret not in log


def test_queries_are_logged_where_that_is_asked_for(folder: Path) -> None:
    with serving(".contextpull", "--log-queries", cwd=folder) as served:
        call(served.url, "search", {"query": "marsupilami"})
        served.line_with('"arguments": {"query": "marsupilami"}')


def test_health_and_metrics_are_pages_of_their_own(team: Served, tokens: dict[str, str]) -> None:
    health = httpx2.get(f"{team.base}/healthz", headers={"Host": "10.0.0.1:8765"})
    assert health.json() == {"ready": True, "generation": 1}
    call(team.url, "grep", {"pattern": "quokka"}, token=tokens["boss"])
    httpx2.get(f"{team.base}/nowhere")
    metrics = httpx2.get(f"{team.base}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = dict(line.rsplit(" ", 1) for line in metrics.text.splitlines() if line[0] != "#")
    assert float(samples['contextpull_tool_calls_total{tool="grep",outcome="ok"}']) >= 1
    assert (
        samples['contextpull_tool_seconds_bucket{tool="grep",le="+Inf"}']
        == (samples['contextpull_tool_seconds_count{tool="grep"}'])
    )
    assert float(samples['contextpull_rejected_total{reason="path"}']) >= 1
    assert samples["contextpull_generation"] == "1"
    assert samples["contextpull_requests_in_flight"] == "0"


def test_an_unknown_tool_makes_no_series_of_its_own(team: Served, tokens: dict[str, str]) -> None:
    call(team.url, "marsupilami", {}, token=tokens["boss"])
    assert "marsupilami" not in httpx2.get(f"{team.base}/metrics").text


def test_metrics_need_a_token_where_others_may_call(folder: Path, tokens: dict[str, str]) -> None:
    arguments = ("--tokens", "tokens.jsonl", "--allow-host", "docs.example")
    with serving(".contextpull", *arguments, cwd=folder) as served:
        assert httpx2.get(f"{served.base}/metrics").status_code == 401
        headers = {"Authorization": f"Bearer {tokens['alice']}", "Host": "docs.example"}
        assert httpx2.get(f"{served.base}/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "nothing says who may read"),
        (["--host", "0.0.0.0", "--no-auth"], "--allow-host"),
        (["--host", "nowhere.invalid", "--no-auth"], "Cannot listen at nowhere.invalid"),
        (["--no-auth", "--tokens", "tokens.jsonl"], "--no-auth lets everybody in"),
        (["--tokens", "missing.jsonl"], "contextpull tokens add makes one"),
        (["--oauth-issuer", "https://id.example"], "--oauth-audience is missing"),
        (["--oauth-claim", "docs"], "--oauth-issuer is missing"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(
    folder: Path, tokens: dict[str, str], arguments: list[str], told: str
) -> None:
    done = run("serve", ".contextpull", "--http", *arguments, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_port_that_is_taken_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = run("serve", ".contextpull", "--http", "--port", port, cwd=folder)
    assert done.returncode == 2
    assert f"port {port}" in done.stderr


def test_options_of_http_need_http(folder: Path) -> None:
    done = run("serve", ".contextpull", "--port", "9000", cwd=folder)
    assert done.returncode == 2
    assert "--port needs --http" in done.stderr


def test_everybody_is_let_in_where_that_is_said_aloud(folder: Path) -> None:
    arguments = ("--host", "0.0.0.0", "--allow-host", "docs.example", "--no-auth")
    with serving(".contextpull", *arguments, cwd=folder) as served:
        url = served.url.replace("0.0.0.0", "127.0.0.1")
        assert "hr/pay.md" in call(url, "index", {})
    assert any("everybody who can reach" in line for line in served.written)


def test_a_tokens_file_that_others_may_change_is_warned_about(
    folder: Path, tokens: dict[str, str]
) -> None:
    loose = folder / "loose.jsonl"
    loose.write_text((folder / "tokens.jsonl").read_text())
    loose.chmod(0o666)
    with serving(".contextpull", "--tokens", "loose.jsonl", cwd=folder) as served:
        served.line_with("Others may change loose.jsonl")


def test_200_clients_at_once_are_all_answered(folder: Path) -> None:
    async def one(url: str, http: httpx2.AsyncClient, texts: list[str]) -> None:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            found = await client.call_tool("search", {"query": "zanzibar"})
            texts.append(found.content[0].text)

    async def all_of_them(url: str) -> list[str]:
        texts: list[str] = []
        limits = httpx2.Limits(max_connections=200)
        async with (
            httpx2.AsyncClient(timeout=PATIENCE, limits=limits, trust_env=False) as http,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(200):
                tasks.start_soon(one, url, http, texts)
        return texts

    with serving(".contextpull", cwd=folder) as served:
        texts = anyio.run(all_of_them, served.url)
    assert len(texts) == 200
    assert len(set(texts)) == 1
    assert texts[0].startswith("1. hr/pay.md#")


def test_a_client_that_is_killed_in_a_call_leaves_its_place_to_others(
    folder: Path, tmp_path: Path
) -> None:
    fifo = make_fifo(tmp_path)
    limits = {"requests": 1, "call_seconds": 100 * PATIENCE}
    with serving_with_limits(folder / ".contextpull", cwd=folder, fifo=fifo, **limits) as served:
        address = urlsplit(served.url)
        ask = request("tools/call", {"name": "index", "arguments": {}})
        with socket.create_connection((address.hostname, address.port), PATIENCE) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(raw(served.url, ask))
            with fifo.open("w"):  # opens when the call is at work
                client.close()  # at once, without an end of the stream
                assert 200 in (status_of(served.url, "tools/list") for _ in range(1_000))
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == 0


def status_of(url: str, method: str) -> int:
    return httpx2.post(url, timeout=PATIENCE, **request(method)).status_code


def raw(url: str, ask: dict[str, Any]) -> bytes:
    """A request as it is sent."""
    built = httpx2.Request("POST", url, **ask)
    head = b"".join(b"%s: %s\r\n" % field for field in built.headers.raw)
    return b"POST /mcp HTTP/1.1\r\n%s\r\n%s" % (head, built.read())


def test_what_is_under_way_is_finished_after_a_signal(folder: Path, tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)
    with serving_with_limits(folder / ".contextpull", cwd=folder, fifo=fifo) as served:
        answers: list[httpx2.Response] = []
        ask = request("tools/call", {"name": "index", "arguments": {}})
        caller = threading.Thread(
            target=lambda: answers.append(httpx2.post(served.url, timeout=PATIENCE, **ask))
        )
        caller.start()
        with fifo.open("w"):  # opens when the call is at work
            served.process.send_signal(signal.SIGTERM)
            wait_until_refused(served.base)
        caller.join(PATIENCE)
        assert served.ended() == 0
    assert "hr/pay.md" in answers[0].json()["result"]["content"][0]["text"]


def test_what_never_ends_is_given_up_at_the_limit(folder: Path, tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)
    limits = {"drain_seconds": 1}
    with serving_with_limits(folder / ".contextpull", cwd=folder, fifo=fifo, **limits) as served:
        failures: list[BaseException] = []
        caller = threading.Thread(target=lambda: _call_to_fail(served.url, failures), daemon=True)
        caller.start()
        with fifo.open("w"):
            served.process.send_signal(signal.SIGTERM)
            assert served.ended() == 0
        caller.join(PATIENCE)
    assert failures


def test_a_second_signal_ends_it_at_once(folder: Path, tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)
    with serving_with_limits(folder / ".contextpull", cwd=folder, fifo=fifo) as served:
        caller = threading.Thread(target=lambda: _call_to_fail(served.url, []), daemon=True)
        caller.start()
        with fifo.open("w"):
            served.process.send_signal(signal.SIGTERM)
            wait_until_refused(served.base)
            served.process.send_signal(signal.SIGTERM)
            assert served.ended() == 1
        caller.join(PATIENCE)


def test_an_interrupt_ends_the_server_as_it_ends_other_commands(folder: Path) -> None:
    with serving(".contextpull", cwd=folder) as served:
        served.process.send_signal(signal.SIGINT)
        assert served.ended() == 130


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_open_streams_do_not_keep_a_server_from_ending(folder: Path, mode: str) -> None:
    with serving(".contextpull", cwd=folder) as served:

        async def do(client: Client) -> int:
            if mode == "auto":
                async with client.listen(resources_list_changed=True):
                    return await ended()
            return await ended()

        async def ended() -> int:
            served.process.send_signal(signal.SIGTERM)
            return await anyio.to_thread.run_sync(served.ended)

        assert use(served.url, do, mode=mode) == 0


def test_a_call_that_takes_too_long_is_given_up_with_a_sentence(
    folder: Path, tmp_path: Path
) -> None:
    fifo = make_fifo(tmp_path)
    limits = {"call_seconds": 2}  # long enough for a greeting on a busy machine
    with serving_with_limits(folder / ".contextpull", cwd=folder, fifo=fifo, **limits) as served:
        with pytest.raises(BaseExceptionGroup) as caught:
            call(served.url, "index", {})
        served.line_with('"outcome": "timeout"')
    assert "Given up after 2 seconds" in _first(caught.value)


def test_connections_that_send_no_request_are_closed(folder: Path) -> None:
    with (
        serving_with_limits(folder / ".contextpull", cwd=folder, head_seconds=0.2) as served,
        connection(served) as silent,
        connection(served) as slow,
    ):
        slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127")
        assert silent.recv(100) == b""
        assert slow.recv(100) == b""
        assert httpx2.get(f"{served.base}/healthz").status_code == 200


def test_a_body_that_does_not_come_is_told_and_closed(folder: Path) -> None:
    with (
        serving_with_limits(folder / ".contextpull", cwd=folder, body_seconds=0.2) as served,
        connection(served) as slow,
    ):
        slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")
        assert b"408" in slow.recv(100)


def test_more_connections_than_the_limit_are_closed(folder: Path) -> None:
    with (
        serving_with_limits(folder / ".contextpull", cwd=folder, connections=1) as served,
        connection(served) as first,
    ):
        first.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"200" in first.recv(4096)
        with connection(served) as second:
            assert second.recv(100) == b""


@pytest.mark.parametrize("sent", [b"\x00\xff\r\n\r\n", b"GET / HTTP/99\r\n\r\n", b"a" * 20_000])
def test_what_is_no_http_is_refused(team: Served, sent: bytes) -> None:
    with connection(team) as odd:
        odd.sendall(sent)
        assert odd.recv(100).startswith(b"HTTP/1.1 400")


def connection(served: Served) -> socket.socket:
    port = int(served.base.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def wait_until_refused(base: str) -> None:
    """Until nobody accepts connections any more; what was accepted is closed in good order."""
    port = int(base.rpartition(":")[2])
    try:
        while True:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as last:
                last.recv(1)
    except OSError:
        return


def make_fifo(folder: Path) -> Path:
    import os

    fifo = folder / "go"
    os.mkfifo(fifo)
    return fifo


def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "contextpull", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )


def _call_to_fail(url: str, failures: list[BaseException]) -> None:
    try:
        call(url, "index", {})
    except BaseException as error:
        failures.append(error)


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)

"""What every request over HTTP must pass, at the application that a server runs."""

import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.server.access_log import log_libraries
from contextpull.server.app import build_server
from contextpull.server.auth import Door
from contextpull.server.corpus import Corpus
from contextpull.server.gate import Gate, Names
from contextpull.server.http import HttpServer, HttpSettings, caller_of
from contextpull.server.limits import Limits, Pace, Refused
from contextpull.server.tokens import TokensFile, add_token, revoke_token
from contextpull.store.ingest import ingest
from tests.server.http_servers import PATIENCE, request

Ask = Callable[[httpx2.AsyncClient, HttpServer], Awaitable[Any]]
LIST = request("tools/list")
LIMITS = Limits()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate")
    (root / "docs").mkdir()
    (root / "docs" / "a.md").write_text("# Alpha\n\nThe quokka lives in the first document.\n")
    ingest(root / "docs", root / "store")
    return root / "store"


def asking(
    store: Path, ask: Ask, *, door: Door | None = None, limits: Limits = LIMITS, **settings: Any
) -> Any:
    """What a coroutine gives with a client of the application."""

    async def session() -> Any:
        corpus = Corpus(store, None)
        corpus.start()
        server = build_server(corpus, caller_of=caller_of)
        http = HttpServer(server, corpus, door, HttpSettings(limits=limits, **settings))
        async with (
            http.running(),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(http.app), base_url="http://127.0.0.1:8765"
            ) as client,
        ):
            return await ask(client, http)

    return anyio.run(session)


def answer(store: Path, *, method: str = "POST", path: str = "/mcp", **options: Any) -> Any:
    """The answer to one request; `headers` are added to those of a request that is right."""
    headers = {**LIST["headers"], **options.pop("headers", {})}
    content = options.pop("content", None)
    body = {"content": content} if content is not None else {"json": LIST["json"]}

    async def ask(client: httpx2.AsyncClient, _http: HttpServer) -> httpx2.Response:
        return await client.request(method, path, headers=headers, **body)

    return asking(store, ask, **options)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:8765"])
def test_requests_to_this_machine_are_answered(store: Path, host: str) -> None:
    assert answer(store, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "[::1", "localhost."],
)
@pytest.mark.parametrize("path", ["/mcp", "/metrics"])
def test_a_foreign_host_is_refused(store: Path, host: str, path: str) -> None:
    refused = answer(store, path=path, headers={"Host": host})
    assert refused.status_code == 421
    assert "--allow-host" in refused.json()["error"]["message"]


def test_a_host_that_is_allowed_is_answered(store: Path) -> None:
    allowed = {"allow_hosts": ("Docs.Example",)}
    assert answer(store, headers={"Host": "docs.example:443"}, **allowed).status_code == 200


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1"])
def test_pages_of_this_machine_may_call(store: Path, origin: str) -> None:
    assert answer(store, headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.example", "http://localhost.evil.example"]
)
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/metrics"])
def test_pages_of_other_places_may_not(store: Path, origin: str, path: str) -> None:
    refused = answer(store, path=path, headers={"Origin": origin})
    assert refused.status_code == 403
    assert "--allow-origin" in refused.json()["error"]["message"]


def test_an_origin_that_is_allowed_is_answered(store: Path) -> None:
    allowed = {"allow_origins": ("https://app.example",)}
    assert answer(store, headers={"Origin": "https://app.example"}, **allowed).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("POST", "/healthz", 405),
        ("DELETE", "/metrics", 405),
        ("GET", "/", 404),
        ("POST", "/mcp/more", 404),
        ("POST", "/MCP", 404),
        ("GET", "/.well-known/oauth-protected-resource", 404),
    ],
)
def test_other_methods_and_paths_are_refused(
    store: Path, method: str, path: str, status: int
) -> None:
    assert answer(store, method=method, path=path).status_code == status


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", 400), (b"{", 400), (b"[]", 400), (b"[" * 100_000, 400), (b"\xff", 400), (b"1", 400)],
)
def test_a_body_that_is_no_message_is_refused(store: Path, content: bytes, status: int) -> None:
    assert answer(store, content=content).status_code == status


@pytest.mark.parametrize("has_length", [True, False])
def test_a_body_that_is_too_long_is_refused(store: Path, has_length: bool) -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b"x" * 100

    content = b"x" * 2_000 if has_length else pieces()
    refused = answer(store, content=content, limits=Limits(body_bytes=1_000))
    assert refused.status_code == 413
    assert "1,000 bytes" in refused.json()["error"]["message"]


def test_headers_that_are_too_many_or_too_long_are_refused(store: Path) -> None:
    many = {f"x-{number}": "1" for number in range(100)}
    assert answer(store, headers=many).status_code == 431
    assert answer(store, headers={"x": "y" * 20_000}).status_code == 431


@pytest.mark.parametrize("name", ["host", "origin", "authorization"])
def test_a_header_that_could_be_read_in_two_ways_is_refused(store: Path, name: str) -> None:
    async def ask(client: httpx2.AsyncClient, _http: HttpServer) -> int:
        twice = [(name, "127.0.0.1"), (name, "evil.example"), *LIST["headers"].items()]
        return (await client.post("/mcp", json=LIST["json"], headers=twice)).status_code

    assert asking(store, ask) == 400


def test_more_requests_than_places_are_told_to_come_again(store: Path) -> None:
    async def ask(client: httpx2.AsyncClient, http: HttpServer) -> list[httpx2.Response]:
        with ExitStack() as taken:
            taken.enter_context(http.app.requests.one())
            busy = await client.post("/mcp", **LIST)
            health = await client.get("/healthz")
        return [busy, health, await client.post("/mcp", **LIST)]

    busy, health, later = asking(store, ask, limits=Limits(requests=1))
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
    assert health.status_code == 200
    assert later.status_code == 200


def test_streams_have_places_of_their_own(store: Path) -> None:
    async def ask(client: httpx2.AsyncClient, http: HttpServer) -> list[int]:
        with http.app.streams.one():
            stream = await client.get("/mcp", headers={"Accept": "text/event-stream"})
            return [stream.status_code, (await client.post("/mcp", **LIST)).status_code]

    assert asking(store, ask, limits=Limits(streams=1)) == [503, 200]


def test_a_token_that_asks_too_often_is_told_when_to_come_again(
    store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.jsonl"
    fast, slow = (add_token(file, name, ["**"], None) for name in ("fast", "slow"))

    async def ask(client: httpx2.AsyncClient, _http: HttpServer) -> list[httpx2.Response]:
        headers = {**LIST["headers"], "Authorization": f"Bearer {fast}"}
        asked = [await client.post("/mcp", json=LIST["json"], headers=headers) for _ in range(3)]
        headers["Authorization"] = f"Bearer {slow}"
        return [*asked, await client.post("/mcp", json=LIST["json"], headers=headers)]

    limits = Limits(per_minute=20)
    answers = asking(store, ask, door=Door(TokensFile(file)), limits=limits)
    assert [each.status_code for each in answers] == [200, 200, 429, 200]
    assert int(answers[2].headers["retry-after"]) >= 1
    assert "20 requests a minute" in answers[2].json()["error"]["message"]


@given(st.lists(st.floats(0, 10), max_size=60), st.integers(1, 600))
def test_no_caller_gets_more_than_the_pace_and_everybody_gets_it_after_the_wait(
    pauses: list[float], per_minute: int
) -> None:
    now = 0.0
    pace = Pace(per_minute, lambda: now)
    passed = 0
    for pause in pauses:
        now += pause
        try:
            pace.take("somebody")
            passed += 1
        except Refused as refusal:
            now += int(refusal.headers["Retry-After"])
            pace.take("somebody")
            passed += 1
        assert passed <= max(1, per_minute / 10) + now * per_minute / 60 + 1e-6


@pytest.mark.parametrize("has_begun", [True, False])
@pytest.mark.parametrize("change", ["revoked", "narrowed"])
def test_a_stream_ends_when_its_token_holds_no_longer(
    tmp_path: Path, change: str, has_begun: bool
) -> None:
    file = tmp_path / "tokens.jsonl"
    token = add_token(file, "alice", ["**"], None)

    async def listen(_scope: Any, _receive: Any, send: Any) -> None:
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if change == "revoked":
            revoke_token(file, "alice")
        else:
            file.write_text(file.read_text().replace('["**"]', '["eng/**"]'))
        await anyio.sleep_forever()

    asked = request("subscriptions/listen", {})
    asked["headers"]["Authorization"] = f"Bearer {token}"
    door, limits = Door(TokensFile(file)), Limits(recheck_seconds=0.05)
    ended = behind_the_gate(listen, asked, door=door, limits=limits)
    assert (ended.status_code, ended.headers.get("retry-after")) == (
        (200, None) if has_begun else (503, "1")
    )


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    async def never(_scope: Any, _receive: Any, _send: Any) -> None:
        await anyio.sleep_forever()

    late = behind_the_gate(never)
    assert late.status_code == 504
    assert "too long" in late.json()["error"]["message"]


def test_an_answer_that_stops_half_way_is_ended() -> None:
    async def stop(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await anyio.sleep_forever()

    assert behind_the_gate(stop).text == "half"


def test_a_fault_of_ours_is_told_and_logged_without_its_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_scope: Any, _receive: Any, _send: Any) -> None:
        raise RuntimeError("marsupilami")

    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_libraries()
    failed = behind_the_gate(fail)
    assert failed.status_code == 500
    assert "marsupilami" not in failed.text
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [each.get("error") for each in lines] == ["RuntimeError", None]
    assert "marsupilami" not in str(lines)


def behind_the_gate(
    protocol: Any,
    asked: Any = LIST,
    *,
    door: Door | None = None,
    limits: Limits = Limits(call_seconds=0.01),  # noqa: B008 - it never changes
) -> httpx2.Response:
    gate = Gate(protocol, door, Names(), limits)

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(gate)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            with anyio.fail_after(PATIENCE):
                return await client.post("/mcp", **asked)

    return anyio.run(ask)


@pytest.fixture(autouse=True)
def _quiet(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    capsys.readouterr()

"""Callers of one server: each sees their documents, each is told what they were shown."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import Implementation

from contextpull.retrieval.scope import Scope
from contextpull.server.app import build_server
from contextpull.server.callers import EVERYONE, Caller, Context, Views
from contextpull.server.corpus import Corpus
from contextpull.store import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import DISCIPLINE, ToolSession
from tests.server.conftest import ERAS, PATIENCE, text_of

CALLERS = {
    "all": Caller("all"),
    "guide": Caller("guide", Scope(("guide/**",))),
    "notes": Caller("notes", Scope(("*.txt",))),
}


def named(context: Context) -> Caller:
    """The caller that the client says it is."""
    client = context.session.client_params
    if client is None:  # the handshake itself
        return CALLERS[(context.params or {})["clientInfo"]["name"]]
    return CALLERS[client.client_info.name]


def test_of_many_clients_those_that_were_silent_longest_are_met_as_new_ones(
    corpus: Path, tmp_path: Path
) -> None:
    ingest(corpus, tmp_path / "store")
    store = open_store(tmp_path / "store")
    views = Views(ToolSession)
    one, other = (views.session(store, EVERYONE, name) for name in ("one", "other"))
    for number in range(255):
        assert views.session(store, EVERYONE, "one") is one
        views.session(store, EVERYONE, f"client {number}")
    assert views.session(store, EVERYONE, "one") is one
    assert views.session(store, EVERYONE, "other") is not other


@pytest.mark.parametrize("mode", ERAS)
def test_callers_of_one_server_see_their_documents_and_remember_what_they_read(
    corpus: Path, tmp_path: Path, mode: str
) -> None:
    ingest(corpus, tmp_path / "store")
    source = Corpus(tmp_path / "store", None)
    source.start()
    server = build_server(source, caller_of=named)

    async def read(client: Client) -> str:
        return await text_of(client, "read", ids="guide/install.md#install")

    def client(name: str) -> Client:
        return Client(server, mode=mode, client_info=Implementation(name=name, version="1"))

    async def session() -> Any:
        with anyio.fail_after(PATIENCE):
            async with client("all") as every, client("guide") as guide, client("notes") as notes:
                instructions = [each.instructions for each in (every, guide, notes)]
                first = [await read(every), await read(notes)]
                corpus.joinpath("guide/install.md").write_text("# Install\n\nIn another way.\n")
                ingest(corpus, tmp_path / "store")
                return instructions, first, [await read(each) for each in (every, guide, notes)]

    instructions, first, then = anyio.run(session)
    assert all(each.startswith(DISCIPLINE) for each in instructions)
    for name in ("guide/cache.md", "notes.txt"):
        assert [name in each for each in instructions] == [True, name[0] == "g", name[0] == "n"]
    assert "Download the archive" in first[0]
    assert "No section has the id" in first[1]
    assert "[CHANGED since you last saw it" in then[0]
    assert then[1].startswith("[guide/install.md#install]")
    assert "No section has the id" in then[2]

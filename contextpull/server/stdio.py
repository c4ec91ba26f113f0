"""Serving over standard input and output, which carry the protocol and nothing else."""

import anyio
from mcp.server.stdio import stdio_server

from contextpull.config import Mode, Snippets
from contextpull.retrieval.models import Models
from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus


def serve_stdio(
    corpus: Corpus,
    *,
    snippets: Snippets = "short",
    mode: Mode | None = None,
    models: Models | None = None,
    structured: bool = False,
) -> None:
    """Answer one client until it closes the connection."""
    corpus.start()
    server = build_server(
        corpus, snippets=snippets, mode=mode, models=models, structured=structured
    )

    async def run() -> None:
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        except* BrokenPipeError:
            pass  # the client is gone before its answer was: nobody is left to tell

    try:
        anyio.run(run)
    finally:
        corpus.close()

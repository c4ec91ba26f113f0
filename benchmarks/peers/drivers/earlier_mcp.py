"""The public package contextpull 0.2.1 as an MCP server."""

import json
from pathlib import Path

from mcp_client import McpDriver, answer
from protocol import Answer, serve


class EarlierMcp(McpDriver):
    """`contextpull serve` on the store file that `contextpull ingest` made."""

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:
        """One ingest with the defaults."""
        return [[self._program(), "ingest", corpus, "--store", folder / "store.sqlite"]]

    def server(self) -> list[str | Path]:
        """The store alone."""
        return [self._program(), "serve", self.folder / "store.sqlite"]

    def search(self, query: str, k: int) -> Answer:
        """Section ids, heading paths and snippets as JSON in a text."""
        reply = self.call("search", {"query": query, "limit": k})
        return answer([hit["id"] for hit in json.loads(reply.text)["hits"]], reply)

    def grep(self, pattern: str, regex: bool) -> int:
        """Shows the first twenty and counts no further."""
        reply = self.call("grep", {"pattern": pattern, "regex": regex})
        return len(json.loads(reply.text)["matches"])

    def _program(self) -> Path:
        return Path(self.options["python"]).with_name("contextpull")


if __name__ == "__main__":
    serve(EarlierMcp())

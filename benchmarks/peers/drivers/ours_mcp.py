"""This project as an MCP server, as a host starts it."""

import re
from pathlib import Path

from mcp_client import McpDriver, answer
from protocol import Answer, serve

_HIT = re.compile(r"^\d+\. (\S.*?) \|", re.MULTILINE)
_LINES = re.compile(r"\A(?:At least )?([\d,]+) lines? in ")


class OursMcp(McpDriver):
    """`contextpull serve` on a store that `contextpull ingest` made."""

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:
        """One ingest with the defaults."""
        return [[*self._command(), "ingest", corpus, "--store", folder / "store"]]

    def server(self) -> list[str | Path]:
        """The store alone, so that nothing is read again."""
        return [*self._command(), "serve", self.folder / "store"]

    def search(self, query: str, k: int) -> Answer:
        """Section ids, heading paths and snippets as text."""
        reply = self.call("search", {"query": query, "limit": k})
        return answer(_HIT.findall(reply.text), reply)

    def grep(self, pattern: str, regex: bool) -> int:
        """Counts every matching line up to 10,000 and shows twenty."""
        reply = self.call("grep", {"pattern": pattern, "regex": regex, "ignore_case": True})
        found = _LINES.search(reply.text)
        return int(found[1].replace(",", "")) if found else 0

    def _command(self) -> list[str]:
        return [self.options["python"], "-m", "contextpull"]


if __name__ == "__main__":
    serve(OursMcp())

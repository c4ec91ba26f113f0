"""basic-memory, a server for folders of Markdown notes, with its text search alone.

It writes into the files that it indexes, so it gets a copy. Its vector search needs a model from a
hub and is switched off.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from mcp_client import McpDriver, ToolError, answer
from protocol import Answer, serve
from words import keywords

_PROJECT = "corpus"


class BasicMemoryMcp(McpDriver):
    """`basic-memory mcp` over one project."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:
        """Copy the corpus and add it as a project, which indexes it."""
        shutil.copytree(corpus, folder / "copy")
        super().build(corpus, sections, folder)

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:  # noqa: ARG002
        """One project."""
        add: list[str | Path] = ["project", "add", _PROJECT, folder / "copy"]
        return [[self._program(), *add, "--default", "--local"]]

    def server(self) -> list[str | Path]:
        """The MCP server."""
        return [self._program(), "mcp"]

    def environment(self) -> dict[str, str]:
        """Settings and index in the folder; no models, no updates of itself."""
        return {
            "BASIC_MEMORY_CONFIG_DIR": str(self.folder / "state"),
            "BASIC_MEMORY_HOME": str(self.folder / "notes"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
        }

    def stored(self, folder: Path) -> Iterator[Path]:
        """The database, without the copy of the corpus."""
        return (file for file in (folder / "state").rglob("*") if file.is_file())

    def search(self, query: str, k: int) -> Answer:
        """Whole notes, cut at 4,000 characters, as JSON in a text."""
        reply = self.call(
            "search_notes",
            {
                "query": " ".join(keywords(query)),
                "project": _PROJECT,
                "search_type": "text",
                "page_size": k,
                "output_format": "json",
            },
        )
        if not reply.text.startswith("{"):
            raise ToolError(reply.text)
        found = json.loads(reply.text)["results"]
        return answer([each["file_path"] for each in found], reply)

    def _program(self) -> Path:
        return Path(self.options["python"]).with_name("basic-memory")


if __name__ == "__main__":
    serve(BasicMemoryMcp())

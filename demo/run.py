"""The demo: read a small corpus, use it through a real MCP client, measure push and pull.

Everything happens on this machine; no key and no network are needed.
"""

import subprocess
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
STORE = HERE / ".contextpull"
KEPT = HERE.parent / "benchmarks" / "pull" / "demo"
CLI = [sys.executable, "-m", "contextpull"]
CALLS = (
    ("index", {"path": "policies/"}),
    ("search", {"query": "HG-4419", "limit": 3}),
    ("grep", {"pattern": r"FN-\d{4}", "regex": True, "limit": 4}),
    ("read", {"ids": ["reference/error-codes.md#hg-4419-uplink-retries-exhausted"]}),
    ("read", {"ids": ["reference/modbus-registers.md#register-map~3"]}),
)
MOST_LINES = 16


def main() -> None:
    """Run the steps one after the other."""
    step("1. Read a folder of documents into a store", *CLI, "ingest", CORPUS, "--store", STORE)
    title("2. Use it as an agent does: an MCP client starts the server and calls its tools")
    anyio.run(use_tools)
    step(
        "3. Measure: how often does push retrieval find the right sections?",
        *(*CLI, "eval", "run", "--questions", HERE / "questions.jsonl"),
        *("--store", STORE, "--rows", "bm25", "--k", "5"),
    )
    step(
        "4. Beside it, a small model that pulled: 30 of the questions, replayed as they were asked",
        *(*CLI, "eval", "replay", KEPT, "--no-shapes"),
    )
    print("What it shows: benchmarks/pull/README.md. One question of it, as the model saw it:")
    print(f"  contextpull eval show {KEPT.relative_to(HERE.parent)} d34\n")
    print("Attach your own folder:  claude mcp add contextpull -- contextpull serve ./docs")


async def use_tools() -> None:
    """Start the server as a host would, look at it, and call each tool."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextpull", "serve", str(CORPUS), "--store", str(STORE)],
    )
    async with Client(stdio_client(server)) as client:
        instructions = client.instructions or ""
        tools = await client.list_tools()
        print(f"Instructions: {len(instructions):,} characters. They begin:\n")
        print(shortened("\n".join(instructions.splitlines()[:9])))
        print(f"\nTools: {', '.join(tool.name for tool in tools.tools)}")
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            text = result.content[0].text
            shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            print(f"\n> {name}({shown})   about {len(text) // 4} tokens")
            print(shortened(text))


def step(heading: str, *command: str | Path) -> None:
    """Say what comes, and run it."""
    title(heading)
    subprocess.run([str(part) for part in command], check=True)


def title(heading: str) -> None:
    """A heading between the steps."""
    print(f"\n{heading}\n{'─' * len(heading)}", flush=True)


def shortened(text: str) -> str:
    """The first lines of a longer text."""
    lines = text.splitlines()
    more = [f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more])


if __name__ == "__main__":
    main()

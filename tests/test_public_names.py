"""The names that users rely on."""

import contextpull
import contextpull.eval
from contextpull import adapters, tools
from contextpull.adapters import push, ragbisect
from contextpull.cli.main import cli


def test_public_names_stay() -> None:
    assert {"open_store", "Store", "__version__"} <= set(contextpull.__all__)
    assert callable(contextpull.open_store)
    assert [tool.name for tool in tools.TOOLS] == ["search", "grep", "read", "index"]
    assert callable(tools.ToolSession)
    assert callable(tools.call)
    assert callable(tools.instructions)
    assert callable(tools.to_anthropic)
    assert callable(tools.to_openai)
    assert callable(tools.to_mcp)
    assert callable(push.bm25_over_store)
    assert callable(push.bm25_over_passages)
    assert callable(ragbisect.load_questions)
    assert callable(contextpull.eval.ApiLoopRetriever)
    assert callable(contextpull.eval.ClaudeCodeRetriever)
    assert adapters.__doc__


def test_commands_stay() -> None:
    assert list(cli.commands) == [
        "ingest",
        "corpora",
        "serve",
        "tokens",
        "index",
        "search",
        "grep",
        "read",
        "export-chunks",
        "tools",
        "claude-md",
        "mcp-config",
        "doctor",
        "models",
        "eval",
        "golden",
    ]

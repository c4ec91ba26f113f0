"""One question through Pydantic AI, in an environment of its own.

The first argument is JSON: where the server is, where the model, and the question. Prints the
answer.
"""

import asyncio
import json
import sys
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def toolset_at(where: dict[str, Any]) -> MCPToolset[None]:
    """By default a second error of a tool ends the run, and instructions are left out."""
    options: dict[str, Any] = {"include_instructions": True, "tool_error_behavior": "failed"}
    if "url" in where:
        return MCPToolset(where["url"], headers=where["headers"], **options)
    command, *arguments = where["command"]
    return MCPToolset(StdioTransport(command, arguments), **options)


async def main(asked: dict[str, Any]) -> str:
    provider = OpenAIProvider(base_url=asked["model"], api_key=asked["key"])
    agent = Agent(
        OpenAIChatModel("a-model", provider=provider),
        instructions="Answer from the documents.",
        toolsets=[toolset_at(asked["server"])],
    )
    return str((await agent.run(asked["question"])).output)


print(asyncio.run(main(json.loads(sys.argv[1]))))

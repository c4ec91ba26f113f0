"""One question through the OpenAI Agents SDK, in an environment of its own.

The first argument is JSON: where the server is, where the model, and the question. Prints the
answer.
"""

import asyncio
import json
import sys
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


def server_at(where: dict[str, Any]) -> MCPServer:
    if "url" in where:
        return MCPServerStreamableHttp(
            {"url": where["url"], "headers": where["headers"]}, client_session_timeout_seconds=60
        )
    command, *arguments = where["command"]
    return MCPServerStdio(
        {"command": command, "args": arguments}, client_session_timeout_seconds=60
    )


async def main(asked: dict[str, Any]) -> str:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=asked["model"], api_key=asked["key"], max_retries=0)
    async with server_at(asked["server"]) as server:
        agent = Agent(
            name="asker",
            instructions="Answer from the documents.",
            model=OpenAIChatCompletionsModel("a-model", client),
            mcp_servers=[server],
        )
        result = await Runner.run(agent, asked["question"], max_turns=30)
        return str(result.final_output)


print(asyncio.run(main(json.loads(sys.argv[1]))))

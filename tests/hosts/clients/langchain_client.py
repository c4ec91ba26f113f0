"""One question through LangChain's adapters for MCP, in an environment of its own.

The first argument is JSON: where the server is, where the model, and the question. Prints the
answer.
"""

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI


def connection_to(where: dict[str, Any]) -> dict[str, Any]:
    if "url" in where:
        return {"transport": "streamable_http", **where}
    command, *arguments = where["command"]
    return {"transport": "stdio", "command": command, "args": arguments}


async def main(asked: dict[str, Any]) -> str:
    model = ChatOpenAI(
        model="a-model", base_url=asked["model"], api_key=asked["key"], max_retries=0
    )
    client = MultiServerMCPClient({"contextpull": connection_to(asked["server"])})
    async with client.session("contextpull") as session:
        agent = create_agent(
            model, await load_mcp_tools(session), system_prompt="Answer from the documents."
        )
        messages = [{"role": "user", "content": asked["question"]}]
        result = await agent.ainvoke({"messages": messages})
        return str(result["messages"][-1].content)


print(asyncio.run(main(json.loads(sys.argv[1]))))

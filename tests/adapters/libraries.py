"""LangChain and LlamaIndex behind one face, so that one test holds for both."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

ELSEWHERE = "make test-hosts runs this, in an environment with LangChain and LlamaIndex"


class Found(NamedTuple):
    """One section, as the library gives it."""

    id: str
    text: str
    metadata: dict[str, Any]


class Called(NamedTuple):
    """What a tool gave, as the library passes it on."""

    text: str
    is_error: bool
    data: Any
    """None where the library keeps none of it, as LangChain of an error."""


class LangChain:
    """langchain-core."""

    needs = "langchain_core"

    def __init__(self) -> None:
        self.adapter = import_module("contextpull.adapters.langchain")

    def retriever(self, store: Any, **options: Any) -> Any:
        return self.adapter.ContextPullRetriever(store=store, **options)

    def ask(self, retriever: Any, query: Any) -> list[Found]:
        return self._found(retriever.invoke(query))

    async def ask_async(self, retriever: Any, query: str) -> list[Found]:
        return self._found(await retriever.ainvoke(query))

    def offered(self, tool: Any) -> dict[str, Any]:
        """The tool as chat completions take it, by the library's own conversion."""
        convert = import_module("langchain_core.utils.function_calling").convert_to_openai_tool
        return dict(convert(tool))

    def call(self, tool: Any, arguments: dict[str, Any]) -> Called:
        return self._called(tool.invoke(self._asked(tool, arguments)))

    async def call_async(self, tool: Any, arguments: dict[str, Any]) -> Called:
        return self._called(await tool.ainvoke(self._asked(tool, arguments)))

    def _asked(self, tool: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"type": "tool_call", "id": "call_1", "name": tool.name, "args": arguments}

    def _called(self, message: Any) -> Called:
        assert (message.type, message.tool_call_id) == ("tool", "call_1")
        return Called(message.content, message.status == "error", message.artifact)

    def _found(self, documents: Any) -> list[Found]:
        return [Found(each.id, each.page_content, each.metadata) for each in documents]


class LlamaIndex:
    """llama-index-core."""

    needs = "llama_index.core"

    def __init__(self) -> None:
        self.adapter = import_module("contextpull.adapters.llama_index")
        self._calling = import_module("llama_index.core.tools.calling")

    def retriever(self, store: Any, **options: Any) -> Any:
        return self.adapter.ContextPullRetriever(store, **options)

    def ask(self, retriever: Any, query: Any) -> list[Found]:
        bundle = import_module("llama_index.core.schema").QueryBundle(query)
        return self._found(retriever.retrieve(bundle))

    async def ask_async(self, retriever: Any, query: str) -> list[Found]:
        return self._found(await retriever.aretrieve(query))

    def offered(self, tool: Any) -> dict[str, Any]:
        return dict(tool.metadata.to_openai_tool())

    def call(self, tool: Any, arguments: dict[str, Any]) -> Called:
        return self._called(self._calling.call_tool(tool, arguments))

    async def call_async(self, tool: Any, arguments: dict[str, Any]) -> Called:
        return self._called(await self._calling.acall_tool(tool, arguments))

    def _called(self, output: Any) -> Called:
        return Called(output.content, output.is_error, output.raw_output)

    def _found(self, nodes: Any) -> list[Found]:
        assert [each.score for each in nodes] == [each.metadata["score"] for each in nodes]
        return [Found(each.node_id, each.text, each.metadata) for each in nodes]


LIBRARIES: list[Callable[[], Any]] = [LangChain, LlamaIndex]

"""LlamaIndex: a retriever over a store, and the four tools.

Needs the extra `adapters`.
"""

from collections.abc import Sequence
from typing import Any

from contextpull.adapters.searching import Found, Searching, in_thread
from contextpull.config import Mode
from contextpull.errors import MissingExtra
from contextpull.retrieval.models import Models
from contextpull.retrieval.scope import ScopedStore
from contextpull.retrieval.work import Work
from contextpull.store import Store
from contextpull.tools import TOOLS, Tool, ToolSession

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.tools import ToolMetadata, ToolOutput
    from llama_index.core.tools.types import AsyncBaseTool
except ImportError as error:
    raise MissingExtra("Working with LlamaIndex", "adapters") from error

_SHOWN_TO_MODELS = {"id", "headings", "page", "repeated_header"}


class ContextPullRetriever(BaseRetriever):
    """The best sections for a query, as nodes with scores.

    The text of a node is that of the section exactly as its document holds it, its id that of the
    section; `metadata` is that of `contextpull.adapters.searching.Found`, of which a model is shown
    what it needs to cite. Follows the store from generation to generation.
    """

    def __init__(
        self,
        store: Store | ScopedStore,
        *,
        k: int = 5,
        mode: Mode | None = None,
        paths: str | list[str] | tuple[str, ...] = (),
        models: Models | None = None,
        **options: Any,
    ) -> None:
        """Search a store; `options` are those of every retriever of LlamaIndex.

        Raises InvalidInput for what nothing can be searched by. A query raises PathNotFound where
        one of `paths` means no document.
        """
        given: Any = paths
        self._searching = Searching(store, k, mode, given, models)
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._searching.found(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return _nodes(await in_thread(lambda work: self._searching.found(query, work)))


def tools(session: ToolSession) -> list[AsyncBaseTool]:
    """The four tools for one talk, with the names, descriptions and schemas of the MCP server.

    The content of an output is the text that the server gives, errors too (`is_error`);
    `raw_output` is the data for programs.
    """
    return [_Tool(session, tool) for tool in TOOLS]


class _Tool(AsyncBaseTool):
    def __init__(self, session: ToolSession, tool: Tool) -> None:
        self._session = session
        self._metadata = _Metadata(tool.description, tool.name, tool.arguments)

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    def call(self, /, *given: Any, **arguments: Any) -> ToolOutput:
        return self._call(given, arguments, Work())

    __call__ = call  # the inherited one takes an argument `self` for its own

    async def acall(self, /, *given: Any, **arguments: Any) -> ToolOutput:
        return await in_thread(lambda work: self._call(given, arguments, work))

    def _call(self, given: Sequence[Any], arguments: dict[str, Any], work: Work) -> ToolOutput:
        """Arguments come by name, or all as one object or its JSON text."""
        name = self._metadata.get_name()
        result = self._session.call(name, given[0] if given else arguments, work)
        return ToolOutput(
            tool_name=name,
            content=result.text,
            raw_input={"input": given[0]} if given else arguments,
            raw_output=result.data,
            is_error=result.is_error,
        )


class _Metadata(ToolMetadata):
    def get_parameters_dict(self) -> dict[str, Any]:
        """Our own schema: that of the class of arguments has titles, and keeps nothing out."""
        return next(tool.schema for tool in TOOLS if tool.name == self.name)


def _nodes(found: list[Found]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            score=each.score,
            node=TextNode(
                id_=each.id,
                text=each.text,
                metadata=each.metadata,
                excluded_llm_metadata_keys=_hidden(each),
                excluded_embed_metadata_keys=list(each.metadata),
            ),
        )
        for each in found
    ]


def _hidden(found: Found) -> list[str]:
    """What of the metadata no model needs to see."""
    return [
        name
        for name, value in found.metadata.items()
        if name not in _SHOWN_TO_MODELS or value is None
    ]

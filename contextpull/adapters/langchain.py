"""LangChain: a retriever over a store, and the four tools.

Needs the extra `adapters`.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, SkipValidation

from contextpull.adapters.searching import Found, Searching, in_thread
from contextpull.config import Mode
from contextpull.errors import MissingExtra
from contextpull.retrieval.models import Models
from contextpull.retrieval.scope import ScopedStore
from contextpull.retrieval.work import Work
from contextpull.store import Store
from contextpull.tools import TOOLS, ToolSession

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
except ImportError as error:
    raise MissingExtra("Working with LangChain", "adapters") from error


class ContextPullRetriever(BaseRetriever):
    """The best sections for a query, as documents.

    `page_content` is the text of the section exactly as its document holds it; `metadata` is that
    of `contextpull.adapters.searching.Found`. What is said here can be said anew for one call:
    `retriever.invoke("query", k=3)`. Follows the store from generation to generation.
    Raises InvalidInput for what nothing can be searched by, PathNotFound, of a query, where one of
    `paths` means no document.
    """

    model_config = ConfigDict(extra="forbid")

    store: Annotated[Store | ScopedStore, SkipValidation]
    k: Annotated[int, SkipValidation] = 5
    mode: Annotated[Mode | None, SkipValidation] = None
    paths: Annotated[str | list[str] | tuple[str, ...], SkipValidation] = ()
    models: Annotated[Models | None, SkipValidation] = None

    def model_post_init(self, context: Any, /) -> None:
        """Refuse at once what no query could be answered with."""
        super().model_post_init(context)
        self._searching()

    def _searching(self, **changed: Any) -> Searching:
        names = ("store", "k", "mode", "paths", "models")
        return Searching(**{**{name: getattr(self, name) for name in names}, **changed})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - as LangChain calls it
        **changed: Any,
    ) -> list[Document]:
        return _documents(self._searching(**changed).found(query))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as LangChain calls it
        **changed: Any,
    ) -> list[Document]:
        searching = self._searching(**changed)
        return _documents(await in_thread(lambda work: searching.found(query, work)))


def tools(session: ToolSession) -> list[BaseTool]:
    """The four tools for one talk, with the names, descriptions and schemas of the MCP server.

    A result is the text that the server gives, with the data for programs as its artifact; an error
    is a message with the status `error`.
    """
    return [
        _Tool(
            name=tool.name,
            description=tool.description,
            args_schema=tool.schema,
            session=session,
            handle_tool_error=True,
            response_format="content_and_artifact",
        )
        for tool in TOOLS
    ]


class _Tool(BaseTool):
    session: Annotated[ToolSession, SkipValidation]

    def _run(self, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return self._call(arguments, Work())

    async def _arun(self, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return await in_thread(lambda work: self._call(arguments, work))

    def _call(self, arguments: dict[str, Any], work: Work) -> tuple[str, dict[str, Any]]:
        result = self.session.call(self.name, arguments, work)
        if result.is_error:
            raise ToolException(result.text)
        return result.text, result.data


def _documents(found: list[Found]) -> list[Document]:
    return [Document(id=each.id, page_content=each.text, metadata=each.metadata) for each in found]

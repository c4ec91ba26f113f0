"""The four tools: names, descriptions, schemas, and one dispatcher.

The MCP server, the evaluation loop and embedders use these definitions unchanged.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from contextpull.config import Mode, Snippets
from contextpull.errors import ContextPullError
from contextpull.retrieval import rendering
from contextpull.retrieval.grep import grep
from contextpull.retrieval.listing import list_contents
from contextpull.retrieval.models import Models, shared_models
from contextpull.retrieval.reading import MOST_IDS, read
from contextpull.retrieval.schemas import OUTPUT_SCHEMAS
from contextpull.retrieval.scope import ScopedStore
from contextpull.retrieval.search import search
from contextpull.retrieval.work import Work
from contextpull.store import Snapshot, Store

DISCIPLINE = """\
These tools read a folder of documents, cut into sections. A section id is path#heading-slug.
- search finds sections by words or names; its snippets are pointers, not evidence.
- grep finds exact strings and patterns: codes, flags, every mention.
- read returns sections verbatim. Read before you answer; answer only from what you read.
- index lists documents, and a document's sections.
Compare: read both sides. Count or list: grep, then read. Cite the id of each section you use, \
like [guide/setup.md#install]. If nothing answers, say so."""
"""What a model must know to use the tools well; hosts show it before everything else."""

MOST_INSTRUCTION_CHARS = 4_096
"""Hosts cut instructions here (older ones at 2,048): the discipline stands first."""

_ROOM_FOR_HINT = 60


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Texts = Annotated[list[str], BeforeValidator(_as_list)]
Whole = Annotated[int, BeforeValidator(_as_whole)]
"""An integer, also one that JSON wrote as 5.0."""

_MOST_PATHS = 50
_MOST_FAULTS = 3
_LONGEST_ERROR = 4_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SearchArguments(_Arguments):
    """Arguments of `search`."""

    query: str = Field(min_length=1, description='Words or names; "quoted phrases" first')
    paths: Texts = Field(
        default=[], max_length=_MOST_PATHS, description="Only these documents, folders or globs"
    )
    limit: Whole = Field(default=10, ge=1, le=50)
    offset: Whole = Field(default=0, ge=0, le=1000)
    mode: Mode | None = Field(
        default=None, description="Ranking; leave out for what suits the store"
    )


class GrepArguments(_Arguments):
    """Arguments of `grep`."""

    pattern: str = Field(min_length=1, description="Text to find, or RE2 expression")
    regex: bool = False
    ignore_case: bool | None = Field(
        default=None, description="Default: yes, unless the pattern has capitals"
    )
    paths: Texts = Field(
        default=[], max_length=_MOST_PATHS, description="Only these documents, folders or globs"
    )
    context: Whole = Field(default=0, ge=0, le=10, description="Lines around each match")
    limit: Whole = Field(default=20, ge=1, le=100)
    offset: Whole = Field(default=0, ge=0, le=100_000)


class ReadArguments(_Arguments):
    """Arguments of `read`."""

    ids: Texts = Field(
        min_length=1, max_length=MOST_IDS, description="Section ids, or a path for a whole document"
    )
    context: Whole = Field(default=0, ge=0, le=5, description="Sections around each")
    offset: Whole = Field(
        default=0, ge=0, description="Character to go on from, as a cut result says"
    )


class IndexArguments(_Arguments):
    """Arguments of `index`."""

    path: str = Field(default="", description="Folder, glob or document; empty for everything")
    offset: Whole = Field(default=0, ge=0)


class ToolResult(NamedTuple):
    """What a call gives back."""

    text: str
    """For the model."""
    data: dict[str, Any]
    """The same for programs; an error is `{"error": …}`."""
    is_error: bool = False


class Tool(NamedTuple):
    """One tool, as every host is told of it."""

    name: str
    description: str
    arguments: type[_Arguments]
    example: dict[str, Any]
    """A call that is right, to be shown beside one that is wrong."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without what no model needs."""
        return _input_schema(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the result for programs."""
        return OUTPUT_SCHEMAS[self.name]


TOOLS = (
    Tool(
        "search",
        "Find the sections that match words or names best. Returns ids with snippets: pointers to "
        "read, not evidence.",
        SearchArguments,
        {"query": "clear the cache", "limit": 5},
    ),
    Tool(
        "grep",
        "Find every line with an exact string, or an RE2 regular expression, in document order, "
        "with section ids, line numbers and counts.",
        GrepArguments,
        {"pattern": "--no-cache", "paths": "guide/"},
    ),
    Tool(
        "read",
        "Return sections verbatim by id: the evidence to answer from and cite.",
        ReadArguments,
        {"ids": ["guide/setup.md#install"]},
    ),
    Tool(
        "index",
        "List the documents, those of a folder, or the sections of one document with their ids "
        "and sizes.",
        IndexArguments,
        {"path": "guide/"},
    ),
)
"""All tools, in the order in which they are listed."""


class ToolSession:
    """One client's use of the tools over a store: remembers which text it has been shown."""

    def __init__(
        self,
        store: Store | ScopedStore,
        snippets: Snippets = "short",
        mode: Mode | None = None,
        models: Models | None = None,
    ) -> None:
        """Use a store; `snippets` and `mode` are what `search` shows and how it ranks.

        `models` may serve any number of sessions.
        """
        self._store = store
        self._snippets = snippets
        self._mode = mode
        self._models = models or Models()
        self._seen: dict[str, int] = {}

    def call(
        self, name: str, arguments: Mapping[str, Any] | str, work: Work | None = None
    ) -> ToolResult:
        """Run a tool; what goes wrong for a reason the caller can act on is an error result.

        The arguments may also be their JSON text, as OpenAI's APIs give it.
        Raises Stopped when `work` is to end, and nothing else on purpose.
        """
        tool = next((each for each in TOOLS if each.name == name), None)
        if tool is None:
            names = ", ".join(each.name for each in TOOLS)
            return _error(f"There is no tool {_cut(name)!r}. The tools are {names}.")
        try:
            checked = tool.arguments.model_validate(_as_object(arguments))
        except ValidationError as error:
            return _error(_explained(tool, error))
        try:
            return _RUN[name](self, self._store.snapshot(), checked, work)
        except ContextPullError as error:
            return _error(str(error))

    def _search(
        self, snapshot: Snapshot, arguments: SearchArguments, work: Work | None
    ) -> ToolResult:
        result = search(
            snapshot,
            arguments.query,
            limit=arguments.limit,
            offset=arguments.offset,
            paths=arguments.paths,
            snippets=self._snippets,
            mode=arguments.mode or self._mode,
            models=self._models,
            work=work,
        )
        result = rendering.fitting_hits(result)
        for hit in result.hits:
            self._seen.setdefault(hit.section.id, hit.section.fingerprint)
        elsewhere = (
            bool(arguments.paths)
            and not result.hits
            and _matches_elsewhere(snapshot, arguments.query)
        )
        text = rendering.search_text(snapshot, arguments.query, result, elsewhere)
        return ToolResult(text, rendering.search_data(result))

    def _grep(self, snapshot: Snapshot, arguments: GrepArguments, work: Work | None) -> ToolResult:
        result = rendering.fitting_matches(grep(snapshot, **arguments.model_dump(), work=work))
        text = rendering.grep_text(snapshot, arguments.pattern, arguments.regex, result)
        return ToolResult(text, rendering.grep_data(result))

    def _read(self, snapshot: Snapshot, arguments: ReadArguments, _work: Work | None) -> ToolResult:
        sections = read(snapshot, arguments.ids, context=arguments.context)
        page = rendering.read_page(sections, arguments.offset)
        shown = {each.section.id: each.section.fingerprint for each, _ in page.sections}
        changed = [each for each, now in shown.items() if self._seen.get(each, now) != now]
        self._seen.update(shown)
        return ToolResult(rendering.read_text(page, changed), rendering.read_data(page))

    def _index(
        self, snapshot: Snapshot, arguments: IndexArguments, _work: Work | None
    ) -> ToolResult:
        listing = list_contents(snapshot, arguments.path, offset=arguments.offset)
        return ToolResult(rendering.index_text(listing), rendering.index_data(listing))


_RUN: dict[str, Callable[[ToolSession, Snapshot, Any, Work | None], ToolResult]] = {
    "search": ToolSession._search,
    "grep": ToolSession._grep,
    "read": ToolSession._read,
    "index": ToolSession._index,
}


def instructions(snapshot: Snapshot, most_chars: int = MOST_INSTRUCTION_CHARS) -> str:
    """What a model is told before its first call: the discipline, then as much index as fits.

    Never longer than `most_chars`.
    """
    room = most_chars - len(DISCIPLINE) - _ROOM_FOR_HINT
    listing = list_contents(snapshot, budget=max(room, 0))
    text = rendering.index_text(listing)
    if len(text) > room:
        text = listing.heading
    if listing.next_offset is not None:
        text = f"{listing.heading}\n" + "\n".join(listing.lines)
        text = text[:room] + "\n… more: call index."
    return f"{DISCIPLINE}\n\n{text}"[:most_chars]


def call(store: Store | ScopedStore, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
    """Run one tool, as a ToolSession does that remembers nothing of calls before.

    Models, where the store keeps vectors, are loaded once for all such calls of the process.
    """
    return ToolSession(store, models=shared_models()).call(name, arguments)


def to_anthropic() -> list[dict[str, Any]]:
    """The tools as the Anthropic Messages API takes them."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in TOOLS
    ]


def to_openai(*, chat: bool = False) -> list[dict[str, Any]]:
    """The tools as the OpenAI Responses API takes them, or as chat completions do."""
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        for tool in TOOLS
    ]
    if chat:
        return [{"type": "function", "function": function} for function in functions]
    return [{"type": "function", **function, "strict": False} for function in functions]


def to_mcp() -> list[dict[str, Any]]:
    """The tools as an MCP server lists them."""
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
        for tool in TOOLS
    ]


def _error(message: str) -> ToolResult:
    message = _cut(message, _LONGEST_ERROR)
    return ToolResult(message, {"error": message}, is_error=True)


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _matches_elsewhere(snapshot: Snapshot, query: str) -> bool:
    return bool(search(snapshot, query, limit=1, snippets="heading", mode="lexical").hits)


def _input_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema()
    properties = {name: _plain(facts) for name, facts in schema["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        **({"required": schema["required"]} if "required" in schema else {}),
        "additionalProperties": False,
    }


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """One property without titles; a list of texts may also be given as one text."""
    plain = {key: value for key, value in facts.items() if key not in {"title", "anyOf"}}
    if "anyOf" in facts:
        plain["type"] = [each["type"] for each in facts["anyOf"]]
        for each in facts["anyOf"]:
            if "enum" in each:
                plain["enum"] = [*each["enum"], None]
    if plain.get("default", "") in (None, [], ""):
        plain.pop("default", None)
    if plain.get("type") == "array":
        plain["type"] = ["string", "array"]
    return plain


def _as_object(arguments: object) -> object:
    """The arguments as an object, where they are one; else as they are, for the fault to show."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            return json.loads(arguments or "{}")
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def _explained(tool: Tool, error: ValidationError) -> str:
    """What is wrong with the arguments, each with its name, and a call that is right."""
    faults = [_fault(tool, each) for each in error.errors(include_url=False)[:_MOST_FAULTS]]
    example = json.dumps(tool.example)
    return f"{tool.name}: {'; '.join(faults)}. A call that works: {tool.name}({example})"


def _fault(tool: Tool, error: Any) -> str:
    if not error["loc"]:
        return f"the arguments must be one JSON object, not {_given(error)}"
    name = _cut(str(error["loc"][0]))
    if error["type"] == "extra_forbidden":
        known = ", ".join(tool.arguments.model_fields)
        return f"there is no argument {name!r} (the arguments are {known})"
    if error["type"] == "missing":
        return f"the argument {name!r} is missing"
    given = _given(error)
    if error["type"] == "list_type":
        return f"{name!r} must be a string or a list of strings, not {given}"
    message = error["msg"].replace("Input should be", "must be").replace("a valid i", "an i")
    message = message.replace("valid ", "").replace(" after validation", "")
    return f"{name!r} {message}, not {given}" if "must be" in message else f"{name!r}: {message}"


def _given(error: Any) -> str:
    return _cut(json.dumps(error["input"], default=str))

"""Prompts: the common asks, worded so that a model reads before it answers, and cites."""

from collections.abc import Mapping
from typing import NamedTuple

import mcp_types as types

from contextpull.errors import InvalidInput
from contextpull.retrieval.reading import read
from contextpull.store import Snapshot

_LONGEST = 10_000
"""Characters of an argument."""
_SHOWN = 60


class _Ask(NamedTuple):
    name: str
    title: str
    description: str
    arguments: dict[str, str]
    """By name, what to give; all are needed."""
    documents: tuple[str, ...]
    """The arguments that name a document, or a section."""
    text: str


_ANSWER = """\
Answer this question from the documents behind the tools search, grep, read and index:

{question}

Where a host passed on only the first word of what I typed, all that I typed is the question.

1. Search for its words. Grep for what is written one way only: codes, flags, names.
2. Read every section that you use. Snippets and titles only point; they prove nothing.
3. Answer from what you read and from nothing else. Behind each statement cite the id of the \
section that says it, like [guide/setup.md#install].
4. Where sections disagree, say so and cite both. If none answers, say so, and what you looked for.\
"""

_COMPARE = """\
Compare {a} with {b}, from the tools index, search, grep and read.

1. Index each of them: which sections does it have, and which belong together?
2. Read both sides of every point that you compare. A title or a snippet is no side.
3. Give a table with a row for each point: what it is, what {a} says, what {b} says, each with \
the id of its section, like [guide/setup.md#install]. Differences stand first.
4. List what only one of them covers: grep the other for it before you say that it is missing.
5. Say in two sentences what matters most. Do not fill gaps from what you know otherwise.\
"""

_MENTIONS = """\
Find every mention of this in the documents, with the tools grep, read and search:

{term}

Where a host passed on only the first word of what I typed, all that I typed is the term.

1. Grep for it as it is written, and go on with the offset that a cut result names until nothing \
is left.
2. Grep for its other spellings: plural, with and without hyphen, abbreviated, as a code. Search \
for it too: it may be described without being named.
3. Read the section wherever the line alone does not tell what is said.
4. List the mentions by document, each with what it says in a line and the id of its section, \
like [guide/setup.md#install]. Then the number of lines that grep counted for each spelling.
5. If there is none, say which spellings you looked for.\
"""

_ASKS = {
    ask.name: ask
    for ask in (
        _Ask(
            "answer",
            "Answer with citations",
            "Answer a question from the documents, with the section behind each statement.",
            {"question": "What you want to know"},
            (),
            _ANSWER,
        ),
        _Ask(
            "compare",
            "Compare two documents",
            "What two documents say alike, what differently, and what only one of them says.",
            {"a": "Path of a document, or id of a section", "b": "The other one"},
            ("a", "b"),
            _COMPARE,
        ),
        _Ask(
            "mentions",
            "Find every mention",
            "Where a name, a code or a term stands, and what is said of it there.",
            {"term": "The name, code or term"},
            (),
            _MENTIONS,
        ),
    )
}


def list_prompts() -> list[types.Prompt]:
    """Every prompt, with its arguments."""
    return [
        types.Prompt(
            name=ask.name,
            title=ask.title,
            description=ask.description,
            arguments=[
                types.PromptArgument(name=name, description=what, required=True)
                for name, what in ask.arguments.items()
            ],
        )
        for ask in _ASKS.values()
    ]


def get_prompt(
    snapshot: Snapshot, name: str, arguments: Mapping[str, str]
) -> types.GetPromptResult:
    """A prompt with its arguments filled in.

    Raises InvalidInput for a prompt or an argument that cannot be used, SectionNotFound for a
    document that is not there.
    """
    ask = _ask(name)
    for unknown in arguments.keys() - ask.arguments.keys():
        raise InvalidInput(
            f"The prompt {name!r} has no argument {unknown[:_SHOWN]!r}."
            f" It takes {', '.join(ask.arguments)}."
        )
    filled = {each: _argument(ask, each, arguments) for each in ask.arguments}
    if ask.documents:
        read(snapshot, [filled[each] for each in ask.documents])
    message = types.PromptMessage(
        role="user", content=types.TextContent(type="text", text=ask.text.format(**filled))
    )
    return types.GetPromptResult(description=ask.description, messages=[message])


def names_document(name: str, argument: str) -> bool:
    """Whether an argument of a prompt names a document; InvalidInput when there is none such."""
    ask = _ask(name)
    if argument not in ask.arguments:
        raise InvalidInput(
            f"The prompt {name!r} has no argument {argument[:_SHOWN]!r}."
            f" It takes {', '.join(ask.arguments)}."
        )
    return argument in ask.documents


def _ask(name: str) -> _Ask:
    if name not in _ASKS:
        raise InvalidInput(
            f"There is no prompt {name[:_SHOWN]!r}. The prompts are {', '.join(_ASKS)}."
        )
    return _ASKS[name]


def _argument(ask: _Ask, name: str, arguments: Mapping[str, str]) -> str:
    value = arguments.get(name, "").strip()
    if not value:
        raise InvalidInput(
            f"The prompt {ask.name!r} needs {name!r}: {ask.arguments[name].lower()}."
        )
    if len(value) > _LONGEST:
        raise InvalidInput(f"{name!r} is longer than {_LONGEST:,} characters. Shorten it.")
    return value

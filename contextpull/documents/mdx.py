"""MDX: Markdown with components. Module code stays in the text, and out of summaries."""

import re
from dataclasses import replace

from contextpull.documents.markdown import read_markdown
from contextpull.types import Block, ParsedDocument

_MODULE_CODE = re.compile(rb"(?:import|export)\s+[\w{*'\"]")
_NO_SENTENCE = (b"<", b"{", b"|", b"!", b">")
_LONGEST_DESCRIPTION = 160


def read_mdx(data: bytes) -> ParsedDocument:
    """Read an MDX file as Markdown; module code becomes blocks of code.

    What it says of itself is its first running text, where front matter gives no description.
    """
    document = read_markdown(data)
    blocks = tuple(_as_code(document.text, block) for block in document.blocks)
    description = document.description or _first_prose(document.text, blocks)
    return replace(document, blocks=blocks, description=description)


def _as_code(text: bytes, block: Block) -> Block:
    is_module_code = block.kind == "prose" and _MODULE_CODE.match(text, block.start, block.end)
    return block._replace(kind="code") if is_module_code else block


def _first_prose(text: bytes, blocks: tuple[Block, ...]) -> str:
    for block in blocks:
        content = text[block.start : block.end].strip() if block.kind == "prose" else b""
        if content and not content.startswith(_NO_SENTENCE):
            sentence = " ".join(content.decode().split())
            cut = sentence[: _LONGEST_DESCRIPTION - 1] + "…"
            return sentence if len(sentence) <= _LONGEST_DESCRIPTION else cut
    return ""

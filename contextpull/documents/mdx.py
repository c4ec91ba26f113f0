"""MDX: Markdown with components. Module code stays in the text, and out of summaries."""

import re
from dataclasses import replace

from contextpull.documents.markdown import read_markdown
from contextpull.types import Block, ParsedDocument

_MODULE_CODE = re.compile(rb"(?:import|export)\s+[\w{*'\"]")


def read_mdx(data: bytes) -> ParsedDocument:
    """Read an MDX file as Markdown; module code becomes blocks of code."""
    document = read_markdown(data)
    return replace(
        document, blocks=tuple(_as_code(document.text, block) for block in document.blocks)
    )


def _as_code(text: bytes, block: Block) -> Block:
    is_module_code = block.kind == "prose" and _MODULE_CODE.match(text, block.start, block.end)
    return block._replace(kind="code") if is_module_code else block

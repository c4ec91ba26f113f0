"""From a tree of HTML to blocks of text, in one walk that never recurses."""

import re
from collections.abc import Generator, Iterator

from selectolax.lexbor import LexborNode

from contextpull.documents.composing import Composer, fenced
from contextpull.documents.html_tables import Cell, header_and_rows, span_of

SKIPPED = frozenset(
    "script style template noscript head nav svg canvas iframe object embed audio video button "  # noqa: SIM905 - words
    "select datalist textarea input map".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt "  # noqa: SIM905 - words
    "fieldset figcaption figure footer form header hgroup hr html legend li main menu ol p "
    "section summary table tbody td tfoot th thead tr ul".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_PREFORMATTED = frozenset({"pre", "xmp", "listing", "plaintext"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_NO_CONTENT = re.compile(
    r"(?<![\w-])(?:linenos|lineno|linenodiv|line-numbers-rows|mw-editsection|headerlink|hash-link"
    r"|anchorjs-link|anchor-link|permalink|mw-portlet|catlinks|sortkey|toc"
    r"|nav-panel|navheader|navfooter|navigation)(?![\w-])"  # Texinfo's, DocBook's and GTK-Doc's
)
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_LANGUAGE = re.compile(r"(?<![\w-])(?:language|lang|highlight)-(?:source-)?([\w+#.-]+)")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_SPACES = re.compile(r" {2,}")

_EMPTY_LINES = re.compile(r"\n{3,}")
_LINE_BREAK = re.compile(r" *\n *")
_TARGETS = frozenset({"section", "div", "a", "span"})
_DEEPEST = 20
"""Items of deeper lists are indented no further."""

Step = tuple[LexborNode, bool]
"""A node, and whether it is entered (or left)."""


def write_nodes(root: LexborNode, composer: Composer) -> None:
    """Write all that is shown below a node."""
    _Writer(composer).write(root)


def has_text(node: LexborNode) -> bool:
    """Whether any text of it is shown."""
    return any(
        entered and each.tag == "-text" and bool((each.text_content or "").strip())
        for each, entered in _steps(node)
    )


def _steps(root: LexborNode) -> Generator[Step, bool | None, None]:
    """Every node below the root, entered and left in order; what is not shown is left out.

    Whoever sends True at a node that is entered has it left at once: what is in it is passed by.
    """
    end = root.mem_id
    node, entering = root.first_child, True
    while node is not None and node.mem_id != end:
        if not entering:
            yield node, False
        elif not _is_hidden(node):
            is_done = yield node, True
            child = None if is_done else node.first_child
            if child is not None:
                node = child
                continue
            yield node, False
        following = node.next
        entering = following is not None
        node = following if following is not None else node.parent


def _is_hidden(node: LexborNode) -> bool:
    tag = node.tag
    if tag == "-text":
        return False
    if tag is None or tag in SKIPPED or tag.startswith(("-", "ix:header")):
        return True  # ix:header holds facts of inline XBRL that no reader sees
    attributes = node.attributes
    if not attributes:
        return False
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in {"navigation", "search"}
        or bool(_NO_CONTENT.search(attributes.get("class") or ""))
        or bool(_INVISIBLE.search(attributes.get("style") or ""))
    )


def _inline(root: LexborNode, *, is_marked: bool) -> str:
    """The text of a node on one line; code between backticks where it is marked."""
    pieces: list[str] = []
    for node, entered in _steps(root):
        tag = node.tag or ""
        if tag == "-text":
            pieces.append(node.text_content or "" if entered else "")
        elif tag in _CODE:
            pieces.append("`" if is_marked else "")
        elif entered and tag == "li" and is_marked:
            pieces.append(" - ")
        elif tag in _BLOCKS or tag in _HEADINGS or tag in {"br", "pre"}:
            pieces.append(" ")
        elif entered and tag == "img":
            pieces.append(_image(node))
    return " ".join("".join(pieces).split())


def _verbatim(root: LexborNode) -> str:
    """The text of a node as it stands."""
    return "".join(
        "\n" if node.tag == "br" else node.text_content or ""
        for node, entered in _steps(root)
        if entered and node.tag in {"-text", "br"}
    )


def _image(node: LexborNode) -> str:
    alt = " ".join((node.attributes.get("alt") or "").split())
    return f"![{alt}]" if alt else ""


def _language(pre: LexborNode) -> str:
    """The language of a code block, as highlighters write it into classes."""
    parent = pre.parent
    around = [pre, pre.first_child, parent, parent.parent if parent is not None else None]
    classes = (node.attributes.get("class") or "" for node in around if node is not None)
    found = _LANGUAGE.search(" ".join(classes))
    language = found.group(1) if found else ""
    return "" if language in {"default", "none", "text", "plaintext"} else language


class _List:
    """A list that is open: how its items begin, and how far they stand in."""

    def __init__(self, tag: str, start: int, indent: str) -> None:
        self.is_ordered = tag == "ol"
        self.number = start
        self.indent = indent
        self.inner = indent

    def begin_item(self, tag: str) -> str:
        marker = {"dt": "", "dd": ": "}.get(tag, f"{self.number}. " if self.is_ordered else "- ")
        self.number += tag == "li"
        self.inner = self.indent + " " * len(marker)
        return self.indent + marker


class _Writer:
    """Follows the walk and writes each block when it is complete."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._text: list[str] = []
        self._lists: list[_List] = []
        self._quotes = 0
        self._marker: str | None = None
        self._target: tuple[str, str] | None = None
        """Tag and id of the last element that gave one, while no text has come since."""

    def write(self, root: LexborNode) -> None:
        steps = _steps(root)
        for node, entered in steps:
            if not entered:
                self._leave(node.tag or "")
            elif self._enter(node, node.tag or ""):
                steps.send(True)  # answered with the step that leaves it
        self._flush()
        self._composer.end_list()

    def _enter(self, node: LexborNode, tag: str) -> bool:
        """Whether the element was written with all that is in it."""
        if tag == "-text":
            self._add_text(node.text_content or "")
            return False
        self._remember_target(node, tag)
        if tag == "br":
            self._text.append("\n")
        elif tag == "img":
            self._text.append(_image(node))
        elif tag in _CODE:
            self._text.append("`")
        elif tag in _HEADINGS or tag in _PREFORMATTED or tag == "table":
            self._flush()
            return self._write_whole(node, tag)
        elif tag in _BLOCKS:
            self._flush()
            self._open(node, tag)
        return False

    def _write_whole(self, node: LexborNode, tag: str) -> bool:
        if tag in _HEADINGS:
            anchor = node.id or _inner_id(node) or (self._target[1] if self._target else None)
            self._composer.heading(_HEADINGS[tag], _inline(node, is_marked=False), anchor)
        elif tag in _PREFORMATTED:
            self._write_code(node)
        elif not self._write_table(node):
            return False
        self._target = None
        return True

    def _open(self, node: LexborNode, tag: str) -> None:
        if tag in _LISTS or tag == "dl":
            start = span_of(node.attributes.get("start")) if tag == "ol" else 1
            deep = len(self._lists) >= _DEEPEST
            outer = self._lists[-1] if self._lists else None
            indent = outer.indent if outer and deep else outer.inner if outer else ""
            self._lists.append(_List(tag, start, indent))
        elif tag in {"li", "dt", "dd"}:
            self._marker = self._lists[-1].begin_item(tag) if self._lists else "- "
        elif tag == "blockquote":
            self._quotes += 1

    def _leave(self, tag: str) -> None:
        if tag in _CODE:
            self._text.append("`")
        elif tag in _BLOCKS:
            self._flush()
            if tag in {"li", "dt", "dd"}:
                self._marker = None
            elif (tag in _LISTS or tag == "dl") and self._lists:
                self._lists.pop()
                if not self._lists:
                    self._composer.end_list()
            elif tag == "blockquote":
                self._quotes -= 1

    def _add_text(self, text: str) -> None:
        self._text.append(_SPACE.sub(" ", text))
        if self._target and text.strip():
            self._target = None

    def _remember_target(self, node: LexborNode, tag: str) -> None:
        """Keep the id of a place, should a heading follow; a section's goes before others."""
        if tag in _TARGETS and not (self._target and self._target[0] == "section" != tag):
            name = node.id or (node.attributes.get("name") if tag == "a" else None)
            self._target = (tag, name) if name else self._target

    def _flush(self) -> None:
        """Write the paragraph that is complete."""
        joined = "".join(self._text)
        self._text = []
        lines = _LINE_BREAK.sub("\n", _SPACES.sub(" ", joined))
        text = _EMPTY_LINES.sub("\n\n", lines).strip().replace("``", "")
        if not text:
            return
        if self._lists or self._marker is not None:
            self._write_item(text)
        else:
            quote = "> " if self._quotes else ""
            self._composer.prose("\n".join((quote + line).rstrip() for line in text.split("\n")))

    def _write_item(self, text: str, *, is_solid: bool = False) -> None:
        inner = self._lists[-1].inner if self._lists else "  "
        first = inner if self._marker is None else self._marker
        lines = text.split("\n") if is_solid else [line for line in text.split("\n") if line]
        item = "\n".join([first + lines[0], *(inner + line for line in lines[1:])])
        self._composer.item(item, is_new=self._marker is not None, is_solid=is_solid)
        self._marker = None

    def _write_code(self, node: LexborNode) -> None:
        text, language = _verbatim(node), _language(node)
        if not text.strip():
            return
        if self._lists:
            self._write_item(fenced(text, language).rstrip("\n"), is_solid=True)
        else:
            self._composer.code(text, language)

    def _write_table(self, table: LexborNode) -> bool:
        """Whether the element is a table of data; one that only lays out a page is not."""
        rows, heads, caption = _table_rows(table)
        if not _is_data(table, rows):
            return False
        if caption:
            self._text.append(caption)
            self._flush()
        header, body = header_and_rows([[_cell(node) for node in row] for row in rows], heads)
        self._composer.table(header, body)
        return True


def _cell(node: LexborNode) -> Cell:
    attributes = node.attributes
    return Cell(
        _inline(node, is_marked=True),
        node.tag == "th",
        span_of(attributes.get("colspan")),
        span_of(attributes.get("rowspan")),
    )


def _inner_id(heading: LexborNode) -> str | None:
    found = heading.css_first("[id], a[name]")
    return (found.id or found.attributes.get("name")) if found is not None else None


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        if child.tag != "-text" and not _is_hidden(child):
            yield child
        child = child.next


def _table_rows(table: LexborNode) -> tuple[list[list[LexborNode]], int, str]:
    """The cells of each row, how many rows stand in `thead`, and the caption."""
    rows: list[list[LexborNode]] = []
    heads = 0
    caption = ""
    for part in _children(table):
        if part.tag == "caption":
            caption = _inline(part, is_marked=True)
        for row in _children(part):
            if row.tag == "tr":
                rows.append([cell for cell in _children(row) if cell.tag in {"td", "th"}])
                heads += part.tag == "thead" and len(rows) == heads + 1
    return rows, heads, caption


def _is_data(table: LexborNode, rows: list[list[LexborNode]]) -> bool:
    """Whether a table holds data: header cells tell so, else two rows of two cells with text."""
    if table.attributes.get("role") in {"presentation", "none"}:
        return False
    if any(cell.tag == "th" for row in rows for cell in row):
        return True
    is_grid = sum(sum(map(has_text, row)) > 1 for row in rows) > 1
    return is_grid and not any(
        cell.css_first("table, h1, h2, h3, h4, h5, h6, pre, hr") is not None
        for row in rows
        for cell in row
    )

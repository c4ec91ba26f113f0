"""PDF files as a clean text, page by page."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from contextpull.documents.composing import LONGEST_TITLE, NEEDS_PASSWORD, Composer
from contextpull.documents.pdf_headings import Heads, front_title, heads_of, title_of
from contextpull.documents.pdf_layout import Line, regions
from contextpull.documents.pdf_prose import Habits, Prose, habits_of, paragraphs
from contextpull.documents.pdf_tables import Region, Table, region_of
from contextpull.documents.pdf_text import MOST_CHARS, page_text
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_MOST_PAGES = 20_000
_MOST_ENTRIES = 20_000
_MOST_TOTAL = 20_000_000
_FEWEST_REPEATS = 3
_MARGIN = 0.06
_DIGITS = re.compile(r"[0-9]{1,6}")
_BARE_NUMBER = re.compile(r"\W*[0-9]+\W*")
_SAY_NOTHING = frozenset({"untitled", "anonymous", "(anonymous)", "unspecified", "(unspecified)"})
"""What ReportLab writes into a file of which its author said nothing."""


class Page(NamedTuple):
    """What stands on a page, region by region, in reading order."""

    regions: list[Region]
    asides: list[Region]
    """What runs in another direction than the rest of the page."""
    has_image: bool

    @property
    def is_empty(self) -> bool:
        """Whether no text is on it."""
        return not self.regions


def read_pdf(data: bytes) -> ParsedDocument:
    """Read a PDF file; each block carries its page.

    Headings come from the outline where its titles are found on their pages, else from fonts; a
    file without any has a heading `Page 41` a page, with the anchor `page=41`. What repeats in the
    margins of most pages stands once. Nothing that the file links or attaches is opened.
    A file of five kilobytes can draw one letter a billion times, and no library for PDF files
    stops at that: whoever reads what strangers made does so in a process of bounded memory.
    Raises DocumentError for what is no PDF file, needs a password, or was scanned without a text
    layer.
    """
    document = _opened(data)
    try:
        pages, warnings = _pages(document)
        entries = list(_outline(document))
        about = document.get_metadata_dict()
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise DocumentError(f"damaged: its pages cannot be read ({error})") from error
    finally:
        document.close()
    _check_text(pages)
    pages = _without_margins(pages)
    warnings += _empty_pages(pages)
    composer = Composer()
    laid_out = [page.regions for page in pages]
    heads = heads_of(laid_out, entries)
    _compose(pages, heads, composer)
    return composer.document(
        title=_said(about, "Title") or front_title(laid_out, heads)[:LONGEST_TITLE],
        description=_said(about, "Subject"),
        keywords=_said(about, "Keywords"),
        warnings=warnings,
    )


def _opened(data: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD or "password" in str(error):
            raise DocumentError(NEEDS_PASSWORD) from error
        raise DocumentError(f"not a readable PDF file ({error})") from error


def _outline(document: pypdfium2.PdfDocument) -> Iterator[tuple[int, str]]:
    """The level, from 0, and the title of its entries; up to the first that is broken."""
    try:
        for entry in islice(document.get_toc(max_depth=6), _MOST_ENTRIES):
            yield entry.level, entry.get_title()
    except (pypdfium2.PdfiumError, ValueError):
        return


def _pages(document: pypdfium2.PdfDocument) -> tuple[list[Page], list[str]]:
    pages: list[Page] = []
    warnings: list[str] = []
    total = 0
    for number in range(min(len(document), _MOST_PAGES)):
        try:
            page = document[number]
        except pypdfium2.PdfiumError:
            warnings.append(f"page {number + 1} cannot be read")
            pages.append(Page([], [], has_image=False))
            continue
        text = page_text(page.raw)
        page.close()
        if text.is_cut:
            warnings.append(f"page {number + 1} has more than {MOST_CHARS:,} characters")
        found = [[region_of(each, text.rules) for each in regions(words)] for words in text.words]
        total += text.chars
        main, *others = found or [[]]
        asides = [region for direction in others for region in direction]
        pages.append(Page(main, asides, text.has_image))
        if total > _MOST_TOTAL:
            break
    if len(pages) < len(document):
        warnings.append(f"only the first {len(pages):,} of {len(document):,} pages are read")
    return pages, warnings


def _check_text(pages: list[Page]) -> None:
    if all(page.is_empty for page in pages) and any(page.has_image for page in pages):
        raise DocumentError(
            "scanned: its pages are images without text; add a text layer with an OCR program"
            " (for instance ocrmypdf) and ingest again"
        )


def _empty_pages(pages: list[Page]) -> list[str]:
    empty = [at for at, page in enumerate(pages, 1) if page.has_image and page.is_empty]
    if not empty:
        return []
    shown = ", ".join(map(str, empty[:10])) + (" …" if len(empty) > 10 else "")
    return [f"no text on {len(empty)} pages with images (scanned?): {shown}"]


def _without_margins(pages: list[Page]) -> list[Page]:
    """Leave out what stands in the margins of most pages, but for its first time.

    Numbers that count the pages are the same on all; bare ones are left out altogether.
    """
    margins = [list(_margin_lines(pages, at)) for at in range(len(pages))]
    seen = Counter(key for lines in margins for key in {key for key, _ in lines})
    bound = max(_FEWEST_REPEATS, len(pages) // 2)
    shown: set[str] = set()
    kept = []
    for page, lines in zip(pages, margins, strict=True):
        dropped: set[int] = set()
        for key, line in lines:
            if seen[key] >= bound and (key in shown or _BARE_NUMBER.fullmatch(line.text)):
                dropped.add(id(line))
            shown.add(key)
        left = [
            region._replace(parts=[each for each in region.parts if id(each) not in dropped])
            for region in page.regions
        ]
        kept.append(page._replace(regions=[region for region in left if region.parts]))
    return kept


def _lines_of(page: Page) -> Iterator[Line]:
    """Its lines, tables aside."""
    for region in page.regions:
        yield from (each for each in region.parts if isinstance(each, Line))


def _margin_lines(pages: list[Page], at: int) -> Iterator[tuple[str, Line]]:
    """Lines near the upper and the lower edge of a page's text, each with what it has in common.

    That is its text, with numbers counted from that of the page.
    """
    lines = sorted(_lines_of(pages[at]), key=lambda line: line.top)
    if not lines:
        return
    margin = _MARGIN * (lines[-1].bottom - lines[0].top)
    for line in lines:
        if line.bottom - lines[0].top < margin or lines[-1].bottom - line.top < margin:
            yield _DIGITS.sub(lambda number: f"#{int(number[0]) - at}", line.text), line


def _compose(pages: list[Page], heads: Heads, composer: Composer) -> None:
    habits = habits_of(line for page in pages for line in _lines_of(page))
    writer = _Writer(composer, heads, habits)
    for number, page in enumerate(pages, start=1):
        composer.start_page(number)
        if heads.is_empty and page.regions:
            composer.heading(1, f"Page {number}", f"page={number}")
        for region in [*page.regions, *page.asides]:
            writer.region(region)


class _Writer(NamedTuple):
    """Writes regions, page after page."""

    composer: Composer
    heads: Heads
    habits: Habits

    def region(self, region: Region) -> None:
        for kind, parts in groupby(region.parts, key=self._kind):
            run = list(parts)
            lines = [each for each in run if isinstance(each, Line)]
            if kind == "heading":
                for level, title in self._titles(lines):
                    self.composer.heading(level, title)
            elif kind == "text":
                for each in paragraphs(lines, region.left, region.right, self.habits):
                    self._paragraph(each)
            for table in (each for each in run if isinstance(each, Table)):
                self.composer.table(table.rows[0], table.rows[1:])

    def _kind(self, each: Line | Table) -> str:
        if isinstance(each, Table):
            return "table"
        return "heading" if self.heads.level(each) else "text"

    def _titles(self, lines: list[Line]) -> Iterator[tuple[int, str]]:
        """Headings; lines of one level that follow each other closely are one."""
        levels = [self.heads.level(line) for line in lines]
        title = ""
        for at, line in enumerate(lines):
            goes_on = at and levels[at] == levels[at - 1] and _is_wrapped(lines[at - 1], line)
            if title and not goes_on:
                yield levels[at - 1], title
                title = ""
            title = f"{title} {title_of(line)}".strip()
        if title:
            yield levels[-1], title

    def _paragraph(self, paragraph: Prose) -> None:
        if paragraph.kind == "code":
            self.composer.code(paragraph.text)
        elif paragraph.kind == "item":
            self.composer.item(paragraph.text)
        else:
            self.composer.prose(paragraph.text)


def _is_wrapped(above: Line, below: Line) -> bool:
    is_close = below.top - above.bottom < 0.5 * (above.bottom - above.top)
    return is_close and above.size == below.size and not title_of(below)[:1].isdigit()


def _said(about: dict[str, str], name: str) -> str:
    """What the file says of itself under a name, on one line; empty where that is nothing."""
    text = about.get(name, "")
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return "" if plain in _SAY_NOTHING else plain

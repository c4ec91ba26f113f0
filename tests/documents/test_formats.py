"""Which reader takes which file."""

import pytest

from contextpull.documents.formats import format_of, reader_of
from contextpull.documents.markdown import read_markdown
from contextpull.documents.plain import read_plain
from contextpull.errors import DocumentError


@pytest.mark.parametrize("path", ["a.md", "A.MD", "x/y.markdown", "b.mdx", "c.qmd", "d.e.Rmd"])
def test_markdown_is_known_by_its_suffix(path: str) -> None:
    assert reader_of(path) is read_markdown


@pytest.mark.parametrize("path", ["a.txt", "A.TXT", "x.d/y.text", "b.log"])
def test_plain_text_is_known_by_its_suffix(path: str) -> None:
    assert reader_of(path) is read_plain


@pytest.mark.parametrize("path", ["a.zzz", "README", "md", "x.md/y", "a.md~", "a.", ""])
def test_other_files_have_no_reader(path: str) -> None:
    assert format_of(path) is None
    with pytest.raises(DocumentError, match="no reader for this kind of file"):
        reader_of(path)

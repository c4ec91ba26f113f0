"""Which reader takes which file."""

from pathlib import PurePosixPath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextpull.documents.formats import format_for, format_of, reader_of
from contextpull.documents.markdown import read_markdown
from contextpull.documents.plain import read_plain
from contextpull.errors import DocumentError
from tests.properties import same_every_time


@pytest.mark.parametrize(
    "path", ["a.md", "A.MD", "x/y.markdown", "c.qmd", "d.e.Rmd", "x.d/ .md", "..md"]
)
def test_markdown_is_known_by_its_suffix(path: str) -> None:
    assert reader_of(path) is read_markdown


@pytest.mark.parametrize("path", ["a.txt", "A.TXT", "x.d/y.text", "b.log"])
def test_plain_text_is_known_by_its_suffix(path: str) -> None:
    assert reader_of(path) is read_plain


@pytest.mark.parametrize(
    "path", ["a.zzz", "README", "md", "x.md/y", "a.md~", "a.", "", ".md", "a.md/.md"]
)
def test_other_files_have_no_reader(path: str) -> None:
    assert format_of(path) is None
    with pytest.raises(DocumentError, match="no reader for this kind of file"):
        reader_of(path)


@same_every_time(300)
@given(st.lists(st.sampled_from(["a", ".", "/", ".md", ".TXT", " ", "é"]), max_size=8).map("".join))
def test_the_suffix_is_that_of_the_last_name(path: str) -> None:
    assume(not path.endswith(("/", "/.")))
    assert format_of(path) == format_for(PurePosixPath(path).suffix)

"""Bytes to text: byte order marks, UTF-16 and UTF-32, legacy code pages, and what is no text."""

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextpull.errors import DocumentError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 256 * 1024
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_MOST_CONTROL = 0.02
"""Text with a larger share of control characters than this is taken for binary data."""
_ASCII = bytes(range(128))
_MOST_BROKEN = 0.1
"""Broken UTF-8 is still UTF-8 while fewer of its bytes beyond ASCII than this cannot be read."""
# The likelier first: where two fit a text equally well, the earlier one is taken.
_CODE_PAGES = (
    *("cp1252", "cp1251", "cp932", "gb18030", "cp949", "big5", "euc_jp", "koi8_r"),
    *("cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "tis_620"),
    *("iso8859_2", "iso8859_5", "cp850", "cp866", "mac_roman"),
)
_SAME_COHERENCE = 0.02
"""Two pages closer than this are told apart by nothing but how common they are."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text without its byte order mark, and what a person should know about it."""

    text: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded:
    """Decode a text file.

    Raises DocumentError when the bytes are no text in any encoding that can be recognised.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], encoding)
    if b"\0" in data[:_SAMPLE] and (wide := _wide_encoding(data[:_SAMPLE])):
        return _decode_as(data, wide)
    if _looks_binary(data[:_SAMPLE]):
        raise DocumentError("binary data, not text")
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        beyond_ascii = len(data.translate(None, _ASCII))
        text = data.decode("utf-8", errors="replace")
        if text.count("\ufffd") < _MOST_BROKEN * beyond_ascii:
            return Decoded(text, (_broken("utf-8"),))
        return _decode_legacy(data, error.start)


def _decode_as(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding))
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return Decoded(text, (_broken(encoding),))


def _broken(encoding: str) -> str:
    return f"not valid {encoding}: broken characters were replaced"


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 without a mark: Western text has a zero in nearly every second byte."""
    even, odd = sample[0::2], sample[1::2]
    if odd.count(0) > 0.7 * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.7 * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    return None


def _looks_binary(sample: bytes) -> bool:
    control = len(sample) - len(sample.translate(None, _CONTROL))
    return control > _MOST_CONTROL * len(sample)


def _decode_legacy(data: bytes, telling: int) -> Decoded:
    """Decode by the code page that fits best around the offset `telling`, which is no UTF-8."""
    from charset_normalizer import from_bytes

    matches = from_bytes(_lines_around(data, telling), cp_isolation=list(_CODE_PAGES))
    best = matches.best()
    if best is None:
        raise DocumentError("text in an encoding that could not be recognised; save it as UTF-8")
    fitting = [each for each in matches if _fits_as_well(each, best)]
    names = {name for each in fitting for name in each.could_be_from_charset}
    encoding = next((page for page in _CODE_PAGES if page in names), best.encoding)
    text = data.decode(encoding, errors="replace")
    return Decoded(text, (f"not UTF-8: read as {encoding}",))


def _lines_around(data: bytes, offset: int) -> bytes:
    """A sample of whole lines, where lines are short, so that no character in it is cut."""
    start = max(data.rfind(b"\n", 0, offset) + 1, offset - _SAMPLE // 2)
    sample = data[start : start + _SAMPLE]
    last_line = sample.rfind(b"\n") + 1
    whole = start + _SAMPLE >= len(data) or start + last_line <= offset
    return sample if whole else sample[:last_line]


def _fits_as_well(match: "CharsetMatch", best: "CharsetMatch") -> bool:
    """Whether a page explains the bytes no worse, as far as can be told."""
    return match.chaos <= best.chaos and match.coherence >= best.coherence - _SAME_COHERENCE

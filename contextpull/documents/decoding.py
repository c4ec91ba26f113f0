"""Bytes to text: byte order marks, UTF-16 and UTF-32, legacy code pages, and what is no text."""

import codecs
from dataclasses import dataclass

from contextpull.errors import DocumentError

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
    except UnicodeDecodeError:
        return _decode_legacy(data)


def _decode_as(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding))
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return Decoded(text, (f"not valid {encoding}: broken characters were replaced",))


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


def _decode_legacy(data: bytes) -> Decoded:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    if best is None:
        raise DocumentError("text in an encoding that could not be recognised; save it as UTF-8")
    text = data.decode(best.encoding, errors="replace")
    return Decoded(text, (f"not UTF-8: read as {best.encoding}",))

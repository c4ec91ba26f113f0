"""Text in any encoding is read; what is no text is refused."""

import random

import pytest

from contextpull.documents.decoding import decode
from contextpull.errors import DocumentError

GERMAN = "Überschrift\n\nDie Größe der Straße ändert sich: Ärger mit Öl.\n"
FRENCH = "L'été dernier, les élèves ont été très contents de leur école. Où êtes-vous ?\n"
ENGLISH = "He said “hello” — it’s fine, isn’t it? Prices: 20 € a month.\n"
WESTERN = (
    "Die Straße führt über die Brücke, und viele schöne Häuser stehen dort im Süden der Stadt.\n"
    "El señor compró piñas y un paraguas para la niña; ¡qué día más frío y más largo!\n"
    "Flickan gick på gården och såg många träd, och hon sade att båten låg vid ån.\n"
)
RUSSIAN = "Привет, мир. Это пример текста на русском языке, который нужно прочитать.\n"
JAPANESE = "これは日本語のテキストです。文字コードを確認してください。\n"
CHINESE = "这是一个中文文档，编码是国标码。请正确读取。\n"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń.\n"


def test_utf_8_is_read_without_a_word() -> None:
    decoded = decode((GERMAN + RUSSIAN + JAPANESE + "🚀").encode())
    assert decoded.text == GERMAN + RUSSIAN + JAPANESE + "🚀"
    assert decoded.warnings == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_the_byte_order_mark_is_no_part_of_the_text(encoding: str) -> None:
    assert decode("# Ä\n".encode(encoding)).text == "# Ä\n"


@pytest.mark.parametrize("byte_order", ["le", "be"])
@pytest.mark.parametrize("width", ["16", "32"])
def test_wide_encodings_with_a_mark_are_read(byte_order: str, width: str) -> None:
    encoding = f"utf-{width}-{byte_order}"
    decoded = decode(("\ufeff" + RUSSIAN + JAPANESE).encode(encoding))
    assert decoded.text == RUSSIAN + JAPANESE
    assert decoded.warnings == ()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised_in_western_text(encoding: str) -> None:
    assert decode(GERMAN.encode(encoding)).text == GERMAN


@pytest.mark.parametrize(
    ("text", "encoding", "read_as"),
    [
        (GERMAN, "latin-1", "cp1252"),
        (FRENCH, "latin-1", "cp1252"),
        (ENGLISH, "cp1252", "cp1252"),
        (WESTERN, "cp1252", "cp1252"),
        ("café", "latin-1", "cp1252"),
        ("## können\n\nkönnen\n\näöüß\n", "latin-1", "cp1252"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8_r"),
        (CZECH, "cp1250", "cp1250"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (CHINESE, "gb18030", "gb18030"),
    ],
    ids=range(12),
)
def test_legacy_code_pages_are_read_and_named(text: str, encoding: str, read_as: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.warnings == (f"not UTF-8: read as {read_as}",)


@pytest.mark.parametrize(
    "before", ["plain words\n" * 40_000, "plain words " * 40_000], ids=["lines", "one line"]
)
def test_a_single_umlaut_at_the_end_of_a_long_file_is_read(before: str) -> None:
    decoded = decode((before + "Jörg Müller").encode("latin-1"))
    assert decoded.text.endswith("Jörg Müller")


def test_broken_utf_8_stays_utf_8() -> None:
    decoded = decode(RUSSIAN.encode() * 20 + b"\xff" + GERMAN.encode())
    assert decoded.text == RUSSIAN * 20 + "\ufffd" + GERMAN
    assert decoded.warnings == ("not valid utf-8: broken characters were replaced",)


def test_broken_wide_text_is_read_with_a_warning() -> None:
    decoded = decode("abc".encode("utf-16") + b"\xd8")
    assert decoded.text == "abc\ufffd"
    assert "broken characters were replaced" in decoded.warnings[0]


def test_a_stray_nul_is_kept() -> None:
    text = "Some text with a \0 in it, as exports of old tools have it. " * 5
    assert decode(text.encode()).text == text


def test_an_empty_file_is_empty_text() -> None:
    assert decode(b"").text == ""
    assert decode(b"\xef\xbb\xbf").text == ""


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\x08\x06\0\0\0",
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0>\0\x01\0\0\0",
        b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0" + bytes(range(256)),
        random.Random(0).randbytes(10_000),
        bytes(1_000),
        "text".encode("utf-32-le"),
    ],
    ids=["png", "elf", "zip", "random", "zeros", "utf-32 without mark"],
)
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentError, match="binary data, not text"):
        decode(data)


def test_bytes_that_fit_no_encoding_are_refused_with_advice() -> None:
    with pytest.raises(DocumentError, match="save it as UTF-8"):
        decode(bytes(range(128, 256)) * 50)

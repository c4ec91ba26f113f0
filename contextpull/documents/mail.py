"""Mail messages (EML) as a clean text: headers, body, the names of attachments."""

import re
from contextlib import suppress
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message

from contextpull.documents.composing import Composer
from contextpull.documents.decoding import decode
from contextpull.documents.html import read_html_fragment
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_SHOWN = ("From", "To", "Cc", "Date", "Reply-To")
_TELLING = (*_SHOWN, "Subject", "Message-ID", "Received", "MIME-Version", "Content-Type")
_DEEPEST = 20
_MOST_PARTS = 1_000
_WORD = re.compile(r"\w{3,}")


def read_mail(data: bytes) -> ParsedDocument:
    """Read a message; attached messages are read as parts of it, other attachments are listed.

    Raises DocumentError for what is no message, and for encrypted ones.
    """
    decoded = (
        decode(data) if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:200] else None
    )
    if not data.strip():
        return ParsedDocument(b"", ())
    try:
        message = message_from_bytes(decoded.text.encode() if decoded else data)
    except (MessageError, ValueError, LookupError, RecursionError) as error:
        raise DocumentError(f"not a mail message ({error})") from error
    if not any(name in message for name in _TELLING):
        raise DocumentError("not a mail message: it has none of the usual headers")
    if _is_encrypted(message):
        raise DocumentError("encrypted; decrypt it in a mail program, save it and ingest again")
    writer = _Writer()
    writer.message(message, depth=0)
    return writer.composer.document(title=_header(message, "Subject"))


class _Writer:
    """Writes the parts of a message, and at the end what was attached."""

    def __init__(self) -> None:
        self.composer = Composer()
        self._attached: list[str] = []
        self._parts = 0

    def message(self, message: "Message[str, str]", depth: int) -> None:
        level = min(depth + 1, 6)
        self.composer.heading(level, _header(message, "Subject") or "(no subject)")
        lines = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
        self.composer.prose("\n".join(lines))
        outer, self._attached = self._attached, []
        self._part(message, depth)
        for line in self._attached:
            self.composer.item(f"- {line}")
        self.composer.end_list()
        self._attached = outer

    def _part(self, part: "Message[str, str]", depth: int) -> None:
        self._parts += 1
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            raise DocumentError(
                f"more than {_MOST_PARTS:,} parts, or nested deeper than {_DEEPEST}"
            )
        kind = part.get_content_type()
        payload = part.get_payload()
        children = (
            [each for each in payload if isinstance(each, Message)] if part.is_multipart() else None
        )
        if _is_encrypted(part):
            self._attached.append("Encrypted part")
        elif children is not None and kind == "message/rfc822":
            for child in children:
                self.message(child, depth + 1)
        elif children is not None:
            self._several(kind, children, depth)
        elif kind.startswith("text/") and not _is_attachment(part):
            self._text(part, depth)
        elif _is_attachment(part) or _bytes(part):
            name = _decoded_words(part.get_filename() or "") or "unnamed"
            self._attached.append(f"Attachment: {name} ({kind}, {len(_bytes(part)):,} bytes)")

    def _several(self, kind: str, children: list["Message[str, str]"], depth: int) -> None:
        said: set[str] = set()
        for child in children:
            is_text = not _is_attachment(child)
            if kind == "multipart/alternative" and said and is_text and _is_html(child):
                self._news(read_html_fragment(_content(child)), said, depth)
                continue
            if is_text and child.get_content_type() == "text/plain":
                said |= _words(_content(child))
            self._part(child, depth + 1)

    def _news(self, page: ParsedDocument, said: set[str], depth: int) -> None:
        """Of HTML beside plain text, what the plain text does not say; all, if that is most."""
        text = page.text.decode()
        words = _words(text)
        if len(words - said) > len(words) / 2:
            self.composer.include(page, deeper=min(depth + 1, 5))
            return
        for paragraph in text.split("\n\n"):
            if _words(paragraph) - said:
                self.composer.prose(paragraph)

    def _text(self, part: "Message[str, str]", depth: int) -> None:
        text = _content(part)
        if _is_html(part):
            self.composer.include(read_html_fragment(text), deeper=min(depth + 1, 5))
        else:
            self.composer.prose(text.replace("\r\n", "\n").replace("\r", "\n"))


def _is_html(part: "Message[str, str]") -> bool:
    return part.get_content_type() == "text/html"


def _is_encrypted(part: "Message[str, str]") -> bool:
    kind = part.get_content_type()
    if kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
        return str(part.get_param("smime-type", "enveloped-data")) != "signed-data"
    return kind == "multipart/encrypted"


def _is_attachment(part: "Message[str, str]") -> bool:
    return part.get_content_disposition() == "attachment"


def _bytes(part: "Message[str, str]") -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except (ValueError, LookupError):
        return b""
    return payload if isinstance(payload, bytes) else b""


def _content(part: "Message[str, str]") -> str:
    """The text of a part: by the charset that it declares, else by what fits."""
    data = _bytes(part)
    try:
        return data.decode(str(part.get_content_charset("utf-8")))
    except (LookupError, ValueError):
        try:
            return decode(data).text
        except DocumentError:
            return data.decode(errors="replace")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _header(message: "Message[str, str]", name: str) -> str:
    return _decoded_words(str(message.get(name, "")))


def _decoded_words(value: str) -> str:
    """A header with its encoded words decoded (RFC 2047), on one line."""
    with suppress(HeaderParseError, LookupError, ValueError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.encode(errors="replace").decode().split())[:2_000]

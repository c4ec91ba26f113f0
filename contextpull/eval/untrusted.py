"""Text of others inside a prompt: kept from being read as anything but data."""

import re
from hashlib import sha256
from itertools import count

_ZERO_WIDTH = "\u200b"
_ROLES = (
    "system|assistant|user|human|tool|function|developer|instructions?|passage|think|thinking"
    "|im_start|im_end|start_of_turn|end_of_turn|begin_of_text|end_of_text|bos|eos|eot|sep|s"
    "|tool_call|tool_result|function_calls|invoke"
)
_TEMPLATE_TOKENS = re.compile(
    r"[<＜]\s*/?\s*[|｜]"  # <|im_start|>, and with full-width signs
    r"|[|｜]\s*[>＞]"
    rf"|[<＜]\s*/?\s*(?:[\w-]+:)?(?:{_ROLES})\b"  # <system>, </passage>, </s>
    r"|[<＜]{2}\s*/?\s*sys"  # <<SYS>>
    r"|[\[［]\s*/?\s*(?:inst|system|assistant|user)\b"  # [INST]
    r"|^[ \t>#*_]*(?:system|assistant|user|human|instructions?|response)[ \t*_]*[:：]",
    re.I | re.M,
)
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)


def inert(text: str) -> str:
    """The text with template tokens and role labels broken up, and invisible characters dropped."""
    visible = _INVISIBLE.sub("", text)
    return _TEMPLATE_TOKENS.sub(lambda token: _ZERO_WIDTH.join(token[0]), visible)


def mark_for(*texts: str) -> str:
    """16 hexadecimal digits that stand in none of the texts; the same for the same texts.

    What is put between two such marks cannot end them, nor can what others wrote foresee them.
    """
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    marks = (sha256(b"%d\0" % number + whole).hexdigest()[:16] for number in count())
    return next(mark for mark in marks if not any(mark in text for text in texts))

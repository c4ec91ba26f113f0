"""Text of others inside a prompt: kept from being read as anything but data."""

import re
from hashlib import sha256
from itertools import count
from unicodedata import normalize

_ZERO_WIDTH = "\u200b"
_ROLES = (
    "system|assistant|user|human|tool|function|developer|instructions?|passage|think|thinking"
    "|im_start|im_end|start_of_turn|end_of_turn|begin_of_text|end_of_text|bos|eos|eot|sep|pad|s"
    "|start_header_id|end_header_id|tool_call|tool_calls|tool_result|tool_results"
    "|available_tools|system_prompt|function_calls|invoke"
)
_SPEAKERS = "system|assistant|user|human|developer|ai|instructions?|response"
_BREAK = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
_LINE = rf"(?:\A|{_BREAK})"
"""Where a line begins, for whoever renders the text."""
_TEMPLATE_TOKENS = re.compile(
    r"<\s*/?\s*\|"  # <|im_start|>
    r"|\|\s*>"
    rf"|<\s*/?\s*(?:[\w-]+:)?(?:{_ROLES})\b"  # <system>, </ passage>, </s>
    r"|<<\s*/?\s*sys"  # <<SYS>>
    rf"|\[\s*/?\s*(?:inst|{_ROLES})\s*\]"  # [INST]
    rf"|{_LINE}[ \t>#*_]*(?:{_SPEAKERS})[ \t*_]*:"  # Human: and **Assistant:**
    rf"|{_LINE}[ \t>]*#+[ \t]*(?:{_SPEAKERS})[ \t#*_]*(?={_BREAK}|\Z)",  # #### system
    re.I,
)
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
"""Characters that nobody sees, by which a word could be hidden from a search for it."""
_BRACKETS = str.maketrans("〈〉⟨⟩‹›❮❯﹤﹥˂˃【】〔〕∣¦", "<><><><><><>[][]||")
"""What a model may take for signs of its template; full-width forms are known by Unicode."""


def inert(text: str) -> str:
    """The text with template tokens and role labels broken up, and invisible characters dropped.

    Broken up means: with a zero-width space after each character, so that it looks as before.
    """
    shown = INVISIBLE.sub("", text)
    # What breaks up one token may leave half of the next one whole: `<|>`.
    while tokens := list(_TEMPLATE_TOKENS.finditer(_plain_signs(shown))):
        parts, at = [], 0
        for token in tokens:
            start, end = token.span()
            parts += [shown[at:start], _ZERO_WIDTH.join(shown[start:end])]
            at = end
        shown = "".join([*parts, shown[at:]])
    return shown


def _plain_signs(text: str) -> str:
    """The text, character by character, in the plain form of each that has one of the same length.

    `＜` and `ｓ` are `<` and `s` to a reader, and so they are to what looks for tokens.
    """
    if text.isascii():
        return text
    forms = {char: normalize("NFKC", char) for char in set(text)}
    plain = "".join(forms[char] if len(forms[char]) == 1 else char for char in text)
    return plain.translate(_BRACKETS)


def mark_for(*texts: str) -> str:
    """16 hexadecimal digits that stand in none of the texts; the same for the same texts.

    What is put between two such marks cannot end them, nor can what others wrote foresee them.
    """
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    marks = (sha256(b"%d\0" % number + whole).hexdigest()[:16] for number in count())
    return next(mark for mark in marks if not any(mark in text for text in texts))

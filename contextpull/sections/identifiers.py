"""Names that people look up exactly: flags, variables, codes, dotted keys, versions.

`--no-cache`, `UV_CACHE_DIR`, `TX-4419`, `tool.uv.sources`, `C++`, `.NET`, `3.12`, `std::vector`.
They are found in text and in queries by the same rule, so that they meet whole.
"""

import re

import re2

_WORD = r"[\pL\pN_]+"
_IDENTIFIER = (
    r"(?s:````.*?(?:````|\z)|```.*?(?:```|\z)|~~~.*?(?:~~~|\z))"  # code: it uses names only
    r"|\]\([^)\s]*|https?://[^\s)>]*"  # where a link leads
    rf"|(?:--?|[.@$]+)?{_WORD}(?:(?:[-.@+]|::?|->)+{_WORD})+"  # joined: a-b, a.b, a::b
    rf"|(?:--?|[@$]){_WORD}"  # a flag, a variable
    rf"|\.[\pL]{_WORD}"  # a dot file, a suffix, .NET
    rf"|[\pL\pN]*_{_WORD}"  # an underscore inside
    r"|\b[\pL](?:\+\+|#)"  # C++, C#, F#
)
_OPTIONS = re2.Options()
_OPTIONS.never_capture = True
_PATTERN = re2.compile(_IDENTIFIER, _OPTIONS)
_SIGNS = re.compile(rb"[-.@$+:_#]")
"""One of these is in every identifier; most headings hold none, and a look costs little."""
_SIGILS = b"-.@$"
_LONGEST = 120
_PASSED_OVER = (b"```", b"~~~", b"](", b"http://", b"https://")
_DEFINED = re.compile(
    rb"^[ \t]*(?:"
    rb"\|[ \t]*(?:\*\*)?`?([^|`\n*]{2,80})(?=[|`\n*])"  # the first cell of a table row
    rb"|[-*+][ \t]+(?:\*\*)?`([^`\n]{2,80})`"  # a list item that opens with code
    rb"|<dt[^>\n]*>(?:<[^>\n]*>)*([^<\n]{2,80})(?=[<\n]|\Z)"  # a definition list in HTML
    rb")",
    re.M,
)
_DEFINING = (b"|", b"- `", b"* `", b"+ `", b"**`", b"<dt")
"""Where none of these occurs no name is defined."""


def identifiers(text: bytes) -> list[bytes]:
    """Every identifier of the text, as written, in order, repeats included.

    One that begins with a sigil (`--flag`, `$var`, `.env`) also counts without it.
    """
    found: list[bytes] = []
    if not _SIGNS.search(text):
        return found
    for match in _PATTERN.finditer(text):
        start, end = match.span()  # cheaper than match.group(), half a million times
        token = text[start:end]
        if end - start > _LONGEST or token.startswith(_PASSED_OVER):
            continue
        found.append(token)
        if token[0] in _SIGILS:
            found.append(token.lstrip(_SIGILS))
    return found


def defined_names(text: bytes) -> list[bytes]:
    """Names that the text lists or explains: row keys, list entries and terms."""
    found: list[bytes] = []
    if not any(sign in text for sign in _DEFINING):
        return found
    for match in _DEFINED.finditer(text):
        name = match[match.lastindex or 0].strip()
        if b" " not in name and name.strip(b"-:"):  # dashes are the line below a table's header
            found.append(name)
    return found

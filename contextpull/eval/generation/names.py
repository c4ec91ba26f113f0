"""Which names occur in which sections: flags, variables, codes, members, dotted keys.

Unlike for a search index, code counts too: a section that shows `UV_CACHE_DIR=/tmp` mentions it.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from contextpull.eval.generation.corpus import Corpus, SourceSection, searchable
from contextpull.sections.identifiers import defined_names, identifiers

FEW = 5
"""A name in more sections than this is too common to ask for one of them by it."""
_LONGEST = 60
_CODE = re.compile(r"(?<![\w-])[A-Z]{1,8}\d{2,6}(?![\w-])")
"""`C2065`, `LNK1104`: letters and digits with nothing between."""
_ANCHOR = re.compile(r"<a\s[^<>\n]*>", re.I)
_FENCES = re.compile(r"`{3,}|~{3,}")
_CODE_SPAN = re.compile(r"(?<!`)`([^`\s]{2,80})`(?!`)")
_LINK = re.compile(r"\[([^\]\[\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
_VERSION = re.compile(r"[v=<>~^]*\d(?:[-._+]?(?:\d|[x*]|a|b|rc|dev|post|alpha|beta))*", re.I)
_STRONG = re.compile(
    r"--[A-Za-z][\w-]*[^\W_]"  # a flag
    r"|[A-Z][A-Za-z]*-?\d{2,}(?:[-.]\d+)*"  # a code: HG-4412, C2065, NFS-2025-01
    r"|[^\W\d]\w*(?:(?:::|->)~?\w+)+"  # a member
)
"""Names by their form alone; others must be shown as code somewhere."""
_NAMING = re.compile(r"(\S+?)(?:\(\)?|:\s|\s[—–-]\s|\Z)")
"""A heading that is a name alone, or begins with one and goes on to explain it."""
_JOINED = re.compile(r"[^\W\d_]\w*(?:[-.]\w+)+")

_MARKUP = re.compile(r"<[^<>\n]*>|[`*|]+|^[\s:.,;–—-]+")
_NOT_SAID = ("#", "```", "~~~")
_LONGEST_ANSWER = 300


class NameIndex:
    """Every name of a corpus with the sections that mention it; a name's case is passed over."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._sections: dict[str, list[int]] = {}
        self._spellings: dict[str, Counter[str]] = {}
        self._as_code: set[str] = set()
        self._in_prose: set[str] = set()
        for number, section in enumerate(corpus.sections):
            self._add(number, section.text)

    def _add(self, number: int, text: str) -> None:
        self._as_code.update(map(str.lower, _CODE_SPAN.findall(text)))
        prose = _shown(text)
        self._in_prose.update(name.decode().lower() for name in identifiers(prose.encode()))
        self._in_prose.update(map(str.lower, _CODE.findall(prose)))
        for name in names_in(text):
            key = name.lower()
            holders = self._sections.setdefault(key, [])
            if not holders or holders[-1] != number:
                holders.append(number)
            self._spellings.setdefault(key, Counter())[name] += 1

    @cached_property
    def keys(self) -> list[str]:
        """The lower-case forms of all names that a question may be about, in order."""
        return sorted(key for key in self._sections if self._is_name(key))

    def holders(self, key: str) -> tuple[int, ...]:
        """The numbers of the sections that mention a name, in order; none for what is no name."""
        return tuple(self._sections.get(key.lower(), ()))

    def spelling(self, key: str) -> str:
        """A name as it is written most often."""
        times = self._spellings[key.lower()]
        return min(times, key=lambda name: (-times[name], name))

    def is_name(self, text: str) -> bool:
        """Whether the corpus holds this as a name that a question may be about."""
        return text.lower() in self._sections and self._is_name(text.lower())

    def _is_name(self, key: str) -> bool:
        name = self.spelling(key)
        if key not in self._in_prose:  # an example's own variable, or a line of a trace
            return False
        if len(name) > _LONGEST or _VERSION.fullmatch(name):
            return False
        if _STRONG.fullmatch(name) or _has_inner_underscore(name):
            return True
        return key in self._as_code and _JOINED.fullmatch(name) is not None

    def doubtful(self, key: str) -> bool:
        """Whether some section holds the name within another word, a path or a link.

        Nobody could say whether such a section mentions it.
        """
        certain = set(self.holders(key))
        inside = re.compile(rf"(?<!\w){re.escape(key)}(?![-._:@+]*\w)")
        held = self._corpus.holding(key, len(certain) + 20 * FEW)
        if len(held) > len(certain) + 20 * FEW:
            return True
        sections = self._corpus.sections
        return any(
            inside.search(searchable(sections[number].text)) is not None
            for number in held
            if number not in certain
        )


def names_in(text: str) -> set[str]:
    """Everything in the text that has the form of a name, code included; paths are no names."""
    opened = _FENCES.sub(" ", _shown(text))
    found = {name.decode() for name in identifiers(opened.encode())}
    found.update(_CODE.findall(opened))
    return found


def defined_in(section: SourceSection) -> dict[str, str]:
    """The names that a section defines, in lower case, each with what it says about it.

    It defines what a table row, a list entry or a term begins with, and what its heading begins
    with. What is said may be empty.
    """
    text = without_links(section.text.replace("\\_", "_"))
    lines = text.split("\n")
    found: dict[str, str] = {}
    for at, line in enumerate(lines):
        for raw in defined_names(line.encode()):
            name = raw.decode()
            said = line.partition(name)[2] + " " + " ".join(_continued(lines[at + 1 :]))
            found.setdefault(name.lower(), _tidy(said))
    heading = without_links(section.heading).replace("`", "").strip()
    named = _NAMING.match(heading)
    if named and lines[0].lstrip().startswith("#"):
        body = (line for line in lines[1:] if not line.startswith(_NOT_SAID))
        said = " ".join([heading[named.end(1) :], *body])
        found.setdefault(named[1].lower(), _tidy(said))
    return found


def _shown(text: str) -> str:
    """The text without escapes and without the anchors that no reader sees."""
    return _ANCHOR.sub(" ", text.replace("\\_", "_"))


def _has_inner_underscore(name: str) -> bool:
    core = name.lstrip("$@").strip("_-.")
    return "_" in core and not core[0].isdigit() and len(core) > 3


def without_links(text: str) -> str:
    """The text with each Markdown link replaced by what it shows."""
    return _LINK.sub(r"\1", text)


def _continued(lines: Iterable[str]) -> Iterable[str]:
    """The indented lines that go on with a list entry."""
    for line in lines:
        if not line[:1].isspace() or not line.strip() or line.lstrip()[:2] in {"- ", "* ", "+ "}:
            return
        yield line


def _tidy(text: str) -> str:
    """A definition as plain words, cut at a blank where it is long."""
    said = " ".join(_MARKUP.sub(" ", text).split()).lstrip(":.,;–—- ")
    if len(said) <= _LONGEST_ANSWER:
        return said
    return said[:_LONGEST_ANSWER].rpartition(" ")[0] + " …"

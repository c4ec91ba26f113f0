"""The metadata block at the head of a Markdown file, in YAML or TOML."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_YAML = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_LIKE_YAML = re.compile(r"\s*(?:#[^\n]*\n)*[A-Za-z_][\w.-]*[ \t]*:")
_LOOSE_LINE = re.compile(r"^([A-Za-z_][\w.-]*)[ \t]*:[ \t]+(\S[^\n]*)", re.M)
_ENDLESS_KEY = re.compile(r"(?:\.[^.\n]*){100}")
"""tomllib's memory grows with the square of the parts of a dotted key."""
_MOST_VALUES = 500
_LONGEST_VALUE = 1_000


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a file says of itself, and where the text behind it begins."""

    end: int
    """Offset, in characters, of the first character behind the block."""
    title: str = ""
    description: str = ""
    keywords: str = ""
    warnings: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter | None:
    """Return the metadata block that `text` begins with, or None when it has none.

    A block that is not valid TOML, or that begins like YAML and is not valid, still counts:
    plain `key: value` lines of YAML are read, and a warning says so.
    A thematic break followed by prose is not a metadata block.
    """
    if match := _TOML.match(text):
        return _from_toml(match)
    if match := _YAML.match(text):
        return _from_yaml(match)
    return None


def _from_toml(match: re.Match[str]) -> FrontMatter:
    source = match.group(1).replace("\r\n", "\n")
    if _ENDLESS_KEY.search(source):
        return _not_toml(match.end(), "a key of more than 100 parts")
    try:
        return _described(match.end(), tomllib.loads(source))
    except (ValueError, RecursionError) as error:
        return _not_toml(match.end(), str(error))


def _not_toml(end: int, reason: str) -> FrontMatter:
    return FrontMatter(end, warnings=(f"front matter is not valid TOML: {reason}",))


def _from_yaml(match: re.Match[str]) -> FrontMatter | None:
    import yaml

    source = match.group(1)
    try:
        # The base loader keeps every value as it is written: 1.10 stays 1.10.
        values = yaml.load(source, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if not _LIKE_YAML.match(source):
            return None
        loose = dict(_LOOSE_LINE.findall(source))
        reason = str(error).partition("\n")[0]
        return _described(match.end(), loose, (f"front matter is not valid YAML: {reason}",))
    if not source.strip():
        return FrontMatter(match.end())
    return _described(match.end(), values) if isinstance(values, dict) else None


def _described(end: int, values: dict[str, Any], warnings: tuple[str, ...] = ()) -> FrontMatter:
    title = _plain(values.pop("title", ""))
    description = _plain(values.pop("description", "") or values.pop("summary", ""))
    keywords = " ".join(dict.fromkeys(_scalars(values)))
    return FrontMatter(end, title, description, keywords, warnings)


def _plain(value: Any) -> str:
    return " ".join(str(value).split())[:_LONGEST_VALUE] if isinstance(value, str | int) else ""


def _scalars(values: dict[str, Any]) -> Iterator[str]:
    """Every string of the mapping, bounded: YAML aliases may repeat one value a million times."""
    stack: list[Any] = [values]
    seen = 0
    while stack and seen < _MOST_VALUES:
        seen += 1
        value = stack.pop()
        if isinstance(value, dict):
            stack.extend(reversed(list(value.values())[:_MOST_VALUES]))
        elif isinstance(value, list):
            stack.extend(reversed(value[:_MOST_VALUES]))
        elif isinstance(value, str) and value.strip():
            yield _plain(value)

"""Settings, as plain values that are passed down; nothing below the command line reads more."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from contextpull.errors import InvalidInput

Snippets = Literal["heading", "short", "full"]
Mode = Literal["lexical", "dense", "hybrid", "rerank"]
"""How search ranks: by words, by vectors, by both, by both and then anew by a cross-encoder."""


@dataclass(frozen=True, slots=True)
class CutSettings:
    """How documents are cut into sections. All sizes are characters.

    A change to any of them re-sections the whole corpus at the next ingest.
    """

    heading_depth: int = 6
    """Headings of levels 1 to this start a section."""
    max_chars: int = 2_000
    """A longer section is split at block boundaries."""
    hard_max_chars: int = 8_000
    """A code block is split only when it alone exceeds this."""
    min_chars: int = 40
    """Shorter fragments merge with a neighbour; 0 merges nothing."""

    def __post_init__(self) -> None:
        if not 1 <= self.heading_depth <= 6:
            raise InvalidInput(f"heading_depth must be 1 to 6, not {self.heading_depth}.")
        if self.max_chars < 100:
            raise InvalidInput(f"max_chars must be 100 or more, not {self.max_chars}.")
        if self.hard_max_chars < self.max_chars:
            raise InvalidInput("hard_max_chars must not be smaller than max_chars.")
        if not 0 <= self.min_chars < self.max_chars:
            raise InvalidInput(
                f"min_chars must be 0 to {self.max_chars - 1}, not {self.min_chars}."
            )

    def as_dict(self) -> dict[str, int]:
        """The settings by name, as the store records them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may cost before it is reported instead of read."""

    max_file_bytes: int = 128 * 1024 * 1024


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where what can be made again is kept for all stores of a user."""
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "contextpull"


def models_folder(environment: Mapping[str, str]) -> Path:
    """Where installed models lie: `CONTEXTPULL_MODELS`, or a folder among the user's data."""
    named = environment.get("CONTEXTPULL_MODELS")
    if named:
        return Path(named).expanduser().absolute()
    data = Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "contextpull" / "models"

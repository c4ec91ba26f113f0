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
    read_as: str = ""
    """Files that are read as another format than their names say: `*.txt=rst`, more after commas.
    A pattern without `/` is for names, one with it for paths; the last that matches counts."""

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

    def as_dict(self) -> dict[str, int | str]:
        """The settings by name, as the store records them: without `read_as` where it is empty."""
        return {name: value for name, value in asdict(self).items() if value != ""}


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may cost before it is reported instead of read."""

    max_file_bytes: int = 128 * 1024 * 1024
    seconds: float = 60
    """For a small file; a larger one gets as much again for every four megabytes."""
    megabytes: int = 1_500
    """Address space of the process that reads it; about 60 are the interpreter's own."""

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise InvalidInput(
                f"The time for one file must be above 0 and at most 86,400 s, not {self.seconds:g}."
            )
        if self.megabytes < 200:
            raise InvalidInput(
                f"The memory for one file must be 200 MB or more, not {self.megabytes}."
            )

    def seconds_for(self, size: int) -> float:
        """How long a file of `size` bytes may be read."""
        return self.seconds * (1 + size / (4 * 1024 * 1024))


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

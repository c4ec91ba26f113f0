"""A corpus of any size, made up by rule: the same seed gives the same files, byte for byte.

    python benchmarks/scale/synthetic.py FOLDER --sections 100000 [--seed 1]

Words follow Zipf's law over 200,000 made-up forms behind the commonest English ones, so that
questions have stop words to meet and stems have several endings. A file has 10 to 20 sections,
a folder 25 files; prose, lists, tables, code with identifiers, and now and then a section that
stands elsewhere too, or nearly so. A larger corpus holds the smaller one of its seed.
"""

import argparse
import itertools
import math
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

VOCABULARY = 200_000
FILES_PER_FOLDER = 25
FOLDERS_PER_AREA = 40

_COMMON = """
    the of and to a in is for that with are be this as on or it by can you an from not if use when
    at which has have all but will one also such each then these may only into its than other no
    does how what do using used should any more your
"""
_ENDINGS = ("", "s", "ed", "ing", "er")
_EXPONENT, _SHIFT = 1.05, 2.7
"""Of the law that Zipf and Mandelbrot found: a word's share is 1 / (rank + shift) ** exponent."""
_MEAN_LOG, _SPREAD_LOG = math.log(45), 0.75
"""Words of a section's prose are distributed log-normally."""
_FEWEST, _MOST = 8, 260
_COPIED, _NEARLY_COPIED = 0.01, 0.03


class Language(NamedTuple):
    """Words, the commonest first, and their shares added up."""

    words: list[str]
    shares: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sections", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    files = generate(arguments.folder, arguments.sections, arguments.seed)
    print(f"{files:,} files")


def generate(folder: Path, sections: int, seed: int = 1) -> int:
    """Write at least `sections` sections below the folder; the number of files."""
    files = files_for(sections)
    starts = range(0, files, FILES_PER_FOLDER)
    with ProcessPoolExecutor() as pool:
        write = partial(_write_folder, folder, files, seed)
        return sum(pool.map(write, starts, chunksize=8))


def files_for(sections: int) -> int:
    """How many files hold this many sections."""
    return next(
        number
        for number, total in enumerate(
            itertools.accumulate(map(_sections_of, itertools.count())), 1
        )
        if total >= sections
    )


def _sections_of(file: int) -> int:
    return 10 + file * 7 % 11


def _write_folder(root: Path, files: int, seed: int, first: int) -> int:
    chance = random.Random(f"{seed} {first}")
    number = first // FILES_PER_FOLDER
    names = [_word(chance, 2_000) for _ in range(2)]
    area = f"area-{number // FOLDERS_PER_AREA:03}"
    folder = root / area / f"{number:05}-{names[0]}-{names[1]}"
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(chance)
    last = min(first + FILES_PER_FOLDER, files)
    for file in range(first, last):
        name = f"{writer.title().lower().replace(' ', '-')}-{file % FILES_PER_FOLDER:02}.md"
        (folder / name).write_text(writer.document(_sections_of(file)))
    return last - first


@cache
def language() -> Language:
    """The vocabulary; the same in every process and for every seed."""
    chance = random.Random("language")
    onsets = (
        *"bcdfghklmnprstvwz",
        "bl",
        "br",
        "cr",
        "dr",
        "fl",
        "gr",
        "pl",
        "pr",
        "sh",
        "st",
        "tr",
    )
    cores = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
    codas = ("", "", "", "n", "r", "l", "s", "t", "m", "nd", "ck")
    syllables = ["".join(parts) for parts in itertools.product(onsets, cores, codas)]
    words = dict.fromkeys(_COMMON.split())
    while len(words) < VOCABULARY:
        # The rarer, the longer; each stem brings its endings, which spread over the ranks.
        length = 1 + (len(words) > 500) + (chance.random() < len(words) / VOCABULARY)
        stem = "".join(chance.choices(syllables, k=length))
        words.update(dict.fromkeys(stem + ending for ending in chance.sample(_ENDINGS, 3)))
    ranked = list(words)[:VOCABULARY]
    common, rare = ranked[:64], ranked[64:]
    order = {word: at + chance.random() * 4_000 for at, word in enumerate(rare)}
    rare.sort(key=order.__getitem__)
    shares = itertools.accumulate((rank + _SHIFT) ** -_EXPONENT for rank in range(VOCABULARY))
    return Language(common + rare, list(shares))


def _word(chance: random.Random, among: int) -> str:
    """One of the first words that are not the commonest."""
    return language().words[chance.randrange(100, among)]


class _Writer:
    """Makes up the documents of one folder; its topic words come again and again."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words, self._shares = language()
        self._topic = [_word(chance, 60_000) for _ in range(12)]
        self._names = [self._identifier() for _ in range(40)]
        self._written: list[str] = []

    def document(self, sections: int) -> str:
        """One file: a title, an introduction, and sections on two levels."""
        title = self.title()
        parts = [f"# {title}\n\n{self._prose(30)}\n"]
        for number in range(1, sections):
            level = "##" if number % 3 == 1 or self._chance.random() < 0.2 else "###"
            parts.append(f"{level} {self._heading()}\n\n{self._body()}\n")
        return "\n".join(parts)

    def title(self) -> str:
        words = [*self._chance.sample(self._topic, 2), _word(self._chance, 20_000)]
        return " ".join(words).capitalize()

    def _heading(self) -> str:
        if self._chance.random() < 0.15:
            return f"`{self._chance.choice(self._names)}`"
        words = self._sample(self._chance.randint(1, 4))
        return " ".join([*words, self._chance.choice(self._topic)]).capitalize()

    def _body(self) -> str:
        lot = self._chance.random()
        if self._written and lot < _COPIED + _NEARLY_COPIED:
            body = self._chance.choice(self._written)
            if lot >= _COPIED:
                body = body.replace(" the ", f" the {self._chance.choice(self._topic)} ", 1)
            return body
        body = "\n\n".join(self._parts())
        if lot > 0.8:
            self._written.append(body)
        return body

    def _parts(self) -> Iterator[str]:
        length = self._chance.lognormvariate(_MEAN_LOG, _SPREAD_LOG)
        yield self._prose(max(_FEWEST, min(_MOST, int(length))))
        lot = self._chance.random()
        if lot < 0.22:
            yield self._code()
        elif lot < 0.32:
            yield self._table()
        elif lot < 0.5:
            items = self._chance.randint(2, 6)
            yield "\n".join(f"- {self._sentence(7)}" for _ in range(items))

    def _prose(self, words: int) -> str:
        """Sentences of 6 to 20 words, a paragraph of about four at a time."""
        sentences = []
        while words > 0:
            length = min(words, self._chance.randint(6, 20))
            words -= length
            end = "\n\n" if self._chance.random() < 0.2 and words > 0 else " "
            sentences += [self._sentence(length), end]
        return "".join(sentences[:-1])

    def _sentence(self, words: int) -> str:
        chosen = self._sample(words)
        if self._chance.random() < 0.35:
            chosen[-1] = self._chance.choice(self._topic)
        if self._chance.random() < 0.12:
            chosen[words // 2] = f"`{self._chance.choice(self._names)}`"
        return f"{' '.join(chosen).capitalize()}."

    def _sample(self, words: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._shares, k=words)

    def _identifier(self) -> str:
        first, second, third = (_word(self._chance, 40_000) for _ in range(3))
        forms = (
            f"{first}_{second}",
            f"--{first}-{second}",
            f"{first}_{second}_{third}".upper(),
            f"{first}.{second}.{third}",
            f"{first.capitalize()}{second.capitalize()}()",
            f"{first[:2].upper()}-{self._chance.randint(1000, 9999)}",
        )
        return self._chance.choice(forms)

    def _code(self) -> str:
        lines = [
            f"{self._chance.choice(self._names)} = {self._chance.choice(self._names)}"
            f"({_word(self._chance, 5_000)}, {self._chance.randint(0, 999)})"
            for _ in range(self._chance.randint(2, 8))
        ]
        return "\n".join(["```python", *lines, "```"])

    def _table(self) -> str:
        rows = [
            f"| `{self._chance.choice(self._names)}` | {self._chance.randint(1, 99)} | "
            f"{self._sentence(6)} |"
            for _ in range(self._chance.randint(3, 8))
        ]
        return "\n".join(["| name | value | meaning |", "| --- | --- | --- |", *rows])


if __name__ == "__main__":
    main()

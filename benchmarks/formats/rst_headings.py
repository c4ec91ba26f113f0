"""Heading paths of reStructuredText files beside those of docutils.

python benchmarks/formats/rst_headings.py FOLDER [--sample 50] [--seed 1] [--suffix .txt]
"""

import argparse
import random
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles

from contextpull.documents.rst import read_rst
from contextpull.types import Block

Paths = list[tuple[str, ...]]
SETTINGS = {
    "report_level": 5,
    "halt_level": 5,
    "doctitle_xform": False,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
}


class Silent(Directive):
    """Any directive: no section can begin in it, so that its content does not matter here."""

    has_content = True
    optional_arguments = 100
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Nothing."""
        return []


def shown_role(_name, rawtext, text, *_, **__):
    """What Sphinx's cross references show: an explicit text, the last name of `~a.b`, no `!`."""
    text = text.replace("\0", "\\")
    if explicit := re.fullmatch(r"(.+?)\s*<[^<]*>", text):
        text = explicit.group(1)
    elif text.startswith("~"):
        text = text.rpartition(".")[2]
    return [nodes.inline(rawtext, text.removeprefix("!"))], []


def any_directive(*_):
    return Silent, []


def any_role(*_):
    return shown_role, []


def of_docutils(source: str) -> Iterator[tuple[str, ...]]:
    tree = publish_doctree(source, settings_overrides=SETTINGS)
    for section in tree.findall(nodes.section):
        path = []
        node = section
        while isinstance(node, nodes.section):
            path.append(" ".join(node[0].astext().split()))
            node = node.parent
        yield tuple(reversed(path))


def of_blocks(blocks: tuple[Block, ...]) -> Iterator[tuple[str, ...]]:
    path: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind == "heading":
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.title))
            yield tuple(title for _, title in path)


def report(files: list[Path], theirs: list[Paths], ours: list[Paths]) -> None:
    """Print how many documents and paths are equal, and the first difference of each other one."""
    equal = [one == other for one, other in zip(theirs, ours, strict=True)]
    found = expected = 0
    for file, one, other in zip(files, theirs, ours, strict=True):
        pairs = list(zip_longest(one, other))
        different = [pair for pair in pairs if pair[0] != pair[1]]
        expected += len(one)
        found += len(pairs) - len(different)
        if different:
            print(f"{file}: the format's tool {different[0][0]}, here {different[0][1]}")
    print(f"{sum(equal)} of {len(files)} documents, {found} of {expected} heading paths equal")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--suffix", default=".rst")
    arguments = parser.parse_args()
    directives.directive = any_directive
    roles.role = any_role
    files = sorted(arguments.folder.rglob(f"*{arguments.suffix}"))
    sample = random.Random(arguments.seed).sample(files, min(arguments.sample, len(files)))
    texts = [file.read_bytes() for file in sample]
    ours = [list(of_blocks(read_rst(text).blocks)) for text in texts]
    report(sample, [list(of_docutils(text.decode())) for text in texts], ours)


if __name__ == "__main__":
    main()

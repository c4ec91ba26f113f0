"""Heading paths of AsciiDoc files beside those of Asciidoctor.

python benchmarks/formats/asciidoc_headings.py FOLDER --node NODE_FOLDER [--sample 50] [--seed 1]

NODE_FOLDER holds `node_modules/@asciidoctor/core`. What Asciidoctor makes of quotes, dots
and dashes counts as what was typed.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path

from rst_headings import of_blocks, report

from contextpull.documents.asciidoc import read_asciidoc

SCRIPT = Path(__file__).with_name("asciidoc_headings.mjs")
TYPED = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "—": "--", "\u200b": "", "\u2009": " "}
    | {"©": "(C)", "®": "(R)", "™": "(TM)", "→": "->", "←": "<-", "⇒": "=>", "⇐": "<="}
)


def as_typed(title: str) -> str:
    return " ".join(title.translate(TYPED).replace(" -- ", "--").split())


def without_markup(title: str) -> str:
    return unescape(re.sub(r"<[^<>]*>", "", title))


def of_asciidoctor(files: list[Path], node: Path) -> list[list[tuple[str, ...]]]:
    with tempfile.TemporaryDirectory(dir=node) as folder:
        script = shutil.copy(SCRIPT, folder)
        command = ["node", script, *map(str, files)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    results = (json.loads(line)["paths"] for line in lines.splitlines())
    return [
        [tuple(as_typed(without_markup(title)) for title in path) for path in paths]
        for paths in results
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    files = sorted(file for file in arguments.folder.rglob("*.adoc") if file.is_file())
    sample = random.Random(arguments.seed).sample(files, min(arguments.sample, len(files)))
    ours = [
        [tuple(as_typed(each) for each in path) for path in of_blocks(read_asciidoc(data).blocks)]
        for data in (file.read_bytes() for file in sample)
    ]
    report(sample, of_asciidoctor(sample, arguments.node), ours)


if __name__ == "__main__":
    main()

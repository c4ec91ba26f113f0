"""The worked examples of the documentation are what the commands print."""

from pathlib import Path

import pytest

from contextpull.cli.golden import golden_group
from tests.eval.golden.worked import PAGE, worked_examples

pytest.importorskip("openai")


def test_the_examples_print_what_the_page_shows(tmp_path: Path) -> None:
    done = worked_examples(PAGE.read_text(encoding="utf-8"), tmp_path)
    for worked in done:
        assert worked.printed == worked.shown, worked.command
    named = [each.command.split() for each in done]
    shown = {words[2] for words in named if words[:2] == ["contextpull", "golden"]}
    assert shown == golden_group.commands.keys()

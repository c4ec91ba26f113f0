"""What every command says of itself."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from contextpull.cli.main import cli

WIDEST = 100


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command by the words that call it, groups too."""
    yield path
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def command_at(path: tuple[str, ...]) -> click.Command:
    found: click.Command = cli
    for name in path:
        assert isinstance(found, click.Group)
        found = found.commands[name]
    return found


EVERY = pytest.mark.parametrize("path", list(commands(cli)), ids=" ".join)


@EVERY
def test_help_is_text_that_fits(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, [*path, "--help"])
    assert done.exit_code == 0, done.output
    assert all(each.isprintable() for each in done.stdout.splitlines())
    assert "\\b" not in done.stdout
    assert [each for each in done.stdout.splitlines() if len(each) > WIDEST] == []


@EVERY
def test_a_command_and_each_of_its_options_say_what_they_are_for(path: tuple[str, ...]) -> None:
    command = command_at(path)
    assert command.help
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not (each.help or "").strip()] == []

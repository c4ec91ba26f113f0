"""`contextpull golden`: questions with what answers them, from your own documents."""

import click

from contextpull.cli.golden_answers import answers_command
from contextpull.cli.golden_builds import sweep_command
from contextpull.cli.golden_chunking import chunking_command
from contextpull.cli.golden_files import check_command, convert_command, label_command
from contextpull.cli.golden_measuring import cutoff_command, report_command
from contextpull.cli.golden_template import template_command
from contextpull.cli.golden_writing import write_command


@click.group(name="golden")
def golden_group() -> None:
    """Check, write and measure with golden files: questions with what answers them.

    A golden file holds one JSON object a line: {"question": "...", "expected": ["guide/cache.md"]}.
    """


for _command in (
    check_command,
    template_command,
    write_command,
    label_command,
    convert_command,
    report_command,
    cutoff_command,
    answers_command,
    sweep_command,
    chunking_command,
):
    golden_group.add_command(_command)

"""`contextpull eval`: measure retrieval over eval sets and judged collections."""

import click

from contextpull.cli.generate import generate_command
from contextpull.cli.judged import beir_command
from contextpull.cli.judging import judge_command
from contextpull.cli.reporting import report_command
from contextpull.cli.running import run_command
from contextpull.cli.runs import (
    compare_command,
    publish_command,
    replay_command,
    show_command,
)
from contextpull.cli.streams import parse_stream_command
from contextpull.cli.viewing import view_command


@click.group(name="eval")
def eval_group() -> None:
    """Measure how well sections are found, question by question.

    Start with `contextpull eval run --help`, for your own questions, or with
    `contextpull eval beir --help`, for collections that others judged.
    """


for _command in (
    run_command,
    show_command,
    replay_command,
    compare_command,
    publish_command,
    report_command,
    view_command,
    judge_command,
    generate_command,
    beir_command,
    parse_stream_command,
):
    eval_group.add_command(_command)

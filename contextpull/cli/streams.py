"""`contextpull eval parse-stream`."""

import codecs
import json
from pathlib import Path

import click

from contextpull.errors import EvaluationError

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@click.command("parse-stream")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--server",
    metavar="NAME",
    help="The name under which contextpull was attached.  [contextpull, or else the only server]",
)
def parse_stream_command(file: Path, server: str | None) -> None:
    """Print what a recording of Claude Code holds, as JSON.

    FILE is what `claude -p QUESTION --output-format stream-json --verbose` printed; `-` reads
    standard input. Lines that are no events are passed over, and so is a last one that was cut.

    `outcome` is ok, or says why there is no answer: server_failed, no_init (nothing tells whether
    the server was there), api_error, max_turns, context_length, output_limit, budget, refused,
    interrupted, killed, no_answer.

    \b
    Examples:
      contextpull eval parse-stream run.jsonl
      claude -p "…" --output-format stream-json --verbose | contextpull eval parse-stream -

    Exit code: 0 whatever the outcome, 2 when there is nothing of a recording in FILE.
    """
    from contextpull.eval.stream import parse_stream

    name = "standard input" if str(file) == "-" else str(file)
    try:
        with click.open_file(str(file), "rb") as stream:
            data: bytes = stream.read()
    except OSError as error:
        raise EvaluationError(f"{name} cannot be read: {error.strerror or error}.") from error
    try:
        recording = parse_stream(_text(data).split("\n"), server)
    except EvaluationError as error:
        raise EvaluationError(f"{name}: {error}") from error
    click.echo(json.dumps(recording.as_dict(), ensure_ascii=False, indent=2))


def _text(data: bytes) -> str:
    """As text; a shell that redirects output may have made UTF-16 of it."""
    return data.decode("utf-16" if data.startswith(_WIDE) else "utf-8-sig", "replace")

"""`contextpull eval view`: kept runs in a browser."""

from pathlib import Path

import click


@click.command("view")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8417,
    show_default=True,
    help="Where to listen on 127.0.0.1; 0 takes any port that is free.",
)
@click.option(
    "--open/--no-open",
    "opens",
    default=False,
    show_default=True,
    help="Open the list in your browser.",
)
def view_command(folder: Path, port: int, opens: bool) -> None:
    """Show the runs under FOLDER in a browser, and reports of one or of several side by side.

    The list holds every finished run in FOLDER and below, newest first. Each opens as the page
    that `contextpull eval report` writes; it is made when it is asked for, and made anew when the
    run has changed. Tick two or more to compare them.

    Only this machine can connect, and only runs under FOLDER are shown. Ctrl-C ends it.

    \b
    Examples:
      contextpull eval view runs
      contextpull eval view runs --port 0 --open

    Exit code: 130 after Ctrl-C, 2 where there is no such folder, or the port is taken.
    """
    from contextpull.eval.report.needs import require_report_libraries

    require_report_libraries()
    from contextpull.eval.report.listing import list_page
    from contextpull.eval.report.rendering import report_page
    from contextpull.eval.report.serving import RunsServer

    with RunsServer(folder, port, list_page=list_page, report_page=report_page) as server:
        click.echo(f"{server.address} shows the runs in {folder}. Ctrl-C ends it.")
        if opens:
            click.launch(server.address)
        server.serve_forever()

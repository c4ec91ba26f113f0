"""`contextpull eval report`: kept runs as one page of HTML, a picture, and tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from contextpull.eval.report.golden_view import GoldenView
    from contextpull.eval.report.model import RunView

_PATH = click.Path(path_type=Path)


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option(
    "-o",
    "--out",
    default=Path("report.html"),
    show_default=True,
    type=_PATH,
    help="The page; one that is there is replaced.",
)
@click.option(
    "--plot",
    type=_PATH,
    metavar="FILE",
    help="Also draw recall against tokens a question, as FILE.png or FILE.svg, for a README.",
)
@click.option(
    "--csv",
    "csv_folder",
    type=_PATH,
    metavar="FOLDER",
    help="Also write every table as a CSV file into FOLDER.",
)
@click.option("--markdown", type=_PATH, metavar="FILE", help="Also write the tables as Markdown.")
def report_command(
    runs: tuple[Path, ...],
    out: Path,
    plot: Path | None,
    csv_folder: Path | None,
    markdown: Path | None,
) -> None:
    """Draw kept runs as one page of HTML, which opens from the disk and needs no network.

    One run is shown in full: the rows with their intervals and costs, shapes, what agents did,
    every question with what each row returned, and where the figures come from. Of two runs the
    second is shown, with what changed; of more the last, with the history.

    A RUN may also be a JSON file of `contextpull golden`, or the folder of `golden chunking --out`:
    it is drawn beside the runs.

    --plot draws the last run and prints a text to put beside the picture. In CSV files numbers
    are bare and text is quoted; a text that a spreadsheet could take for a formula has a ' in
    front, and so has one that begins with that.

    \b
    Examples:
      contextpull eval report runs/first -o report.html
      contextpull eval report runs/first runs/second -o report.html
      contextpull eval report runs/first golden.json --plot recall.svg --csv tables

    Exit code: 0, 2 for a run that is not there or cannot be read.
    """
    from contextpull.eval.report.needs import require_report_libraries

    require_report_libraries()
    from contextpull.adapters.files import replacing
    from contextpull.eval.report.golden import golden_file, golden_parts
    from contextpull.eval.report.model import view_of
    from contextpull.eval.report.rendering import page_of_views

    files = {each: golden_file(each) for each in runs}
    folders = [each for each in runs if files[each] is None]
    if not folders and plot:
        raise click.UsageError("--plot needs the folder of a run.")
    golden = [golden_parts(each) for each in files.values() if each]
    views = [view_of(each) for each in folders]
    page = page_of_views(views, golden)
    with replacing(out) as stream:
        stream.write(page.html)
    click.echo(str(out))
    if plot or csv_folder or markdown:
        _write_also(views, golden, plot, csv_folder, markdown)


def _write_also(
    views: Sequence["RunView"],
    golden: Sequence["GoldenView"],
    plot: Path | None,
    csv_folder: Path | None,
    markdown: Path | None,
) -> None:
    from contextpull.adapters.files import replacing
    from contextpull.eval.report import exports
    from contextpull.eval.report.plot import plot_trade_off

    if plot:
        described = plot_trade_off(views[-1], plot)
        click.echo(f"{plot}\n{described}")
    if csv_folder:
        for path in exports.write_csv(views, csv_folder, golden):
            click.echo(str(path))
    if markdown:
        with replacing(markdown) as stream:
            stream.write(exports.markdown(views, golden))
        click.echo(str(markdown))

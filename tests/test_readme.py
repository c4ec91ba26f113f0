"""The README shows what the code does."""

from pathlib import Path

from demo.exchange import BEGIN, END, exchange

ROOT = Path(__file__).resolve().parent.parent


def test_the_exchange_is_what_the_tools_return() -> None:
    page = ROOT.joinpath("README.md").read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown == f"```\n{exchange()}\n```\n"


def test_the_table_is_that_of_the_benchmark() -> None:
    results = ROOT.joinpath("benchmarks/retrieval/results.md").read_text(encoding="utf-8")
    page = ROOT.joinpath("README.md").read_text(encoding="utf-8")
    for name in ("bm25", "dense", "hybrid"):
        (row,) = (each for each in results.splitlines() if each.split()[:2] == [name, "221"])
        (shown,) = (line for line in page.splitlines() if line.startswith(f"| push, {name} |"))
        figures = [cell.strip() for cell in shown.split("|")[2:-1]]
        assert len(figures) == 3
        assert all(figure in row for figure in figures)


def test_links_of_the_documents_lead_somewhere() -> None:
    import re

    for page in [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

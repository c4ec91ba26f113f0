"""The README shows what the code does."""

from pathlib import Path

from demo.exchange import exchange

ROOT = Path(__file__).resolve().parent.parent


def between(name: str) -> str:
    text = ROOT.joinpath("README.md").read_text(encoding="utf-8")
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def test_the_exchange_is_what_the_tools_return() -> None:
    assert between("exchange") == f"```\n{exchange()}\n```\n"


def test_the_table_is_that_of_the_benchmark() -> None:
    results = ROOT.joinpath("benchmarks/core/results.md").read_text(encoding="utf-8")
    (row,) = (line for line in results.splitlines() if line.startswith("bm25 "))
    cells = [cell.strip() for cell in between("table").strip().strip("|").split("|")]
    assert cells[0].startswith("push, bm25")
    for cell in cells[1:]:
        assert cell in row


def test_links_of_the_documents_lead_somewhere() -> None:
    import re

    for page in [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

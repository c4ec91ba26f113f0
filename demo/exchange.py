"""The exchange on the README's first screen: a search and a read, as a model sees them.

python demo/exchange.py            prints it
python demo/exchange.py README.md  puts it between the markers of that file
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from contextpull import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession

CORPUS = Path(__file__).parent / "corpus"
QUERY = "HG-4419"
BEGIN, END = "<!-- exchange -->\n", "<!-- /exchange -->"
CHARS_PER_TOKEN = 4


def exchange() -> str:
    """Two calls and their results, each with its size in estimated tokens."""
    with TemporaryDirectory() as folder:
        store = Path(folder, "store")
        ingest(CORPUS, store)
        session = ToolSession(open_store(store))
        found = session.call("search", {"query": QUERY, "limit": 1})
        section_id = found.data["hits"][0]["id"]
        read = session.call("read", {"ids": [section_id]})
    return "\n".join(
        [
            f"> search(query={QUERY!r}, limit=1)   about {_tokens(found.text)} tokens",
            found.text,
            f"> read(ids=[{section_id!r}])   about {_tokens(read.text)} tokens",
            read.text,
        ]
    )


def write(page: Path) -> None:
    """Put the exchange between the markers of a Markdown file."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    behind = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}```\n{exchange()}\n```\n{END}{behind}", encoding="utf-8")


def _tokens(text: str) -> int:
    return round(len(text) / CHARS_PER_TOKEN)


if __name__ == "__main__":
    if sys.argv[1:]:
        write(Path(sys.argv[1]))
    else:
        print(exchange())

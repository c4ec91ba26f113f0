"""The exchange on the README's first screen: a search and a read, as a model sees them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from contextpull import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession

CORPUS = Path(__file__).parent / "corpus"
QUERY = "warranty of the G4X"
CHARS_PER_TOKEN = 4


def exchange() -> str:
    """Two calls and their results, each with its size in estimated tokens."""
    with TemporaryDirectory() as folder:
        store = Path(folder, "store")
        ingest(CORPUS, store)
        session = ToolSession(open_store(store))
        found = session.call("search", {"query": QUERY, "limit": 2})
        section_id = found.data["hits"][0]["id"]
        read = session.call("read", {"ids": [section_id]})
    return "\n".join(
        [
            f"> search(query={QUERY!r}, limit=2)            about {_tokens(found.text)} tokens",
            found.text,
            f"> read(ids=[{section_id!r}])   about {_tokens(read.text)} tokens",
            read.text,
        ]
    )


def _tokens(text: str) -> int:
    return round(len(text) / CHARS_PER_TOKEN)


if __name__ == "__main__":
    print(exchange())

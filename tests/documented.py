"""The code that a page shows, so that a test runs what a reader copies."""

import re
from pathlib import Path
from types import SimpleNamespace

DOCS = Path(__file__).resolve().parent.parent / "docs"


def code_of(page: str, name: str) -> str:
    """The Python block of a page in docs/ that begins with `# name`."""
    text = DOCS.joinpath(page).read_text(encoding="utf-8")
    (shown,) = re.findall(rf"```python\n(# {re.escape(name)}\n.*?)```", text, re.DOTALL)
    return str(shown)


def run_code_of(page: str, name: str) -> SimpleNamespace:
    """What is defined once that block has run."""
    names: dict[str, object] = {}
    exec(compile(code_of(page, name), name, "exec"), names)
    return SimpleNamespace(**names)

"""Adapters whose library is not installed say so in one line."""

import sys
from importlib import import_module

import pytest

from contextpull.errors import MissingExtra


@pytest.mark.parametrize(
    ("adapter", "library", "package"),
    [("langchain", "LangChain", "langchain_core"), ("llama_index", "LlamaIndex", "llama_index")],
)
def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, adapter: str, library: str, package: str
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"contextpull.adapters.{adapter}", raising=False)
    with pytest.raises(MissingExtra) as raised:
        import_module(f"contextpull.adapters.{adapter}")
    assert str(raised.value) == (
        f"Working with {library} needs the extra 'adapters': pip install 'contextpull[adapters]'"
    )

"""Rerankers: a question and texts to scores, whatever model gives them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from contextpull.models.folders import open_spec
from contextpull.models.specs import parse_spec


class Reranker(Protocol):
    """Scores texts by how well each answers a question; each score depends on its pair only."""

    @property
    def name(self) -> str:
        """The spec that opens this reranker again, in its normal form."""
        ...

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the scores would."""
        ...

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's raw scores (logits), one a text, higher is better."""
        ...


def open_reranker(spec: str, *, models: Path | None = None) -> Reranker:
    """Open the reranker that a spec names.

    A spec is a pack (`ms-marco-MiniLM-L-12-v2`), a folder with `model.onnx` and `tokenizer.json`
    (`./my-model`), or `st:NAME` for sentence-transformers.
    `models` is where packs lie; by default where the command line installs them.

    Raises `InvalidInput` for another spec, `ModelUnavailable` for a model that cannot be used,
    `MissingExtra` where a library is not installed.
    """
    parsed = parse_spec(spec, "reranker")
    if parsed.form == "sentence-transformers":
        from contextpull.models.sentence import SentenceReranker

        return SentenceReranker(parsed)
    from contextpull.models.onnx import OnnxReranker

    return OnnxReranker(parsed.text, open_spec(parsed, models))

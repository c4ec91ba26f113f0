"""Embedders: texts to vectors, whatever model makes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from contextpull.models.folders import open_spec
from contextpull.models.specs import parse_spec

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Makes vectors of texts; what stands beside a text changes nothing of its vector.

    (In models of sentence-transformers: nothing beyond the rounding of 32-bit sums.)
    Vectors have the length 1, so that their inner product is their cosine. Text in which there is
    nothing to see has the vector of zeros, which is close to nothing.
    """

    @property
    def name(self) -> str:
        """The spec that opens this embedder again, in its normal form."""
        ...

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the vectors of passages would."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of texts to be found: an array of (texts, dimensions), C-contiguous."""
        ...

    def embed_query(self, text: str) -> "NDArray[float32]":
        """The vector of a question: an array of (dimensions,)."""
        ...


def open_embedder(
    spec: str,
    *,
    api_key: str = "",
    query_prefix: str | None = None,
    models: Path | None = None,
) -> Embedder:
    """Open the embedder that a spec names.

    A spec is a pack (`bge-small-en-v1.5`), a folder with `model.onnx` and `tokenizer.json`
    (`./my-model`), `st:NAME` for sentence-transformers, or `http://HOST:PORT/v1#MODEL` for an
    OpenAI-compatible endpoint, which `api_key` is for. `query_prefix` replaces what the model
    itself puts before a question. `models` is where packs lie; by default where the command line
    installs them.

    Raises `InvalidInput` for another spec, `ModelUnavailable` for a model that cannot be used,
    `MissingExtra` where a library is not installed.
    """
    parsed = parse_spec(spec, "embedder")
    if parsed.form == "endpoint":
        from contextpull.models.endpoint import EndpointEmbedder

        return EndpointEmbedder(parsed, api_key=api_key, query_prefix=query_prefix or "")
    if parsed.form == "sentence-transformers":
        from contextpull.models.sentence import SentenceEmbedder

        return SentenceEmbedder(parsed, query_prefix=query_prefix)
    from contextpull.models.onnx import OnnxEmbedder

    folder = open_spec(parsed, models)
    if query_prefix is not None:
        folder = folder._replace(query_prefix=query_prefix)
    return OnnxEmbedder(parsed.text, folder)

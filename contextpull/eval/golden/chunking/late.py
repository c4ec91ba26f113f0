"""Late chunking: the vector of a piece is the mean of its tokens, read in the whole document.

Günther, Mohr, Williams, Wang and Xiao, arXiv 2409.04701, 2024. It needs a model whose vector of a
passage is the mean of the vectors of its tokens.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from contextpull.eval.golden.chunking.corpus import Source
from contextpull.eval.golden.chunking.indexing import Piece
from contextpull.models.embedding import Embedder
from contextpull.models.vectors import normalised

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that gives out the vectors of tokens."""

    @property
    def name(self) -> str:
        """As `Embedder.name`."""
        ...

    def why_no_tokens(self) -> str:
        """Why it does not after all; nothing where it does."""
        ...

    def token_vectors(self, text: str) -> "tuple[list[tuple[int, int]], NDArray[float32]]":
        """The characters of each token, half open, and its vector, a row a token."""
        ...


def why_not_late(embedder: Embedder | None) -> str:
    """Why late chunking cannot be done with an embedder; nothing where it can."""
    if embedder is None:
        return "it needs vectors: name an --embedder that pools by mean"
    if not isinstance(embedder, TokenEmbedder):
        return f"{embedder.name} gives out no vectors of tokens; an ONNX folder may"
    why = embedder.why_no_tokens()
    return f"{embedder.name}: {why}" if why else ""


def late_vectors(
    embedder: TokenEmbedder, cut: Iterable[tuple[Source, Sequence[Piece]]]
) -> "NDArray[float32]":
    """The vectors of all pieces in their order, a row each, of length 1; zeros without tokens."""
    import numpy as np

    rows: list[NDArray[float32]] = []
    for source, pieces in cut:
        places, vectors = embedder.token_vectors(source.text)
        starts = np.array([start for start, _ in places])
        ends = np.array([end for _, end in places])
        for piece in pieces:
            inside = vectors[(starts < piece.searched.end) & (ends > piece.searched.start)]
            mean = inside.mean(axis=0) if len(inside) else np.zeros(vectors.shape[1])
            rows.append(normalised(mean, embedder.name))
    return np.array(rows, dtype=np.float32)

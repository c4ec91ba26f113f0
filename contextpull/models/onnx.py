"""Models in the ONNX format, on the processor, one text at a time.

Quantised models choose their number ranges by what shares the batch, so a text would get another
vector in other company. A batch of one and no padding make each answer depend on its own text
only; several texts run beside each other instead.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from contextpull.errors import MissingExtra, ModelUnavailable
from contextpull.models.folders import POOLINGS, ModelFolder
from contextpull.models.vectors import normalised

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_POOLED = "sentence_embedding"
_LOGITS = "logits"
_INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_MOST_THREADS = 8
_ERRORS_ONLY = 3

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class OnnxEmbedder:
    """An embedder over a model's folder; any number of threads may share it."""

    def __init__(self, name: str, folder: ModelFolder) -> None:
        """Load the model. Raises `ModelUnavailable` when it is no embedder that works."""
        self._name = name
        self._folder = folder
        self._network = _Network(folder, "Embedding with an ONNX model", (_POOLED,))
        self._network.tokenizer.enable_truncation(max_length=folder.max_tokens)
        if self._network.output == _LOGITS:
            raise ModelUnavailable(f"{folder.weights} is a reranker, not an embedder.")
        self._dimensions = len(self._vector("a"))

    @property
    def name(self) -> str:
        """The spec that opens this embedder again."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the vectors of passages would."""
        return self._folder.fingerprint

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of the texts, a row each, of length 1; zeros where there is no text."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        prefix = self._folder.passage_prefix
        for row, vector in zip(vectors, _beside(self._embed(prefix), texts), strict=True):
            row[:] = vector
        return vectors

    def embed_query(self, text: str) -> "NDArray[float32]":
        """The vector of a question, of length 1; zeros where there is no text."""
        return self._embed(self._folder.query_prefix)(text)

    def why_no_tokens(self) -> str:
        """Why a passage's vector is not the mean of those of its tokens; nothing where it is."""
        if self._folder.pooling != "mean":
            return f"its vectors are no means of those of tokens (pooling: {self._folder.pooling})"
        if self._network.run(self._network.tokenizer.encode("a")).ndim != 3:
            return "it gives out no vectors of tokens"
        return ""

    def token_vectors(self, text: str) -> "tuple[list[tuple[int, int]], NDArray[float32]]":
        """The characters that each token of a passage stands for, and the tokens' vectors.

        What is too long for the model is read in windows, one behind the other; what the model
        adds of its own is left out. Only where `why_no_tokens` has nothing to say.
        """
        import numpy as np

        prefix = self._folder.passage_prefix
        whole = self._network.tokenizer.encode(prefix + text)
        places: list[tuple[int, int]] = []
        rows: list[NDArray[float32]] = []
        for window in [whole, *whole.overflowing]:
            vectors = self._network.run(window)[0]
            for (start, end), is_added, vector in zip(
                window.offsets, window.special_tokens_mask, vectors, strict=True
            ):
                if not is_added and end > len(prefix):
                    places.append((max(0, start - len(prefix)), end - len(prefix)))
                    rows.append(vector)
        return places, np.array(rows, dtype=np.float32).reshape(len(rows), self._dimensions)

    def _embed(self, prefix: str) -> Callable[[str], "NDArray[float32]"]:
        import numpy as np

        def embed(text: str) -> "NDArray[float32]":
            if not text.strip():
                return np.zeros(self._dimensions, dtype=np.float32)
            return self._vector(prefix + text)

        return embed

    def _vector(self, text: str) -> "NDArray[float32]":
        encoding = self._network.tokenizer.encode(text)
        output = self._network.run(encoding)
        if output.ndim == 3:
            vector = self._pooled(output[0])
        elif output.ndim == 2 and output.shape[0] == 1:
            vector = output[0]
        else:
            raise self._network.unsuitable(f"its output has the shape {output.shape}")
        return normalised(vector, str(self._folder.weights))

    def _pooled(self, tokens: "NDArray[float32]") -> "NDArray[float32]":
        pooling = self._folder.pooling
        if pooling not in POOLINGS:
            raise self._network.unsuitable(
                f"it asks for {pooling!r} over its tokens; only {', '.join(POOLINGS)} are supported"
            )
        pooled: NDArray[float32]
        pooled = tokens.mean(axis=0) if pooling == "mean" else tokens[0 if pooling == "cls" else -1]
        return pooled


class OnnxReranker:
    """A cross-encoder over a model's folder; any number of threads may share it."""

    def __init__(self, name: str, folder: ModelFolder) -> None:
        """Load the model. Raises `ModelUnavailable` when it is no reranker that works."""
        self.name = name
        self.fingerprint = folder.fingerprint
        self._network = _Network(folder, "Reranking with an ONNX model", (_LOGITS,))
        tokenizer = self._network.tokenizer
        tokenizer.no_truncation()
        self._room = folder.max_tokens - tokenizer.num_special_tokens_to_add(is_pair=True)
        self.scores("a", ["a"])

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's raw scores, one a text, higher is better.

        What is too long for the model is cut at the end: the query to half of the room, then
        the text to what is left.
        """
        tokenizer = self._network.tokenizer
        asked = tokenizer.encode(query, add_special_tokens=False)
        asked.truncate(self._room // 2)

        def score(text: str) -> float:
            passage = tokenizer.encode(text, add_special_tokens=False)
            passage.truncate(self._room - len(asked))
            return self._score(tokenizer.post_process(asked, passage))

        return list(_beside(score, texts))

    def _score(self, pair: "Encoding") -> float:
        import numpy as np

        output = self._network.run(pair)
        if output.size != 1:
            raise self._network.unsuitable(f"it gives {output.size} numbers for a pair, not one")
        score = float(output.reshape(-1)[0])
        if not np.isfinite(score):
            raise self._network.unsuitable("it gives a score that is not a number")
        return score


class _Network:
    """A model and its tokenizer: tokens go in, the output that matters comes out."""

    def __init__(self, folder: ModelFolder, feature: str, outputs: Iterable[str]) -> None:
        try:
            import numpy  # noqa: F401 - only whether it is there
            import tokenizers
        except ImportError as error:
            raise MissingExtra(feature, "onnx") from error
        self._path = folder.weights
        self._session = _session(folder, feature)
        names = [each.name for each in self._session.get_outputs()]
        self.output: str = next((name for name in outputs if name in names), names[0])
        self._inputs = {each.name: each.type for each in self._session.get_inputs()}
        unknown = self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or not set(self._inputs.values()) <= _INTEGERS.keys():
            raise self.unsuitable(f"it needs inputs that are not supported: {self._inputs}")
        try:
            self.tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(folder.tokenizer))
        except Exception as error:  # the library raises no narrower one
            raise ModelUnavailable(
                f"{str(folder.tokenizer)!r} cannot be read as a tokenizer: {error}."
            ) from error
        self.tokenizer.no_padding()

    def run(self, encoding: "Encoding") -> "NDArray[float32]":
        """The output for one encoded text or pair."""
        import numpy as np

        values = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {
            name: np.array([values[name]], dtype=_INTEGERS[kind])
            for name, kind in self._inputs.items()
        }
        try:
            output: NDArray[float32] = self._session.run([self.output], feed)[0]
        except Exception as error:  # the library raises many, none of them documented
            raise self.unsuitable(str(error).strip()) from error
        return output

    def unsuitable(self, reason: str) -> ModelUnavailable:
        """The error for a model that loads and cannot be used."""
        return ModelUnavailable(f"The model {str(self._path)!r} cannot be used: {reason}.")


def _session(folder: ModelFolder, feature: str) -> "InferenceSession":
    # It writes an id of the machine and reports events unless it is told not to before it loads.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra(feature, "onnx") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            str(folder.weights), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library raises many, none of them documented
        raise ModelUnavailable(
            f"{str(folder.weights)!r} cannot be loaded as a model: {error}. Install it again."
        ) from error


def _beside(make: Callable[[_Item], _Made], items: Sequence[_Item]) -> Iterator[_Made]:
    """What `make` gives for each item, in their order; several are made beside each other."""
    threads = min(_MOST_THREADS, os.cpu_count() or 1, len(items))
    if threads < 2:
        yield from map(make, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="contextpull-model") as pool:
        yield from pool.map(make, items)

"""Models of the sentence-transformers library, by name or folder, on the processor.

Texts are encoded eight at a time in the order given, so that what shares a batch is settled by
the caller alone. A text in other company gets the same vector up to the rounding of 32-bit sums.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextpull.errors import MissingExtra, ModelUnavailable
from contextpull.models.folders import fingerprint_of
from contextpull.models.specs import Spec
from contextpull.models.vectors import normalised

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

BATCH = 8
_RECIPE = "st 1"
_HUB_SECONDS = 5.0
_FILE_OF_EMBEDDERS = "modules.json"
"""Without it the library guesses how tokens are pooled: a copy on disk must have known of it."""
_FILE_OF_RERANKERS = "config.json"


class SentenceEmbedder:
    """An embedder over a SentenceTransformer."""

    def __init__(self, spec: Spec, *, query_prefix: str | None = None) -> None:
        """Load the model, from the disk when it is there; `ModelUnavailable` when it cannot be.

        `query_prefix` replaces the prompt that the model itself has for a question.
        """
        library = _library("Embedding with sentence-transformers")
        self._name = spec.text
        self._prefix = query_prefix
        self._model = _load(library.SentenceTransformer, spec, _FILE_OF_EMBEDDERS)
        prompts = json.dumps(self._model.prompts, sort_keys=True)
        self._fingerprint = fingerprint_of(_RECIPE, _checksum(self._model), prompts)
        self._dimensions = len(self._vectors(["a"], self._model.encode_document)[0])

    @property
    def name(self) -> str:
        """The spec that opens this embedder again."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the vectors of passages would."""
        return self._fingerprint

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of the texts, a row each, of length 1; zeros where there is no text."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        told = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(told), BATCH):
            rows = told[start : start + BATCH]
            vectors[rows] = self._vectors([texts[row] for row in rows], self._model.encode_document)
        return vectors

    def embed_query(self, text: str) -> "NDArray[float32]":
        """The vector of a question, of length 1; zeros where there is no text."""
        import numpy as np

        if not text.strip():
            return np.zeros(self._dimensions, dtype=np.float32)
        return self._vectors([text], self._model.encode_query, prompt=self._prefix)[0]

    def _vectors(
        self, texts: list[str], encode: Callable[..., Any], **options: Any
    ) -> "list[NDArray[float32]]":
        # Not normalised by the library: our own function tells what is not a number.
        made = encode(texts, batch_size=BATCH, show_progress_bar=False, **options)
        return [normalised(vector, self._name) for vector in made]


class SentenceReranker:
    """A reranker over a CrossEncoder."""

    def __init__(self, spec: Spec) -> None:
        """Load the model, from the disk when it is there; `ModelUnavailable` when it cannot be."""
        library = _library("Reranking with sentence-transformers")
        self.name = spec.text
        self._model = _load(library.CrossEncoder, spec, _FILE_OF_RERANKERS)
        if self._model.num_labels != 1:
            raise ModelUnavailable(
                f"The model {spec.text!r} gives {self._model.num_labels} numbers for a pair, not"
                " the one that a reranker needs."
            )
        self.fingerprint = fingerprint_of(_RECIPE, _checksum(self._model))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's raw scores, one a text, higher is better."""
        import torch

        scores: list[float] = []
        for start in range(0, len(texts), BATCH):
            found = self._model.predict(
                [(query, text) for text in texts[start : start + BATCH]],
                batch_size=BATCH,
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
            )
            scores += map(float, found)
        if not all(map(math.isfinite, scores)):
            raise ModelUnavailable(f"The model {self.name!r} gives scores that are no numbers.")
        return scores


def _library(feature: str) -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingExtra(feature, "dense") from error
    return sentence_transformers


def _load(kind: Callable[..., Any], spec: Spec, file: str) -> Any:
    """A model of the library; the network is asked only for one that is not on this machine."""
    if Path(spec.target).is_dir():
        return _opened(kind, spec, on_disk=True)
    if _is_cached(spec.target, file):
        with suppress(ModelUnavailable):  # a download of it may have been cut short
            return _opened(kind, spec, on_disk=True)
    _require_hub(spec)
    return _opened(kind, spec, on_disk=False)


def _opened(kind: Callable[..., Any], spec: Spec, *, on_disk: bool) -> Any:
    try:
        return kind(spec.target, device="cpu", local_files_only=on_disk)
    except Exception as error:  # the library and those under it raise anything
        raise ModelUnavailable(
            f"The model {spec.text!r} cannot be loaded: {_first_line(error)}"
        ) from error


def _names(target: str) -> list[str]:
    """What the library takes a name for: a plain one also stands for a model of its own."""
    return [target] if "/" in target else [target, f"sentence-transformers/{target}"]


def _is_cached(target: str, file: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    try:
        return any(try_to_load_from_cache(name, file) is not None for name in _names(target))
    except ValueError:  # no name that the hub could have
        return False


def _require_hub(spec: Spec) -> None:
    """Ask the hub for the model, once: the library would try for a minute where there is none."""
    from huggingface_hub import HfApi

    for name in _names(spec.target):
        try:
            HfApi().model_info(name, timeout=_HUB_SECONDS)
        except Exception as error:  # what the libraries under it raise is not promised
            reason = _first_line(error)
        else:
            return
    raise ModelUnavailable(
        f"The model {spec.text!r} is not on this machine and cannot be downloaded: {reason}"
        " Check the name, or give a folder that holds the model (st:./my-model)."
    )


def _checksum(model: Any) -> str:
    """Over everything that makes a model's answers: weights, modules, tokenizer, length."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    modules = [
        (type(module).__name__, module.get_config_dict())
        for module in model
        if hasattr(module, "get_config_dict")
    ]
    digest.update(json.dumps(modules, sort_keys=True, default=str).encode())
    tokens = getattr(model.tokenizer, "backend_tokenizer", None)
    digest.update(tokens.to_str().encode() if tokens is not None else b"")
    digest.update(str(getattr(model, "max_seq_length", None)).encode())
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    line = lines[0].rstrip(". ") if lines else type(error).__name__
    return f"{line}."

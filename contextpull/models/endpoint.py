"""Embeddings from an endpoint that speaks OpenAI's protocol: a service, or a server at home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextpull.errors import InvalidInput, MissingExtra, ModelUnavailable
from contextpull.models.folders import fingerprint_of
from contextpull.models.specs import Spec
from contextpull.models.vectors import normalised

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from openai import APIError

BATCH = 64
"""Texts in one request, counted from the first: the same texts always travel together."""
_RECIPE = "endpoint 1"
_NO_KEY = "none"
"""Sent where there is no key: with nothing to send, the library would look for one by itself."""
_CONNECT_SECONDS = 5.0
_PASSAGES_SECONDS = 60.0
_QUERY_SECONDS = 15.0
"""A question waits less long: whoever asked it waits too."""
_RETRIES = 2
_MESSAGE_CHARS = 200


class EndpointEmbedder:
    """An embedder behind a URL; any number of threads may share it."""

    def __init__(
        self,
        spec: Spec,
        *,
        api_key: str = "",
        query_prefix: str = "",
        retries: int = _RETRIES,
        seconds: float = _PASSAGES_SECONDS,
    ) -> None:
        """Nothing is sent before the first text is embedded.

        `seconds` bounds each wait for an answer about passages; one about a question waits at
        most a quarter of a minute.
        """
        self._key = api_key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise InvalidInput("The key for the endpoint holds characters that no key can have.")
        self._spec = spec
        self._prefix = query_prefix
        self._seconds = seconds
        self._client = _client(spec.target, self._key or _NO_KEY, retries)
        self._dimensions = 0

    @property
    def name(self) -> str:
        """The spec that opens this embedder again, without its key."""
        return self._spec.text

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits for the URL and the model's name.

        A model that changes behind its name is not noticed.
        """
        return fingerprint_of(_RECIPE, self._spec.target, self._spec.model)

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of the texts, a row each, of length 1; zeros where there is no text.

        Raises `ModelUnavailable` when the endpoint cannot be reached, refuses, or answers with
        something else than one vector a text, all of the same length.
        """
        import numpy as np

        told = [row for row, text in enumerate(texts) if text.strip()]
        found: list[NDArray[float32]] = []
        for start in range(0, len(told), BATCH):
            found += self._ask([texts[row] for row in told[start : start + BATCH]], self._seconds)
        vectors = np.zeros((len(texts), self._known_dimensions()), dtype=np.float32)
        for row, vector in zip(told, found, strict=True):
            vectors[row] = vector
        return vectors

    def embed_query(self, text: str) -> "NDArray[float32]":
        """The vector of a question, of length 1; zeros where there is no text."""
        import numpy as np

        if not text.strip():
            return np.zeros(self._known_dimensions(), dtype=np.float32)
        return self._ask([self._prefix + text], min(self._seconds, _QUERY_SECONDS))[0]

    def _known_dimensions(self) -> int:
        """The length of the vectors; asks for one when none has come yet."""
        if not self._dimensions:
            self._ask(["a"], min(self._seconds, _QUERY_SECONDS))
        return self._dimensions

    def _ask(self, texts: list[str], seconds: float) -> "list[NDArray[float32]]":
        import openai

        try:
            answer = self._client.embeddings.create(
                input=texts,
                model=self._spec.model,
                encoding_format="float",  # some servers know no other
                timeout=openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            )
        except openai.APIError as error:
            raise self._refused(error, seconds) from error
        except ValueError as error:
            raise self._wrong("its answer is not JSON") from error
        return self._vectors(answer, len(texts))

    def _vectors(self, answer: Any, count: int) -> "list[NDArray[float32]]":
        import numpy as np

        try:
            placed = {int(each.index): np.asarray(each.embedding, float) for each in answer.data}
        except (AttributeError, TypeError, ValueError) as error:
            raise self._wrong("its answer holds no embeddings") from error
        if len(answer.data) != count or placed.keys() != set(range(count)):
            raise self._wrong(f"it was given {count} texts and answered with {len(answer.data)}")
        dimensions = self._dimensions or placed[0].size
        if not dimensions or any(each.shape != (dimensions,) for each in placed.values()):
            raise self._wrong("its vectors are not all of one length")
        self._dimensions = dimensions
        return [normalised(placed[row], self._spec.text) for row in range(count)]

    def _wrong(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"The endpoint {self._spec.target} cannot be used for {self._spec.model!r}: {reason}."
        )

    def _refused(self, error: "APIError", seconds: float) -> ModelUnavailable:
        """What went wrong, in a sentence that says what to try and never holds the key."""
        import openai

        where = f"The endpoint {self._spec.target}"
        if isinstance(error, openai.APITimeoutError):
            return ModelUnavailable(
                f"{where} did not answer within {seconds:g} seconds: check that it runs."
            )
        if isinstance(error, openai.APIConnectionError):
            reason = self._masked(str(error.__cause__ or error))
            return ModelUnavailable(
                f"{where} cannot be reached ({reason}): check that it runs, and its URL."
            )
        if not isinstance(error, openai.APIStatusError):
            return self._wrong(self._masked(error.message))
        if error.status_code in {401, 403}:
            return ModelUnavailable(
                f"{where} refuses the key (HTTP {error.status_code})."
                if self._key
                else f"{where} asks for a key (HTTP {error.status_code}), and none was given."
            )
        body = error.body
        said = self._masked(str(body.get("message", body) if isinstance(body, dict) else body))
        if error.status_code == 404:
            return ModelUnavailable(
                f"{where} has no embeddings from {self._spec.model!r} ({said}): check the model's"
                " name, and that the URL ends where /embeddings follows, mostly in /v1."
            )
        if error.status_code == 429:
            return ModelUnavailable(
                f"{where} refuses more requests for now ({said}): try again later, or look at the"
                " account's quota."
            )
        return ModelUnavailable(f"{where} answered with HTTP {error.status_code}: {said}.")

    def _masked(self, text: str) -> str:
        """At most a line of somebody else's message, without the key should it hold it."""
        shown = text.replace(self._key, "…") if self._key else text
        line = " ".join(shown.split()).rstrip(".")
        return line if len(line) <= _MESSAGE_CHARS else f"{line[:_MESSAGE_CHARS]}…"


def _client(url: str, key: str, retries: int) -> Any:
    try:
        import numpy  # noqa: F401 - only whether it is there
        import openai
    except ImportError as error:
        raise MissingExtra("Embedding through an endpoint", "endpoint") from error
    client = openai.OpenAI(api_key=key, base_url=url, max_retries=retries)
    # These it took from the environment, where they are meant for another service than this one.
    client.organization = client.project = client.admin_api_key = None
    client._custom_headers = {}
    return client

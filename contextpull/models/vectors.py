"""What all embedders do to a vector before they give it out."""

from typing import TYPE_CHECKING

from contextpull.errors import ModelUnavailable

if TYPE_CHECKING:
    from numpy import float32, floating
    from numpy.typing import NDArray


def normalised(vector: "NDArray[floating]", model: str) -> "NDArray[float32]":
    """The vector at length 1; a vector of zeros stays as it is.

    Raises `ModelUnavailable` for numbers that are not finite, naming the model.
    """
    import numpy as np

    exact = np.asarray(vector, dtype=np.float64)
    length = float(np.sqrt(np.dot(exact, exact)))
    if not np.isfinite(length):
        raise ModelUnavailable(f"The model {model!r} gives vectors that are not finite numbers.")
    return (exact / (length or 1.0)).astype(np.float32)

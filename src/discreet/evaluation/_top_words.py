"""The most probable words of each topic, and the checks of a topic matrix that every measure needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray


def topic_matrix(topics: Any, name: str = "topics") -> FloatArray:
    """``topics`` as a finite float64 matrix of topic × word."""
    matrix = np.asarray(topics)
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "uif":
        raise InputError(
            f"{name} must be a matrix of numbers, topic × word; found {matrix.dtype} of shape {matrix.shape}. "
            "Pass a model's components_ or a release's topics."
        )
    matrix = np.asarray(matrix, dtype=np.float64)
    if not np.isfinite(matrix).all():
        raise InputError(f"{name} must be finite; found NaN or infinity. Check the training run.")
    return matrix


def top_words(topics: Any, n: int) -> IntArray:
    """Indices of the ``n`` most probable words of each topic, best first; ties go to the word with the lower index."""
    matrix = topic_matrix(topics)
    if not 1 <= n <= matrix.shape[1]:
        raise InputError(f"top_n must be from 1 to the {matrix.shape[1]:,} words of the topics; found {n}.")
    ranked = np.argsort(-matrix, axis=1, kind="stable")[:, :n]
    return np.ascontiguousarray(ranked, dtype=np.int64)

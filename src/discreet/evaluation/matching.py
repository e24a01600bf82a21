"""Which topic of one model corresponds to which topic of another: the order of topics has no meaning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray
from discreet.evaluation._top_words import topic_matrix


class Matching(NamedTuple):
    """The partner of each topic of the first model."""

    order: IntArray
    """Topic of the second model, or −1 where none is left. With equal numbers ``b[order]`` lines up with ``a``."""
    distances: FloatArray
    """ℓ1 distance to the partner, NaN without one: for probabilities 0 when equal, 2 when they share no word."""

    @property
    def mean(self) -> float:
        """Mean distance of the pairs."""
        return float(self.distances[self.order >= 0].mean())


def match_topics(a: Any, b: Any) -> Matching:
    """Pair the topics of two models so that the sum of ℓ1 distances is least (the Hungarian method).

    ``a`` and ``b`` are topic × word over the same vocabulary. Numbers of topics may differ: every topic of the smaller
    model then has a partner.
    """
    first, second = topic_matrix(a, "a"), topic_matrix(b, "b")
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"a has {first.shape[1]:,} words and b {second.shape[1]:,}. "
            "Topics can be matched only over one vocabulary: give both the same columns."
        )
    distances = cdist(first, second, "cityblock")
    rows, columns = linear_sum_assignment(distances)
    order = np.full(len(first), -1, dtype=np.int64)
    order[rows] = columns
    paired = np.full(len(first), np.nan)
    paired[rows] = distances[rows, columns]
    return Matching(order, paired)

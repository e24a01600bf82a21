"""The last topic under a Beta-Liouville prior: a part of its factor is kept where its count would be.

Under BL(α_1, …, α_{K−1}; a; β) a token's topic k has, up to one factor for all, the factor n_k + α_k if k < K, and the
last one

    (n_K + β) · (Λ + m) / (a + m),     Λ = Σ_{k<K} α_k,     m = Σ_{k<K} n_k,

where n counts the document's other tokens. As m is their number less n_K, this depends on n_K and the document's length
alone: only the booking of a draw changes. The factor is split into least · β, which kernels read as the last topic's
alpha, and what remains, which they keep in place of n_K; least = min(1, Λ/a) is the smallest value of the ratio, so
that neither part is negative. With a = Λ the parts are exactly β and n_K: a sweep then draws the same bits as under the
Dirichlet prior. What is kept is computed in float64 and rounded once to float32, which a count is not: a relative
2^-24.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import FloatArray, Int, UInt16Array, UInt64Array
from discreet.kernels.compile import inlined_part, part
from discreet.kernels.sweeps.slots import N_LAST, N_OTHER

TABLE = 1 << 12
"""For smaller m, (Λ + m) / (a + m) is looked up: dividing for every token takes about 4% of a sweep."""


class LastTopic(NamedTuple):
    """What the factor of the last topic is made of; kernels take None in its place for a Dirichlet prior."""

    topic: int
    """K − 1, as topics are counted from 0."""
    a: float
    inner: float
    """Λ."""
    beta: float
    least: float
    ratios: FloatArray
    """(Λ + m) / (a + m) for m below `TABLE`."""

    @classmethod
    def of(cls, alpha: FloatArray, rest: float) -> LastTopic:
        """From α_1, …, α_{K−1}, β and a."""
        inner = float(alpha[:-1].sum())
        m = np.arange(TABLE, dtype=np.float64)
        ratios = (inner + m) / (float(rest) + m)
        return cls(len(alpha) - 1, float(rest), inner, float(alpha[-1]), min(1.0, inner / rest), ratios)


@part
def count_last(
    slot: Int, topics: UInt16Array, start: Int, stop: Int, last_topic: LastTopic, slots: UInt64Array
) -> None:
    """The slot's new document: how many tokens have the last topic, and how many others there are beside each token."""
    n_last = np.uint64(0)
    for i in range(start, stop):
        n_last += np.uint64(topics[i] == last_topic.topic)
    slots[N_LAST + slot] = n_last
    slots[N_OTHER + slot] = np.uint64(stop - start - 1)


@inlined_part
def return_last(slot: Int, topic: np.uint64, last_topic: LastTopic, slots: UInt64Array) -> None:
    """Count the topic that was drawn."""
    slots[N_LAST + slot] += np.uint64(topic == np.uint64(last_topic.topic))


@inlined_part
def take_last(slot: Int, topic: np.uint64, last_topic: LastTopic, slots: UInt64Array) -> np.float32:
    """Take the topic of the next token out; what stands in place of n_K for its draw."""
    slots[N_LAST + slot] -= np.uint64(topic == np.uint64(last_topic.topic))
    n_last = np.int64(slots[N_LAST + slot])
    n_others = np.int64(slots[N_OTHER + slot]) - n_last
    if n_others < TABLE:
        ratio = last_topic.ratios[np.uint64(n_others)]
    else:
        m = np.float64(n_others)
        ratio = (last_topic.inner + m) / (last_topic.a + m)
    return np.float32(np.float64(n_last) * ratio + last_topic.beta * (ratio - last_topic.least))

"""Two models beside each other: which topic of one is which of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.evaluation import match_topics
from discreet.release.release import Release


@dataclass(frozen=True, eq=False)
class Matched:
    """The partner of each topic of the first model."""

    order: IntArray
    """Topic of the second model, or −1 without a partner."""
    overlap: FloatArray
    """The probability that the two topics have in common, 1 − ℓ1/2: 1 when equal, 0 when they share no word; NaN
    without a partner."""
    left: list[int]
    """Topics of the second model without a partner."""
    n_shared: int
    """Words that both models have."""

    @property
    def mean(self) -> float:
        """Mean overlap of the pairs."""
        return float(self.overlap[self.order >= 0].mean())


def matched(a: Release, b: Release) -> Matched:
    """Pair the topics over the words of both models: a word that one of them lacks has probability 0 there."""
    words = list(dict.fromkeys([*a.vocabulary, *b.vocabulary]))
    column = {word: i for i, word in enumerate(words)}
    second = np.zeros((b.n_topics, len(words)))
    second[:, [column[word] for word in b.vocabulary]] = b.topics
    first = np.zeros((a.n_topics, len(words)))
    first[:, : a.n_words] = a.topics
    found = match_topics(first, second)
    taken = set(found.order.tolist())
    return Matched(
        found.order,
        1.0 - found.distances / 2.0,
        [k for k in range(b.n_topics) if k not in taken],
        a.n_words + b.n_words - len(words),
    )

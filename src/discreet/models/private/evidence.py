"""How frequent words are: what the releases of a fit say of it, added up by precision.

Before the rounds the frequencies of words are released. Each round then releases another estimate: what units leave out
of their contributions is a share of each token, the same for all words, so the sum of a word's cells is the rest of its
count. All rounds together know about as much of a word as the first release does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet._types import FloatArray
from discreet.models.knowledge import PublicKnowledge
from discreet.models.private import shrink
from discreet.models.word_use import Expected, word_use


@dataclass
class Evidence:
    """Σ x / v and Σ 1 / v of noisy shares x of each word in the text, with variances v."""

    weighted: FloatArray
    precision: FloatArray

    @classmethod
    def none(cls, n_words: int) -> Self:
        return cls(np.zeros(n_words), np.zeros(n_words))

    def add(self, noisy: FloatArray, variance: FloatArray | float) -> None:
        self.weighted = self.weighted + noisy / variance
        self.precision = self.precision + 1 / variance

    def frequencies(self, public: PublicKnowledge | None) -> FloatArray:
        """The share of each word in the text, without the noise as far as that can be: pulled towards what public text
        says, or towards what all words together say."""
        noisy, deviation = self.weighted / self.precision, self.precision**-0.5
        if public is None:
            return shrink.frequencies(noisy, deviation)
        return word_use(noisy, deviation, Expected.of(public)).frequencies

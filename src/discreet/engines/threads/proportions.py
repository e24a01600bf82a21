"""Word use and topic proportions of all units, each clipped as one. The contract: ``ProportionEngine``."""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.engines.threads.sums import added_up
from discreet.engines.threads.variational import ThreadVariationalUnits
from discreet.kernels.sums.proportions import add_proportions, add_roots

TOLERANCE, MAX_STEPS = 1e-3, 50
"""EM for the topic proportions of a unit stops when Σ_k |Δθ_k| falls below this, or after this many steps: what they
are added to has far more noise."""


class ThreadProportions(ThreadVariationalUnits):
    """The tokens of all units, grouped by unit. Nothing is random but which tokens of a unit are within its cap, and
    the coins of rounds."""

    def root_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        weights, ends = np.array(word_weights, np.float64), self._ends

        def add(first: int, last: int, out: IntArray) -> None:
            add_roots(self.words, ends, first, last, weights, clip, out)

        return added_up(self._workers, ends, self.n_words, add)

    def proportions(self, topics: FloatArray, alpha: FloatArray, *, scale: float, clip: float) -> IntArray:
        table, prior, ends = np.ascontiguousarray(topics.T), np.array(alpha, np.float64), self._ends
        # one piece of text in the only slice
        pieces = (ends, np.zeros(len(ends), np.int64), np.arange(1, len(ends) + 1))

        def add(first: int, last: int, out: IntArray) -> None:
            stop = (0.0, TOLERANCE, MAX_STEPS)
            add_proportions(table, self.words, *pieces, first, last, prior, *stop, scale, 0.0, clip, out)

        return added_up(self._workers, ends, len(topics), add)

    @property
    def _ends(self) -> IntArray:
        """Where the tokens of each unit end."""
        return self.offsets[self.first_document[1:]]  # [unit-cells] all documents of a unit are one piece of text

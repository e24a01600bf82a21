"""Word use and topic proportions of all units, each clipped as one. The contract: ``ProportionEngine``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.engines.threads.units import ThreadUnits
from discreet.engines.threads.workers import shares
from discreet.kernels.sums.proportions import add_proportions, add_roots

TOLERANCE, MAX_STEPS = 1e-3, 50
"""EM for the topic proportions of a unit stops when Σ_k |Δθ_k| falls below this, or after this many steps: what they
are added to has far more noise."""


class ThreadProportions(ThreadUnits):
    """The tokens of all units, grouped by unit. Nothing is random but which tokens of a unit are within its cap."""

    def root_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        return self._added(add_roots, (), (np.array(word_weights, np.float64), clip), self.n_words)

    def proportions(self, topics: FloatArray, alpha: FloatArray, *, scale: float, clip: float) -> IntArray:
        table, prior = np.ascontiguousarray(topics.T), np.array(alpha, np.float64)
        return self._added(add_proportions, (table,), (prior, TOLERANCE, MAX_STEPS, scale, clip), len(topics))

    def _added(self, kernel: Callable[..., None], before: Any, after: Any, n_cells: int) -> IntArray:
        """What ``kernel`` adds up over all units: ``before`` and ``after`` are its arguments around the tokens."""
        ends = self.offsets[self.first_document[1:]]  # [unit-cells] all documents of a unit are one piece of text
        cuts = np.searchsorted(ends, ends[-1] * shares(self.n_threads)) if len(ends) else np.zeros(2, np.int64)
        cuts[0], cuts[-1] = 0, len(ends)
        out = np.zeros((self.n_threads, n_cells), np.int64)

        def work(thread: int, piece: int) -> None:
            kernel(*before, self.words, ends, cuts[piece], cuts[piece + 1], *after, out[thread])

        self._workers.share(work, len(cuts) - 1)
        return np.asarray(out.sum(axis=0))

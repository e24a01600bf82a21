"""Rounds whose units infer their topics by variational steps instead of sweeps.

The units, their tokens, their coins and the way of their contributions are those of
:class:`~discreet.engines.threads.units.RoundEngine`; the local step alone is another, and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._types import AnyArray, BoolArray, Float32Array, FloatArray, IntArray, UInt32Array
from discreet.engines.threads.sums import Sums
from discreet.engines.threads.units import RoundEngine
from discreet.engines.threads.workers import shares
from discreet.kernels.sums.variational import FINE, add_expected, add_variational, variational_scratch
from discreet.kernels.sweeps.slots import aligned


class VariationalEngine(RoundEngine):
    """The tokens of all units, grouped by unit."""

    def residuals(
        self,
        number: int,
        included: BoolArray,
        weights: Float32Array,
        alpha: FloatArray,
        *,
        n_sweeps: int,
        cell_weights: Float32Array,
        background: Float32Array,
        clip: float,
    ) -> IntArray:
        """Infer the topics of the included units and add up their contributions (:func:`add_variational`), in steps.

        ``weights`` are exp(E[log β]) up to a constant; ``n_sweeps`` is the number of variational steps.
        """
        units = np.flatnonzero(included)
        scratch = self._places(units, self.first_document, np.float32)
        sums = [Sums(self.n_words * self.width, clip) for _ in scratch]
        # [unit-variational] all documents of a unit are clipped as one
        documents = (self.words, self.offsets, self.first_document, units)
        # [local-variational] its own tokens, α and the tables of the round
        tables = (weights, self._row(alpha), cell_weights, background)

        def work(thread: int, first: int, last: int) -> None:
            def add(first: int, last: int, out: UInt32Array) -> None:
                add_variational(*documents, first, last, self.n_topics, n_sweeps, *tables, clip, *scratch[thread], out)

            sums[thread].add(add, first, last)

        self._share(units, self.first_document, work)
        return np.asarray(sum(part.total for part in sums))

    def expected(self, included: BoolArray, weights: FloatArray, alpha: FloatArray, *, n_steps: int) -> FloatArray:
        """The expected counts of the included units, added up exactly, flat word × width. Private, and stays so."""
        chosen = np.flatnonzero(np.repeat(included, np.diff(self.first_document)))
        each = np.arange(len(self.offsets))
        scratch = self._places(chosen, each, np.float64)
        parts = [np.zeros(self.n_words * self.width, np.int64) for _ in scratch]
        row = aligned(self.width, np.float64)
        row[: self.n_topics] = alpha

        def work(thread: int, first: int, last: int) -> None:
            documents = (self.words, self.offsets, chosen, first, last)
            add_expected(*documents, self.n_topics, n_steps, weights, row, *scratch[thread], parts[thread])

        self._share(chosen, each, work)
        return np.asarray(sum(parts) / FINE)

    def _sizes(self, chosen: IntArray, first_document: IntArray) -> IntArray:
        return np.asarray(np.diff(self.offsets[first_document])[chosen])

    def _places(self, chosen: IntArray, first_document: IntArray, dtype: type) -> list[tuple[AnyArray, AnyArray]]:
        """Working memory of each thread, for the largest of those chosen."""
        longest = int(self._sizes(chosen, first_document).max(initial=0))
        n_places = min(longest, self.n_words)
        return [variational_scratch(self.n_words, self.width, n_places, dtype) for _ in range(self.n_threads)]

    def _share(self, chosen: IntArray, first_document: IntArray, work: Callable[[int, int, int], None]) -> None:
        """Cut those chosen into pieces of about as many tokens as a thread's share."""
        ends = np.cumsum(self._sizes(chosen, first_document))
        total = ends[-1] if len(ends) else 0
        cuts = np.searchsorted(ends, shares(self.n_threads) * total, side="left")
        cuts[0], cuts[-1] = 0, len(ends)
        self._workers.share(lambda thread, piece: work(thread, cuts[piece], cuts[piece + 1]), len(cuts) - 1)

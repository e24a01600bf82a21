"""Rounds whose units infer their topics by variational steps instead of sweeps.

The units, their tokens, their coins and the sums of their contributions are those of
:class:`~discreet.engines.threads.units.ThreadUnits`; only the local step differs, and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._types import AnyArray, FloatArray, IntArray, UInt32Array
from discreet.engines.interface import Round, Table
from discreet.engines.threads.sums import Sums
from discreet.engines.threads.units import ThreadUnits
from discreet.engines.threads.workers import shares
from discreet.kernels.sums.variational import FINE, add_expected, add_variational, variational_scratch


class ThreadVariationalUnits(ThreadUnits):
    """The tokens of all units, grouped by unit."""

    def residuals(self, given: Round, *, cell_weights: Table, background: Table, clip: float) -> IntArray:
        units = np.flatnonzero(self.coins(given.number, given.threshold))
        scratch = self._places(units, self.first_document, np.float32)
        sums = [Sums(self.n_words * self._width, clip) for _ in scratch]
        # [unit-variational] all documents of a unit are clipped as one
        documents = (self.words, self.offsets, self.first_document, units)
        # [local-variational] its own tokens, α and the tables of the round
        tables = (self._wide(given.weights), self._row(given.alpha), self._wide(cell_weights), self._wide(background))
        steps = (self.n_topics, given.local_sweeps)

        def work(thread: int, first: int, last: int) -> None:
            def add(first: int, last: int, out: UInt32Array) -> None:
                add_variational(*documents, first, last, *steps, *tables, clip, *scratch[thread], out)

            sums[thread].add(add, first, last)

        self._share(units, self.first_document, work)
        return self._narrow(sum(part.total for part in sums))

    def expected(self, given: Round) -> tuple[FloatArray, int]:
        return self.expected_sums(given) / FINE, int(self.coins(given.number, given.threshold).sum())

    def expected_sums(self, given: Round) -> IntArray:
        """The expected counts in whole steps of 1/FINE, whose sum does not depend on its order."""
        included = self.coins(given.number, given.threshold)
        chosen = np.flatnonzero(np.repeat(included, np.diff(self.first_document)))
        each = np.arange(len(self.offsets))
        scratch = self._places(chosen, each, np.float64)
        parts = [np.zeros(self.n_words * self._width, np.int64) for _ in scratch]
        tables = (self._wide(given.weights, np.float64), self._row(given.alpha, np.float64))

        def work(thread: int, first: int, last: int) -> None:
            documents = (self.words, self.offsets, chosen, first, last)
            add_expected(*documents, self.n_topics, given.local_sweeps, *tables, *scratch[thread], parts[thread])

        self._share(chosen, each, work)
        return self._narrow(sum(parts))

    def _sizes(self, chosen: IntArray, first_document: IntArray) -> IntArray:
        return np.asarray(np.diff(self.offsets[first_document])[chosen])

    def _places(self, chosen: IntArray, first_document: IntArray, dtype: type) -> list[tuple[AnyArray, AnyArray]]:
        """Working memory of each thread, for the largest of the chosen units."""
        longest = int(self._sizes(chosen, first_document).max(initial=0))
        n_places = min(longest, self.n_words)
        return [variational_scratch(self.n_words, self._width, n_places, dtype) for _ in range(self.n_threads)]

    def _share(self, chosen: IntArray, first_document: IntArray, work: Callable[[int, int, int], None]) -> None:
        """Cut the chosen units into pieces by their tokens, as `shares` says."""
        ends = np.cumsum(self._sizes(chosen, first_document))
        total = ends[-1] if len(ends) else 0
        cuts = np.searchsorted(ends, shares(self.n_threads) * total, side="left")
        cuts[0], cuts[-1] = 0, len(ends)
        self._workers.share(lambda thread, piece: work(thread, cuts[piece], cuts[piece + 1]), len(cuts) - 1)

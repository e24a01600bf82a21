"""Topic proportions of all units by slice, each unit clipped as one. The contract: ``SliceEngine``."""

from __future__ import annotations

import numpy as np

from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import excess
from discreet.engines.threads.sums import added_up
from discreet.engines.threads.units import unit_numbers
from discreet.engines.threads.workers import Workers
from discreet.kernels.sums.proportions import add_proportions

TOLERANCE, MAX_STEPS = 1e-4, 200
"""EM for the topic proportions of a piece stops when Σ_k |Δθ_k| falls below this, or after this many steps."""


class ThreadSlices:
    """Documents by unit and slice: those of one unit in one slice are one piece of text."""

    def __init__(
        self,
        corpus: Corpus,
        groups: AnyArray | None,
        slices: IntArray,
        n_slices: int,
        *,
        n_threads: int | None = None,
    ) -> None:
        self.n_slices, self.n_words = n_slices, corpus.n_words
        inside = np.flatnonzero((slices >= 0) & (slices < n_slices))  # [outside] the others contribute nothing
        units, places = unit_numbers(groups, corpus.n_documents)[inside], slices[inside]
        order = np.lexsort((places, units))  # [unit-slices] a unit's documents lie together, those of a slice too
        units, places, documents = units[order], places[order], corpus[inside[order]]
        another = np.diff(units, append=-1) != 0  # the last document of a unit
        ends = np.flatnonzero(another | (np.diff(places, append=-1) != 0))  # the last document of a piece
        self._words = documents.words
        self._piece_ends, self._piece_slices = documents.offsets[ends + 1], places[ends].astype(np.int64)
        self._unit_ends = np.flatnonzero(another[ends]) + 1
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads

    def proportions(
        self, topics: FloatArray, alpha: FloatArray, *, alpha_rest: float | None = None, scale: float, clip: float
    ) -> IntArray:
        table, prior, over = np.ascontiguousarray(topics.T), np.array(alpha, np.float64), excess(alpha, alpha_rest)
        pieces = (self._piece_ends, self._piece_slices, self._unit_ends)

        def add(first: int, last: int, out: IntArray) -> None:
            stop = (over, TOLERANCE, MAX_STEPS)
            add_proportions(table, self._words, *pieces, first, last, prior, *stop, scale, 0.5, clip, out)

        sums = added_up(self._workers, self._piece_ends[self._unit_ends - 1], self.n_slices * len(topics), add)
        return sums.reshape(self.n_slices, len(topics))

    def close(self) -> None:
        self._workers.close()

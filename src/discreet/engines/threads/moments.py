"""Sums of word moments over documents: exact ones for models without privacy, clipped ones in whole numbers for private
models.

The contract is ``MomentEngine`` in ``engines/interface.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from discreet._random import Key, Purpose
from discreet._types import AnyArray, FloatArray, Int32Array, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import SHORTEST
from discreet.engines.threads.units import unit_numbers
from discreet.engines.threads.workers import Workers
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.moments import (
    add_cubes,
    add_directions,
    add_moments,
    add_word_cubes,
    moment_norms,
    n_triples,
    triple_sizes,
)
from discreet.kernels.sums.triples import add_triples, padded_table, triple_mask, triple_scratch
from discreet.kernels.sweeps.shuffle import shuffle_documents

_A = TypeVar("_A", bound=AnyArray)

PIECES = 16
"""Pieces of a sum of floats, for any number of threads."""

ACCUMULATORS = 4
"""The largest number of threads that each keep a whole table of pairs."""


class ThreadMoments:
    """Counts of each document, grouped by unit. ``groups`` holds the user of each document; None: each document is a
    unit."""

    def __init__(
        self,
        corpus: Corpus,
        groups: IntArray | None = None,
        *,
        max_tokens: int | None = None,
        key: Key | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_words = corpus.n_words
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        numbers = unit_numbers(groups, corpus.n_documents)
        if groups is not None:
            by_unit = np.argsort(numbers, kind="stable")
            corpus, numbers = corpus[by_unit], numbers[by_unit]
        self.n_units = int(numbers.max(initial=-1)) + 1
        self.units = np.searchsorted(numbers, np.arange(self.n_units + 1)).astype(np.int64)
        if max_tokens is not None and key is not None:
            corpus = self._capped(corpus, max_tokens, key)
        long_enough = corpus.lengths >= SHORTEST
        matrix = corpus.to_counts()
        if not long_enough.all():
            matrix.data *= np.repeat(long_enough, np.diff(matrix.indptr))
            matrix.eliminate_zeros()
        self.offsets = matrix.indptr.astype(np.int64)
        self.words = matrix.indices.astype(np.int32)
        self.counts = matrix.data.astype(np.float64)
        self.lengths = np.where(long_enough, corpus.lengths, 0)

    def _capped(self, corpus: Corpus, max_tokens: int, key: Key) -> Corpus:
        """The first ``max_tokens`` tokens of each unit, in a random order within its documents."""
        if not (np.diff(corpus.offsets[self.units]) > max_tokens).any():
            return corpus
        words = corpus.words.copy()
        shuffle_documents(words, corpus.offsets, key.words, np.uint32(Purpose.TOKEN_ORDER), np.uint32(0))
        starts = np.repeat(corpus.offsets[self.units[:-1]], np.diff(corpus.offsets[self.units]))
        kept = np.arange(len(words)) - starts < max_tokens  # [cap] before anything else is done with a unit
        offsets = np.concatenate([[0], np.cumsum(kept)])[corpus.offsets]
        return Corpus(words[kept], offsets, corpus.vocabulary)

    def close(self) -> None:
        self._workers.close()

    # --- exact sums: for models that promise nothing ------------------------------------------------------------------

    def matrix(self) -> sp.csr_matrix:
        return sp.csr_matrix((self.counts, self.words, self.offsets), shape=(len(self.lengths), self.n_words))

    def cubes(self, table: FloatArray) -> FloatArray:
        k = table.shape[1]
        flat = np.ascontiguousarray(table).ravel()
        cuts = np.searchsorted(self.offsets, np.linspace(0, len(self.words), PIECES + 1))
        cuts[0], cuts[-1] = 0, len(self.lengths)
        parts = [(np.zeros(n_triples(k)), np.zeros(self.n_words * k), np.zeros(self.n_words)) for _ in range(PIECES)]

        def documents(thread: int, piece: int) -> None:
            whose = self.offsets, self.words, self.counts, cuts[piece], cuts[piece + 1]
            add_cubes(*whose, flat, k, np.zeros(k), *parts[piece])

        self._workers.share(documents, PIECES)
        total, by_word, shares = (_added(each) for each in zip(*parts, strict=True))
        ends = np.linspace(0, self.n_words, PIECES + 1).astype(np.int64)
        terms = [np.zeros(n_triples(k)) for _ in range(PIECES)]

        def word_terms(thread: int, piece: int) -> None:
            add_word_cubes(ends[piece], ends[piece + 1], flat, k, by_word, shares, terms[piece])

        self._workers.share(word_terms, PIECES)
        return np.asarray(total + _added(tuple(terms)))

    # --- clipped sums in whole numbers: private until noise has been added --------------------------------------------

    def directions(self, clip: float) -> IntArray:
        scratch = self._pair_scratch()
        sums = [np.zeros(self.n_words, np.int64) for _ in range(self.n_threads)]

        def work(thread: int, first: int, last: int) -> None:
            add_directions(*self._unit_arrays(), first, last, clip, *scratch[thread][:3], sums[thread])

        self._over_units(work, self.n_threads)
        return _added(tuple(sums))

    def norms(self, word_weights: FloatArray) -> FloatArray:
        out = np.zeros(2 * self.n_units)
        scratch = self._pair_scratch()

        def work(thread: int, first: int, last: int) -> None:
            moment_norms(*self._unit_arrays(), first, last, word_weights, *scratch[thread], out)

        self._over_units(work, self.n_threads)
        return out.reshape(self.n_units, 2)

    def moments(
        self, word_weights: FloatArray, steps: tuple[float, float], clips: tuple[float, float]
    ) -> tuple[IntArray, IntArray, FloatArray]:
        n_threads = min(self.n_threads, ACCUMULATORS)
        scratch = self._pair_scratch()
        weights = np.zeros(self.n_units)
        ones = [np.zeros(self.n_words, np.int64) for _ in range(n_threads)]
        twos = [np.zeros(self.n_words * (self.n_words + 1) // 2, np.int64) for _ in range(n_threads)]

        def work(thread: int, first: int, last: int) -> None:
            limits = (steps[0], clips[0], steps[1], clips[1])
            mine = ones[thread], twos[thread]
            add_moments(*self._unit_arrays(), first, last, word_weights, *limits, *scratch[thread], weights, *mine)

        self._over_units(work, n_threads)
        return _added(tuple(ones)), _added(tuple(twos)), weights

    def triple_sizes(self, table: FloatArray, weights: FloatArray) -> FloatArray:
        k, out = table.shape[1], np.zeros(self.n_units)
        flat = np.ascontiguousarray(table).ravel()

        def work(thread: int, first: int, last: int) -> None:
            triple_sizes(*self._unit_arrays(), first, last, flat, k, weights, np.zeros(k), out)

        self._over_units(work, self.n_threads)
        return out

    def triples(self, table: FloatArray, weights: FloatArray, steps: float, clip: float) -> IntArray:
        k = table.shape[1]
        flat, mask = padded_table(table), triple_mask(k)
        sums = [np.zeros(len(mask), np.int64) for _ in range(self.n_threads)]
        most = int(np.diff(self.offsets).max(initial=0))

        def work(thread: int, first: int, last: int) -> None:
            scratch = mask, triple_scratch(k, most), np.zeros(LANES), np.zeros(len(mask), np.float32)
            add_triples(*self._unit_arrays(), first, last, flat, k, weights, steps, clip, *scratch, sums[thread])

        self._over_units(work, self.n_threads)
        return _added(tuple(sums))[mask > 0]

    def _unit_arrays(self) -> tuple[IntArray, Int32Array, FloatArray, IntArray]:
        return self.offsets, self.words, self.counts, self.units

    def _pair_scratch(self) -> list[tuple[Int32Array, Int32Array, FloatArray, FloatArray]]:
        """For each thread: places of words, distinct words, their singles and their pairs."""
        entries = np.diff(self.offsets[self.units])
        most = int(min(entries.max(initial=0), self.n_words))
        return [
            (
                np.full(self.n_words, -1, np.int32),
                np.zeros(most, np.int32),
                np.zeros(most),
                np.zeros(most * (most + 1) // 2),
            )
            for _ in range(self.n_threads)
        ]

    def _over_units(self, work: Callable[[int, int, int], None], n_threads: int) -> None:
        """Units in pieces of about the same number of entries, for up to ``n_threads`` threads."""
        ends = self.offsets[self.units]
        cuts = np.searchsorted(ends, np.linspace(0, ends[-1], 8 * n_threads + 1))
        cuts[0], cuts[-1] = 0, self.n_units
        workers = self._workers if n_threads == self.n_threads else Workers(n_threads)
        workers.share(lambda thread, piece: work(thread, cuts[piece], cuts[piece + 1]), len(cuts) - 1)
        if workers is not self._workers:
            workers.close()


def _added(parts: tuple[_A, ...]) -> _A:
    """The sum of the parts in this order, added into the first."""
    for part in parts[1:]:
        parts[0][...] += part
    return parts[0]

"""Passes over all documents under frozen weights: what drawing topics and computing their expectations share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import AnyArray, Float32Array, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import Table, WeightRows
from discreet.engines.threads.layout import Layout, Whole, pieces
from discreet.engines.threads.units import Grouped
from discreet.engines.threads.workers import Workers
from discreet.kernels.sums.counts import padded, sampling_weights
from discreet.kernels.sweeps.slots import aligned

LOCAL = 1 << 20
"""Cells up to which each thread reads its own copy of the weights. All threads have just written them, and fetching
them one by one from another core's cache takes longer than copying them (``benchmarks/threads.py``)."""

_SMALL = 1 << 18
"""With fewer cells, a second thread costs more than it saves."""


class ThreadPasses:
    """Documents in memory, the threads that work on them, and the weights of a pass.

    Kernels read weights in rows of ``_width``, the number of topics rounded up to sixteen. A subclass sets ``offsets``,
    where the documents begin in memory, calls `use_threads`, and writes `_pass`.
    """

    offsets: IntArray

    def __init__(
        self, corpus: Corpus | Grouped, n_topics: int, key: Key, parts: IntArray | None, whole: Whole | None
    ) -> None:
        if corpus.n_tokens >= 2**31 or int(corpus.lengths.max(initial=0)) >= 2**24:
            raise InputError(
                f"a corpus may have up to 2^31 tokens and a document up to 2^24; found {corpus.n_tokens:,} and "
                f"{corpus.lengths.max():,}. Split long documents, or train on a part."
            )
        self.n_topics = n_topics
        self._width = padded(n_topics)
        self.n_words = corpus.n_words
        self.n_documents = corpus.n_documents
        self.n_tokens = corpus.n_tokens
        self.key = key
        self._parts, self._layout = parts, Layout(corpus, parts)
        self._whole = whole
        in_memory = self._layout.numbers if whole is None else whole.numbers[self._layout.documents]
        self._numbers = in_memory.astype(np.uint32)
        self._weights: Float32Array | None = None  # flat, word × width

    def use_threads(self, n_threads: int | None) -> None:
        """Divide the documents among this many threads, by what lies in memory."""
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        self._pieces = pieces(self.offsets, self._layout.ends, self.n_threads)
        size = self.n_words * self._width
        worth = self.n_threads > 1 and size <= LOCAL and self.n_tokens >= size
        self._copies = [aligned(size, np.float32) for _ in range(self.n_threads)] if worth else []

    def close(self) -> None:
        self._workers.close()

    def sweep(
        self,
        statistic: AnyArray,
        alpha: FloatArray,
        number: int,
        *,
        prior: Table,
        scale: FloatArray,
        alpha_rest: float | None = None,
    ) -> None:
        self._pass(self._fill_weights(statistic, prior, scale), alpha, number, alpha_rest, (prior, scale))

    def sweep_rows(
        self, weights: WeightRows, alpha: FloatArray, number: int, *, alpha_rest: float | None = None
    ) -> None:
        rows = self._weight_rows()
        self._each_share(lambda first, last: weights.write(first, last, rows), weights.n_groups)
        self._pass(rows.reshape(-1), alpha, number, alpha_rest, None)

    def _pass(
        self,
        weights: Float32Array,
        alpha: FloatArray,
        number: int,
        alpha_rest: float | None,
        made_of: tuple[Table, FloatArray] | None,
    ) -> None:
        """One pass. ``made_of`` are prior and scale of the weights, if the engine made them."""
        raise NotImplementedError

    def _near(self, weights: Float32Array) -> Callable[[int], Float32Array]:
        """For each thread the weights, or its copy of them: made when a thread first asks in a pass."""
        copied: set[int] = set()

        def near(thread: int) -> Float32Array:
            if not self._copies:
                return weights
            if thread not in copied:
                copied.add(thread)
                self._copies[thread][:] = weights
            return self._copies[thread]

        return near

    # --- tables -----------------------------------------------------------------------------------------------------

    def _row(self, alpha: FloatArray) -> Float32Array:
        """The document prior as kernels read it: one float32 per topic, zero beyond the last."""
        row: Float32Array = aligned(self._width, np.float32)
        row[: self.n_topics] = alpha
        return row

    def _fill_weights(self, statistic: AnyArray, prior: Table, scale: FloatArray) -> Float32Array:
        """(statistic + prior) · scale as kernels read it: flat, word × width, zero beyond the last topic."""
        tables, rows = (np.ascontiguousarray(statistic), np.atleast_2d(prior), scale), self._weight_rows()
        self._each_share(lambda first, last: sampling_weights(*tables, first, last, rows), self.n_words)
        return rows.reshape(-1)

    def _weight_rows(self) -> Float32Array:
        """Room for the weights of a pass, word × width."""
        if self._weights is None:
            self._weights = aligned(self.n_words * self._width, np.float32)
        return self._weights.reshape(self.n_words, self._width)

    def _each_share(self, work: Callable[[int, int], None], n: int) -> None:
        """Call ``work(first, last)`` for a range of 0 … n − 1 on each thread, always the same if it can."""
        n_pieces = 1 if self.n_words * self._width < _SMALL else self.n_threads
        cuts = [n * piece // n_pieces for piece in range(n_pieces + 1)]
        self._workers.share(lambda thread, piece: work(cuts[piece], cuts[piece + 1]), n_pieces)

    def _alpha_sums(self, work: Callable[[int, int, FloatArray], float], offsets: IntArray) -> tuple[FloatArray, float]:
        """Numerators and denominator in eight fixed shares of documents, so that the number of threads does not change
        the sum. ``work(first, last, numerators)`` adds to the numerators and returns the denominator."""
        cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], 9))
        numerators, denominators = np.zeros((8, self.n_topics)), np.zeros(8)

        def one(thread: int, piece: int) -> None:
            denominators[piece] = work(cuts[piece], cuts[piece + 1], numerators[piece])

        self._workers.share(one, 8)
        return numerators.sum(axis=0), float(denominators.sum())

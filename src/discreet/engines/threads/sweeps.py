"""Sweeps on the threads of one machine, without Python's lock (see ``SweepEngine`` in ``engines/interface.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import AnyArray, Float32Array, FloatArray, Int32Array, IntArray, UInt16Array, UInt32Array
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import Table, Tokens
from discreet.engines.threads.layout import Layout, Whole
from discreet.engines.threads.passes import ThreadPasses
from discreet.engines.threads.units import Grouped
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.counts import alpha_statistics, count_topics, padded
from discreet.kernels.sweeps.dense import dense_scratch, sweep_dense
from discreet.kernels.sweeps.exact import exact_scratch, sweep_exact
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.kernels.sweeps.shuffle import gather_documents, shuffle_numbered
from discreet.kernels.sweeps.sparse import smooth_sums, sparse_scratch, sweep_sparse
from discreet.kernels.sweeps.starts import first_topics

SPARSE_FROM = 512
"""Rows at least this wide, and as wide as the mean document is long, are swept by the topics present in a document
(``benchmarks/dense_or_sparse.py``)."""


class ThreadSweeps(ThreadPasses):
    """Tokens of one corpus in secret slots, their topics, and the threads that draw them. Counts have no padding."""

    draws = True

    def __init__(
        self,
        corpus: Corpus | Grouped,
        n_topics: int,
        key: Key,
        *,
        n_threads: int | None = None,
        parts: IntArray | None = None,
        whole: Whole | None = None,
    ) -> None:
        super().__init__(corpus, n_topics, key, parts, whole)
        self.offsets = np.concatenate([[0], np.cumsum(self._layout.lengths[self._layout.numbers])])
        self.offsets.setflags(write=False)  # as in a corpus: kernels are compiled once for both
        self.words = self._in_slots(corpus, self._layout)
        self.topics: UInt16Array = np.zeros(self.n_tokens, np.uint16)
        mean_length = self.n_tokens / max(self.n_documents, 1) if whole is None else whole.mean_length
        self.sparse = self._width >= max(SPARSE_FROM, mean_length)
        self._counts: list[Int32Array] = []  # a table of each thread, flat, word × topic
        self._total: Int32Array | None = None  # their sum, until topics change
        self.use_threads(n_threads)

    def _in_slots(self, corpus: Corpus | Grouped, layout: Layout) -> Int32Array:
        """The tokens of each document in a secret order: a count matrix has them in word order, which would reveal
        words."""
        words: Int32Array = np.empty(self.n_tokens, np.int32)
        gather_documents(corpus.words, corpus.offsets, layout.documents, words)
        offsets = np.concatenate([[0], np.cumsum(layout.lengths)])
        offsets.setflags(write=False)
        numbers = np.arange(self.n_documents) if self._whole is None else self._whole.numbers[layout.documents]
        shuffle_numbered(words, offsets, numbers, self.key.words, np.uint32(Purpose.TOKEN_ORDER), np.uint32(0))
        if self._parts is None:
            return words
        in_memory = np.empty_like(words)
        gather_documents(words, offsets, layout.numbers, in_memory)
        return in_memory

    def holds(self, corpus: Corpus) -> bool:
        if (corpus.n_words, corpus.n_documents) != (self.n_words, self.n_documents):
            return False
        layout = Layout(corpus, self._parts)
        same_lengths = np.array_equal(layout.lengths[layout.numbers], np.diff(self.offsets))
        return same_lengths and np.array_equal(self._in_slots(corpus, layout), self.words)

    def use_threads(self, n_threads: int | None) -> None:
        super().use_threads(n_threads)
        if self.sparse:
            most = padded(min(self.n_topics, 1 + int(np.diff(self.offsets).max(initial=1))))
            self._scratch = [sparse_scratch(self._width, most) for _ in range(self.n_threads)]
            self._smooth = np.empty(self.n_words * self._width // LANES, np.float32)
        else:
            self._scratch = [dense_scratch(self._width) for _ in range(self.n_threads)]
        self._counts, self._total = [], None

    def state(self) -> dict[str, AnyArray]:
        return {"slot_words": self.words, "slot_topics": self.topics}

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        self.words, self.topics = saved["slot_words"], saved["slot_topics"]
        self._counts, self._total = [], None

    def topics_kept(self) -> UInt16Array:
        """For another engine with the same documents."""
        return self.topics

    def keep_topics(self, topics: AnyArray) -> None:
        self.topics[:] = topics
        self._total = None

    def sums(self) -> UInt32Array:
        """The counts as whole numbers that can be added to those of other documents."""
        return self.count().view(np.uint32)

    @staticmethod
    def counts_of(sums: UInt32Array, word_counts: IntArray) -> Int32Array:
        return sums.view(np.int32)

    # --- topics -----------------------------------------------------------------------------------------------------

    def draw_first_topics(self) -> None:
        _, bits, slots = self._scratch[0]
        purpose, sweep = np.uint32(Purpose.FIRST_TOPICS), np.uint32(0)
        documents = (self.offsets, self._numbers, self.topics, 0, self.n_documents)
        first_topics(*documents, self.n_topics, self.key.words, purpose, sweep, bits, slots)
        self._total = None

    def tokens(self) -> Tokens:
        if self._parts is None:
            return Tokens(self.words, self.offsets, self.topics)
        places = self._layout.by_number(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(self._layout.lengths)])
        return Tokens(self.words[places], offsets, self.topics[places])

    def _pass(
        self,
        weights: Float32Array,
        alpha: FloatArray,
        number: int,
        alpha_rest: float | None,
        made_of: tuple[Table, FloatArray] | None,
    ) -> None:
        alpha32, last_topic = self._rows(alpha, alpha_rest)
        purpose, sweep = np.uint32(Purpose.SWEEP), np.uint32(number)
        documents = (self.words, self.offsets, self._numbers, self.topics)
        tables: tuple[Any, ...] = (alpha32, last_topic, 1)  # one visit
        if self.sparse:
            self._each_share(lambda first, last: smooth_sums(weights, alpha32, first, last, self._smooth), self.n_words)
            tables = (alpha32, last_topic, self._smooth)
        kernel: Callable[..., None] = sweep_sparse if self.sparse else sweep_dense
        near = self._near(weights)

        def draw(thread: int, piece: int) -> None:
            stream = (self.key.words, purpose, sweep)
            kernel(*documents, *self._pieces[piece], near(thread), *tables, *stream, *self._scratch[thread])

        self._draw_and_count(draw)

    def count(self) -> Int32Array:
        if self._total is None:
            self._draw_and_count(lambda thread, piece: None)
        assert self._total is not None
        return self._total.reshape(self.n_words, self.n_topics)

    def _draw_and_count(self, draw: Callable[[int, int], None]) -> None:
        """Draw the topics of each piece, and count them while they are in the core's cache."""
        self._total = None  # also if we are interrupted
        if not self._counts:
            self._counts = [np.empty(self.n_words * self.n_topics, np.int32) for _ in range(self.n_threads)]
        begun: set[int] = set()

        def work(thread: int, piece: int) -> None:
            draw(thread, piece)
            if thread not in begun:
                begun.add(thread)
                self._counts[thread][:] = 0
            first, last = (self.offsets[end] for end in self._pieces[piece])
            count_topics(self.words, self.topics, first, last, self.n_topics, self._counts[thread])

        self._workers.share(work, len(self._pieces))
        total, *others = (self._counts[thread] for thread in sorted(begun))

        def add(first: int, last: int) -> None:
            cells = slice(first * self.n_topics, last * self.n_topics)
            for part in others:
                total[cells] += part[cells]

        self._each_share(add, self.n_words)
        self._total = total

    def drop_tables(self) -> None:
        self._counts, self._total, self._weights = [], None, None

    # --- tables -----------------------------------------------------------------------------------------------------

    def _rows(self, alpha: FloatArray, alpha_rest: float | None) -> tuple[Float32Array, LastTopic | None]:
        """The document prior as sweeps read it: one float32 per topic, zero beyond the last."""
        row = self._row(alpha)
        if alpha_rest is None:
            return row, None
        last_topic = LastTopic.of(alpha, alpha_rest)
        row[last_topic.topic] = last_topic.least * last_topic.beta
        return row, last_topic

    def alpha_statistics(self, alpha: FloatArray) -> tuple[FloatArray, float]:
        def work(first: int, last: int, numerators: FloatArray) -> float:
            return alpha_statistics(self.offsets, self.topics, first, last, alpha, numerators)

        return self._alpha_sums(work, self.offsets)

    def sweep_exact(
        self,
        statistic: AnyArray,
        alpha: FloatArray,
        number: int,
        *,
        prior: Table,
        scale: FloatArray,
        alpha_rest: float | None = None,
    ) -> None:
        weights, (alpha32, last_topic) = self._fill_weights(statistic, prior, scale), self._rows(alpha, alpha_rest)
        draw_offsets = 2 * self.offsets
        draw_offsets.setflags(write=False)
        stream = (self.n_topics, self.key.words, np.uint32(Purpose.SWEEP), np.uint32(number))
        scratch = [exact_scratch(self._width) for _ in range(self.n_threads)]
        documents = (self.words, draw_offsets, self._numbers, self.topics)

        def draw(thread: int, piece: int) -> None:
            first, last = self._pieces[piece]
            sweep_exact(*documents, first, last, weights, alpha32, last_topic, *stream, *scratch[thread])

        self._draw_and_count(draw)

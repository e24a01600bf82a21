"""Collapsed steps on the threads of one machine (see ``CollapsedEngine`` in ``engines/interface.py``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import AnyArray, Float32Array, FloatArray, Int32Array, IntArray, UInt32Array
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import Table
from discreet.engines.threads.layout import Layout, Whole
from discreet.engines.threads.passes import ThreadPasses
from discreet.engines.threads.units import Grouped
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.expected import counts_of_sums, whole_alpha_statistics
from discreet.kernels.sweeps.collapsed import MOST, LastShare, OwnWords, collapse_documents, collapsed_scratch
from discreet.kernels.sweeps.pairs import count_pairs, find_pairs
from discreet.kernels.sweeps.scatter import scatter_counts, scatter_scratch
from discreet.kernels.sweeps.slots import BITS_SIZE, SLOTS_SIZE, aligned
from discreet.kernels.sweeps.starts import first_topics

LEAST = 1e-6
"""Of what is left of a word's count and prior in a topic, when its own tokens are taken out."""


def word_scale(word_counts: IntArray) -> Float32Array:
    """The number of steps, for each word, in which a token is counted: a power of two, so that no sum overflows."""
    _, exponents = np.frexp(np.maximum(MOST / np.maximum(word_counts, 1), 1))
    return np.asarray(np.ldexp(np.float32(1), exponents - 1))


class ThreadCollapsed(ThreadPasses):
    """The different words of each document, its expected topic counts, and the threads that compute them.

    Twelve bytes for each pair of document and word, four for each document and topic.
    """

    draws = False

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
        self._words, self._pair_counts, self.offsets = self._pairs(corpus, self._layout)
        self._lengths: IntArray = self._layout.lengths[self._layout.numbers]
        word_counts = np.bincount(corpus.words, minlength=self.n_words) if whole is None else whole.word_counts
        self._scale = word_scale(word_counts)
        self._steps = np.zeros_like(self._pair_counts)
        np.multiply(self._pair_counts[:-LANES], self._scale[self._words], out=self._steps[:-LANES])
        self._expected: Float32Array = aligned(self.n_documents * self._width, np.float32)
        self._sums: list[UInt32Array] = []  # a table of each thread, flat, word × width
        self._counts: FloatArray | None = None
        self._total: UInt32Array | None = None  # what they are made of, word × width
        self.use_threads(n_threads)

    def _pairs(self, corpus: Corpus | Grouped, layout: Layout) -> tuple[Int32Array, Float32Array, IntArray]:
        """Words, counts, and where documents begin. There are sixteen more counts than words: a kernel reads beyond
        the last."""
        words, counts = np.empty(self.n_tokens, np.int32), np.empty(self.n_tokens + LANES, np.float32)
        offsets = np.empty(self.n_documents + 1, np.int64)
        seen = np.full(self.n_words, -1)
        find_pairs(corpus.words, corpus.offsets, layout.documents[layout.numbers], seen, words, counts, offsets)
        offsets.setflags(write=False)  # as in a corpus: kernels are compiled once for both
        n_pairs = int(offsets[-1])
        words.resize(n_pairs, refcheck=False)  # in place: a copy would need both at once
        counts.resize(n_pairs + LANES, refcheck=False)
        counts[n_pairs:] = 1
        return words, counts, offsets

    def holds(self, corpus: Corpus) -> bool:
        shape = (corpus.n_words, corpus.n_documents, corpus.n_tokens)
        if shape != (self.n_words, self.n_documents, self.n_tokens):
            return False
        words, counts, offsets = self._pairs(corpus, Layout(corpus, self._parts))
        same_lengths = np.array_equal(offsets, self.offsets)
        return same_lengths and np.array_equal(words, self._words) and np.array_equal(counts, self._pair_counts)

    def use_threads(self, n_threads: int | None) -> None:
        super().use_threads(n_threads)
        self._scratch = [collapsed_scratch(self._width) for _ in range(self.n_threads)]
        self._bits = [scatter_scratch() for _ in range(self.n_threads)]
        self._sums = []

    def topics_kept(self) -> Float32Array:
        """For another engine with the same documents."""
        return self._by_document()[:, : self.n_topics]

    def keep_topics(self, topics: AnyArray) -> None:
        self._by_document()[:, : self.n_topics] = topics.reshape(self.n_documents, self.n_topics)

    def sums(self) -> UInt32Array:
        """The counts as whole numbers that can be added to those of other documents."""
        assert self._total is not None
        return self._total[:, : self.n_topics]

    @staticmethod
    def counts_of(sums: UInt32Array, word_counts: IntArray) -> FloatArray:
        counts = np.empty(sums.shape)
        counts_of_sums(sums, word_scale(word_counts), 0, len(sums), counts)
        return counts

    def draw_first_topics(self) -> None:
        topics = np.empty(self.n_tokens, np.uint16)
        tokens = np.concatenate([[0], np.cumsum(self._lengths)])
        tokens.setflags(write=False)
        stream = (self.key.words, np.uint32(Purpose.FIRST_TOPICS), np.uint32(0))
        room = (np.zeros(BITS_SIZE, np.uint32), np.zeros(SLOTS_SIZE, np.uint64))
        first_topics(tokens, self._numbers, topics, 0, self.n_documents, self.n_topics, *stream, *room)
        self._expected[:] = 0
        pairs = (self._words, self._pair_counts, self._steps, self.offsets, topics)

        def work(thread: int, piece: int) -> None:
            first, last = self._pieces[piece]
            rows = (self._width, self._expected, self._sums[thread])
            count_pairs(*pairs, first, last, tokens[first], *rows)

        self._add_up(work)

    def _pass(
        self,
        weights: Float32Array,
        alpha: FloatArray,
        number: int,
        alpha_rest: float | None,
        made_of: tuple[Table, FloatArray] | None,
    ) -> None:
        documents = (self._words, self._pair_counts, self._steps, self.offsets, self._numbers, self._expected)
        stream = (self.key.words, np.uint32(Purpose.DOCUMENT_COUNTS), np.uint32(number))
        row, near, own_words, last_share = self._row(alpha), self._near(weights), None, None
        if made_of is not None:
            prior, scale = made_of
            least = np.maximum(np.atleast_2d(prior).min(axis=0), LEAST)
            own_words = OwnWords(self._row(scale), self._row(least * scale))
        if alpha_rest is not None:
            last_share = LastShare.of(alpha, alpha_rest, self._lengths, self._by_document())

        def work(thread: int, piece: int) -> None:
            first, last = self._pieces[piece]
            tables = (near(thread), row, own_words, last_share)
            collapse_documents(*documents, first, last, *tables, *self._scratch[thread], self._sums[thread])
            scatter_counts(self._numbers, self._expected, first, last, self._width, *stream, self._bits[thread])

        self._add_up(work)

    def _add_up(self, work: Callable[[int, int], None]) -> None:
        """Call ``work`` for each piece, which adds to the sums of its thread, and make counts of them."""
        if not self._sums:
            self._sums = [aligned(self.n_words * self._width, np.uint32) for _ in range(self.n_threads)]
        begun: set[int] = set()

        def clear_first(thread: int, piece: int) -> None:
            if thread not in begun:
                begun.add(thread)
                self._sums[thread][:] = 0
            work(thread, piece)

        self._counts = None  # also if we are interrupted
        self._workers.share(clear_first, len(self._pieces))
        counts = np.empty((self.n_words, self.n_topics))
        total, *others = (self._sums[thread].reshape(self.n_words, -1) for thread in sorted(begun))

        def add(first: int, last: int) -> None:
            for part in others:
                total[first:last] += part[first:last]
            counts_of_sums(total, self._scale, first, last, counts)

        self._each_share(add, self.n_words)
        self._counts, self._total = counts, total

    def count(self) -> FloatArray:
        assert self._counts is not None
        return self._counts

    def alpha_statistics(self, alpha: FloatArray) -> tuple[FloatArray, float]:
        expected = self._by_document()

        def work(first: int, last: int, numerators: FloatArray) -> float:
            return whole_alpha_statistics(expected, self._lengths, first, last, alpha, numerators)

        return self._alpha_sums(work, self.offsets)

    def _by_document(self) -> Float32Array:
        return self._expected.reshape(self.n_documents, self._width)

    def drop_tables(self) -> None:
        self._sums, self._counts, self._total, self._weights = [], None, None, None

"""Sweeps on the threads of one machine, without Python's lock.

The engine keeps what is private (the tokens and their topics) and offers two verbs: draw all topics anew under given
weights, and count them. It reads no prior and keeps no secret but its key; what a model may do with the counts is the
model's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import AnyArray, Float32Array, FloatArray, Int32Array, IntArray, UInt16Array
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.workers import Workers, shares
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.counts import (
    alpha_statistics,
    count_topics,
    padded,
    sampling_weights,
    topic_totals,
)
from discreet.kernels.sweeps.dense import dense_scratch, sweep_dense
from discreet.kernels.sweeps.exact import exact_scratch, sweep_exact
from discreet.kernels.sweeps.shuffle import gather_documents, shuffle_documents
from discreet.kernels.sweeps.slots import aligned
from discreet.kernels.sweeps.sparse import smooth_sums, sparse_scratch, sweep_sparse
from discreet.kernels.sweeps.starts import first_topics

MAX_TOPICS = 2**16 - 1
"""A topic is kept in sixteen bits."""

SPARSE_FROM = 512
"""Rows at least this wide, and as wide as the mean document is long, are swept by the topics present in a document
(``benchmarks/dense_or_sparse.py``)."""

BLOCKS = 32
"""Of documents, of about as many tokens each."""

LOCAL = 1 << 20
"""Cells up to which each thread draws from weights of its own. They were written by all threads a moment ago, and to
fetch them one by one from another core's cache takes longer than to copy them (``benchmarks/threads.py``)."""

_SMALL = 1 << 18
"""Cells below which a second thread does not pay for starting it."""


class ThreadEngine:
    """Tokens of one corpus in secret slots, their topics, and the threads that draw them.

    Arrays over words and topics are flat, word × ``width``, with ``width`` the number of topics rounded up to sixteen.
    Results do not depend on ``n_threads``.
    """

    def __init__(self, corpus: Corpus, n_topics: int, key: Key, n_threads: int | None = None) -> None:
        if corpus.n_tokens >= 2**31 or int(corpus.lengths.max(initial=0)) >= 2**24:
            raise InputError(
                f"a corpus may have up to 2^31 tokens and a document up to 2^24; found {corpus.n_tokens:,} and "
                f"{corpus.lengths.max():,}. Split long documents, or train on a part."
            )
        self.n_topics = n_topics
        self.width = padded(n_topics)
        self.n_words = corpus.n_words
        self.n_documents = corpus.n_documents
        self.n_tokens = corpus.n_tokens
        self.key = key
        self.offsets = np.concatenate([[0], np.cumsum(corpus.lengths[_order(corpus)])])
        self.offsets.setflags(write=False)  # as in a corpus: kernels are compiled once for both
        self.words = self._in_slots(corpus)
        self._numbers = np.arange(self.n_documents, dtype=np.uint32)  # draws go by the place of a document
        self.topics: UInt16Array = np.zeros(self.n_tokens, np.uint16)
        self.sparse = self.width >= max(SPARSE_FROM, self.n_tokens / max(self.n_documents, 1))
        self._counts: list[Int32Array] = []  # a table of each thread
        self._total: Int32Array | None = None  # their sum, until topics change
        self.use_threads(n_threads)

    def _in_slots(self, corpus: Corpus) -> Int32Array:
        """The tokens of each document in a secret order: a count matrix has them in word order, which tells words."""
        words: Int32Array = np.empty(self.n_tokens, np.int32)
        gather_documents(corpus.words, corpus.offsets, _order(corpus), words)
        shuffle_documents(words, self.offsets, self.key.words, np.uint32(Purpose.TOKEN_ORDER), np.uint32(0))
        return words

    def holds(self, corpus: Corpus) -> bool:
        """Is this the corpus that the engine was made with?"""
        lengths = corpus.lengths[_order(corpus)]
        same_shape = corpus.n_words == self.n_words and np.array_equal(lengths, np.diff(self.offsets))
        return same_shape and np.array_equal(self._in_slots(corpus), self.words)

    def use_threads(self, n_threads: int | None) -> None:
        """Share the documents out, by tokens, to this many threads."""
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        ends = np.cumsum([0] + [len(range(block, self.n_documents, BLOCKS)) for block in range(BLOCKS)])
        self._cuts = ends[np.round(BLOCKS * shares(self.n_threads)).astype(int)]
        if self.sparse:
            most = padded(min(self.n_topics, int(np.diff(self.offsets).max(initial=1))))
            self._scratch = [sparse_scratch(self.width, most) for _ in range(self.n_threads)]
            self._smooth = np.empty(self.n_words * self.width // LANES, np.float32)
        else:
            self._scratch = [dense_scratch(self.width) for _ in range(self.n_threads)]
        size = self.n_words * self.width
        worth = self.n_threads > 1 and size <= LOCAL and self.n_tokens >= 4 * size
        self._copies = [aligned(size, np.float32) for _ in range(self.n_threads)] if worth else []
        self.drop_counts()

    def state(self) -> dict[str, AnyArray]:
        """For a checkpoint: every token and its topic. Private."""
        return {"slot_words": self.words, "slot_topics": self.topics}

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        """Go on where the engine of an interrupted run was; the documents are the same, their slots the saved ones."""
        self.words, self.topics = saved["slot_words"], saved["slot_topics"]
        self.drop_counts()

    # --- topics -----------------------------------------------------------------------------------------------------

    def draw_first_topics(self) -> None:
        """Uniform topics that read no word."""
        _, bits, slots = self._scratch[0]
        purpose, sweep = np.uint32(Purpose.FIRST_TOPICS), np.uint32(0)
        documents = (self.offsets, self._numbers, self.topics, 0, self.n_documents)
        first_topics(*documents, self.n_topics, self.key.words, purpose, sweep, bits, slots)
        self._total = None

    def sweep(self, weights: Float32Array, alpha: FloatArray, number: int) -> None:
        """Draw every topic anew from p(k) ∝ weights[w, k] · (n[d, k] + alpha[k]). No number twice under one key."""
        alpha32 = self.row(alpha)
        purpose, sweep = np.uint32(Purpose.SWEEP), np.uint32(number)

        documents = (self.words, self.offsets, self._numbers, self.topics)
        tables: tuple[Float32Array | int, ...] = (alpha32, 1)  # one visit
        if self.sparse:
            self._each_share_of_words(lambda first, last: smooth_sums(weights, alpha32, first, last, self._smooth))
            tables = (alpha32, self._smooth)
        kernel: Callable[..., None] = sweep_sparse if self.sparse else sweep_dense
        copied: set[int] = set()

        def draw(thread: int, piece: int) -> None:
            mine = weights
            if self._copies:
                mine = self._copies[thread]
                if thread not in copied:
                    copied.add(thread)
                    mine[:] = weights
            first, last = self._cuts[piece], self._cuts[piece + 1]
            kernel(*documents, first, last, mine, *tables, self.key.words, purpose, sweep, *self._scratch[thread])

        self._draw_and_count(draw)

    def count(self) -> Int32Array:
        """Exact topic counts, flat word × width. The array is the engine's own and changes with the next sweep."""
        if self._total is None:
            self._draw_and_count(lambda thread, piece: None)
        assert self._total is not None
        return self._total

    def _draw_and_count(self, draw: Callable[[int, int], None]) -> None:
        """Draw the topics of each piece, and count them while they are in the core's cache."""
        self._total = None  # also if we are interrupted
        if not self._counts:
            self._counts = [np.empty(self.n_words * self.width, np.int32) for _ in range(self.n_threads)]
        begun: set[int] = set()

        def work(thread: int, piece: int) -> None:
            draw(thread, piece)
            if thread not in begun:
                begun.add(thread)
                self._counts[thread][:] = 0
            first, last = self.offsets[self._cuts[piece]], self.offsets[self._cuts[piece + 1]]
            count_topics(self.words, self.topics, first, last, self.width, self._counts[thread])

        self._workers.share(work, len(self._cuts) - 1)
        total, *others = (self._counts[thread] for thread in sorted(begun))

        def add(first: int, last: int) -> None:
            cells = slice(first * self.width, last * self.width)
            for part in others:
                total[cells] += part[cells]

        self._each_share_of_words(add)
        self._total = total

    def drop_counts(self) -> None:
        """Give the memory of the counts back; the next count makes it anew."""
        self._counts, self._total = [], None

    # --- tables -----------------------------------------------------------------------------------------------------

    def row(self, values: FloatArray) -> Float32Array:
        """One float32 a topic, zero beyond the last."""
        padded_row = aligned(self.width, np.float32)
        padded_row[: self.n_topics] = values
        return padded_row

    def new_weights(self) -> Float32Array:
        """Room for the sampling weights."""
        return aligned(self.n_words * self.width, np.float32)

    def totals(self, statistic: AnyArray) -> FloatArray:
        """Sum of a word × width statistic for each topic."""
        totals = np.empty(self.width)
        topic_totals(statistic, self.width, totals)
        return totals[: self.n_topics]

    def fill_weights(self, weights: Float32Array, statistic: AnyArray, prior: FloatArray, scale: FloatArray) -> None:
        """weights[w, k] = (statistic[w, k] + prior) · scale[k]: from a statistic to what a sweep samples from."""
        wide_scale = np.zeros(self.width)
        wide_scale[: self.n_topics] = scale
        self._each_share_of_words(
            lambda first, last: sampling_weights(statistic, prior, wide_scale, first, last, self.n_topics, weights)
        )

    def _each_share_of_words(self, work: Callable[[int, int], None]) -> None:
        n_pieces = 1 if self.n_words * self.width < _SMALL else 2 * self.n_threads
        cuts = [self.n_words * piece // n_pieces for piece in range(n_pieces + 1)]
        self._workers.share(lambda thread, piece: work(cuts[piece], cuts[piece + 1]), n_pieces)

    def alpha_statistics(self, alpha: FloatArray) -> tuple[FloatArray, float]:
        """Numerators and denominator of Minka's fixed point, in eight fixed shares: threads do not change the sum."""
        cuts = np.searchsorted(self.offsets, np.linspace(0, self.n_tokens, 9))
        numerators = np.zeros((8, self.n_topics))

        denominators = np.zeros(8)

        def work(thread: int, piece: int) -> None:
            denominators[piece] = alpha_statistics(
                self.offsets, self.topics, cuts[piece], cuts[piece + 1], alpha, numerators[piece]
            )

        self._workers.share(work, 8)
        return numerators.sum(axis=0), float(denominators.sum())

    def sweep_exact(self, weights: Float32Array, alpha: FloatArray, number: int) -> None:
        """As :meth:`sweep`, by draws that a guarantee can rest on (``kernels/sweeps/exact.py``)."""
        draw_offsets = 2 * self.offsets
        draw_offsets.setflags(write=False)
        alpha32 = self.row(alpha)
        stream = (self.n_topics, self.key.words, np.uint32(Purpose.SWEEP), np.uint32(number))
        scratch = [exact_scratch(self.width) for _ in range(self.n_threads)]
        documents = (self.words, draw_offsets, self._numbers, self.topics)

        def draw(thread: int, piece: int) -> None:
            first, last = self._cuts[piece], self._cuts[piece + 1]
            sweep_exact(*documents, first, last, weights, alpha32, *stream, *scratch[thread])

        self._draw_and_count(draw)


def _order(corpus: Corpus) -> IntArray:
    """Documents in blocks, in each block the longest first: an order that reads lengths and no word.

    A piece of work is a row of blocks. It ends with short documents, so that few slots wait for the last ones.
    """
    longest_first = np.argsort(-corpus.lengths, kind="stable")
    return np.concatenate([longest_first[block::BLOCKS] for block in range(BLOCKS)])

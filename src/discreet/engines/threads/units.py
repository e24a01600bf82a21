"""Rounds in which some units take part: local sweeps on their own tokens, then one clipped contribution each.

The contract is ``UnitEngine`` in ``engines/interface.py``. Only the tokens are kept from round to round: a unit
that takes part draws a topic for each token from the tables of the round, and sweeps from there. A unit's data leave
this engine only in its own contribution to the sum that a round returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import (
    AnyArray,
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt16Array,
    UInt32Array,
)
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import Round, Table, Threshold
from discreet.engines.threads.sums import Sums
from discreet.engines.threads.workers import Workers, shares
from discreet.kernels.sums.contributions import add_contributions, contribution_scratch, copy_documents, squared_norms
from discreet.kernels.sums.counts import padded
from discreet.kernels.sums.residuals import add_residuals, residual_scratch
from discreet.kernels.sweeps.dense import dense_scratch, sweep_dense
from discreet.kernels.sweeps.shuffle import gather_documents, shuffle_numbered
from discreet.kernels.sweeps.slots import aligned
from discreet.kernels.sweeps.starts import running_sums, topics_by_word

MOST_CELLS = 2**31
"""The largest words × topics. Kernels store the place of a cell in 32 bits."""


def unit_numbers(groups: AnyArray | None, n_documents: int) -> IntArray:
    """One number per document: its own, or that of its group."""
    if groups is None:
        return np.arange(n_documents)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


class Grouped(NamedTuple):
    """Tokens of documents, those of one unit after those of another."""

    words: Int32Array
    offsets: IntArray
    first_document: IntArray
    """Of each unit; then the number of documents."""
    numbers: IntArray
    """Of each document among all documents, by unit: it determines the document's draws."""
    n_words: int

    @property
    def n_units(self) -> int:
        return len(self.first_document) - 1

    @property
    def n_documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def chosen(self, included: BoolArray) -> Grouped:
        """The units that ``included`` marks. Their documents keep their numbers."""
        per_unit = np.diff(self.first_document)
        documents = np.flatnonzero(np.repeat(included, per_unit))
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[documents])])
        words = np.empty(offsets[-1], np.int32)
        gather_documents(self.words, self.offsets, documents, words)
        first_document = np.concatenate([[0], np.cumsum(per_unit[included])])
        return Grouped(words, offsets, first_document, self.numbers[documents], self.n_words)


def grouped(corpus: Corpus, groups: AnyArray | None) -> Grouped:
    """The documents of a corpus by unit. ``groups`` holds the user of each document; None: each is a unit."""
    units = unit_numbers(groups, corpus.n_documents)
    by_unit = np.argsort(units, kind="stable")
    documents = corpus if groups is None else corpus[by_unit]
    first_document = np.searchsorted(units[by_unit], np.arange(int(units.max(initial=-1)) + 2))
    return Grouped(documents.words, documents.offsets, first_document, np.arange(len(units)), corpus.n_words)


class ThreadUnits:
    """The tokens of all units, grouped by unit.

    Kernels read tables in rows of ``_width``, the number of topics rounded up to sixteen, and add to such rows.
    """

    def __init__(
        self,
        corpus: Corpus | Grouped,
        groups: AnyArray | None,
        n_topics: int,
        key: Key,
        *,
        max_tokens: int,
        n_threads: int | None = None,
    ) -> None:
        self.n_topics, self.n_words, self._width = n_topics, corpus.n_words, padded(n_topics)
        if self.n_words * self._width > MOST_CELLS:
            raise InputError(
                f"{self.n_words:,} words and {n_topics:,} topics are more than 2^31 cells, and each of them would get "
                "noise. Use fewer words or fewer topics."
            )
        self.key = key
        units = corpus if isinstance(corpus, Grouped) else grouped(corpus, groups)
        self.n_units, self.first_document, self.offsets = units.n_units, units.first_document, units.offsets
        self._numbers = units.numbers.astype(np.uint32)
        self.words = units.words.copy()  # in a secret order within each document
        order = np.uint32(Purpose.TOKEN_ORDER)
        shuffle_numbered(self.words, self.offsets, units.numbers, key.words, order, np.uint32(0))
        # [cap] before anything else is done with a unit
        if np.diff(self.offsets[self.first_document]).max(initial=0) > max_tokens:
            kept = _within_cap(self.offsets, self.first_document, max_tokens)
            self.words = self.words[kept]
            self.offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        self._lengths = np.diff(self.offsets)
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        self._scratch = [dense_scratch(self._width) for _ in range(self.n_threads)]

    def close(self) -> None:
        self._workers.close()

    def coins(self, number: int, threshold: Threshold) -> BoolArray:
        bits = self.key.bits(Purpose.INCLUSION, number, 0, self.n_units)  # [coin] one of each unit, in each round
        return np.asarray(bits < np.asarray(threshold, np.int64))

    def size_histogram(self, n_bins: int) -> IntArray:
        norms2 = np.empty(self.n_units, np.int64)
        squared_norms(self.words, self.offsets[self.first_document], np.zeros(self.n_words, np.int32), norms2)
        bins = np.clip(np.floor(2 * np.log2(np.maximum(norms2, 1))), 0, n_bins - 1).astype(np.int64)
        return np.bincount(bins, minlength=n_bins)

    def word_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        everything = np.zeros(self.words.size, np.uint16)
        out = np.zeros(self.n_words, np.int64)
        ends = self.offsets[self.first_document[1:]]
        tally = contribution_scratch(self.n_words, 1, int(np.diff(ends, prepend=0).max(initial=0)))
        weights32 = word_weights.astype(np.float32)
        add_contributions(self.words, everything, ends, 0, self.n_units, 1, weights32, clip, tally, out)
        return out

    def residuals(self, given: Round, *, cell_weights: Table, background: Table, clip: float) -> IntArray:
        batch = self._batch(self.coins(given.number, given.threshold))
        n_places = min(batch.longest, self.n_words)
        scratch = [residual_scratch(self.n_words, self._width, n_places) for _ in self._scratch]
        sums = [Sums(self.n_words * self._width, clip) for _ in self._scratch]
        # [unit-residual] all documents of a unit are clipped as one
        documents = (batch.words, batch.topics, batch.offsets, batch.first_document)
        row, wide = self._row(given.alpha), self._wide(given.weights)
        tables = (wide, row, self._wide(cell_weights), self._wide(background))
        first_sums = np.empty_like(wide)
        running_sums(wide, row, first_sums)
        start, stream = np.uint32(Purpose.ROUND_START), np.uint32(given.number)

        def begin(thread: int, first: int, last: int) -> None:
            places = (batch.words, batch.offsets, batch.numbers, batch.topics, first, last)
            _, bits, slots = self._scratch[thread]
            # [afresh] p(k) ∝ φ̃[w, k] · α_k: from the tokens and the released table, and from no earlier round
            topics_by_word(*places, first_sums, self._width, self.key.words, start, stream, bits, slots)

        def contribute(thread: int, piece: int) -> None:
            def add(first: int, last: int, out: UInt32Array) -> None:
                add_residuals(*documents, first, last, *tables, clip, *scratch[thread], out)

            sums[thread].add(add, batch.cuts[piece], batch.cuts[piece + 1])

        self._sweep(given, batch, wide, row, begin, contribute)
        return self._narrow(sum(part.total for part in sums))

    def _row(self, alpha: FloatArray, dtype: type = np.float32) -> AnyArray:
        row = aligned(self._width, dtype)
        row[: self.n_topics] = alpha
        return row

    def _wide(self, table: Table, dtype: type = np.float32) -> AnyArray:
        """As kernels read it: flat, word × width, zero beyond the last topic."""
        flat = aligned(self.n_words * self._width, dtype)
        flat.reshape(self.n_words, self._width)[:, : self.n_topics] = table
        return flat

    def _narrow(self, sums: Any) -> AnyArray:
        """What kernels added up, as word × topic."""
        return np.ascontiguousarray(sums.reshape(self.n_words, self._width)[:, : self.n_topics])

    def _sweep(
        self,
        given: Round,
        batch: Batch,
        weights: Float32Array,
        alpha: Float32Array,
        begin: Callable[[int, int, int], None],
        contribute: Callable[[int, int], None],
    ) -> None:
        """Copy, begin, sweep and contribute, piece by piece: units are independent, so no piece waits for another.

        ``begin(thread, first, last)`` gives the tokens of some documents of the batch their first topics.
        """
        n_visits, purpose, stream = int(given.local_sweeps), np.uint32(Purpose.SWEEP), np.uint32(given.number)

        def work(thread: int, piece: int) -> None:
            first, last = batch.first_document[batch.cuts[piece]], batch.first_document[batch.cuts[piece + 1]]
            copy_documents(self.words, batch.starts, batch.offsets, first, last, batch.words)
            begin(thread, first, last)
            # [local] a document's topics from its own tokens, its own counts and the released table
            documents = (batch.words, batch.offsets, batch.numbers, batch.topics, first, last)
            draws = (self.key.words, purpose, stream, *self._scratch[thread])
            sweep_dense(*documents, weights, alpha, None, n_visits, *draws)
            contribute(thread, piece)

        self._workers.share(work, len(batch.cuts) - 1)

    def _batch(self, included: BoolArray) -> Batch:
        """Memory for the documents of the included units, one after another, and pieces of whole units with similar
        numbers of tokens."""
        if len(self.first_document) == len(self.offsets):  # one document per unit
            chosen = np.flatnonzero(included)
            first_document = np.arange(len(chosen) + 1)
        else:
            per_unit = np.diff(self.first_document)
            chosen = np.flatnonzero(np.repeat(included, per_unit))
            first_document = np.concatenate([[0], np.cumsum(per_unit[included])])
        offsets = np.concatenate([[0], np.cumsum(self._lengths[chosen])])
        offsets.setflags(write=False)  # as in a corpus: the sweep is compiled once for both
        ends = offsets[first_document]
        cuts = np.searchsorted(ends[1:], ends[-1] * shares(self.n_threads), side="left")
        cuts[0], cuts[-1] = 0, len(ends) - 1
        return Batch(
            numbers=self._numbers[chosen],
            starts=self.offsets[chosen],
            offsets=offsets,
            first_document=first_document,
            token_ends=ends[1:],
            cuts=cuts,
            longest=int(np.diff(ends).max(initial=0)),
            words=np.empty(offsets[-1], np.int32),
            topics=np.empty(offsets[-1], np.uint16),
        )


@dataclass(frozen=True)
class Batch:
    """The documents of one round's units, copied together: sweeps need them in contiguous memory."""

    numbers: UInt32Array
    """The number of each document, which determines its draws."""
    starts: IntArray
    """Where each document lies in the engine."""
    offsets: IntArray
    first_document: IntArray
    token_ends: IntArray
    cuts: IntArray
    """Pieces, in units."""
    longest: int
    words: AnyArray
    topics: UInt16Array


def _within_cap(offsets: IntArray, first_document: IntArray, max_tokens: int) -> BoolArray:
    """Which tokens stay: the first ``max_tokens`` of each unit (in their secret order within documents)."""
    ends = offsets[first_document]
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
    return np.asarray(place < max_tokens)

"""Rounds in which some units take part: local sweeps on their own tokens, then one clipped contribution each.

A unit is a document, or all documents of one user. Between rounds each unit keeps the topics of its tokens, so a few
sweeps a round add up to long chains. A unit's data leaves this engine only in its own contribution to the sum that
:meth:`RoundEngine.contributions` returns, and that sum is exact: private until noise has been added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from discreet.engines.sums import Sums
from discreet.engines.workers import Workers, shares
from discreet.kernels.contributions import (
    add_contributions,
    contribution_scratch,
    copy_documents,
    keep_topics,
    squared_norms,
)
from discreet.kernels.counts import first_topics, padded
from discreet.kernels.residuals import add_residuals, residual_scratch
from discreet.kernels.shuffle import shuffle_documents
from discreet.kernels.slots import aligned
from discreet.kernels.sweep import dense_scratch, sweep_dense

LARGEST_UNIT = 2**24
"""Tokens. Counts within a document are float32, which holds whole numbers up to here."""

MOST_SWEEPS = 2**12
"""In a round: with more of them, a document of the largest size would come to the end of its 2^36 draws and read the
first of them again."""

MOST_CELLS = 2**31
"""Words × topics. Kernels keep the place of a cell in 32 bits."""


def unit_numbers(groups: AnyArray | None, n_documents: int) -> IntArray:
    """One number a document: its own, or that of its group."""
    if groups is None:
        return np.arange(n_documents)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


class RoundEngine:
    """The tokens of all units, grouped by unit, and their topics."""

    def __init__(
        self,
        corpus: Corpus,
        groups: AnyArray | None,
        n_topics: int,
        key: Key,
        *,
        max_tokens: int,
        n_threads: int | None = None,
    ) -> None:
        self.n_topics, self.n_words, self.width = n_topics, corpus.n_words, padded(n_topics)
        if self.n_words * self.width > MOST_CELLS:
            raise InputError(
                f"{self.n_words:,} words and {n_topics:,} topics are more than 2^31 cells, and each of them would get "
                "noise. Take fewer words or fewer topics."
            )
        self.key = key
        units = unit_numbers(groups, corpus.n_documents)
        by_unit = np.argsort(units, kind="stable")
        documents = corpus if groups is None else corpus[by_unit]
        self.words, self.topics = self._in_slots(documents)
        self.n_units = int(units.max(initial=-1)) + 1
        self.first_document = np.searchsorted(units[by_unit], np.arange(self.n_units + 1))
        self.offsets = documents.offsets
        # [cap] before anything else is done with a unit
        if np.diff(self.offsets[self.first_document]).max(initial=0) > max_tokens:
            kept = _within_cap(self.offsets, self.first_document, max_tokens)
            self.words, self.topics = self.words[kept], self.topics[kept]
            self.offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        self._lengths = np.diff(self.offsets)
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        self._scratch = [dense_scratch(self.width) for _ in range(self.n_threads)]
        self._n_rounds = 0

    def _in_slots(self, documents: Corpus) -> tuple[Int32Array, UInt16Array]:
        """Tokens in a secret order within each document, and first topics that read no word."""
        words, topics = documents.words.copy(), np.zeros(documents.n_tokens, np.uint16)
        _, bits, slots = dense_scratch(self.width)
        first, order = np.uint32(Purpose.FIRST_TOPICS), np.uint32(Purpose.TOKEN_ORDER)
        shuffle_documents(words, documents.offsets, self.key.words, order, np.uint32(0))
        everything = (documents.offsets, topics, 0, documents.n_documents, self.n_topics)
        first_topics(*everything, self.key.words, first, np.uint32(0), bits, slots)
        return words, topics

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    def state(self) -> dict[str, AnyArray]:
        """For a checkpoint: every token and its topic. Private."""
        return {"slot_words": self.words, "slot_topics": self.topics}

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        """Go on where the engine of an interrupted run was; its documents are those of this one (`fingerprint`)."""
        self.words, self.topics = saved["slot_words"], saved["slot_topics"]

    def coins(self, round_number: int, threshold: int | IntArray) -> BoolArray:
        """Which units take part: each with probability ``threshold`` / 2^32, by its own secret coin of this round.

        An array holds a threshold for each unit, made of its own data and of what was released, and nothing else.
        """
        bits = self.key.bits(Purpose.INCLUSION, round_number, 0, self.n_units)  # [coin] one of each unit, in each round
        return np.asarray(bits < np.asarray(threshold, np.int64))

    def shares(self, cells: BoolArray) -> FloatArray:
        """For each unit, the share of its tokens whose word and topic are marked in ``cells``, word × topic."""
        marked = np.concatenate([[0], np.cumsum(cells[self.words, self.topics])])  # running, so each unit sees its own
        ends = self.offsets[self.first_document]
        return np.asarray(np.diff(marked[ends]) / np.maximum(np.diff(ends), 1))

    def size_bins(self, n_bins: int) -> IntArray:
        """For each unit, the bin of the norm of its word counts: 4·log₂ of it, rounded down, within the bins."""
        norms2 = np.empty(self.n_units, np.int64)
        squared_norms(self.words, self.offsets[self.first_document], np.zeros(self.n_words, np.int32), norms2)
        bins: IntArray = np.clip(np.floor(2 * np.log2(np.maximum(norms2, 1))), 0, n_bins - 1).astype(np.int64)
        return bins

    def word_counts(self, word_weights: Float32Array, clip: float) -> IntArray:
        """The clipped word counts of all units, added up, in steps of the grid."""
        everything = np.zeros(self.words.size, np.uint16)
        out = np.zeros(self.n_words, np.int64)
        ends = self.offsets[self.first_document[1:]]
        tally = contribution_scratch(self.n_words, 1, int(np.diff(ends, prepend=0).max(initial=0)))
        add_contributions(self.words, everything, ends, 0, self.n_units, 1, word_weights, clip, tally, out)
        return out

    def contributions(
        self,
        included: BoolArray,
        weights: Float32Array,
        alpha: FloatArray,
        *,
        n_sweeps: int,
        word_weights: Float32Array,
        clip: float,
    ) -> IntArray:
        """Sweep the included units and add up their contributions, flat word × width, in steps of the grid.

        ``word_weights`` and ``clip`` are in steps too (see :func:`add_contributions`).
        """
        batch = self._batch(included)
        tallies = [contribution_scratch(self.n_words, self.width, batch.longest) for _ in self._scratch]
        parts = [np.zeros(self.n_words * self.width, np.int64) for _ in self._scratch]

        def contribute(thread: int, piece: int) -> None:
            first, last = batch.cuts[piece], batch.cuts[piece + 1]
            add_contributions(
                batch.words,
                batch.topics,
                batch.token_ends,  # [unit] all documents of a unit are clipped as one
                first,
                last,
                self.width,
                word_weights,
                clip,
                tallies[thread],
                parts[thread],
            )

        self._round(batch, weights, alpha, n_sweeps, contribute)
        return np.asarray(sum(parts))

    def residuals(
        self,
        included: BoolArray,
        weights: Float32Array,
        alpha: FloatArray,
        *,
        n_sweeps: int,
        cell_weights: Float32Array,
        background: Float32Array,
        clip: float,
    ) -> IntArray:
        """Sweep the included units and add up their residual contributions (:func:`add_residuals`), in steps."""
        batch = self._batch(included)
        n_places = min(batch.longest, self.n_words)
        scratch = [residual_scratch(self.n_words, self.width, n_places) for _ in self._scratch]
        sums = [Sums(self.n_words * self.width, clip) for _ in self._scratch]
        # [unit-residual] all documents of a unit are clipped as one
        documents = (batch.words, batch.topics, batch.offsets, batch.first_document)
        tables = (weights, self._row(alpha), cell_weights, background)

        def contribute(thread: int, piece: int) -> None:
            def add(first: int, last: int, out: UInt32Array) -> None:
                add_residuals(*documents, first, last, *tables, clip, *scratch[thread], out)

            sums[thread].add(add, batch.cuts[piece], batch.cuts[piece + 1])

        self._round(batch, weights, alpha, n_sweeps, contribute)
        return np.asarray(sum(part.total for part in sums))

    def _row(self, alpha: FloatArray) -> Float32Array:
        alpha32 = aligned(self.width, np.float32)
        alpha32[: self.n_topics] = alpha
        return alpha32

    def _round(
        self,
        batch: _Batch,
        weights: Float32Array,
        alpha: FloatArray,
        n_sweeps: int,
        contribute: Callable[[int, int], None],
    ) -> None:
        """Copy, sweep, keep, contribute, piece by piece: units do not see each other, so no step waits for others."""
        self._n_rounds += 1  # a number that no other round of this engine has
        alpha32, n_visits = self._row(alpha), int(n_sweeps)
        purpose, number = np.uint32(Purpose.SWEEP), np.uint32(self._n_rounds)

        def work(thread: int, piece: int) -> None:
            start, stop = batch.first_document[batch.cuts[piece]], batch.first_document[batch.cuts[piece + 1]]
            copy_documents(self.words, self.topics, batch.starts, batch.offsets, start, stop, batch.words, batch.topics)
            # [local] a document's topics from its own tokens, its own counts and the released table
            documents = (batch.words, batch.offsets, batch.topics, start, stop)
            sweep_dense(*documents, weights, alpha32, n_visits, self.key.words, purpose, number, *self._scratch[thread])
            keep_topics(batch.topics, batch.starts, batch.offsets, start, stop, self.topics)
            contribute(thread, piece)

        self._workers.share(work, len(batch.cuts) - 1)

    def _batch(self, included: BoolArray) -> _Batch:
        """Room for the documents of the included units, one after another, and pieces of whole units by tokens."""
        if len(self.first_document) == len(self.offsets):  # a document each
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
        return _Batch(
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
class _Batch:
    """The documents of one round's units, copied together: sweeps want them in one piece of memory."""

    starts: IntArray
    """Where each document lies in the engine."""
    offsets: IntArray
    first_document: IntArray
    token_ends: IntArray
    cuts: IntArray
    """Pieces, in units."""
    longest: int
    words: Int32Array
    topics: UInt16Array


def _within_cap(offsets: IntArray, first_document: IntArray, max_tokens: int) -> BoolArray:
    """Which tokens stay: the first ``max_tokens`` of each unit (in their secret order within documents)."""
    ends = offsets[first_document]
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
    return np.asarray(place < max_tokens)

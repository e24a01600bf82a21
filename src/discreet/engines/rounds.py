"""Rounds in which some units take part: local sweeps on their own tokens, then one clipped contribution each.

A unit is a document, or all documents of one user. Between rounds each unit keeps the topics of its tokens, so a few
sweeps a round add up to long chains. A unit's data leaves this engine only in its own contribution to the sum that
:meth:`RoundEngine.contributions` returns, and that sum is exact: private until noise has been added to it.
"""

from __future__ import annotations

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import AnyArray, BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UInt16Array
from discreet.corpus.corpus import Corpus
from discreet.engines.workers import Workers
from discreet.kernels.contributions import add_contributions
from discreet.kernels.counts import first_topics, padded
from discreet.kernels.shuffle import shuffle_documents
from discreet.kernels.slots import aligned
from discreet.kernels.sweep import dense_scratch, sweep_dense


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
        self.key = key
        units = unit_numbers(groups, corpus.n_documents)
        by_unit = np.argsort(units, kind="stable")
        documents = corpus[by_unit]
        words, topics = self._in_slots(documents)
        self.n_units = int(units.max(initial=-1)) + 1
        unit_of_document = units[by_unit]
        # [cap] before anything else is done with a unit
        kept = _within_cap(documents.offsets, unit_of_document, self.n_units, max_tokens)
        self.words: Int32Array = words[kept]
        self.topics: UInt16Array = topics[kept]
        self.offsets = np.concatenate([[0], np.cumsum(kept)])[documents.offsets]
        self.first_document = np.searchsorted(unit_of_document, np.arange(self.n_units + 1))
        self._workers = Workers(n_threads)
        self.n_threads = self._workers.n_threads
        self._scratch = [dense_scratch(self.width) for _ in range(self.n_threads)]
        self._tally = [np.zeros(self.n_words * self.width, np.int32) for _ in range(self.n_threads)]
        self._n_sweeps = 0

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

    def coins(self, round_number: int, threshold: int | IntArray) -> BoolArray:
        """Which units take part: each with probability ``threshold`` / 2^32, by its own secret coin of this round.

        An array holds a threshold for each unit, made of its own data and of what was released, and nothing else.
        """
        bits = self.key.bits(Purpose.INCLUSION, round_number, 0, self.n_units)  # [coin] one of each unit, in each round
        return np.asarray(bits < np.asarray(threshold, np.int64))

    def shares(self, cells: BoolArray) -> FloatArray:
        """For each unit, the share of its tokens whose word and topic are marked in ``cells``, word × topic."""
        marked = np.concatenate([[0], np.cumsum(cells[self.words, self.topics])])  # [own] a unit's own tokens only
        ends = self.offsets[self.first_document]
        return np.asarray(np.diff(marked[ends]) / np.maximum(np.diff(ends), 1))

    def size_bins(self, n_bins: int) -> IntArray:
        """For each unit, the bin of the norm of its word counts: 4·log₂ of it, rounded down, within the bins."""
        unit_of_token = np.repeat(np.arange(self.n_units), np.diff(self.offsets[self.first_document]))
        cells = np.sort(unit_of_token * self.n_words + self.words)
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        squares = np.diff(np.append(starts, len(cells))) ** 2
        norms2 = np.bincount(cells[starts] // self.n_words, weights=squares, minlength=self.n_units)
        bins: IntArray = np.clip(np.floor(2 * np.log2(np.maximum(norms2, 1))), 0, n_bins - 1).astype(np.int64)
        return bins

    def word_counts(self, word_weights: Float32Array, clip: float) -> IntArray:
        """The clipped word counts of all units, added up, in steps of the grid."""
        everything = np.zeros(self.words.size, np.uint16)
        out = np.zeros(self.n_words, np.int64)
        tally = np.zeros(self.n_words, np.int32)
        ends = self.offsets[self.first_document[1:]]
        add_contributions(self.words, everything, ends, 0, self.n_units, 1, word_weights, clip, tally, out)
        return out

    def contributions(
        self,
        included: BoolArray,
        weights: Float32Array,
        alpha: FloatArray,
        *,
        n_sweeps: int,
        n_samples: int,
        word_weights: Float32Array,
        clip: float,
    ) -> IntArray:
        """Sweep the included units and add up their contributions, flat word × width, in steps of the grid.

        ``word_weights`` and ``clip`` are in steps too (see :func:`add_contributions`); the topics after each of the
        last ``n_samples`` sweeps are averaged. Without sweeps (``n_sweeps=0``) the topics are taken as they are.
        """
        unit_documents = np.diff(self.first_document)[included]
        chosen = np.flatnonzero(np.repeat(included, np.diff(self.first_document)))
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        offsets.setflags(write=False)  # as in a corpus: the sweep is compiled once for both
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        document_ends = np.cumsum(unit_documents)
        words, topics = self.words[tokens], self.topics[tokens]
        samples = np.empty((n_samples, len(tokens)), np.uint16)
        unit_cuts, document_cuts = self._share(offsets[document_ends], document_ends)
        alpha32 = aligned(self.width, np.float32)
        alpha32[: self.n_topics] = alpha
        for sweep in range(n_sweeps):
            self._n_sweeps += 1
            number = np.uint32(self._n_sweeps)

            def draw(thread: int, piece: int, number: np.uint32 = number) -> None:
                first, last = document_cuts[piece], document_cuts[piece + 1]
                tables = (weights, alpha32, self.key.words, np.uint32(Purpose.SWEEP), number)
                # [local] a document's topics from its own tokens, its own counts and the released table
                sweep_dense(words, offsets, topics, first, last, *tables, *self._scratch[thread])

            self._workers.share(draw, self.n_threads)
            if sweep >= n_sweeps - n_samples:
                samples[sweep - n_sweeps + n_samples] = topics
        if n_sweeps == 0:
            samples[:] = topics
        self.topics[tokens] = topics
        parts = [np.zeros(self.n_words * self.width, np.int64) for _ in range(self.n_threads)]

        def contribute(thread: int, piece: int) -> None:
            add_contributions(
                words,
                samples.ravel(),
                offsets[document_ends],  # [unit] all documents of a unit are clipped as one
                unit_cuts[piece],
                unit_cuts[piece + 1],
                self.width,
                word_weights,
                clip,
                self._tally[thread],
                parts[thread],
            )

        self._workers.share(contribute, self.n_threads)
        for part in parts[1:]:
            parts[0] += part
        return parts[0]

    def _share(self, token_ends: IntArray, document_ends: IntArray) -> tuple[IntArray, IntArray]:
        """Units, and the same in documents, for each thread, by tokens; a unit stays whole."""
        total = token_ends[-1] if len(token_ends) else 0
        units = np.searchsorted(token_ends, np.linspace(0, total, self.n_threads + 1), side="left")
        units[0], units[-1] = 0, len(token_ends)
        documents = np.concatenate([[0], document_ends])[units]
        return units, documents


def _within_cap(offsets: IntArray, unit_of_document: IntArray, n_units: int, max_tokens: int) -> BoolArray:
    """Which tokens stay: the first ``max_tokens`` of each unit (in their secret order within documents)."""
    starts = offsets[np.searchsorted(unit_of_document, np.arange(n_units))] if n_units else np.zeros(0, np.int64)
    unit_lengths = np.diff(np.append(starts, offsets[-1]))
    place = np.arange(offsets[-1]) - np.repeat(starts, unit_lengths)
    return np.asarray(place < max_tokens)

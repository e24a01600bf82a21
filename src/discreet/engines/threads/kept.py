"""Rounds whose units keep the topics of their tokens from round to round, as SUB-LDA does.

Its paper chooses the units of a round by the topics of their tokens (Eq. 10), so these must be kept between rounds.
They are private state: a checkpoint has to hold them, and a unit needs two bytes more for each token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet._random import Purpose
from discreet._types import AnyArray, BoolArray, FloatArray, IntArray, UInt16Array
from discreet.engines.interface import Round
from discreet.engines.threads.units import ThreadUnits
from discreet.kernels.sums.contributions import (
    add_contributions,
    contribution_scratch,
    copy_documents,
    return_documents,
)
from discreet.kernels.sweeps.starts import first_topics


class ThreadKeptUnits(ThreadUnits):
    """The tokens of all units, grouped by unit, and their topics."""

    def __init__(self, *data: Any, **options: Any) -> None:
        super().__init__(*data, **options)
        self.topics: UInt16Array = np.zeros(self.words.size, np.uint16)  # uniform: independent of the words
        numbers, n_documents = np.arange(len(self._lengths), dtype=np.uint32), len(self._lengths)
        documents = (self.offsets, numbers, self.topics, 0, n_documents, self.n_topics)
        purpose, stream = np.uint32(Purpose.FIRST_TOPICS), np.uint32(0)
        first_topics(*documents, self.key.words, purpose, stream, *self._scratch[0][1:])

    def state(self) -> dict[str, AnyArray]:
        return {"slot_words": self.words, "slot_topics": self.topics}

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        self.words, self.topics = saved["slot_words"], saved["slot_topics"]

    def shares(self, cells: BoolArray) -> FloatArray:
        marked = np.concatenate([[0], np.cumsum(cells[self.words, self.topics])])  # running sums, for differences
        ends = self.offsets[self.first_document]
        return np.asarray(np.diff(marked[ends]) / np.maximum(np.diff(ends), 1))

    def contributions(self, given: Round, *, word_weights: FloatArray, clip: float) -> IntArray:
        batch = self._batch(self.coins(given.number, given.threshold))
        tallies = [contribution_scratch(self.n_words, self.n_topics, batch.longest) for _ in self._scratch]
        parts = [np.zeros(self.n_words * self.n_topics, np.int64) for _ in self._scratch]
        tables = (self.n_topics, word_weights.astype(np.float32), clip)

        def begin(thread: int, first: int, last: int) -> None:
            copy_documents(self.topics, batch.starts, batch.offsets, first, last, batch.topics)

        def contribute(thread: int, piece: int) -> None:
            first, last = batch.cuts[piece], batch.cuts[piece + 1]
            documents = (batch.first_document[first], batch.first_document[last])
            return_documents(batch.topics, batch.starts, batch.offsets, *documents, self.topics)
            # [unit] all documents of a unit are clipped as one
            units = (batch.words, batch.topics, batch.token_ends, first, last)
            add_contributions(*units, *tables, tallies[thread], parts[thread])

        self._sweep(given, batch, self._wide(given.weights), self._row(given.alpha), begin, contribute)
        return np.asarray(sum(parts)).reshape(self.n_words, self.n_topics)

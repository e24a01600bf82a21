"""Rounds of local sweeps on the executors: each is one job over the shards, and one sum of whole numbers.

The contract is ``UnitEngine`` in ``engines/interface.py``. A task opens the thread engine on those units of its shards
that take part; documents and units keep their numbers among all, so it draws what the thread engine draws. Tasks keep
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import BoolArray, FloatArray, IntArray
from discreet.corpus.stored import StoredCorpus
from discreet.engines.interface import Round, Table, Threshold
from discreet.engines.spark.jobs import Batches, Everywhere, summed
from discreet.engines.spark.shards import First, Shards, joined, unpacked
from discreet.engines.threads.proportions import ThreadProportions
from discreet.engines.threads.units import Grouped, ThreadUnits
from discreet.engines.threads.variational import ThreadVariationalUnits
from discreet.engines.threads.workers import count_threads
from discreet.kernels.sums.variational import FINE

ALWAYS = 2**32

PIECE = 1 << 22
"""Tokens that a task works on at a time. With large tables, many small pieces would spend their time on copies of
them."""


def coins(key: Key, number: int, threshold: Threshold, n_units: int, first: int = 0) -> BoolArray:
    """Which of ``n_units`` units, from ``first`` on, take part."""
    bits = key.bits(Purpose.INCLUSION, number, 0, n_units, first)  # [numbered-coin] by its number among all units
    limits = np.asarray(threshold, np.int64)
    return np.asarray(bits < (limits[first : first + n_units] if limits.ndim else limits))


@dataclass(frozen=True)
class Task:
    """What an executor does in one job: the sum of ``method`` over the units of a partition."""

    units: type[ThreadUnits]
    method: str
    arguments: dict[str, Any]
    coin: tuple[int, Threshold] | None
    """Round and threshold; None: all units."""
    key: Key
    n_words: int
    n_topics: int
    max_tokens: int
    firsts: dict[tuple[int, int], First]
    before: Everywhere

    def __call__(self, batches: Batches) -> IntArray:
        self.before()
        return np.asarray(sum(map(self._sum, self._pieces(batches))))

    def _sum(self, part: Grouped) -> IntArray:
        engine = self.units(part, None, self.n_topics, self.key, max_tokens=self.max_tokens, n_threads=1)
        found: IntArray = getattr(engine, self.method)(**self.arguments)
        engine.close()
        return found

    def _pieces(self, batches: Batches) -> Iterator[Grouped]:
        """The units that take part, some shards at a time; reads ``batches`` to their end."""
        waiting: list[Grouped] = []
        for first, shard in unpacked(batches, self.firsts, self.n_words):
            waiting.append(shard if self.coin is None else shard.chosen(self._coins(first, shard.n_units)))
            if sum(len(part.words) for part in waiting) >= PIECE:
                yield joined(waiting, self.n_words)
                waiting = []
        yield joined(waiting, self.n_words)

    def _coins(self, first: First, n_units: int) -> BoolArray:
        assert self.coin is not None
        return coins(self.key, *self.coin, n_units, first.unit)


class SparkUnits:
    """The tokens of all units, in shards. Those that it ``owns`` are deleted with it."""

    kind: type[ThreadUnits] = ThreadUnits

    def __init__(
        self,
        corpus: StoredCorpus,
        owns: bool,
        n_topics: int,
        key: Key,
        *,
        max_tokens: int,
        n_threads: int | None = None,
        before: Everywhere,
    ) -> None:
        self._shards: Shards = corpus.shards
        self.n_words, self.n_topics, self.n_units, self.key = corpus.n_words, n_topics, self._shards.n_units, key
        self.n_threads = count_threads(n_threads)
        nobody = joined([], self.n_words)
        self.kind(nobody, None, n_topics, key, max_tokens=max_tokens, n_threads=1).close()  # it checks the sizes
        # [other-key] the key of the noise stays here; that of a seed is no secret
        self._key = key if key.seeded else Key.fresh()
        self._max_tokens, self._before, self._corpus, self._owns = max_tokens, before, corpus, owns
        self._table = self._shards.table().persist()

    def close(self) -> None:
        self._table.unpersist()
        if self._owns:
            self._corpus.remove()

    def coins(self, number: int, threshold: Threshold) -> BoolArray:
        return coins(self._key, number, threshold, self.n_units)

    def size_histogram(self, n_bins: int) -> IntArray:
        return self._sum("size_histogram", n_bins=n_bins)

    def word_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        return self._sum("word_counts", word_weights=word_weights, clip=clip)

    def residuals(self, given: Round, *, cell_weights: Table, background: Table, clip: float) -> IntArray:
        tables = {"cell_weights": _short(cell_weights), "background": _short(background)}
        return self._sum("residuals", given._replace(weights=_short(given.weights)), **tables, clip=clip)

    def _sum(self, method: str, given: Round | None = None, **arguments: Any) -> IntArray:
        """One job. In a round, the units that take part are chosen before the engine of a task sees them."""
        coin = None
        if given is not None:
            coin, arguments["given"] = (given.number, given.threshold), given._replace(threshold=ALWAYS)
        fixed = (self._key, self.n_words, self.n_topics, self._max_tokens, self._shards.firsts, self._before)
        task = Task(self.kind, method, arguments, coin, *fixed)
        return summed(self._shards.spark, self._table, task, len(self._shards.firsts), "compute a round")


class SparkVariationalUnits(SparkUnits):
    """Units that infer their topics by variational steps."""

    kind = ThreadVariationalUnits

    def expected(self, given: Round) -> tuple[FloatArray, int]:
        counts = self._sum("expected_sums", given)
        return counts / FINE, int(self.coins(given.number, given.threshold).sum())


class SparkProportions(SparkUnits):
    """Word use and topic proportions of units: all units are in these sums."""

    kind = ThreadProportions

    def root_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        return self._sum("root_counts", word_weights=word_weights, clip=clip)

    def proportions(self, topics: FloatArray, alpha: FloatArray, *, scale: float, clip: float) -> IntArray:
        return self._sum("proportions", topics=topics, alpha=alpha, scale=scale, clip=clip)


def _short(table: Table) -> Any:
    """A table as kernels round it: half of what is sent."""
    return np.asarray(table, np.float32)

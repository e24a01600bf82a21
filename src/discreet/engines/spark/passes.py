"""Passes over all documents on the executors, for plain LDA: each turns a table of documents and topics into the next.

A pass is one job. It reads the topics that the pass before has written, and writes new ones, with one row of sums for
each partition. Both tables are files, so a task that is run again reads what it read before. A task opens the thread
engine on the documents of a shard, with the numbers that they have among all, so it draws what threads would draw.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.stored import StoredCorpus
from discreet.engines.interface import Table
from discreet.engines.spark.jobs import Batches, Everywhere, job
from discreet.engines.spark.shards import First, remove, unpacked, write
from discreet.engines.threads.collapsed import ThreadCollapsed
from discreet.engines.threads.layout import Whole, numbers_by_rank
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.engines.threads.units import Grouped
from discreet.engines.threads.workers import count_threads

Kind: TypeAlias = type[ThreadSweeps] | type[ThreadCollapsed]

KEPT = ("words", "lengths", "numbers", "topics")
"""Of a shard. ``numbers`` are those of its documents in the layout of all, ``topics`` what an engine keeps."""
STATE = "words binary, lengths binary, numbers binary, topics binary, shards long, cells binary"
"""A row is a shard; or the sums of a partition, and how many shards it has."""
STATE_ROWS = pa.schema([*((name, pa.binary()) for name in KEPT), ("shards", pa.int64()), ("cells", pa.binary())])

Ranks: TypeAlias = dict[First, tuple[AnyArray, IntArray]]
"""Of each shard the lengths of its documents, and the place of its first document of each length among all documents,
the longest first."""


def _row(**cells: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: [cells.get(name)] for name in STATE_ROWS.names}, schema=STATE_ROWS)


@dataclass(frozen=True)
class _Lengths:
    """How many documents of each length a shard has."""

    firsts: dict[tuple[int, int], First]
    n_words: int
    before: Everywhere

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        for first, shard in unpacked(batches, self.firsts, self.n_words):
            lengths, counts = (array.astype("<i8").tobytes() for array in np.unique(shard.lengths, return_counts=True))
            yield pa.RecordBatch.from_pydict(
                {"unit": [first.unit], "document": [first.document], "lengths": [lengths], "counts": [counts]}
            )


@dataclass(frozen=True)
class _Pass:
    """What an executor does in one pass."""

    kind: Kind
    n_words: int
    n_topics: int
    key: Key
    mean_length: float
    word_counts: IntArray
    before: Everywhere

    def engine(self, shard: Grouped) -> ThreadSweeps | ThreadCollapsed:
        whole = Whole(shard.numbers, self.mean_length, self.word_counts)
        return self.kind(shard, self.n_topics, self.key, n_threads=1, whole=whole)


@dataclass(frozen=True)
class _First:
    """The first topics of the documents in shards."""

    given: _Pass
    firsts: dict[tuple[int, int], First]
    ranks: Ranks
    n_documents: int

    def __call__(self, batches: Batches) -> Batches:
        self.given.before()
        total, n_shards = np.zeros((self.given.n_words, self.given.n_topics), np.uint32), 0
        for first, shard in unpacked(batches, self.firsts, self.given.n_words):
            shard = shard._replace(numbers=numbers_by_rank(self._ranks(first, shard.lengths), self.n_documents))
            engine = self.given.engine(shard)
            engine.draw_first_topics()
            total, n_shards = total + engine.sums(), n_shards + 1
            known: dict[str, AnyArray] = {"words": shard.words, "lengths": shard.lengths, "numbers": shard.numbers}
            kept = {name: array.astype("<i4").tobytes() for name, array in known.items()}
            yield _row(**kept, topics=engine.topics_kept().tobytes())
        yield _row(shards=n_shards, cells=total.tobytes())

    def _ranks(self, first: First, lengths: IntArray) -> IntArray:
        known, starts = self.ranks[first]
        order = np.argsort(lengths, kind="stable")
        in_order = lengths[order]
        ranks = np.empty(len(lengths), np.int64)
        alike = np.arange(len(order)) - np.searchsorted(in_order, in_order)  # before it in this shard
        ranks[order] = starts[np.searchsorted(known, in_order)] + alike
        return ranks


@dataclass(frozen=True)
class _Next:
    """New topics from those of the pass before."""

    given: _Pass
    sweep: dict[str, Any]

    def __call__(self, batches: Batches) -> Batches:
        self.given.before()
        total, n_shards = np.zeros((self.given.n_words, self.given.n_topics), np.uint32), 0
        for batch in batches:
            for row in range(batch.num_rows):
                kept = {name: batch.column(name)[row].as_py() for name in KEPT}
                words, lengths, numbers = (np.frombuffer(kept[name], "<i4") for name in KEPT[:3])
                offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
                shard = Grouped(words, offsets, np.arange(len(offsets)), numbers, self.given.n_words)
                engine = self.given.engine(shard)
                engine.keep_topics(np.frombuffer(kept["topics"], engine.topics_kept().dtype))
                engine.sweep(**self.sweep)
                total, n_shards = total + engine.sums(), n_shards + 1
                yield _row(**{**kept, "topics": engine.topics_kept().tobytes()})
        yield _row(shards=n_shards, cells=total.tobytes())


class SparkPasses:
    """The documents in shards, and beside these the topics after the last pass. See ``PassEngine``.

    The files of two passes are kept in turn; the shards themselves are deleted at the end if it ``owns`` them.
    """

    def __init__(
        self,
        kind: Kind,
        corpus: StoredCorpus,
        owns: bool,
        n_topics: int,
        key: Key,
        *,
        n_threads: int | None = None,
        parts: IntArray | None = None,
        before: Everywhere,
    ) -> None:
        assert parts is None
        self._kind, self.draws, self.key, self.n_topics = kind, kind.draws, key, n_topics
        self._corpus, self._owns, self._shards = corpus, owns, corpus.shards
        self.n_words, self.n_documents, self.n_tokens = corpus.n_words, corpus.n_documents, corpus.n_tokens
        self.n_threads = count_threads(n_threads)
        if self.n_tokens >= 2**31:
            raise InputError(f"a corpus may have up to 2^31 tokens; found {self.n_tokens:,}. Train on a part.")
        sizes = (self.n_words, n_topics, key, self.n_tokens / max(self.n_documents, 1), corpus.word_counts)
        self._pass = _Pass(kind, *sizes, before)
        self._paths = [f"{self._shards.path}-topics-{uuid.uuid4().hex}" for _ in range(2)]
        self._table: Any = None
        self._counts: AnyArray | None = None

    def draw_first_topics(self) -> None:
        task = _First(self._pass, self._shards.firsts, self._ranks(), self.n_documents)
        self._run(self._shards.table(), task)

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
        given = {"statistic": statistic, "alpha": alpha, "number": number, "prior": prior, "scale": scale}
        self._run(self._table, _Next(self._pass, {**given, "alpha_rest": alpha_rest}))

    def count(self) -> AnyArray:
        assert self._counts is not None
        return self._counts

    def drop_tables(self) -> None:
        self._counts = None

    def close(self) -> None:
        for path in self._paths:
            with suppress(InputError):
                remove(self._shards.spark, path, STATE)
        if self._owns:
            self._corpus.remove()

    def _run(self, table: Any, task: Any) -> None:
        """One pass: write the next topics, and add up the sums of all partitions."""
        spark, path = self._shards.spark, self._paths[0]
        advice = "Name a folder that every executor can write to."
        with job(spark, f"write topics to {path}", advice):
            write(table.mapInArrow(task, STATE), path)
        with job(spark, f"read topics from {path}"):
            rows = spark.read.schema(STATE).parquet(path)
            sums = rows.where("cells is not null").select("shards", "cells").collect()
        if sum(row["shards"] for row in sums) != len(self._shards.firsts):
            raise InputError("Spark could not compute a pass: it lost shards, or read some twice.")
        total = np.zeros((self.n_words, self.n_topics), np.uint32)
        for row in sums:
            total += np.frombuffer(row["cells"], np.uint32).reshape(total.shape)
        self._counts = self._kind.counts_of(total, self._pass.word_counts)
        self._table = rows.where("cells is null").select(*KEPT)
        self._paths.reverse()  # the next pass overwrites the files of the one before

    def _ranks(self) -> Ranks:
        task = _Lengths(self._shards.firsts, self.n_words, self._pass.before)
        columns = "unit long, document long, lengths binary, counts binary"
        with job(self._shards.spark, "count the lengths of documents"):
            rows = sorted(tuple(row) for row in self._shards.table().mapInArrow(task, columns).collect())
        found = [
            (First(unit, document), np.frombuffer(lengths, "<i8"), np.frombuffer(counts, "<i8"))
            for unit, document, lengths, counts in rows
        ]
        histogram = np.zeros(max((int(lengths.max(initial=0)) for _, lengths, _ in found), default=0) + 1, np.int64)
        for _, lengths, counts in found:
            histogram[lengths] += counts
        following = histogram.sum() - np.cumsum(histogram)  # documents that are longer
        ranks: Ranks = {}
        for first, lengths, counts in found:
            ranks[first] = lengths, following[lengths]
            following[lengths] += counts
        return ranks

"""Shards: the tokens of some units, packed in one row of a table, and the number of each unit among all.

A round must see every unit once. Spark computes a lost partition again, and rows that come out of a shuffle may then
come in another order (SPARK-23207, SPARK-23243). So shards are written to a path, and read from there, before the first
coin is tossed: what is computed again reads the same bytes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from discreet._errors import InputError
from discreet._types import AnyArray, Int32Array, IntArray
from discreet.engines.spark.jobs import Batches, Everywhere, job, summed
from discreet.engines.threads.units import Grouped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOKENS = 1 << 20
"""A shard ends with the unit that reaches so many tokens: four megabytes."""

ROWS = pa.schema(
    [
        *(("place", pa.int64()), ("part", pa.int64()), ("n_units", pa.int64()), ("n_documents", pa.int64())),
        *(("digest", pa.binary()), ("words", pa.binary()), ("lengths", pa.binary()), ("documents", pa.binary())),
    ]
)
"""``place`` and ``part`` give the order of shards. ``words`` are those of all tokens, ``lengths`` those of documents in
tokens, ``documents`` the number of each unit's: 32-bit numbers."""
COLUMNS = (
    "place long, part long, n_units long, n_documents long, "
    "digest binary, words binary, lengths binary, documents binary"
)
BITS = 128
"""Of a digest. Those of units are added, so that a sum does not depend on where shards end."""


def packed(place: int, part: int, words: AnyArray, lengths: AnyArray, documents: AnyArray) -> pa.RecordBatch:
    """One shard."""
    arrays = [np.ascontiguousarray(array, "<i4") for array in (words, lengths, documents)]
    ends = np.concatenate([[0], np.cumsum(documents)])
    row = [place, part, len(documents), len(lengths), _digest(arrays[0], arrays[1], ends)]
    return pa.RecordBatch.from_pylist(
        [dict(zip(ROWS.names, [*row, *(array.tobytes() for array in arrays)], strict=True))], schema=ROWS
    )


def _digest(words: Int32Array, lengths: Int32Array, ends: AnyArray) -> bytes:
    tokens, total = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[ends].tolist(), 0
    for (a, b), (first, last) in zip(pairwise(tokens), pairwise(ends.tolist()), strict=True):
        unit = blake2b(lengths[first:last].tobytes(), digest_size=BITS // 8)
        unit.update(words[a:b].tobytes())
        total += int.from_bytes(unit.digest(), "little")
    return int(total % 2**BITS).to_bytes(BITS // 8, "little")


class First(NamedTuple):
    """The numbers of the first unit and the first document of a shard."""

    unit: int
    document: int


def unpacked(batches: Batches, firsts: dict[tuple[int, int], First], n_words: int) -> Iterator[tuple[First, Grouped]]:
    """Each shard, its documents with their numbers among all."""
    for batch in batches:
        for row in range(batch.num_rows):

            def numbers(name: str, batch: pa.RecordBatch = batch, row: int = row) -> Int32Array:
                return np.frombuffer(batch.column(name)[row].as_buffer(), "<i4")

            first = firsts[batch.column("place")[row].as_py(), batch.column("part")[row].as_py()]
            lengths = numbers("lengths")
            yield (
                first,
                Grouped(
                    numbers("words"),
                    np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
                    np.concatenate([[0], np.cumsum(numbers("documents"), dtype=np.int64)]),
                    np.arange(first.document, first.document + len(lengths)),
                    n_words,
                ),
            )


def joined(parts: Iterable[Grouped], n_words: int) -> Grouped:
    """Several as one, none as one without a unit."""
    parts = list(parts)
    lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in parts)])
    documents = np.concatenate([np.empty(0, np.int64), *(np.diff(part.first_document) for part in parts)])
    return Grouped(
        np.concatenate([np.empty(0, np.int32), *(part.words for part in parts)]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([[0], np.cumsum(documents)]),
        np.concatenate([np.empty(0, np.int64), *(part.numbers for part in parts)]),
        n_words,
    )


def write(rows: DataFrame, path: str) -> None:
    """Write rows of some megabytes each. Parquet's writer would look at its memory after a hundred of them."""
    how = {"parquet.block.size": 1 << 25, "parquet.block.size.row.check.min": 1, "parquet.block.size.row.check.max": 1}
    pages = {"parquet.page.size.row.check.min": 1, "parquet.page.size.row.check.max": 1}
    rows.write.mode("overwrite").options(**how, **pages).parquet(path, compression="none")


def remove(spark: SparkSession, path: str, columns: str) -> None:
    """Delete files. An empty table takes their place where only Spark can delete: DataFrames cannot do more."""
    where = urlsplit(path)
    if where.scheme in ("", "file"):
        rmtree(where.path, ignore_errors=True)
        return
    with job(spark, f"remove what is in {path}"):
        spark.createDataFrame([], columns).write.mode("overwrite").parquet(path)


@dataclass(eq=False)
class Shards:
    """The shards in ``path``, which are there."""

    spark: SparkSession
    path: str
    partitions: int | None
    before: Everywhere
    firsts: dict[tuple[int, int], First] = field(default_factory=dict, repr=False)
    n_units: int = field(default=0, repr=False)
    """Private."""
    n_documents: int = field(default=0, repr=False)
    """Private."""
    digest: str = field(default="", repr=False)

    @classmethod
    def write(cls, rows: DataFrame, folder: str, partitions: int | None, before: Everywhere) -> Shards:
        """Write ``rows`` into a new folder of ``folder``, and number the units in the order of the shards."""
        spark, path = rows.sparkSession, f"{folder.rstrip('/')}/discreet-{uuid.uuid4().hex}"
        found, fixed = cls(spark, path, partitions, before), ("place", "part", "n_units", "n_documents", "digest")
        try:
            with job(spark, f"write shards to {path}", "Name a folder that every executor can write to."):
                write(rows, path)  # [durable] from here on nothing is computed from the text
            with job(spark, f"read shards from {path}"):
                listed = sorted(tuple(row) for row in spark.read.schema(COLUMNS).parquet(path).select(*fixed).collect())
        except BaseException:
            with suppress(Exception):
                found.remove()
            raise
        if len({(place, part) for place, part, *_ in listed}) < len(listed):  # [written-once]
            found.remove()
            raise InputError(f"Spark has written some shards to {path} twice. Use another committer or file system.")
        total = 0
        for place, part, units, documents, digest in listed:  # [number] 0, 1, 2, …: no two units have one number
            found.firsts[place, part] = First(found.n_units, found.n_documents)
            found.n_units, found.n_documents = found.n_units + units, found.n_documents + documents
            total += int.from_bytes(digest, "little")
        found.digest = f"{found.n_documents} {found.n_units} {total % 2**BITS:x}"
        return found

    def table(self) -> DataFrame:
        """As Spark reads them."""
        rows = self.spark.read.schema(COLUMNS).parquet(self.path)
        return rows if self.partitions is None else rows.repartition(self.partitions, "place", "part")

    def renumbered(self, columns: Int32Array) -> Shards:
        """New shards beside these, with the word ``columns[w]`` for w; below 0: none."""
        rows = self.table().mapInArrow(_Renumber(columns, self.before), COLUMNS)
        return Shards.write(rows, self.path.rpartition("/")[0], self.partitions, self.before)

    def summed(self, function: Callable[[Grouped, int], IntArray], n_words: int) -> IntArray:
        task = _Sum(function, n_words, self.firsts, self.before)
        return summed(self.spark, self.table(), task, len(self.firsts), "add up the shards")

    def remove(self) -> None:
        """Delete the files."""
        remove(self.spark, self.path, COLUMNS)


@dataclass(frozen=True)
class _Sum:
    function: Callable[[Grouped, int], IntArray]
    n_words: int
    firsts: dict[tuple[int, int], First]
    before: Everywhere

    def __call__(self, batches: Batches) -> IntArray:
        self.before()
        total = self.function(joined([], self.n_words), 0)
        for first, units in unpacked(batches, self.firsts, self.n_words):
            total += self.function(units, first.unit)
        return total


@dataclass(frozen=True)
class _Renumber:
    columns: Int32Array
    before: Everywhere

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        for batch in batches:
            for row in batch.to_pylist():
                words, lengths, documents = (np.frombuffer(row[name], "<i4") for name in ROWS.names[-3:])
                found = self.columns[words]
                before = np.concatenate([[0], np.cumsum(found >= 0)])
                ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
                yield packed(row["place"], row["part"], found[found >= 0], np.diff(before[ends]), documents)


def of_units(units: Grouped, n_rows: int = 1) -> Iterator[pa.RecordBatch]:
    """Shards of documents that this process has, ``n_rows`` or more."""
    ends = units.offsets[units.first_document]
    most = min(TOKENS, -(-int(ends[-1]) // n_rows)) or 1
    cuts = np.unique(np.searchsorted(ends, np.arange(most, ends[-1], most)))
    for place, (first, last) in enumerate(pairwise([0, *cuts[(cuts > 0) & (cuts < units.n_units)], units.n_units])):
        a, b = units.first_document[first], units.first_document[last]
        words, lengths = units.words[units.offsets[a] : units.offsets[b]], np.diff(units.offsets[a : b + 1])
        yield packed(place, 0, words, lengths, np.diff(units.first_document[first : last + 1]))

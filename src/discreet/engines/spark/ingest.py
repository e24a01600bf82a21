"""From a table of text, or of counts, to shards: one map, one shuffle, one map.

The shuffle brings the documents of a user together and puts units in an order that depends on their content only: by a
hash of the user, or of the document where each is a unit. So units have the same numbers however the table is divided,
and a task that is run again sends each row where it was sent before. Documents of one user are ordered by a hash of
their words; those that are alike are interchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from discreet._errors import InputError
from discreet._types import BoolArray, Int32Array, IntArray
from discreet.corpus.builder import CorpusBuilder, add_texts
from discreet.corpus.corpus import LONGEST_DOCUMENT, Corpus
from discreet.corpus.ids import IdReader
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary
from discreet.engines.interface import LARGEST_UNIT
from discreet.engines.spark.jobs import Batches, Everywhere
from discreet.engines.spark.shards import COLUMNS, TOKENS, packed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DOCUMENT = "document"
"""The column that holds it, whatever its name in the table."""
DOCUMENTS = pa.schema([("user", pa.string()), ("dotted", pa.bool_()), ("words", pa.binary())])


@dataclass(frozen=True)
class Documents:
    """Reads the documents of a batch: texts, lists of words, or vectors of counts."""

    vocabulary: Vocabulary
    tokenizer: Tokenizer | None
    """None for counts."""
    whole_bits: int = 53
    """Ids that are floats are whole below 2 to this power."""

    def corpus(self, batch: pa.RecordBatch) -> Corpus:
        column = batch.column(DOCUMENT)
        if self.tokenizer is None:
            return Corpus.from_counts(self._counts(column), self.vocabulary, max_tokens=LONGEST_DOCUMENT)
        builder = CorpusBuilder(vocabulary=self.vocabulary, tokenizer=self.tokenizer)
        return add_texts(builder, column.to_pylist()).build()

    def _counts(self, column: pa.StructArray) -> sp.csr_matrix:
        """Vectors of spark.ml as a matrix: sparse ones have ``indices``, dense ones none."""
        n_words = len(self.vocabulary)
        matrix = sp.lil_matrix((len(column), n_words))
        for row, vector in enumerate(column.to_pylist()):
            if vector is None:
                continue
            values = np.array(vector["values"])
            places = np.arange(len(values)) if vector["indices"] is None else np.array(vector["indices"], int)
            size = len(values) if vector["size"] is None else vector["size"]
            if size != n_words:
                raise InputError(f"a vector of counts has {size:,} columns, but there are {n_words:,} words.")
            matrix[row, places] = values
        return matrix.tocsr()

    def users(self, batch: pa.RecordBatch) -> tuple[list[str], list[bool]]:
        """Each user in one spelling, and whether it had another: a whole number written as a float."""
        read = IdReader(self.whole_bits).parsed
        ids = [str(read(value)) for value in batch.column("user").to_pylist()]
        users = [one.removesuffix(".0") for one in ids]
        return users, [a != b for a, b in zip(users, ids, strict=True)]


@dataclass(frozen=True)
class Tokenise:
    """The first map: text to numbers of words, where the text lies."""

    documents: Documents
    by_user: bool
    before: Everywhere

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        for batch in batches:
            if not batch.num_rows:
                continue
            corpus = self.documents.corpus(batch)
            users, dotted = self.documents.users(batch) if self.by_user else ([""] * len(corpus), [False] * len(corpus))
            yield pa.RecordBatch.from_arrays([pa.array(users), pa.array(dotted), _binary(corpus)], schema=DOCUMENTS)


def _binary(corpus: Corpus) -> pa.BinaryArray:
    """The words of each document as bytes, without a copy."""
    offsets = (4 * corpus.offsets).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(corpus), [None, pa.py_buffer(offsets), pa.py_buffer(corpus.words)])


class _Waiting:
    """Documents that are not in a shard yet."""

    def __init__(self) -> None:
        self.words, self.lengths = np.empty(0, np.int32), np.empty(0, np.int64)
        self.begins, self.places = np.empty(0, np.bool_), np.empty(0, np.int64)
        """Whether a document is the first of its unit; the place of each."""
        self.last: tuple[str, bool] | None = None
        """The user of the last document, and how that was spelled."""

    def add(self, batch: pa.RecordBatch, *, by_user: bool) -> None:
        words, lengths = _words(batch.column("words"))
        begins = self._begins(batch) if by_user else np.ones(len(lengths), np.bool_)
        self.words, self.lengths = np.concatenate([self.words, words]), np.concatenate([self.lengths, lengths])
        self.begins = np.concatenate([self.begins, begins])
        self.places = np.concatenate([self.places, batch.column("place").to_numpy()])

    def _begins(self, batch: pa.RecordBatch) -> BoolArray:
        rows = list(zip(batch.column("user").to_pylist(), batch.column("dotted").to_pylist(), strict=True))
        begins = np.empty(len(rows), np.bool_)
        for i, (user, dotted) in enumerate(rows):
            begins[i] = self.last is None or self.last[0] != user
            if self.last == (user, not dotted):
                raise InputError(
                    "a user id is the same number as another in another spelling (such as 1 and 1.0), which may be one "
                    "user or two. Write all ids in one way."
                )
            self.last = user, dotted
        return begins

    def shard(self, part: int, *, all_units: bool) -> pa.RecordBatch | None:
        """The next shard: all units, or all but the last, to which more documents may come."""
        firsts = np.flatnonzero(self.begins)
        end = len(self.lengths) if all_units else int(firsts[-1]) if len(firsts) else 0
        if not end:
            return None
        n_words, kept = int(self.lengths[:end].sum()), self._within(end)
        words = self.words[:n_words][np.repeat(kept, self.lengths[:end])]
        documents = np.add.reduceat(kept.astype(np.int64), firsts[firsts < end])
        shard = packed(int(self.places[0]), part, words, self.lengths[:end][kept], documents)
        self.words, self.lengths = self.words[n_words:], self.lengths[end:]
        self.begins, self.places = self.begins[end:], self.places[end:]
        return shard

    def _within(self, end: int) -> BoolArray:
        """Documents that begin within the first 2^24 tokens of their unit: no cap reaches further."""
        before = np.concatenate([[0], np.cumsum(self.lengths[:end])])[:-1]
        unit = np.cumsum(self.begins[:end]) - 1
        return np.asarray(before - before[self.begins[:end]][unit] < LARGEST_UNIT)


def _words(column: pa.BinaryArray) -> tuple[Int32Array, IntArray]:
    """The words of all documents of a column, and their numbers."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    if offsets[0] == offsets[-1]:
        return np.empty(0, np.int32), np.zeros(len(column), np.int64)
    words = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].view("<i4")
    return words, np.diff(offsets).astype(np.int64) // 4


@dataclass(frozen=True)
class Pack:
    """The second map: documents in their order to shards. It holds one shard in memory, or one user's documents."""

    by_user: bool
    before: Everywhere

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        part, waiting = 0, _Waiting()
        for batch in batches:
            if batch.num_rows:
                waiting.add(batch, by_user=self.by_user)
            if len(waiting.words) >= TOKENS and (shard := waiting.shard(part, all_units=False)) is not None:
                yield shard
                part += 1
        if (shard := waiting.shard(part, all_units=True)) is not None:
            yield shard


def packed_rows(table: DataFrame, tokenise: Tokenise, n_partitions: int) -> DataFrame:
    """The rows of shards, not computed yet."""
    from pyspark.sql import functions as F

    documents = table.mapInArrow(tokenise, "user string, dotted boolean, words binary")
    unit = "user" if tokenise.by_user else "words"
    placed = documents.withColumn("place", F.shiftrightunsigned(F.xxhash64(unit), 1))
    share = F.shiftright(F.shiftright("place", 31) * F.lit(n_partitions).cast("long"), 32)  # ⌊place · n / 2^63⌋
    # [together] all documents of a user have one place, so they are in one partition
    divided = placed.repartitionById(n_partitions, share.cast("int"))
    ordered = divided.sortWithinPartitions("place", "user", F.xxhash64("words"), "words")  # [order]
    return ordered.mapInArrow(Pack(tokenise.by_user, tokenise.before), COLUMNS)


@dataclass(frozen=True)
class Spellings:
    """Every word of each batch, once, for a vocabulary of all words."""

    tokenizer: Tokenizer
    before: Everywhere

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        for batch in batches:
            found = {
                word
                for text in batch.column(DOCUMENT).to_pylist()
                if text is not None
                for word in self.tokenizer.tokens_of(text)
            }
            stop = self.tokenizer.stop_set
            yield pa.RecordBatch.from_pydict({"word": pa.array(sorted(found - set(stop)), pa.string())})

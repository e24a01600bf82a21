"""SparkEngine: the ``engine=`` of a model whose documents lie on a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import AnyArray, FloatArray
from discreet.corpus.builder import CorpusBuilder
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.unquoted import column_names
from discreet.corpus.vocabulary import Vocabulary, given_vocabulary
from discreet.engines.interface import PassEngine, ProportionEngine, UnitEngine, VariationalUnitEngine
from discreet.engines.spark.ingest import DOCUMENT, Documents, Spellings, Tokenise, packed_rows
from discreet.engines.spark.jobs import Batches, Everywhere, code, job
from discreet.engines.spark.passes import SparkPasses
from discreet.engines.spark.shards import COLUMNS, ROWS, Shards, of_units
from discreet.engines.spark.units import SparkProportions, SparkUnits, SparkVariationalUnits
from discreet.engines.threads.collapsed import ThreadCollapsed
from discreet.engines.threads.documents import mixtures
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.engines.threads.units import grouped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Opened = TypeVar("_Opened")

_FLOAT_BITS = {"float": 24, "double": 53}


@dataclass(eq=False)
class SparkEngine:
    """Runs the rounds of a model on the executors of a Spark session.

    >>> engine = SparkEngine(spark, shards="hdfs:///private/shards")  # doctest: +SKIP
    >>> PrivateLDA(20, engine=engine).fit(df, text="body", groups="user", vocabulary=words)  # doctest: +SKIP

    Parameters
    ----------
    spark : SparkSession
        Of Spark 4.1 or later, classic or Connect. Its executors need the same ``discreet[spark]`` as the driver.
    shards : path
        A folder that every executor can read and write. Documents are written there as numbers of words before
        training, and removed after it. They are private.
    partitions : int, optional
        Into how many partitions documents are divided; by default as many as Spark runs at once. The result does not
        depend on it.
    """

    spark: SparkSession
    shards: str
    partitions: int | None = None
    check: Callable[[], object] | None = None
    """Called in each task before it reads a document."""

    condition = (
        "nobody sees the Spark cluster (executors, shards, shuffle and spill files, logs, its pages) who may not read "
        "the documents"
    )
    """Of a guarantee."""

    # --- what scikit-learn and pickle ask -----------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise InputError(
            "a SparkEngine holds a connection and cannot be saved. Save the release of the model, "
            "model.release().save(…), or set model.engine = None first."
        )

    def __repr__(self) -> str:
        return f"SparkEngine(shards={self.shards!r})"

    def checking(self, check: Callable[[], object]) -> Self:
        """The same engine, whose tasks call ``check`` first."""
        return replace(self, check=check)

    @property
    def _before(self) -> Everywhere:
        return Everywhere(code(), self.check)

    @property
    def _n_partitions(self) -> int:
        if self.partitions is not None:
            if int(self.partitions) < 1:
                raise InputError(
                    f"partitions must be at least 1; found {self.partitions}. Leave it out for Spark's own."
                )
            return int(self.partitions)
        try:
            return int(self.spark.sparkContext.defaultParallelism)
        except Exception:  # Spark Connect has no context
            return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 200)

    # --- documents ----------------------------------------------------------------------------------------------------

    def holds(self, X: Any) -> bool:
        """Whether ``X`` is a table of Spark."""
        from pyspark.sql import DataFrame

        return isinstance(X, DataFrame)

    def read(
        self,
        table: DataFrame,
        *,
        text: str | None = None,
        counts: str | None = None,
        groups: str | None = None,
        vocabulary: Any = None,
        tokenizer: Any = None,
    ) -> StoredCorpus:
        """Documents of a table as shards. They stay until ``remove()`` is called.

        ``text`` names a column of texts, or of lists of words; ``counts`` one of spark.ml's vectors. ``groups`` names
        the column of user ids: then a unit is a user, otherwise a row. ``vocabulary`` is a public list or a file; for
        counts, their columns. Without one, all words of the text are collected on the driver, for a private selection.
        """
        chosen = self._columns(table, text, counts, groups)
        words: Vocabulary | None = given_vocabulary(vocabulary, None)
        how = None if counts is not None else Tokenizer.of(tokenizer)
        if how is None:
            words = words or self._numbered(table, str(counts))
        elif words is None:
            words = self._all_words(chosen, how)
        else:
            CorpusBuilder(vocabulary=words, tokenizer=how)  # refuses a list that no text could match
        bits = 53 if groups is None else _FLOAT_BITS.get(dict(table.dtypes)[groups], 53)
        tokenise = Tokenise(Documents(Vocabulary(words.words), how, bits), groups is not None, self._before)
        shards = self._write(packed_rows(chosen, tokenise, self._n_partitions))
        return StoredCorpus(words, shards, groups is not None, shards.digest, uuid.uuid4().hex, how)

    def _write(self, rows: DataFrame) -> Shards:
        return Shards.write(rows, self.shards, self.partitions, self._before)

    def _columns(self, table: DataFrame, text: str | None, counts: str | None, groups: str | None) -> DataFrame:
        """The document and the user of each row, after a look at the table's columns."""
        from pyspark.sql import functions as F

        if (text is None) == (counts is None):
            raise InputError("name the column of documents: text= for texts, or counts= for vectors of word counts.")
        types = dict(table.dtypes)
        for option, name in (("text", text), ("counts", counts), ("groups", groups)):
            if name is not None and (not isinstance(name, str) or name not in types):
                raise InputError(
                    f"{option}= must name a column of the table; found {name!r}. It has {column_names(table.columns)}."
                )
        document = str(text if counts is None else counts)
        wanted = ("string", "array<string>") if counts is None else ("vector",)
        if types[document] not in wanted:
            raise InputError(
                f"column {document!r} must hold {'texts' if counts is None else 'vectors of counts (spark.ml)'}; found "
                f"{types[document]}. Name another column."
            )
        column = _column(document)
        columns = [(column if counts is None else F.unwrap_udt(column)).alias(DOCUMENT)]
        if groups is not None:
            columns.append(_column(groups).alias("user"))
        return table.select(*columns)

    def _numbered(self, table: DataFrame, counts: str) -> Vocabulary:
        """Names for the columns of counts that have none, as for a bare matrix."""
        with job(self.spark, "read the counts"):
            first = table.select(_column(counts)).where(_column(counts).isNotNull()).first()
        if first is None:
            raise InputError("the table has no row with counts, so the number of words is not known. Give vocabulary=.")
        return Vocabulary(f"word{i}" for i in range(len(first[0])))

    def _all_words(self, documents: DataFrame, tokenizer: Tokenizer) -> Vocabulary:
        if tokenizer.phrases is not None and not isinstance(tokenizer.phrases, frozenset):
            raise InputError("phrases cannot be selected on Spark. Give a public list of phrases, or none.")
        with job(self.spark, "collect the words of the text"):
            rows = documents.mapInArrow(Spellings(tokenizer, self._before), "word string").distinct().collect()
        words = sorted(row[0] for row in rows) or [""]
        return Vocabulary(words, "text", complete=True)

    def _given(self, corpus: Corpus | StoredCorpus, groups: AnyArray | None) -> tuple[StoredCorpus, bool]:
        """Documents in shards, and whether these are deleted at the end of a run."""
        if isinstance(corpus, StoredCorpus):
            return corpus, False
        units = grouped(corpus, groups)
        rows = pa.Table.from_batches(of_units(units, self._n_partitions), schema=ROWS)
        with job(self.spark, "send the documents"):
            table = self.spark.createDataFrame(rows, COLUMNS).repartition(self._n_partitions, "place")
        shards = self._write(table)
        return StoredCorpus(corpus.vocabulary, shards, groups is not None, shards.digest, ""), True

    def _opened(
        self, kind: Callable[..., _Opened], corpus: Any, groups: AnyArray | None, *given: Any, **options: Any
    ) -> _Opened:
        """Something that closes with the documents it was given, or leaves none behind if it cannot be opened."""
        stored, owns = self._given(corpus, groups)
        try:
            return kind(stored, owns, *given, **options, before=self._before)
        except BaseException:
            if owns:
                stored.remove()
            raise

    # --- the open_... functions of `discreet.engines` -----------------------------------------------------------------

    def open_units(self, corpus: Any, groups: AnyArray | None, n_topics: int, key: Key, **options: Any) -> UnitEngine:
        """Rounds of local sweeps, as :func:`discreet.engines.open_units`."""
        return self._opened(SparkUnits, corpus, groups, n_topics, key, **options)

    def open_variational_units(
        self, corpus: Any, groups: AnyArray | None, n_topics: int, key: Key, **options: Any
    ) -> VariationalUnitEngine:
        """Rounds of local variational steps."""
        return self._opened(SparkVariationalUnits, corpus, groups, n_topics, key, **options)

    def open_proportions(
        self, corpus: Any, groups: AnyArray | None, n_topics: int, key: Key, **options: Any
    ) -> ProportionEngine:
        """Rounds of local variational steps; word use and topic proportions of units."""
        return self._opened(SparkProportions, corpus, groups, n_topics, key, **options)

    def open_sweeps(self, corpus: Any, n_topics: int, key: Key, **options: Any) -> PassEngine:
        """Passes that draw topics."""
        return self._opened(partial(SparkPasses, ThreadSweeps), corpus, None, n_topics, key, **options)

    def open_collapsed(self, corpus: Any, n_topics: int, key: Key, **options: Any) -> PassEngine:
        """Passes that compute the distributions of topics."""
        return self._opened(partial(SparkPasses, ThreadCollapsed), corpus, None, n_topics, key, **options)

    # --- using a model ------------------------------------------------------------------------------------------------

    def mixtures(
        self,
        table: DataFrame,
        topics: FloatArray,
        alpha: FloatArray,
        vocabulary: Any,
        tokenizer: Tokenizer | None,
        *,
        alpha_rest: float | None = None,
        text: str | None = None,
        counts: str | None = None,
        column: str = "topics",
    ) -> DataFrame:
        """The table with one more column: the topic proportions of each document. Nothing is computed yet."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

        self._columns(table, text, counts, None)
        if column in table.columns:
            raise InputError(f"the table has a column {column!r} already. Rename it first.")
        source = _column(str(text)) if counts is None else F.unwrap_udt(_column(counts))
        documents = Documents(Vocabulary.of(vocabulary), None if counts is not None else Tokenizer.of(tokenizer))
        mix = partial(mixtures, topics, alpha, n_threads=1, alpha_rest=alpha_rest)
        schema = StructType([*table.schema.fields, StructField(column, ArrayType(DoubleType(), False), False)])
        plain = [_column(name).alias(f"c{i}") for i, name in enumerate(table.columns)]  # mapInArrow takes no dots
        names = (*table.columns, column)
        rows = table.select(*plain, source.alias(DOCUMENT))
        return rows.mapInArrow(_Mix(documents, mix, self._before, names), schema)


def _column(name: str) -> Any:
    """A column by its whole name, with dots and blanks."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


@dataclass(frozen=True)
class _Mix:
    documents: Documents
    mix: Callable[[Corpus], FloatArray]
    before: Everywhere
    names: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        self.before()
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            found = self.mix(self.documents.corpus(batch)) if batch.num_rows else np.empty((0, 1))
            shares = pa.ListArray.from_arrays(np.arange(len(found) + 1, dtype=np.int32) * found.shape[1], found.ravel())
            yield from rows.drop_columns(DOCUMENT).append_column("", shares).rename_columns(self.names).to_batches()

"""Tables of Spark: from text or counts to shards, a fit, proportions; and one clear line for each mistake."""

from __future__ import annotations

import os
import pickle
import re
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import LDA, Corpus, InputError, Ledger, PrivateCrossLDA, PrivateLDA, SpectralLDA, Vocabulary
from discreet._random import Key
from discreet.engines.spark import SparkEngine
from discreet.engines.spark.jobs import _told
from discreet.engines.spark.session import check_java, open_session
from discreet.engines.spark.shards import joined, unpacked

WORDS = ["apple", "pear", "plum", "fig", "lemon"]
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def rows(n: int = 90) -> list[tuple[str, str]]:
    """Three documents of each user; some are alike, some are empty."""
    rng = np.random.default_rng(0)
    return [(f"user{i // 3}", " ".join(rng.choice([*WORDS, "other"], size=i % 7))) for i in range(n)]


@pytest.fixture(scope="module")
def table(spark):
    return spark.createDataFrame(rows(), "user string, body string")


def contents(stored: Any) -> Any:
    """The documents in the order of their numbers, as one process would have them."""
    shards = stored.shards
    batches = shards.table().toArrow().to_batches()
    parts = sorted(unpacked(iter(batches), shards.firsts, stored.n_words), key=lambda part: part[0])
    return joined([part for _, part in parts], stored.n_words)


def units(documents: Any) -> list[list[list[int]]]:
    ends, first = documents.offsets, documents.first_document
    words = [documents.words[a:b].tolist() for a, b in pairwise(ends)]
    return [words[a:b] for a, b in pairwise(first)]


@pytest.mark.parametrize("groups", [None, "user"])
def test_documents_arrive_whole_and_once(spark, table, tmp_path, groups, monkeypatch):
    """However the table is divided, and into however many shards: the same units, with the same numbers."""
    corpus = Corpus.from_texts([text for _, text in rows()], vocabulary=WORDS)
    texts = [corpus.words[a:b].tolist() for a, b in pairwise(corpus.offsets)]
    wanted = [[text] for text in texts] if groups is None else [texts[i : i + 3] for i in range(0, 90, 3)]
    found = []
    for partitions, given in ((1, table), (5, table.repartition(4))):
        stored = SparkEngine(spark, str(tmp_path), partitions=partitions).read(
            given, text="body", groups=groups, vocabulary=WORDS
        )
        documents = contents(stored)
        assert_array_equal(documents.numbers, np.arange(90))
        found.append(units(documents))
        assert stored.shards.n_units == len(wanted)
        stored.remove()
    assert found[0] == found[1]
    assert sorted(sorted(unit) for unit in found[0]) == sorted(sorted(unit) for unit in wanted)
    assert os.listdir(tmp_path) == []


@quiet
def test_a_fit_of_a_table_is_that_of_its_documents(engine, table):
    """To the bit, with those documents in the order of their numbers; and without a seed it has a guarantee."""
    options: dict[str, Any] = {"epsilon": 8.0, "n_rounds": 3, "random_state": 5}
    stored = engine.read(table, text="body", groups="user", vocabulary=WORDS)
    documents = contents(stored)
    users = np.repeat(np.arange(documents.n_units), np.diff(documents.first_document))
    corpus = Corpus(documents.words, documents.offsets, Vocabulary(WORDS, "public"), users)
    here = PrivateLDA(2, **options).fit(corpus)
    there = PrivateLDA(2, **options, engine=engine).fit(stored)
    assert_array_equal(there.components_, here.components_)
    stored.remove()
    model = PrivateLDA(2, epsilon=8.0, n_rounds=2, engine=engine).fit(
        table, text="body", groups="user", vocabulary=WORDS
    )
    assert (model.guarantee_.basis, model.guarantee_.unit) == ("proven", "user")
    assert engine.condition in model.guarantee_.reasons
    assert os.listdir(engine.shards) == []
    odd = table.withColumnRenamed("body", "document").withColumnRenamed(
        "user", "a.b `c`"
    )  # columns as people name them
    assert model.transform(odd, text="document").columns == ["a.b `c`", "document", "topics"]
    assert engine.read(odd.limit(3), text="document", groups="a.b `c`", vocabulary=WORDS).remove() is None
    mixed = model.transform(table).collect()
    assert [row["body"] for row in mixed] == [text for _, text in rows()]
    assert_allclose([row["topics"] for row in mixed], model.set_params(engine=None).transform([t for _, t in rows()]))


@quiet
def test_counts_of_spark_ml(engine, spark):
    from pyspark.ml.linalg import Vectors

    counts = np.random.default_rng(0).integers(0, 4, (12, 5))
    vectors = [Vectors.dense(row) if i % 2 else Vectors.sparse(5, list(enumerate(row))) for i, row in enumerate(counts)]
    table = spark.createDataFrame([(i // 2, vector) for i, vector in enumerate(vectors)], ["user", "counts"])
    stored = engine.read(table, counts="counts", groups="user")
    assert stored.vocabulary.words[0] == "word0"
    assert_array_equal(np.bincount(contents(stored).words, minlength=5), counts.sum(axis=0))
    model = PrivateLDA(2, epsilon=8.0, n_rounds=2, random_state=1, engine=engine).fit(table, counts="counts")
    mixed = [row["topics"] for row in model.transform(table).collect()]
    assert_allclose(mixed, model.set_params(engine=None).transform(counts))
    half = spark.createDataFrame([(1, Vectors.dense([0.5, 1.0]))], ["user", "counts"])
    with pytest.raises(InputError, match="counts must be whole"):
        engine.read(half, counts="counts")


def test_mistakes_are_one_line_and_charge_nothing(engine, table, spark, tmp_path):
    ledger = Ledger()
    model = PrivateLDA(2, engine=engine, ledger=ledger)

    def refused(match: str, table: Any = table, model: Any = model, **columns: Any) -> None:
        with pytest.raises(InputError, match=match) as error:
            model.fit(table, **columns)
        assert "\n" not in str(error.value)

    refused("has 'user', 'body'", text="boddy", vocabulary=WORDS)
    refused("name the column", vocabulary=WORDS)
    refused("Give vocabulary=", text="body")
    refused("groups= must name a column", text="body", groups="users", vocabulary=WORDS)
    refused("must hold vectors", counts="body")
    refused("no word of the vocabulary", text="body", vocabulary=["no word"])
    refused("user id is missing", spark.createDataFrame([(None, "fig")], table.schema), text="body", groups="user",
            vocabulary=WORDS)  # fmt: skip
    twice = spark.createDataFrame([("1", "fig"), ("1.0", "fig")], table.schema)
    refused("another spelling", twice, text="body", groups="user", vocabulary=WORDS)
    (tmp_path / "file").write_text("")
    nowhere = PrivateLDA(2, engine=SparkEngine(spark, str(tmp_path / "file")), ledger=ledger)
    refused("could not write shards to .*every executor", model=nowhere, text="body", vocabulary=WORDS)
    with pytest.raises(InputError, match="for a table of engine="):
        PrivateLDA(2).fit(np.ones((3, 3)), text="body")
    stored = engine.read(table, text="body", vocabulary=WORDS)
    with pytest.raises(InputError, match="same engine"):
        PrivateLDA(2).fit(stored)
    with pytest.raises(InputError, match="same engine"):
        LDA(2).fit(stored)
    with pytest.raises(InputError, match="SpectralLDA cannot read documents that an engine keeps"):
        SpectralLDA(2).fit(stored)
    for model in (SpectralLDA(2), PrivateCrossLDA(2)):
        with pytest.raises(InputError, match="runs on the threads of this machine only"):
            model.fit(table)
    with pytest.raises(InputError, match="PrivateCrossLDA runs on the threads of this machine only"):
        PrivateCrossLDA(2, engine=engine).fit(np.ones((3, 3)), collections=["a", "b", "b"])
    with pytest.raises(InputError, match="give the model engine=SparkEngine"):
        PrivateLDA(2).fit(table)
    stored.remove()
    assert not ledger.entries


SECRET = "Ann has been ill since March"
BUILT_IN = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times"
QUOTING = {
    "CAST_INVALID_INPUT": f"[CAST_INVALID_INPUT] The value '{SECRET}' of the type \"STRING\" cannot be cast to "
    '"BIGINT" because it is malformed. SQLSTATE: 22018\n== DataFrame ==\n',
    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION": f"{BUILT_IN}, most recent failure: Lost task 0.0: "
    "org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected "
    f"in record parsing: [{SECRET}].",
    "ValueError": "An exception was thrown from the Python worker. Please see the stack trace below.\n"
    f"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: not a number: '{SECRET}'\n",
    "DUPLICATED_MAP_KEY": f"[DUPLICATED_MAP_KEY] Duplicate map key {SECRET} was found. SQLSTATE: 23505",
    "USER_RAISED_EXCEPTION": f"[USER_RAISED_EXCEPTION] a row is bad: {SECRET}. SQLSTATE: P0001",
    "FAILED_EXECUTE_UDF": f"{BUILT_IN}, most recent failure: Lost task 0.0: org.apache.spark.SparkException: "
    "[FAILED_EXECUTE_UDF] User defined function (`f`: (string) => int) failed due to: java.lang.RuntimeException: "
    f"{SECRET}. SQLSTATE: 39000\nCaused by: java.lang.RuntimeException: {SECRET}\n",
    "IllegalArgumentException": f"{BUILT_IN}, most recent failure: Lost task 0.0 (10.0.0.2 executor 1): "
    f"java.lang.IllegalArgumentException: not a row: {SECRET}\n\tat com.example.Source.read(Source.java:1)",
    "NumberFormatException": f'{BUILT_IN}\nCaused by: java.lang.NumberFormatException: For input string: "{SECRET}"\n',
}


@pytest.mark.parametrize("name", QUOTING)
def test_what_spark_quotes_of_a_table_is_left_out(name):
    message = str(_told(QUOTING[name], "read the table", "Name a folder."))
    assert message.startswith(f"Spark could not read the table: {name} (the log of Spark has")
    assert not set(re.findall(r"\w{3,}", SECRET)) & set(re.findall(r"\w+", message)) - {"has"}


def test_what_spark_says_of_a_cluster_is_told():
    text = f"{BUILT_IN}\nCaused by: java.io.IOException: No space left on device\n"
    assert str(_told(text, "compute a round", "Make room.")) == (
        "Spark could not compute a round: No space left on device. Make room."
    )
    text = f"{BUILT_IN}, most recent failure: Lost task 0.3: ExecutorLostFailure (executor 1 exited). Reason: lost"
    assert "Reason: lost" in str(_told(text, "compute a round", ""))


@quiet
def test_no_value_of_a_broken_table_is_quoted(engine, spark):
    from pyspark.sql import functions as F

    table = spark.createDataFrame([(SECRET, "fig")], "user string, body string")
    ids = table.select("body", F.col("user").cast("bigint").alias("user"))
    with pytest.raises(InputError, match=r"Spark could not .*CAST_INVALID_INPUT") as error:
        engine.read(ids, text="body", groups="user", vocabulary=WORDS)
    assert "Ann" not in str(error.value)


class Unreadable:
    """Documents that were sent to a cluster, which then does not answer."""

    removed = False

    def remove(self) -> None:
        self.removed = True


CAP = {"max_tokens": 10}
OPENINGS: dict[str, tuple[tuple[Any, ...], dict[str, int]]] = {
    "open_units": ((None, 2), CAP),
    "open_variational_units": ((None, 2), CAP),
    "open_proportions": ((None, 2), CAP),
    "open_sweeps": ((2,), {}),
    "open_collapsed": ((2,), {}),
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_documents_do_not_stay_where_a_fit_cannot_begin(tmp_path, monkeypatch, opening):
    """They were sent to the cluster for this fit alone, so nobody else would remove them."""
    (given, options), sent = OPENINGS[opening], Unreadable()
    engine = SparkEngine(None, str(tmp_path))
    monkeypatch.setattr(engine, "_given", lambda corpus, groups: (sent, True))
    with pytest.raises(AttributeError):
        getattr(engine, opening)(None, *given, Key.open(1), **options)
    assert sent.removed


def test_an_executor_without_the_package_is_named(engine, table, tmp_path, monkeypatch):
    """A module that only the driver has, as discreet would be."""
    (tmp_path / "only_here.py").write_text("def check():\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(InputError, match=r"the executors cannot import only_here\. Install the same discreet"):
        engine.checking(only_here.check).read(table, text="body", vocabulary=WORDS)
    monkeypatch.delitem(sys.modules, "only_here")


def test_another_version_on_an_executor_is_refused(engine, table, monkeypatch):
    monkeypatch.setattr("discreet.engines.spark.engine.code", lambda: "of another version")
    with pytest.raises(InputError, match="another version of discreet"):
        engine.read(table, text="body", vocabulary=WORDS)


def test_an_engine_is_cloned_as_it_is_and_not_saved(engine):
    assert clone(PrivateLDA(2, engine=engine)).engine is engine
    with pytest.raises(InputError, match="cannot be saved"):
        pickle.dumps(PrivateLDA(2, engine=engine))


def test_without_java_there_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="Java 17"):
        open_session("local[1]")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match="no bin/java"):
        check_java()

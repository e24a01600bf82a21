"""Plain LDA on Spark: the bits of threads, however documents are divided; and one line for what it cannot do."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import LBLA, LDA, Corpus, InherentPrivacyMonitor, InputError, Vocabulary, engines
from discreet.engines import interface
from discreet.engines.spark import SparkEngine
from discreet.engines.threads.layout import Layout, numbers_by_rank
from tests.contract import test_engines as contract
from tests.spark.test_contract import corpus
from tests.spark.test_tables import WORDS, contents, rows


def answers(engine: Any) -> list[np.ndarray]:
    first = engine.count().copy()
    scale = np.linspace(1.0, 2.0, contract.K)
    engine.sweep(contract.table(), contract.ALPHA, 1, prior=0.1, scale=scale)
    second = engine.count().copy()
    engine.sweep(second, contract.ALPHA, 2, prior=contract.table(3), scale=scale, alpha_rest=2.0)
    return [first, second, engine.count()]


@pytest.mark.parametrize("opening", ["open_sweeps", "open_collapsed"])
def test_an_engine_answers_as_threads_do(engine, opening):
    placed = contract.opened(engine, opening)
    for name, _ in contract.members(interface.PassEngine):
        assert hasattr(placed, name)
    for here, there in zip(answers(contract.opened(engines, opening)), answers(placed), strict=True):
        assert here.dtype == there.dtype
        assert_array_equal(there, here)
    placed.close()
    assert os.listdir(engine.shards) == []


@pytest.mark.parametrize("algorithm", ["sampled", "collapsed"])
@pytest.mark.parametrize("partitions", [1, 3, 16])
def test_a_seed_gives_the_bits_of_threads(spark, tmp_path, partitions, algorithm, monkeypatch):
    monkeypatch.setattr("discreet.engines.spark.shards.TOKENS", {1: 10**6, 3: 100, 16: 1}[partitions])
    options: dict[str, Any] = {"n_sweeps": 4, "n_average": 2, "random_state": 3, "algorithm": algorithm}
    there = LDA(3, **options, engine=SparkEngine(spark, str(tmp_path), partitions=partitions)).fit(corpus())
    here = LDA(3, **options).fit(corpus())
    assert_array_equal(there.components_, here.components_)
    assert there.history_["log_likelihood"] == here.history_["log_likelihood"]
    assert "none" in there.guarantee_.summary().lower()
    assert list(tmp_path.iterdir()) == []


def test_many_topics_and_another_prior(engine):
    """Those of short documents are drawn by another kernel, chosen by the mean length of all documents."""
    options: dict[str, Any] = {"n_sweeps": 2, "random_state": 3}
    for model in (LDA(600, algorithm="sampled", **options), LBLA(3, alpha_rest=0.5, **options)):
        here = model.fit(corpus()).components_
        assert_array_equal(model.set_params(engine=engine).fit(corpus()).components_, here)


def test_a_table(engine, spark):
    table = spark.createDataFrame(rows(), "user string, body string")
    options: dict[str, Any] = {"n_sweeps": 3, "random_state": 5}
    stored = engine.read(table, text="body", vocabulary=WORDS)
    found = contents(stored)
    here = LDA(2, **options).fit(Corpus(found.words, found.offsets, Vocabulary(WORDS)))
    model = LDA(2, **options, engine=engine)
    assert_array_equal(model.fit(stored).components_, here.components_)
    stored.remove()
    assert_array_equal(model.fit(table, text="body", vocabulary=WORDS).components_, here.components_)
    assert model.fit(table, text="body").n_features_in_ == len(WORDS)  # all words of the text; "other" is a stop word
    assert model.transform(table).columns == ["user", "body", "topics"]
    assert os.listdir(engine.shards) == []


def test_what_it_cannot_do_is_one_line(engine):
    for options in ({"learn_alpha": True}, {"warm_start": True}, {"callbacks": [InherentPrivacyMonitor()]}):
        with pytest.raises(InputError, match="Leave it out, or engine="):
            LDA(2, engine=engine, **options).fit(corpus())
    with pytest.raises(InputError, match="does not group documents"):
        LDA(2, engine=engine).fit(corpus(), groups=np.arange(120))


def test_numbers_by_rank():
    for n in (1, 31, 32, 33, 120):
        documents = corpus(n)
        ranks = np.empty(n, np.int64)
        ranks[np.argsort(-documents.lengths, kind="stable")] = np.arange(n)
        assert_array_equal(Layout(documents, None).documents[numbers_by_rank(ranks, n)], np.arange(n))

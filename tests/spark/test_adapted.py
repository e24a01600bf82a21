"""AdaptedLDA on Spark: the bits of threads, tables, and neighbouring data while every task fails once."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import AdaptedLDA, Corpus, InputError, Vocabulary, fit_text
from discreet.corpus import lda_corpus
from discreet.engines.spark import SparkEngine
from discreet.engines.spark import units as spark_units
from discreet.models.knowledge import PublicKnowledge, public_knowledge
from tests.exact.test_adapted_neighbours import ATTRIBUTES, RELEASES
from tests.spark.test_contract import corpus
from tests.spark.test_neighbours import accumulated_in, fails_first
from tests.spark.test_tables import WORDS, contents, rows
from tests.support.neighbours import N_WORDS, Run, faults_of_flow, is_too_long, people, recorded, used

quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def known(vocabulary: Vocabulary, n_topics: int = 4) -> PublicKnowledge:
    text = lda_corpus(60, len(vocabulary), 3, mean_length=25, seed=8).corpus
    return public_knowledge(Corpus(text.words, text.offsets, vocabulary), vocabulary, n_topics=n_topics)


@quiet
@pytest.mark.parametrize("partitions", [1, 3, 16])
def test_a_seed_gives_the_bits_of_threads(spark, tmp_path, partitions, monkeypatch):
    """Topics and everything else that is released; users with more text than the cap are among them."""
    monkeypatch.setattr("discreet.engines.spark.shards.TOKENS", {1: 10**6, 3: 100, 16: 1}[partitions])
    text, users = corpus(), np.arange(120) // 2
    options: dict[str, Any] = {"public": known(text.vocabulary), "epsilon": 8.0, "max_tokens": 20, "random_state": 3}
    engine = SparkEngine(spark, str(tmp_path), partitions=partitions)
    there = AdaptedLDA(**options, engine=engine).fit(text, groups=users)
    here = AdaptedLDA(**options).fit(text, groups=users)
    for name in ("components_", "alpha_", "topic_shares_", *ATTRIBUTES):
        assert_array_equal(getattr(there, name), getattr(here, name))
    assert there.ledger_.entries == here.ledger_.entries
    assert list(tmp_path.iterdir()) == []


PUBLIC = Corpus.from_texts([text for _, text in rows(500)], vocabulary=[*WORDS, "melon"])


@quiet
def test_a_table(spark, engine):
    """Its words are those of the public text, and its guarantee names the cluster."""
    table = spark.createDataFrame(rows(), "user string, body string")
    model = AdaptedLDA(2, public=PUBLIC, epsilon=8.0, engine=engine).fit(table, text="body", groups="user")
    assert sorted(model.release().vocabulary) == sorted(WORDS)  # nobody has written of melons
    assert (model.guarantee_.basis, model.guarantee_.unit) == ("proven", "user")
    assert engine.condition in model.guarantee_.reasons
    assert "the text given as public= is public" in model.guarantee_.reasons
    assert len(model.transform(table).first()["topics"]) == 2
    assert os.listdir(engine.shards) == []


@quiet
def test_a_fit_of_a_table_is_that_of_its_documents(spark, engine):
    table = spark.createDataFrame(rows(), "user string, body string")
    options: dict[str, Any] = {"public": PUBLIC, "epsilon": 8.0, "random_state": 3}
    stored = engine.read(table, text="body", groups="user", vocabulary=WORDS)
    found = contents(stored)
    users = np.repeat(np.arange(found.n_units), np.diff(found.first_document))
    here = AdaptedLDA(2, **options).fit(Corpus(found.words, found.offsets, Vocabulary(WORDS, "public"), users))
    assert_array_equal(AdaptedLDA(2, **options, engine=engine).fit(stored).components_, here.components_)
    stored.remove()
    everything = engine.read(table, text="body", groups="user")  # words of the private text: fit_text leaves them out
    assert everything.vocabulary.complete
    there = fit_text(AdaptedLDA(2, **options, engine=engine), everything)
    assert sorted(there.release().vocabulary) == sorted(WORDS)
    everything.remove()
    assert os.listdir(engine.shards) == []


def test_mistakes_are_one_line(spark, engine):
    table = spark.createDataFrame(rows(3), "user string, body string")
    with pytest.raises(InputError, match="needs public="):
        AdaptedLDA(2, engine=engine).fit(table, text="body")
    with pytest.raises(InputError, match="for a table of engine="):
        AdaptedLDA(2, public=PUBLIC).fit(PUBLIC, text="body")
    with pytest.raises(InputError, match="give the model engine=SparkEngine"):
        AdaptedLDA(2, public=PUBLIC).fit(table)


# --- neighbouring data -----------------------------------------------------------------------------------------------


@pytest.fixture
def alone(spark, tmp_path):
    """One partition: a lost worker takes seconds to start anew."""
    return SparkEngine(spark, str(tmp_path / "shards"), partitions=1)


def compared(engine: SparkEngine, level: str, summed: Any) -> tuple[Run, Run, set[str]]:
    """D in a cluster that loses every task once, D′ in one that loses none."""
    d, d1, _, _ = people(level)
    public = known(d.vocabulary)

    def fit(documents: Corpus, answers: Any = None, summed: Any = spark_units.summed) -> Run:
        run = Run()
        with recorded(run, answers), patch.object(spark_units, "summed", summed):
            run.train(AdaptedLDA(public=public, epsilon=2.0, clip=2.0, random_state=5, engine=engine), documents)
        return run

    with_unit = fit(d, summed=summed)
    without = fit(d1, with_unit.noisy)
    found = faults_of_flow(with_unit, without)
    sums = zip(with_unit.events, with_unit.exact, without.exact, strict=True)
    if any(is_too_long(event, a - b) for event, a, b in sums):
        found.add("sensitivity")
    return with_unit, without, found


@pytest.mark.parametrize("level", ["document", "user"])
def test_neighbours_differ_by_one_clipped_contribution(alone, level):
    d, d1, found = compared(alone, level, fails_first)
    assert found == set()
    assert len(d.exact) == RELEASES == d.charged_for
    assert min(used(d, d1)) > 0.9  # the comparison did see the unit, and it was clipped
    assert len(d.exact[1]) == N_WORDS


def test_sums_that_count_a_lost_task_are_caught(alone, tmp_path):
    assert "sensitivity" in compared(alone, "document", accumulated_in(tmp_path))[2]

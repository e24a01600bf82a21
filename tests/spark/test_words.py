"""Words selected privately from a table of Spark: the same as from the same documents in this process."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import Corpus, InputError, PrivateLDA, PrivateVectorizer, Vocabulary, WouldLeak, fit_text
from discreet.engines.spark import SparkEngine
from tests.spark.test_tables import contents

WORDS = ["apple", "pear", "plum", "fig", "lemon", "cherry", "quince", "grape", "olive", "peach", "melon", "berry"]


def rows() -> list[tuple[int, str]]:
    """Two documents for each of 300 users, and a word that only one of them has."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=5)) for _ in range(600)]
    texts[7] += " secret"
    return [(i // 2, text) for i, text in enumerate(texts)]


@pytest.fixture(scope="module")
def table(spark):
    return spark.createDataFrame(rows(), "user int, body string")


def as_corpus(stored) -> Corpus:
    """The documents of an engine, in the order of their numbers."""
    found = contents(stored)
    users = np.repeat(np.arange(found.n_units), np.diff(found.first_document))
    words = [found.words[a:b] for a, b in pairwise(found.offsets)]
    texts = [[stored.vocabulary[word] for word in text] for text in words]
    return Corpus.from_texts(texts, groups=users)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_words_and_topics_as_in_one_process(engine, table):
    stored = engine.read(table, text="body", groups="user")
    assert stored.vocabulary.complete
    assert "secret" in stored.vocabulary
    corpus = as_corpus(stored)
    here = PrivateVectorizer(2.0, random_state=4).fit(corpus)
    there = PrivateVectorizer(2.0, random_state=4, engine=engine).fit(table, text="body", groups="user")
    assert there.vocabulary_ == here.vocabulary_
    assert set(there.vocabulary_) == set(WORDS)
    options = {"epsilon": 8.0, "n_rounds": 3, "random_state": 4}
    placed = fit_text(PrivateLDA(2, **options, engine=engine), stored)
    local = fit_text(PrivateLDA(2, **options), corpus)
    np.testing.assert_array_equal(placed.components_, local.components_)
    assert placed.ledger_.entries == local.ledger_.entries
    stored.remove()
    assert os.listdir(engine.shards) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_words_and_topics_in_two_steps_share_their_units(spark, table, tmp_path):
    """No condition says that the units might differ: they were the same when the words were selected."""
    engine = SparkEngine(spark, str(tmp_path), partitions=1)
    stored = PrivateVectorizer(4.0, engine=engine).fit_transform(table, text="body", groups="user")
    assert stored.vocabulary.origin == "private-selection"
    again = PrivateVectorizer(4.0, random_state=1, engine=engine).fit(table, text="body").to_corpus(table, text="body")
    assert again.vocabulary.cost is not None
    again.remove()
    model = PrivateLDA(2, epsilon=8.0, n_rounds=2, engine=engine).fit(stored)
    assert model.guarantee_.reasons == (engine.condition,)
    assert any("vocabulary" in entry.label for entry in model._spent)
    stored.remove()
    assert os.listdir(tmp_path) == []


def test_words_of_the_text_are_refused(engine, table):
    stored = engine.read(table, text="body")
    with pytest.raises(WouldLeak, match="read from the private text"):
        PrivateLDA(2, engine=engine).fit(stored)
    restricted = stored.restrict(Vocabulary(WORDS, "public"))
    assert restricted.vocabulary.origin == "public"
    assert "secret" not in restricted.vocabulary
    with pytest.raises(WouldLeak, match="does not hold all words"):
        PrivateVectorizer(2.0, engine=engine).fit(restricted)
    with pytest.raises(InputError, match="phrases"):
        PrivateVectorizer(2.0, engine=engine, phrases=2).fit(table, text="body")
    for one in (stored, restricted):
        one.remove()

"""Membership attacks on models that compare collections: a document is read with the table of its own collection."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from discreet._errors import InputError
from discreet.attacks.membership.bank import Plan, open_bank
from discreet.attacks.membership.recipe import Recipe, published_topics
from discreet.attacks.membership.statistics import NAMES, statistics_of
from discreet.corpus import Corpus
from tests.unit.test_best_mixture import by_scipy

LDA = Recipe("discreet.models.lda", "LDA", {"n_topics": 2, "n_sweeps": 2, "n_average": 1, "evaluate_every": 0})
CROSS = Recipe("discreet.models.cross.model", "CrossLDA", {"n_topics": 2, "n_sweeps": 2, "n_average": 1})
N, V, K = 24, 30, 3


def documents(labels: list[str]) -> Corpus:
    counts = np.random.default_rng(0).poisson(2.0, (len(labels), V))
    return Corpus.from_counts(counts, collections=np.array(labels))


@pytest.fixture
def corpus() -> Corpus:
    return documents(["east", "west", "west"] * (N // 3))


def model() -> SimpleNamespace:
    """Tables that were drawn at random, as a cross-collection model holds them."""
    rng = np.random.default_rng(1)
    return SimpleNamespace(
        components_=rng.dirichlet(np.full(V, 0.3), K),
        collection_components_=rng.dirichlet(np.full(V, 0.3), (2, K)),
        switch_=rng.random((K, 2)),
        collections_=np.array(["east", "west"]),
    )


def test_the_statistic_is_the_maximum_under_the_table_of_the_collection(corpus: Corpus) -> None:
    """By scipy's optimiser, with A = (1 − ψ)·φ + ψ·σ written out for each document."""
    tables = model()
    found = statistics_of(published_topics(tables, corpus), corpus)[NAMES.index("likelihood")]
    other = []
    for d, row in enumerate(corpus.to_counts().toarray()):
        c = d % 3 > 0
        each = []
        for collection in (int(c), int(not c)):
            chance = tables.switch_[:, [collection]]
            mixed = (1 - chance) * tables.components_ + chance * tables.collection_components_[collection]
            each.append(by_scipy(mixed, row))
        assert abs(found[d] - each[0]) < 0.015
        other.append(abs(each[1] - each[0]))
    assert min(other) > 0.1  # a wrong table would be seen


def test_a_fitted_model_is_read_as_its_release_reads_it(corpus: Corpus) -> None:
    """Expected: A of the collection, as ``Release`` mixes it."""
    fitted = CROSS.fit(corpus, 0)
    published = published_topics(fitted, corpus)
    mixed = fitted.release(corpus.vocabulary)._mixed()
    assert np.allclose(published.topics, mixed.topics.reshape(2, 2, V).transpose(1, 0, 2), atol=1e-9)
    assert (published.of_document == (np.arange(N) % 3 > 0)).all()


def test_which_recipes_compare_collections() -> None:
    assert CROSS.compares_collections
    assert Recipe("discreet.models.cross.private", "PrivateCrossLDA").compares_collections
    assert not LDA.compares_collections
    assert not Recipe.scikit_learn(2).compares_collections


def test_other_collections_are_another_bank_only_where_they_are_read(corpus: Corpus) -> None:
    swapped = replace(corpus, collections=np.asarray(corpus.collections)[::-1].copy())
    without = replace(corpus, collections=None)
    assert Plan(CROSS).stamp(corpus) != Plan(CROSS).stamp(swapped)
    assert len({Plan(LDA).stamp(one) for one in (corpus, swapped, without)}) == 1


def test_a_bank_of_a_cross_model(corpus: Corpus) -> None:
    bank = open_bank(corpus, Plan(CROSS), 8, n_processes=1)
    assert bank.statistics.shape == (8, len(NAMES), N)
    assert np.isfinite(bank.statistics).all()


def test_a_collection_that_a_half_may_lack_is_refused_before_training() -> None:
    corpus = documents(["east"] * (N - 1) + ["rare"])
    with pytest.raises(InputError, match="none of the collection 'rare'"):
        open_bank(corpus, Plan(CROSS), 8, n_processes=1)
    open_bank(corpus, Plan(LDA), 8, n_processes=1)  # which reads no collections
    text = "Ann has been ill since the beginning of March"  # --collection named the column of text
    with pytest.raises(InputError, match="none of the collection a string of 45 characters"):
        open_bank(documents(["east"] * (N - 1) + [text]), Plan(CROSS), 8, n_processes=1)


def test_documents_without_collections_are_refused() -> None:
    corpus = replace(documents(["east"] * N), collections=None)
    with pytest.raises(InputError, match="collection of each document is not known"):
        open_bank(corpus, Plan(CROSS), 8, n_processes=1)

"""CrossLDA under scikit-learn's metadata routing: the labels of collections reach every step that needs them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import LDA, CrossLDA
from discreet._errors import InputError


@pytest.fixture
def two_collections():
    """Three quarters of a document are words of its collection, the rest is anything."""
    rng = np.random.default_rng(0)
    names = np.array(["east", "west"])[np.arange(80) % 2]
    words = np.where(names == "east", 0, 10)[:, None] + rng.integers(0, 10, (80, 30))
    words = np.where(rng.random(words.shape) < 0.75, words, rng.integers(0, 20, words.shape))
    return np.array([np.bincount(row, minlength=20) for row in words]), names


def asking() -> CrossLDA:
    model = CrossLDA(2, n_sweeps=20, n_average=1, random_state=0)
    model.set_fit_request(collections=True).set_transform_request(collections=True)
    return model.set_score_request(collections=True)


def routed() -> Pipeline:
    return make_pipeline(FunctionTransformer(), asking())


def test_collections_reach_a_model_in_a_pipeline(two_collections):
    """fit, transform, fit_transform, predict and score, as called on the model itself. (Pipeline.score passes
    sample_weight on under routing, also where it is None.)"""
    counts, names = two_collections
    alone = CrossLDA(2, n_sweeps=20, n_average=1, random_state=0).fit(counts, collections=names)
    with config_context(enable_metadata_routing=True):
        pipeline = routed().fit(counts, collections=names)
        mixtures = pipeline.transform(counts, collections=names)
        again = routed().fit_transform(counts, collections=names)
        assert_array_equal(pipeline.predict(counts), alone.predict(counts))
        assert pipeline.score(counts, collections=names) == alone.score(counts, collections=names)
        plain = make_pipeline(FunctionTransformer(), LDA(2, n_sweeps=5, random_state=0)).fit(counts)
        assert plain.score(counts) == plain[-1].score(counts)
    assert_array_equal(mixtures, alone.transform(counts, collections=names))
    assert_array_equal(again, mixtures)


def test_collections_follow_the_folds(two_collections):
    """Each fold is fitted and scored with the labels of its own rows: as if it were done by hand."""
    counts, names = two_collections
    folds = KFold(4, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        found = cross_val_score(asking(), counts, cv=folds, params={"collections": names}, error_score="raise")
        search = GridSearchCV(asking(), {"n_topics": [1, 3]}, cv=folds, error_score="raise")
        search.fit(counts, collections=names)
    by_hand = [
        CrossLDA(2, n_sweeps=20, n_average=1, random_state=0)
        .fit(counts[train], collections=names[train])
        .score(counts[test], collections=names[test])
        for train, test in folds.split(counts)
    ]
    assert found.tolist() == by_hand
    assert search.best_estimator_.collections_.tolist() == ["east", "west"]


def test_documents_have_no_weights(two_collections):
    counts, names = two_collections
    for model in (CrossLDA(2, n_sweeps=5).fit(counts, names), LDA(2, n_sweeps=5).fit(counts)):
        with pytest.raises(InputError, match="documents have no weights"):
            model.score(counts, names, np.ones(80))


def test_collections_that_nobody_asked_for_are_refused(two_collections):
    """scikit-learn's own rule: passing metadata that no step has requested is an error, not silence."""
    counts, names = two_collections
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FunctionTransformer(), CrossLDA(2, n_sweeps=2, n_average=1))
        with pytest.raises(UnsetMetadataPassedError, match="collections"):
            pipeline.fit(counts, collections=names)
        with pytest.raises(UnsetMetadataPassedError, match="collections"):
            cross_val_score(CrossLDA(2, n_sweeps=2), counts, cv=2, params={"collections": names}, error_score="raise")

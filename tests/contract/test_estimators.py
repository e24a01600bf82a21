"""scikit-learn's own contract, check by check, for every estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from discreet import (
    LBLA,
    LDA,
    AdaptedLDA,
    CrossLBLA,
    CrossLDA,
    HybridCrossLBLA,
    HybridLDA,
    LaplaceCrossLBLA,
    LaplaceLDA,
    LocalLDA,
    OnlineLDA,
    OnlineLocalLDA,
    PrivateCrossLDA,
    PrivateLDA,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
)
from discreet._catalogue import MODELS
from discreet.corpus import lda_corpus
from tests.support.rounded import Rounded


class RoundedLDA(Rounded, LDA):
    pass


class RoundedLBLA(Rounded, LBLA):
    pass


class Labelled(Rounded):
    """The checks name no collections. They expect four classes, so there are four, by the length of a document."""

    def _read(self, X, *, reset, **options):
        corpus = super()._read(X, reset=reset, **options)
        return replace(corpus, collections=corpus.lengths % 4)


class RoundedCrossLDA(Labelled, CrossLDA):
    pass


class RoundedCrossLBLA(Labelled, CrossLBLA):
    pass


class RoundedPrivateCrossLDA(Labelled, PrivateCrossLDA):
    pass


class RoundedHybridCrossLBLA(Labelled, HybridCrossLBLA):
    pass


class RoundedLaplaceCrossLBLA(Labelled, LaplaceCrossLBLA):
    pass


class RoundedPrivateLDA(Rounded, PrivateLDA):
    pass


class RoundedAdaptedLDA(Rounded, AdaptedLDA):
    """The checks' tables have columns of many names; public text knows them by their numbers."""

    def _read(self, X, *, reset, **options):
        corpus = super()._read(X, reset=reset, **options)
        return replace(corpus, vocabulary=[f"word{i}" for i in range(corpus.n_words)])


PUBLIC = LDA(2, n_sweeps=5, random_state=0).fit(lda_corpus(20, 30, 2, seed=0).corpus).release()


class RoundedSubsampledLDA(Rounded, SubsampledLDA):
    pass


class RoundedHybridLDA(Rounded, HybridLDA):
    pass


class RoundedLaplaceLDA(Rounded, LaplaceLDA):
    pass


class RoundedLocalLDA(Rounded, LocalLDA):
    pass


class RoundedOnlineLDA(Rounded, OnlineLDA):
    pass


class RoundedOnlineLocalLDA(Rounded, OnlineLocalLDA):
    pass


class RoundedVariationalLDA(Rounded, VariationalLDA):
    pass


class RoundedSpectralLDA(Rounded, SpectralLDA):
    """With one topic: the checks' tables have no structure, and it refuses to make up more."""


EXPECTED_TO_FAIL: dict[str, str] = {}
"""Check → why it cannot hold."""

ONE = {"n_threads": 1}
PARTS = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": 2, **ONE}
ESTIMATORS = {
    "LDA": RoundedLDA(2, n_sweeps=3, **ONE),
    "LBLA": RoundedLBLA(2, alpha_rest=3.0, beta_rest=0.5, n_sweeps=3, **ONE),
    "CrossLDA": RoundedCrossLDA(2, n_sweeps=3, n_average=1, **ONE),
    "CrossLDA as published": RoundedCrossLDA(2, n_sweeps=3, n_average=1, as_published=True, **ONE),
    "CrossLBLA": RoundedCrossLBLA(2, n_sweeps=3, n_average=1, alpha_rest=0.5, beta_rest=0.5, **ONE),
    "CrossLBLA as published": RoundedCrossLBLA(2, n_sweeps=3, n_average=1, alpha_rest=0.5, as_published=True, **ONE),
    "PrivateLDA": RoundedPrivateLDA(2, n_rounds=2, **ONE),
    "AdaptedLDA": RoundedAdaptedLDA(2, public=PUBLIC, **ONE),
    "SubsampledLDA": RoundedSubsampledLDA(2, n_rounds=2, **ONE),
    "SubsampledLDA as published": RoundedSubsampledLDA(2, n_rounds=2, as_published=True, **ONE),
    "HybridLDA": RoundedHybridLDA(2, **PARTS),
    "HybridLDA as published": RoundedHybridLDA(2, as_published=True, **PARTS),
    "PrivateCrossLDA": RoundedPrivateCrossLDA(2, n_rounds=2, **ONE),
    "HybridCrossLBLA": RoundedHybridCrossLBLA(2, alpha_rest=0.5, beta_rest=0.5, **PARTS),
    "HybridCrossLBLA as published": RoundedHybridCrossLBLA(2, alpha_rest=0.5, as_published=True, **PARTS),
    "CDP-ccLBLA+": RoundedLaplaceCrossLBLA(2, alpha_rest=0.5, n_sweeps=2, as_published=True),
    "CDP-LDA": RoundedLaplaceLDA(2, n_sweeps=2, as_published=True),
    "CDP-LDA+": RoundedLaplaceLDA(2, every_sweep=True, n_sweeps=2, as_published=True),
    "LocalLDA": RoundedLocalLDA(2, epsilon_bit=2.0, n_sweeps=2, **ONE),
    "LocalLDA as published": RoundedLocalLDA(2, epsilon_bit=2.0, n_sweeps=2, as_published=True, **ONE),
    "OnlineLDA": RoundedOnlineLDA(2, n_sweeps=2, **ONE),
    "OnlineLocalLDA": RoundedOnlineLocalLDA(2, epsilon_bit=2.0, n_sweeps=2, **ONE),
    "OnlineLocalLDA as published": RoundedOnlineLocalLDA(2, epsilon_bit=2.0, n_sweeps=2, as_published=True, **ONE),
    "VariationalLDA": RoundedVariationalLDA(2, n_rounds=3, **ONE),
    "VariationalLDA with noise": RoundedVariationalLDA(2, epsilon=2.0, n_rounds=2, **ONE),
    "SpectralLDA": RoundedSpectralLDA(1, **ONE),
    "SpectralLDA with noise": RoundedSpectralLDA(1, epsilon=2.0, **ONE),
    "SpectralLDA, configuration 1": RoundedSpectralLDA(1, epsilon=2.0, configuration=1, **ONE),
    "SpectralLDA as published": RoundedSpectralLDA(1, epsilon=2.0, configuration=2, as_published=True, **ONE),
}


NOISY = (
    "these topics are unlikely to be useful",
    "delta=",
    "0 of 1 topics stand clear",
    "the private lower bound of",
    "the collection ",
)
"""What models warn of on tables of a few rows; tested elsewhere."""


@pytest.mark.filterwarnings(*(f"ignore:{text}" for text in NOISY))
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_contract(name):
    estimator = ESTIMATORS[name]
    found = check_estimator(estimator, expected_failed_checks=EXPECTED_TO_FAIL, on_skip=None)
    assert len(found) > 40
    skipped = {check["check_name"] for check in found if check["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # scikit-learn skips it unless SCIPY_ARRAY_API is set


def test_every_model_of_the_catalogue_is_here():
    """In every form that it has."""
    found = {(name(one), *form(one)) for one in ESTIMATORS.values()}
    wanted = set()
    for model in MODELS:
        if model.sound is not None:
            wanted.add((model.name, False, bool({"epsilon", "epsilon-bit"} & {*model.sound.needs})))
        if model.as_published is not None:
            wanted.add((model.name, True, model.as_published.private))
        if model.without_epsilon is not None:
            wanted.add((model.name, False, False))
    assert wanted <= found


def name(one):
    return type(one).__name__.removeprefix("Rounded")


def form(one):
    """Whether it is the published form, and whether it adds noise."""
    given = one.get_params()
    noise = [given.get(part) for part in ("epsilon", "epsilon_bit", "epsilon_laplace", "epsilon_inherent")]
    return given.get("as_published", False), any(part is not None for part in noise)


@pytest.mark.filterwarnings(*(f"ignore:{text}" for text in NOISY))
@pytest.mark.parametrize("model", {model.name: model for model in MODELS}.values(), ids=lambda model: model.name)
def test_the_catalogue_says_whom_a_model_protects(model):
    counts = np.random.default_rng(0).poisson(2.0, (30, 12))
    sound = [one for one in ESTIMATORS.values() if (name(one), form(one)[0]) == (model.name, False)]
    private = [one for one in sound if form(one)[1]]
    if not private:
        assert model.unit == "none"
    for one in private:
        assert one.fit(counts).guarantee_.unit == model.unit


def test_rounding_is_the_only_difference():
    counts = np.random.default_rng(0).poisson(2.0, (10, 5))
    options = {"n_topics": 2, "n_sweeps": 3, "random_state": 0}
    plain, rounded = LDA(**options).fit(counts), RoundedLDA(**options).fit(counts / 10 + 0.03)
    np.testing.assert_array_equal(plain.components_, rounded.components_)
    with pytest.raises(ValueError, match="whole"):
        LDA(**options).fit(counts + 0.3)

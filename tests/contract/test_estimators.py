"""scikit-learn's own contract, check by check, for every estimator."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from discreet import LDA, Corpus, HybridLDA, LaplaceLDA, PrivateLDA, SpectralLDA, SubsampledLDA, VariationalLDA

COUNTS = Corpus.from_counts


def whole(matrix, vocabulary=None, *, max_tokens=None):
    """Counts from any numbers: ten times each, rounded, so that uniform numbers make documents of a few tokens."""
    tenfold = matrix * 10.0
    return COUNTS(tenfold.rint() if hasattr(tenfold, "rint") else np.rint(tenfold), vocabulary, max_tokens=max_tokens)


class Rounded:
    """Makes counts of its input, as the checks pass arbitrary numbers. All else is the estimator's own."""

    def _read(self, X, *, reset, **options):
        with patch.object(Corpus, "from_counts", whole):
            return super()._read(X, reset=reset, **options)


class RoundedLDA(Rounded, LDA):
    pass


class RoundedPrivateLDA(Rounded, PrivateLDA):
    pass


class RoundedSubsampledLDA(Rounded, SubsampledLDA):
    pass


class RoundedHybridLDA(Rounded, HybridLDA):
    pass


class RoundedLaplaceLDA(Rounded, LaplaceLDA):
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
    "PrivateLDA": RoundedPrivateLDA(2, n_rounds=2, **ONE),
    "SubsampledLDA": RoundedSubsampledLDA(2, n_rounds=2, **ONE),
    "SubsampledLDA as published": RoundedSubsampledLDA(2, n_rounds=2, as_published=True, **ONE),
    "HybridLDA": RoundedHybridLDA(2, **PARTS),
    "HybridLDA as published": RoundedHybridLDA(2, as_published=True, **PARTS),
    "CDP-LDA": RoundedLaplaceLDA(2, n_sweeps=2, as_published=True),
    "CDP-LDA+": RoundedLaplaceLDA(2, every_sweep=True, n_sweeps=2, as_published=True),
    "VariationalLDA": RoundedVariationalLDA(2, n_rounds=3, **ONE),
    "VariationalLDA with noise": RoundedVariationalLDA(2, epsilon=2.0, n_rounds=2, **ONE),
    "SpectralLDA": RoundedSpectralLDA(1, **ONE),
}


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful", "ignore:delta=")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_contract(name):
    estimator = ESTIMATORS[name]
    found = check_estimator(estimator, expected_failed_checks=EXPECTED_TO_FAIL, on_skip=None)
    assert len(found) > 40
    skipped = {check["check_name"] for check in found if check["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # scikit-learn skips it unless SCIPY_ARRAY_API is set


def test_rounding_is_the_only_difference():
    counts = np.random.default_rng(0).poisson(2.0, (10, 5))
    options = {"n_topics": 2, "n_sweeps": 3, "random_state": 0}
    plain, rounded = LDA(**options).fit(counts), RoundedLDA(**options).fit(counts / 10 + 0.03)
    np.testing.assert_array_equal(plain.components_, rounded.components_)
    with pytest.raises(ValueError, match="whole"):
        LDA(**options).fit(counts + 0.3)

"""scikit-learn's own contract, check by check, for every estimator."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from discreet import LDA, Corpus, SpectralLDA, VariationalLDA

COUNTS = Corpus.from_counts


def whole(matrix, vocabulary=None):
    """Counts from any numbers: ten times each, rounded, so that uniform numbers make documents of a few tokens."""
    tenfold = matrix * 10.0
    return COUNTS(tenfold.rint() if hasattr(tenfold, "rint") else np.rint(tenfold), vocabulary)


class Rounded:
    """Makes counts of its input, as the checks pass arbitrary numbers. All else is the estimator's own."""

    def _read(self, X, *, reset):
        with patch.object(Corpus, "from_counts", whole):
            return super()._read(X, reset=reset)


class RoundedLDA(Rounded, LDA):
    pass


class RoundedVariationalLDA(Rounded, VariationalLDA):
    pass


class RoundedSpectralLDA(Rounded, SpectralLDA):
    """With one topic: the checks' tables have no structure, and it refuses to make up more."""


EXPECTED_TO_FAIL: dict[str, str] = {}
"""Check → why it cannot hold."""


@pytest.mark.parametrize(
    "estimator",
    [
        RoundedLDA(n_topics=2, n_sweeps=3, n_threads=1),
        RoundedSpectralLDA(n_topics=1, n_threads=1),
        RoundedVariationalLDA(n_topics=2, n_rounds=3, n_threads=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learn_contract(estimator):
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

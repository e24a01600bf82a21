"""Estimators on any numbers: scikit-learn's checks pass some that are no counts."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from discreet import Corpus

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

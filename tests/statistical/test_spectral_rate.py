"""The topics of SpectralLDA come nearer to the truth like N^-½, whatever α₀ and the number of words."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from discreet.corpus import lda_corpus
from discreet.evaluation import match_topics
from discreet.models.spectral import model as spectral
from discreet.models.spectral.model import SpectralLDA

N_TOPICS = 5

settings = pytest.mark.parametrize(
    ("n_words", "alpha0"), [(d, a) for d in (50, 1000) for a in (0.1, 1.0, 10.0)], ids=lambda v: f"{v}"
)


def error(n_documents, n_words, alpha0, seed, alpha0_given=None):
    """Mean ℓ1 distance of topics, without the smoothing, which no number of documents takes away."""
    drawn = lda_corpus(
        n_documents,
        n_words,
        N_TOPICS,
        mean_length=20,
        lengths="fixed",
        alpha=alpha0 / N_TOPICS,
        beta=0.3 if n_words < 100 else 0.05,
        seed=seed,
    )
    with patch.object(spectral, "SMOOTHING", 0.0):
        model = SpectralLDA(N_TOPICS, alpha0=alpha0_given or alpha0).fit(drawn.corpus)
    return match_topics(drawn.topics, model.components_).mean


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


@settings
def test_ten_times_the_documents_a_third_of_the_error(n_words, alpha0):
    """With fixed seeds, so it cannot fail by chance; the bounds are wide, and an error that stays has slope 0."""
    sizes = 3_000, 30_000
    errors = [np.mean([error(n, n_words, alpha0, seed) for seed in range(4)]) for n in sizes]
    assert -0.68 < slope(sizes, errors) < -0.38


def test_a_wrong_alpha0_does_not_converge():
    """The other half of the test above: a biased estimate is seen."""
    sizes = 3_000, 30_000
    errors = [np.mean([error(n, 50, 10.0, seed, alpha0_given=1.0) for seed in range(4)]) for n in sizes]
    assert slope(sizes, errors) > -0.3


@pytest.mark.long
@settings
def test_up_to_a_million_documents(n_words, alpha0):
    sizes = 10**3, 10**4, 10**5, 10**6
    errors = [np.mean([error(n, n_words, alpha0, seed) for seed in range(min(5, 10**5 // n) or 1)]) for n in sizes]
    print(n_words, alpha0, [f"{e:.4f}" for e in errors])
    assert -0.6 < slope(sizes[1:], errors[1:]) < -0.4
    assert errors[-1] < errors[0] / 15

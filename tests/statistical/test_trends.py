"""The standard errors of trends are those of the noise: of shares and of changes, in sizes where they are shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import PrivateTrends, Release, Trends
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary
from discreet.mechanisms.noise import add_discrete_gaussian
from discreet.privacy import Guarantee, Unit
from discreet.trends.plan import LEAST

N_TOPICS, SCALE, NOISE = 20, 4096.0, 8.0
MIX = np.array([0.6, 0.2, *np.full(N_TOPICS - 2, 0.2 / (N_TOPICS - 2))])
ALPHA = 1e-6
"""The chance that a right version fails, of each test."""


def drawn(size: float, runs: int, seed: int) -> Trends:
    """So many slices of the same size: noise of deviation ``NOISE`` units in each sum, from the real sampler."""
    steps = SCALE / NOISE
    cells = np.rint(np.tile(size * MIX, (runs, 1)) * steps).astype(np.int64)
    add_discrete_gaussian(cells, SCALE, Key.from_seed(seed), 1)
    names = tuple(map(str, range(runs)))
    return Trends(
        "year", names, cells / steps, NOISE, (("w",),) * N_TOPICS, Unit.DOCUMENT, Guarantee.none("a test"), []
    )


def bounds(n: int) -> tuple[float, float]:
    """Of the mean of n squares of standard normal numbers."""
    return tuple(chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], n) / n)


@pytest.mark.parametrize("topic", [0, 1, 7])
def test_errors_of_shares(topic):
    """20,000 slices of 100 times the error of a size: the squares of (share − truth) / error have the mean 1, up to
    1e-3 (the formula is of first order). The bounds are 0.952 and 1.050.

    Without the noise in the size the variance of the first topic would be 1 in place of 1 − 1.2 + 20 · 0.36 = 7: that
    mean is 7, and the chance to pass is nil. An error that is 5% too small gives 1.108, and passes with chance 7e-8.
    """
    trends = drawn(100 * NOISE * N_TOPICS**0.5, 20_000, seed=11)
    low, high = bounds(20_000)
    z = (trends.shares[:, topic] - MIX[topic]) / trends.standard_errors[:, topic]
    assert low - 1e-3 < float(np.mean(z**2)) < high + 1e-3


def test_errors_of_changes():
    """10,000 pairs of slices. The error of one slice alone gives 2 in place of 1."""
    trends = drawn(100 * NOISE * N_TOPICS**0.5, 20_000, seed=12)
    pairs = [trends.change(i, i + 1) for i in range(0, 200, 2)]
    shares, errors = trends.shares, trends.standard_errors
    for i, (moved, error) in enumerate(pairs):  # the fast form below is what `change` gives
        assert np.array_equal(moved, shares[2 * i + 1] - shares[2 * i])
        assert np.allclose(error, np.hypot(errors[2 * i + 1], errors[2 * i]), rtol=1e-12)
    z = (shares[1::2, 0] - shares[::2, 0]) / np.hypot(errors[1::2, 0], errors[::2, 0])
    low, high = bounds(10_000)
    assert low - 1e-3 < float(np.mean(z**2)) < high + 1e-3


@pytest.mark.parametrize("topic", [0, 1, 7])
def test_errors_hold_roughly_in_the_smallest_slices_that_are_shown(topic):
    """At 6 times the error of a size, where one slice in six is hidden by chance, a 95% interval still covers 91.5% to
    97.5%. (92.8%, 95.1% and 96.1% here, each with an error of 0.002: seven of these from the nearest bound. Errors that
    leave out the noise in the size cover half for the first topic.)"""
    trends = drawn((LEAST + 1) * NOISE * N_TOPICS**0.5, 20_000, seed=13)
    shown = trends.enough
    assert 0.8 < shown.mean() < 0.88  # Φ(1) = 0.84, with an error of 0.003
    z = (trends.shares[shown, topic] - MIX[topic]) / trends.standard_errors[shown, topic]
    assert 0.915 < float((np.abs(z) < 1.96).mean()) < 0.975


def test_errors_of_whole_runs():
    """200 seeded runs on five slices of 300 to 1,500 documents of one topic each: 1,000 independent squares per topic.
    Bounds 0.80 and 1.23. Half of the noise, or a grid that is off by a factor of √2, gives 0.25 or 2."""
    words = tuple(f"w{i}" for i in range(6))
    topics = np.kron(np.eye(3), np.full(2, 0.5))
    about = {"beta": 0.01, "method": "lda", "parameters": {}, "guarantee": Guarantee.none("a test")}
    release = Release(topics=topics * 0.9999 + 1e-4 / 6, vocabulary=words, alpha=np.full(3, 1e-3), **about)
    sizes = np.array([300, 600, 900, 1200, 1500])
    year, generator = np.repeat(np.arange(2001, 2006), sizes), np.random.default_rng(5)
    topic = generator.choice(3, len(year), p=[0.5, 0.3, 0.2])
    corpus = Corpus((2 * np.repeat(topic, 4) + np.tile([0, 1, 1, 0], len(year))), 4 * np.arange(len(year) + 1), words)
    corpus = corpus.restrict(Vocabulary(words, "public"))
    truth = np.array([np.bincount(topic[year == y], minlength=3) / (year == y).sum() for y in range(2001, 2006)])
    found = []
    for seed in range(200):
        options = {"epsilon": 1.0, "public_model": True, "random_state": seed, "n_threads": 1}
        trends = PrivateTrends(release, by="year", start=2001, end=2005, **options).fit(corpus, year).trends_
        assert trends.enough.all()
        found.append((trends.shares - truth) / trends.standard_errors)
    z = np.array(found)
    low, high = bounds(1000)
    for k in range(3):
        assert low - 0.01 < float(np.mean(z[:, :, k] ** 2)) < high + 0.01

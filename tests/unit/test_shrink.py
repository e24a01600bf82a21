"""What is made of noisy tables: exact without noise, no topics under much of it, and better than raw between."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.models.private.shrink import (
    Average,
    frequencies,
    posterior,
    profiles,
    shares,
    shrunk,
    topics,
    without_topics,
)

RULES = pytest.mark.parametrize("rule", [shrunk, posterior])


def truth(n_words=300, n_topics=6, seed=1):
    """A table whose words are spread over topics as Gamma(0.3, 0.3), and the frequencies of its words."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n_words, 0.5))
    table = share[:, None] * rng.gamma(0.3, 1 / 0.3, (n_words, n_topics))
    return table / table.sum(), table.sum(axis=1) / table.sum()


@RULES
def test_without_noise_the_table_stays(rule):
    table, share = truth()
    flat = without_topics(table, share)
    clear = (table > 0.06 * flat) & (table < 40 * flat)  # above the floor, and on the grid of ratios
    found = rule(table, np.full(table.shape, 1e-12) * flat**2, flat)
    np.testing.assert_allclose(found[clear], table[clear], rtol=0.11)  # the grid has steps of 22%
    if rule is shrunk:
        np.testing.assert_allclose(found[clear], table[clear], rtol=1e-6)


@RULES
def test_under_much_noise_no_word_has_a_topic(rule):
    table, share = truth()
    variance = np.full(table.shape, (1e4 * table.mean()) ** 2)
    noisy = table + np.random.default_rng(2).normal(0, np.sqrt(variance))
    noisy += (1 - noisy.sum(axis=0)) / len(noisy)  # topics of equal size
    found = profiles(rule(noisy, variance, without_topics(noisy, share)))
    assert np.abs(found - 1 / 6).mean() < 0.1
    if rule is posterior:
        assert np.abs(found - 1 / 6).max() < 0.12


@RULES
def test_between_it_is_nearer_to_the_truth_than_the_noisy_table(rule):
    """Squared error per word, relative to its frequency: five seeds, each a third better at least."""
    table, share = truth()
    for seed in range(5):
        deviation = 0.7 * share.mean() / 6
        noisy = table + np.random.default_rng(seed).normal(0, deviation, table.shape)
        found = rule(noisy, np.full(table.shape, deviation**2), without_topics(noisy, share))
        assert ((found - table) ** 2).sum() < 0.67 * ((noisy - table) ** 2).sum()


def test_each_cell_is_shrunk_by_its_own_noise():
    table, share = truth()
    flat = without_topics(table, share)
    variance = np.full(table.shape, 1e-30)
    variance[:, 0] = 4 * ((table - flat) ** 2).mean(axis=1)
    kept = (shrunk(table, variance, flat) - flat) / (table - flat)
    inside = table > 0.2 * flat  # the floor does not interfere
    np.testing.assert_allclose(kept[:, 1:][inside[:, 1:]], 1, rtol=1e-6)
    np.testing.assert_allclose(kept[:, 0][inside[:, 0]], (1 / 3) / (1 / 3 + 4), rtol=1e-6)


def test_frequencies_are_counts_where_there_is_no_noise_and_better_where_there_is():
    counts = np.random.default_rng(3).lognormal(5, 1.5, 2000)
    np.testing.assert_allclose(frequencies(counts, 1e-3 * counts.min()), counts / counts.sum(), rtol=1e-6)
    noisy = counts + np.random.default_rng(4).normal(0, 300, 2000)
    usual = np.maximum(noisy, 150)
    right, found, before = (np.log(x / x.sum()) for x in (counts, frequencies(noisy, 300), usual))
    assert ((found - right) ** 2).mean() < ((before - right) ** 2).mean()
    assert frequencies(np.full(5, -10.0), 1.0).sum() == pytest.approx(1)


def test_topics_profiles_and_shares_sum_to_one():
    table, _ = truth()
    np.testing.assert_allclose(shares(table), table.sum(axis=0) / table.sum())
    np.testing.assert_allclose(topics(table).sum(axis=0), 1)
    np.testing.assert_allclose(profiles(table).sum(axis=1), 1)


def test_an_average_knows_its_noise():
    rng = np.random.default_rng(5)
    ends = []
    for _ in range(400):
        average = Average.nothing(3, 2)
        for i in range(1, 9):
            average.move(rng.normal(0, 2.0, (3, 2)), np.full((3, 2), 4.0), i**-0.5)
        ends.append(average.value)
    np.testing.assert_allclose(np.var(ends, axis=0), average.variance, rtol=0.35)  # 400 draws: five deviations

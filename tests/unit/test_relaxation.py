"""Over-relaxed sweeps: what they see, and that they get further in fewer sweeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet import LDA, CrossLDA
from discreet.corpus import lda_corpus
from discreet.kernels.sums.expected import move_beyond
from discreet.training import relaxation
from discreet.training.relaxation import OverRelaxation


def tables(n, shape=(7, 3)):
    return [np.random.default_rng(seed).gamma(0.5, 4.0, shape) for seed in range(n)]


@pytest.mark.parametrize("shape", [(7, 3), (2, 5, 3)], ids=["words", "collections"])
def test_a_sweep_sees_what_lies_beyond_the_counts(shape):
    first, second, third = tables(3, shape)
    kept = [table.copy() for table in (first, second, third)]
    relaxed = OverRelaxation()
    assert relaxed.seen(first, 1) is first
    seen = relaxed.seen(second, 2)
    assert_allclose(seen, np.maximum(kept[1] + 100 / 42 * (kept[1] - kept[0]), 0), rtol=1e-14)
    assert (seen == 0).any()
    assert (seen > 0).any()
    assert_array_equal(second, kept[1])  # the run's own counts are not changed
    assert_allclose(relaxed.seen(third, 41), np.maximum(kept[2] + 100 / 81 * (kept[2] - kept[1]), 0), rtol=1e-14)
    assert_array_equal(third, kept[2])


def test_counts_that_stay_are_seen_as_they_are():
    (counts,) = tables(1)
    relaxed = OverRelaxation()
    relaxed.seen(counts.copy(), 1)
    assert_array_equal(relaxed.seen(counts, 2), counts)


def test_an_interrupted_sweep_can_be_made_again():
    """The counts are then the same as those of the call before."""
    first, second = tables(2)
    relaxed = OverRelaxation()
    relaxed.seen(first, 1)
    relaxed.seen(second, 2)
    kept = second.copy()
    assert_array_equal(relaxed.seen(second, 2), kept)


def test_the_kernel_is_its_python_body():
    counts, before = tables(2)
    again = before.copy()
    move_beyond(counts, before, 1.7)
    move_beyond.py_func(counts, again, 1.7)
    assert_array_equal(before, again)


@pytest.fixture
def unrelaxed(monkeypatch):
    """A function that ends over-relaxation."""
    return lambda: monkeypatch.setattr(relaxation, "FIRST", 0.0)


def test_fewer_sweeps_are_enough(unrelaxed):
    """With six seeds, perplexity was 540 to 551 after 40 sweeps, and without over-relaxation 620 to 648; 548 to 585
    after 60."""
    corpus = lda_corpus(3500, 1000, 30, mean_length=20, alpha=0.1, beta=0.05, seed=3).corpus
    train, test = corpus[:3000], corpus[3000:]

    def perplexity(n_sweeps: int) -> float:
        model = LDA(30, n_sweeps=n_sweeps, algorithm="collapsed", evaluate_every=0, random_state=1)
        return float(model.fit(train).perplexity(test))

    relaxed = perplexity(40)
    unrelaxed()
    assert relaxed < 560 < perplexity(40)
    assert relaxed < perplexity(60)


def test_fewer_sweeps_are_enough_for_collections(unrelaxed):
    corpus = lda_corpus(3500, 1000, 30, mean_length=20, alpha=0.1, beta=0.05, seed=3).corpus
    collections = np.arange(3500) % 2
    train, test = (
        replace(corpus[:3000], collections=collections[:3000]),
        replace(corpus[3000:], collections=collections[3000:]),
    )

    def perplexity() -> float:
        model = CrossLDA(30, n_sweeps=40, algorithm="collapsed", lag=1, random_state=1)
        return float(model.fit(train).perplexity(test))

    relaxed = perplexity()
    unrelaxed()
    assert relaxed < 615 < perplexity()

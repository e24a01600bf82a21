"""The papers' sequential sweep against enumeration of its chances, and against its own Python body."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, ncx2

from discreet._random import Key, Purpose
from discreet.kernels.sweeps.sequential import sweep_sequential

SWEEP = np.uint32(Purpose.SWEEP)


def counts_of(words, offsets, topics, n_words, n_topics):
    """n[w, k], n[k] and n[d, k] of these topics."""
    by_word, by_document = np.zeros((n_words, n_topics)), np.zeros((len(offsets) - 1, n_topics))
    np.add.at(by_word, (words, topics), 1.0)
    np.add.at(by_document, (np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), topics), 1.0)
    return by_word, by_word.sum(axis=0), by_document


def sweep(words, offsets, topics, state, alpha, beta, key, number=0, *, visited=None, python=False, **clip):
    """One sweep on copies; topics and the three tables after it."""
    topics = np.array(topics, np.uint16)
    by_word, totals, by_document = (np.array(table, float) for table in state)
    flat = np.ascontiguousarray(by_word).ravel()
    visited = np.ones(len(topics), bool) if visited is None else np.asarray(visited, bool)
    (sweep_sequential.py_func if python else sweep_sequential)(
        np.asarray(words, np.int32),
        np.asarray(offsets, np.int64),
        topics,
        visited,
        0,
        len(offsets) - 1,
        np.zeros(0, np.int64),
        0.0,
        flat,
        totals,
        by_document,
        np.asarray(alpha, float),
        beta,
        key.words,
        SWEEP,
        np.uint32(number),
        *clip.values(),
    )
    return topics, flat.reshape(by_word.shape), totals, by_document


# --- enumeration ----------------------------------------------------------------------------------------------------


def chances_of(words, offsets, start, state, alpha, beta, *, clip=np.inf, visited=None, moves=True, keeps=False):
    """Chance of every outcome; an independent and slow reading of the formula. ``moves`` and ``keeps``: wrong ways."""
    n_words, n_topics = state[0].shape
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    visited = np.ones(len(words), bool) if visited is None else visited
    chances = np.zeros((n_topics,) * len(words))
    for outcome in product(range(n_topics), repeat=len(words)):
        by_word, totals, by_document = (table.copy() for table in state)
        chance = 1.0
        for w, d, old, new, here in zip(words, document, start, outcome, visited, strict=True):
            if not here:
                chance *= float(old == new)
                continue
            own = 0.0 if keeps else np.eye(n_topics)[old]
            p = np.maximum(np.minimum(by_word[w] - own, clip), 0) + beta
            p = p / (np.maximum(totals - own, 0) + n_words * beta) * (np.maximum(by_document[d] - own, 0) + alpha)
            chance *= p[new] / p.sum()
            if moves:
                for table in (by_word[w], totals, by_document[d]):
                    table[old] -= 1
                    table[new] += 1
        chances[outcome] = chance
    return chances


WORDS, OFFSETS, START = np.array([0, 1, 0, 1]), np.array([0, 2, 4]), np.array([0, 1, 1, 0])
ALPHA, BETA = np.array([0.7, 0.4, 0.5]), 0.3
NOISE = (
    np.array([[1.5, -2.5, 0.5], [-0.25, 0.75, 2.0]]),
    np.array([0.5, -4.0, 1.0]),
    np.array([[0.5, -3.0, 0.25]] * 2),
)


@pytest.mark.parametrize("noisy", [False, True], ids=["exact", "noisy"])
@pytest.mark.parametrize("limited", [False, True], ids=["free", "clipped"])
def test_transitions_of_one_sweep(noisy, limited):
    """40,000 sweeps over four tokens and three topics against the enumerated chances of all 81 outcomes.

    A right kernel fails with probability 1e-6 (chi-square; outcomes expected fewer than 20 times are pooled). Caught
    with probability above 0.999, computed below: shared counts that do not move within the sweep, a token that stays in
    the counts, a clip that is left out (where there is one) or that is put in (where there is none).
    """
    runs, n_topics = 40_000, 3
    state = counts_of(WORDS, OFFSETS, START, 2, n_topics)
    if noisy:
        state = tuple(table + noise for table, noise in zip(state, NOISE, strict=True))
    clip = {"clip": 0.4} if limited else {}
    key, of = Key.from_seed(7), (WORDS, OFFSETS, START, state, ALPHA, BETA)
    drawn = np.array([sweep(*of, key, number, **clip)[0] for number in range(runs)]).astype(int)
    p = chances_of(*of, **clip).ravel()
    assert_allclose(p.sum(), 1)
    cells = np.where(runs * p >= 20, np.arange(p.size), p.size)  # rare outcomes together

    def pooled(values):
        sums = np.bincount(cells, values, minlength=p.size + 1)
        return sums[np.unique(cells)]

    expected = runs * pooled(p)
    seen = pooled(np.bincount(drawn @ [27, 9, 3, 1], minlength=p.size).astype(float))
    limit = chi2.isf(1e-6, len(expected) - 1)
    assert expected.min() > 5
    assert ((seen - expected) ** 2 / expected).sum() < limit
    other_clip = {"clip": np.inf} if limited else {"clip": 0.4}
    for wrong in (
        chances_of(*of, **clip, moves=False),
        chances_of(*of, **clip, keeps=True),
        chances_of(*of, **other_clip),
    ):
        far = ((runs * pooled(wrong.ravel()) - expected) ** 2 / expected).sum()
        assert ncx2.sf(limit, len(expected) - 1, far) > 0.999


# --- compiled and Python --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limited", [False, True], ids=["free", "clipped"])
def test_compiled_sweep_equals_its_python_body(limited):
    rng = np.random.default_rng(3)
    lengths, n_words, n_topics = [3, 0, 1, 700, 40], 7, 5
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words, topics = rng.integers(0, n_words, offsets[-1]), rng.integers(0, n_topics, offsets[-1])
    state = tuple(
        table + rng.normal(0, 3, table.shape) for table in counts_of(words, offsets, topics, n_words, n_topics)
    )
    visited = rng.random(offsets[-1]) < 0.6
    clip = {"clip": 2.0} if limited else {}
    both = [
        sweep(
            words, offsets, topics, state, np.full(n_topics, 0.1), 0.01, Key.from_seed(1), 4,
            visited=visited, python=python, **clip,
        )
        for python in (False, True)
    ]  # fmt: skip
    for compiled, python in zip(*both, strict=True):
        assert_array_equal(compiled, python)
    after = both[0][0]
    assert_array_equal(after[~visited], topics[~visited])
    moved = [a - b for a, b in zip(counts_of(words, offsets, after, n_words, n_topics),
                                   counts_of(words, offsets, topics, n_words, n_topics), strict=True)]  # fmt: skip
    for table, before, difference in zip(both[0][1:], state, moved, strict=True):
        assert_allclose(table - before, difference, atol=1e-10)  # counts follow the topics, noise stays


def test_a_draw_does_not_depend_on_which_other_tokens_are_visited():
    """Bits go by the token's place: with equal counts around it, the last token draws the same."""
    words, offsets, topics = np.zeros(300, int), np.array([0, 300]), np.zeros(300, int)
    state = counts_of(words, offsets, topics, 1, 4)
    only_last = np.arange(300) == 299
    first = sweep(words, offsets, topics, state, np.ones(4), 1.0, Key.from_seed(5), 1, visited=only_last)[0]
    bits = Key.from_seed(5).bits(Purpose.SWEEP, 1, 0, 600)[598:].astype(object)
    u = ((int(bits[0]) << 21) | (int(bits[1]) >> 11)) / 2**53
    weights = np.array([(299 + 1.0) / (299 + 1.0) * 300.0, 1.0, 1.0, 1.0])
    assert first[299] == np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right")

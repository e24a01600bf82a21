"""The sequential samplers of cross-collection models against the posterior over all topics and switches of a corpus."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, gammaln
from scipy.stats import chi2, ncx2

from discreet._random import Key, Purpose
from discreet.kernels.sweeps.sequential_cross import fill_topic_chances, fill_word_chances, sweep_cross
from tests.support.enumeration import pearson

SWEEP = np.uint32(Purpose.SWEEP)
K, V, C = 2, 3, 2
WORDS, OFFSETS, OF = np.array([0, 1, 0, 2]), np.array([0, 2, 4]), np.array([0, 0, 1, 1])
"""Two documents of two tokens, one in each collection; word 2 is the last one."""

GAMMA = np.array([1.5, 0.5])
ALPHA, BETA, OWN_BETA = np.array([0.4, 0.7]), np.array([0.3, 0.5, 0.2]), np.array([0.1, 0.2, 0.4])
RESTS = {"Dirichlet": (0.4, 0.8, 0.3), "Beta-Liouville": (1.3, 0.15, 2.5)}
"""Of documents, common words and own words."""

STATES = np.array(list(product(range(K), range(2), repeat=len(WORDS)))).reshape(-1, len(WORDS), 2)
"""Topic and switch of each token."""


def rests_of(name):
    return np.column_stack([RESTS[name], [prior[:-1].sum() for prior in (ALPHA, BETA, OWN_BETA)]])


def counts_of(words, offsets, of, topics, coins, n_words, n_topics, n_collections):
    """The six tables of the sampler, by adding up."""
    common, own = np.zeros((n_words, n_topics)), np.zeros((n_collections, n_words, n_topics))
    documents = np.zeros((len(offsets) - 1, n_topics))
    np.add.at(common, (words[coins == 0], topics[coins == 0]), 1.0)
    np.add.at(own, (of[coins == 1], words[coins == 1], topics[coins == 1]), 1.0)
    np.add.at(documents, (np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), topics), 1.0)
    by_switch = np.zeros((2, n_collections, n_topics))
    np.add.at(by_switch, (coins, of, topics), 1.0)
    return common, common.sum(axis=0), own, own.sum(axis=1), by_switch, documents


# --- the posterior --------------------------------------------------------------------------------------------------


def log_evidence(counts, prior, rest):
    """log of a sequence with these counts, a Beta-Liouville vector integrated out: its density's normaliser before and
    after, written with Γ and not with predictives."""
    inner, last, total = counts[:-1], counts[-1], prior[:-1].sum()
    found = gammaln(total) - gammaln(total + inner.sum()) + (gammaln(prior[:-1] + inner) - gammaln(prior[:-1])).sum()
    return found + betaln(rest + inner.sum(), prior[-1] + last) - betaln(rest, prior[-1])


@cache
def posterior(name):
    """p(z, x | words) of all states."""
    document, word, own_word = RESTS[name]
    logs = np.zeros(len(STATES))
    for s, state in enumerate(STATES):
        topics, coins = state.T
        common, _, own, _, by_switch, documents = counts_of(WORDS, OFFSETS, OF, topics, coins, V, K, C)
        logs[s] += sum(log_evidence(row, ALPHA, document) for row in documents)
        logs[s] += sum(log_evidence(row, BETA, word) for row in common.T)
        logs[s] += sum(log_evidence(own[c, :, k], OWN_BETA, own_word) for c in range(C) for k in range(K))
        each = betaln(by_switch[0] + GAMMA[0], by_switch[1] + GAMMA[1]) - betaln(*GAMMA)
        logs[s] += each.sum()
    found = np.exp(logs - logs.max())
    return found / found.sum()


# --- the samplers ---------------------------------------------------------------------------------------------------


def chances_of_words_and_topics(state, i, name, switch=None):
    """What the kernel computes for token ``i`` of a state, its own count taken out: φ and σ, chances, tables."""
    topics, coins = state.T
    others = np.arange(len(WORDS)) != i
    offsets = np.concatenate([[0], np.cumsum(others)])[OFFSETS]
    tables = counts_of(WORDS[others], offsets, OF[others], topics[others], coins[others], V, K, C)
    by_word, rests = np.empty((2, K)), rests_of(name)
    fill_word_chances(WORDS[i], OF[i], *tables[:4], BETA, OWN_BETA, rests, np.inf, by_word)
    d = np.searchsorted(OFFSETS, i, side="right") - 1

    def chances(switch):
        out = np.empty(by_word[: len(switch)].size)
        rows = by_word if len(switch) == 2 else by_word[coins[i] : coins[i] + 1]
        fill_topic_chances(tables[5][d], ALPHA, rests, rows, switch, out)
        return out

    return by_word, chances, tables


def moved(state, i, k, x):
    new = state.copy()
    new[i] = k, x
    return int(np.ravel_multi_index(new.ravel(), (K, 2) * len(WORDS)))


def token_law(i, name, joint):
    """Chance of each state after the visit of token ``i``, from each state."""
    law = np.zeros((len(STATES), len(STATES)))
    for s, state in enumerate(STATES):
        by_word, chances, (_, _, _, _, by_switch, _) = chances_of_words_and_topics(state, i, name)
        n0, n1 = by_switch[:, OF[i]]
        switch = np.array([n0 + GAMMA[0], n1 + GAMMA[1]])
        if joint:
            p = chances(switch / (n0 + n1 + GAMMA.sum())).reshape(2, K)
        else:
            p = chances(np.ones((1, K)))
            coin = switch * by_word
            p = p / p.sum() * coin / coin.sum(axis=0)
        for x, k in product(range(2), range(K)):
            law[s, moved(state, i, k, x)] = p[x, k] / p.sum()
    return law


@cache
def sweep_law(name, joint):
    laws = [token_law(i, name, joint) for i in range(len(WORDS))]
    return np.linalg.multi_dot(laws)


def stationary(law):
    values, vectors = np.linalg.eig(law.T)
    first = vectors[:, np.abs(values - 1).argmin()].real
    assert np.sort(np.abs(values))[-2] < 0.9  # there is one such law
    return first / first.sum()


@pytest.mark.parametrize("name", RESTS)
def test_joint_draws_have_the_posterior_as_their_stationary_law(name):
    """Each draw is the posterior's own conditional, so that its law does not change in a sweep."""
    target = posterior(name)
    for i in range(len(WORDS)):
        same = [
            np.flatnonzero((np.delete(STATES, i, 1) == np.delete(state, i, 0)).all(axis=(1, 2))) for state in STATES
        ]
        law = token_law(i, name, joint=True)
        for s, others in enumerate(same):
            assert_allclose(law[s, others], target[others] / target[others].sum(), rtol=1e-12)
    assert_allclose(target @ sweep_law(name, joint=True), target, atol=1e-15)
    assert np.abs(stationary(sweep_law(name, joint=True)) - target).sum() / 2 < 1e-12


@pytest.mark.parametrize("name", RESTS)
def test_the_published_alternation_has_another(name):
    """Its topic draw leaves out the factor of the switch."""
    target = posterior(name)
    found = stationary(sweep_law(name, joint=False))
    assert np.abs(found - target).sum() / 2 > 0.01
    all_topics = STATES[:, :, 0] @ [8, 4, 2, 1]
    topics = [np.bincount(all_topics, law) for law in (found, target)]
    assert np.abs(topics[0] - topics[1]).sum() / 2 > 0.01  # not in the switches alone


NO_NOISE = np.zeros(0, np.int64)


def sweep(
    words, offsets, topics, coins, tables, priors, joint, key, number=0, *, noise=NO_NOISE, clip=np.inf, python=False
):
    """One sweep on copies; topics, switches and the six tables after it."""
    topics, coins = np.array(topics, np.uint16), np.array(coins, bool)
    tables = [np.array(table) for table in tables]
    kernel = sweep_cross.py_func if python else sweep_cross
    tokens = (np.asarray(words, np.int32), np.asarray(offsets, np.int64), topics, coins)
    kernel(
        *tokens, 0, len(offsets) - 1, noise, 0.25, *tables, *priors, joint, key.words, SWEEP, np.uint32(number), clip
    )
    return topics, coins, *tables


@pytest.mark.parametrize("name", RESTS)
@pytest.mark.parametrize("joint", [False, True], ids=["alternating", "joint"])
def test_one_sweep_draws_by_its_law(name, joint):
    """40,000 sweeps over four tokens against the row of the matrix above: the kernel moves its counts as it should.

    A right kernel fails with probability 1e-6 (chi-square; outcomes expected fewer than 20 times are pooled). One that
    makes the other kind of draws, or draws by the other prior, is caught with probability above 0.999.
    """
    runs, state = 40_000, STATES[141]
    tables = counts_of(WORDS, OFFSETS, OF, *state.T, V, K, C)
    priors, key = (ALPHA, BETA, OWN_BETA, rests_of(name), GAMMA), Key.from_seed(7)
    drawn = np.empty((runs, len(WORDS), 2), int)
    for number in range(runs):
        drawn[number].T[:] = sweep(OF * V + WORDS, OFFSETS, *state.T, tables, priors, joint, key, number)[:2]
    p = sweep_law(name, joint)[141]
    cells = np.where(runs * p >= 20, np.arange(p.size), p.size)

    def pooled(values):
        return np.bincount(cells, values, minlength=p.size + 1)[np.unique(cells)]

    expected = runs * pooled(p)
    places = np.ravel_multi_index(drawn.reshape(runs, -1).T, (K, 2) * len(WORDS))
    limit = chi2.isf(1e-6, len(expected) - 1)
    assert pearson(pooled(np.bincount(places, minlength=p.size)), expected) < limit
    for wrong in (sweep_law(name, not joint), sweep_law(next(other for other in RESTS if other != name), joint)):
        assert ncx2.sf(limit, len(expected) - 1, pearson(runs * pooled(wrong[141]), expected)) > 0.999


@pytest.mark.parametrize("joint", [False, True], ids=["alternating", "joint"])
def test_compiled_sweep_equals_its_python_body_and_keeps_its_counts(joint):
    rng = np.random.default_rng(3)
    lengths, n_words, n_topics = [3, 0, 1, 400, 40], 7, 5
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = offsets[-1]
    words, topics, coins = rng.integers(0, n_words, n), rng.integers(0, n_topics, n), rng.integers(0, 2, n)
    of = np.repeat([0, 1, 0, 1, 2], lengths)
    tables = counts_of(words, offsets, of, topics, coins, n_words, n_topics, 3)
    priors = [rng.uniform(0.1, 1, size) for size in (n_topics, n_words, n_words)]
    rests = np.column_stack([[0.5, 2.0, 1.0], [prior[:-1].sum() for prior in priors]])
    given = (of * n_words + words, offsets, topics, coins, tables, (*priors, rests, GAMMA), joint, Key.from_seed(1), 4)
    compiled, plain = sweep(*given), sweep(*given, python=True)
    for found, expected in zip(compiled, plain, strict=True):
        assert_array_equal(found, expected)
    recounted = counts_of(words, offsets, of, *(table.astype(int) for table in compiled[:2]), n_words, n_topics, 3)
    for found, expected in zip(compiled[2:], recounted, strict=True):
        assert_array_equal(found, expected)
    assert (compiled[0] != topics).mean() > 0.3
    assert (compiled[1] != coins).mean() > 0.1


def test_compiled_sweep_with_noise_and_clip_equals_its_python_body():
    """Counts of a token's word get their noise before it is drawn, and keep it; draws read them from 0 to the clip."""
    rng = np.random.default_rng(4)
    n, n_words, n_topics, offsets = 60, 4, 3, np.array([0, 25, 60])
    words, topics, coins = rng.integers(0, n_words, n), rng.integers(0, n_topics, n), rng.integers(0, 2, n)
    of = np.repeat([0, 1], [25, 35])
    tables = counts_of(words, offsets, of, topics, coins, n_words, n_topics, 2)
    priors = [rng.uniform(0.1, 1, size) for size in (n_topics, n_words, n_words)]
    rests = np.column_stack([[0.5, 2.0, 1.0], [prior[:-1].sum() for prior in priors]])
    noise = rng.integers(-40, 40, n * n_topics)
    given = (of * n_words + words, offsets, topics, coins, tables, (*priors, rests, GAMMA), False, Key.from_seed(1), 4)
    compiled, plain = (sweep(*given, noise=noise, clip=3.0, python=python) for python in (False, True))
    for found, expected in zip(compiled, plain, strict=True):
        assert_array_equal(found, expected)
    recounted = counts_of(words, offsets, of, *(table.astype(int) for table in compiled[:2]), n_words, n_topics, 2)
    each, common, own = noise.reshape(n, n_topics) / 4, np.zeros((n_words, n_topics)), np.zeros((2, n_words, n_topics))
    np.add.at(common, words[coins == 0], each[coins == 0])
    np.add.at(own, (of[coins == 1], words[coins == 1]), each[coins == 1])  # by the switch before the visit
    assert_allclose(compiled[2], recounted[0] + common)
    assert_allclose(compiled[4], recounted[2] + own)
    for i in (4, 5):  # counts of switches and documents get none
        assert_array_equal(compiled[2 + i], recounted[i])
    by_word = np.empty((2, n_topics))
    far = [np.full(table.shape, value) for table, value in zip(tables[:4], (50.0, 90.0, -7.0, -5.0), strict=True)]
    fill_word_chances(1, 0, *far, *priors[1:], rests, 3.0, by_word)
    assert_allclose(by_word[0] / by_word[0, 0], 1)
    beta, own_beta = priors[1], priors[2]
    rest = (rests[1, 0] + 40) / (rests[1, 1] + 40) / (rests[1, 0] + beta[-1] + 90)
    assert_allclose(by_word[0], (beta[1] + 3) * rest)  # cut at the clip
    assert_allclose(by_word[1], own_beta[1] / own_beta[:-1].sum() * rests[2, 0] / (rests[2, 0] + own_beta[-1]))

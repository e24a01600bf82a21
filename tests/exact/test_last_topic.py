"""Sweeps under a Beta-Liouville prior: against enumeration, their Python bodies, and sweeps under a Dirichlet one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet._random import Key
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.sweeps import SPARSE_FROM, ThreadSweeps
from discreet.kernels.sweeps.last_topic import TABLE, LastTopic, take_last
from discreet.kernels.sweeps.slots import N_LAST, N_OTHER, SLOTS_SIZE, WINDOW
from discreet.kernels.sweeps.sparse import sparse_scratch, sweep_sparse
from discreet.models.beta_liouville import BetaLiouville
from tests.exact.test_sweep import KERNELS, Kernel, smooth_table, visiting
from tests.exact.test_sweep_exact import sweep as sweep_exact
from tests.support.enumeration import SHAPES, check_law, random_problem, right, transition

SWEEPS = {**KERNELS, "two visits": visiting(2), "exact": sweep_exact}

every_kernel = pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)


def liouville(rest):
    """The next draw from the posterior of the document's mixture, without the token itself."""

    def rule(n, own, alpha):
        prior = BetaLiouville(alpha[:-1].astype(float), rest, float(alpha[-1]))
        return prior.posterior_mean(n - np.eye(len(n))[own])

    return rule


def turned_over(rest):
    """The ratio of the last topic the wrong way round."""

    def rule(n, own, alpha):
        found, seen = right(n, own, alpha), (n - np.eye(len(n))[own])[:-1].sum()
        found[-1] *= (rest + seen) / (alpha[:-1].sum() + seen)
        return found

    return rule


def with_all_tokens(rest):
    """The ratio with the token itself, and the last topic's tokens, among the others."""

    def rule(n, own, alpha):
        found = right(n, own, alpha)
        found[-1] *= (alpha[:-1].sum() + n.sum()) / (rest + n.sum())
        return found

    return rule


@pytest.mark.parametrize("rest", [0.05, 8.0])
@pytest.mark.parametrize("n_topics", [2, 3])
@pytest.mark.parametrize("name", ["dense", "sparse", "exact"])
def test_transitions_of_one_sweep(name, n_topics, rest):
    """One sweep over thousands of copies of two tiny documents against the enumerated chances of all outcomes.

    A right kernel fails with probability 1e-6 (Pearson; the rarest outcome is expected over 50 times). Caught with
    probability above 0.999, computed in ``check_law``: the Dirichlet prior, for which the paper's one formula for all
    topics would be taken, and two wrong ratios.
    """
    rng = np.random.default_rng(n_topics)
    weights = rng.uniform(0.2, 1.0, (3, n_topics)).astype(np.float32)
    weights[:, -1] *= 4.0 if rest > 1 else 0.5
    alpha = rng.uniform(0.3, 0.8, n_topics).astype(np.float32)
    wrong = {
        rule.__name__: lambda *of, rule=rule: transition(*of, rule=rule)
        for rule in (right, turned_over(rest), with_all_tokens(rest))
    }

    def sweep(corpus, topics, weights, alpha, key, number):
        return SWEEPS[name](corpus, topics, weights, alpha, key, number, rest=rest)

    def law(*of):
        return transition(*of, rule=liouville(rest))

    check_law(sweep, weights, alpha, 150_000, Key.from_seed(71), law, wrong)


@pytest.mark.parametrize("rest", [0.05, 8.0])
def test_parts_of_the_last_factor_are_never_negative_and_add_up(rest):
    alpha = np.array([0.3, 0.6, 0.45])
    last = LastTopic.of(alpha, rest)
    for n_last in range(5):
        for m in range(5):
            ratio = (0.9 + m) / (rest + m)
            kept = n_last * ratio + last.beta * (ratio - last.least)
            assert kept >= 0
            assert kept + last.least * last.beta == pytest.approx((n_last + 0.45) * ratio)


@pytest.mark.parametrize("rest", [0.05, 8.0])
def test_long_documents_are_not_looked_up(rest):
    """The factor is the same function of m on both sides of the end of the table."""
    alpha, slots = np.array([0.3, 0.6, 0.45]), np.zeros(SLOTS_SIZE, np.uint64)
    last = LastTopic.of(alpha, rest)
    for m in (0, 1, TABLE - 1, TABLE, TABLE + 1, 10 * TABLE):
        slots[N_LAST], slots[N_OTHER] = 8, m + 7  # of eight tokens with the last topic, one is taken out
        found = take_last(0, np.uint64(2), last, slots)
        assert slots[N_LAST] == 7
        ratio = (last.inner + m) / (rest + m)
        assert found == np.float32(7 * ratio + 0.45 * (ratio - last.least))


@every_kernel
@pytest.mark.parametrize("n_topics", [2, 16, 17, 50])
@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("rest", [0.02, 30.0])
def test_compiled_sweep_equals_its_python_body(sweep, lengths, n_topics, rest):
    corpus, topics, weights, alpha = random_problem(lengths, n_topics, seed=n_topics)
    problem = (corpus, topics, weights + 1e-3, alpha)
    compiled, python = (sweep(*problem, Key.from_seed(41), 3, rest=rest, python=python) for python in (False, True))
    assert_array_equal(compiled, python)
    assert (compiled < n_topics).all()


@every_kernel
@pytest.mark.parametrize("n_topics", [2, 17, 50])
@pytest.mark.parametrize("lengths", [SHAPES["many documents"], [2, WINDOW // 2 + 76, 0, 40], [300] * 40])
def test_where_rest_is_the_sum_the_draws_are_those_of_the_dirichlet_prior(sweep, lengths, n_topics):
    problem = random_problem(lengths, n_topics, seed=n_topics)
    rest = problem[3][:-1].sum()
    dirichlet, same, other = (sweep(*problem, Key.from_seed(44), 3, rest=r) for r in (None, rest, 1000 * rest))
    assert_array_equal(same, dirichlet)
    assert (other != dirichlet).any()


@every_kernel
def test_a_document_does_not_notice_its_neighbours(sweep):
    corpus, topics, weights, alpha = random_problem(SHAPES["many documents"], 20, seed=9)
    key = Key.from_seed(43)
    together = sweep(corpus, topics, weights, alpha, key, 1, rest=0.2)
    for cut in (1, 7, 20, corpus.n_documents - 1):
        part = sweep(corpus, topics, weights, alpha, key, 1, rest=0.2, last=cut)
        assert_array_equal(sweep(corpus, part, weights, alpha, key, 1, rest=0.2, first=cut), together)


def test_an_engine_has_room_for_the_last_topic_beside_all_others():
    """Documents of sixteen tokens with sixteen topics, and the last topic in the list beside them."""
    n_topics = SPARSE_FROM
    corpus, _, weights, alpha = random_problem([16] * 60, n_topics, seed=2)
    engine = ThreadSweeps(corpus, n_topics, Key.from_seed(8), n_threads=1)
    assert engine.sparse
    generous = Kernel(sweep_sparse, smooth_table, lambda corpus, width: sparse_scratch(width, width))
    topics = np.tile(np.arange(16), 60)
    engine.topics[:] = topics
    words = Corpus(engine.words, engine.offsets, corpus.vocabulary)
    for number in (1, 2):
        topics = generous(words, topics, weights, alpha, engine.key, number, rest=1e-3)
        engine.sweep(weights.astype(np.float32), alpha, number, prior=0.0, scale=np.ones(n_topics), alpha_rest=1e-3)
        assert_array_equal(engine.topics, topics)
    assert len(set(topics[:16])) > 8


@pytest.mark.parametrize("n_topics", [20, SPARSE_FROM])
@pytest.mark.parametrize("kind", ["sweep", "sweep_exact"])
def test_threads_do_not_change_a_bit(kind, n_topics):
    corpus, _, weights, alpha = random_problem([40, 0, 3, 90] * 30, n_topics, seed=3, n_words=30)
    seen = []
    for n_threads in (1, 2, 3):
        engine = ThreadSweeps(corpus, n_topics, Key.from_seed(52), n_threads=n_threads)
        engine.draw_first_topics()
        for number in (1, 2, 3):
            getattr(engine, kind)(weights, alpha, number, prior=1e-3, scale=np.ones(n_topics), alpha_rest=0.3)
        seen.append(engine.topics.copy())
    for topics in seen[1:]:
        assert_array_equal(topics, seen[0])

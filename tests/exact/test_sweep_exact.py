"""The float64 sweep: how often each topic is drawn, exactly; against its Python body; against any number of threads."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet._random import Key, Purpose
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.kernels.sums.counts import padded
from discreet.kernels.sweeps.exact import UNIFORM_BITS, exact_scratch, sweep_exact
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.kernels.sweeps.slots import WINDOW, aligned
from discreet.models.hybrid.plan import inaccuracy
from tests.support.enumeration import (
    SHAPES,
    WRONG,
    check_law,
    corpus_of,
    random_problem,
    transition,
)
from tests.support.exact_draw import GAMMA, Draw, uniform

SWEEP = np.uint32(Purpose.SWEEP)


def sweep(corpus: Corpus, topics, weights, alpha, key, number, *, rest=None, first=0, last=None, python=False):
    """Topics after one sweep; ``weights`` is word × topic."""
    n_topics, width = len(alpha), padded(len(alpha))
    flat, row = aligned(corpus.n_words * width, np.float32), aligned(width, np.float32)
    flat.reshape(-1, width)[:, :n_topics] = weights
    row[:n_topics] = alpha
    last_topic = None if rest is None else LastTopic.of(alpha, rest)
    if last_topic is not None:
        row[last_topic.topic] = last_topic.least * last_topic.beta
    before, topics = flat.copy(), np.array(topics, np.uint16)
    offsets = 2 * corpus.offsets
    offsets.setflags(write=False)
    (sweep_exact.py_func if python else sweep_exact)(
        corpus.words.copy(),
        offsets,
        np.arange(corpus.n_documents, dtype=np.uint32),
        topics,
        first,
        corpus.n_documents if last is None else last,
        flat,
        row,
        last_topic,
        n_topics,
        key.words,
        SWEEP,
        np.uint32(number),
        *exact_scratch(width),
    )
    assert_array_equal(flat, before)  # frozen
    return topics


# --- one draw, all 2^53 outcomes of its bits ------------------------------------------------------------------------


def skewed(n_topics: int, seed: int) -> np.ndarray:
    """Products over fourteen orders of magnitude, largest first or last or anywhere."""
    rng = np.random.default_rng(seed)
    x = np.float32(10.0) ** rng.uniform(-14, 0, n_topics).astype(np.float32)
    return np.sort(x)[:: (-1) ** seed] if seed % 3 else x


@pytest.mark.parametrize("n_topics", [2, 3, 16, 17, 50])
@pytest.mark.parametrize("seed", range(4))
def test_chance_of_every_topic_is_within_what_is_charged(n_topics, seed):
    """|log(implemented / ideal)| ≤ K·2^-29: what ``models/hybrid/proof.md`` allows for sums, bits and the search.

    The mixed-in topic is uniform to one part in 2^32/K; it reads no word, so it is part of the ideal draw.
    """
    products = skewed(n_topics, seed)
    total = sum(Fraction(float(x)) for x in products)
    found = Draw(products).chances()
    assert sum(found) == 1
    shares = uniform(n_topics)
    ideal = [(1 - GAMMA) * Fraction(float(x)) / total + GAMMA * u for x, u in zip(products, shares, strict=True)]
    worst = max(abs(math.log(a / b)) for a, b in zip(found, ideal, strict=True))
    assert worst <= n_topics * 2.0**-29 < inaccuracy(n_topics)
    bare = [(a - GAMMA * u) / (1 - GAMMA) for a, u in zip(found, shares, strict=True)]
    errors = [abs(a - Fraction(float(x)) / total) for a, x in zip(bare, products, strict=True)]
    assert max(errors) <= Fraction(12, 2**53)  # the proof's count of roundings


def test_without_uniform_draws_the_loss_would_be_infinite():
    """The reason for γ: a topic of ideal chance 1e-18 is never drawn by 53 bits."""
    found = Draw(np.array([1.0, 1e-18], np.float32)).chances()
    assert found[1] == GAMMA / 2  # nothing but the uniform part


def test_kernel_draws_what_the_second_reading_draws():
    """Twenty thousand documents of one token: same bits, same topics."""
    n_topics, copies = 37, 20_000
    rng = np.random.default_rng(2)
    weights, alpha = rng.gamma(0.2, 1.0, (1, n_topics)) + 1e-3, rng.uniform(0.1, 1.0, n_topics)
    key = Key.from_seed(8)
    drawn = sweep(corpus_of(*[[0]] * copies), rng.integers(0, n_topics, copies), weights, alpha, key, 5)
    one = Draw(weights[0].astype(np.float32) * alpha.astype(np.float32))
    for document in range(0, copies, 17):
        high, low = key.bits(Purpose.SWEEP, 5, document, 2).tolist()
        if high >= 2 ** (32 - UNIFORM_BITS):
            assert drawn[document] == one.topic((high << 21) | (low >> 11))


def test_one_draw_in_a_million_is_uniform():
    """The tokens whose first word lies below 2^12 take the topic that their second word names, weights or not."""
    n_topics, n, key = 7, 3_000_000, Key.from_seed(9)
    bits = key.bits(Purpose.SWEEP, 1, 0, 2 * n)
    high, low = bits[0::2], bits[1::2]
    chosen = np.flatnonzero(high < 2**12)
    assert 1 <= len(chosen) <= 12  # 2.9 are expected
    weights = np.full((1, n_topics), 1e-12)
    weights[0, 3] = 1.0
    corpus = corpus_of(np.zeros(n, int), n_words=1)
    topics = sweep(corpus, np.full(n, 3), weights, np.full(n_topics, 0.1), key, 1)
    assert_array_equal(topics[chosen], (low[chosen].astype(np.uint64) * np.uint64(n_topics)) >> np.uint64(32))
    assert (np.delete(topics, chosen) == 3).all()


# --- a whole sweep --------------------------------------------------------------------------------------------------


def test_transitions_of_one_sweep():
    """As for the float32 kernels: a right one fails with probability 1e-6, wrong ones are caught with over 0.999."""
    n_topics, copies = 3, 60_000
    rng = np.random.default_rng(n_topics)
    weights = rng.uniform(0.2, 1.0, (3, n_topics)).astype(np.float32)
    alpha = rng.uniform(0.3, 0.8, n_topics).astype(np.float32)
    check_law(sweep, weights, alpha, copies, Key.from_seed(23), transition, WRONG)


@pytest.mark.parametrize("n_topics", [1, 2, 16, 17, 50])
@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
def test_compiled_sweep_equals_its_python_body(lengths, n_topics):
    corpus, topics, weights, alpha = random_problem(lengths, n_topics, seed=n_topics)
    problem = (corpus, topics, weights + 1e-3, alpha)
    compiled, python = (sweep(*problem, Key.from_seed(41), 3, python=python) for python in (False, True))
    assert_array_equal(compiled, python)
    assert (compiled < n_topics).all()


def test_compiled_sweep_equals_its_python_body_beyond_the_window():
    problem = random_problem([2, WINDOW // 2 + 76, 0, 40], 3, seed=1)
    compiled, python = (sweep(*problem, Key.from_seed(42), 3, python=python) for python in (False, True))
    assert_array_equal(compiled, python)


def test_a_document_does_not_notice_its_neighbours():
    corpus, topics, weights, alpha = random_problem(SHAPES["many documents"], 20, seed=9)
    key = Key.from_seed(43)
    together = sweep(corpus, topics, weights, alpha, key, 1)
    for cut in (1, 7, 20, corpus.n_documents - 1):
        part = sweep(corpus, topics, weights, alpha, key, 1, last=cut)
        assert_array_equal(part[corpus.offsets[cut] :], topics[corpus.offsets[cut] :])
        assert_array_equal(sweep(corpus, part, weights, alpha, key, 1, first=cut), together)


def test_threads_do_not_change_a_bit():
    corpus, _, weights, alpha = random_problem([40, 0, 3, 700] * 30, 20, seed=3, n_words=30)
    seen = []
    for n_threads in (1, 2, 3):
        engine = ThreadSweeps(corpus, 20, Key.from_seed(52), n_threads=n_threads)
        engine.draw_first_topics()
        for number in (1, 2, 3):
            engine.sweep_exact(weights, alpha, number, prior=1e-3, scale=np.ones(20))
        seen.append((engine.topics.copy(), engine.count().copy()))
    for topics, counts in seen[1:]:
        assert_array_equal(topics, seen[0][0])
        assert_array_equal(counts, seen[0][1])

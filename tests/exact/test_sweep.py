"""The frozen sweep against enumeration, against its own Python body, and against any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba import types
from numpy.testing import assert_array_equal
from scipy.stats import chi2, ncx2

from discreet._random import Key, Purpose
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.sweeps import SPARSE_FROM, ThreadSweeps
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.counts import padded
from discreet.kernels.sweeps.collapsed import collapse_documents
from discreet.kernels.sweeps.dense import dense_scratch, sweep_dense
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.kernels.sweeps.slots import WINDOW, aligned
from discreet.kernels.sweeps.sparse import smooth_sums, sparse_scratch, sweep_sparse
from discreet.models.lda import LDA, _Training
from tests.support.enumeration import (
    ALPHA_ERROR,
    SHAPES,
    WRONG,
    check_law,
    corpus_of,
    keeps_itself,
    pearson,
    random_problem,
    right,
    transition,
)

SWEEP = np.uint32(Purpose.SWEEP)


# --- one way to call every kernel -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A sweep kernel and what it wants besides words, offsets, topics, range, weights and alpha."""

    function: Any
    tables: Callable[[Corpus, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]
    scratch: Callable[[Corpus, int], tuple[np.ndarray, ...]]

    def __call__(
        self, corpus, topics, weights, alpha, key, number, *, rest=None, first=0, last=None, numbers=None, python=False
    ):
        """Topics after one sweep over the documents ``first`` to ``last - 1``; ``weights`` is word × topic."""
        numbers = np.arange(corpus.n_documents) if numbers is None else numbers
        width = padded(len(alpha))
        flat, row = aligned(corpus.n_words * width, np.float32), aligned(width, np.float32)
        flat.reshape(-1, width)[:, : len(alpha)] = weights
        row[: len(alpha)] = alpha
        last_topic = None if rest is None else LastTopic.of(alpha, rest)
        if last_topic is not None:
            row[last_topic.topic] = last_topic.least * last_topic.beta
        before, topics = flat.copy(), np.array(topics, np.uint16)
        (self.function.py_func if python else self.function)(
            corpus.words.copy(),
            corpus.offsets,
            np.asarray(numbers, np.uint32),
            topics,
            first,
            corpus.n_documents if last is None else last,
            flat,
            row,
            last_topic,
            *self.tables(corpus, flat, row),
            key.words,
            SWEEP,
            np.uint32(number),
            *self.scratch(corpus, width),
        )
        assert_array_equal(flat, before)  # frozen
        return topics


def smooth_table(corpus, weights, alpha):
    sums = np.zeros(len(weights) // LANES, np.float32)
    smooth_sums(weights, alpha, 0, corpus.n_words, sums)
    return (sums,)


def room_for(corpus, width):
    return sparse_scratch(width, min(width, padded(1 + int(corpus.lengths.max(initial=0)))))


def visiting(n_visits: int) -> Kernel:
    """The dense kernel, which visits each document so often in a row."""
    return Kernel(sweep_dense, lambda *_: (n_visits,), lambda corpus, width: dense_scratch(width))


KERNELS = {
    "dense": visiting(1),
    "sparse": Kernel(sweep_sparse, smooth_table, room_for),
}

every_kernel = pytest.mark.parametrize("sweep", KERNELS.values(), ids=KERNELS)


@every_kernel
@pytest.mark.parametrize(("n_topics", "copies"), [(2, 20_000), (3, 60_000)])
def test_transitions_of_one_sweep(sweep, n_topics, copies):
    """One sweep over thousands of copies of two tiny documents against the enumerated chances of all outcomes.

    Pearson's statistic: a right kernel fails with probability 1e-6 (chi-square; the rarest outcome is expected over
    50 times). Wrong kernels, each caught with probability above 0.999, computed below: one that leaves the token itself
    in n[d, ·], one that forgets alpha, one that does not move n[d, ·] during the sweep.
    """
    rng = np.random.default_rng(n_topics)
    weights = rng.uniform(0.2, 1.0, (3, n_topics)).astype(np.float32)
    alpha = rng.uniform(0.3, 0.8, n_topics).astype(np.float32)
    check_law(sweep, weights, alpha, copies, Key.from_seed(21), transition, WRONG)


@every_kernel
def test_transitions_with_more_topics_than_lanes(sweep):
    """Seventeen topics, one more than the lanes, and the 289 outcomes of two tokens.

    A right kernel fails with probability 1e-6; one that never draws the seventeenth topic, or leaves the token itself
    in, is caught with probability above 0.999 (computed below).
    """
    n_topics, copies = 17, 100_000
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 1.0, (2, n_topics)).astype(np.float32)
    alpha = rng.uniform(0.3, 0.8, n_topics).astype(np.float32)
    words, before = [1, 0], [16, 4]
    p = transition(words, before, weights, alpha)
    topics = sweep(corpus_of(*[words] * copies), np.tile(before, copies), weights, alpha, Key.from_seed(22), 1)
    seen = np.bincount(topics.reshape(-1, 2).astype(int) @ [n_topics, 1], minlength=p.size)
    limit = chi2.isf(ALPHA_ERROR, p.size - 1)
    assert copies * p.min() > 20
    assert pearson(seen, copies * p.ravel()) < limit
    without_last = np.where(np.arange(n_topics) < 16, weights, 1e-12)
    for wrong in (
        transition(words, before, weights, alpha, rule=keeps_itself),
        transition(words, before, without_last, alpha),
    ):
        assert ncx2.sf(limit, p.size - 1, pearson(copies * wrong, copies * p)) > 0.999


# --- several visits in a row ----------------------------------------------------------------------------------------


def visits(n_visits: int, words: Any, start: Any, weights: np.ndarray, alpha: np.ndarray, rule=right) -> np.ndarray:
    """Chance of each outcome of so many sweeps over one document."""
    chances = transition(words, start, weights, alpha, rule)
    for _ in range(n_visits - 1):
        states = product(range(len(alpha)), repeat=len(words))
        chances = sum(chances[state] * transition(words, state, weights, alpha, rule) for state in states)
    return chances


def test_transitions_of_two_visits():
    """Two visits in one call, on thousands of copies of two tiny documents, against the enumerated chances.

    A right kernel fails with probability 1e-6 (Pearson; the rarest outcome is expected over 50 times). Caught with
    probability above 0.999, computed below: one visit alone, three, and visits that leave the token itself in n[d, ·].
    """
    copies = 60_000
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.2, 1.0, (3, 2)).astype(np.float32)
    alpha = rng.uniform(0.05, 0.1, 2).astype(np.float32)  # small: topics stick, and a visit more is noticed

    wrong = {
        "one visit": lambda *of: visits(1, *of),
        "three visits": lambda *of: visits(3, *of),
        "keeps itself": lambda *of: visits(2, *of, rule=keeps_itself),
    }
    check_law(visiting(2), weights, alpha, copies, Key.from_seed(23), lambda *of: visits(2, *of), wrong)


@pytest.mark.parametrize("n_visits", [1, 2, 3, 8])
def test_no_draw_is_used_twice(n_visits):
    """Under a huge alpha two topics are a coin each, the draw's first bit: that of position v · length + i.

    Documents of all sizes about a window, so that blocks made ahead and windows made later are both read.
    """
    lengths = [1, 5, 0, 16, 17, 100, 127, 128, 129, WINDOW // 3, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 300]
    corpus = corpus_of(*([0] * n for n in lengths))
    key = Key.from_seed(24)
    topics = visiting(n_visits)(corpus, np.zeros(corpus.n_tokens), np.ones((1, 2)), np.full(2, 2.0**20), key, 5)
    for d, n in enumerate(lengths):
        draws = key.bits(Purpose.SWEEP, 5, d, n_visits * n)
        clear = abs(draws[-n:] * 2.0**-32 - 0.5) > 0.005 if n else []  # the counts move the chance by less than 0.001
        expected = draws[-n:] >> 31 if n else []
        assert_array_equal(topics[corpus.offsets[d] : corpus.offsets[d + 1]][clear], np.asarray(expected)[clear])


@pytest.mark.parametrize("lengths", [*SHAPES.values(), [2, WINDOW // 2 + 9, 0, 40]], ids=[*SHAPES, "a long document"])
def test_compiled_visits_equal_their_python_body(lengths):
    problem = random_problem(lengths, 17, seed=2)
    compiled, python = (visiting(3)(*problem, Key.from_seed(45), 3, python=python) for python in (False, True))
    assert_array_equal(compiled, python)


def test_visits_do_not_notice_the_neighbours():
    corpus, topics, weights, alpha = random_problem(SHAPES["many documents"], 20, seed=9)
    together = visiting(4)(corpus, topics, weights, alpha, Key.from_seed(46), 1)
    for cut in (1, 7, 20, corpus.n_documents - 1):
        part = visiting(4)(corpus, topics, weights, alpha, Key.from_seed(46), 1, last=cut)
        assert_array_equal(visiting(4)(corpus, part, weights, alpha, Key.from_seed(46), 1, first=cut), together)


# --- the chain ------------------------------------------------------------------------------------------------------


def chain(
    words: np.ndarray, offsets: np.ndarray, alpha: np.ndarray, beta: float, *, rule=right, mass=None
) -> np.ndarray:
    """Transition matrix between all topics of all tokens: counts → weights → one sweep of every document."""
    n_topics, n_words = len(alpha), int(words.max()) + 1
    mass = n_words * beta if mass is None else mass
    states = list(product(range(n_topics), repeat=len(words)))
    matrix = np.empty((len(states), len(states)))
    for row, state in enumerate(states):
        counts = np.zeros((n_words, n_topics))
        np.add.at(counts, (words, state), 1)
        weights = (counts + beta) / (counts.sum(axis=0) + mass)
        chances = np.ones(())
        for first, last in pairwise(offsets):
            one = transition(words[first:last], state[first:last], weights, alpha, rule)
            chances = np.multiply.outer(chances, one)
        matrix[row] = chances.ravel()
    return matrix


def stationary(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """The distribution that the chain keeps, and the size of its second eigenvalue."""
    values, vectors = np.linalg.eig(matrix.T)
    order = np.argsort(-abs(values))
    kept = np.real(vectors[:, order[0]])
    return kept / kept.sum(), float(abs(values[order[1]]))


def test_stationary_distribution_of_the_chain():
    """LDA on four tokens: 16 states, visited in proportion to the eigenvector of the enumerated transition matrix.

    The real training loop, every ninth sweep looked at: the second eigenvalue to the ninth power is below 1e-4, so the
    6,000 looks are as good as independent and Pearson's statistic exceeds the limit with probability 1e-6 (rarest state
    expected over 50 times). Caught with probability above 0.999, computed below: a kernel that leaves the token itself
    in n[d, ·], weights normalised by β in place of V β, and alpha halved.
    """
    looks, every = 6_000, 9
    alpha, beta = np.array([1.0, 0.5]), 0.6
    corpus = corpus_of([0, 1], [1, 0])
    model = LDA(
        2, alpha=alpha, beta=beta, n_average=1, evaluate_every=0, n_threads=1, random_state=31, algorithm="sampled"
    )
    training = _Training(model, corpus)
    words = training.engine.words
    p, second = stationary(chain(words, corpus.offsets, alpha, beta))
    assert second**every < 1e-4

    seen = np.zeros(16, int)
    for number in range(1, looks * every + 1):
        training.sweep(number)
        if number % every == 0:
            seen[training.engine.topics @ [8, 4, 2, 1]] += 1
    limit = chi2.isf(ALPHA_ERROR, 15)
    assert looks * p.min() > 50
    assert pearson(seen, looks * p) < limit
    for wrong in (
        chain(words, corpus.offsets, alpha, beta, rule=keeps_itself),
        chain(words, corpus.offsets, alpha, beta, mass=beta),
        chain(words, corpus.offsets, alpha / 2, beta),
    ):
        assert ncx2.sf(limit, 15, pearson(looks * stationary(wrong)[0], looks * p)) > 0.999


# --- compiled and Python --------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("n_topics", [1, 2, 16, 17, 50])
@pytest.mark.parametrize("lengths", SHAPES.values(), ids=SHAPES)
def test_compiled_sweep_equals_its_python_body(sweep, lengths, n_topics):
    problem = random_problem(lengths, n_topics, seed=n_topics)
    compiled, python = (sweep(*problem, Key.from_seed(41), 3, python=python) for python in (False, True))
    assert_array_equal(compiled, python)
    assert (compiled < n_topics).all()


@every_kernel
def test_compiled_sweep_equals_its_python_body_beyond_the_window(sweep):
    problem = random_problem([2, WINDOW + 76, 0, 40], 3, seed=1)
    compiled, python = (sweep(*problem, Key.from_seed(42), 3, python=python) for python in (False, True))
    assert_array_equal(compiled, python)


@every_kernel
def test_a_document_does_not_notice_its_neighbours(sweep):
    """Given the weights, a document's topics are its own: alone or in company, in any share of the documents."""
    corpus, topics, weights, alpha = random_problem(SHAPES["many documents"], 20, seed=9)
    key = Key.from_seed(43)
    together = sweep(corpus, topics, weights, alpha, key, 1)
    n = corpus.n_documents
    for cut in (1, 7, 20, n - 1):
        part = sweep(corpus, topics, weights, alpha, key, 1, last=cut)
        assert_array_equal(part[corpus.offsets[cut] :], topics[corpus.offsets[cut] :])
        assert_array_equal(sweep(corpus, part, weights, alpha, key, 1, first=cut), together)


@every_kernel
def test_impossible_topics_are_never_drawn(sweep):
    """A weight of zero stays zero: no rounding lets a draw fall on it."""
    corpus, topics, weights, alpha = random_problem([30] * 200, 20, seed=10)
    allowed = np.random.default_rng(0).random(weights.shape) < 0.3
    allowed[:, 4] = True
    after = sweep(corpus, topics, np.where(allowed, weights + 0.01, 0), alpha, Key.from_seed(44), 1)
    assert allowed[corpus.words, after].all()


# --- threads, types, precision --------------------------------------------------------------------------------------


def trained_topics(corpus: Corpus, n_topics: int, n_threads: int) -> np.ndarray:
    training = _Training(LDA(n_topics, n_threads=n_threads, random_state=51, algorithm="sampled"), corpus)
    for number in range(1, 7):
        training.sweep(number)
    return training.engine.topics


@pytest.mark.parametrize(
    ("lengths", "n_topics"),
    [([40, 0, 3] * 50, 20), ([5, 9], 3), ([1, 0, 0, 0, 2000], 2), ([40, 0, 9] * 20, SPARSE_FROM)],
)
def test_threads_do_not_change_a_bit(lengths, n_topics):
    corpus = random_problem(lengths, n_topics, seed=3, n_words=30)[0]
    one = trained_topics(corpus, n_topics, 1)
    for n_threads in (2, 3):
        assert_array_equal(trained_topics(corpus, n_topics, n_threads), one)


def test_threads_can_change_between_sweeps():
    corpus, _, weights, alpha = random_problem([20] * 40, 5, seed=4)
    engines = [ThreadSweeps(corpus, 5, Key.from_seed(52), n_threads=n) for n in (1, 3)]
    for engine in engines:
        engine.draw_first_topics()
        for number, n_threads in ((1, 2), (2, 1), (3, 3)):
            engine.sweep(weights, alpha, number, prior=0.0, scale=np.ones(5))
            engine.use_threads(n_threads)
    assert_array_equal(engines[0].topics, engines[1].topics)
    assert_array_equal(engines[0].count(), engines[1].count())


def test_one_signature_whatever_the_caller_passes():
    """Dtypes are settled in Corpus: no caller makes numba compile a second time."""
    counts = np.random.default_rng(0).poisson(9.0, (12, 9))
    for given in (counts.astype("int64"), counts.astype("uint8"), counts * 1.0, counts.astype("float32")):
        LDA(3, n_sweeps=2, n_threads=2, algorithm="sampled").fit(given)
        LDA(3, n_sweeps=2, algorithm="sampled").fit(sp.csr_matrix(given)).fit(sp.coo_matrix(given))
        LDA(SPARSE_FROM, n_sweeps=1, algorithm="sampled").fit(given).fit(sp.csr_matrix(given))
        LDA(3, n_sweeps=2, algorithm="collapsed").fit(given).fit(sp.csr_matrix(given))
    LDA(2, n_sweeps=1, algorithm="sampled").fit(Corpus.from_counts(counts))
    LDA(2, n_sweeps=1, algorithm="collapsed").fit(Corpus.from_counts(counts))
    dirichlet = [[s for s in kernel.function.signatures if types.none in s] for kernel in KERNELS.values()]
    assert [len(signatures) for signatures in dirichlet] == [1, 1]
    assert len([s for s in collapse_documents.signatures if s[11] == types.none and s[10] != types.none]) == 1


HIGHEST = (252_808, 2)
LOWEST = (1_826_235, 7)
"""Sweep and document whose first draw under the key of seed 0 has only ones, or only zeros, in its high 24 bits."""


@every_kernel
@pytest.mark.parametrize(
    ("place", "draw", "weights", "drawn"),
    [
        pytest.param(HIGHEST, 1 - 2**-24, [1 - 2**-24, 2**-24], 1, id="2^-24 can be drawn"),
        pytest.param(HIGHEST, 1 - 2**-24, [1, 2**-25], 0, id="2^-25 is lost in the sum"),
        pytest.param(LOWEST, 0, [2**-40, 1], 0, id="the first topic keeps the draw 0"),
        pytest.param(LOWEST, 0, [0, 1], 1, id="unless its weight is zero"),
    ],
)
def test_resolution_of_a_draw(sweep, place, draw, weights, drawn):
    """Draws are multiples of 2^-24 and sums float32, so a topic's mass is a multiple of 2^-24 too.

    The smallest probability that keeps its mass is 2^-24. Below it a topic at the end of the sum gets none, and a topic
    at its very beginning is rounded up to 2^-24, the mass of the draw 0. Plain LDA does not mind; a proof about
    the implemented draw (models/hybrid/proof.md, "The draw as implemented") would.
    """
    number, document = place
    key = Key.from_seed(0)
    assert (key.bits(Purpose.SWEEP, number, document, 1)[0] >> 8) * 2.0**-24 == draw
    corpus = corpus_of(*[[0]] * 16)
    topics = sweep(corpus, np.zeros(16), np.array([weights]), np.ones(2), key, number)
    assert topics[document] == drawn

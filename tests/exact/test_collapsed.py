"""The collapsed step against a dense computation, against its own Python body, and against any number of threads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet import LBLA, LDA
from discreet._random import Key, Purpose
from discreet.corpus import lda_corpus
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.collapsed import ThreadCollapsed
from discreet.kernels.lanes import LANES
from discreet.kernels.sums.counts import padded
from discreet.kernels.sweeps.collapsed import MOST, LastShare, OwnWords, collapse_documents, collapsed_scratch
from discreet.kernels.sweeps.pairs import count_pairs, find_pairs
from discreet.kernels.sweeps.scatter import KOROBOV, _scattered, scatter_counts, scatter_scratch
from discreet.kernels.sweeps.slots import aligned

SHAPES = {"one": [5], "some": [3, 0, 40, 1, 17], "many": [2, 9, 0, 30, 1, 1, 64, 33] * 3}
N_WORDS = 23


class Problem(NamedTuple):
    """One step: pairs of document and word, the tables, and the expected counts before it."""

    words: Any
    counts: Any
    offsets: Any
    expected: Any
    weights: Any
    alpha: Any
    scale: Any
    """What one token adds to a weight, per topic."""
    least: Any

    @property
    def n_topics(self) -> int:
        return len(self.alpha)


def problem(n_different: list[int], n_topics: int, seed: int = 0) -> Problem:
    """Documents of so many different words."""
    rng = np.random.default_rng(seed)
    words = np.concatenate([rng.permutation(np.arange(max(N_WORDS, n)))[:n] % 64 for n in n_different]).astype(np.int32)
    counts = rng.integers(1, 5, len(words)).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(n_different)])
    offsets.setflags(write=False)
    expected = rng.gamma(0.3, 5.0, (len(n_different), n_topics)).astype(np.float32)
    expected[np.array(n_different) == 0] = 0
    scale = rng.uniform(1e-3, 3e-3, n_topics).astype(np.float32)
    weights = ((rng.gamma(0.2, 30.0, (64, n_topics)) + 0.01) * scale).astype(np.float32)
    return Problem(words, counts, offsets, expected, weights, rng.uniform(0.05, 1, n_topics), scale, 0.01 * scale)


def rows(table: Any, dtype: type = np.float32) -> Any:
    """Flat, with rows of whole lanes."""
    table = np.atleast_2d(table)
    wide = aligned(len(table) * padded(table.shape[1]), dtype)
    wide.reshape(len(table), -1)[:, : table.shape[1]] = table
    return wide


def step(
    given: Problem, *, own_words: bool = True, rest: float | None = None, python: bool = False, cuts: tuple = ()
) -> tuple[Any, Any]:
    """Expected counts after the step, document × topic, and the sums, word × topic, in steps of 2^-16 of a token."""
    n, n_topics = len(given.expected), given.n_topics
    width = padded(n_topics)
    expected, sums = rows(given.expected), np.zeros(64 * width, np.uint32)
    counts = np.append(given.counts, np.ones(LANES, np.float32))
    owns = OwnWords(rows(given.scale), rows(given.least)) if own_words else None
    last_share = None
    if rest is not None:
        lengths = np.add.reduceat(np.append(given.counts, 0), given.offsets[:-1]) * (np.diff(given.offsets) > 0)
        last_share = LastShare.of(given.alpha, rest, lengths.astype(np.int64), expected.reshape(n, width))
    tables = (rows(given.weights), rows(given.alpha), owns, last_share, *collapsed_scratch(width), sums)
    kernel = collapse_documents.py_func if python else collapse_documents
    ends = [0, *cuts, n]
    with np.errstate(all="ignore"):  # places of a batch that hold no pair
        for first, last in pairwise(ends):
            documents = (given.words, counts, counts * np.float32(2**16), given.offsets, np.arange(n, dtype=np.uint32))
            kernel(*documents, expected, first, last, *tables)
    return expected.reshape(n, width)[:, :n_topics], sums.reshape(64, width)[:, :n_topics]


def dense(given: Problem, *, own_words: bool = True, own_document: bool = True, rest: float | None = None) -> Any:
    """The same in float64, from the formula."""
    after, totals = np.zeros(given.expected.shape), np.zeros((64, given.n_topics))
    for d in range(len(after)):
        pairs = slice(given.offsets[d], given.offsets[d + 1])
        length = given.counts[pairs].sum()
        tilt = np.ones(given.n_topics)
        if rest is not None and length:
            inner = given.alpha[:-1].sum()
            m = (length - 1) * (1 - min(given.expected[d, -1] / length, 1))
            tilt[-1] = (inner + m) / (rest + m)
        factor = given.expected[d] + given.alpha
        for w, c in zip(given.words[pairs], given.counts[pairs], strict=True):
            p = given.weights[w] * factor * tilt
            p = p / p.sum()
            weight = np.maximum(given.weights[w] - c * p * given.scale, given.least) if own_words else given.weights[w]
            q = weight * tilt * (np.maximum(factor - p, given.alpha) if own_document else factor)
            q *= c / q.sum()
            after[d] += q
            totals[w] += q
    return after, totals


# --- the formula ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [1, 2, 16, 17, 50, 140])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("own_words", "rest"), [(True, None), (False, None), (True, 3.0), (False, 0.2)])
def test_a_step_is_the_dense_computation(shape, n_topics, own_words, rest):
    if n_topics == 1:
        rest = None  # one topic has the share 1 whatever the prior
    given = problem(shape, n_topics, seed=n_topics)
    after, sums = step(given, own_words=own_words, rest=rest)
    wanted, totals = dense(given, own_words=own_words, rest=rest)
    assert_allclose(after, wanted, rtol=1e-4, atol=1e-5)
    assert_allclose(sums / 2**16, totals, rtol=1e-4, atol=len(shape) / 2**16)
    assert_allclose(after.sum(axis=1), dense(given)[0].sum(axis=1), rtol=1e-5)  # every token is counted once


def test_wrong_steps_are_not_within_that_tolerance():
    given = problem(SHAPES["some"], 17, seed=17)
    after, _ = step(given)
    for wrong in ({"own_words": False}, {"own_document": False}, {"rest": 3.0}):
        assert not np.allclose(after, dense(given, **wrong)[0], rtol=1e-3, atol=1e-3)


def test_a_dirichlet_prior_written_as_beta_liouville_gives_the_same_bits():
    given = problem(SHAPES["many"], 20)
    for one, other in zip(step(given), step(given, rest=float(given.alpha[:-1].sum())), strict=True):
        assert_array_equal(one, other)


# --- bits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [2, 17, 140])
@pytest.mark.parametrize("rest", [None, 3.0])
@pytest.mark.parametrize("own_words", [True, False])
def test_compiled_step_equals_its_python_body(n_topics, rest, own_words):
    given = problem(SHAPES["some"], n_topics, seed=n_topics)
    compiled, python = (step(given, own_words=own_words, rest=rest, python=python) for python in (False, True))
    for one, other in zip(compiled, python, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("cuts", [(1,), (2, 3), (7, 8, 20), (23,)])
def test_a_document_does_not_notice_its_neighbours(cuts):
    """However documents are divided into pieces, and pairs into batches."""
    given = problem(SHAPES["many"], 20, seed=9)
    for one, other in zip(step(given), step(given, cuts=cuts), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize(("mean_length", "n_topics"), [(3, 5), (40, 20), (200, 150)])
def test_threads_do_not_change_a_bit(mean_length, n_topics):
    corpus = lda_corpus(120, 40, 5, mean_length=mean_length, seed=3).corpus
    fitted = [
        LDA(n_topics, n_sweeps=25, n_threads=n, random_state=5, algorithm="collapsed", learn_alpha=True).fit(corpus)
        for n in (1, 2, 3)
    ]
    for other in fitted[1:]:
        assert_array_equal(fitted[0].components_, other.components_)
        assert_array_equal(fitted[0].alpha_, other.alpha_)
        assert fitted[0].history_ == other.history_


def test_threads_do_not_change_a_bit_of_a_beta_liouville_model():
    corpus = lda_corpus(120, 40, 5, mean_length=30, seed=3).corpus
    options = {"n_sweeps": 8, "random_state": 5, "algorithm": "collapsed"}
    one, three = (LBLA(6, alpha_rest=2.0, beta_rest=0.3, n_threads=n, **options).fit(corpus) for n in (1, 3))
    assert_array_equal(one.components_, three.components_)


# --- sums in whole numbers ------------------------------------------------------------------------------------------


def test_small_shares_are_not_lost_in_large_sums():
    """2,000 documents that give a topic 0.05 of a token each, in steps of whole tokens: rounded, they would give 0, and
    always rounded up 2,000. With fractions that cover [0, 1) evenly the sum of 100 is off by less than 5."""
    n, width = 2000, 16
    words, counts = np.zeros(n, np.int32), np.ones(n + LANES, np.float32)
    offsets = np.arange(n + 1)
    offsets.setflags(write=False)
    expected, sums = np.zeros(n * width, np.float32), np.zeros(width, np.uint32)
    weights, alpha = rows([[0.95, 0.05]]), rows([1e6, 1e6])
    documents = (words, counts, counts, offsets, np.arange(n, dtype=np.uint32), expected, 0, n)
    collapse_documents(*documents, weights, alpha, None, None, *collapsed_scratch(width), sums)
    assert abs(int(sums[1]) - 100) < 5
    assert abs(int(sums[0]) - 1900) < 5
    assert not sums[2:].any()


def test_sums_cannot_overflow():
    """The scale of a word: all of its tokens, and a step for each of its documents, stay below 2^32."""
    corpus = Corpus(np.repeat([0, 1, 2], [1, 1000, 5000]), np.arange(0, 6002, 6001), ["a", "b", "c"])
    engine = ThreadCollapsed(corpus, 2, Key.from_seed(1))
    assert_array_equal(np.log2(engine._scale) % 1, 0)
    assert (engine._scale * corpus.word_counts <= MOST).all()
    assert (2 * engine._scale * corpus.word_counts > MOST).all()


def test_pairs_are_the_different_words_of_each_document():
    words = np.array([3, 1, 3, 3, 2, 1, 1, 0], np.int32)
    offsets, documents = np.array([0, 4, 4, 8]), np.array([2, 0, 1])
    found, counts, starts = np.zeros(8, np.int32), np.zeros(8, np.float32), np.zeros(4, np.int64)
    find_pairs(words, offsets, documents, np.full(4, -1), found, counts, starts)
    assert_array_equal(starts, [0, 3, 5, 5])
    assert_array_equal(found[:5], [2, 1, 0, 3, 1])
    assert_array_equal(counts[:5], [1, 2, 1, 3, 1])
    topics = np.array([0, 1, 1, 0, 2, 2, 1, 0], np.uint16)
    expected, sums = np.zeros(3 * 16, np.float32), np.zeros(4 * 16, np.uint32)
    count_pairs(found, counts, counts * 10, starts, topics, 0, 3, 0, 16, expected, sums)
    assert_array_equal(expected.reshape(3, 16)[:, :3], [[2, 2, 0], [1, 1, 2], [0, 0, 0]])
    assert_array_equal(sums.reshape(4, 16)[:, :3], 10 * np.array([[1, 0, 0], [1, 2, 0], [1, 0, 0], [0, 1, 2]]))


# --- scattered counts -----------------------------------------------------------------------------------------------


def wanted_scatter(n: Any, r: Any) -> Any:
    u, v = (r + 0.5) / 2**16, (r * int(KOROBOV) % 2**16 + 0.5) / 2**16
    return np.floor(n + np.minimum(n, np.sqrt(3 * n)) * (2 * v - 1) + u)


@pytest.mark.parametrize("n", [0.0, 0.002, 0.01, 0.3, 1.0, 2.6, 3.0, 17.2, 800.0])
def test_scattered_counts_have_the_expectation_and_about_its_variance(n):
    """Over all sixteen random bits, so without chance."""
    r = np.arange(2**16, dtype=np.uint32)
    found = np.concatenate([_scattered(np.full(LANES, n, np.float32), part) for part in r.reshape(-1, LANES)])
    assert_array_equal(found, np.rint(found))
    assert found.min() >= 0
    assert found.mean() == pytest.approx(n, rel=5e-3, abs=2e-5)
    if n >= 3:
        assert found.var() == pytest.approx(n, rel=0.1)
    else:
        assert 0.4 * n <= found.var() <= 1.02 * n


@pytest.mark.parametrize("width", [16, 48, 64, 112])
def test_a_count_is_scattered_by_its_own_draw(width):
    """By those of its document, whatever the others, and by the compiled kernel and its Python body alike."""
    key, n_documents = Key.from_seed(4), 11
    before = np.random.default_rng(1).gamma(0.5, 6.0, (n_documents, width)).astype(np.float32)
    numbers = np.arange(100, 100 + n_documents, dtype=np.uint32)

    def scattered(kernel: Any, *ends: int) -> Any:
        counts = rows(before)
        for first, last in pairwise(ends):
            stream = (key.words, np.uint32(Purpose.DOCUMENT_COUNTS), np.uint32(3))
            kernel(numbers, counts, first, last, width, *stream, scatter_scratch())
        return counts.reshape(n_documents, width)

    after = scattered(scatter_counts, 0, n_documents)
    for d, number in enumerate(numbers.tolist()):
        bits = key.bits(Purpose.DOCUMENT_COUNTS, 3, number, 16 * -(-width // 32)).reshape(-1, 16).astype(np.int64)
        r = np.concatenate([bits & 0xFFFF, bits >> 16], axis=1).ravel()[:width]
        wanted = wanted_scatter(before[d].astype(np.float64), r)
        assert (after[d] == wanted).mean() > 0.98  # float32 may round a number to the whole one above it
        assert np.abs(after[d] - wanted).max() <= 1
    assert_array_equal(scattered(scatter_counts, 0, 4, 5, n_documents), after)
    assert_array_equal(scattered(scatter_counts.py_func, 0, n_documents), after)


def test_counts_of_another_sweep_are_scattered_otherwise():
    corpus = lda_corpus(50, 30, 3, mean_length=30, seed=2).corpus
    engines = [ThreadCollapsed(corpus, 4, Key.from_seed(1), n_threads=1) for _ in range(3)]
    for engine, number in zip(engines, (1, 1, 2), strict=True):
        engine.draw_first_topics()
        engine.sweep(engine.count(), np.full(4, 0.1), number, prior=0.1, scale=np.ones(4))
    one, same, other = (engine._by_document() for engine in engines)
    assert_array_equal(one, same)
    assert (one != other).any()
    assert_array_equal(engines[0].count(), engines[2].count())  # what is counted is expected, not scattered
    assert_array_equal(one[:, 4:], 0)

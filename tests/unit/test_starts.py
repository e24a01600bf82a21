"""First topics of tokens: uniform ones, and those that a round of PrivateLDA starts from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2, ncx2

from discreet._random import Key, Purpose
from discreet.kernels.sums.counts import padded
from discreet.kernels.sweeps.slots import BITS_SIZE, SLOTS_SIZE, aligned
from discreet.kernels.sweeps.starts import first_topics, running_sums, topics_by_word

START = np.uint32(Purpose.ROUND_START)


def bodies(function):
    """The compiled function and its Python body."""
    return pytest.mark.parametrize("kernel", [function, function.py_func], ids=["compiled", "python"])


@bodies(first_topics)
@pytest.mark.parametrize("n_topics", [1, 3, 1000])
def test_first_topics_read_the_stream_and_nothing_else(kernel, n_topics):
    lengths, key = [3, 0, 20, 1], Key.from_seed(2)
    topics = np.zeros(24, np.uint16)
    offsets, bits, slots = np.array([0, 3, 3, 23, 24]), np.zeros(BITS_SIZE, np.uint32), np.zeros(SLOTS_SIZE, np.uint64)
    numbers = np.arange(4, dtype=np.uint32)
    kernel(offsets, numbers, topics, 0, 4, n_topics, key.words, np.uint32(2), np.uint32(0), bits, slots)
    draws = np.concatenate([key.bits(Purpose.FIRST_TOPICS, 0, d, n) for d, n in enumerate(lengths)])
    assert_array_equal(topics, [int(r) * n_topics >> 32 for r in draws])


# --- topics by word -------------------------------------------------------------------------------------------------


def tables(weights: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Flat float32 table and its running sums, as the engine makes them."""
    n_words, n_topics = weights.shape
    width = padded(n_topics)
    table, row = aligned(n_words * width, np.float32), aligned(width, np.float32)
    table.reshape(n_words, width)[:, :n_topics] = weights
    row[:n_topics] = alpha
    sums = np.empty_like(table)
    running_sums(table, row, sums)
    return table.reshape(n_words, width) * row, sums, width


def drawn(kernel, words, offsets, numbers, sums, width, key, number=4, first=0, last=None) -> np.ndarray:
    topics = np.zeros(len(words), np.uint16)
    bits, slots = np.zeros(BITS_SIZE, np.uint32), np.zeros(SLOTS_SIZE, np.uint64)
    span = (first, len(offsets) - 1 if last is None else last)
    stream = (key.words, START, np.uint32(number), bits, slots)
    kernel(
        np.asarray(words, np.int32),
        np.asarray(offsets),
        np.asarray(numbers, np.uint32),
        topics,
        *span,
        sums,
        width,
        *stream,
    )
    return topics


@bodies(topics_by_word)
@pytest.mark.parametrize("n_topics", [1, 3, 16, 40, 100])
def test_topics_by_word_find_the_mark_among_the_running_sums(kernel, n_topics):
    """Against a linear search. Some weights are zero; a word without any weight gets topic 0."""
    rng, key = np.random.default_rng(n_topics), Key.from_seed(8)
    weights = rng.gamma(0.3, 1.0, (7, n_topics)) * (rng.uniform(size=(7, n_topics)) < 0.7)
    weights[3] = 0
    lengths, numbers = [5, 0, 30, 1, 2000 if kernel is topics_by_word else 40], [9, 2, 2**31, 0, 77]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = rng.integers(0, 7, offsets[-1])
    _, sums, width = tables(weights, rng.uniform(0.05, 2, n_topics))
    found = drawn(kernel, words, offsets, numbers, sums, width, key)
    bits = np.concatenate([key.bits(Purpose.ROUND_START, 4, d, n) for d, n in zip(numbers, lengths, strict=True)])
    rows = sums.reshape(7, width)[words]
    marks = (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) * rows[:, -1]
    assert_array_equal(found, ((rows <= marks[:, None]) & (rows < rows[:, -1:])).sum(axis=1))
    assert found.max() < n_topics
    assert not found[words == 3].any()


def test_the_law_of_topics_by_word():
    """Chi-square of 200,000 draws for one word over 20 topics: a right kernel fails with probability 1e-6.

    One that forgets α is caught with a probability above 0.9999 (computed below).
    """
    rng, n = np.random.default_rng(0), 200_000
    weights, alpha = rng.gamma(1.0, 1.0, (1, 20)), rng.uniform(0.5, 1.5, 20)
    products, sums, width = tables(weights, alpha)
    p = products[0, :20] / products[0, :20].sum()
    topics = drawn(
        topics_by_word, np.zeros(n), np.arange(0, n + 1, 100), np.arange(n // 100), sums, width, Key.from_seed(3)
    )
    seen, limit = np.bincount(topics, minlength=20), chi2.isf(1e-6, df=19)
    assert ((seen - n * p) ** 2 / (n * p)).sum() < limit
    wrong = weights[0] / weights[0].sum()
    assert ncx2.sf(limit, 19, (n * (wrong - p) ** 2 / p).sum()) > 0.9999

"""SUB-LDA's noisy token loop against a slow reading of Algorithm 1, the plain sweep, and its own Python body."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet._random import Key, Purpose
from discreet.kernels.sweeps.sequential import sweep_sequential

N_WORDS, N_TOPICS, BETA, STEP = 6, 3, 0.05, 0.01
ALPHA = np.array([0.1, 0.5, 0.3])
KEY, SWEEP = Key.from_seed(4), np.uint32(Purpose.SWEEP)


def corpus(seed=0, lengths=(9, 0, 700, 4)):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths])
    words = rng.integers(0, N_WORDS, offsets[-1]).astype(np.int32)
    topics = rng.integers(0, N_TOPICS, offsets[-1]).astype(np.uint16)
    visited = rng.random(offsets[-1]) < 0.6
    noise = np.rint(rng.normal(0, 200, int(visited.sum()) * N_TOPICS)).astype(np.int64)
    return words, offsets, topics, visited, noise


def tables(words, offsets, topics):
    by_word, by_document = np.zeros((N_WORDS, N_TOPICS)), np.zeros((len(offsets) - 1, N_TOPICS))
    np.add.at(by_word, (words, topics), 1.0)
    np.add.at(by_document, (np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), topics), 1.0)
    return by_word.ravel(), by_word.sum(axis=0), by_document


def noisy(words, offsets, topics, visited, noise, *, kernel=sweep_sequential, clip=np.inf, cuts=(0, None)):
    topics, state = topics.copy(), tables(words, offsets, topics)
    visits = np.concatenate([[0], np.cumsum(visited)])[offsets]
    cuts = [len(offsets) - 1 if cut is None else cut for cut in cuts]
    for first, last in pairwise(cuts):
        part = noise[visits[first] * N_TOPICS : visits[last] * N_TOPICS]
        tokens = (words, offsets, topics, visited, first, last, part, STEP)
        kernel(*tokens, *state, ALPHA, BETA, KEY.words, SWEEP, np.uint32(3), clip)
    return topics, *state


def algorithm_1(words, offsets, topics, visited, noise, clip):
    """The inner loop of Algorithm 1 as printed; counts below zero are read as zero."""
    topics = topics.copy()
    flat, _, by_document = tables(words, offsets, topics)
    by_word, noise = flat.reshape(N_WORDS, N_TOPICS), iter(noise.reshape(-1, N_TOPICS) * STEP)
    for m in range(len(offsets) - 1):
        length = offsets[m + 1] - offsets[m]
        bits = KEY.bits(Purpose.SWEEP, 3, m, 2 * max(length, 1)).astype(np.uint64)
        for i in range(length):
            at = offsets[m] + i
            if not visited[at]:
                continue
            t, old = words[at], topics[at]
            by_word[t, old] -= 1
            by_document[m, old] -= 1
            by_word[t] += next(noise)
            temp = np.maximum(np.minimum(by_word[t], clip), 0)
            below = np.maximum(by_word.sum(axis=0), 0) + N_WORDS * BETA
            p = (temp + BETA) / below * (by_document[m] + ALPHA)
            u = float((bits[2 * i] << np.uint64(21)) | (bits[2 * i + 1] >> np.uint64(11))) * 2.0**-53
            new = int(np.searchsorted(np.cumsum(p), u * p.sum(), side="right"))
            topics[at] = new
            by_word[t, new] += 1
            by_document[m, new] += 1
    return topics, by_word.ravel(), by_word.sum(axis=0), by_document


@pytest.mark.parametrize("clip", [np.inf, 5.0])
def test_the_loop_is_that_of_algorithm_1(clip):
    data = corpus()
    found, expected = noisy(*data, clip=clip), algorithm_1(*data, clip)
    assert_array_equal(found[0], expected[0])
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert_allclose(a, b, atol=1e-9)
    assert (found[1] < 0).any()  # the case that the paper leaves open did occur


def test_without_noise_it_is_the_plain_sweep():
    words, offsets, topics, visited, noise = corpus(1)
    expected, state = topics.copy(), tables(words, offsets, topics)
    tokens = (words, offsets, expected, visited, 0, len(offsets) - 1, noise[:0], STEP)
    sweep_sequential(*tokens, *state, ALPHA, BETA, KEY.words, SWEEP, np.uint32(3))
    found = noisy(words, offsets, topics, visited, np.zeros_like(noise))
    for a, b in zip(found, (expected, *state), strict=True):
        assert_array_equal(a, b)
    assert (noisy(words, offsets, topics, visited, noise)[0] != expected).any()


def test_the_compiled_kernel_is_its_python_body_and_pieces_are_the_whole():
    data = corpus(2, lengths=(9, 0, 40, 4))
    whole = noisy(*data)
    for other in (noisy(*data, kernel=sweep_sequential.py_func), noisy(*data, cuts=(0, 2, 3, None))):
        for a, b in zip(whole, other, strict=True):
            assert_array_equal(a, b)


def test_noise_stays_in_the_counts_and_in_their_totals():
    words, offsets, topics, visited, noise = corpus(3)
    after, by_word, totals, by_document = noisy(words, offsets, topics, visited, noise)
    clean, _, documents = tables(words, offsets, after)
    added = np.zeros((N_WORDS, N_TOPICS))
    np.add.at(added, words[visited], noise.reshape(-1, N_TOPICS) * STEP)
    assert_allclose(by_word - clean, added.ravel(), atol=1e-9)
    assert_allclose(totals, by_word.reshape(N_WORDS, N_TOPICS).sum(axis=0), atol=1e-9)
    assert_array_equal(by_document, documents)

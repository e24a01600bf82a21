"""Secret slots: a keyed permutation of each document, uniform, and blind to words and neighbours."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2, ncx2

from discreet._random import Key, Purpose
from discreet.kernels.sweeps.shuffle import shuffle_documents, shuffle_numbered

ORDER = np.uint32(Purpose.TOKEN_ORDER)


def shuffled(lengths, key, words=None, shuffle=shuffle_documents, sweep=0):
    """Tokens after the shuffle; before it they are numbered through, unless given."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = np.arange(offsets[-1], dtype=np.int32) if words is None else words.astype(np.int32)
    shuffle(words, offsets, key.words, ORDER, np.uint32(sweep))
    return words, offsets


def test_each_document_keeps_its_tokens():
    lengths = [0, 1, 2, 300, 0, 7, 1]
    words, offsets = shuffled(lengths, Key.from_seed(1))
    for first, last in pairwise(offsets):
        assert_array_equal(np.sort(words[first:last]), np.arange(first, last))
    assert (words[3:303] != np.arange(3, 303)).any()


def test_compiled_equals_python_body():
    lengths = [3, 0, 1, 150, 12]
    compiled, _ = shuffled(lengths, Key.from_seed(2))

    def by_place(words, offsets, *stream):
        shuffle_numbered.py_func(words, offsets, np.arange(len(offsets) - 1), *stream)

    python, _ = shuffled(lengths, Key.from_seed(2), shuffle=by_place)
    assert_array_equal(compiled, python)


def test_a_document_is_shuffled_by_its_number():
    """A part of the documents, with their numbers, is shuffled as it is among all."""
    lengths, chosen = np.array([3, 0, 17, 150, 12]), np.array([2, 4])
    words, offsets = shuffled(lengths, Key.from_seed(2))

    def numbered(words, offsets, *stream):
        shuffle_numbered(words, offsets, chosen, *stream)

    part = np.concatenate([np.arange(offsets[d], offsets[d + 1]) for d in chosen])
    found, _ = shuffled(lengths[chosen], Key.from_seed(2), part, numbered)
    assert_array_equal(found, words[part])


def test_the_order_is_keyed():
    """Four orders of 50 tokens: two are equal with probability below 6 / 50!."""
    orders = [shuffled([50], Key.from_seed(seed), sweep=sweep)[0] for seed in (1, 2) for sweep in (0, 1)]
    assert len({order.tobytes() for order in orders}) == 4
    assert_array_equal(shuffled([50], Key.from_seed(1))[0], orders[0])


def test_a_document_does_not_notice_its_neighbours():
    """The order of document 2 depends on its number and length, not on what lies around it."""
    alone, _ = shuffled([0, 0, 40], Key.from_seed(3))
    for lengths in ([9, 0, 40, 3], [300, 1, 40], [5, 5, 40, 0, 0, 900]):
        words, offsets = shuffled(lengths, Key.from_seed(3))
        assert_array_equal(words[offsets[2] : offsets[3]] - offsets[2], alone)


def test_slots_do_not_depend_on_words():
    """Replacing a word moves no token: this is what the word-level guarantee stands on."""
    key, words = Key.from_seed(4), np.random.default_rng(0).integers(0, 9, 60)
    order, _ = shuffled([20, 40], key)
    assert_array_equal(shuffled([20, 40], key, words)[0], words[order])
    words[33] = 8
    assert_array_equal(shuffled([20, 40], key, words)[0], words[order])


def permutation_probabilities(partners) -> np.ndarray:
    """Chance of each permutation of four when slot i swaps with one of ``partners(i)``, all alike, for i = 3, 2, 1."""
    index = {p: n for n, p in enumerate(permutations(range(4)))}
    chance = np.zeros(len(index))
    choices = list(product(*(partners(i) for i in (3, 2, 1))))
    for chosen in choices:
        order = list(range(4))
        for i, j in zip((3, 2, 1), chosen, strict=True):
            order[i], order[j] = order[j], order[i]
        chance[index[tuple(order)]] += 1 / len(choices)
    return chance


@pytest.mark.parametrize("wrong", [lambda i: range(4), range], ids=["partner from all slots", "partner never itself"])
def test_all_orders_of_four_tokens_are_equally_likely(wrong):
    """24,000 documents, 24 orders, chi-square: a right shuffle fails with probability 1e-6.

    A shuffle whose partner comes from all four slots, or only from the i slots below, is caught with a probability
    above 0.9999, computed below from its exact chances.
    """
    n = 24_000
    words, _ = shuffled([4] * n, Key.from_seed(5))
    orders = words.reshape(n, 4) % 4
    code = orders @ (4 ** np.arange(4))
    cells = {int(np.dot(p, 4 ** np.arange(4))): at for at, p in enumerate(permutations(range(4)))}
    seen = np.bincount([cells[c] for c in code.tolist()], minlength=24)
    limit = chi2.isf(1e-6, df=23)
    assert ((seen - n / 24) ** 2 / (n / 24)).sum() < limit

    right, biased = permutation_probabilities(lambda i: range(i + 1)), permutation_probabilities(wrong)
    np.testing.assert_allclose(right, 1 / 24)
    distance = n * ((biased - right) ** 2 / right).sum()
    assert ncx2.sf(limit, 23, distance) > 0.9999
    biased_seen = np.random.default_rng(0).multinomial(n, biased)
    assert ((biased_seen - n / 24) ** 2 / (n / 24)).sum() > limit

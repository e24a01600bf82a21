"""Randomised response on neighbouring documents: the law by enumeration, and the code against the law.

The law of the proof (``mechanisms/local.proof.md``) is enumerated over all documents of five words: the largest ratio
of probabilities must equal the printed ε, for a word and for a document, with and without a limit on words. The code
is then compared with that law, report by report. Broken copies, of the claim and of the code, are caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations
from unittest.mock import patch

import numpy as np
import pytest

from discreet.mechanisms import local
from discreet.mechanisms.local import ONE, RandomisedResponse

V = 5
DOCUMENTS = [frozenset(s) for s in chain.from_iterable(combinations(range(V), n) for n in range(V + 1))]

Kept = Callable[[frozenset, int], list[frozenset]]


def uniform_subsets(x: frozenset, limit: int) -> list[frozenset]:
    return [frozenset(s) for s in combinations(sorted(x), min(limit, len(x)))]


def first_words(x: frozenset, limit: int) -> list[frozenset]:
    """A broken limit: the first words of the vocabulary, no coins."""
    return [frozenset(sorted(x)[:limit])]


def law(x: frozenset, response: RandomisedResponse, kept: Kept = uniform_subsets) -> np.ndarray:
    """The probability of each of the 2^V reports, in exact fractions."""
    p = Fraction(response.threshold, ONE)
    sets = kept(x, response.max_words or V)
    out = np.zeros(2**V, object)
    for k in sets:
        number = sum(1 << w for w in k)
        for o in range(2**V):
            h = (o ^ number).bit_count()
            out[o] += p**h * (1 - p) ** (V - h) / len(sets)
    return out


def largest(pairs: list[tuple[frozenset, frozenset]], response: RandomisedResponse, kept: Kept) -> float:
    laws = {x: law(x, response, kept) for x in DOCUMENTS}
    return math.log(max(max(laws[x] / laws[y]) for x, y in pairs))


WORDS = [(x, y) for x in DOCUMENTS for y in DOCUMENTS if len(x ^ y) == 1]
WHOLE = [(x, y) for x in DOCUMENTS for y in DOCUMENTS if x != y]


@pytest.mark.parametrize("limit", [None, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_printed_epsilons_are_the_largest_ratios(limit, epsilon):
    response = RandomisedResponse.for_epsilon(epsilon, V, limit)
    assert largest(WORDS, response, uniform_subsets) == pytest.approx(response.epsilon_word, abs=1e-9)
    assert largest(WHOLE, response, uniform_subsets) == pytest.approx(response.epsilon_report, abs=1e-9)


def test_broken_claims_are_caught():
    response = RandomisedResponse.for_epsilon(1.0, V, 2)
    assert largest(WHOLE, response, uniform_subsets) > 3.9  # ε of a bit does not cover a document
    assert largest(WORDS, response, uniform_subsets) > 1.6  # nor, with a limit, a word: another one is driven out
    assert largest(WORDS, response, first_words) > response.epsilon_word + 0.3  # a limit without coins


X, Y = frozenset({0, 1, 2}), frozenset({0, 1, 2, 4})
RUNS = 60_000


def statistic(x: frozenset, response: RandomisedResponse, seed: int) -> float:
    """Chi-square of the code's reports on ``x`` against the law."""
    words = np.tile(np.array(sorted(x), np.int32), RUNS)
    offsets = np.arange(RUNS + 1, dtype=np.int64) * len(x)
    packed = response.randomise(words, offsets, random_state=seed)
    seen = np.bincount(packed[:, 0], minlength=2**V)
    expected = RUNS * law(x, response).astype(float)
    return float(((seen - expected) ** 2 / expected).sum())


LIMIT = 87.0
"""Chi-square with 31 degrees of freedom exceeds this with probability 3e-7; the smallest expected number is 28."""


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("document", [X, Y])
def test_the_code_follows_the_law(document, limit):
    response = RandomisedResponse.for_epsilon(1.2, V, limit)
    assert RUNS * float(min(law(document, response))) > 25
    assert statistic(document, response, 5) < LIMIT


def test_broken_code_is_caught():
    """Each copy leaves the law by so much that 60,000 runs show it with certainty (expected statistic above 1,000)."""
    plain, limited = RandomisedResponse.for_epsilon(1.2, V), RandomisedResponse.for_epsilon(1.2, V, 2)
    real = local._flip

    def only_absent(packed, n_words, threshold, key):
        before = packed.copy()
        real(packed, n_words, threshold, key)
        packed |= before  # words that are there stay

    def twice(packed, n_words, threshold, key):
        real(packed, n_words, min(2 * threshold, ONE // 2 - 1), key)

    for broken in (only_absent, twice):
        with patch.object(local, "_flip", broken):
            assert statistic(X, plain, 5) > 10 * LIMIT
    with patch.object(local, "shuffle_documents", lambda *_: None):
        assert statistic(X, limited, 5) > 10 * LIMIT

"""Randomised response: thresholds, bytes, exact draws, estimates, and OpenDP as the oracle."""

from __future__ import annotations

import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet.kernels.noise import flips
from discreet.mechanisms import local
from discreet.mechanisms.local import ONE, RandomisedResponse


def documents(n: int, n_words: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    texts = [rng.integers(0, n_words, size=rng.integers(0, 12)) for _ in range(n)]
    return np.concatenate(texts).astype(np.int32), np.cumsum([0, *map(len, texts)]).astype(np.int64)


def presence(words: np.ndarray, offsets: np.ndarray, n_words: int) -> np.ndarray:
    bits = np.zeros((len(offsets) - 1, n_words), np.uint8)
    for m in range(len(bits)):
        bits[m, words[offsets[m] : offsets[m + 1]]] = 1
    return bits


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 3.0, math.log(3), 7.6, 20.0])
def test_the_threshold_is_the_smallest_within_epsilon(epsilon):
    response = RandomisedResponse.for_epsilon(epsilon, 10)
    assert response.epsilon_bit <= epsilon
    assert local.bit_epsilon(response.threshold - 1) > epsilon
    assert response.f == 2 * response.threshold / ONE
    assert response.epsilon_bit == pytest.approx(math.log((2 - response.f) / response.f), rel=1e-12)


def test_the_papers_f_and_epsilon():
    assert RandomisedResponse.for_flip(0.5, 10).epsilon_bit == pytest.approx(1.0986, abs=1e-4)  # not 1.089
    assert RandomisedResponse.for_epsilon(3.0, 10).f == pytest.approx(0.0949, abs=1e-4)
    assert RandomisedResponse.for_flip(0.25, 10).threshold == 2**29


@pytest.mark.parametrize(("n_words", "cap"), [(8, 1), (8, 3), (20, 7)])
@pytest.mark.parametrize("f", [0.1, 0.5])
def test_opendp_gives_the_same_epsilon(n_words, cap, f):
    """OpenDP's ``max_weight`` is our cap: 2·weight·ln((2−f)/f), where 2·weight bits exist."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    mechanism = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=cap), dp.discrete_distance(), f=f)
    assert RandomisedResponse.for_flip(f, n_words, cap).epsilon_report == pytest.approx(mechanism.map(1), rel=1e-6)


def test_opendp_unbiases_to_the_same_counts():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    response = RandomisedResponse.for_flip(0.25, 24)  # an exact f
    packed = response.randomise(*documents(300, 24), random_state=3)
    answers = [row.tobytes() for row in packed]
    oracle = dp.m.debias_randomized_response_bitvec(answers, 0.25)
    assert oracle == pytest.approx(response.estimate(response.count(packed), 300), abs=1e-9)


def test_bytes_are_little_endian_and_the_rest_is_zero():
    response = RandomisedResponse(threshold=1, n_words=11)  # a flip in four thousand million bits
    assert response.n_bytes == 2
    assert response.report([0, 9], random_state=1) == bytes([0b00000001, 0b00000010])
    words, offsets = response.words(response.report([9, 0, 0], random_state=1))
    assert words.tolist() == [0, 9]
    assert offsets.tolist() == [0, 2]
    noisy = RandomisedResponse.for_epsilon(0.1, 11).randomise(*documents(200, 11))
    assert not (noisy[:, 1] >> 3).any()


def test_a_report_has_no_order_and_no_repetitions():
    response = RandomisedResponse.for_epsilon(1.0, 50)
    assert response.report([3, 1, 2], random_state=5) == response.report([1, 2, 3, 3, 1], random_state=5)


def test_reports_differ_unless_seeded():
    response = RandomisedResponse.for_epsilon(1.0, 200)
    assert response.report([1]) != response.report([1])
    assert response.report([1], random_state=7) == response.report([1], random_state=7)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 9.0])
def test_every_bit_flips_with_the_stated_probability(epsilon):
    """4,000 reports of 250 bits. Flips per column ~ B(4000, p): 250 columns, chi-square, seed fixed; a right one fails
    with probability 1e-6. f in the place of f/2 (twice the flips) moves the statistic by 250·4000·p/(1−p) ≥ 123, more
    than five deviations of it."""
    from scipy.stats import chi2

    n, v = 4000, 250
    response = RandomisedResponse.for_epsilon(epsilon, v)
    words, offsets = documents(n, v)
    truth = presence(words, offsets, v)
    packed = response.randomise(words, offsets, random_state=11)
    flipped = np.unpackbits(packed, axis=1, count=v, bitorder="little") != truth
    p = response.flip
    for axis, trials in ((0, n), (1, v)):
        totals = flipped.sum(axis=axis)
        if trials * p < 0.3:
            continue  # too few for a chi-square
        statistic = float(((totals - trials * p) ** 2).sum() / (trials * p * (1 - p)))
        assert chi2.sf(statistic, len(totals)) > 1e-6
        assert chi2.cdf(statistic, len(totals)) > 1e-6
    pairs = (flipped[:, 1:] & flipped[:, :-1]).sum()  # neighbouring bits are independent
    expected = n * (v - 1) * p * p
    assert abs(pairs - expected) < 6 * math.sqrt(expected * (1 + 2 * p)) + 6


def test_the_compiled_loop_equals_its_python_body():
    response = RandomisedResponse.for_epsilon(1.5, 77)
    words, offsets = documents(6, 77)
    compiled = response.randomise(words, offsets, random_state=2)
    with np.errstate(over="ignore"), patch.object(local, "flip_bits", flips.flip_bits.py_func):
        assert np.array_equal(response.randomise(words, offsets, random_state=2), compiled)


@pytest.mark.parametrize("threshold", [1, 2**20, 3**12, 2**31 - 1])
def test_the_table_holds_the_powers(threshold):
    powers, guide = local._table(threshold, 5000)
    q = 1 - Fraction(threshold, ONE)
    assert [int(p) for p in powers[:50]] == [math.floor(q**j * 2**64) for j in range(1, len(powers[:50]) + 1)]
    assert (np.diff(powers.astype(object)) < 0).all()
    for i in range(256):
        assert guide[i] == sum(int(p) > ((i + 1) << 56) - 1 for p in powers)


def test_a_tie_is_settled_by_all_places_of_the_power():
    """U below q^e, given that 64 places are equal, has the probability of the rest of q^e: 4,000 keys, within six
    deviations (2e-9); to decide by a coin or always one way is off by at least ten."""
    threshold, exponent = 3**17, 5
    exact = (ONE - threshold) ** exponent
    first, rest = divmod(exact, 2 ** (32 * exponent - 64))
    share = rest / 2 ** (32 * exponent - 64)
    assert 0.05 < abs(share - 0.5) < 0.45
    n = 4000
    below = sum(local._is_below(first, exponent, threshold, Key.from_seed(i), 1) for i in range(n))
    assert abs(below - n * share) < 6 * math.sqrt(n * share * (1 - share))


@pytest.mark.parametrize("below", [True, False])
def test_the_loop_goes_on_after_a_tie(below):
    """The first draw of report 1 is made a tie with q²; the bits before and after are those of the answer given."""
    response, key = RandomisedResponse.for_epsilon(1.0, 64), Key.from_seed(4)
    high, low = key.bits(Purpose.FLIPS, 0, 1, 2)
    u = (int(high) << 32) | int(low)
    powers = np.array([2**64 - 1, u, u // 2, 0], np.uint64)
    guide = np.zeros(256, np.int64)
    calls = []

    def settle(*arguments):
        calls.append(arguments)
        return below

    packed = np.zeros((2, 8), np.uint8)
    with patch.object(local, "_table", lambda *_: (powers, guide)), patch.object(local, "_is_below", settle):
        local._flip(packed, 64, response.threshold, key)
    assert [call[1] for call in calls] == [2]  # the exponent
    row = np.unpackbits(packed[1], bitorder="little")
    assert np.flatnonzero(row)[0] == (2 if below else 1)


def test_estimates_are_unbiased_with_the_stated_variance():
    """2,000 columns as repetitions of M = 500, half of the documents with the word. Mean within 5 deviations, variance
    ratio within 5·√(2/2000) = 0.16 (both 6e-7); without the division by (1−f) the variance is 2.4 times too small."""
    n, v = 500, 2000
    response = RandomisedResponse.for_epsilon(1.5, v)
    truth = np.tile(np.arange(n)[:, None] % 2, (1, v)).astype(np.uint8)
    words = np.nonzero(truth)[1].astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(truth.sum(axis=1))]).astype(np.int64)
    found = response.estimate(response.count(response.randomise(words, offsets, random_state=9)), n)
    variance = response.variance(n)
    assert abs(found.mean() - 250) < 5 * math.sqrt(variance / v)
    assert abs(found.var() / variance - 1) < 5 * math.sqrt(2 / v)


def test_the_cap_keeps_at_most_so_many_words_and_every_word_alike():
    """Each of 6 words is kept with probability 1/3 in 6,000 documents: within six deviations (1e-8 in all); to keep the
    first two always is off by 4,000."""
    n = 6000
    response = RandomisedResponse(threshold=1, n_words=10, max_words=2)
    words, offsets = np.tile(np.arange(6, dtype=np.int32), n), np.arange(n + 1, dtype=np.int64) * 6
    packed = response.randomise(words, offsets, random_state=1)
    assert np.unpackbits(packed, axis=1).sum(axis=1).max() == 2
    kept = response.count(packed)
    assert kept[6:].sum() == 0
    assert (abs(kept[:6] - n / 3) < 6 * math.sqrt(n * 2 / 9)).all()


def test_epsilons_of_a_word_and_a_report():
    plain, limited = RandomisedResponse.for_epsilon(1.0, 1000), RandomisedResponse.for_epsilon(1.0, 1000, max_words=20)
    assert (plain.epsilon_word, plain.epsilon_report) == pytest.approx((1.0, 1000.0))
    assert limited.epsilon_report == pytest.approx(40.0)
    assert limited.epsilon_word == pytest.approx(math.log(1 + 20 / 21 * math.expm1(2.0)))
    assert RandomisedResponse.for_epsilon(1.0, 9, max_words=9).epsilon_word == pytest.approx(1.0)
    assert RandomisedResponse.for_epsilon(20.0, 90, max_words=9).epsilon_word < 40


def test_fields_go_through_json():
    response = RandomisedResponse.for_epsilon(2.0, 30, 5)
    assert RandomisedResponse.from_json(response.to_json()) == response
    with pytest.raises(InputError, match="exactly the fields"):
        RandomisedResponse.from_json({"threshold": 3})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 0, "n_words": 5}, "flip threshold"),
        ({"threshold": 2**31, "n_words": 5}, "flip threshold"),
        ({"threshold": 1.5, "n_words": 5}, "flip threshold"),
        ({"threshold": 5, "n_words": 0}, "n_words"),
        ({"threshold": 5, "n_words": 5, "max_words": 0}, "max_words"),
        ({"threshold": 5, "n_words": 5, "max_words": True}, "max_words"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        RandomisedResponse(**arguments)


def test_bad_requests_are_refused():
    for epsilon in (0, -1, math.inf, math.nan, "1", True):
        with pytest.raises(InputError, match="epsilon_bit must be"):
            RandomisedResponse.for_epsilon(epsilon, 5)
    with pytest.raises(InputError, match="only noise"):
        RandomisedResponse.for_epsilon(1e-12, 5)
    for f in (0, 1, -0.5, math.nan, "x"):
        with pytest.raises(InputError, match="f must be"):
            RandomisedResponse.for_flip(f, 5)
    response = RandomisedResponse.for_epsilon(1.0, 11)
    with pytest.raises(InputError, match="word numbers"):
        response.report([11])
    with pytest.raises(InputError, match="2 bytes; found 3"):
        response.check(b"123")
    with pytest.raises(InputError, match="last 5 bits"):
        response.check(b"\x00\xff")
    response.check(b"\x00\x07")
    with pytest.raises(InputError, match="3 bytes in all"):
        response.rows(b"123")
    with pytest.raises(InputError, match="last 5 bits"):
        response.count(b"\x00\xff")
    with pytest.raises(InputError, match="uint8"):
        response.count(np.zeros((2, 2)))
    with pytest.raises(InputError, match="2 bytes; found 4"):
        response.count(np.zeros((2, 4), np.uint8))
    assert response.count(b"").tolist() == [0] * 11
    assert response.words(b"")[1].tolist() == [0]

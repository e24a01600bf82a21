"""Integer noise: exact tables, exact draws, and nothing but the cell's own bits in a value.

Every statistical test has a fixed seed, fails with probability 1e-6 (ALPHA) when the code is right, and computes the
probability with which it catches a wrong one.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2, ncx2, norm

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet.kernels.noise import tables as noise_tables
from discreet.kernels.noise.draws import CELLS, SCRATCH_SIZE, add_from_bits, add_noise, resolve
from discreet.kernels.noise.tables import (
    DISTANCE,
    LARGEST_SCALE,
    PLACES,
    SMALLEST_SCALE,
    NoiseTable,
    certain_words,
    gaussian_table,
    gaussian_tail,
    laplace_table,
)
from discreet.kernels.stream import GROUP
from discreet.mechanisms.noise import (
    add_discrete_gaussian,
    add_discrete_laplace,
    sample_discrete_gaussian,
    sample_discrete_laplace,
)
from discreet.privacy.costs import SAMPLING_RATIO

ALPHA = 1e-6
LAWS = ("laplace", "gaussian")
ADD = {"laplace": add_discrete_laplace, "gaussian": add_discrete_gaussian}
SAMPLE = {"laplace": sample_discrete_laplace, "gaussian": sample_discrete_gaussian}
TABLE = {"laplace": laplace_table, "gaussian": gaussian_table}
TOP = np.uint64(2**63 - 1)


def draw(law: str, n: int, scale: float, seed: int, release: int = 0, n_threads: int = 1) -> np.ndarray:
    out = np.empty(n, np.int64)
    SAMPLE[law](out, scale, Key.from_seed(seed), release, n_threads)
    return out


def arrays(table: NoiseTable) -> tuple:
    main = table.boundaries, table.heads, table.finer, table.guide, table.shift
    return *main, table.tail_boundaries, table.tail_finer


def joined(boundaries: np.ndarray, finer: np.ndarray) -> list[int]:
    """The boundaries as whole numbers of 191 bits, without the mark at the end."""
    rows = zip(boundaries[:-1].tolist(), finer[::2].tolist(), finer[1::2].tolist(), strict=True)
    return [first << 128 | second << 64 | third for first, second, third in rows]


# --- exact probabilities, another way -------------------------------------------------------------------------------


def cumulative(law: str, scale: float, n: int, digits: int = 110) -> list[Decimal]:
    """P(|x| ≤ j) for j < n from its definition, each exp by itself; the Gaussian is summed until nothing is left."""
    with localcontext() as context:
        context.prec = digits
        exact = Fraction(scale)
        s = Decimal(exact.numerator) / Decimal(exact.denominator)
        if law == "laplace":
            return [1 - 2 * (-(j + 1) / s).exp() / (1 + (-1 / s).exp()) for j in range(n)]
        sums, total = [], Decimal(1)
        for m in range(1, max(n, math.ceil(scale * math.sqrt(2 * 2.31 * digits))) + 1):
            sums.append(total)
            total += 2 * (-Decimal(m * m) / (2 * s * s)).exp()
        return [partial / total for partial in sums[:n]]


def pmf(law: str, scale: float, reach: int) -> np.ndarray:
    """Probabilities of -reach … reach, in floating point; what lies beyond is left out."""
    m = np.arange(-reach, reach + 1.0)
    if law == "laplace":
        return np.exp(-np.abs(m) / scale) * np.tanh(0.5 / scale)
    wide = np.arange(-max(reach, math.ceil(40 * scale)), max(reach, math.ceil(40 * scale)) + 1.0)
    return np.exp(-(m**2) / (2 * scale**2)) / np.exp(-(wide**2) / (2 * scale**2)).sum()


def bins(p: np.ndarray, n: int, most: int = 60) -> np.ndarray:
    """A bin for each value, the first and last open: equal masses in the middle, ever smaller ones to both ends.

    Every bin expects at least 20 of n draws.
    """
    cdf = np.cumsum(p) - p / 2
    fine = [g for g in 2.0 ** -np.arange(6, 40) if g * n > 80]
    edges = np.unique([*np.linspace(0, 1, most + 1)[1:-1], *fine, *(1 - np.array(fine))])
    raw = np.searchsorted(edges, cdf)
    mass = np.bincount(raw, weights=p, minlength=len(edges) + 1)
    merged, label, room = np.zeros(len(mass), int), 0, 0.0
    for i, m in enumerate(mass):
        merged[i] = label
        room += m
        if room * n >= 20 and mass[i + 1 :].sum() * n >= 20:
            label, room = label + 1, 0.0
    return merged[raw]


def pearson(seen: np.ndarray, expected: np.ndarray) -> float:
    return float(((seen - expected) ** 2 / expected).sum())


def binned(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    reach = len(labels) // 2
    return np.bincount(labels[np.clip(values, -reach, reach) + reach])


# --- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1 / 64, 0.3, 1.0, 2.5, 37.1, 700.0])
@pytest.mark.parametrize("law", LAWS)
def test_every_boundary_is_right_to_its_last_place(law, scale):
    """All 191 places of all boundaries against 110 digits of ``decimal``."""
    table = TABLE[law](scale)
    found = joined(table.boundaries, table.finer)
    exact = cumulative(law, scale, len(found))
    with localcontext() as context:
        context.prec = 110
        if law == "gaussian":
            exact = [p / exact[-1] for p in exact]  # given that |x| lies in the table
        assert found == [int(p * 2**PLACES) for p in exact]
        if law == "laplace":
            s = Fraction(scale)
            tail = [1 - (-Decimal((j + 1) * s.denominator) / s.numerator).exp() for j in range(len(found))]
            assert joined(table.tail_boundaries, table.tail_finer) == [int(p * 2**PLACES) for p in tail]


@pytest.mark.parametrize("law", LAWS)
def test_the_scale_is_the_float_and_not_its_decimal_form(law):
    """One unit in the last place of the scale moves the boundaries as the exact law says: far below float64."""
    one, next_one = TABLE[law](0.1), TABLE[law](math.nextafter(0.1, 1))
    found = [joined(t.boundaries, t.finer)[0] / 2**PLACES for t in (one, next_one)]
    assert joined(one.boundaries, one.finer)[0] > joined(next_one.boundaries, next_one.finer)[0]
    assert found[0] == pytest.approx(found[1], rel=1e-14)


@pytest.mark.parametrize("scale", [SMALLEST_SCALE, 0.5, 1.0, 10.0, 1000.0, 10_000.0])
@pytest.mark.parametrize("law", LAWS)
def test_the_stated_distance_covers_every_scale(law, scale):
    table = TABLE[law](scale)
    n = table.boundaries.size + table.tail_boundaries.size
    assert table.tail_mass + n * 2.0**-PLACES + 2.0**-500 <= DISTANCE
    assert n < 2**21
    assert (np.diff(table.boundaries.astype(object)) >= 0).all()
    leading = np.arange(table.guide.size, dtype=np.uint64) << table.shift
    assert_array_equal(table.guide, np.searchsorted(table.boundaries, leading))
    heads = [min(boundary >> 31, 2**32 - 1) for boundary in table.boundaries[:-1].tolist()]
    assert_array_equal(table.heads, [*heads, 0, 0])


@pytest.mark.parametrize("scale", [SMALLEST_SCALE, 0.25, 1.0, 1000.0])
def test_every_probability_of_laplace_noise_is_right_up_to_a_factor(scale):
    """2^-86 for each part of a value: that of a magnitude in the table, of all beyond it, and of the excess over it."""
    table = laplace_table(scale)
    main, tail = joined(table.boundaries, table.finer), joined(table.tail_boundaries, table.tail_finer)
    with localcontext() as context:
        context.prec = 200
        q, n = (-1 / Decimal(scale)).exp(), len(main)
        for found, none, some in ((main, (1 - q) / (1 + q), 2 * q / (1 + q)), (tail, 1 - q, q)):
            ends = [0, *found, 2**PLACES]
            for j in (*range(0, n, max(1, n // 100)), n):  # each magnitude, and all beyond
                right = none if j == 0 else some * q ** (j - 1) * (1 if j == n else 1 - q)
                assert abs((ends[j + 1] - ends[j]) / (2**PLACES * right) - 1) <= Decimal(2) ** -86
    assert SAMPLING_RATIO > 43 * 2.0**-86


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_the_largest_scale(law):
    table = TABLE[law](LARGEST_SCALE)
    n = table.boundaries.size + table.tail_boundaries.size
    assert n < 2**21
    assert table.tail_mass + n * 2.0**-PLACES + 2.0**-500 <= DISTANCE
    check_law(law, LARGEST_SCALE / 1.125, 4_000_000, seed=30)
    TABLE[law].cache_clear()  # not worth its memory


@pytest.mark.parametrize("scale", [0.4, 1.0, 7.3])
def test_the_gaussians_tail_is_bounded_from_above(scale):
    """And not by much: the bound leaves out only that the total exceeds one."""
    for last in (0, 1, 5, 20):
        with localcontext() as context:
            context.prec = 60
            s = Decimal(scale)
            terms = [(-Decimal(m * m) / (2 * s * s)).exp() for m in range(last + 400)]
            total = 2 * sum(terms) - 1
            exact = 2 * sum(terms[last + 1 :]) / total
            bound = Decimal(gaussian_tail(scale, last))
            assert exact <= bound
            assert bound < 1e-300 or bound <= exact * total * Decimal("1.2") / (1 - terms[1])
    last = gaussian_table(scale).boundaries.size - 2
    assert gaussian_tail(scale, last) <= 2.0**-160 < gaussian_tail(scale, last - 1)


def test_a_doubtful_place_is_seen_and_made_again(monkeypatch):
    spare = 64
    for rest in (0, 2**spare - 1):
        assert certain_words([(12345 << spare) + 7, (99 << spare) + rest], spare) is None
    for rest in (1, 2**spare - 2):
        assert_array_equal(certain_words([(99 << spare) + rest], spare), [[0, 0, 99]])
    asked = []

    def doubtful_twice(boundaries, spare):
        asked.append(spare)
        return None if len(asked) < 3 else certain_words(boundaries, spare)

    monkeypatch.setattr(noise_tables, "certain_words", doubtful_twice)
    again = gaussian_table.__wrapped__(3.0)
    assert asked == [64, 128, 192]
    monkeypatch.undo()
    assert joined(again.boundaries, again.finer) == joined(gaussian_table(3.0).boundaries, gaussian_table(3.0).finer)


def test_tables_are_made_once_and_cannot_be_written():
    table = laplace_table(3.0)
    assert laplace_table(3.0) is table
    assert not any(array.flags.writeable for array in arrays(table) if isinstance(array, np.ndarray))


# --- distribution ---------------------------------------------------------------------------------------------------


def check_law(law: str, scale: float, n: int, seed: int) -> None:
    reach = math.ceil(scale * (25 if law == "laplace" else 9)) + 3
    p = pmf(law, scale, reach)
    labels = bins(p, n)
    expected = n * np.bincount(labels, weights=p)
    limit = chi2.isf(ALPHA, df=len(expected) - 1)
    seen = binned(draw(law, n, scale, seed, release=11), labels)
    assert pearson(seen, expected) < limit
    for factor in (0.9, 1.1):
        wrong = n * np.bincount(labels, weights=pmf(law, scale * factor, reach))
        assert ncx2.sf(limit, len(expected) - 1, pearson(wrong, expected)) > 0.999999
        assert pearson(binned(draw(law, n, scale * factor, seed, release=11), labels), expected) > limit


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.7, 40.0, 1000.0, 2000.0])
@pytest.mark.parametrize("law", LAWS)
def test_values_follow_the_law(law, scale):
    """A million draws in some sixty bins, the outermost a few in 100,000: Laplace leaves its table 244 times.

    A scale 10% too small or too large is caught with probability above 0.999999: computed, and tried.
    """
    check_law(law, scale, 1_000_000, seed=20)


@pytest.mark.parametrize("law", LAWS)
def test_a_scale_off_by_half_a_percent_is_caught_too(law):
    """Mean magnitude, or mean square, of eight million draws; the power is computed from the same moments."""
    n, scale = 8_000_000, 100.0
    x = np.abs(draw(law, n, scale, 21)).astype(float)
    if law == "laplace":
        q = math.exp(-1 / scale)
        statistic, mean = x, 2 * q / (1 - q * q)
        sd = math.sqrt(2 * q / (1 - q) ** 2 - mean**2)
    else:
        statistic, mean, sd = x**2, scale**2, math.sqrt(2) * scale**2
    z = norm.isf(ALPHA / 2)
    assert abs(statistic.mean() - mean) < z * sd / math.sqrt(n)
    shift = mean * (0.005 if law == "laplace" else 0.01)
    assert norm.sf(z - shift / (sd / math.sqrt(n))) > 0.999999


@pytest.mark.parametrize(("law", "scale"), [("laplace", 0.5), ("laplace", 20.0), ("gaussian", 0.8), ("gaussian", 20.0)])
def test_values_follow_opendp(law, scale):
    """Two samples, ours and that of OpenDP's exact sampler (which takes no seed: right code fails once in 1e6 runs)."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if law == "laplace":
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    n, m = 30_000, 300_000
    p = pmf(law, scale, math.ceil(25 * scale))
    labels = bins(p, n, most=20)
    theirs, ours = binned(np.array(mechanism([0] * n)), labels), binned(draw(law, m, scale, 22), labels)
    pooled = (theirs + ours) / (n + m)
    limit = chi2.isf(ALPHA, df=len(pooled) - 1)
    assert pearson(theirs, n * pooled) + pearson(ours, m * pooled) < limit
    mass = np.bincount(labels, weights=p)
    for factor in (0.9, 1.1):
        wrong = np.bincount(labels, weights=pmf(law, scale * factor, math.ceil(25 * scale)))
        both = (n * mass + m * wrong) / (n + m)
        shift = pearson(n * mass, n * both) + pearson(m * wrong, m * both)
        assert ncx2.sf(limit, len(mass) - 1, shift) > 0.99


# --- crafted bits: the far tail and ties ----------------------------------------------------------------------------


def with_first_bits(table: NoiseTable, bits: int, n_blocks: int, seed: int, kernel=add_from_bits) -> np.ndarray:
    """The values of many cells whose 64 first bits are all ``bits``; further words come from the stream."""
    cells = np.zeros(n_blocks * CELLS, np.int64)
    scratch = np.zeros(SCRATCH_SIZE, np.uint32)
    where = Key.from_seed(seed).words, np.uint32(Purpose.NOISE), np.uint32(5)
    for block in range(n_blocks):
        scratch[: 2 * CELLS : 2], scratch[1 : 2 * CELLS : 2] = bits >> 32, bits & 0xFFFFFFFF
        kernel(cells, block * CELLS, (block + 1) * CELLS, block, *arrays(table), *where, scratch)
    return cells


@pytest.mark.parametrize("scale", [0.7, 30.0])
def test_the_laplace_tail_goes_on_as_it_began(scale):
    """Draws forced beyond the table: the excess is geometric, far past where the tail's own table ends.

    Of 400,000 draws some 80 leave the tail's table as well. None of them goes further with probability below 1e-9; in
    a tail that ended there, none would.
    """
    table, n_blocks = laplace_table(scale), 400
    start, n = table.boundaries.size - 1, n_blocks * CELLS
    values = with_first_bits(table, 2**64 - 2, n_blocks, seed=23)
    assert values.min() >= start
    excess, reach = values - start, math.ceil(20 * scale)
    assert_array_equal(with_first_bits(table, 2**64 - 1, 2, seed=23), -values[: 2 * CELLS])  # the last bit is the sign
    assert (excess > start).any()
    p = np.exp(-np.arange(reach + 1) / scale) * -math.expm1(-1 / scale)
    labels = bins(p, n)
    expected = n * np.bincount(labels, weights=p)
    expected[-1] = n - expected[:-1].sum()
    seen = np.bincount(labels[np.minimum(excess, reach)])
    limit = chi2.isf(ALPHA, df=len(expected) - 1)
    assert pearson(seen, expected) < limit
    wrong = np.exp(-np.arange(reach + 1) / (1.1 * scale)) * -math.expm1(-1 / (1.1 * scale))
    assert ncx2.sf(limit, len(expected) - 1, pearson(n * np.bincount(labels, weights=wrong), expected)) > 0.999999


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_gaussians_far_tail_follows_the_law(scale):
    """Draws forced to U ≥ 1 - 2^-63, where every boundary ties and the further words alone decide.

    There a scale 10% off would not change the shape much, but would start the tail elsewhere: the first magnitude
    is compared exactly.
    """
    table, n_blocks = gaussian_table(scale), 100
    n, size = n_blocks * CELLS, table.boundaries.size - 1
    magnitudes = np.abs(with_first_bits(table, 2**64 - 2, n_blocks, seed=24))
    with localcontext() as context:
        context.prec = 110
        above = [(p - 1) * 2**63 + 1 for p in cumulative("gaussian", scale, size)]
        mass = np.diff([0.0, *(max(float(a), 0.0) for a in above)])
    first = int(np.flatnonzero(mass)[0])
    assert magnitudes.min() == first
    many = np.flatnonzero(n * mass >= 20)
    last = int(many[-1])
    expected = n * np.append(mass[first:last], mass[last:].sum())
    seen = np.bincount(np.minimum(magnitudes, last) - first)
    assert pearson(seen, expected) < chi2.isf(ALPHA, df=len(expected) - 1)


@pytest.mark.parametrize("settle", [resolve, resolve.py_func], ids=["compiled", "python"])
@pytest.mark.parametrize("law", LAWS)
def test_a_tie_is_settled_by_the_next_places(law, settle):
    """One place below a boundary stays under it; on it or above goes past it. All boundaries, all three words."""
    table = TABLE[law](3.0)
    pieces = table.boundaries, table.finer, table.tail_boundaries, table.tail_finer
    boundaries = joined(table.boundaries, table.finer)
    for boundary in boundaries:
        for number in (boundary + step for step in (-(2**64), -1, 0, 1, 2**64)):
            if number < 2**PLACES:
                found = settle(np.uint64(number >> 128), further(number), 0, *pieces)
                assert found == sum(b <= number for b in boundaries)


@pytest.mark.parametrize("kernel", [add_from_bits, add_from_bits.py_func], ids=["compiled", "python"])
@pytest.mark.parametrize("law", LAWS)
def test_the_look_at_32_places_agrees_with_all_63(law, kernel):
    """Draws close to boundaries: the same 32 places, below and above; the next 32 places; the first and last draw."""
    table = TABLE[law](3.0)
    boundaries = table.boundaries[:-1].tolist()
    close = {b + sign * step for b in boundaries for step in (1, 2, 2**30, 2**31, 2**32) for sign in (-1, 1)}
    close |= {b >> 31 << 31 for b in boundaries} | {(b >> 31 << 31) + 2**31 - 1 for b in boundaries} | {0, 1}
    inside = boundaries[-1] if law == "laplace" else 2**63  # beyond it further words decide
    draws = sorted(places for places in close - set(boundaries) if 0 <= places < min(inside, 2**63))
    assert len(draws) > 200
    scratch = np.zeros(SCRATCH_SIZE, np.uint32)
    where = Key.from_seed(1).words, np.uint32(Purpose.NOISE), np.uint32(5)
    for some in (draws[i : i + CELLS] for i in range(0, len(draws), CELLS)):
        for i, places in enumerate(some):
            sign = i % 2
            scratch[2 * i], scratch[2 * i + 1] = places >> 31, (places << 1 | sign) & 0xFFFFFFFF
        cells = np.zeros(len(some), np.int64)
        kernel(cells, 0, len(some), 0, *arrays(table), *where, scratch)
        expected = [sum(b <= places for b in boundaries) * (1 - 2 * (i % 2)) for i, places in enumerate(some)]
        assert cells.tolist() == expected


def further(number: int, *tail: int) -> np.ndarray:
    """256 words: the last 128 of 191 places, then whole draws (each with a sign bit that is not read)."""
    words = [number >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)]
    for more in tail:
        bits = more >> 128 << 129 | 1 << 128 | more & (2**128 - 1)
        words += [bits >> shift & 0xFFFFFFFF for shift in (160, 128, 96, 64, 32, 0)]
    return np.array(words + [0] * (GROUP - len(words)), np.uint32)


@pytest.mark.parametrize("settle", [resolve, resolve.py_func], ids=["compiled", "python"])
def test_the_tail_is_drawn_from_again_and_again(settle):
    table = laplace_table(3.0)
    pieces = table.boundaries, table.finer, table.tail_boundaries, table.tail_finer
    n, n_tail = table.boundaries.size - 1, table.tail_boundaries.size - 1
    tail = joined(table.tail_boundaries, table.tail_finer)
    most = 2**PLACES - 1
    assert settle(TOP, further(most, 0), 0, *pieces) == n
    assert settle(TOP, further(most, tail[4]), 0, *pieces) == n + 5
    assert settle(TOP, further(most, tail[4] - 1), 0, *pieces) == n + 4
    assert settle(TOP, further(most, most, most, tail[7]), 0, *pieces) == n + 2 * n_tail + 8
    assert settle(TOP, further(most, tail[-1], tail[0] - 1), 0, *pieces) == n + n_tail
    assert settle(TOP, np.full(GROUP, 2**32 - 1, np.uint32), 0, *pieces) == n + 42 * n_tail  # below 2^-500


def test_equal_first_places_are_told_apart():
    """Many boundaries of the Gaussian's far tail share their 63 first places; each is reached by its own bits."""
    table = gaussian_table(3.0)
    pieces = table.boundaries, table.finer, table.tail_boundaries, table.tail_finer
    boundaries = joined(table.boundaries, table.finer)
    shared = [j for j, b in enumerate(boundaries) if b >> 128 == TOP]
    assert len(shared) > 10
    for j in shared:
        assert resolve(TOP, further(boundaries[j]), 0, *pieces) == j + 1
        assert resolve(TOP, further(boundaries[j] - 1), 0, *pieces) == j


# --- a value and its place ------------------------------------------------------------------------------------------


def slow_value(key: Key, release: int, cell: int, table: NoiseTable) -> int:
    """The definition, with Python's integers: the number of boundaries ≤ U, from the published place of each bit."""
    block, i = divmod(cell, CELLS)
    bits = key.bits(Purpose.NOISE, release, block, 2 * CELLS + (i + 1) * GROUP).tolist()
    first = bits[2 * i] << 32 | bits[2 * i + 1]
    words = bits[2 * CELLS + i * GROUP :]

    def number(places: int, at: int) -> int:
        return places << 128 | words[at] << 96 | words[at + 1] << 64 | words[at + 2] << 32 | words[at + 3]

    boundaries = joined(table.boundaries, table.finer)
    magnitude = sum(b <= number(first >> 1, 0) for b in boundaries)
    at = 4
    more = len(boundaries) if magnitude == len(boundaries) else -1
    tail = joined(table.tail_boundaries, table.tail_finer)
    while more == len(tail):
        more = sum(b <= number((words[at] << 32 | words[at + 1]) >> 1, at + 2) for b in tail)
        magnitude, at = magnitude + more, at + 6
    return -magnitude if first & 1 else magnitude


@pytest.mark.parametrize("law", LAWS)
def test_values_are_those_of_the_definition(law):
    key, scale = Key.from_seed(25), 4.0
    cells = np.zeros(20 * CELLS + 100, np.int64)
    ADD[law](cells, scale, key, 8)
    beyond = np.flatnonzero(np.abs(cells) >= TABLE[law](scale).boundaries.size - 1)
    assert len(beyond) >= (law == "laplace")
    for cell in [0, 1, CELLS - 1, CELLS, CELLS + 1, cells.size - 1, *range(5 * CELLS, 5 * CELLS + 60), *beyond[:5]]:
        assert cells[cell] == slow_value(key, 8, int(cell), TABLE[law](scale))


@pytest.mark.parametrize("law", LAWS)
def test_no_value_depends_on_threads_shape_or_company(law):
    n = 3 * 2**17 + 77
    alone = draw(law, n, 50.0, 26)
    for n_threads in (2, 3, 7):
        assert_array_equal(draw(law, n, 50.0, 26, n_threads=n_threads), alone)
    for shorter in (0, 1, 127, 128, CELLS, CELLS + 1, 5000):
        assert_array_equal(draw(law, shorter, 50.0, 26), alone[:shorter])
    table = np.zeros((7, 11, 13), np.int64)
    ADD[law](table, 50.0, Key.from_seed(26), 0)
    assert_array_equal(table.ravel(), alone[: table.size])


@pytest.mark.parametrize("law", LAWS)
def test_noise_is_added_to_what_is_there(law):
    cells = np.arange(3000)
    ADD[law](cells, 9.0, Key.from_seed(27), 4)
    assert_array_equal(cells - np.arange(3000), draw(law, 3000, 9.0, 27, release=4))
    edge = np.full(3000, 2**63 - 1)
    ADD[law](edge, 9.0, Key.from_seed(27), 4)  # wraps, without a warning, as the same function of the noisy value
    assert_array_equal(edge.view(np.uint64) + np.uint64(2**63 + 1), (cells - np.arange(3000)).view(np.uint64))


@pytest.mark.parametrize("law", LAWS)
def test_compiled_equals_its_python_body(law):
    table = TABLE[law](2.0)
    key, release = Key.from_seed(28), np.uint32(6)
    where = key.words, np.uint32(Purpose.NOISE), release
    compiled, python = np.zeros(2 * CELLS + 9, np.int64), np.zeros(2 * CELLS + 9, np.int64)
    add_noise(compiled, 1, 3, *arrays(table), *where, np.zeros(SCRATCH_SIZE, np.uint32))
    add_noise.py_func(python, 1, 3, *arrays(table), *where, np.zeros(SCRATCH_SIZE, np.uint32))
    assert_array_equal(compiled, python)
    assert not compiled[:CELLS].any()
    scratch = np.zeros(SCRATCH_SIZE, np.uint32)
    scratch[: 2 * CELLS] = key.bits(Purpose.NOISE, int(release), 1, 2 * CELLS)
    one = np.zeros(2 * CELLS, np.int64)
    add_from_bits.py_func(one, CELLS, 2 * CELLS, 1, *arrays(table), *where, scratch)
    assert_array_equal(one, compiled[: 2 * CELLS])
    rare = with_first_bits(table, 2**64 - 2, 1, 28, kernel=add_from_bits.py_func)
    assert_array_equal(rare, with_first_bits(table, 2**64 - 2, 1, 28))


def test_one_signature_whatever_the_caller_passes():
    key = Key.from_seed(29)
    for law in LAWS:
        for scale in (2, 2.0, np.float32(2), np.float64(2), np.int64(2)):
            ADD[law](np.zeros((3, 4), np.int64), scale, key, np.int32(1))
    assert len(add_noise.signatures) == 1


@pytest.mark.parametrize("law", LAWS)
def test_other_keys_releases_and_purposes_give_other_noise(law):
    """At scale 1,000 two independent values agree with probability below 1/2,000: of 5,000 pairs, not one in fifty."""
    n, scale = 5000, 1000.0
    one = draw(law, n, scale, 31, release=7)
    assert_array_equal(one, draw(law, n, scale, 31, release=7))
    purposes = np.zeros(n, np.int64)
    where = Key.from_seed(31).words, np.uint32(Purpose.INCLUSION), np.uint32(7)
    add_noise(purposes, 0, 5, *arrays(TABLE[law](scale)), *where, np.zeros(SCRATCH_SIZE, np.uint32))
    others = [
        draw(law, n, scale, 32, release=7),
        draw(law, n, scale, 31, release=8),
        draw(law, n, scale, 31, release=2**32 - 1),
        purposes,
        np.roll(one, 1),
        np.roll(one, CELLS),
    ]
    for other in others:
        assert (one == other).mean() < 0.02
        assert (one == -other).mean() < 0.02
    fresh = [np.zeros(n, np.int64) for _ in range(2)]
    for cells in fresh:
        ADD[law](cells, scale, Key.fresh(), 7)
    assert (fresh[0] == fresh[1]).mean() < 0.02


# --- independence ---------------------------------------------------------------------------------------------------


def neighbours(law: str, n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x, later = draw(law, n, 100.0, 33, release=0), draw(law, n, 100.0, 33, release=1)
    lags = {f"lag {lag}": (x[:-lag], x[lag:]) for lag in (1, 2, 8, 128, CELLS)}
    return {**lags, "next release": (x, later)}


@pytest.mark.parametrize("law", LAWS)
def test_cells_are_uncorrelated(law):
    """Values and magnitudes of a million pairs. A correlation of 0.01 is caught with probability above 0.99999."""
    n, z = 1_000_000, norm.isf(ALPHA / 24)
    for one, other in neighbours(law, n).values():
        for f in (lambda x: x, np.abs):
            assert abs(np.corrcoef(f(one), f(other))[0, 1]) * math.sqrt(len(one)) < z
    assert norm.sf(z - 0.01 * math.sqrt(n - CELLS)) > 0.99999


@pytest.mark.parametrize("law", LAWS)
def test_pairs_of_cells_are_independent(law):
    """Sixteen by sixteen signed classes of a million pairs; pairs that agree in 1 of 100 are caught (computed)."""
    n = 1_000_000
    p = pmf(law, 100.0, 2500)
    edges = np.searchsorted(np.cumsum(p), np.arange(1, 16) / 16) - 2500
    mass = np.diff([0, *np.cumsum(p)[edges + 2500 - 1], p.sum()])
    limit = chi2.isf(ALPHA / 6, df=255)
    for one, other in neighbours(law, n).values():
        seen = np.bincount(16 * np.digitize(one, edges) + np.digitize(other, edges), minlength=256)
        assert pearson(seen, len(one) * np.outer(mass, mass).ravel()) < limit
    agreeing = 0.99 * np.outer(mass, mass) + 0.01 * np.diag(mass)
    assert ncx2.sf(limit, 255, (n - CELLS) * pearson(agreeing, np.outer(mass, mass))) > 0.999


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [*ADD.values(), *SAMPLE.values()])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": 0.0}, "positive finite number; found 0.0"),
        ({"scale": -1.0}, "positive finite"),
        ({"scale": math.nan}, "positive finite number; found nan"),
        ({"scale": math.inf}, "positive finite"),
        ({"scale": "2"}, "positive finite"),
        ({"scale": None}, "positive finite"),
        ({"scale": 65_537.0}, "at most 65,536 grid steps; found 65,537. Choose a coarser grid"),
        ({"scale": 1e9}, "1,000 to 10,000 steps"),
        ({"scale": 0.01}, "at least 0.015625 grid steps; found 0.01.*finer grid"),
        ({"release": -1}, "release must be"),
        ({"release": 2**32}, "release must be"),
        ({"release": 1.0}, "release must be"),
        ({"n_threads": 0}, "n_threads must be at least 1"),
        ({"n_threads": None}, "n_threads must be at least 1"),
        ({"cells": np.zeros(3)}, "int64 array; found float64"),
        ({"cells": np.zeros(3, np.int32)}, "int64 array; found int32"),
        ({"cells": [0, 0]}, "int64 array; found list"),
        ({"cells": np.zeros((4, 4), np.int64)[:, ::2]}, "contiguous"),
        ({"cells": np.broadcast_to(np.int64(0), (3,))}, "contiguous"),
    ],
)
def test_refused_with_a_reason_and_nothing_written(function, wrong, message):
    given = {"cells": np.arange(5), "scale": 2.0, "release": 0, "n_threads": 1, **wrong}
    cells = given.pop("cells")
    before = np.array(cells)
    with pytest.raises(InputError, match=message) as caught:
        function(cells, key=Key.from_seed(1), **given)
    assert "\n" not in str(caught.value)
    assert_array_equal(np.array(cells), before)

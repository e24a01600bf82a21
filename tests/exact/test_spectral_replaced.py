"""Lemma 21's moments, and how far replacing one document moves them: by computation, against what the paper says.

Then Config. 1 with right constants on neighbouring data, recorded as in ``test_spectral_neighbours.py``.
"""

from __future__ import annotations

import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.mechanisms.release import Releases
from discreet.models.spectral.model import SpectralLDA
from discreet.models.spectral.published import replaced as spectral_replaced
from discreet.models.spectral.published.printed import Printed
from discreet.models.spectral.published.replaced import ReplacedMoments, ReplacePlan
from discreet.models.spectral.unbiased import Coefficients, LdaMoments, sensitivities, singular, three_orders
from discreet.privacy import Relation, Unit
from discreet.training.private_fit import PrivateFit
from tests.support.neighbours import Run, faults_of_flow, is_too_long, recorded, used

ALPHAS = [0.01, 0.3, 0.6, 1.0, 3.0, 10.0, 100.0, 1e5]


def corpus_of(texts, d):
    offsets = np.cumsum([0, *map(len, texts)])
    words = np.concatenate([np.asarray(text, np.int32) for text in texts])
    return Corpus(words, offsets, Vocabulary(tuple(f"w{i}" for i in range(d)), "public"))


def dense(texts, d, alpha0):
    """M̂₂ and M̂₃ in full."""
    moments = LdaMoments(corpus_of(texts, d), alpha0, n_threads=1)
    return moments.second(), moments.third(np.eye(d))


def naive(texts, d, alpha0):
    """From the definition: sums over different tokens of a document, and over different documents."""
    a, b, c = Coefficients.of(alpha0)
    ones, twos, threes = [], [], []
    for text in texts:
        x, n = np.eye(d)[text], len(text) if len(text) >= 3 else 0
        pairs = list(itertools.permutations(range(n), 2))
        triples = list(itertools.permutations(range(n), 3))
        ones.append(x.mean(axis=0) if n else np.zeros(d))
        twos.append(sum((np.outer(x[i], x[j]) for i, j in pairs), np.zeros((d, d))) / max(len(pairs), 1))
        cubes = (np.einsum("i,j,h->ijh", x[i], x[j], x[h]) for i, j, h in triples)
        threes.append(sum(cubes, np.zeros((d, d, d))) / max(len(triples), 1))
    n = len(texts)
    crossed = sum(np.outer(ones[i], ones[j]) for i, j in itertools.permutations(range(n), 2))
    second = sum(twos) / n - a / (n * (n - 1)) * crossed
    mixed = sum(np.einsum("ij,h->ijh", twos[i], ones[j]) for i, j in itertools.permutations(range(n), 2))
    cubes = (np.einsum("i,j,h->ijh", ones[i], ones[j], ones[h]) for i, j, h in itertools.permutations(range(n), 3))
    third = sum(threes) / n + b / (n * (n - 1)) * three_orders(mixed) + c / (n * (n - 1) * (n - 2)) * sum(cubes)
    return second, third


@pytest.mark.parametrize("alpha0", [0.2, 7.0])
def test_moments_are_those_of_the_definition(alpha0):
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 5, n) for n in (3, 4, 6, 2, 5, 0, 3)]
    for found, expected in zip(dense(texts, 5, alpha0), naive(texts, 5, alpha0), strict=True):
        assert_allclose(found, expected, atol=1e-15)


def test_whitened_moments_are_the_dense_ones_whitened():
    drawn = lda_corpus(50, 12, 3, mean_length=9, seed=1)
    moments = LdaMoments(drawn.corpus, 0.6)
    table = np.random.default_rng(0).standard_normal((12, 3))
    expected = np.einsum("abc,ai,bj,ch->ijh", moments.third(np.eye(12)), table, table, table, optimize=True)
    assert_allclose(moments.third(table), expected, atol=1e-12)


# --- how far one document reaches -------------------------------------------------------------------------------------


def moved(others, old, new, d, alpha0, order=2):
    """N times the distance of both moments, with one document replaced."""
    pairs = zip(dense([*others, old], d, alpha0), dense([*others, new], d, alpha0), strict=True)
    return [(len(others) + 1) * float((np.abs(x - y) ** order).sum() ** (1 / order)) for x, y in pairs]


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_random_neighbours_stay_within_the_sensitivities(alpha0):
    rng = np.random.default_rng(3)
    two, three = sensitivities(alpha0)
    most = np.zeros(2)
    for _ in range(40):
        d, n = int(rng.integers(2, 6)), int(rng.integers(3, 6))
        texts = [rng.integers(0, rng.integers(1, d + 1), rng.integers(0, 6)) for _ in range(n + 1)]
        most = np.maximum(most, moved(texts[:-2], texts[-2], texts[-1], d, alpha0))
    assert (most <= np.array([two, three]) + 1e-9).all()
    assert (most > 0.3).all()


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_the_sensitivities_are_reached(alpha0):
    """So a smaller constant would be wrong: M̂₂ with any number of documents, M̂₃ with three or any."""
    two, three = sensitivities(alpha0)
    u, v, p, r = ([i] * 3 for i in range(4))
    corpora = [[p] * 9, [p, r], [u, v]]
    reached = np.array([moved(others, u, v, 4, alpha0) for others in corpora])
    assert reached[0, 0] == pytest.approx(two, rel=1e-12)
    assert reached[:, 1].max() == pytest.approx(three, rel=1e-12)


def test_the_papers_sensitivities_do_not_hold():
    """Theorem 4 says 2/N in ℓ₁ for both, section 6.1 uses 1/N, appendix H.2 counts one B of three. At α₀ = 100:"""
    alpha0, n = 100.0, 41
    u, v, p = ([i] * 3 for i in range(3))
    one_word = [p] * (n - 1)
    second, third = moved(one_word, u, v, 3, alpha0, order=1)
    assert second == pytest.approx(5.96, abs=5e-3)
    assert third == pytest.approx(13.65, abs=5e-3)
    assert moved(one_word, u, v, 3, alpha0)[0] == pytest.approx(2.43, abs=5e-3)
    appendix = Printed("appendix", n, 3, alpha0)
    assert n * appendix.second == pytest.approx(second)  # H.1 is right, and three times Theorem 4
    many_words = [[i] * 3 for i in range(2, n + 1)]
    second, third = moved(many_words, u, v, n + 1, alpha0, order=1)
    assert third == pytest.approx(2 + 12 * 100 / 102 + 12 * 100**2 / (101 * 102), rel=1e-9)  # 25.4
    assert third > 1.4 * n * appendix.third  # 17.9


def test_in_l2_the_appendix_is_enough_and_the_text_is_not():
    """What Gaussian noise asks for: so Config. 1 holds with the appendix's constants, by more than it needs."""
    for alpha0 in np.geomspace(1e-4, 1e6, 300):
        two, three = sensitivities(float(alpha0))
        appendix = Printed("appendix", 10**6, 3, float(alpha0))
        assert two < 10**6 * appendix.second
        assert three < 10**6 * appendix.third
        assert min(two, three) > 1


def test_lemma_28_is_false():
    """k = d = 2, so the gap is all of σ₂: one document turns Ŵ by 32°, whatever signs, order and number of others."""
    for n in (501, 5_001):
        half = [[0] * 3] * (n // 2) + [[1] * 3] * (n // 2)
        tables = []
        for last in ([0, 0, 0], [0, 0, 1]):
            vectors, values = singular(dense([*half, last], 2, 1e-6)[0], 2)
            tables.append(vectors / np.sqrt(values))
        same = [tables[1][:, list(p)] * s for p in ((0, 1), (1, 0)) for s in itertools.product((1, -1), repeat=2)]
        distance = min(np.linalg.norm(tables[0] - one) for one in same)
        bound = math.sqrt(4) * (2 / n) / (0.499 * math.sqrt(0.499 / 2))
        assert distance == pytest.approx(1.09, abs=0.02)
        assert distance > 30 * bound
    assert bound < 0.0033


def moved_by_patterns():
    """N times how M̂₂ (for 1 and −a) and M̂₃ (for 1, b and c) move: all patterns of equal words in old, new, two others.

    A document is a mean over ordered triples of its tokens, so its worst case is one triple (or nothing, if it is
    short), and that of the others is a pair of documents, each seen through two of its tokens. Ten places; a place that
    does not matter is fixed.
    """

    def words(places):
        return np.eye(10)[list(places)]

    def pair(x, y):
        return (np.outer(x, y) + np.outer(y, x)) / 2

    def old_or_new(places):
        if not places:
            return np.zeros((10,) * 3), np.zeros((10, 10)), np.zeros(10)
        x = words(places)
        cubes = sum(np.einsum("i,j,h->ijh", *x[list(p)]) for p in itertools.permutations(range(3))) / 6
        return cubes, (pair(x[0], x[1]) + pair(x[0], x[2]) + pair(x[1], x[2])) / 3, x.mean(axis=0)

    def other(places):
        if not places:
            return np.zeros((10, 10)), np.zeros(10)
        x = words(places)
        return pair(x[0], x[1]), x.mean(axis=0)

    for sizes in ((3, new, *others) for new in (3, 0) for others in ((2, 2), (2, 0), (0, 0))):
        for pattern in patterns(sizes):
            (a3, a2, a1), (b3, b2, b1) = old_or_new(pattern[0]), old_or_new(pattern[1])
            (n2, n1), (m2, m1) = other(pattern[2]), other(pattern[3])
            two, one = a2 - b2, a1 - b1
            mean = (n1 + m1) / 2
            yield (
                (two, 2 * pair(one, mean)),
                (
                    a3 - b3,
                    three_orders(np.einsum("ij,h->ijh", two, mean) + np.einsum("ij,h->ijh", (n2 + m2) / 2, one)),
                    three_orders(np.einsum("ij,h->ijh", pair(n1, m1), one)),
                ),
            )


def forms():
    """Every squared distance of M̂₃ as a form in 1, b, c."""
    return {
        tuple(np.round([float((x * y).sum()) for x, y in itertools.combinations_with_replacement(third, 2)], 9))
        for _, third in moved_by_patterns()
    }


def patterns(sizes):
    """Ways to fill documents of these sizes with words, up to names of words and the order within a document."""
    seen = set()

    def fill(done, n_used):
        if len(done) == sum(sizes):
            cut, parts = 0, []
            for size in sizes:
                parts.append(tuple(sorted(done[cut : cut + size])))
                cut += size
            seen.add(min(named([*x, *y]) for x in swapped(parts[:2]) for y in swapped(parts[2:])))
            return
        for word in range(n_used + 1):
            fill([*done, word], max(n_used, word + 1))

    fill([], 0)
    return seen


def swapped(two):
    """Old and new, and the two others, may change places."""
    return [two, two[::-1]] if len(two[0]) == len(two[1]) else [two]


def named(parts):
    """Words by their first appearance."""
    names: dict[int, int] = {}
    for word in itertools.chain.from_iterable(parts):
        names.setdefault(word, len(names))
    return tuple(tuple(names[word] for word in part) for part in parts)


@pytest.mark.long
def test_no_pattern_of_words_moves_the_third_moment_further():
    """For every α₀: the difference times ((α₀+1)(α₀+2))² is a polynomial of degree 4, looked at between its roots."""
    grams = np.array(list(forms()))
    assert len(grams) > 1000
    one, b, c = (
        np.array([1.0, 3.0, 2.0]),
        np.array([-1.0, -1.0, 0.0]),
        np.array([2.0, 0.0, 0.0]),
    )  # 1, b, c: highest first
    products = [np.polymul(x, y) for x, y in itertools.combinations_with_replacement((one, b, c), 2)]
    basis = np.array(products) * np.array([1, 2, 2, 1, 2, 1])[:, None]
    largest = np.array([[2, 0, 0, 12, 6, 6], [2, 0, 0, 6, 0, 3], [2, 6, 0, 18, 0, 6]]) @ basis
    for square in grams @ basis:
        roots = np.concatenate([np.roots(square - other) for other in largest if np.abs(square - other).max() > 1e-6])
        inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 1e-9)]
        ends = np.unique(np.concatenate([[1e-9, 1e9], inside]))
        at = np.sqrt(ends[:-1] * ends[1:])
        scale = np.polyval(one, at) ** 2
        most = np.max([np.polyval(other, at) for other in largest], axis=0)
        assert (np.polyval(square, at) <= most + 1e-7 * scale).all()
    assert_allclose(np.sqrt(most / scale), [sensitivities(float(alpha0))[1] for alpha0 in at])


# --- Config. 1 with right constants on neighbours ---------------------------------------------------------------------

N_TOPICS, D = 3, 20


def fit(corpus, answers=None, training=ReplacedMoments, alpha0=0.6):
    """Train and record; what M̂₃ is seen through is an input."""
    run = Run()

    class Watched(training):
        def third(self, basis, n_topics):
            run.inputs.append((basis.copy(),))
            return super().third(basis, n_topics)

    with (
        recorded(run, answers),
        patch.object(spectral_replaced, "ReplacedMoments", Watched),
    ):
        options = {"configuration": 1, "epsilon": 70.0, "random_state": 5, "n_threads": 1}
        run.train(SpectralLDA(N_TOPICS, alpha0=alpha0, **options), corpus)
    return run


def compared(corpora, **options):
    """Two runs, and what the proof forbids and they do."""
    d = fit(corpora[0], **options)
    d1 = fit(corpora[1], d.noisy, **options)
    found = faults_of_flow(d, d1)
    if any(is_too_long(event, a - b) for event, a, b in zip(d.events, d.exact, d1.exact, strict=True)):
        found.add("sensitivity")
    return d, d1, found


def neighbours(kind):
    """D and D′ with one document replaced: in a lively corpus, or where all others say one word."""
    if kind == "lively":
        drawn = lda_corpus(120, D, N_TOPICS, mean_length=10, seed=2).corpus
        texts = [drawn.words[i:j] for i, j in itertools.pairwise(drawn.offsets)]
    else:
        texts = [[2, 2, 2]] * 120
    pairs = ([0] * 3, [1] * 3), ([0] * 50, [1]), ([0, 1, 3, 4], [3] * 7)
    return [[corpus_of([*texts[:60], new, *texts[60:]], D) for new in pair] for pair in pairs]


@pytest.mark.parametrize("kind", ["lively", "dull"])
@pytest.mark.parametrize("alpha0", [0.6, 100.0])
def test_neighbours_move_the_cells_by_no_more_than_was_charged(kind, alpha0):
    for corpora in neighbours(kind):
        d, _, found = compared(corpora, alpha0=alpha0)
        assert found == set()
        assert [entry.event for entry in d.charged] == d.events


def test_the_charge_is_nearly_used():
    d, d1, _ = compared(neighbours("dull")[0])
    assert used(d, d1)[0] > 0.98


def test_the_papers_constants_are_caught():
    with patch.object(spectral_replaced, "sensitivities", lambda alpha0: (1.0, 1.0)):
        assert "sensitivity" in compared(neighbours("dull")[0])[2]


def third_cells(texts, alpha0):
    """What of M̂₃ gets noise, seen through the first three of four words."""
    model = SpectralLDA(3, alpha0=alpha0, epsilon=1.0, configuration=1, random_state=1)
    plan, corpus = ReplacePlan.make(model, 4), corpus_of(texts, 4)
    fit = PrivateFit(model, corpus, unit=Unit.DOCUMENT, relation=Relation.REPLACE)
    run = ReplacedMoments(LdaMoments(corpus, alpha0), plan, fit)
    found = []

    def keep(releases, cells, event):
        found.append(cells.copy())
        return cells

    with patch.object(Releases, "release", keep):
        run.third(np.eye(4, 3), 3)
    return found[0], plan.third.sensitivity


@pytest.mark.parametrize("alpha0", [0.3, 100.0])
def test_the_worst_document_moves_the_third_cells_by_what_was_charged(alpha0):
    """At α₀ = 0.3 it is worst where all others say one word, at 100 where two say the old and the new word."""
    u, v, p = ([i] * 3 for i in range(3))
    others = [p, p] if alpha0 < 0.4 else [u, v]
    for right in (True, False):
        with patch.object(spectral_replaced, "sensitivities", sensitivities if right else lambda alpha0: (1.0, 1.0)):
            (x, limit), (y, _) = (third_cells([*others, last], alpha0) for last in (u, v))
        moved = math.sqrt(sum(int(z) ** 2 for z in x - y))
        assert (0.99 * limit < moved <= limit) if right else moved > limit


class ExactBasis(ReplacedMoments):
    """Whitens with the exact M̂₂."""

    def second(self):
        _, deviation = super().second()
        return self.moments.second(), deviation


class ExactThird(ReplacedMoments):
    """Releases a noisy M̂₃ and goes on with the exact one."""

    def third(self, basis, n_topics):
        _, spread = super().third(basis, n_topics)
        return self.moments.third(basis), spread


@pytest.mark.parametrize(
    ("training", "fault"),
    [(ExactBasis, "a step reads private data"), (ExactThird, "the model reads private data")],
    ids=["basis", "third"],
)
def test_broken_copies_are_caught(training, fault):
    assert fault in compared(neighbours("lively")[0], training=training)[2]

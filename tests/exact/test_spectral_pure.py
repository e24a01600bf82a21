"""Config. 1 with a pure ε (the paper's section 6.1): how far a document moves the cells in ℓ₁, noise, neighbours."""

from __future__ import annotations

import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest

from discreet import Budget, InputError, Ledger, SpectralLDA
from discreet._random import Key
from discreet.corpus import Corpus, lda_corpus
from discreet.evaluation import match_topics
from discreet.models.spectral.published import replaced as spectral_replaced
from discreet.models.spectral.published.edges import Account, Configured, shares
from discreet.models.spectral.published.printed import Printed
from discreet.models.spectral.published.replaced import ReplacedMoments
from discreet.models.spectral.tensor import from_unique, unique_places
from discreet.models.spectral.unbiased import Coefficients, LdaMoments, sensitivities_in_cells
from discreet.privacy import Basis, Relation
from discreet.privacy.events import DiscreteLaplaceRelease
from tests.exact.test_spectral_replaced import ALPHAS, N_TOPICS, D, dense, moved_by_patterns, neighbours
from tests.support.neighbours import Run, faults_of_flow, recorded

DIFFERENT = unique_places(10)


def in_cells(second: np.ndarray, third: np.ndarray) -> tuple[float, float]:
    """ℓ₁ norms over different cells."""
    d = len(second)
    return float(np.abs(second[np.triu_indices(d)]).sum()), float(np.abs(third[unique_places(d)]).sum())


def moved(others: list, old: list, new: list, d: int, alpha0: float) -> tuple[float, float]:
    """N times how far replacing ``old`` by ``new`` moves the two moments."""
    one, two = dense([*others, old], d, alpha0), dense([*others, new], d, alpha0)
    n = len(others) + 1
    found = in_cells(one[0] - two[0], one[1] - two[1])
    return n * found[0], n * found[1]


# --- how far ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_no_pattern_of_words_moves_the_cells_further() -> None:
    """The proof's `[cells]`: norms are convex, the bounds linear, so corners around all a and (b, c) decide."""
    n = 0
    for (two, mean), (one, b, c) in moved_by_patterns():
        n += 1
        for a in (0.0, 1.0):
            assert np.abs((two - a * mean)[np.triu_indices(10)]).sum() <= 2 + 2 * a + 1e-12
        one, b, c = (part[DIFFERENT] for part in (one, b, c))
        for at_b, at_c in ((0.0, 0.0), (-1 / 3, 0.0), (-1.0, 2.0)):
            assert np.abs(one + at_b * b + at_c * c).sum() <= 2 - 4 * at_b + at_c + 1e-12
    assert n > 7000


def test_the_corners_hold_every_alpha0() -> None:
    """(|b|, c) lies above the tangents at 0 and 1 and below the chord, for c = 4b²/(1 − b) is convex in |b|."""
    for alpha0 in np.geomspace(1e-6, 1e6, 200):
        _, b, c = Coefficients.of(float(alpha0))
        assert c == pytest.approx(4 * b**2 / (1 - b))
        assert max(0.0, 3 * abs(b) - 1) <= c + 1e-12 <= 2 * abs(b) + 1e-11


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_random_neighbours_stay_within(alpha0: float) -> None:
    rng = np.random.default_rng(4)
    most = np.zeros(2)
    for _ in range(40):
        d, n = int(rng.integers(2, 6)), int(rng.integers(3, 6))
        texts = [list(rng.integers(0, rng.integers(1, d + 1), rng.integers(0, 6))) for _ in range(n + 1)]
        most = np.maximum(most, moved(texts[:-2], texts[-2], texts[-1], d, alpha0))
    assert (most <= np.array(sensitivities_in_cells(alpha0)) + 1e-9).all()


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_they_are_reached(alpha0: float) -> None:
    """So a smaller constant would be wrong: M̂₂ where all others say one word, M̂₃ where each says its own."""
    two, three = sensitivities_in_cells(alpha0)
    u, v, p = ([i] * 3 for i in range(3))
    assert moved([p] * 9, u, v, 3, alpha0)[0] == pytest.approx(two, rel=1e-12)
    n = 30
    reached = moved([[i] * 3 for i in range(2, n + 1)], u, v, n + 1, alpha0)[1]
    assert reached == pytest.approx(three, rel=1e-9)


def test_what_the_papers_constants_are_worth_for_laplace_noise() -> None:
    """At α₀ = 100. One noise for each set of indices: the appendix is enough, Theorem 4 (2/N) and section 6 (1/N) not.
    Noise of its own in each of the d³ cells: the appendix is not enough either, for it counts one of B₁, B₂ and B₃."""
    alpha0, n = 100.0, 41
    two, three = sensitivities_in_cells(alpha0)
    appendix, text = Printed("appendix", n, 3, alpha0), Printed("text", n, 3, alpha0)
    assert two < n * appendix.second
    assert three < n * appendix.third
    assert n * text.second == n * text.third == 1
    assert (two, three) == (pytest.approx(3.98, abs=5e-3), pytest.approx(7.86, abs=5e-3))
    corpora = [[[i] * 3 for i in range(2, n + 1)] + [last] for last in ([0] * 3, [1] * 3)]
    one, other = (dense(texts, n + 1, alpha0) for texts in corpora)
    assert n * np.abs(one[1] - other[1]).sum() == pytest.approx(25.4, abs=0.05)
    assert 1.4 * n * appendix.third < 25.4


# --- as published -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn() -> tuple[Corpus, np.ndarray]:
    found = lda_corpus(20_000, D, N_TOPICS, alpha=0.2, beta=0.1, mean_length=30, seed=1)
    return found.corpus, found.topics


def fit(drawn: tuple[Corpus, np.ndarray], **options) -> SpectralLDA:
    chosen = {"n_topics": N_TOPICS, "alpha0": 0.6, "configuration": 1, "epsilon": 2.0, "delta": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SpectralLDA(**chosen).fit(drawn[0])


@pytest.mark.parametrize("constants", ["appendix", "text"])
def test_as_published_it_is_claimed_and_says_what_it_is_worth(drawn, constants: str) -> None:
    model = fit(drawn, as_published=True, constants=constants, edge_split=(1, 2, 3))
    guarantee = model.guarantee_
    assert (guarantee.basis, guarantee.delta, guarantee.relation) == (Basis.CLAIMED, 0.0, Relation.REPLACE)
    assert guarantee.epsilon == pytest.approx(2.0)
    edges = {edge.name: edge for edge in model.edges_}
    assert [round(3 * edges[name].epsilon, 9) for name in ("e3", "e4", "e8")] == [1, 2, 3]
    two, three = sensitivities_in_cells(0.6)
    for edge in edges.values():
        assert edge.scale == pytest.approx(edge.sensitivity / edge.epsilon)
    worth = sum((three if e.name == "e3" else two) / 20_000 / e.scale for e in edges.values())
    assert any(f"ε = {worth:.4g} at δ = 0" in reason for reason in guarantee.reasons)
    assert (worth < 2.0) == (constants == "appendix")
    assert match_topics(drawn[1], model.components_).mean < 0.3


def test_its_noise_has_laplaces_law(drawn) -> None:
    """Mean |noise|/scale is 1: n exponential variables, so a right one fails once in 10^6; a Gaussian has √(2/π)."""
    from scipy.stats import gamma

    run = Configured(LdaMoments(drawn[0], 0.6), N_TOPICS, Key.from_seed(3))
    seen = np.abs(np.concatenate([run.laplaces(1000) for _ in range(5)]))
    low, high = gamma.ppf(5e-7, len(seen)) / len(seen), gamma.isf(5e-7, len(seen)) / len(seen)
    assert low < seen.mean() < high
    assert math.sqrt(2 / math.pi) < low


def test_the_noise_of_the_third_moment_is_that_of_all_its_cells(drawn) -> None:
    """With M̂₂ exact the tensor's noise is E(Ŵ, Ŵ, Ŵ) for an E that this test draws from the same stream."""
    run, again = (Configured(LdaMoments(drawn[0], 0.6), N_TOPICS, Key.from_seed(5)) for _ in range(2))
    seen: list[np.ndarray] = []
    real = run._decompose
    with (
        patch.object(run, "_noisy_second", lambda name, account, edges: run.whitening),
        patch.object(run, "_decompose", lambda tensor: seen.append(tensor) or real(tensor)),
    ):
        edges = run.run(1, Account(shares(1, None, 6.0, 0.0))).edges
    (edge,) = edges
    whole = edge.scale * from_unique(again.laplaces(D * (D + 1) * (D + 2) // 6), D)
    vectors, values = run.whitening
    table = vectors / np.sqrt(values)
    expected = np.einsum("abc,ai,bj,ch->ijh", whole, table, table, table)
    np.testing.assert_allclose(seen[0] - run.tensor, expected, rtol=1e-6, atol=1e-9)


# --- proven -----------------------------------------------------------------------------------------------------------


def test_with_right_constants_it_is_proven(drawn) -> None:
    ledger = Ledger(Budget(3.0), relation="replace")
    model = fit(drawn, ledger=ledger)
    assert (model.guarantee_.basis, model.guarantee_.delta) == (Basis.PROVEN, 0.0)
    assert 2.0 * (1 - 1e-8) < model.guarantee_.epsilon <= 2.0
    assert [entry.event.cells for entry in ledger.entries] == [D * (D + 1) // 2, 10]
    assert all(isinstance(entry.event, DiscreteLaplaceRelease) for entry in ledger.entries)
    assert sum(entry.event.sensitivity / entry.event.scale for entry in ledger.entries) == pytest.approx(2.0, rel=1e-8)
    assert match_topics(drawn[1], model.components_).mean < 0.2


def recorded_fit(corpus: Corpus, answers: list | None = None, alpha0: float = 0.6) -> Run:
    run = Run()

    class Watched(ReplacedMoments):
        def third(self, basis, n_topics):
            run.inputs.append((basis.copy(),))
            return super().third(basis, n_topics)

    with recorded(run, answers), patch.object(spectral_replaced, "ReplacedMoments", Watched):
        options = {"configuration": 1, "epsilon": 70.0, "delta": 0, "random_state": 5, "n_threads": 1}
        run.train(SpectralLDA(N_TOPICS, alpha0=alpha0, **options), corpus)
    return run


def compared(corpora: list[Corpus], alpha0: float = 0.6) -> tuple[list[float], set[str]]:
    """The share of the charge that each release uses, and what the proof forbids and the two runs do."""
    d = recorded_fit(corpora[0], alpha0=alpha0)
    d1 = recorded_fit(corpora[1], d.noisy, alpha0)
    assert [entry.event for entry in d.charged] == d.events
    parts = zip(d.events, d.exact, d1.exact, strict=True)
    shares = [int(np.abs(a - b).sum()) / event.sensitivity for event, a, b in parts]
    return shares, faults_of_flow(d, d1)


@pytest.mark.parametrize("kind", ["lively", "dull"])
@pytest.mark.parametrize("alpha0", [0.6, 100.0])
def test_neighbours_move_the_cells_by_no_more_than_was_charged(kind: str, alpha0: float) -> None:
    for corpora in neighbours(kind):
        shares, faults = compared(corpora, alpha0)
        assert max(shares) <= 1
        assert faults == set()


def test_the_charge_of_the_second_moment_is_nearly_used() -> None:
    assert compared(neighbours("dull")[0])[0][0] > 0.98


@pytest.mark.parametrize("constant", [1.0, 2.0], ids=["section 6", "Theorem 4"])
def test_the_papers_constants_are_caught(constant: float) -> None:
    with patch.object(spectral_replaced, "sensitivities_in_cells", lambda alpha0: (constant, constant)):
        assert max(compared(neighbours("dull")[0])[0]) > 1.1


def test_l2_in_place_of_l1_is_caught() -> None:
    """What Gaussian noise asks for is not enough for Laplace noise."""
    from discreet.models.spectral.unbiased import sensitivities

    with patch.object(spectral_replaced, "sensitivities_in_cells", sensitivities):
        assert max(compared(neighbours("dull")[0])[0]) > 1.1


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"configuration": None}, "only configuration=1"),
        ({"configuration": 2, "as_published": True}, "only configuration=1"),
        ({"configuration": "choose", "as_published": True}, "only configuration=1"),
        ({"delta": 1e-40}, "0, for a pure epsilon, or at least 1e-30"),
        ({"delta": -1e-9}, "delta"),
        ({"epsilon": 0.001}, "larger epsilon"),
    ],
)
def test_bad_parameters_are_refused(drawn, options: dict, message: str) -> None:
    ledger = Ledger(Budget(100.0), relation="replace")
    with pytest.raises(InputError, match=message) as error:
        fit(drawn, **{"ledger": None if options.get("as_published") else ledger, **options})
    assert "\n" not in str(error.value)
    assert not ledger.entries


def test_too_many_words_are_refused_as_published() -> None:
    corpus = lda_corpus(50, 151, 2, mean_length=20, seed=1).corpus
    with pytest.raises(InputError, match="at most 150 words"):
        SpectralLDA(2, epsilon=1.0, delta=0, configuration=1, as_published=True).fit(corpus)

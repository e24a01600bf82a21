"""What DeCarolis et al. 2020 bound and do not measure: Theorems 10 to 13, Lemma 25, Definition 17; their pages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import beta

from discreet._random import Key
from discreet.corpus import lda_corpus
from discreet.experiments.experiment import Results
from discreet.experiments.intervals import Verdict
from discreet.experiments.methods import PARK, UNIGRAM
from discreet.experiments.papers.decarolis2020 import pure, rate, search, utility
from discreet.experiments.papers.decarolis2020.error import A
from discreet.models.spectral.published.edges import Account, Configured, shares
from discreet.models.spectral.published.printed import Spectrum, lemma_25, unscale, utility_bound
from discreet.models.spectral.unbiased import LdaMoments

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS
AT = Spectrum(n=100, d=4, k=4, largest=0.25, sigma=0.25, gamma=0.5)
ONES = dict.fromkeys(("e3", "e4", "e6", "e7", "e8", "e9"), 1.0)


# --- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("configuration", "bound"), [(1, 0.701809), (2, 5.260430), (3, 3.930215), (4, 2.56)])
def test_bounds_by_hand(configuration, bound):
    """√d/N = 0.02, σ^1.5 = ⅛, ‖E₈‖ = 0.02, √(σ₁ + ‖E₈‖) = √0.27.

    1: 0.5·4(0.16³ + 0.16) + 0.04 + √0.27·4(0.08³ + 0.16); 2: 0.5·5.12 + 0.04 + √0.27·5.12; 3: the last 5.12 halved.
    """
    assert utility_bound(configuration, AT, ONES) == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("configuration", [2, 3, 4])
def test_bounds_take_what_procedure_1_drew(configuration):
    low = {"sigma_k": AT.sigma / 4, "gamma_s": AT.gamma / 2}
    first = utility_bound(configuration, AT, {**ONES, "e8": 0.0})
    drawn = utility_bound(configuration, AT, {**ONES, "e8": 0.0}, low)
    assert drawn / first == pytest.approx(8 if configuration == 2 else 16)


def test_lemma_25_by_hand():
    assert lemma_25(1.0, 2, 0.25, 0.5, 10_000) == pytest.approx(4 * 8 / (0.0625 * 0.5 * 100))


def test_the_law_of_three_tokens_is_the_integral_over_the_dirichlet():
    topics, alpha = np.array([[0.7, 0.3], [0.1, 0.9]]), np.array([0.6, 1.4])
    law = rate.triple_law(topics, alpha)
    for a, b, c in np.ndindex(2, 2, 2):

        def value(share, a=a, b=b, c=c):
            words = share * topics[0] + (1 - share) * topics[1]
            return words[a] * words[b] * words[c] * beta.pdf(share, *alpha)

        assert law[a, b, c] == pytest.approx(quad(value, 0, 1)[0], abs=1e-7)
    assert law.sum() == pytest.approx(1)


def test_exact_triples_give_the_topics():
    rng = np.random.default_rng(1)
    topics, alpha = rng.dirichlet(np.full(8, 0.3), 3), np.array([0.3, 0.5, 1.1])
    found = rate.topics_of_triples(rate.triple_law(topics, alpha), alpha.sum(), 3)
    assert utility.distance(topics, found / found.sum(axis=1, keepdims=True)).worst < 1e-6


def test_distances_pair_topics():
    one = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert utility.distance(one, one[::-1]) == (0.0, 0.0)
    found = utility.distance(one, np.array([[0.0, 1.0], [0.6, 0.0]]))
    assert found == (pytest.approx(0.4), pytest.approx(0.4))


def test_what_laplace_noise_is_worth_at_alpha0_1():
    """a = ½, |b| = c = ⅓: cells move by 3 and 5⅓ − 5·⅓; the appendix has 4 and 5⅓."""
    found = pure.worth(1.0)
    assert found[pure.APPENDIX] == pytest.approx((11 / 3 / (16 / 3) + 2 * 3 / 4) / 3)
    assert found[pure.TEXT] == pytest.approx((11 / 3 + 2 * 3) / 3)
    assert found[pure.THEOREM] == pytest.approx(found[pure.TEXT] / 2)


# --- errata -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha0", [0.5, 4.0])
def test_topics_of_h5_sum_to_one_over_a_root(alpha0):
    """1/√αᵢ stands where 1/√pᵢ = √(α₀(α₀+1)/αᵢ) belongs, so that rows are too small by √(α₀(α₀+1))."""
    drawn = lda_corpus(20_000, 12, 3, alpha=alpha0 / 3, mean_length=30, seed=1)
    rows = Configured(LdaMoments(drawn.corpus, alpha0), 3, Key.from_seed(1)).original_rows
    assert_allclose(rows.sum(axis=1), 1 / math.sqrt(alpha0 * (alpha0 + 1)), rtol=0.05)
    assert unscale(alpha0) * math.sqrt(alpha0 * (alpha0 + 1)) == pytest.approx((alpha0 + 2) / 2)


def test_eq_67_needs_vectors_of_length_one():
    """‖aWv − a′W′v′‖ ≤ a‖W‖‖v − v′‖ + a‖W − W′‖ + ‖W′‖|a − a′| holds for ‖v′‖ = 1 and not for v′ = v + noise."""
    rng = np.random.default_rng(2)
    v, noisy = np.array([1.0, 0, 0]), np.array([1.0, 0, 0]) + 10 * rng.standard_normal(3)
    w, w1, a, a1 = np.eye(3), 1.1 * np.eye(3), 1.0, 1.0 + 10 * rng.standard_normal()

    def sides(v1):
        terms = a * np.linalg.norm(v - v1), a * 0.1, 1.1 * abs(a - a1)
        return np.linalg.norm(a * w @ v - a1 * w1 @ v1), sum(terms)

    left, right = sides(noisy)
    assert left > 2 * right
    left, right = sides(noisy / np.linalg.norm(noisy))
    assert left <= right


def test_config_3_is_far_beyond_theorem_12():
    """With little budget both noises are large, and their product is in no term; with much it is within the bound."""
    drawn = lda_corpus(20_000, 12, 3, alpha=[0.6, 0.3, 0.1], mean_length=30, seed=1)
    run = Configured(LdaMoments(drawn.corpus, 1.0), 3, Key.from_seed(1), constants="text")
    values = run.whitening[1]
    at = Spectrum(20_000, 12, 3, largest=float(values[0]), sigma=float(values[-1]), gamma=run.gap)
    over = {}
    for epsilon in (0.5, 1e5):
        account = Account(shares(3, None, epsilon, 1e-6))
        outcome = run.run(3, account)
        taus = {part.name: math.sqrt(2 * math.log(1.25 / part.delta)) / part.epsilon for part in account.parts}
        worst = utility.distance(run.original_rows, utility.turned(outcome.rows)).worst
        over[epsilon] = worst / utility_bound(3, at, taus, outcome.bounds)
    assert over[0.5] > 10
    assert over[1e5] < 1


# --- pages ------------------------------------------------------------------------------------------------------------


def verdicts(experiment, rows):
    """By text. A little that the repetition decides, so that intervals are narrow, not empty."""
    measures = experiment.grid.measures
    repeated = [
        {**row, **{m: row[m] * (1 + 1e-4 * n) for m in measures if m in row}, "repetition": n}
        for n in range(3)
        for row in rows
    ]
    results = Results(experiment.grid, repeated)
    return {finding.text: finding.verdict(finding.checks(results)) for finding in experiment.findings}


@pytest.mark.parametrize(("power", "found"), [(-0.5, HOLDS), (0.0, FAILS), (-1.0, FAILS)])
def test_the_slope_against_n_decides(power, found):
    rows = [
        {**setting, "error": setting["n_documents"] ** power, "sigma": setting["apart"], "constant": 1.0}
        for setting in rate.LEMMA_25.grid.settings(False)
    ]
    assert verdicts(rate.LEMMA_25, rows)["(Lemma 25) the error of a topic falls like N^-½."] is found


@pytest.mark.parametrize(("power", "found"), [(1.0, (HOLDS, FAILS)), (2.0, (FAILS, HOLDS))])
def test_the_power_of_sigma_decides(power, found):
    rows = []
    for setting in rate.LEMMA_25.grid.settings(False):
        far, n = setting["apart"], setting["n_documents"]
        error = far**-power / math.sqrt(n)
        rows.append({**setting, "error": error, "sigma": far, "constant": error * far * math.sqrt(n)})
    assert tuple(verdicts(rate.LEMMA_25, rows).values())[1:] == found


@pytest.mark.parametrize(("over", "bound", "found"), [(-1.0, 0.1, HOLDS), (2.0, 3.0, FAILS)])
def test_findings_of_table_1_follow_the_numbers(over, bound, found):
    order = {1: 4.0, 2: 2.0, 3: 1.0, 4: 3.0} if found is HOLDS else {1: 1.0, 2: 2.0, 3: 4.0, 4: 3.0}
    rows = []
    for setting in utility.TABLE_1.grid.settings(False):
        for number, size in order.items():
            numbers = {"log_over": over, "log_bound": bound, "bound": size, "loss": size, "error": size}
            rows.append({**setting, "constants": utility.TEXT, "configuration": number, **numbers})
    *by_paper, same = verdicts(utility.TABLE_1, rows).values()
    assert set(by_paper) == {found}
    assert same is HOLDS


def searched(errors):
    names = (*search.EQUAL, *search.BEST, *search.AGAIN, search.CHOSEN, search.TRUTH, search.PROVEN, PARK, UNIGRAM)
    return [
        {**setting, "method": name, "error": errors(name, setting["regime"])}
        for setting in search.GRID.settings(False)
        for name in names
    ]


def test_findings_of_the_search_follow_the_numbers():
    """All configurations alike, best shares better than usual ones; or none better than anything."""
    sizes = {search.CHOSEN: 0.3, search.TRUTH: 0.3, search.PROVEN: 0.1, PARK: 1.0, UNIGRAM: 1.2}
    better = {**dict.fromkeys(search.EQUAL, 0.5), **dict.fromkeys([*search.BEST, *search.AGAIN], 0.4), **sizes}
    good = verdicts(search.FIGURE_2_SEARCH, searched(lambda name, regime: better[name]))
    assert [text for text, verdict in good.items() if verdict is HOLDS] == [
        finding.text for i, finding in enumerate(search.FIGURE_2_SEARCH.findings) if i in (0, 4, 7, 8)
    ]
    assert set(verdicts(search.APPENDIX_J, searched(lambda name, regime: better[name])).values()) == {HOLDS}
    bad = verdicts(search.FIGURE_2_SEARCH, searched(lambda name, regime: 1.5 if name != PARK else 1.0))
    assert HOLDS not in {verdict for text, verdict in bad.items() if "overlaps" not in text}
    worse = {search.CHOSEN: 1.5, search.PROVEN: 1.6}
    chosen = verdicts(search.APPENDIX_J, searched(lambda name, regime: worse.get(name, 1.0)))
    assert set(chosen.values()) == {FAILS}


def test_a_cell_of_the_search_has_every_method_once():
    (setting,) = [s for s in search.GRID.settings(True) if s["regime"] == A]
    points = list(search.GRID.cell(setting, 0))
    named = [point["method"] for point in points if "method" in point]
    assert len(named) == len(set(named)) == 4 * 3 + 5
    assert sum(point["how_often"] for point in points if "how_often" in point) == 1
    error = {point["method"]: point["error"] for point in points if "method" in point}
    assert error[search.TRUTH] == min(error[name] for name in search.AGAIN)

"""The paper's configurations as an estimator: noise as printed, what is claimed, what is refused."""

from __future__ import annotations

import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2
from sklearn.base import clone

from discreet import Budget, Corpus, InputError, Ledger, WouldLeak
from discreet._errors import Overdrawn
from discreet._random import Key
from discreet.corpus import Vocabulary, lda_corpus
from discreet.evaluation import match_topics
from discreet.models.spectral.model import SpectralLDA
from discreet.models.spectral.published import edges as spectral_published
from discreet.models.spectral.published.choice import log_likelihood, splits, statistics
from discreet.models.spectral.published.edges import (
    PARTS,
    Account,
    Configured,
    Part,
    as_probabilities,
    shares,
    tau,
)
from discreet.models.spectral.published.printed import Printed
from discreet.models.spectral.tensor import unique_places
from discreet.models.spectral.unbiased import LdaMoments, sensitivities, singular
from discreet.privacy import Basis, Relation, Unit
from discreet.privacy.accounting import epsilon

ALL = (1, 2, 3, 4)
ALPHA = (0.5, 0.3, 0.15)


@pytest.fixture(scope="module")
def drawn():
    """Topics of unlike sizes: γ_s is the gap between them."""
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(40, 0.2), 3)
    theta = rng.dirichlet(ALPHA, 20_000)
    counts = rng.multinomial(30, theta @ topics)
    corpus = Corpus.from_counts(counts, [f"w{i}" for i in range(40)])
    return corpus.restrict(Vocabulary(corpus.vocabulary, "public")), topics


def fit(drawn, **options):
    chosen = {"n_topics": 3, "alpha0": sum(ALPHA), "random_state": 1, "epsilon": 1.0, "as_published": True, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SpectralLDA(**chosen).fit(drawn[0])


# --- what runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constants", ["appendix", "text"])
@pytest.mark.parametrize("configuration", ALL)
def test_without_much_noise_each_gives_the_topics(drawn, configuration, constants):
    model = fit(drawn, configuration=configuration, constants=constants, epsilon=1e6)
    assert match_topics(drawn[1], model.components_).distances.max() < 0.1
    assert_allclose(np.sort(model.alpha_)[::-1], ALPHA, atol=0.05)
    assert_allclose(model.components_.sum(axis=1), 1)
    assert (model.components_ > 0).all()


@pytest.mark.parametrize("configuration", ALL)
def test_noise_hides_them_where_the_paper_asks_for_much(drawn, configuration):
    model = fit(drawn, configuration=configuration, epsilon=0.01)
    assert match_topics(drawn[1], model.components_).mean > 0.5
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.alpha_).all()


@pytest.mark.parametrize("configuration", ALL)
def test_each_edge_is_charged_and_drawn_once(drawn, configuration):
    split = tuple(range(1, len(PARTS[configuration]) + 1))
    model = fit(drawn, configuration=configuration, epsilon=3.0, delta=1e-5, edge_split=split)
    edges = {edge.name: edge for edge in model.edges_}
    assert sorted(edges) == sorted(PARTS[configuration])
    assert len(model.edges_) == len(edges)
    for name, share in zip(PARTS[configuration], split, strict=True):
        assert edges[name].epsilon == pytest.approx(3 * share / sum(split))
        assert edges[name].delta == pytest.approx(1e-5 * share / sum(split))
        if name.startswith("e"):
            deviation = math.sqrt(2 * math.log(1.25 / edges[name].delta)) / edges[name].epsilon
            assert edges[name].scale == pytest.approx(edges[name].sensitivity * deviation)
        else:
            assert edges[name].scale == pytest.approx(1 / (20_000 * edges[name].epsilon))
    assert model.configuration_ == configuration
    assert sum(model.edge_split_) == pytest.approx(1)


@pytest.mark.parametrize(("configuration", "name"), [(1, "e4"), (2, "e6"), (2, "e8"), (3, "e7")])
def test_noise_of_an_edge_is_as_large_as_it_says(drawn, configuration, name):
    """Σ (noise/scale)² over runs is χ²: a right one fails once in 10^6, one off by a third once passes in 10^4."""
    run = Configured(LdaMoments(drawn[0], 0.95), 3, Key.from_seed(3))
    seen: list[np.ndarray] = []
    places = {"e4": 0, "e8": -1}

    def noisy_matrix(matrix, k):
        seen.append((matrix - run.second)[np.tril_indices(40)])
        return singular(matrix, k)

    def decomposed(tensor):
        if name == "e6":
            seen.append((tensor - run.tensor)[unique_places(3)])
        return real(tensor)

    def unwhitened(parts, *rest):
        if name == "e7":
            seen.append(np.append(parts.vectors - run.parts.vectors, parts.values - run.parts.values))
        return to_topics(parts, *rest)

    assert run.parts.converged  # what is exact is known before
    real, to_topics = run._decompose, run._unwhitened
    values = []
    with patch.object(run, "_decompose", decomposed), patch.object(run, "_unwhitened", unwhitened):
        for _ in range(1 if name in places else 60):
            seen.clear()
            with patch.object(spectral_published, "singular", noisy_matrix if name in places else singular):
                edges = run.run(configuration, Account(shares(configuration, None, 4.0, 1e-6))).edges
            scale = next(edge.scale for edge in edges if edge.name == name)
            values.append(seen[places.get(name, 0)] / scale)
    squares, n = float((np.concatenate(values) ** 2).sum()), np.concatenate(values).size
    low, high = chi2.ppf(5e-7, n), chi2.isf(5e-7, n)
    assert low < squares < high
    for factor in (3 / 4, 4 / 3):
        assert chi2.cdf(high / factor**2, n) - chi2.cdf(low / factor**2, n) < 1e-4


def test_sensitivities_are_as_printed():
    """Appendix H at α₀ = 2 (a = 2/3, |b| = 1/2, c = 2/3), k = 3, N = 1000, by hand; and section 6."""
    n, k, sigma, gamma = 1000, 3, 0.04, 0.02
    appendix, text = Printed("appendix", n, k, 2.0), Printed("text", n, k, 2.0)
    assert appendix.second == pytest.approx((2 + 8 / 3) / n)
    assert appendix.third == pytest.approx(4 / n + 4 * 999 / (n * 998))
    size = 1 + 3 * n / 999 + 2 * n**2 / (999 * 998)
    lemma_28 = math.sqrt(2 * k) * appendix.second / (sigma * math.sqrt(sigma / 2))
    assert appendix.whitened(sigma) == pytest.approx(size * lemma_28**3 + appendix.third * (k / (sigma / 2)) ** 1.5)
    assert appendix.decomposed(sigma, gamma) == pytest.approx(2 * math.sqrt(k) * appendix.whitened(sigma) / gamma)
    top, largest, unscaled = 5.0, 0.1, 4 / (2 * math.sqrt(6))
    expected = unscaled * (
        top * math.sqrt(largest) * appendix.decomposed(sigma, gamma)
        + top * math.sqrt(largest) / sigma * appendix.second
        + math.sqrt(largest + appendix.second) * appendix.decomposed(sigma, gamma)
    )
    assert appendix.output(sigma, gamma, largest, top) == pytest.approx(expected)
    assert text.second == text.third == 1 / n
    assert text.whitened(sigma) == pytest.approx(k**1.5 / (n * sigma**1.5))
    assert text.decomposed(sigma, gamma) == pytest.approx(k**2 / (n * gamma * sigma**1.5))
    assert text.output(sigma, gamma, largest, top) == pytest.approx(k**2 * 0.1**0.5 / (n * gamma * sigma**1.5))


def test_bounds_of_procedure_1_are_below_the_truth_and_warn_when_nothing_is_left(drawn):
    run = Configured(LdaMoments(drawn[0], 0.95), 3, Key.from_seed(4))
    exact = float(run.singular_values[2])
    below = [run._bound("sigma_k", exact, Account([Part("sigma_k", 1.0, 0.01)]), []) for _ in range(500)]
    assert np.mean(np.array(below) > exact) < 0.01  # printed: twice the margin that Lap(1/Nε) asks for
    assert np.median(below) == pytest.approx(exact - 2 / 20_000 * math.log(50), rel=0.05)
    with pytest.warns(UserWarning, match=r"bound of sigma_k and gamma_s is 0.*the topics are noise"):
        SpectralLDA(3, alpha0=0.95, epsilon=0.001, configuration=3, as_published=True, random_state=1).fit(drawn[0])


def test_the_account_is_added_up_before_and_taken_once():
    account = Account(shares(2, (1, 1, 2), 4.0, 1e-6))
    assert (account.epsilon, account.delta) == (4.0, pytest.approx(1e-6))
    assert account.take("e8").epsilon == 2.0
    with pytest.raises(Overdrawn, match="'e8'"):
        account.take("e8")
    with pytest.raises(Overdrawn, match="'e9'"):
        account.take("e9")
    assert tau(Part("e6", 0.5, 1e-5)) == pytest.approx(2 * math.sqrt(2 * math.log(1.25e5)))


def test_rows_that_noise_turned_round_are_turned_back():
    assert_allclose(
        as_probabilities(np.array([[-2.0, -1.0, 0.5], [1.0, 1.0, 2.0]])), [[2 / 3, 1 / 3, 0], [0.25, 0.25, 0.5]]
    )


# --- what is claimed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", ALL)
def test_what_is_printed_is_only_claimed(drawn, configuration):
    model = fit(drawn, configuration=configuration, random_state=None, epsilon=2.0, delta=1e-6)
    guarantee = model.guarantee_
    assert (guarantee.basis, guarantee.unit, guarantee.relation) == (Basis.CLAIMED, Unit.DOCUMENT, Relation.REPLACE)
    assert (guarantee.epsilon, guarantee.delta) == (pytest.approx(2.0), pytest.approx(1e-6))
    said = " ".join(guarantee.reasons)
    assert ("Lemma 28" in said) == (configuration > 1)
    assert ("γ_s" in said) == (configuration > 2)
    assert ("σ₁" in said) == (configuration == 4)
    assert ("exact arithmetic" in said) == (configuration == 1)
    assert not hasattr(model, "ledger_")
    assert model.release().ledger == []
    assert fit(drawn, configuration=configuration).guarantee_.basis is Basis.NONE  # seeded


def test_reasons_follow_the_constants_and_the_edges(drawn):
    text = fit(drawn, configuration=1, constants="text", random_state=None, epsilon=12.0)
    assert any("move by 1/N" in reason for reason in text.guarantee_.reasons)
    assert any("at most 1, and one edge has 4" in reason for reason in text.guarantee_.reasons)
    small = fit(drawn, configuration=1, random_state=None, epsilon=1.0)
    assert not any("1/N" in r or "at most 1" in r for r in small.guarantee_.reasons)


def test_config_1_would_be_sound_with_the_appendix_and_not_with_the_text(drawn):
    """By our sensitivities the appendix's noise is worth a smaller ε than is printed; the text's is for too little."""
    two, _ = sensitivities(sum(ALPHA))
    for constants, sound in (("appendix", True), ("text", False)):
        model = fit(drawn, configuration=1, constants=constants, random_state=None, epsilon=0.3, delta=1e-6)
        edge = next(edge for edge in model.edges_ if edge.name == "e4")
        assert (edge.sensitivity * 20_000 >= two) == sound
        (reason,) = (r for r in model.guarantee_.reasons if "exact arithmetic" in r)
        if sound:
            assert float(reason.split("ε = ")[1].split(" ")[0]) < 0.15


def test_our_own_form_is_as_before(drawn):
    """configuration=None neither reads nor sets anything of this."""
    model = fit(drawn, configuration=2)
    model.set_params(configuration=None, as_published=False).fit(drawn[0])
    assert not any(hasattr(model, name) for name in ("configuration_", "edges_", "edge_split_", "choice_"))
    assert len(model.ledger_.entries) == 6


# --- Config. 1 with right constants -----------------------------------------------------------------------------------


def test_config_1_is_proven_with_right_constants(drawn):
    ledger = Ledger(Budget(3.0, 1e-6), relation="replace")
    options = {"configuration": 1, "as_published": False, "random_state": None, "epsilon": 2.0}
    model = fit(drawn, ledger=ledger, **options)
    guarantee = model.guarantee_
    assert (guarantee.basis, guarantee.relation) == (Basis.PROVEN, Relation.REPLACE)
    assert 1.98 < guarantee.epsilon <= 2.0
    assert epsilon(ledger.entries, 1e-6) == pytest.approx(guarantee.epsilon, rel=1e-9)
    assert [entry.event.cells for entry in ledger.entries] == [40 * 41 // 2, 10]
    assert len(model.release().ledger) == 2
    assert match_topics(drawn[1], model.components_).mean < 0.4
    published = fit(drawn, configuration=1, epsilon=2.0)
    assert match_topics(drawn[1], published.components_).mean > match_topics(drawn[1], model.components_).mean


def test_config_1_with_right_constants_leaves_out_what_noise_hides(drawn):
    with pytest.warns(UserWarning, match=r"0 of 3 topics stand clear .* with [\d,]+ units, 40 words"):
        model = SpectralLDA(3, alpha0=0.95, epsilon=0.01, configuration=1).fit(drawn[0])
    assert model.components_.shape == (1, 40)
    assert_allclose(model.components_.sum(), 1)


# --- the choice -------------------------------------------------------------------------------------------------------


def test_the_choice_is_charged_and_names_what_it_does_not_charge(drawn):
    model = fit(drawn, configuration="choose", constants="text", epsilon=40.0, random_state=None, choice_share=0.25)
    assert len(model.choice_) == 6 + 6 + 4 + 6
    best = max(model.choice_, key=lambda one: one.log_likelihood)
    assert (model.configuration_, model.edge_split_) == best[:2]
    assert model.edges_[0].name == "likelihood"
    assert model.edges_[0].epsilon == pytest.approx(10)
    assert sum(edge.epsilon for edge in model.edges_) == pytest.approx(40)
    assert model.guarantee_.epsilon == pytest.approx(40)
    said = " ".join(model.guarantee_.reasons)
    assert "22 candidates" in said
    assert "ε = 670" in said  # 10 + 22 · 30
    assert match_topics(drawn[1], model.components_).mean < 0.2


def test_splits_are_all_ways_to_share_fifths():
    assert sorted(splits(4)) == sorted(
        {tuple(np.array(p) / 5) for p in ((2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2))}
    )
    assert len(list(splits(3))) == 6


def test_statistics_are_those_of_a_loop():
    small = lda_corpus(6, 7, 2, mean_length=6, seed=2)
    from discreet.engines.threads.documents import mixtures

    alpha = np.array([0.4, 0.2])
    theta = mixtures(small.topics, alpha, small.corpus, 1)
    expected = np.zeros((2, 7))
    for n in range(6):
        words = small.corpus.words[small.corpus.offsets[n] : small.corpus.offsets[n + 1]]
        for word in words:
            expected[:, word] += theta[n] * small.topics[:, word] / (theta[n] @ small.topics[:, word]) / len(words) / 6
    found = statistics(small.topics, alpha, small.corpus)
    assert_allclose(found, expected, atol=1e-12)
    assert found.sum() == pytest.approx(1)
    assert log_likelihood(found, small.topics) == pytest.approx(log_likelihood(found, small.topics[::-1]))
    assert log_likelihood(found, small.topics) > log_likelihood(found, np.full((2, 7), 1 / 7))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"configuration": 5}, "configuration"),
        ({"configuration": "best"}, "configuration"),
        ({"configuration": 2, "constants": "wrong"}, "constants"),
        ({"configuration": 2, "epsilon": None}, "needs|none was given"),
        ({"configuration": 2, "as_published": False}, "configuration=2 has no form that is proved.*as_published=True"),
        ({"configuration": "choose", "as_published": False}, "'choose' has no form that is proved"),
        ({"configuration": None}, "as_published=True needs configuration"),
        ({"configuration": 2, "ledger": Ledger(Budget(1, 1e-6))}, "only claimed"),
        ({"configuration": 2, "edge_split": (1, 2)}, "3 positive numbers.*sigma_k, e6, e8"),
        ({"configuration": 3, "edge_split": (1, 2, 0, 1)}, "4 positive numbers"),
        ({"configuration": "choose", "edge_split": (1, 2, 3)}, "also chooses"),
        ({"configuration": "choose", "choice_share": 1.0}, "choice_share"),
        ({"configuration": 1, "n_topics": 31}, "at most 30"),
        ({"configuration": 2, "n_topics": 41}, "41 topics cannot"),
        ({"configuration": 1, "as_published": False, "edge_split": (1, 2, 3)}, "2 positive numbers"),
        ({"configuration": 1, "as_published": False, "ledger": Ledger(Budget(1, 1e-6))}, "relation 'replace'"),
    ],
)
def test_bad_parameters_are_refused(drawn, options, message):
    with pytest.raises(InputError, match=message) as error:
        fit(drawn, **options)
    assert "\n" not in str(error.value)
    if options.get("ledger"):
        assert not options["ledger"].entries


def test_users_are_refused(drawn):
    corpus = drawn[0][:30]
    users = np.arange(30) // 2
    grouped = Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"), users)
    for model in (SpectralLDA(3, epsilon=1.0, configuration=c, as_published=True) for c in (1, "choose")):
        with pytest.raises(InputError, match="protects one document"):
            model.fit(corpus, groups=users)
        with pytest.raises(InputError, match="protects one document"):
            model.fit(grouped)


def test_two_documents_are_too_few(drawn):
    with pytest.raises(InputError, match="at least 3 documents; found n_samples=2"):
        SpectralLDA(2, epsilon=1.0, configuration=2, as_published=True).fit(drawn[0][:2])


def test_words_from_the_text_are_a_reason_or_refused(drawn):
    text = drawn[0].restrict(Vocabulary(drawn[0].vocabulary, "text")), drawn[1]
    model = fit(text, configuration=2, random_state=None)
    assert any("vocabulary was read" in reason for reason in model.guarantee_.reasons)
    with pytest.raises(WouldLeak):
        fit(text, configuration=1, as_published=False)


def test_parameters_survive_cloning_and_release(drawn):
    model = SpectralLDA(3, epsilon=1.0, configuration=3, constants="text", edge_split=(1, 1, 2, 2), choice_share=0.2)
    assert clone(model).get_params()["edge_split"] == (1, 1, 2, 2)
    parameters = fit(drawn, configuration=3).release().parameters
    assert (parameters["configuration"], parameters["constants"]) == (3, "appendix")


def test_a_seed_repeats_a_run(drawn):
    for configuration in (*ALL, "choose"):
        one, two = (fit(drawn, configuration=configuration, epsilon=5.0).components_ for _ in range(2))
        assert np.array_equal(one, two)
    assert not np.array_equal(
        fit(drawn, configuration=2).components_, fit(drawn, configuration=2, random_state=2).components_
    )

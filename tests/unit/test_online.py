"""OnlineLDA and OnlineLocalLDA: priors from earlier batches, denoised counts, and flat memory."""

from __future__ import annotations

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import gammaln

from discreet._errors import InputError
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.local import online, online_local
from discreet.models.local.batch import Batch, normalised
from discreet.models.local.online import GRID, OnlineLDA, correlation_log_likelihood, draw_correlation
from discreet.models.local.online_local import OnlineLocalLDA
from discreet.models.local.reports import Reports, words_once
from discreet.models.local.sizes import (
    batch_size_for,
    denoised,
    frequency_variance,
    next_mean,
    prior_size_for,
    prior_weight,
)
from discreet.privacy import Basis, Unit

FEW = {"n_sweeps": 6, "n_average": 2, "n_threads": 1}
V, K = 40, 3


def planted(n: int = 90, seed: int = 1) -> Corpus:
    corpus = lda_corpus(n, V, K, seed=seed, mean_length=12).corpus
    return Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"))


# --- O-LDA ------------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_counts_of_those_before_as_its_prior():
    """Eq. (10), (11) and (13), computed again beside the model."""
    corpus = planted()
    model = OnlineLDA(K, beta=0.5, correlation=0.25, random_state=4, **FEW)
    model.partial_fit(corpus[:30])
    first = model.topic_counts_.copy()
    assert first.sum() == pytest.approx(corpus[:30].n_tokens)
    model.partial_fit(corpus[30:])
    second = model.topic_counts_ - first
    assert second.sum() == pytest.approx(corpus[30:].n_tokens)
    prior = 0.5 + 0.25 * first
    np.testing.assert_allclose(model.components_, normalised(second, prior))
    batch = Batch(
        corpus[30:], np.full(K, 0.1), prior, Key.from_seed(4).renewed(1), informed=True, average_from=5, n_threads=1
    )
    for number in range(1, 7):
        batch.sweep(number)
    np.testing.assert_allclose(batch.counts(), second)
    assert model.n_batches_ == 2


def test_fit_is_a_sequence_of_partial_fits():
    corpus = planted()
    whole = OnlineLDA(K, batch_size=40, random_state=4, **FEW).fit(corpus)
    parts = OnlineLDA(K, random_state=4, **FEW)
    for start in (0, 40, 80):
        parts.partial_fit(corpus[start : start + 40])
    np.testing.assert_array_equal(whole.components_, parts.components_)
    again = whole.fit(corpus)
    assert again.n_batches_ == 3
    np.testing.assert_array_equal(again.components_, parts.components_)


def test_with_correlation_zero_batches_know_nothing_of_each_other():
    corpus = planted()
    model = OnlineLDA(K, beta=0.5, correlation=0.0, random_state=4, **FEW).partial_fit(planted(20, seed=9))
    model.partial_fit(corpus)
    batch = Batch(corpus, np.full(K, 0.1), np.full((V, K), 0.5), Key.from_seed(4).renewed(1), average_from=5)
    for number in range(1, 7):
        batch.sweep(number)
    np.testing.assert_allclose(model.components_, normalised(batch.counts(), np.full((V, K), 0.5)))


def test_topics_get_better_with_the_stream():
    test = planted(60, seed=1)[30:]
    corpus = planted(600, seed=1)[60:]
    model = OnlineLDA(K, n_sweeps=20, random_state=2, n_threads=1)
    early = model.partial_fit(corpus[:30]).perplexity(test)
    for start in range(30, 540, 30):
        model.partial_fit(corpus[start : start + 30])
    assert model.perplexity(test) < 0.95 * early


def test_the_likelihood_of_lambda():
    """Against the Dirichlet-multinomial formula over every cell."""
    rng = np.random.default_rng(0)
    before, counts = rng.poisson(3.0, (5, 2)) * 1.0, rng.poisson(1.0, (5, 2)) * 1.0
    base = np.linspace(0.1, 0.5, 5)
    found = correlation_log_likelihood(before, counts, base)
    for i, weight in enumerate(GRID):
        prior = base[:, None] + weight * before
        exact = (gammaln(counts + prior) - gammaln(prior)).sum()
        exact += (gammaln(prior.sum(0)) - gammaln((counts + prior).sum(0))).sum()
        assert found[i] == pytest.approx(exact)


def test_lambda_is_large_where_batches_agree_and_small_where_they_do_not():
    """The conditional given equal counts is concentrated above a half, given exchanged topics below a tenth."""
    rng = np.random.default_rng(1)
    before = rng.dirichlet(np.full(V, 0.1), K).T * 300
    base = np.full(V, 0.01)
    coins = np.random.default_rng(2)
    alike = np.mean([draw_correlation(before, before, base, coins) for _ in range(20)])
    unlike = np.mean([draw_correlation(before, before[::-1], base, coins) for _ in range(20)])
    assert alike > 0.5
    assert unlike < 0.1


def test_lambda_is_learnt_in_a_run():
    corpus = planted(200)
    model = OnlineLDA(K, correlation="learn", n_sweeps=20, batch_size=100, random_state=1, n_threads=1).fit(corpus)
    assert model.correlation_ in GRID
    with patch.object(online, "LEARN_EVERY", 100):
        fixed = OnlineLDA(K, correlation="learn", n_sweeps=20, batch_size=100, random_state=1, n_threads=1).fit(corpus)
    assert fixed.correlation_ == 0.5


def test_a_batch_without_tokens_teaches_nothing():
    empty = Corpus(np.zeros(0, np.int32), np.zeros(4, np.int64), planted().vocabulary)
    model = OnlineLDA(K, random_state=4, **FEW).partial_fit(planted())
    counts = model.topic_counts_.copy()
    model.partial_fit(empty)
    np.testing.assert_array_equal(model.topic_counts_, counts)
    assert np.isfinite(model.components_).all()


def test_documents_are_read_over_the_words_of_the_first_batch():
    model = OnlineLDA(K, random_state=4, **FEW).partial_fit(planted())
    words = Vocabulary([planted().vocabulary[3], "unheard"], "public")
    model.partial_fit(Corpus(np.array([0, 1, 0], np.int32), np.array([0, 3]), words))
    assert model.components_.shape == (K, V)
    assert model.guarantee_.basis == Basis.NONE


# --- OLP-LDA ----------------------------------------------------------------------------------------------------------

RESPONSE = RandomisedResponse.for_epsilon(2.0, V)


def reports(corpus: Corpus, seed: int = 3) -> Reports:
    return Reports.of_documents(corpus, RESPONSE, seed)


def run_published(batches: list[Reports], prior: Corpus | None = None, **options: object) -> list[np.ndarray]:
    """What each batch was reconstructed to."""
    wanted = []
    real = online_local.reconstructed

    def watch(given, key, estimate):
        wanted.append(estimate.copy())
        return real(given, key, estimate)

    model = OnlineLocalLDA(K, as_published=True, random_state=1, **options, **FEW)
    if prior is not None:
        model.fit_prior(prior)
    with patch.object(online_local, "reconstructed", watch):
        for batch in batches:
            model.partial_fit(batch)
    return wanted


def test_counts_are_denoised_by_equations_19_and_21():
    prior, corpus = planted(50, seed=1), planted()
    batches = [reports(corpus[:30]), reports(corpus[30:90])]
    found = run_published(batches, prior, omega=0.3)
    mu = words_once(prior).word_counts * 30 / 50  # μ⁰ = η⁰, so (21) only scales it
    eta = 0.3 * mu + 0.7 * batches[0].estimate()
    np.testing.assert_allclose(found[0], eta)
    np.testing.assert_allclose(found[1], 0.3 * (mu + eta) / 2 * 60 / 30 + 0.7 * batches[1].estimate())
    last = run_published(batches, prior, omega=0.3, prior_update="last")
    np.testing.assert_allclose(last[1], 0.3 * eta * 60 / 30 + 0.7 * batches[1].estimate())


def test_omega_can_be_computed():
    prior, batch = planted(50, seed=1), reports(planted()[:30])
    found = run_published([batch], prior, omega="computed", prior_sigma=4.0)
    omega = prior_weight(30, RESPONSE.f, 4.0)
    mu = words_once(prior).word_counts * 30 / 50
    np.testing.assert_allclose(found[0], omega * mu + (1 - omega) * batch.estimate())
    with pytest.raises(InputError, match="needs prior_sigma="):
        OnlineLocalLDA(K, omega="computed", as_published=True, **FEW).partial_fit(batch)
    with pytest.raises(InputError, match="needs prior_sigma="):
        OnlineLocalLDA(K, prior_sigma=1.0, as_published=True, **FEW).partial_fit(batch)


def test_without_prior_data_the_first_batch_is_reconstructed_by_moments():
    corpus = planted()
    batches = [reports(corpus[:30]), reports(corpus[30:60])]
    found = run_published(batches, omega=0.4)
    np.testing.assert_allclose(found[0], batches[0].estimate())
    np.testing.assert_allclose(found[1], 0.4 * batches[0].estimate() + 0.6 * batches[1].estimate())


@pytest.mark.parametrize("published", [False, True])
def test_prior_data_are_part_of_the_topics_prior_unless_they_should_not(published):
    prior = planted(50, seed=1)
    options = {"as_published": published, "random_state": 1, **FEW}
    with_counts = OnlineLocalLDA(K, **options).fit_prior(prior)
    assert with_counts.topic_counts_.sum() == pytest.approx(words_once(prior).n_tokens)
    without = OnlineLocalLDA(K, use_prior_counts=False, **options).fit_prior(prior)
    assert without.topic_counts_.sum() == 0
    without.partial_fit(reports(planted()[:30]))
    assert without.topic_counts_.sum() > 0
    with pytest.raises(InputError, match="prior data come before"):
        without.fit_prior(prior)


def test_fit_is_prior_data_and_then_batches():
    corpus, prior = planted(), planted(50, seed=1)
    model = OnlineLocalLDA(K, batch_size=45, random_state=1, **FEW)
    whole = model.fit(reports(corpus), prior=prior).components_.copy()
    parts = OnlineLocalLDA(K, random_state=1, **FEW).fit_prior(prior)
    for start in (0, 45):
        parts.partial_fit(reports(corpus)[start : start + 45])
    np.testing.assert_array_equal(whole, parts.components_)
    of_documents = OnlineLocalLDA(K, epsilon_bit=2.0, batch_size=45, random_state=1, **FEW).fit(corpus)
    assert of_documents.n_batches_ == 2


def test_reports_with_the_noise_topic_come_near_the_topics_without_noise():
    """Ten batches of a hundred at ε = 3: completion perplexity, against O-LDA on the same documents."""
    corpus, test = planted(1060)[60:], words_once(planted(1060)[:60])
    options = {"n_sweeps": 20, "batch_size": 100, "random_state": 1, "n_threads": 1}
    plain = OnlineLDA(K, **options).fit(words_once(corpus)).perplexity(test)
    noisy = OnlineLocalLDA(K, epsilon_bit=3.0, **options).fit(corpus)
    published = OnlineLocalLDA(K, epsilon_bit=3.0, as_published=True, **options).fit(corpus)
    assert noisy.perplexity(test) < 1.3 * plain
    assert noisy.perplexity(test) < published.perplexity(test)


def test_false_bits_weigh_more_where_topics_are_known():
    """By the weight that topics get beyond the true words of a report; a report of 5 true words, Kα = 0.3."""
    model = OnlineLocalLDA(K, random_state=1, **FEW)
    lengths = np.full(8, 5 + round(0.1 * V))
    corpus = Corpus(np.tile(np.arange(9, dtype=np.int32), 8), np.arange(9) * lengths[0], planted().vocabulary)
    assert model._false_weight(corpus, 0.1) == 0.1
    model.fit_prior(planted(50, seed=1))
    assert model._false_weight(corpus, 0.1) == pytest.approx(0.1 * (1 + 0.3 / 5))


def test_guarantees_of_a_stream():
    corpus = planted()
    model = OnlineLocalLDA(K, epsilon_bit=2.0, **FEW).fit_prior(planted(50, seed=1))
    assert "guarantee_" not in vars(model)
    model.partial_fit(corpus[:30]).partial_fit(corpus[30:])
    assert (model.guarantee_.unit, model.guarantee_.basis) == (Unit.BIT, Basis.PROVEN)
    assert "the documents of fit_prior are public" in model.guarantee_.reasons
    assert model.report_guarantee_.epsilon == pytest.approx(2.0 * V)
    model.partial_fit(Reports.of_documents(corpus, RESPONSE, 3))  # seeded: the stream promises nothing from here on
    model.partial_fit(corpus)
    assert model.guarantee_.basis == Basis.NONE


def test_batches_of_one_model_are_randomised_alike():
    corpus = planted()
    model = OnlineLocalLDA(K, **FEW).partial_fit(reports(corpus))
    other = Reports.of_documents(corpus, RandomisedResponse.for_epsilon(1.0, V), 3)
    with pytest.raises(InputError, match="in another way"):
        model.partial_fit(other)
    with pytest.raises(InputError, match="at least one report"):
        model.partial_fit(reports(corpus)[:0])
    words = [f"other{i}" for i in range(V)]
    with pytest.raises(InputError, match="other words"):
        model.partial_fit(Reports(RESPONSE, reports(corpus).packed, words))


@pytest.mark.parametrize("model", [OnlineLDA(K, **FEW), OnlineLocalLDA(K, epsilon_bit=2.0, **FEW)])
def test_memory_stays_flat(model):
    """A batch has 2,000 documents of 12 words and 96 kB of tokens: forty of them kept would be 3.8 MB."""
    corpus = planted(2000)
    for _ in range(3):
        model.partial_fit(corpus)
    tracemalloc.start()
    try:
        model.partial_fit(corpus)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(40):
            model.partial_fit(corpus)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_the_computed_weight_is_that_of_two_normal_laws():
    """Lemma 1 with a = 1 − f and noise variance M·f/2·(1 − f/2): ω = σ₁²/(σ₁² + a²σ²)."""
    m, f, sigma = 160, 0.2, 3.0
    noise = m * f / 2 * (1 - f / 2)
    assert prior_weight(m, f, sigma) == pytest.approx(noise / (noise + (1 - f) ** 2 * sigma**2))
    assert denoised(np.array([10.0]), np.array([20.0]), 0.25).tolist() == [12.5]


def test_a_fixed_weight_implies_a_narrow_prior():
    """ω = 0.4 with batches of 160 is σ = 3.6 documents at ε = 3 and 0.35 at 7.6."""
    for epsilon, sigma in ((3.0, 3.6), (7.6, 0.35)):
        f = RandomisedResponse.for_epsilon(epsilon, V).f
        assert prior_weight(160, f, sigma) == pytest.approx(0.4, abs=0.01)


def test_mean_updates():
    mu, eta = np.array([4.0]), np.array([8.0])
    assert next_mean(mu, eta, 20, 10).tolist() == [12.0]
    assert next_mean(mu, eta, 20, 10, "last").tolist() == [16.0]


def test_the_variance_of_frequencies():
    """Eq. (22), and by simulation of N̂_t/M for random documents: 4,000 draws, within 6·√(2/4000) = 13% (2e-9); leaving
    out the sampling term is off by a third."""
    m, f, p = 400, 0.2, 0.3
    assert frequency_variance(m, f, 0.4, p) == pytest.approx(0.36 * frequency_variance(m, f, 0.0, p))
    rng = np.random.default_rng(0)
    true = rng.binomial(m, p, 4000)
    seen = rng.binomial(true, 1 - f / 2) + rng.binomial(m - true, f / 2)
    found = RandomisedResponse.for_flip(f, 1).estimate(seen, m) / m
    assert found.var() == pytest.approx(frequency_variance(m, f, 0.0, p), rel=6 * np.sqrt(2 / 4000))


def test_sizes_for_a_wanted_error():
    f = 0.3
    size = batch_size_for(0.02, f, 0.2, 0.1)
    assert frequency_variance(size, f, 0.2, 0.1) <= 0.02**2 * (1 + 1e-9)
    assert frequency_variance(size - 1, f, 0.2, 0.1) > 0.02**2
    assert prior_size_for(0.05) == 738  # ln(40)/0.005 = 737.8
    with pytest.raises(InputError, match="positive"):
        batch_size_for(0.0, f)
    with pytest.raises(InputError, match="between 0 and 1"):
        prior_size_for(2.0)

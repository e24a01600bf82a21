"""LBLA: LDA where its priors are Dirichlet, the Beta-Liouville model where they are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, ncx2

from discreet import LBLA, LDA, Corpus, InputError, Release
from discreet.corpus import lda_corpus
from discreet.evaluation import completion_perplexity
from discreet.models.beta_liouville import BetaLiouville, word_divisors
from tests.support.enumeration import ALPHA_ERROR, corpus_of, pearson, transition

K, V = 4, 12
ALPHA = np.array([0.2, 0.5, 0.3, 0.4])
BETA = np.linspace(0.02, 0.3, V)
REST, WORD_REST = 3.0, 30.0


@pytest.fixture(scope="module")
def small():
    counts = np.random.default_rng(2).poisson(1.2, (30, V))
    counts[4] = 0
    return counts


def quick(**options):
    return LBLA(K, **{"alpha": ALPHA, "n_sweeps": 6, "n_average": 2, "random_state": 0, **options})


def words_prior(rest=WORD_REST, beta=BETA):
    return BetaLiouville(beta[:-1], rest, beta[-1])


# --- LDA inside it --------------------------------------------------------------------------------------------------


SAME = {
    "no rest": {},
    "documents": {"alpha_rest": ALPHA[:-1].sum()},
    "both": {"alpha_rest": ALPHA[:-1].sum(), "beta_rest": (V - 1) * 0.01},
    "a beta for each word": {"alpha_rest": ALPHA[:-1].sum(), "beta": np.full(V, 0.01)},
    "learnt": {"learn_alpha": True, "learn_beta": True, "n_sweeps": 30},
}


@pytest.mark.parametrize("options", SAME.values(), ids=SAME)
@pytest.mark.parametrize("algorithm", ["sampled", "collapsed"])
def test_with_dirichlet_priors_it_is_lda_bit_for_bit(small, options, algorithm):
    options = {**options, "algorithm": algorithm}
    shared = {
        name: value for name, value in options.items() if name in ("learn_alpha", "learn_beta", "n_sweeps", "algorithm")
    }
    plain = LDA(K, **{"alpha": ALPHA, "n_sweeps": 6, "n_average": 2, "random_state": 0, **shared}).fit(small)
    found = quick(**options).fit(small)
    assert_array_equal(found.alpha_, plain.alpha_)
    if "beta" in options:  # the sum of many numbers in place of a product
        assert_allclose(found.components_, plain.components_, rtol=1e-12)
        return
    assert_array_equal(found.components_, plain.components_)
    assert_array_equal(found.transform(small), plain.transform(small))
    assert found.history_["log_likelihood"] == plain.history_["log_likelihood"]
    assert found.perplexity(small) == plain.perplexity(small)


def test_with_many_topics_too():
    corpus = lda_corpus(60, 30, 3, mean_length=12, seed=1).corpus
    options = {"n_sweeps": 4, "random_state": 3}
    rest = float(np.full(511, 0.1).sum())
    plain, same, other = (
        LDA(512, **options).fit(corpus),
        LBLA(512, alpha_rest=rest, beta_rest=29 * 0.01, **options).fit(corpus),
        LBLA(512, alpha_rest=1.0, **options).fit(corpus),
    )
    assert_array_equal(same.components_, plain.components_)
    assert (other.components_ != plain.components_).any()


def test_of_a_single_topic_or_word_the_prior_says_nothing(small):
    one = LBLA(1, alpha_rest=REST, beta_rest=WORD_REST, n_sweeps=2).fit(small)
    assert_array_equal(one.transform(small), np.ones((30, 1)))
    assert one.alpha_rest_ is None
    word = LBLA(2, alpha_rest=REST, beta_rest=WORD_REST, n_sweeps=2).fit(small[:, :1])
    assert_array_equal(word.components_, np.ones((2, 1)))


# --- the model ------------------------------------------------------------------------------------------------------


def test_divisors_give_posterior_means():
    counts = np.random.default_rng(1).integers(0, 9, (5, V))
    divisor, ratio = word_divisors((counts + BETA).sum(axis=1), (counts + BETA)[:, -1], BETA[:-1].sum(), WORD_REST)
    found = (counts + BETA) / divisor[:, None]
    found[:, -1] *= ratio
    assert_allclose(found, words_prior().posterior_mean(counts))


@pytest.mark.parametrize("known", [True, False], ids=["counts", "sums"])
@pytest.mark.parametrize("scale", [1.0, 1e12, 1e16])
def test_divisors_of_a_heavy_prior_with_a_light_sum(scale, known):
    """Λ is up to 10^18 times a: in a − Λ + Λ nothing of a is left. Without the counts, they are lost in Λ too."""
    beta, rest = np.array([0.3, 0.4, 0.5]) * [scale, scale, 1.0], 0.01
    counts = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 7.0], [3.0, 2.0, 4.0]])[: 2 if not known else 3]
    given = counts + beta
    inner = counts[:, :-1].sum(axis=1) if known else None
    divisor, ratio = word_divisors(given.sum(axis=1), given[:, -1], beta[:-1].sum(), rest, inner)
    found = given / divisor[:, None]
    found[:, -1] *= ratio
    expected = BetaLiouville(beta[:-1], rest, beta[-1]).posterior_mean(counts)
    assert_allclose(found, expected, rtol=1e-9 if known or scale == 1 else 1e-2)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9 if known or scale == 1 else 1e-2)


@pytest.mark.parametrize("beta", [0.05, BETA], ids=["one", "each word"])
def test_topics_and_sweep_weights_are_posterior_means(small, beta):
    prior = words_prior(beta=np.broadcast_to(beta, V))
    model = quick(beta=beta, beta_rest=WORD_REST, n_average=1, warm_start=True).fit(small)
    counts = model._training.counts
    assert_allclose(model.components_, prior.posterior_mean(counts.T))
    weights_prior, scale = model._training._word_weights(counts)
    assert_allclose((counts + weights_prior) * scale, prior.posterior_mean(counts.T).T)
    other = quick(beta=beta, n_average=1).fit(small)
    assert np.abs(other.components_ - model.components_).max() > 0.01
    assert model.beta_ == pytest.approx(np.mean(beta))


def test_seeded_words_are_part_of_the_prior(small):
    seeds = np.zeros((K, V))
    seeds[1, 3], seeds[2, -1] = 5.0, 7.0
    model = quick(beta=BETA, beta_rest=WORD_REST, word_prior=seeds, n_average=1, warm_start=True).fit(small)
    counts = model._training.counts.T
    expected = [words_prior(beta=BETA + seeds[k]).posterior_mean(counts[k]) for k in range(K)]
    assert_allclose(model.components_, expected)


def test_log_likelihood_is_that_of_the_model(small):
    """log p(w | z) by the chain rule: each token is drawn from the posterior mean given those before it."""
    model = quick(beta=BETA, beta_rest=WORD_REST, warm_start=True, algorithm="sampled").fit(small)
    total = 0.0
    for counts in model._training.counts.T:
        seen = np.zeros(V)
        for word in np.repeat(np.arange(V), counts):
            total += math.log(words_prior().posterior_mean(seen)[word])
            seen[word] += 1
    assert model.history_["log_likelihood"][-1] == pytest.approx(total / small.sum())


def test_one_sweep_draws_by_the_law_of_the_model():
    """One sweep of the training loop over thousands of copies of a document, against the enumerated probabilities.

    Pearson's statistic: right code fails with probability 1e-6. Dirichlet documents, Dirichlet words, or the last
    word treated as the others are caught with probability above 0.999, computed below.
    """
    copies, n, words = 60_000, 2, [0, 1, 2]
    alpha, beta, rest, word_rest = np.array([0.4, 0.7]), np.array([0.5, 0.3, 0.2]), 6.0, 40_000.0
    model = LBLA(n, alpha=alpha, alpha_rest=rest, beta=beta, beta_rest=word_rest, random_state=5, algorithm="sampled")
    training = model._begin(corpus_of(*[words] * copies))
    slots, rng = training.engine.tokens(), np.random.default_rng(6)
    slots.topics[:] = rng.random(slots.topics.shape) < np.array([0.1, 0.3, 0.7])[slots.words]
    training.engine.restore(training.engine.state())
    training.counts = training.engine.count()
    state = np.c_[slots.words.reshape(-1, 3), slots.topics.reshape(-1, 3)].astype(int)
    counts = training.counts.T.copy()
    training.sweep(1)
    after = training.engine.tokens().topics.reshape(-1, 3).astype(int)

    def weights(a):
        return BetaLiouville(beta[:-1], a, beta[-1]).posterior_mean(counts).T

    def documents(a):
        prior = BetaLiouville(alpha[:-1], a, alpha[-1])
        return lambda counted, own, _: prior.posterior_mean(counted - np.eye(n)[own])

    right, dirichlet = weights(word_rest), weights(beta[:-1].sum())
    unlike = right.copy()
    unlike[-1] = dirichlet[-1]
    laws = {
        "right": (right, documents(rest)),
        "Dirichlet documents": (right, documents(alpha[:-1].sum())),
        "Dirichlet words": (dirichlet, documents(rest)),
        "the last word as the others": (unlike, documents(rest)),
    }
    score, freedom, far = 0.0, 0, dict.fromkeys(laws, 0.0)
    for row in np.unique(state, axis=0):
        here = (state == row).all(axis=1)
        chances = {
            name: transition(row[:3], row[3:], table, alpha, rule).ravel() for name, (table, rule) in laws.items()
        }
        p, size = chances["right"], here.sum()
        score += pearson(np.bincount(after[here] @ [4, 2, 1], minlength=8), size * p)
        freedom += p.size - 1
        for name, other in chances.items():
            far[name] += pearson(size * other, size * p)
    limit = chi2.isf(ALPHA_ERROR, freedom)
    assert score < limit
    assert far.pop("right") == 0
    for name, distance in far.items():
        assert ncx2.sf(limit, freedom, distance) > 0.999, name


def test_documents_are_read_by_their_own_prior(small):
    """An empty one gets the mean of the prior; a release does the same after the disk."""
    model = quick(alpha_rest=REST, beta=BETA, beta_rest=WORD_REST).fit(small)
    assert model.alpha_rest_ == REST
    found = model.transform(small)
    assert_allclose(found[4], BetaLiouville(ALPHA[:-1], REST, ALPHA[-1]).mean())
    assert_allclose(found.sum(axis=1), 1)


def test_a_release_carries_the_prior(small, tmp_path):
    model = quick(alpha_rest=REST, beta=BETA, beta_rest=WORD_REST).fit(small)
    again = Release.load(model.release().save(tmp_path / "model"))
    assert again.method == "lbla"
    assert again.alpha_rest == REST
    assert again.parameters["beta_rest"] == WORD_REST
    assert_array_equal(again.parameters["beta"], BETA)
    assert_array_equal(again.transform(small), model.transform(small))
    corpus = Corpus.from_counts(small, again.vocabulary)
    assert again.completion(corpus).perplexity == model.perplexity(small)


def test_a_prior_that_is_true_is_better():
    """Documents with much or little of the last topic, and a mixture of the others that does not depend on it.

    Held-out documents, topics as they are: the prior that they were drawn from against Dirichlet priors with the same
    mean, the one with the alphas of the others, the other with the weight of the last.
    """
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(40, 0.2), K)
    prior = BetaLiouville(np.full(K - 1, 6.0), a=0.3, beta=0.2)
    theta = prior.sample(1500, rng)
    counts = np.array([rng.multinomial(12, p) for p in theta @ topics])
    corpus = Corpus.from_counts(counts)
    found = completion_perplexity(topics, corpus, alpha=[*prior.alpha, 0.2], alpha_rest=0.3)
    for scale in (18.0 / 0.6, 0.5):
        alike = scale * prior.mean()
        assert found < 0.995 * completion_perplexity(topics, corpus, alpha=alike)


# --- samples, threads, parameters -----------------------------------------------------------------------------------


def test_samples_at_a_lag_are_averaged(small):
    model = quick(n_sweeps=11, n_average=3, lag=4, beta=BETA, beta_rest=WORD_REST)
    training, samples = model._begin(Corpus.from_counts(small)), []
    for number in range(1, 12):
        training.sweep(number)
        if number in (3, 7, 11):
            samples.append(training.counts.copy())
    assert training.n_summed == 3
    assert_allclose(training.topics(), words_prior().posterior_mean(np.mean(samples, axis=0).T))
    assert_array_equal(training.topics(), model.fit(small).components_)


def test_warm_start_goes_on(small):
    whole = quick(alpha_rest=REST, beta_rest=WORD_REST, n_sweeps=8).fit(small)
    parts = quick(alpha_rest=REST, beta_rest=WORD_REST, n_sweeps=4, warm_start=True).fit(small).fit(small)
    assert_array_equal(whole.components_, parts.components_)


def test_threads_do_not_change_a_bit(small):
    one, two = (quick(alpha_rest=REST, beta_rest=WORD_REST, n_threads=n).fit(small) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)


def test_settings_of_the_public_code(small):
    model = LBLA.public_code_settings(K, V, n_sweeps=3)
    assert_allclose(model.alpha, [0.2, 0.4, 0.6, 0.1])
    assert (model.alpha_rest, model.beta_rest, model.n_sweeps) == (0.1, 0.1, 3)
    assert_allclose(model.beta, [1 / 13] * 11 + [0.1])
    assert LBLA.public_code_settings(2, 5).beta[0] == 0.1
    assert model.fit(small).alpha_rest_ == 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha_rest": 0.0}, "alpha_rest"),
        ({"beta_rest": -1.0}, "beta_rest"),
        ({"alpha_rest": "much"}, "alpha_rest"),
        ({"beta": [0.1, 0.2]}, "one for each of 12 words"),
        ({"lag": 0}, "lag"),
        ({"alpha_rest": 1.0, "learn_alpha": True}, "learn_alpha=True fits a Dirichlet prior"),
        ({"beta_rest": 1.0, "learn_beta": True}, "learn_beta=True fits a Dirichlet prior"),
        ({"beta": BETA, "learn_beta": True}, "one beta for all words"),
    ],
)
def test_bad_parameters_are_named_in_one_line(small, options, message):
    with pytest.raises(InputError, match=message) as caught:
        quick(**options).fit(small)
    assert "\n" not in str(caught.value)

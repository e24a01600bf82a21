"""SpectralLDA as an estimator: what it finds, what it says, what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from discreet import Budget, Corpus, InputError, Ledger, WouldLeak
from discreet._errors import BudgetExceeded
from discreet.corpus import Vocabulary, lda_corpus
from discreet.engines.threads.moments import ThreadMoments
from discreet.evaluation import match_topics
from discreet.models.spectral.exact import exact_moments
from discreet.models.spectral.model import SpectralLDA
from discreet.models.spectral.private import HALF, SpectralPlan, clear_of_noise, symmetric
from discreet.privacy import Basis, Unit
from discreet.privacy.accounting import epsilon


@pytest.fixture(scope="module")
def drawn():
    return lda_corpus(6_000, 60, 4, mean_length=40, alpha=0.2, beta=0.2, seed=1)


def fit(corpus, **options):
    chosen = {"n_topics": 4, "alpha0": 0.8, "random_state": 1, **options}
    return SpectralLDA(**chosen).fit(corpus)


# --- plain ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decomposition", ["power", "simultaneous"])
def test_plain_topics_are_those_of_the_corpus(drawn, decomposition):
    model = fit(drawn.corpus, decomposition=decomposition, random_state=None)
    assert match_topics(drawn.topics, model.components_).distances.max() < 0.25  # far topics are 1.5 apart
    assert_allclose(model.components_.sum(axis=1), 1)
    assert (model.components_ > 0).all()
    assert_allclose(model.alpha_, 0.2, atol=0.06)
    assert model.alpha_.sum() == pytest.approx(0.8)
    assert model.guarantee_.basis is Basis.NONE
    assert not hasattr(model, "ledger_")
    assert model.n_topics_ == 4
    assert model.release().method == "spectral"


def test_threads_change_nothing(drawn):
    one, two = (fit(drawn.corpus, n_threads=n) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    private = [fit(drawn.corpus, n_threads=n, epsilon=20.0) for n in (1, 2)]
    assert_array_equal(private[0].components_, private[1].components_)


def test_whitening_whitens_without_a_matrix_of_words_by_words(drawn):
    """WᵀM₂W = I for the dense M₂ of the definition."""
    alpha0 = 0.8
    found = exact_moments(ThreadMoments(drawn.corpus), 4, alpha0, -0.35)
    counts = drawn.corpus.to_counts().toarray().astype(float)
    n = counts.sum(axis=1, keepdims=True)
    counts, n = counts[n[:, 0] >= 3], n[n[:, 0] >= 3]
    pairs = (counts / (n * (n - 1))).T @ counts - np.diag((counts / (n * (n - 1))).sum(axis=0))
    first = (counts / n).mean(axis=0)
    second = pairs / len(counts) - alpha0 / (alpha0 + 1) * np.outer(first, first)
    assert_allclose(found.first, first)
    table = found.whitening.table
    assert_allclose(table.T @ second @ table, np.eye(4), atol=1e-8)


def test_too_many_topics_are_refused_with_their_number():
    """Documents of one kind: M₂ has one eigenvalue above zero, or few by chance."""
    rows = np.tile([3, 2, 1, 0, 0], (10, 1))
    with pytest.raises(InputError, match=r"has (0 usable eigenvalues|1 usable eigenvalue), so 3 topics"):
        SpectralLDA(3).fit(rows)


def test_documents_of_two_words_have_no_third_moment():
    with pytest.raises(InputError, match="no document has 3 words"):
        SpectralLDA(1).fit(np.eye(4, dtype=int) + 1 - np.ones((4, 4), int))


def test_short_documents_change_nothing(drawn):
    short = Corpus.from_counts(np.eye(60, dtype=int)[:20], drawn.corpus.vocabulary)
    words = np.concatenate([drawn.corpus.words, short.words])
    offsets = np.concatenate([drawn.corpus.offsets, drawn.corpus.n_tokens + short.offsets[1:]])
    longer = Corpus(words, offsets, Vocabulary(drawn.corpus.vocabulary, "public"))
    assert_allclose(fit(longer).components_, fit(drawn.corpus).components_, atol=1e-12)
    one, two = (fit(c, epsilon=20.0).components_ for c in (longer, drawn.corpus))
    assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": (1, 2)}, "three numbers"),
        ({"split": (1, 0, 2)}, "three numbers"),
        ({"alpha0": 0}, "alpha0"),
        ({"decomposition": "magic"}, "decomposition"),
        ({"n_topics": 201}, "n_topics"),
        ({"ledger": Ledger()}, "nothing to charge"),
    ],
)
def test_bad_parameters_are_refused(drawn, options, message):
    with pytest.raises(InputError, match=message):
        fit(drawn.corpus, **options)


# --- private ----------------------------------------------------------------------------------------------------------


def test_private_topics_are_near_the_plain_ones_when_epsilon_is_large(drawn):
    model = fit(drawn.corpus, epsilon=50.0)
    assert match_topics(drawn.topics, model.components_).distances.max() < 0.4
    assert model.guarantee_.basis is Basis.NONE  # seeded
    assert "seed" in str(model.guarantee_)


def test_documents_that_follow_lda_want_a_longer_clip():
    """Short clips leave out of account what pure documents say: of 20 words and little noise, a few times the error."""
    known = lda_corpus(10_000, 20, 3, alpha=1 / 3, beta=0.1, mean_length=50, seed=0)
    models = [fit(known.corpus, n_topics=3, alpha0=1.0, epsilon=8.0, clip_factor=clip) for clip in (0.5, 4.0)]
    short, long = (match_topics(known.topics, model.components_).mean for model in models)
    assert long < 0.5 * short


def test_what_is_promised_is_what_was_charged(drawn):
    ledger = Ledger(Budget(9.0, 1e-6), unit="document")
    model = fit(drawn.corpus, epsilon=8.0, random_state=None, ledger=ledger)
    guarantee = model.guarantee_
    assert (guarantee.basis, guarantee.unit, guarantee.delta) == (Basis.PROVEN, Unit.DOCUMENT, 1e-6)
    assert 7.9 < guarantee.epsilon <= 8.0
    assert epsilon(ledger.entries, 1e-6) == pytest.approx(guarantee.epsilon, rel=1e-9)
    assert [entry.count for entry in ledger.entries] == [1] * 6
    release = model.release()
    assert len(release.ledger) == 6
    with pytest.raises(BudgetExceeded):
        fit(drawn.corpus, epsilon=8.0, random_state=None, ledger=ledger)
    assert len(ledger.entries) == 6


def test_the_budget_is_split_as_asked(drawn):
    """Precision (1/σ²) of the three moments stands in the ratio asked for."""
    for split in ((0.05, 0.87, 0.08), (1, 1, 1)):
        plan = SpectralPlan.make(SpectralLDA(4, epsilon=2.0, split=split), 60)
        precision = np.array([event.sigma**-2 for event in (plan.first, plan.second, plan.third)])
        assert_allclose(
            precision / precision.sum(), np.array(split) / sum(split), rtol=0.06
        )  # the last takes what is left
        assert plan.epsilon <= 2.0
        assert plan.second.cells == 60 * 61 // 2
        assert plan.third.cells == 4 * 5 * 6 // 6


def test_users_are_the_unit_when_groups_are_given(drawn):
    users = np.arange(drawn.corpus.n_documents) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(drawn.corpus, epsilon=60.0, random_state=None)
        by_user = SpectralLDA(4, alpha0=0.8, epsilon=60.0).fit(drawn.corpus, groups=users)
    assert (model.guarantee_.unit, by_user.guarantee_.unit) == (Unit.DOCUMENT, Unit.USER)
    with pytest.raises(InputError, match="per document"):
        SpectralLDA(4, epsilon=1.0, ledger=Ledger(Budget(1, 1e-6))).fit(drawn.corpus, groups=users)


def test_noise_is_not_called_topics(drawn):
    """With few documents and a small ε no eigenvalue stands clear: one topic, the words' frequencies, and a warning."""
    with pytest.warns(UserWarning, match=r"0 of 4 topics stand clear of the noise.*one topic is given"):
        model = fit(drawn.corpus[:300], epsilon=0.1)
    assert model.components_.shape == (1, 60)
    assert model.n_topics_ == 1
    assert model.alpha_.tolist() == [0.8]
    with pytest.raises(InputError, match=r"0 of 4 topics.*fewer_topics=True"):
        fit(drawn.corpus[:300], epsilon=0.1, fewer_topics=False)


def test_some_topics_survive_where_others_drown():
    drawn = lda_corpus(2_000, 500, 6, mean_length=30, alpha=0.1, beta=0.1, seed=2)
    with pytest.warns(UserWarning, match="of 6 topics stand clear"):
        model = SpectralLDA(6, alpha0=0.6, epsilon=2.0, random_state=3).fit(drawn.corpus)
    assert 1 < model.n_topics_ < 6
    assert model.components_.shape == (model.n_topics_, 500)
    assert 6 >= len(model.eigenvalues_) >= len(model.alpha_) == model.n_topics_
    assert model.alpha_.sum() == pytest.approx(0.6)


def test_an_empty_corpus_is_trained_on_like_any_other():
    """An error would tell that there is no text."""
    empty = Corpus(np.zeros(0, np.int32), np.zeros(1, np.int64), Vocabulary(("a", "b", "c"), "public"))
    with pytest.warns(UserWarning, match="stand clear"):
        model = SpectralLDA(2, epsilon=1.0).fit(empty)
    assert_allclose(model.components_.sum(), 1)


def test_words_from_private_text_are_refused(drawn):
    text = drawn.corpus.restrict(Vocabulary(drawn.corpus.vocabulary, "text"))
    with pytest.raises(WouldLeak):
        fit(text, epsilon=1.0)


def test_too_many_words_are_refused_before_anything_is_charged():
    corpus = lda_corpus(10, 10_001, 2).corpus
    ledger = Ledger(Budget(1, 1e-6))
    with pytest.raises(InputError, match="10,000"):
        SpectralLDA(2, epsilon=1.0, ledger=ledger).fit(corpus)
    assert not ledger.entries


def test_parameters_survive_cloning(drawn):
    model = SpectralLDA(3, epsilon=2.0, split=(1, 5, 1), ledger=Ledger(Budget(5, 1e-6)))
    again = clone(model)
    assert again.get_params()["split"] == (1, 5, 1)
    assert again.ledger is model.ledger


# --- eigenvalues under noise ----------------------------------------------------------------------------------------


def test_eigenvalues_are_freed_of_what_noise_adds():
    """Three directions in known noise: two beyond the threshold, one below it. At d = 1,500 within 10%."""
    d, sigma = 1_500, 1.0
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    edge = sigma * np.sqrt(d)
    strengths = edge * np.array([4.0, 2.0, 0.8])
    signal = (basis * strengths) @ basis.T
    noise = symmetric(np.round(rng.standard_normal(d * (d + 1) // 2) * 2**20).astype(np.int64), d) / 2**20 * sigma
    whitening, share = clear_of_noise(signal + noise, sigma, np.ones(d), 3)
    assert len(share) == 2
    assert_allclose(share, 1 / np.array([4.0, 2.0]) ** 2, atol=0.04)
    true = np.einsum("ij,ik,kj->j", whitening.vectors, signal, whitening.vectors)
    assert_allclose(whitening.values, true, rtol=0.1)
    assert_allclose((basis[:, :2] * whitening.vectors).sum(axis=0) ** 2, 1 - share, atol=0.04)
    _, share = clear_of_noise(noise, sigma, np.ones(d), 3)
    assert len(share) == 0  # noise alone ends at 2σ√d, below the threshold
    assert HALF > 2.1


def test_pairs_are_laid_out_once_each():
    cells = np.arange(6)
    assert_array_equal(symmetric(cells, 3), [[0, 1, 3], [1, 2, 4], [3, 4, 5]])


def test_words_that_occur_nowhere_are_in_no_topic(drawn):
    vocabulary = (*drawn.corpus.vocabulary, "never")
    wider = Corpus(drawn.corpus.words, drawn.corpus.offsets, Vocabulary(vocabulary, "public"))
    model, narrow = fit(wider), fit(drawn.corpus)
    assert_allclose(model.components_[:, -1], 0, atol=1e-12)
    assert_allclose(model.components_[:, :-1], narrow.components_, atol=1e-6)

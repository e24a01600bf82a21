"""VariationalLDA as people meet it: right against an oracle; what it refuses, charges and keeps; that it learns."""

from __future__ import annotations

import pickle
import warnings
from unittest.mock import patch

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld, rdp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, psi
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from discreet._errors import BudgetExceeded, InputError, WouldLeak
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.evaluation import match_topics
from discreet.mechanisms import release as mechanism
from discreet.models.lda import LDA
from discreet.models.variational.model import VariationalLDA
from discreet.models.variational.rounds import ExactRounds, first_lambda, step_size
from discreet.privacy import Basis, Budget, Ledger, Observer, Unit
from discreet.training.inputs import PUBLIC_WORDS, UNKNOWN_WORDS
from tests.support.spending import check_refusal, drawn, hopeless

forms = pytest.mark.parametrize("form", [{}, {"as_published": True, "clip": 4.0}], ids=["ours", "published"])


def tiny(**options):
    return VariationalLDA(**{"n_topics": 3, "n_rounds": 6, "epsilon": 2.0, "n_threads": 1, **options})


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return lda_corpus(40, 30, 3, mean_length=20, seed=1).corpus


# --- against scikit-learn --------------------------------------------------------------------------------------------


class Lambdas:
    """Records λ after every round."""

    def __enter__(self):
        self.seen, real = [], ExactRounds._update

        def update(training, counts, step):
            found = real(training, counts, step)
            self.seen.append(training.lam.T.copy())
            return found

        self._patch = patch.object(ExactRounds, "_update", update)
        self._patch.start()
        return self

    def __exit__(self, *exception):
        self._patch.stop()


def oracle(n_topics, alpha, beta, n_sweeps, start):
    """scikit-learn's, with a fixed number of steps in a document and from an even γ."""
    model = LatentDirichletAllocation(
        n_topics, doc_topic_prior=alpha, topic_word_prior=beta, max_doc_update_iter=n_sweeps, mean_change_tol=-1.0
    )
    model._init_latent_vars(start.shape[1], dtype=np.float64)
    model.components_ = start.copy()
    return model


def refresh(model):
    lam = model.components_
    model.exp_dirichlet_component_ = np.exp(psi(lam) - psi(lam.sum(axis=1))[:, None])


def test_batch_updates_are_scikit_learns():
    documents = lda_corpus(60, 50, 4, mean_length=30, seed=3).corpus
    with Lambdas() as lambdas:
        VariationalLDA(
            4, alpha=0.2, beta=0.3, n_rounds=5, local_sweeps=7, sampling_rate=1.0, random_state=9, n_threads=2
        ).fit(documents)
    model = oracle(4, 0.2, 0.3, 7, first_lambda(Key.from_seed(9), 50, 4).T)
    for found in lambdas.seen:
        refresh(model)
        _, sums = model._e_step(documents.to_counts().astype(float), cal_sstats=True, random_init=False)
        model.components_ = 0.3 + sums
        assert_allclose(found, model.components_, rtol=1e-6)
    assert len(lambdas.seen) == 5
    assert np.ptp(lambdas.seen[-1] - lambdas.seen[0]) > 1  # the comparison saw it move


def test_stochastic_updates_are_scikit_learns():
    """Online updates on the documents that took part, with the same step."""
    documents = lda_corpus(60, 50, 3, mean_length=30, seed=4).corpus
    options = {"alpha": 0.2, "beta": 0.3, "n_rounds": 6, "local_sweeps": 7, "random_state": 9, "n_threads": 2}
    model = VariationalLDA(3, sampling_rate=0.5, learning_offset=2.0, learning_decay=0.7, **options)
    with Lambdas() as lambdas:
        model.fit(documents)
    key = Key.from_seed(9)
    judge = oracle(3, 0.2, 0.3, 7, first_lambda(key, 50, 3).T)
    counts = documents.to_counts().astype(float)
    for number, found in enumerate(lambdas.seen, start=1):
        included = key.bits(16, number, 0, 60) < 2**31
        refresh(judge)
        _, sums = judge._e_step(counts[np.flatnonzero(included)], cal_sstats=True, random_init=False)
        step = (2.0 + number - 1) ** -0.7
        assert step_size(model, number) == pytest.approx(step)
        judge.components_ = (1 - step) * judge.components_ + step * (0.3 + 60 / included.sum() * sums)
        assert_allclose(found, judge.components_, rtol=1e-6)
    assert len(lambdas.seen) == 6


# --- the published setting -------------------------------------------------------------------------------------------


def test_what_the_published_setting_costs():
    """20 rounds of rate 0.05 and σ = 1.24 at δ = 1e-4: the numbers of the docstring."""
    setting = VariationalLDA.paper_settings()
    sigma, rate, n, delta = setting.noise_multiplier, setting.sampling_rate, setting.n_rounds, setting.delta
    assert (sigma, rate, n, delta) == (1.24, 0.05, 20, 1e-4)
    assert rate * setting.n_units == 20_000
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)), n
    )
    by_rdp, by_pld = rdp.RdpAccountant().compose(event), pld.PLDAccountant().compose(event)
    assert by_rdp.get_epsilon(delta) == pytest.approx(1.21, abs=0.005)
    assert by_pld.get_epsilon(delta) == pytest.approx(0.93, abs=0.005)
    # a document in one of disjoint batches: one Gaussian mechanism, its exact curve
    disjoint = 2.95
    exact = [ndtr(1 / (2 * sigma) - e * sigma) - np.exp(e) * ndtr(-1 / (2 * sigma) - e * sigma) for e in (2.945, 2.955)]
    assert exact[0] > delta > exact[1]
    for number in (1.21, 0.93, disjoint):
        assert f"{number:.2f}" in VariationalLDA.paper_settings.__doc__


def test_the_published_setting_runs_and_prints_the_smallest(corpus):
    model = VariationalLDA.paper_settings(n_topics=3, n_threads=1)
    with pytest.warns(UserWarning, match=r"delta=0\.0001 is not below .*n_units=") as caught:
        model.fit(corpus)
    assert caught[0].filename == __file__
    assert model.guarantee_.basis is Basis.PROVEN
    assert model.guarantee_.epsilon == pytest.approx(0.93, abs=0.005)
    assert model.ledger_.spent(1e-4).epsilon == pytest.approx(model.guarantee_.epsilon, rel=1e-6)
    (entry,) = model.ledger_.entries
    assert (entry.count, entry.event.sigma) == (20, pytest.approx(1.24))
    assert VariationalLDA.paper_settings(epsilon=3.0).noise_multiplier is None


# --- what is refused -------------------------------------------------------------------------------------------------

nan, inf = float("nan"), float("inf")
PUBLISHED = {"as_published": True, "clip": 4.0}
BAD = [
    *({"epsilon": value} for value in (0, -1, nan, inf, "1", 1e-6)),
    *({"delta": value} for value in (0, 1, nan, None)),
    {"delta": 0.01, "n_units": 100},
    {"n_units": 0},
    {"n_topics": 0},
    {"n_rounds": 0},
    {"sampling_rate": 0},
    {"sampling_rate": 1.01},
    {"local_sweeps": 0},
    {"clip": 0},
    {"clip": inf},
    {"beta": 0},
    {"learning_offset": 0.5},
    {"learning_decay": 0},
    {"learning_decay": 1.5},
    {"word_power": 0.5},
    {"max_tokens": 0},
    {"max_tokens": 2**24 + 1},
    {"alpha": -1},
    {"alpha": [1.0, 2.0]},
    {"as_published": "yes"},
    {"as_published": True},
    {"as_published": True, "clip": 4.0, "epsilon": None},
    {"noise_multiplier": 0, **PUBLISHED, "epsilon": None},
    {"noise_multiplier": 1.0},
    {"noise_multiplier": 1.0, **PUBLISHED},
    {"epsilon": None, "ledger": Ledger()},
    {"ledger": 3},
    {"n_threads": 0},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_parameters_are_one_line_and_cost_nothing(corpus, options):
    check_refusal(lambda ledger: tiny(**{"ledger": ledger, **options}).fit(corpus), options)


@forms
def test_words_from_the_private_text_are_refused(corpus, form):
    ledger = Ledger(Budget(5.0, 1e-5))
    with pytest.raises(WouldLeak):
        tiny(ledger=ledger, **form).fit(corpus.most_frequent(20))
    assert ledger.entries == ()
    assert tiny(epsilon=None).fit(corpus.most_frequent(20)).guarantee_.basis is Basis.NONE


@forms
def test_a_ledger_of_another_unit_is_refused(corpus, form):
    ledger = Ledger(Budget(5.0, 1e-5), unit="user")
    with pytest.raises(InputError, match="the ledger counts per user"):
        tiny(ledger=ledger, **form).fit(corpus)
    with pytest.raises(InputError, match="exactly one user id"):
        tiny(ledger=ledger, **form).fit(corpus, groups=["a"])
    assert ledger.entries == ()


def test_an_exact_fit_without_tokens_is_refused(corpus):
    with pytest.raises(InputError, match="no token"):
        tiny(epsilon=None).fit(corpus[[]])


# --- what is charged, and when ---------------------------------------------------------------------------------------


@hopeless
@forms
def test_the_ledger_is_charged_before_the_first_noise(corpus, form):
    ledger = Ledger(Budget(2.0, 1e-6))
    with (
        patch.object(mechanism, "add_discrete_gaussian", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        tiny(ledger=ledger, **form).fit(corpus)
    assert sum(entry.count for entry in ledger.entries) == 6 + (0 if form else 2)
    assert 0.98 * 2 <= ledger.spent().epsilon <= 2


@hopeless
@forms
def test_a_budget_that_is_too_small_refuses_and_draws_nothing(corpus, form):
    ledger = Ledger(Budget(1.9, 1e-6))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        tiny(ledger=ledger, **form).fit(corpus)
    assert (ledger.entries, noise.call_count) == ((), 0)


@hopeless
@forms
def test_what_is_promised_is_what_was_asked_and_charged(corpus, form):
    users = np.arange(40) % 9
    for groups, unit in ((None, Unit.DOCUMENT), (users, Unit.USER)):
        model = tiny(**form).fit(corpus, groups=groups)
        promise = model.guarantee_
        assert 0.98 * 2 <= promise.epsilon <= 2
        assert (promise.delta, promise.basis, promise.unit) == (1e-6, Basis.PROVEN, unit)
        assert promise.observer is Observer.STATISTICS
        assert model.ledger_.unit is unit
        assert model.ledger_.spent().epsilon == pytest.approx(promise.epsilon, rel=1e-9)
    several = 1  # the first reason: there were other fits
    assert tiny(n_units=40, **form).fit(corpus).guarantee_.reasons[several:] == (PUBLIC_WORDS, "n_units is public")
    assert tiny(**form).fit(corpus.to_counts()).guarantee_.reasons[several:] == (UNKNOWN_WORDS,)


@hopeless
@forms
def test_seeded_runs_promise_nothing_and_others_cannot_be_repeated(corpus, form):
    seeded = tiny(random_state=3, **form).fit(corpus)
    assert seeded.guarantee_.basis is Basis.NONE
    assert "seeded" in seeded.guarantee_.summary()
    assert_array_equal(seeded.components_, tiny(random_state=3, **form).fit(corpus).components_)
    assert not np.array_equal(tiny(**form).fit(corpus).components_, tiny(**form).fit(corpus).components_)


def test_the_exact_form_promises_nothing(corpus):
    exact = tiny(epsilon=None, random_state=1).fit(corpus)
    assert exact.guarantee_.basis is Basis.NONE
    assert "seeded" in exact.guarantee_.summary()
    assert not hasattr(exact, "ledger_")
    assert exact.release().ledger == []


@hopeless
def test_a_second_fit_forgets_the_first(corpus):
    model = tiny().fit(corpus)
    assert hasattr(model, "ledger_")
    assert not hasattr(model.set_params(epsilon=None).fit(corpus), "ledger_")


@hopeless
@pytest.mark.parametrize(
    "form", [{}, {"as_published": True, "clip": 4.0}, {"epsilon": None}], ids=["ours", "published", "exact"]
)
@pytest.mark.parametrize("groups", [None, "users"])
def test_the_number_of_threads_changes_nothing(corpus, groups, form):
    users = None if groups is None else np.arange(40) % 11
    options = {"random_state": 3, "n_topics": 20, "epsilon": 50.0, **form}
    first, *others = [tiny(n_threads=n, **options).fit(corpus, groups=users).components_ for n in (1, 2, 3)]
    for other in others:
        assert_array_equal(first, other)


# --- what is kept ----------------------------------------------------------------------------------------------------


@hopeless
@forms
def test_nothing_private_is_left_in_the_estimator(corpus, form):
    model = tiny(**form).fit(corpus, groups=[f"secret-user-{i % 7}" for i in range(40)])
    fitted = {"alpha_", "beta_", "components_", "topic_shares_", "guarantee_", "history_", "ledger_", "n_features_in_"}
    if not form.get("as_published"):
        fitted |= {"standard_errors_", "usefulness_"}
    assert {name for name in vars(model) if name not in model.get_params()} == {*fitted, "_spent", "_vocabulary"}
    assert model.history_ == {}
    tokens = corpus.words[:8]
    pickled = pickle.dumps(model)
    for secret in (b"secret-user", b"Engine", b"Rounds", b"Key", tokens.tobytes(), tokens.astype("i8").tobytes()):
        assert secret not in pickled
    assert clone(model).get_params()["n_rounds"] == 6
    assert model.release().method == "variational"


# --- whether it works ------------------------------------------------------------------------------------------------


@hopeless
@forms
def test_no_documents_and_unusual_settings(corpus, form):
    nobody = Corpus(np.empty(0, np.int32), [0, 0, 0], Vocabulary(corpus.vocabulary, "public"))
    for documents, options in [
        (corpus[[]], {}),
        (nobody, {}),
        *((corpus, o) for o in ({"n_topics": 1}, {"sampling_rate": 1.0}, {"n_rounds": 1}, {"max_tokens": 1})),
    ]:
        topics = tiny(**{**form, **options}).fit(documents).components_
        assert_allclose(topics.sum(axis=1), 1)
        assert (topics > 0).all()


def test_it_learns():
    """Exact: as good as LDA by sweeps. Private with a generous budget: far better than word frequencies, and plain
    steps less so. With next to no budget: not."""
    known = lda_corpus(3500, 200, 5, mean_length=60, seed=4).corpus
    train, test = known[:3000], known[3000:]
    gibbs = LDA(5, n_sweeps=60, n_threads=2, evaluate_every=0, random_state=1).fit(train).perplexity(test)
    unigram = np.exp(-np.log((train.word_counts + 1) / (train.word_counts + 1).sum())[test.words].mean())
    assert VariationalLDA(5, n_rounds=40, n_threads=2, random_state=1).fit(train).perplexity(test) < 1.02 * gibbs
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to warn of
        ours = VariationalLDA(5, epsilon=50.0, n_rounds=40, local_sweeps=8, n_threads=2).fit(train).perplexity(test)
        plain = VariationalLDA(
            5, epsilon=50.0, n_rounds=40, local_sweeps=8, n_threads=2, as_published=True, clip=10.0
        ).fit(train)
    assert ours < gibbs + 0.25 * (unigram - gibbs)
    assert plain.perplexity(test) < gibbs + 0.5 * (unigram - gibbs)
    with pytest.warns(UserWarning, match="unlikely to be useful"):
        noise = VariationalLDA(5, epsilon=0.01, n_rounds=40, n_threads=2).fit(train)
    assert noise.perplexity(test) > gibbs + 0.5 * (unigram - gibbs)


@pytest.mark.parametrize("epsilon", [None, 50.0])
def test_shares_of_topics(epsilon):
    """As in PrivateLDA's tests: even shares would be 0.15 off."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    known = lda_corpus(3000, 200, 4, alpha=0.4 * shares, beta=0.05, mean_length=60, seed=4)
    model = VariationalLDA(4, epsilon=epsilon, n_rounds=40, local_sweeps=8, n_threads=2, random_state=0).fit(
        known.corpus
    )
    found = model.topic_shares_[match_topics(known.topics, model.components_).order]
    np.testing.assert_allclose(found, shares, atol=0.04)

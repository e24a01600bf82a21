"""SubsampledLDA as people meet it: what it refuses, charges, keeps and claims, and that it learns."""

from __future__ import annotations

import json
import math
import pickle
import re
import warnings
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom

from discreet import LDA, Budget, BudgetExceeded, Corpus, InputError, Ledger, Release, SubsampledLDA, WouldLeak
from discreet._random import Key
from discreet.corpus import lda_corpus
from discreet.engines.threads.kept import ThreadKeptUnits
from discreet.models.subsampled import published as subsampled_published
from discreet.models.subsampled.rules import Converged, frequent_cells, size_ratio, variance_ratio
from discreet.privacy import Basis, Unit, accounting
from discreet.privacy.subsampled import subsampled_rdp
from discreet.training.inputs import PUBLIC_WORDS, UNKNOWN_WORDS
from tests.support.spending import check_refusal, drawn, hopeless


def tiny(**options):
    return SubsampledLDA(**{"n_topics": 3, "n_rounds": 6, "epsilon": 2.0, "n_threads": 1, **options})


def published(**options):
    return tiny(as_published=True, round_epsilon=2.0, **options)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return lda_corpus(40, 30, 3, mean_length=20, seed=1).corpus


# --- what is refused -------------------------------------------------------------------------------------------------

nan, inf = float("nan"), float("inf")
BAD = [
    *({"epsilon": value} for value in (0, -1, nan, inf, "1", None, 1e-7)),
    *({"delta": value} for value in (0, 1, -1e-6, nan, None)),
    *({"sampling_rate": value} for value in (0, 1.01)),
    {"n_topics": 0},
    {"n_rounds": 0},
    {"local_sweeps": 0},
    {"local_sweeps": 2**12 + 1},
    {"clip": 0},
    {"clip": inf},
    {"beta": 0},
    {"alpha": [1.0, 2.0]},
    {"boost": 0.5},
    {"adaptive": True, "boost": 3.0, "sampling_rate": 0.5},
    {"frequent_share": 0},
    {"tolerance": -1},
    {"tolerance": 1.0},  # no public documents
    {"patience": -1},
    {"max_tokens": 0},
    {"max_tokens": 2**24 + 1},
    {"order": 1},
    {"round_epsilon": 0},
    {"max_count": 0},
    {"noise": "sometimes"},
    {"ledger": 3},
    {"as_published": True},  # with a ledger
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_parameters_are_one_line_and_cost_nothing(corpus, options):
    check_refusal(lambda ledger: tiny(**{"ledger": ledger, **options}).fit(corpus), options)


@hopeless
def test_other_refusals(corpus):
    ledger = Ledger(Budget(5.0, 1e-5))
    with pytest.raises(WouldLeak, match="vocabulary"):
        tiny(ledger=ledger).fit(corpus.most_frequent(10))
    with pytest.raises(InputError, match="exactly one user id"):
        tiny(ledger=ledger).fit(corpus, groups=["a"])
    with pytest.raises(InputError, match="does not protect users"):
        published().fit(corpus, groups=["a"] * 40)
    with pytest.raises(InputError, match="no document with two"):
        tiny(ledger=ledger).fit(corpus, public=np.zeros((2, 30), int))
    with pytest.raises(InputError, match="per user"):
        tiny(ledger=Ledger(unit=Unit.USER)).fit(corpus)
    assert ledger.entries == ()
    small = Ledger(Budget(0.5, 1e-6))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        tiny(ledger=small).fit(corpus)
    assert (noise.call_count, small.entries) == (0, ())


# --- what is charged -------------------------------------------------------------------------------------------------


@hopeless
@pytest.mark.parametrize(("options", "rate"), [({}, 0.1), ({"adaptive": True, "boost": 3.0}, 0.3)])
def test_the_whole_plan_is_charged_at_the_largest_rate(corpus, options, rate):
    ledger = Ledger(Budget(5.0, 1e-6))
    model = tiny(ledger=ledger, **options).fit(corpus)
    (entry,) = ledger.entries
    assert (entry.count, entry.event.cells) == (6, 90)
    assert rate <= entry.event.sampling_rate < rate + 2**-31
    spent = accounting.epsilon(ledger.entries, 1e-6)
    assert 0.99 * 2.0 < spent <= 2.0
    found = model.guarantee_
    assert (found.epsilon, found.delta, found.unit) == (spent, 1e-6, "document")
    assert (found.basis, found.observer, found.relation) == (Basis.PROVEN, "statistics", "add-remove")
    assert found.reasons == (PUBLIC_WORDS,)


@hopeless
def test_users_matrices_and_seeds(corpus):
    users = tiny().fit(corpus, groups=[f"u{i // 4}" for i in range(40)])
    assert users.guarantee_.unit == "user"
    matrix = np.random.default_rng(0).poisson(1.0, (20, 8))
    assert tiny().fit(matrix).guarantee_.reasons[1:] == (UNKNOWN_WORDS,)  # the first: there was another fit
    assert tiny(random_state=0).fit(corpus).guarantee_.basis == "none"
    assert published(random_state=0).fit(corpus).guarantee_.basis == "none"


@hopeless
def test_a_release_holds_what_was_released_and_no_more(corpus, tmp_path):
    public = lda_corpus(10, 30, 3, seed=8).corpus
    model = tiny().fit(corpus, public=public)
    assert set(model.history_) == {"public_perplexity"}
    assert len(model.history_["public_perplexity"]) == 6
    loaded = Release.load(model.release().save(tmp_path / "model"))
    assert (loaded.method, loaded.history) == ("subsampled", model.history_)
    assert len(loaded.ledger) == 1
    text = json.dumps(loaded.parameters) + json.dumps(loaded.ledger)
    assert not re.search(r"\b(40|800)\b", text)  # documents, tokens
    state = pickle.loads(pickle.dumps(model))
    assert {name for name in vars(state) if name.endswith("_")} == {
        "components_", "alpha_", "beta_", "guarantee_", "history_", "ledger_", "n_features_in_",
        "standard_errors_", "topic_shares_", "usefulness_"
    }  # fmt: skip
    again = model.set_params(as_published=True, tolerance=1e9, random_state=None).fit(corpus)
    assert not hasattr(again, "ledger_")  # of the first fit
    assert again.release().history == {}  # the perplexity of private documents stays here
    assert set(again.history_) == {"perplexity"}


@hopeless
def test_threads_change_nothing_and_keys_are_fresh(corpus):
    one, two = (tiny(random_state=3, n_threads=n, adaptive=True).fit(corpus).components_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert (tiny().fit(corpus).components_ != tiny().fit(corpus).components_).any()


# --- what it learns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"adaptive": True, "frequent_share": 0.8}], ids=str)
def test_it_finds_the_topics_of_many_documents(options):
    """Where plain LDA finds them. With topics that carry nothing but noise the overlap is below 0.5."""
    made = lda_corpus(6_000, 60, 4, mean_length=40, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SubsampledLDA(4, epsilon=8.0, n_rounds=60, sampling_rate=0.2, random_state=1, **options).fit(
            made.corpus
        )
    distance = [0.5 * np.abs(made.topics[i] - model.components_[j]).sum() for i, j in pairs(made.topics, model)]
    assert max(distance) < 0.3
    noise = SubsampledLDA(4, epsilon=0.05, n_rounds=5, random_state=1)
    with pytest.warns(UserWarning, match="unlikely to be useful"):
        noise.fit(made.corpus[:50])
    assert max(0.5 * np.abs(made.topics[i] - noise.components_[j]).sum() for i, j in pairs(made.topics, noise)) > 0.5


def pairs(topics, model):
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(topics[:, None] - model.components_[None]).sum(axis=2)
    return list(zip(*linear_sum_assignment(apart), strict=True))


def test_it_stops_when_public_perplexity_does():
    made = lda_corpus(3_000, 60, 4, mean_length=40, seed=2)
    options = {"epsilon": 8.0, "n_rounds": 60, "sampling_rate": 0.2, "random_state": 1}
    model = SubsampledLDA(4, tolerance=0.5, patience=2, **options)
    curve = model.fit(made.corpus[:2_800], public=made.corpus[2_800:]).history_["public_perplexity"]
    assert 4 <= len(curve) < 60
    steps = np.abs(np.diff(curve)) <= 0.5
    assert steps[-3:].all()
    assert not any(steps[i : i + 3].all() for i in range(len(steps) - 3))  # and not before
    assert model.ledger_.entries[0].count == 60


# --- the paper's two rules -------------------------------------------------------------------------------------------


def test_frequent_words_are_the_fewest_that_hold_the_share():
    table = np.array([[5.0, 0, 1], [3, 0, 1], [-9, 0, 1], [2, 0, 1]])
    found = frequent_cells(table, 0.5)
    assert found[:, 0].tolist() == [True, False, False, False]
    assert frequent_cells(table, 0.51)[:, 0].tolist() == [True, True, False, False]
    assert frequent_cells(table, 1.0)[:, 0].tolist() == [True, True, False, True]
    assert not found[:, 1].any()
    assert found[:, 2].tolist() == [True, True, False, False]  # ties in the order of words


def test_convergence_rule():
    rule = Converged(1.0, patience=1)  # two differences in a row
    assert [rule(value) for value in (9.0, 5.0, 4.5, 3.0, 3.5, 4.4, 4.4)] == [False] * 5 + [True] * 2
    assert [Converged(0.0, patience=0)(1.0)] == [False]


def test_shares_and_coins_are_the_units_own(corpus):
    groups = np.arange(40) % 7
    engine = ThreadKeptUnits(corpus, groups, 3, Key.from_seed(1), max_tokens=10_000, n_threads=1)
    marked = np.random.default_rng(0).random((30, 3)) < 0.4
    ends = engine.offsets[engine.first_document]
    expected = [marked[engine.words[a:b], engine.topics[a:b]].mean() for a, b in pairwise(ends)]
    np.testing.assert_allclose(engine.shares(marked), expected)
    rates = np.array([0.0, 0.2, 0.3, 0.5, 0.8, 0.97, 1.0])
    n = 4_000
    hits = sum(engine.coins(i, np.ceil(rates * 2**32).astype(np.int64)).astype(int) for i in range(n))
    assert (hits[0], hits[-1]) == (0, n)
    for hit, rate in zip(hits[1:-1], rates[1:-1], strict=True):
        low, high = binom.ppf([1e-7, 1 - 1e-7], n, rate)  # fails by chance once in a million runs
        assert low <= hit <= high
        for wrong in (rate * 0.8, min(1.25 * rate, 1 - 1e-9)):  # and sees one that is a fifth off
            assert binom.cdf(high, n, wrong) - binom.cdf(low - 1, n, wrong) < 0.2


# --- as published ----------------------------------------------------------------------------------------------------


def test_what_is_claimed(corpus):
    found = published(sampling_rate=0.3).fit(corpus).guarantee_
    assert found.epsilon == pytest.approx(6 * subsampled_rdp(14, 2.0, 0.3))
    assert (found.basis, found.unit, found.delta) == (Basis.CLAIMED, "word", 0.0)
    text = str(found)
    for phrase in ("not sampled", "stays there", "not charged", "order 14", "ε_sub = 0.7719", "0.7313", "δ = 1e-06"):
        assert phrase in text
    total = tiny(as_published=True, epsilon=7.0).fit(corpus).guarantee_  # ε given as the paper's total
    assert total.epsilon == pytest.approx(7.0)


def test_what_a_run_adds_to_the_reasons(corpus):
    found = published(adaptive=True, tolerance=1e9, patience=1).fit(corpus.most_frequent(20)).guarantee_
    assert found.epsilon == pytest.approx(3 * subsampled_rdp(14, 2.0, 0.2))  # Iter = 3, at the rate vγ
    for phrase in (
        "counts that were not released",
        "perplexity of the private documents",
        "read from the private text",
    ):
        assert any(phrase in reason for reason in found.reasons)


@pytest.mark.parametrize(("share", "boost", "rate"), [(0.4, 3.0, 0.1), (0.5, 2.0, 0.1), (0.9, 1.1, 0.5)])
def test_eq_11_and_12_are_those_of_binomial_sizes(share, boost, rate):
    """1,000 tokens at γ, against the share of them at vγ."""
    uniform, adaptive = binom(1000, rate), binom(round(1000 * share), boost * rate)
    assert size_ratio(boost, share) == pytest.approx(uniform.mean() / adaptive.mean())
    assert variance_ratio(rate, boost, share) == pytest.approx(uniform.var() / adaptive.var())


def run_of(model, corpus, sigma=1.5):
    return subsampled_published.PublishedRun(model, corpus, np.full(model.n_topics, 0.1), Key.from_seed(2), sigma, None)


def test_noise_adds_up_with_every_visit():
    """Cell (t, k) has gained noise of variance σ² times the visits of t. With so many cells 10% are seen."""
    corpus = lda_corpus(300, 800, 10, mean_length=60, seed=1).corpus
    model = published(n_topics=10, sampling_rate=0.5)
    run = run_of(model, corpus)
    visits = np.zeros(800)
    for number in (1, 2, 3):
        visited = run.batch(number)
        visits += np.bincount(run.words[visited], minlength=800)
        run.iterate(number)
    clean = np.zeros((800, 10))
    np.add.at(clean, (run.words, run.topics), 1.0)
    noise = (run.word_topic.reshape(800, 10) - clean)[visits > 0] / (1.5 * np.sqrt(visits[visits > 0]))[:, None]
    n = noise.size
    assert n > 6_500
    assert abs((noise**2).mean() - 1) < 5 * math.sqrt(2 / n)  # by chance 6e-7; 10% in scale is 11 deviations away
    assert abs(noise.mean()) < 5 / math.sqrt(n)


def test_noise_once_an_iteration():
    """Every cell has gained variance 3σ² after three iterations, visited or not."""
    corpus = lda_corpus(300, 800, 10, mean_length=60, seed=1).corpus
    run = run_of(published(n_topics=10, sampling_rate=0.5, noise="iteration"), corpus)
    first = run.topics.copy()
    for number in (1, 2, 3):
        run.iterate(number)
    clean = np.zeros((800, 10))
    np.add.at(clean, (run.words, run.topics), 1.0)
    noise = (run.word_topic.reshape(800, 10) - clean) / (1.5 * math.sqrt(3))
    assert abs((noise**2).mean() - 1) < 5 * math.sqrt(2 / 8_000)
    assert 0.3 < (run.topics != first).mean() < 0.9  # some tokens were never visited
    np.testing.assert_allclose(run.topic_totals, run.word_topic.reshape(800, 10).sum(axis=0))


def test_tokens_are_sampled_at_the_rate_and_by_eq_10():
    corpus = lda_corpus(300, 200, 4, mean_length=60, seed=1).corpus
    run = run_of(published(n_topics=4, sampling_rate=0.3), corpus)
    n = corpus.n_tokens
    batch = run.batch(1)
    assert abs(batch.sum() - 0.3 * n) < 5 * math.sqrt(0.21 * n)
    assert (batch != run.batch(2)).any()
    adaptive = run_of(published(n_topics=4, sampling_rate=0.3, adaptive=True, boost=2.0), corpus)
    frequent = frequent_cells(adaptive.word_topic.reshape(200, 4), 0.5)[adaptive.words, adaptive.topics]
    batch = adaptive.batch(1)
    assert not batch[~frequent].any()
    assert abs(batch[frequent].mean() - 0.6) < 5 * math.sqrt(0.24 / frequent.sum())


def test_training_perplexity_and_pieces(corpus):
    model = published(sampling_rate=1.0)
    run = run_of(model, corpus)
    phi, theta = run.topics_of_words(), run.doc_topic + 0.1
    theta /= theta.sum(axis=1, keepdims=True)
    logs = [math.log(theta[d] @ phi[:, w]) for d in range(40) for w in run.words[run.offsets[d] : run.offsets[d + 1]]]
    assert run.perplexity() == pytest.approx(math.exp(-np.mean(logs)))
    with patch("discreet.models.published.VALUES", 50):  # many pieces of noise, one document each at least
        pieces = run_of(model, corpus)
        assert pieces.perplexity() == pytest.approx(run.perplexity())
        pieces.iterate(1)
    assert pieces._n_noises > 20
    clean = np.bincount(pieces.topics, minlength=3)
    assert np.isclose(pieces.topic_totals.sum(), pieces.word_topic.sum())
    assert clean.sum() == corpus.n_tokens


def test_with_little_noise_it_is_lda():
    made = lda_corpus(300, 60, 4, mean_length=40, seed=2)
    options = {"n_topics": 4, "as_published": True, "random_state": 0, "n_rounds": 60, "sampling_rate": 0.5}
    quiet = SubsampledLDA(round_epsilon=1e6, **options).fit(made.corpus).perplexity(made.corpus)
    loud = SubsampledLDA(round_epsilon=2.0, **options).fit(made.corpus).perplexity(made.corpus)
    plain = LDA(4, n_sweeps=60, random_state=0).fit(made.corpus).perplexity(made.corpus)
    assert quiet < 1.05 * plain
    assert loud > 1.2 * plain
    capped = SubsampledLDA(round_epsilon=1e6, max_count=1.0, **options).fit(made.corpus).perplexity(made.corpus)
    assert capped > 1.05 * plain  # a clip of one makes all words alike


def test_the_command_line_knows_it():
    from discreet.cli.methods import check_method, make_model

    model = make_model(check_method("subsampled", {"epsilon": 3.0}), 4, {"epsilon": 3.0, "beta": 0.2}, alpha=0.3)
    assert type(model) is SubsampledLDA
    assert (model.n_topics, model.epsilon, model.delta, model.beta, model.alpha) == (4, 3.0, 1e-6, 0.2, 0.3)

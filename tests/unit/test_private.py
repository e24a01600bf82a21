"""PrivateLDA as people meet it: what it refuses, what it charges and when, what it keeps, and that it learns."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from discreet._errors import BudgetExceeded, InputError, Overdrawn, WouldLeak
from discreet._random import Key
from discreet.corpus import Corpus, CorpusBuilder, Tokenizer, Vocabulary, lda_corpus
from discreet.engines.threads.units import ThreadUnits
from discreet.evaluation import match_topics
from discreet.mechanisms import release as mechanism
from discreet.mechanisms.release import Releases
from discreet.models.lda import LDA
from discreet.models.private.model import PrivateLDA
from discreet.models.private.rounds import usual_sweeps
from discreet.privacy import Basis, Budget, Ledger, Observer, Relation, Unit
from discreet.privacy.budget import BudgetFile
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.release.release import Release
from discreet.training.inputs import PUBLIC_WORDS, UNKNOWN_WORDS
from tests.support.spending import check_refusal, drawn, hopeless


def tiny(**options):
    return PrivateLDA(**{"n_topics": 3, "n_rounds": 6, "epsilon": 2.0, "n_threads": 1, **options})


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return lda_corpus(40, 30, 3, mean_length=20, seed=1).corpus


# --- what is refused -------------------------------------------------------------------------------------------------

nan, inf = float("nan"), float("inf")
BAD = [
    *({"epsilon": value} for value in (0, -1, nan, inf, "1", None, 1e-6)),
    *({"delta": value} for value in (0, 1, 1.5, -1e-6, nan, None)),
    {"delta": 0.01, "n_units": 100},
    {"n_units": 0},
    {"n_units": 2.5},
    {"n_topics": 0},
    {"n_rounds": 0},
    {"n_rounds": 2**31 + 1},
    {"sampling_rate": 0},
    {"sampling_rate": 1.01},
    {"local_sweeps": 0},
    {"local_sweeps": 2**12 + 1},
    {"clip": 0},
    {"clip": inf},
    {"word_power": 0.5},
    {"max_tokens": 0},
    {"max_tokens": 2**24 + 1},
    {"alpha": -1},
    {"alpha": [1.0, 2.0]},
    {"ledger": 3},
    {"n_threads": 0},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_parameters_are_one_line_and_cost_nothing(corpus, options):
    check_refusal(lambda ledger: tiny(**{"ledger": ledger, **options}).fit(corpus), options)


@hopeless
def test_more_cells_than_kernels_can_count_are_refused_before_anything_is_spent():
    wide = Corpus.from_counts(sparse.csr_array(([1], ([0], [0])), shape=(1, 40_000)))
    ledger = Ledger(Budget(5.0, 1e-5))
    with pytest.raises(InputError, match=r"40,000 words and 65,535 topics are more than 2\^31 cells"):
        PrivateLDA(65_535, epsilon=4, ledger=ledger).fit(wide)
    assert ledger.entries == ()


GROUPS = {
    "too few": (["a"] * 39, "exactly one user id"),
    "too many": (["a"] * 41, "exactly one user id"),
    "a table": (np.ones((40, 2)), "exactly one user id"),
    "missing": ([None] + ["a"] * 39, "row 0 .* user id is missing"),
    "not a number": ([nan] + ["a"] * 39, "row 0 .* user id is missing"),
    "not a number among numbers": (np.r_[nan, np.arange(39)], "row 0 .* user id is missing"),
    "blank": ([" "] + ["a"] * 39, "row 0 .* user id is missing"),
    "no time": (np.array(["NaT"] + ["2020-01-01"] * 39, "M8[D]"), "row 0 .* user id is missing"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_cannot_be_used(corpus, name):
    groups, message = GROUPS[name]
    ledger = Ledger(Budget(5.0, 1e-5), unit="user")
    with drawn() as noise, pytest.raises(InputError, match=message) as error:
        tiny(ledger=ledger).fit(corpus, groups=groups)
    assert not re.search(r"\d", str(error.value).replace("row 0", ""))  # no number of documents
    assert (ledger.entries, noise.call_count) == ((), 0)


@pytest.mark.parametrize(("unit", "groups"), [("user", None), ("document", "users"), ("word", None)])
def test_a_ledger_of_another_unit_is_refused(corpus, unit, groups):
    ledger = Ledger(Budget(5.0, 1e-5), unit=unit)
    with pytest.raises(InputError, match=f"the ledger counts per {unit}"):
        tiny(ledger=ledger).fit(corpus, groups=None if groups is None else np.arange(40) % 7)
    assert ledger.entries == ()


def test_a_ledger_of_another_relation_is_refused(corpus):
    with pytest.raises(InputError, match="replace"):
        tiny(ledger=Ledger(Budget(5.0, 1e-5), relation="replace")).fit(corpus)


def test_words_from_the_private_text_are_refused(corpus):
    ledger = Ledger(Budget(5.0, 1e-5))
    with pytest.raises(WouldLeak, match=r"vocabulary=.*PrivateVectorizer\)\.$") as error:
        tiny(ledger=ledger).fit(corpus.most_frequent(20))
    with pytest.raises(WouldLeak, match=r"vocabulary=.*PrivateVectorizer.*Corpus\.restrict"):
        tiny(ledger=ledger).fit(
            replace(corpus, vocabulary=Vocabulary(corpus.vocabulary, "text", complete=True), all_tokens=True)
        )
    assert "\n" not in str(error.value)
    assert not set(corpus.vocabulary) & set(str(error.value).split())
    assert ledger.entries == ()


@hopeless
def test_what_is_assumed_is_said(corpus):
    first = tiny().fit(corpus).guarantee_
    assert first.reasons == ("the word list is public",)
    assert first.summary().endswith("proven, if the word list is public")
    assert tiny(n_units=40).fit(corpus).guarantee_.reasons[1:] == (PUBLIC_WORDS, "n_units is public")
    frequent = [corpus.vocabulary[i] for i in np.argsort(-corpus.word_counts)[:20]]
    for unsaid in (corpus.to_counts(), corpus.restrict(frequent)):
        assert tiny().fit(unsaid).guarantee_.reasons[1:] == (UNKNOWN_WORDS,)  # the first: there were other fits
    chosen = Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "private-selection"))
    assert "not part of these numbers" in str(tiny().fit(chosen).guarantee_)


# --- what is charged, and when ---------------------------------------------------------------------------------------


@hopeless
def test_the_ledger_is_charged_before_the_first_noise(corpus):
    ledger = Ledger(Budget(2.0, 1e-6))
    with (
        patch.object(mechanism, "add_discrete_gaussian", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        tiny(ledger=ledger).fit(corpus)
    assert sum(entry.count for entry in ledger.entries) == 2 + 6
    assert 0.98 * 2 <= ledger.spent().epsilon <= 2


@hopeless
def test_a_budget_that_is_too_small_refuses_and_draws_nothing(corpus):
    ledger = Ledger(Budget(1.9, 1e-6))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        tiny(ledger=ledger).fit(corpus)
    assert (ledger.entries, noise.call_count) == ((), 0)


@hopeless
def test_fits_add_up_in_one_ledger(corpus):
    ledger = Ledger(Budget(2.05, 1e-6))
    model = tiny(ledger=ledger).fit(corpus)
    assert model.ledger_ is ledger
    assert clone(model).ledger is ledger
    with pytest.raises(BudgetExceeded):
        clone(model).fit(corpus)
    assert sum(entry.count for entry in ledger.entries) == 8


@hopeless
def test_a_budget_file_is_charged(corpus, tmp_path):
    file = BudgetFile.create(tmp_path / "budget", 2.05, 1e-6)
    tiny(ledger=Ledger(file=file)).fit(corpus)
    assert sum(entry.count for entry in file.ledger().entries) == 8
    with pytest.raises(BudgetExceeded):
        tiny(ledger=Ledger(file=file)).fit(corpus)


def test_noise_is_drawn_for_what_was_charged_and_once():
    event = DiscreteGaussianRelease(scale=4096.0, sensitivity=100.0, cells=5)
    reservation, key = Ledger().reserve([Entry(event, 3, "test")]), Key.fresh()
    releases = Releases(reservation, key)
    cells, again = np.zeros((2, 5), np.int64)
    releases.release(cells, event)
    assert cells.any()
    with drawn() as noise:
        with pytest.raises(InputError, match="cells were charged"):
            releases.release(np.zeros(6, np.int64), event)
        other = DiscreteGaussianRelease(scale=4096.0, sensitivity=99.0, cells=5)
        with pytest.raises(Overdrawn):
            releases.release(np.zeros(5, np.int64), other)
        assert noise.call_count == 0
    releases.release(again, event)
    assert (again != cells).any()
    with drawn() as noise:
        with pytest.raises(Overdrawn, match="release 3 was to be drawn with the noise of release 1"):
            Releases(reservation, key).release(np.zeros(5, np.int64), event)
        with pytest.raises(Overdrawn, match="charged for 0 more"):
            releases.release(np.zeros(5, np.int64), event)
        assert noise.call_count == 0


@hopeless
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_what_is_promised_is_what_was_asked_and_charged(corpus, epsilon):
    model = tiny(epsilon=epsilon).fit(corpus)
    promise = model.guarantee_
    assert 0.98 * epsilon <= promise.epsilon <= epsilon
    assert (promise.delta, promise.basis) == (1e-6, Basis.PROVEN)
    assert (promise.unit, promise.observer) == (Unit.DOCUMENT, Observer.STATISTICS)
    assert promise.relation is Relation.ADD_REMOVE
    assert model.ledger_.spent().epsilon == pytest.approx(promise.epsilon, rel=1e-9)
    rates = {e.event.sampling_rate for e in model.ledger_.entries}
    assert rates == {1.0, np.ceil(model.sampling_rate * 2**32) / 2**32}
    assert all(e.event.sensitivity >= 1 for e in model.ledger_.entries)


@hopeless
def test_users_are_the_unit_when_they_are_named(corpus):
    users = np.array([f"u{i % 9}" for i in range(40)])
    model = tiny().fit(corpus, groups=users)
    assert model.guarantee_.unit is model.ledger_.unit is Unit.USER
    named = Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"), users)
    assert tiny().fit(named).guarantee_.unit is Unit.USER
    by_name = tiny(random_state=1).fit(corpus, groups=users)
    by_number = tiny(random_state=1).fit(corpus, groups=list(np.arange(40) % 9))
    np.testing.assert_array_equal(by_name.components_, by_number.components_)


@hopeless
def test_seeded_runs_promise_nothing_and_others_cannot_be_repeated(corpus):
    seeded = tiny(random_state=3).fit(corpus)
    assert seeded.guarantee_.basis is Basis.NONE
    assert "seeded" in seeded.guarantee_.summary()
    np.testing.assert_array_equal(seeded.components_, tiny(random_state=3).fit(corpus).components_)
    assert not np.array_equal(tiny().fit(corpus).components_, tiny().fit(corpus).components_)


@hopeless
@pytest.mark.parametrize("groups", [None, "users"])
def test_the_number_of_threads_changes_nothing(corpus, groups):
    users = None if groups is None else np.arange(40) % 11
    first, *others = [
        tiny(random_state=3, n_threads=n, n_topics=20, epsilon=50.0).fit(corpus, groups=users).components_
        for n in (1, 2, 3)
    ]
    for other in others:
        np.testing.assert_array_equal(first, other)


# --- what is kept ----------------------------------------------------------------------------------------------------


@hopeless
def test_nothing_private_is_left_in_the_estimator(corpus):
    model = tiny(n_threads=2).fit(corpus, groups=[f"secret-user-{i % 7}" for i in range(40)])
    assert {name for name in vars(model) if name not in model.get_params()} == {
        "alpha_",
        "beta_",
        "components_",
        "guarantee_",
        "history_",
        "ledger_",
        "n_features_in_",
        "standard_errors_",
        "topic_shares_",
        "usefulness_",
        "_spent",
        "_vocabulary",
    }
    assert model.history_ == {}
    assert model.beta_ == 1 / 30
    pickled = pickle.dumps(model)
    tokens = corpus.words[:8]
    for secret in (b"secret-user", b"ThreadUnits", b"Rounds", b"Key", tokens.tobytes(), tokens.astype("i8").tobytes()):
        assert secret not in pickled
    restored = pickle.loads(pickled)
    np.testing.assert_array_equal(restored.components_, model.components_)
    with pytest.raises(InputError, match="copy"):
        restored.ledger_.charge(model.ledger_.entries[0].event, label="again")


@hopeless
def test_what_a_word_is_is_kept_but_not_a_list_of_names_to_leave_out():
    builder = CorpusBuilder(
        vocabulary=["été", "vent"], tokenizer=Tokenizer(r"\w+", stop_words=frozenset({"secretname"}))
    )
    for _ in range(40):
        builder.add("Été, vent et secretname")
    model = tiny(n_topics=2).fit(builder.build())
    assert model.release().tokenizer == Tokenizer(r"\w+", stop_words=None)
    assert b"secretname" not in pickle.dumps(model)
    assert model.fit(lda_corpus(40, 30, 3, mean_length=10, seed=2).corpus).release().tokenizer is None


@hopeless
def test_the_release_carries_guarantee_and_ledger(corpus, tmp_path):
    model = tiny().fit(corpus)
    loaded = Release.load(model.release().save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.topics, model.components_)
    assert loaded.guarantee == model.guarantee_
    assert (loaded.method, loaded.history) == ("private", {})
    assert [Entry.from_json(entry) for entry in loaded.ledger] == list(model.ledger_.entries)
    assert loaded.parameters["epsilon"] == 2.0
    assert "ledger" not in loaded.parameters
    about = json.loads((tmp_path / "model" / "release.json").read_text())
    assert not {"n_documents", "n_tokens", "n_units_", "seconds"} & set(json.dumps(about).split('"'))
    assert LDA(2, n_sweeps=3).fit(corpus).release().history == {}  # its history is private
    assert LDA(2, n_sweeps=3).fit(corpus).release().ledger == []


@hopeless
def test_callbacks_hear_nothing_and_may_end_it(corpus):
    heard = []
    model = tiny(callbacks=[lambda info: heard.append(info) or info.sweep == 2]).fit(corpus)
    assert [info.measures for info in heard] == [{}, {}]
    assert sum(entry.count for entry in model.ledger_.entries) == 8  # the plan was charged, and stays so
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


# --- whether it works ------------------------------------------------------------------------------------------------


def test_useless_topics_get_a_sentence(corpus):
    """After the fit from its final numbers; before anything is charged where a public number of units shows it."""
    with pytest.warns(UserWarning, match=r"^these topics are unlikely to be useful: they differ by more") as caught:
        model = tiny(epsilon=0.5).fit(corpus)
    assert [warning.filename for warning in caught] == [__file__]
    assert str(caught[0].message) == f"these {model.usefulness_.summary()}"
    ledger = Ledger(Budget(1.0, 1e-5))
    foreseen = tiny(epsilon=0.5, n_units=corpus.n_documents, ledger=ledger)
    with pytest.raises(UserWarning, match=r"useful: the noise at epsilon=0\.5 hides the topics of 30 words\. "):
        foreseen.fit(corpus)  # warnings are errors here
    assert ledger.entries == ()


@hopeless
def test_a_large_delta_gets_a_sentence():
    many = lda_corpus(3000, 30, 3, mean_length=10, seed=2).corpus
    with pytest.warns(UserWarning, match=r"delta=0\.01 is not below one over the number of units") as caught:
        tiny(epsilon=5.0, delta=0.01).fit(many)
    assert caught[0].filename == __file__


@hopeless
@pytest.mark.parametrize("options", [{"n_topics": 1}, {"sampling_rate": 1.0}, {"n_rounds": 1}, {"max_tokens": 1}])
def test_unusual_settings(corpus, options):
    topics = tiny(**options).fit(corpus).components_
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    assert (topics > 0).all()


@pytest.mark.parametrize(("n_topics", "n_sweeps"), [(1, 8), (20, 8), (32, 8), (33, 16), (50, 16), (500, 16)])
def test_more_than_a_few_topics_get_more_sweeps(n_topics, n_sweeps):
    assert usual_sweeps(n_topics) == n_sweeps


@hopeless
@pytest.mark.parametrize(("n_topics", "given", "n_sweeps"), [(3, None, 8), (33, None, 16), (33, 3, 3)])
def test_every_round_has_the_sweeps_that_were_asked_for(corpus, n_topics, given, n_sweeps):
    made = tiny(n_topics=n_topics, local_sweeps=given)
    with patch.object(ThreadUnits, "residuals", autospec=True, side_effect=ThreadUnits.residuals) as residuals:
        made.fit(corpus)
    rounds = [call for call in residuals.call_args_list if call.args[0].n_topics == made.n_topics]
    assert [call.args[1].local_sweeps for call in rounds[-made.n_rounds :]] == [n_sweeps] * made.n_rounds
    assert made.local_sweeps == given  # a parameter stays as it was given


@hopeless
def test_no_documents_and_empty_documents_are_like_any_others(corpus):
    for few in (
        corpus[[]],
        corpus[[0]],
        Corpus(np.empty(0, np.int32), [0, 0, 0], Vocabulary(corpus.vocabulary, "public")),
    ):
        np.testing.assert_allclose(tiny().fit(few).components_.sum(axis=1), 1)


def test_it_learns():
    """With a generous budget, much better than word frequencies on documents that it has not seen."""
    known = lda_corpus(3500, 200, 5, mean_length=60, seed=4).corpus
    train, test = known[:3000], known[3000:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to warn of
        model = PrivateLDA(5, epsilon=50.0, n_rounds=60, n_threads=2).fit(train)
    plain = LDA(5, n_sweeps=60, n_threads=2, evaluate_every=0, random_state=1).fit(train).perplexity(test)
    unigram = np.exp(-np.log((train.word_counts + 1) / (train.word_counts + 1).sum())[test.words].mean())
    assert model.perplexity(test) < plain + 0.25 * (unigram - plain)
    noise = PrivateLDA(5, epsilon=0.01, n_rounds=60, n_threads=2)
    with pytest.warns(UserWarning, match="unlikely to be useful"):
        assert noise.fit(train).perplexity(test) > plain + 0.5 * (unigram - plain)


def test_shares_of_topics():
    """One of four topics has four times the documents of another: even shares would be 0.15 off."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    known = lda_corpus(3000, 200, 4, alpha=0.4 * shares, beta=0.05, mean_length=60, seed=4)
    model = PrivateLDA(4, epsilon=50.0, n_rounds=60, n_threads=2, random_state=0).fit(known.corpus)
    found = model.topic_shares_[match_topics(known.topics, model.components_).order]
    np.testing.assert_allclose(found, shares, atol=0.04)
    assert found.sum() == pytest.approx(1)

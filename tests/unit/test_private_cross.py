"""PrivateCrossLDA: planted topics, what the guarantee says, small collections, and text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet import (
    Budget,
    BudgetExceeded,
    Corpus,
    InputError,
    Ledger,
    PrivateCrossLDA,
    PrivateLDA,
    PrivateVectorizer,
    Release,
    WouldLeak,
    fit_text,
)
from discreet._random import Key
from discreet.corpus import Vocabulary
from discreet.evaluation.matching import match_topics
from discreet.models.cross.rounds import divided, relative
from discreet.models.cross.units import SUM_WEIGHT, CollectionUnits, shorter
from discreet.privacy import Basis, Unit

N, V, K = 6000, 60, 3
NAMES = np.array(["east", "west"])[np.arange(N) % 3 // 2]  # two of three are eastern

noisy = pytest.mark.filterwarnings(
    "ignore:these topics are unlikely to be useful", "ignore:the collection", "ignore:the smallest of"
)
"""What short fits warn of; tested below."""


def planted(switch, seed=0, n=N, length=30):
    """Counts of documents of two collections, common topics and collection topics."""
    rng = np.random.default_rng(seed)
    common, own = rng.dirichlet(np.full(V, 0.1), K), rng.dirichlet(np.full(V, 0.1), (2, K))
    mixed = (1 - switch) * common + switch * own
    theta = rng.dirichlet(np.full(K, 0.2), n)
    west = (NAMES[:n] == "west").astype(int)
    chances = np.einsum("dk,dkw->dw", theta, mixed[west])
    return rng.multinomial(length, chances / chances.sum(axis=1, keepdims=True)), common, own


def tiny(**changes):
    given = {"n_topics": 2, "epsilon": 3.0, "n_rounds": 4, "sampling_rate": 0.5, "n_threads": 1, "clip": 3.0}
    return PrivateCrossLDA(**{**given, **changes})


@pytest.fixture(scope="module")
def corpus():
    counts = np.random.default_rng(1).poisson(0.6, (60, 24))
    collections = np.array(["east", "west"])[np.arange(60) % 2]
    return Corpus.from_counts(counts, Vocabulary([f"w{i}" for i in range(24)], "public"), collections=collections)


def distance(found, true):
    return np.abs(found - true).sum(axis=-1) / 2


# --- what is found ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def different():
    counts, *truth = planted(0.4)
    model = PrivateCrossLDA(K, epsilon=8.0, n_rounds=120, random_state=1).fit(counts, collections=NAMES)
    return model, counts, *truth


def test_planted_topics_are_found(different):
    model, _, common, own = different
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).mean() < 0.3
    mixed = 0.6 * common + 0.4 * own
    chance = model.switch_.T[:, :, None]
    found = ((1 - chance) * model.components_ + chance * model.collection_components_)[:, order]
    assert distance(found, mixed).mean() < 0.15
    assert (distance(found, mixed) < distance(found[::-1], mixed) - 0.1).all()  # each collection has its own words
    assert_allclose(model.collection_shares_, [2 / 3, 1 / 3], atol=0.02)
    assert model.usefulness_.useful
    fresh = planted(0.4, seed=0)[0][:300]
    assert (model.predict(fresh) == NAMES[:300]).mean() > 0.9


def test_collections_that_do_not_differ_have_common_words():
    """ψ is small: noise is not taken for words of a collection's own."""
    counts, common, _ = planted(0.0)
    model = PrivateCrossLDA(K, epsilon=8.0, n_rounds=120, random_state=1).fit(counts, collections=NAMES)
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < 0.15
    assert model.switch_.mean() < 0.2


def test_a_document_is_read_by_its_own_collection(different):
    model, counts, *_ = different
    held, labels = counts[:300], NAMES[:300]
    mine, other = (
        model.perplexity(held, collections=names) for names in (labels, np.where(labels == "east", "west", "east"))
    )
    assert mine < 0.9 * other


def test_division_agrees_with_the_table():
    """A = (1 − ψ)·φ + ψ·σ is the table that was divided, within 1% of the text."""
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.full(V, 0.2), K).T * rng.uniform(0.5, 2.0, (3, V, 1))
    table /= table.sum(axis=1, keepdims=True)
    mixed = divided(table * rng.uniform(1e3, 1e5, (3, 1, K))).mixed()[0]
    assert np.abs(mixed - table).sum(axis=1).max() / 2 < 0.01


def test_relative_shrinking_knows_noise_from_difference():
    rng = np.random.default_rng(5)
    expected = rng.gamma(1.0, 1.0, (2, 400, 5)) + 0.1
    true = expected * np.stack([np.ones((400, 5)), rng.gamma(4.0, 0.25, (400, 5))])  # the second one differs
    noise = np.full(expected.shape, 0.3)
    found = relative(true + rng.normal(0, np.sqrt(noise)), noise, expected)
    assert np.abs(found[0] - true[0]).mean() < 0.1 * np.sqrt(0.3)  # nothing but noise: it goes
    raw = np.sqrt(noise[1] * 2 / np.pi).mean()
    assert np.abs(found[1] - true[1]).mean() < min(0.8 * raw, 0.95 * np.abs(expected[1] - true[1]).mean())


def test_the_clip_leaves_room_for_the_sum():
    for n in (1, 2, 7):
        clip = shorter(1000.0, n)
        worst = np.full(n, clip / np.sqrt(n))  # the same cell in n collections
        assert 999.9 < np.sqrt((worst**2).sum() + (SUM_WEIGHT * worst.sum()) ** 2) <= 1000.0


# --- what is promised -------------------------------------------------------------------------------------------------


@noisy
def test_the_guarantee_names_its_conditions(corpus):
    guarantee = tiny().fit(corpus).guarantee_
    assert (guarantee.basis, guarantee.unit) == (Basis.PROVEN, Unit.DOCUMENT)
    assert guarantee.epsilon <= 3.0
    assert "the list of collections is public (it was read from the documents)" in guarantee.reasons
    given = tiny(collection_names=["west", "east"]).fit(corpus)
    assert "the list of collections is public" in given.guarantee_.reasons
    sizes = tiny(collection_names={"west": 10**6, "east": 10**6}).fit(corpus)
    assert "the list of collections and their numbers of units are public" in sizes.guarantee_.reasons
    users = tiny().fit(corpus, groups=np.arange(60) // 4)
    assert users.guarantee_.unit == Unit.USER
    assert tiny(random_state=1).fit(corpus).guarantee_.basis is Basis.NONE


@noisy
def test_everything_is_charged_before_noise_is_drawn(corpus):
    ledger = Ledger(Budget(3.0, 1e-6))
    model = tiny(ledger=ledger).fit(corpus)
    labels = [entry.label for entry in model.ledger_.entries]
    assert labels[:3] == ["histogram of unit sizes", "word frequencies", "word frequencies of each collection"]
    assert [entry.event.cells for entry in model.ledger_.entries[:3]] == [64, 24, 48]
    assert {entry.event.cells for entry in model.ledger_.entries[3:]} == {3 * 24 * 2}
    with pytest.raises(BudgetExceeded):
        tiny(ledger=ledger).fit(corpus)


@noisy
@pytest.mark.parametrize(
    ("names", "match"),
    [
        ([], "name each collection once"),
        (["east", "east"], "name each collection once"),
        ([1.5, 2.5], "name each collection once"),
        ({"east": -1, "west": 3}, "whole and not negative"),
        (["east"], "^a document is of a collection that collection_names does not name"),
        (["1", 1], "name each collection once"),
        (np.array(["east", "east"]), "name each collection once"),
    ],
)
def test_names_are_checked_before_anything_is_charged(corpus, names, match):
    ledger = Ledger(Budget(3.0, 1e-6))
    with pytest.raises(InputError, match=match):
        tiny(ledger=ledger, collection_names=names).fit(corpus)
    assert ledger.entries == ()


def test_private_words_and_missing_collections_are_refused(corpus):
    with pytest.raises(WouldLeak, match="read from the private text"):
        tiny().fit(corpus.most_frequent(10))
    with pytest.raises(InputError, match="Pass collections="):
        tiny().fit(corpus.to_counts())


@noisy
def test_a_name_without_documents_is_a_collection(corpus):
    model = tiny(collection_names=("west", "north", "east")).fit(corpus)
    assert_array_equal(model.collections_, ["east", "north", "west"])
    assert model.collection_components_.shape == (3, 2, 24)
    assert np.isfinite(model.collection_components_).all()


@noisy
def test_threads_do_not_matter(corpus):
    groups = np.arange(60) // 4
    fits = [tiny(random_state=7, n_threads=n).fit(corpus, groups=groups) for n in (1, 3)]
    for name in ("components_", "collection_components_", "switch_", "collection_shares_"):
        assert_array_equal(getattr(fits[0], name), getattr(fits[1], name))


# --- collections with few units ---------------------------------------------------------------------------------------


def caught(model, corpus):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(corpus)
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found if "collection" in str(warning.message)]


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
def test_a_small_collection_is_warned_of_before_anything_is_charged(corpus):
    ledger = Ledger(Budget(3.0, 1e-6))
    few = tiny(collection_names={"east": 2, "west": 10**6}, ledger=ledger)
    with pytest.raises(UserWarning, match=r"^the collection 'east' has 2 units, too few to tell its own words"):
        few.fit(corpus)  # warnings are errors here
    with pytest.raises(UserWarning, match=r"^the smallest of 2 collections has at most 30 units, too few"):
        tiny(n_units=60, epsilon=0.9, ledger=ledger).fit(corpus)
    assert ledger.entries == ()
    assert caught(tiny(collection_names={"east": 10**6, "west": 10**6}), corpus) == []


def test_without_public_numbers_the_noisy_ones_are_told(corpus):
    """And no message holds an exact one: it is the same for any data with the same noisy numbers."""
    east, west = caught(tiny(epsilon=0.5, clip=30.0, random_state=3), corpus)
    assert east.startswith("the collection 'east' has about ")
    assert "(a noisy count), too few to tell its own words" in west


@noisy
def test_the_collections_of_each_user_are_counted(corpus):
    """How many collections a user has decides the clip, and is found from the user's own documents."""
    groups, numbers = np.array([3, 3, 9, 9, 9, 4]), np.array([0, 1, 2, 2, 2, 0])
    engine = CollectionUnits(
        corpus[:6], groups, 2, Key.open(3), numbers=numbers, n_collections=3, max_tokens=100, n_threads=1
    )
    assert_array_equal(engine._spread, [2, 1, 1])  # users 3, 4 and 9
    engine.close()


@noisy
def test_seed_words_are_of_common_topics(different):
    """Two words that never meet in a topic, and the topic that is seeded with each."""
    counts, common, _ = planted(0.4)
    first, second = common.argmax(axis=1)[:2].tolist()
    prior = {0: {f"word{second}": 1e5}, 1: {f"word{first}": 1e5}}
    words = Corpus.from_counts(counts, Vocabulary([f"word{i}" for i in range(V)], "public"), collections=NAMES)
    model = PrivateCrossLDA(K, epsilon=8.0, n_rounds=40, random_state=1, word_prior=prior).fit(words)
    assert match_topics(common, model.components_).order[:2].tolist() == [1, 0]


# --- use --------------------------------------------------------------------------------------------------------------


@noisy
def test_release_and_back(corpus, tmp_path):
    model = tiny().fit(corpus)
    release = Release.load(model.release().save(tmp_path / "model"))
    assert (release.method, release.collections) == ("private-cross", ("east", "west"))
    assert_allclose(release.transform(corpus), model.transform(corpus))
    assert release.usefulness == model.usefulness_
    assert release.standard_errors.shape == release.topics.shape
    assert release.completion(corpus).perplexity == pytest.approx(model.perplexity(corpus))
    assert_allclose(release.predict_proba(corpus).sum(axis=1), 1)


@noisy
def test_a_run_is_resumed(corpus, tmp_path):
    class Stop(Exception):
        pass

    def stop(info):
        if info.sweep == 3:
            raise Stop

    given = {"checkpoint": tmp_path / "run", "checkpoint_every": 2, "n_rounds": 6}
    with pytest.raises(Stop):
        tiny(**given, callbacks=[stop]).fit(corpus)
    swapped = np.where(np.asarray(corpus.collections) == "east", "west", "east")
    with pytest.raises(InputError, match="of another run"):
        tiny(**given).fit(corpus, collections=swapped)
    model = tiny(**given).fit(corpus)
    assert "resumed" in str(model.guarantee_.reasons)
    assert np.isfinite(model.components_).all()


def texts(n=400):
    subjects = {
        "east": ["tea rice silk jade", "river boat dragon lamp"],
        "west": ["beer wheat wool iron", "river boat horse lamp"],
    }
    names = [("east", "west")[i % 2] for i in range(n)]
    return [" ".join([subjects[name][i // 2 % 2]] * 3) for i, name in enumerate(names)], names


@noisy
@pytest.mark.filterwarnings("ignore:only")
def test_words_are_selected_privately_with_collections():
    documents, names = texts()
    model = fit_text(tiny(epsilon=20.0), documents, collections=names)
    assert model.guarantee_.basis is Basis.PROVEN
    assert model.guarantee_.epsilon <= 20.0
    assert "tea" in model.release().vocabulary
    assert_array_equal(model.collections_, ["east", "west"])
    with pytest.raises(InputError, match="not compare collections"):
        fit_text(PrivateLDA(2), documents, collections=names)


@noisy
@pytest.mark.filterwarnings("ignore:only")
def test_y_one_collection_and_labels_of_two_types():
    counts = np.random.default_rng(0).integers(0, 5, (60, 12))
    years = 2000 + np.arange(60) % 2
    settings = {"epsilon": 20.0, "random_state": 1}
    expected = tiny(**settings).fit(counts, collections=years)
    for changes, labels in (({}, years), ({"collection_names": [2000, 2001]}, years.astype(str))):
        model = tiny(**settings, **changes).fit(counts, labels)
        assert_array_equal(model.collections_, expected.collections_)
        assert_array_equal(model.components_, expected.components_)
    with pytest.warns(UserWarning, match="found only one collection, 'all': nothing is compared") as told:
        tiny(**settings).fit(counts, collections=["all"] * 60)
    assert not any("60" in str(one.message) for one in told)  # the number of documents is private


def test_bad_labels_are_found_before_words_are_charged():
    documents, names = texts()
    ledger = Ledger(Budget(20.0, 1e-6))
    with pytest.raises(InputError, match="does not name"):
        fit_text(tiny(epsilon=20.0, ledger=ledger, collection_names=["east"]), documents, collections=names)
    with pytest.raises(InputError, match="collection of each document is not known"):
        fit_text(tiny(epsilon=20.0, ledger=ledger), documents)
    assert ledger.entries == ()


@noisy
@pytest.mark.filterwarnings("ignore:only . words")
def test_one_collection_is_warned_of_before_words_are_charged():
    """Once: not again when the topics are trained."""
    documents, _ = texts()
    ledger, charged = Ledger(Budget(20.0, 1e-6)), []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shown = warnings.showwarning
        warnings.showwarning = lambda message, *_, **__: charged.append((str(message), len(ledger.entries)))
        fit_text(tiny(epsilon=20.0, ledger=ledger), documents, collections=["all"] * len(documents))
        warnings.showwarning = shown
    del told
    ours = [n_charges for message, n_charges in charged if "only one collection" in message]
    assert ours == [0]
    assert len(ledger.entries) > 0


@noisy
def test_counts_of_selected_words_carry_collections():
    documents, names = texts()
    whole = Corpus.from_texts(documents, collections=names)
    vectorizer = PrivateVectorizer(epsilon=10.0, random_state=1)
    counts = vectorizer.fit_transform(whole)
    some = counts[10:100]
    model = tiny(epsilon=30.0, random_state=1).fit(some)
    assert_array_equal(model.collections_, ["east", "west"])
    assert_array_equal(some.to_corpus().collections, names[10:100])
    assert_array_equal(some.copy().to_corpus().collections, names[10:100])

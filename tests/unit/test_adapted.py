"""AdaptedLDA: what it finds, what it says about it, and what it refuses."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from discreet import (
    LDA,
    AdaptedLDA,
    Budget,
    BudgetExceeded,
    InputError,
    Ledger,
    PrivateVectorizer,
    Release,
    WouldLeak,
    fit_text,
)
from discreet.corpus import Corpus, Vocabulary
from discreet.models.adapted import estimate
from discreet.models.adapted.plan import AdaptedPlan
from discreet.models.knowledge import TEXT, public_knowledge
from discreet.models.private import sizes
from discreet.models.word_use import Expected, word_use
from discreet.privacy import Unit

SUBJECTS = ("sea", "law", "tea", "art")
WORDS = {s: [f"{s}{chr(97 + i)}" for i in range(12)] for s in SUBJECTS}


def texts(n: int, shares: dict[str, float], seed: int) -> list[str]:
    """Documents of one subject each, whose words fall off."""
    generator = np.random.default_rng(seed)
    fall = 0.85 ** np.arange(12)
    chosen = generator.choice(list(shares), n, p=list(shares.values()))
    return [" ".join(generator.choice(WORDS[s], 15, p=fall / fall.sum())) for s in chosen]


PUBLIC = Corpus.from_texts(texts(400, dict.fromkeys(SUBJECTS, 0.25), 1))
PRIVATE = [t + " newest" * (i % 2) for i, t in enumerate(texts(1500, {"sea": 0.6, "law": 0.3, "tea": 0.1}, 2))]
LIST = Vocabulary((*PUBLIC.vocabulary, "newest"), "public")


@pytest.fixture(scope="module")
def known():
    return public_knowledge(PUBLIC, LIST, n_topics=4)


@pytest.fixture(scope="module")
def documents():
    return Corpus.from_texts(PRIVATE, vocabulary=LIST)


@pytest.fixture(scope="module")
def fitted(known, documents):
    return AdaptedLDA(public=known, epsilon=4.0, n_threads=1).fit(documents)


def test_topics_are_ordered_by_how_much_of_them_is_there(fitted):
    """The noise of a share is below 0.005 here, and the shares are 0.6, 0.3, 0.1 and 0."""
    assert [words[0][:3] for words in fitted.top_words()[:3]] == ["sea", "law", "tea"]
    assert fitted.topic_shares_ == pytest.approx([0.6, 0.3, 0.1, 0.0], abs=0.05)
    assert (fitted.share_errors_ < 0.02).all()
    assert np.allclose([*fitted.components_.sum(axis=1), fitted.topic_shares_.sum()], 1)
    assert fitted.alpha_.argmin() == 3


def test_word_frequencies_are_those_of_the_private_text(fitted, documents):
    true = documents.word_counts / documents.n_tokens
    off = np.abs(fitted.word_frequencies_ - true).sum()
    assert off < 0.25  # the public frequencies are off by 0.75
    assert np.abs(fitted.public_frequencies_ - true).sum() > 0.7
    mixture = fitted.alpha_ / fitted.alpha_.sum() @ fitted.components_
    assert np.abs(mixture - fitted.word_frequencies_).sum() < 0.02


def test_the_guarantee_names_its_conditions(fitted):
    assert fitted.guarantee_.epsilon <= 4.0
    assert TEXT in fitted.guarantee_.reasons
    assert fitted.guarantee_.unit == Unit.DOCUMENT
    assert [entry.label for entry in fitted._spent] == [
        "histogram of unit sizes",
        "word frequencies",
        "words in topics",
        "prevalence of topics",
    ]


@pytest.mark.parametrize(("epsilon", "clear"), [(8.0, True), (0.02, False)])
def test_words_move_to_the_topics_in_which_they_are_used(known, epsilon, clear):
    """The public text does not have the word, so it is expected in every topic alike."""
    of_law = [t + " newest" * t.startswith("law") for t in texts(1500, {"sea": 0.5, "law": 0.5}, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ε = 0.02 is too small for anything
        model = AdaptedLDA(public=known, epsilon=epsilon, random_state=1).fit(
            Corpus.from_texts(of_law, vocabulary=LIST)
        )
    sea, law = (model.components_[:, LIST.columns[word]].argmax() for word in ("seaa", "lawa"))
    more = model.components_[law, LIST.columns["newest"]] / model.components_[sea, LIST.columns["newest"]]
    assert more > 2 if clear else 0.7 < more < 1.4  # one step of EM from 1
    mixture = model.alpha_ / model.alpha_.sum() @ model.components_
    assert np.abs(mixture - model.word_frequencies_).sum() < 1e-6


def test_a_release_marks_what_is_hardly_there(fitted, tmp_path):
    release = Release.load(fitted.release().save(tmp_path / "model"))
    assert release.present[:3].all()
    assert release.topic_shares[3] < 0.03
    noisier = replace(release, share_errors=np.full(4, 0.02))
    assert noisier.present.tolist() == [True, True, True, False]
    ((word, share, error),) = release.unknown_words()
    assert word == "newest"
    assert share == pytest.approx(0.032, abs=4 * error + 0.01)
    assert release.usefulness == fitted.usefulness_
    assert release.usefulness.useful
    for name in ("share_errors", "word_frequencies", "frequency_errors", "public_frequencies"):
        assert np.array_equal(getattr(release, name), getattr(fitted, f"{name}_"))
    assert release.transform([PRIVATE[0]]).shape == (1, 4)


def test_folders_without_the_new_fields_have_no_unknown_words():
    release = LDA(2, n_sweeps=2, random_state=0).fit(PUBLIC).release()
    assert release.unknown_words() == []
    assert release.present.all()


def test_users_are_the_unit_with_groups(known, documents):
    ledger = Ledger(Budget(2.0, 1e-6), unit="user")
    model = AdaptedLDA(public=known, epsilon=2.0, ledger=ledger, n_units=500)
    model.fit(documents, groups=np.arange(1500) // 3)
    assert model.guarantee_.unit == Unit.USER
    assert "n_units is public" in model.guarantee_.reasons
    with pytest.raises(BudgetExceeded):
        model.fit(documents, groups=np.arange(1500) // 3)
    assert not hasattr(model, "components_")


def test_noise_without_documents_is_called_useless(known, documents):
    with pytest.warns(UserWarning, match="unlikely to be useful: .* hardly more than those of the public text"):
        model = AdaptedLDA(public=known, epsilon=0.05).fit(documents[:50])
    assert not model.usefulness_.useful
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptedLDA(public=known, epsilon=4.0).fit(documents)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InputError, "needs public="),
        ({"public": 3}, InputError, "public"),
        ({"public": LDA(2)}, InputError, "not fitted"),
        ({"public": PUBLIC, "epsilon": 0}, InputError, "epsilon"),
        ({"public": PUBLIC, "alpha": [0.1, 0.2]}, InputError, "alpha"),
        ({"public": PUBLIC, "n_units": 10**7}, InputError, "one over n_units"),
        ({"public": PUBLIC, "epsilon": 1e-8}, InputError, "only noise"),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_charged(options, error, message, documents):
    ledger = Ledger(Budget(100.0, 1e-5), unit="document")
    with pytest.raises(error, match=message):
        AdaptedLDA(ledger=ledger, **options).fit(documents)
    assert not ledger.entries


def test_private_text_is_not_public(documents):
    ledger = Ledger(Budget(100.0, 1e-5), unit="document")
    for public in (documents, documents[:800]):
        with pytest.raises(WouldLeak, match="holds the documents"):
            AdaptedLDA(public=public, ledger=ledger).fit(documents)
    assert not ledger.entries


# --- words -----------------------------------------------------------------------------------------------------------


def test_fit_text_takes_the_words_of_the_public_text():
    model = fit_text(AdaptedLDA(4, public=PUBLIC, epsilon=4.0, n_threads=1), PRIVATE)
    assert set(model.release().vocabulary) == set(PUBLIC.vocabulary)
    assert len(model._spent) == 4  # nothing for words
    few = fit_text(AdaptedLDA(4, public=PUBLIC, epsilon=4.0), PRIVATE, max_words=9)
    ranked = np.argsort(-PUBLIC.word_counts, kind="stable")[:9]
    assert set(few.release().vocabulary) == {PUBLIC.vocabulary[i] for i in ranked}


def test_words_of_a_model_and_words_selected_privately(known):
    public = LDA(4, n_sweeps=50, random_state=0).fit(PUBLIC).release()
    model = fit_text(AdaptedLDA(public=public, epsilon=4.0), PRIVATE)
    assert set(model.release().vocabulary) == set(PUBLIC.vocabulary)
    ledger = Ledger(Budget(8.0, 1e-5), unit="document")
    counts = PrivateVectorizer(4.0, ledger=ledger).fit_transform(PRIVATE)
    chosen = AdaptedLDA(public=PUBLIC, n_topics=4, epsilon=8.0, ledger=ledger).fit(counts)
    assert "newest" in chosen.release().vocabulary
    assert chosen.release().unknown_words()[0][0] == "newest"


# --- estimates --------------------------------------------------------------------------------------------------------


def test_frequencies_without_noise_are_found_and_pure_noise_changes_nothing():
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.full(600, 0.05), 5)
    shares = np.full(5, 0.2)
    expected = shares @ topics + 1e-5
    expected /= expected.sum()
    true = generator.dirichlet(np.ones(5)) @ topics * generator.lognormal(0, 0.3, 600) + 1e-6
    true /= true.sum()
    public = Expected(expected, topics, shares)
    exact = word_use(1e6 * true, np.full(600, 0.5), public)
    assert np.abs(exact.frequencies - true).sum() < 0.03
    noise = word_use(generator.normal(0, 1, 600), np.ones(600), public)
    assert np.abs(noise.frequencies - expected).sum() < 0.5
    assert np.isfinite(noise.errors).all()
    now, shares_now = estimate.adapted(topics + 1e-9, shares, exact.frequencies)
    assert np.allclose(shares_now @ now, exact.frequencies)
    assert np.allclose([*now.sum(axis=1), shares_now.sum()], 1)


@pytest.mark.parametrize("n_units", [0, 800, 100_000])
def test_the_middle_of_a_histogram(n_units):
    """Noise of deviation 40 in each of 64 bins (seeded): a window of eight has 4 · 40 · √8 = 453 or more with chance
    0.002 without units, and 800 ± 113 with 800 units."""
    noisy = np.random.default_rng(3).normal(0, 40, 64)
    noisy[10:18] += n_units / 8
    found = sizes.middle_bin(noisy, 40.0)
    assert 10 <= found < 18 if n_units else found == sizes.USUAL


def test_more_topics_and_words_cost_nothing_but_cells():
    few, many = (AdaptedPlan.make(1.0, 1e-6, v, k) for v, k in ((100, 2), (50_000, 1000)))
    assert few.epsilon <= 1.0
    assert many.events[1].scale / many.events[1].sensitivity < 1.001 * few.events[1].scale / few.events[1].sensitivity

"""What ``public=`` may be, and how it becomes topics over other words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import LDA, InputError, WouldLeak
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.models.knowledge import MODEL, TEXT, public_knowledge, refuse_same_text
from discreet.privacy import Basis, Guarantee, Observer, Relation, Unit


@pytest.fixture(scope="module")
def text():
    return lda_corpus(200, 30, 3, mean_length=40, seed=1).corpus


@pytest.fixture(scope="module")
def model(text):
    return LDA(3, n_sweeps=30, evaluate_every=0, random_state=1).fit(text)


def words(corpus, *more):
    return Vocabulary((*corpus.vocabulary[:20], *more), "public")


def test_a_corpus_is_trained_on_over_the_words_of_the_fit(text):
    found = public_knowledge(text, words(text, "nowhere"), n_topics=5)
    assert found.topics.shape == (5, 21)
    assert found.condition == TEXT
    assert found.corpus is text
    part = text.restrict(words(text, "nowhere"))
    assert np.allclose(found.frequencies, part.word_counts / part.n_tokens)
    assert found.known.tolist() == [*(part.word_counts[:20] > 0), False]
    assert (found.topics[:, 20] == 0).all()
    assert np.allclose([found.topics.sum(axis=1), [found.shares.sum()] * 5], 1)
    assert np.allclose(found.shares @ found.topics, found.frequencies, atol=0.002)  # up to β, which spreads a little
    again = public_knowledge(text, words(text, "nowhere"), n_topics=5)
    assert np.array_equal(found.topics, again.topics)  # no secret, so one seed for all


def test_models_and_releases_are_taken_as_they_are(text, model):
    order = Vocabulary(("nowhere", *reversed(text.vocabulary)), "public")
    for public in (model, model.release(), public_knowledge(model, text.vocabulary)):
        found = public_knowledge(public, order)
        assert found.condition == MODEL
        assert np.allclose(found.topics[:, 1:], model.components_[:, ::-1])
        assert np.allclose(found.shares, model.topic_shares_)
        assert found.known.tolist() == [False] + [True] * 30
        assert np.allclose(found.frequencies[1:], (model.topic_shares_ @ model.components_)[::-1])


def test_dropped_words_take_their_mass_along(model):
    half = Vocabulary(model.release().vocabulary[:15], "public")
    found = public_knowledge(model, half)
    masses = model.components_[:, :15].sum(axis=1)
    assert np.allclose(found.topics.sum(axis=1), 1)
    assert np.allclose(found.shares, model.topic_shares_ * masses / (model.topic_shares_ @ masses))


def test_a_model_with_a_guarantee_must_be_of_other_documents(model):
    proven = Guarantee(1.0, 1e-6, Unit.USER, Observer.STATISTICS, Relation.ADD_REMOVE, Basis.PROVEN)
    found = public_knowledge(replace(model.release(), guarantee=proven), Vocabulary(model.release().vocabulary))
    assert "other documents" in found.condition
    assert "ε = 1, δ = 1e-06 for one user" in found.condition
    claimed = replace(proven, basis=Basis.CLAIMED, reasons=("no proof",))
    with pytest.raises(WouldLeak, match="claimed and not proven"):
        public_knowledge(replace(model.release(), guarantee=claimed), Vocabulary(model.release().vocabulary))


def test_what_cannot_be_used_is_refused(text):
    for public, expected in (
        (LDA(3), "not fitted"),
        ("novels", "found .novels."),
        (Corpus.from_texts(["bonjour tout le monde"]), "none of the words"),
        (LDA(2, n_sweeps=2, random_state=1).fit(Corpus.from_texts(["bonjour tout le monde"])), "none of the words"),
    ):
        with pytest.raises(InputError, match=expected):
            public_knowledge(public, text.vocabulary)


def test_the_private_documents_themselves_are_not_public(text):
    part = text.restrict(words(text))
    shuffled = Corpus.from_counts(text.to_counts(), text.vocabulary)  # columns in order: other arrays, the same text
    some = text[np.arange(len(text)) < 110]
    for public in (text, part, shuffled, some, public_knowledge(text, text.vocabulary, n_topics=2)):
        with pytest.raises(WouldLeak, match="holds the documents of this fit"):
            refuse_same_text(public, text)
    with pytest.raises(WouldLeak):
        refuse_same_text(text, text[5:50].restrict(words(text)))


def test_other_documents_may_share_some_text(text, model):
    refuse_same_text(text[:90], text)  # fewer than half of them
    refuse_same_text(text[:100], text[100:])
    refuse_same_text(model.release(), text)  # a release holds no document
    refuse_same_text(Corpus.from_texts(["ja", "nein"]), Corpus.from_texts(["ja", "nein"]))  # too short to tell
    refuse_same_text(text, text[:0])

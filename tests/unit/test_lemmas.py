"""Lemmas: what they are, who keeps them, and what is said where they cannot be had."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from discreet import LDA, Corpus, InputError, PrivateLDA, PrivateVectorizer, Release, fit_text
from discreet.corpus import Tokenizer
from discreet.corpus.lemmas import lemmatizer

simplemma = pytest.importorskip("simplemma", reason="simplemma is not installed: pip install 'discreet[lemmas]'")

LEMMAS = Tokenizer(lemmas="en")
TEXTS = ["The images were studied in three studies.", "An image, studying images; classes made of a class."]


def test_words_become_lemmas():
    assert LEMMAS("Studies of images: classes studied") == ["study", "image", "class", "study"]
    assert Tokenizer()("Studies of images") == ["studies", "images"]
    assert Tokenizer(lemmas="en", function=str.split, stop_words=None)("Cats  dogs") == ["cat", "dog"]


def test_another_language():
    german = Tokenizer(r"\b\w{3,}\b", stop_words=None, lemmas="de")
    assert german("Die Häuser gingen") == ["der", "haus", "gehen"]
    assert Tokenizer(r"\w+", False, None, lemmas="de")("Häuser") == ["Haus"]
    assert Tokenizer(stop_words=None, lemmas="fr")("maisons") == ["maison"]


def test_another_language_has_letters_of_any_alphabet():
    assert Tokenizer(lemmas="de", stop_words=None)("Schöne Bücher, Straße_1, zu 123") == ["schönes", "buch"]
    assert Tokenizer(lemmas="en")("Bücher cats") == ["bücher", "cat"] == Tokenizer(lemmas="EN")("Bücher cats")
    assert Tokenizer(r"\b[a-z]{3,}\b", lemmas="de")("Bücher Haus") == ["haus"]  # a given pattern is kept
    kept = Tokenizer(lemmas="de")
    assert Tokenizer.from_json(kept.to_json()) == kept.without_stop_words()
    words = PrivateVectorizer(8.0, lemmas="de").fit(["Bücher und Häuser", "ein Buch, ein Haus"] * 1_000)
    assert {"buch", "haus"} <= set(words.vocabulary_)


def test_german_nouns_are_looked_up_with_their_capital_letter():
    """The lemma of "haus" is "hausen", a verb; that of "Haus" is "Haus"."""
    german = Tokenizer(lemmas="de", stop_words=None)
    assert german("Ein Haus, die Häuser, HÄUSER; wir hausen") == ["ein", "haus", "der", "haus", "haus", "wir", "hausen"]
    assert Tokenizer(r"\b(haus)\w*", stop_words=None, lemmas="de")("Haustür") == ["haus"]
    assert german("İzmir Haus") == ["izmir", "haus"]
    by_pattern = Tokenizer(r"\b\w{3,}\b", stop_words=None, lemmas="de")  # the lower case of "İ" has one character more:
    assert by_pattern("İzmir Haus")[-1] == "hausen"  # words are looked up in lower case
    assert LEMMAS.words_of("Us") == LEMMAS.words_of("us") == []  # two letters
    assert LEMMAS.words_of("May may") == ["may", "may"]


@pytest.mark.parametrize("code", ["de", "DE", "De"])
def test_the_code_of_a_language_in_any_case(code):
    assert Tokenizer(lemmas=code) == Tokenizer(lemmas="de")


def test_stop_words_are_left_out_in_all_forms():
    """The list has "made" and not "make": as lemmas they are one word."""
    assert "make" not in Tokenizer().stop_set
    assert LEMMAS("made, make, making, makes, was, cats") == ["cat"]
    assert Tokenizer(stop_words=frozenset({"cats"}), lemmas="en")("one cat, two dogs") == ["one", "two", "dog"]


def test_each_different_word_is_looked_up_once(monkeypatch):
    asked = []
    real = simplemma.lemmatize
    monkeypatch.setattr(simplemma, "lemmatize", lambda word, lang: asked.append(word) or real(word, lang=lang))
    lemmatizer.cache_clear()
    try:
        Corpus.from_texts(["zebras zebras run", "zebras run"], tokenizer=Tokenizer(stop_words=None, lemmas="en"))
        assert sorted(asked) == ["run", "word", "zebras"]
    finally:
        lemmatizer.cache_clear()


def test_the_lemma_depends_on_the_word_alone():
    """Which is why it costs no privacy: a document's lemmas are the same whatever the others are, and in any order."""
    words = ["studies", "was", "embeddings", "left", "saw", "leaves", "data"]
    once = [LEMMAS.words_of(word) for word in words]
    lemmatizer.cache_clear()
    assert [LEMMAS.words_of(word) for word in reversed(words)] == once[::-1]
    assert LEMMAS.words_of(" ".join(words)) == [lemma for (lemma,) in once]


def test_a_model_and_its_release_keep_the_language(tmp_path):
    corpus = Corpus.from_texts(TEXTS * 5, tokenizer=LEMMAS)
    assert corpus.vocabulary == ("class", "image", "study")
    model = LDA(n_topics=2, n_sweeps=5, random_state=0).fit(corpus)
    release = Release.load(model.release().save(tmp_path / "model"))
    assert release.tokenizer == Tokenizer(stop_words=None, lemmas="en")
    new = ["classes", "images studied"]
    np.testing.assert_array_equal(release.transform(new), release.transform([["class"], ["image", "study"]]))
    np.testing.assert_array_equal(model.transform(new), release.transform(new))
    said = json.loads((tmp_path / "model" / "release.json").read_text())
    assert said["tokenizer"]["lemmas"] == "en"
    assert said["versions"]["simplemma"] == simplemma.__version__
    assert model.perplexity([" ".join(new * 2)]) == model.perplexity([["class", "image", "study"] * 2])


def test_a_folder_without_lemmas_is_as_before(tmp_path):
    model = LDA(n_topics=2, n_sweeps=5, random_state=0).fit(Corpus.from_texts(TEXTS))
    folder = model.release().save(tmp_path / "model")
    assert set(json.loads((folder / "release.json").read_text())["tokenizer"]) == {"rules", "lowercase"}
    assert Release.load(folder).tokenizer == Tokenizer(stop_words=None)
    wrongs = (
        {"pattern": "a", "lowercase": True, "lemmas": 3},
        {"pattern": "a", "lowercase": True, "other": "en"},
        {"rules": "letters 1", "pattern": "a", "lowercase": True},
        {"rules": "letters 1"},
    )
    for wrong in wrongs:
        with pytest.raises(InputError, match="perhaps the language of its lemmas"):
            Tokenizer.from_json(wrong)


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful", "ignore:only .* words were selected")
def test_lemmas_are_selected_privately():
    texts = ["storms and winds, raining clouds", "a storm and a wind, rains and a cloud, two pianos"] * 1_000
    words = PrivateVectorizer(4.0, lemmas="en").fit(texts)
    assert sorted(words.vocabulary_) == ["cloud", "piano", "rain", "storm", "wind"]
    assert words.guarantee_.basis == "proven"
    same = PrivateVectorizer(4.0, tokenizer=LEMMAS).fit(texts)
    assert same.vocabulary_ == words.vocabulary_
    assert words.transform(["clouds storms storm"]).toarray().tolist() == [[1, 0, 0, 2, 0]]
    model = fit_text(PrivateLDA(n_topics=1, epsilon=4, n_rounds=10), texts, tokenizer=LEMMAS)
    assert model.guarantee_.basis == "proven"
    assert model.release().tokenizer == LEMMAS.without_stop_words()
    assert model.transform(["windy clouds"]).shape == (1, 1)


def test_a_public_list_holds_lemmas():
    corpus = Corpus.from_texts(["cats and embeddings, embedding"], vocabulary=["cats", "embedding"], tokenizer=LEMMAS)
    assert corpus.to_counts().toarray().tolist() == [[0, 1]]  # "cats" is read as "cat", "embedding" as "embed"


@pytest.mark.parametrize("code", ["xx", "english", "", "../en"])
def test_an_unknown_language(code):
    with pytest.raises(InputError, match=r"there are no lemmas for the language .* for example en") as caught:
        Tokenizer(lemmas=code)("word")
    assert "\n" not in str(caught.value)


def test_no_language_at_all():
    with pytest.raises(InputError, match="lemmas must be the code of a language, such as 'en'; found 3"):
        Tokenizer(lemmas=3)  # type: ignore[arg-type]


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    release = LDA(n_topics=2, n_sweeps=5).fit(Corpus.from_texts(TEXTS, tokenizer=LEMMAS)).release()
    folder = release.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "simplemma", None)
    lemmatizer.cache_clear()
    with pytest.raises(InputError, match=r"needs the package simplemma, .* pip install 'discreet\[lemmas\]'") as caught:
        Corpus.from_texts(TEXTS, tokenizer=LEMMAS)
    assert "\n" not in str(caught.value)
    again = Release.load(folder)  # topics can be read without it
    assert again.top_words(1) == release.top_words(1)
    with pytest.raises(InputError, match="needs the package simplemma"):
        again.transform(TEXTS)

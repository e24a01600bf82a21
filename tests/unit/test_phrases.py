"""Phrases: from a public list, or selected; read by the longest first, kept by a model, and what a guarantee says."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet import LDA, Corpus, InputError, PrivateLDA, PrivateVectorizer, Release, Vocabulary, WouldLeak, fit_text
from discreet._random import Key
from discreet.corpus import Tokenizer
from discreet.corpus.phrases import longest_first
from discreet.mechanisms.vocabulary import words_of_units
from discreet.training.inputs import PUBLIC_PHRASES

LISTED = Tokenizer(phrases=["New York", "new york city", "state of the art", "vitamin D", "covid 19", "x-ray"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("New York City and New York", "new_york_city new_york"),  # the longest first
        ("new new york", "new new_york"),
        ("A state-of-the-art X-ray", "state_of_the_art x_ray"),  # a phrase may hold what is no word
        ("Vitamin D. Covid-19", "vitamin_d covid_19"),
        ("something new. York", "new york"),  # not across punctuation
        ("new, york; new\n\nyork; new – york", "new york new york new york"),
        ("new\nyork", "new_york"),  # a line may end anywhere
        ("state of the nation", "state nation"),
        ("", ""),
    ],
)
def test_phrases_of_a_list(text, words):
    assert LISTED(text) == words.split()


def test_a_list_follows_the_tokenizer():
    pytest.importorskip("simplemma", reason="simplemma is not installed: pip install 'discreet[lemmas]'")
    lemmas = Tokenizer(phrases=["neural networks"], lemmas="en")
    assert lemmas("a neural network, neural networks") == ["neural_network", "neural_network"]
    german = Tokenizer(phrases=["Neue Häuser"], lemmas="de")
    assert german("das neue Haus") == german("die neuen Häuser") == ["neu_haus"]
    assert Tokenizer(r"\w+", phrases=["a b"], stop_words=None)("A b, a c") == ["a_b", "a", "c"]
    by_blanks = Tokenizer(function=str.split, stop_words=None, phrases=["is it"])
    assert by_blanks("is it so") == ["is_it", "so"]
    assert Corpus.from_texts([["new", "york", "rain"]], tokenizer=LISTED).vocabulary == ("new_york", "rain")
    assert LISTED.phrase_names == sorted(LISTED.phrase_names)
    assert Tokenizer(phrases=["don't stop"], stop_words=None)("don’t stop") == ["don't_stop"]


def test_a_list_from_a_file(tmp_path):
    (tmp_path / "phrases.txt").write_text("# cities\nnew york\n\n")
    assert Tokenizer(phrases=tmp_path / "phrases.txt") == Tokenizer(phrases=["new york"])
    assert Tokenizer(phrases=str(tmp_path / "phrases.txt")).phrase_names == ["new_york"]


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        (1, "phrases must have 2 to 5 words; found phrases=1"),
        (6, "phrases must have 2 to 5 words"),
        (True, "phrases must be a number of words from 2 to 5, a list of phrases, or a file of one; found True"),
        (2.5, "phrases must be a number"),
        ([], "phrases must be a number"),
        (["new york", 3], "phrases must be a number .* found 3"),
        ("no-such-file.txt", "there is no file"),
    ],
)
def test_bad_phrases(phrases, message):
    with pytest.raises(InputError, match=message) as caught:
        Tokenizer(phrases=phrases)
    assert "\n" not in str(caught.value)


def test_a_list_without_phrases():
    with pytest.raises(
        InputError, match="no phrase of the list, for instance 'rain', has two words by the usual rules"
    ):
        Corpus.from_texts(["rain"], tokenizer=Tokenizer(phrases=["rain", "wind"]))


# --- candidates -------------------------------------------------------------------------------------------------------


def test_candidates_stand_beside_their_words():
    corpus = Corpus.from_texts(["deep neural networks of the deep", "neural, networks"], tokenizer=Tokenizer(phrases=3))
    first = [corpus.vocabulary[w] for w in corpus.words[: corpus.offsets[1]]]
    assert first == ["deep", "deep_neural", "deep_neural_networks", "neural", "neural_networks", "networks", "deep"]
    assert "networks_deep" not in corpus.vocabulary  # "of the" stands between
    assert corpus.vocabulary.complete
    assert corpus.vocabulary.origin == "text"
    assert dict(zip(corpus.vocabulary, corpus.sizes, strict=True))["deep_neural_networks"] == 3


def some_texts(seed: int, n: int) -> list[str]:
    """Words of a small language in random order, with stop words, short words and punctuation."""
    draw = np.random.default_rng(seed)
    pieces = ["rain", "wind", "storm", "cloud", "the", "of", "12", ".", ",", "\n\n"]
    return [" ".join(draw.choice(pieces, draw.integers(0, 25))) for _ in range(n)]


@pytest.mark.parametrize("longest", [2, 3, 5])
def test_choosing_candidates_is_reading_again(longest):
    """The words that remain when some are chosen are those that reading the text by the chosen ones gives."""
    texts, tokenizer = some_texts(longest, 60), Tokenizer(phrases=longest)
    candidates = Corpus.from_texts(texts, tokenizer=tokenizer)
    draw = np.random.default_rng(7)
    for share in (0.0, 0.1, 0.5, 1.0):
        chosen = [w for w in candidates.vocabulary if "_" not in w or draw.random() < share]
        remain = candidates.restrict(Vocabulary(chosen, "public"))
        again = Corpus.from_texts(texts, vocabulary=chosen, tokenizer=tokenizer)
        assert_array_equal(remain.words, again.words)
        assert_array_equal(remain.offsets, again.offsets)
        assert remain.sizes is None
    assert len(set(again.words)) > 10  # phrases of many kinds were read


def test_longest_first_by_hand():
    """Of those that are kept in "a b c d", the first phrase counts, and of those that begin there the longest."""
    words = np.array([0, 4, 1, 5, 6, 2, 7, 3], np.int32)  # a, ab, b, bc, bcd, c, cd, d
    sizes = np.array([1, 1, 1, 1, 2, 2, 3, 2])

    def remain(*kept: int) -> list[int]:
        return words[longest_first(words, sizes, np.isin(words, kept))].tolist()

    assert remain(0, 1, 2, 3) == [0, 1, 2, 3]
    assert remain(0, 1, 2, 3, 4, 5, 6, 7) == [4, 7]
    assert remain(0, 1, 2, 3, 5, 6, 7) == [0, 6]
    assert remain(0, 1, 2, 3, 5) == [0, 5, 3]
    assert remain(3, 7) == [7]
    assert remain() == []


def test_a_word_with_an_underscore_is_no_candidate():
    """It would be taken for a phrase. Whether another document has the phrase must not matter, so it is left out."""
    for texts in ([["a_b", "c", "d"]], [["a_b", "c", "d"], ["a", "b"]]):
        corpus = Corpus.from_texts(texts, tokenizer=Tokenizer(stop_words=None, phrases=2))
        assert [corpus.vocabulary[w] for w in corpus.words[: corpus.offsets[1]]] == ["c", "c_d", "d"]
    plain = Corpus.from_texts([["a_b", "c", "d"]], tokenizer=Tokenizer(stop_words=None, phrases=["c d"]))
    assert plain.vocabulary == ("a_b", "c_d")


def test_the_most_frequent_words_and_phrases():
    texts = ["neural networks learn", "neural networks, rain", "deep water"] * 3
    corpus = Corpus.from_texts(texts, tokenizer=Tokenizer(phrases=2), max_words=5)
    assert "neural_networks" in corpus.vocabulary
    assert corpus.sizes is None
    assert corpus.vocabulary.origin == "text"
    assert LDA(n_topics=2, n_sweeps=2).fit(corpus).release().tokenizer.phrases == 2


def test_candidates_are_refused_by_models():
    corpus = Corpus.from_texts(["neural networks learn"] * 5, tokenizer=Tokenizer(phrases=2))
    with pytest.raises(InputError, match="hold every phrase beside its words"):
        LDA(n_topics=2).fit(corpus)
    with pytest.raises(InputError, match="hold every phrase beside its words"):
        fit_text(LDA(n_topics=2), ["neural networks learn"] * 5, phrases=2)


def test_phrases_learnt_from_private_text_are_refused():
    """Only a private selection, or a public list, may say which phrases there are."""
    learnt = Corpus.from_texts(["neural networks learn"] * 5, tokenizer=Tokenizer(phrases=2), max_words=3)
    with pytest.raises(WouldLeak, match="read from the private text"):
        PrivateLDA(n_topics=2, epsilon=1).fit(learnt)
    with pytest.raises(InputError, match="hold every phrase beside its words"):
        PrivateLDA(n_topics=2, epsilon=1).fit(Corpus.from_texts(["neural nets learn"], tokenizer=Tokenizer(phrases=2)))
    with pytest.raises(WouldLeak, match="does not hold all words"):
        PrivateVectorizer(1.0).fit(learnt)


# --- selected privately -----------------------------------------------------------------------------------------------

PRIVATE = ["New York has rain, rain and wind", "Wind in New York; a storm", "a rare sentence here"]
TEXTS = [PRIVATE[i % 2] for i in range(2_000)] + [PRIVATE[2]]


def test_phrases_are_selected_like_words():
    words = PrivateVectorizer(4.0, phrases=2, output="corpus")
    corpus = words.fit_transform(TEXTS)
    assert {"new_york", "rain", "storm", "wind"} <= set(words.vocabulary_)
    assert not {"rare_sentence", "rare"} & set(words.vocabulary_)  # one document has them
    assert (words.guarantee_.basis, words.guarantee_.reasons) == ("proven", ())
    again = words.transform(TEXTS)
    assert_array_equal(corpus.words, again.words)
    assert_array_equal(corpus.offsets, again.offsets)
    spelled = [corpus.vocabulary[w] for w in corpus.words[: corpus.offsets[1]]]
    assert spelled == ["new_york", "rain", "rain", "wind"]
    assert PrivateVectorizer(4.0, tokenizer=Tokenizer(), phrases=2).fit(TEXTS).vocabulary_ == words.vocabulary_


def test_phrases_count_under_the_cap_of_a_unit():
    """A unit's different words include its phrases, and at most Δ₀ of all of them count: the proof needs no more."""
    corpus = Corpus.from_texts(["rain wind storm", "rain wind"], tokenizer=Tokenizer(phrases=2))
    found, ends = words_of_units(corpus.words, corpus.offsets, np.zeros(2, np.int64), corpus.n_words, Key.open(1))
    assert ends.tolist() == [5]
    assert sorted(corpus.vocabulary[w] for w in found) == ["rain", "rain_wind", "storm", "wind", "wind_storm"]
    few = PrivateVectorizer(4.0, phrases=2, max_words_per_unit=1).fit(TEXTS * 3)
    assert few.guarantee_.basis == "proven"


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful", "ignore:only .* words were selected")
def test_text_to_topics_with_selected_phrases(tmp_path):
    model = fit_text(PrivateLDA(n_topics=1, epsilon=8, n_rounds=5), TEXTS, phrases=2)
    assert (model.guarantee_.basis, model.guarantee_.reasons) == ("proven", ())
    release = Release.load(model.release().save(tmp_path / "model"))
    assert "new_york" in release.vocabulary
    said = json.loads((tmp_path / "model" / "release.json").read_text())["tokenizer"]
    assert said == {"rules": "letters 1", "lowercase": True, "phrases": 2}
    corpus = release.documents(["New York. Wind of new york"])
    assert [release.vocabulary[w] for w in corpus.words] == ["new_york", "wind", "new_york"]


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful", "ignore:only .* words were selected")
def test_a_list_is_a_condition_of_the_guarantee(tmp_path):
    listed = ["new york", "rare sentence"]
    model = fit_text(PrivateLDA(n_topics=1, epsilon=8, n_rounds=5), TEXTS, phrases=listed)
    assert model.guarantee_.reasons == (PUBLIC_PHRASES,)
    assert "new_york" in model.release().vocabulary
    assert "rare_sentence" not in model.release().vocabulary  # a listed phrase is selected like a word
    assert model.release().tokenizer.phrases == 2  # the list itself is not kept
    over = fit_text(
        PrivateLDA(n_topics=1, epsilon=8, n_rounds=5), TEXTS, vocabulary=["rain", "new_york"], phrases=listed
    )
    assert over.guarantee_.reasons[-2:] == ("the word list is public", PUBLIC_PHRASES)
    assert over.release().vocabulary == ("rain", "new_york")
    words = PrivateVectorizer(8.0, phrases=listed).fit(TEXTS)
    assert words.guarantee_.reasons[-1:] == (PUBLIC_PHRASES,)


def test_words_that_were_found_already():
    corpus = Corpus.from_texts(TEXTS)
    with pytest.raises(InputError, match="have been found already"):
        fit_text(PrivateLDA(n_topics=2, epsilon=1), corpus, phrases=2)
    with pytest.raises(InputError, match="have been found already"):
        PrivateVectorizer(1.0, phrases=2).fit(corpus)


@pytest.mark.parametrize(
    "bad", ["- " * 100_000, "\n" * 200_000, "rain" + " " * 200_000, "-" * 200_000, "rain wind " * 50_000]
)
def test_no_text_takes_forever(bad):
    """Linear time: below a second. Quadratic time would be hours."""
    start = time.process_time()
    Tokenizer(phrases=5)(f"rain {bad} wind")
    Tokenizer(phrases=["rain wind"])(f"rain {bad} wind")
    assert time.process_time() - start < 20


def test_what_a_model_keeps():
    assert LISTED.without_stop_words().phrases == 4  # "state of the art"
    assert replace(LISTED, phrases=3).without_stop_words().phrases == 3
    kept = Tokenizer(phrases=2, stop_words=None)
    assert Tokenizer.from_json(kept.to_json()) == kept
    with pytest.raises(InputError, match="the length of its phrases"):
        Tokenizer.from_json({"rules": "letters 1", "lowercase": True, "phrases": ["new york"]})
    assert "phrases" not in Tokenizer().to_json()

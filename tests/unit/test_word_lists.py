"""Public word lists of languages: which words, in which order, for which tokenizer, and what a guarantee says."""

from __future__ import annotations

import pickle
import sys
from importlib.metadata import version

import pytest

from discreet import Corpus, InputError, PrivateLDA, Vocabulary, fit_text, word_list
from discreet.corpus import Tokenizer, english_stop_words, word_lists

wordfreq = pytest.importorskip("wordfreq", reason="wordfreq is not installed: pip install 'discreet[words]'")


def test_the_most_frequent_words_first():
    words = word_list("en", 2_000)
    assert (len(words), words.origin, words.cost, words.complete) == (2_000, "public", None, False)
    assert words[:3] == ("just", "like", "time")
    assert words[:500] == word_list("english", 500).words  # a shorter list is the beginning of a longer one
    ranks = [wordfreq.zipf_frequency(word, "en") for word in words]
    assert ranks == sorted(ranks, reverse=True)
    assert not set(words) & english_stop_words()
    assert len(word_list("EN")) == word_lists.USUAL_SIZE


def test_words_follow_the_tokenizer():
    pytest.importorskip("simplemma", reason="simplemma is not installed: pip install 'discreet[lemmas]'")
    lemmas = word_list("en", 3_000, tokenizer=Tokenizer(lemmas="en"))
    assert "studies" in word_list("en", 3_000)
    assert "study" in lemmas
    assert "studies" not in lemmas
    assert "the" in word_list("en", 10, tokenizer=Tokenizer(stop_words=None))
    assert "don't" in word_list("en", 200, tokenizer=Tokenizer(stop_words=None))
    assert "don't" not in word_list("en", 5_000)
    short = word_list("en", 50, tokenizer=Tokenizer(r"\b[a-z]{2}\b", stop_words=None))
    assert {len(word) for word in short} == {2}
    german = Tokenizer(stop_words="de")
    words = word_list("de", tokenizer=german)
    assert Corpus.from_texts(["Die Häuser und Straßen"], vocabulary=words, tokenizer=german).n_tokens == 2
    assert all(map(german.finds, word_list("german", 1_000)))


def test_spellings_that_the_package_folds():
    """It turns "ß" into "ss" and a final "ς" into "σ"; text has them."""
    german, greek = word_list("de", 3_000), word_list("greek", 3_000)
    assert {"straße", "strasse", "großen", "wasser"} <= set(german)
    assert any(word.endswith("ς") for word in greek)
    assert not any(word.endswith("σ") for word in greek)


def test_every_language_has_words():
    known = wordfreq.available_languages()
    assert set(known) <= set(word_lists.NAMES)
    for code in word_lists.NAMES:
        assert len(word_list(code, 5_000)) == 5_000, code


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
def test_the_guarantee_names_the_list():
    words = word_list("en", 60)
    texts = [" ".join(words[i % 50 : i % 50 + 8]) for i in range(200)]
    model = fit_text(PrivateLDA(n_topics=2, epsilon=4, n_rounds=3), texts, vocabulary=words)
    condition = f"the word list is public (the 60 most frequent words of English, wordfreq {version('wordfreq')})"
    assert condition in model.guarantee_.reasons
    assert condition in model.guarantee_.summary()
    assert model.guarantee_.basis == "proven"
    assert model.release().guarantee == model.guarantee_


def test_the_source_stays_with_the_words():
    words = word_list("en", 5)
    for same in (pickle.loads(pickle.dumps(words)), Vocabulary(words), Vocabulary(words, "public")):
        assert same.source == words.source
    corpus = Corpus.from_texts(["just like time"], vocabulary=words)
    assert corpus.vocabulary.source == corpus[:1].vocabulary.source == words.source
    assert corpus.restrict(["just"]).vocabulary.source == ""  # somebody has chosen among the words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("klingon",), "there is no word list of the language 'klingon'; there are those of ar, bg"),
        (("englsh",), "Did you mean 'english'?"),
        ((3,), "there is no word list of the language 3"),
        (("en", 0), "must be a whole number of at least 1"),
        (("en", 1.5), "must be a whole number of at least 1"),
    ],
)
def test_bad_requests(arguments, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")) as caught:
        word_list(*arguments)
    assert "\n" not in str(caught.value)


def test_no_word_by_this_tokenizer():
    with pytest.raises(InputError, match="no word of the list of english is a word by this tokenizer"):
        word_list("en", tokenizer=Tokenizer(r"#[a-z]+", stop_words=None))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    word_lists._entries.cache_clear()
    with pytest.raises(InputError, match=r"needs the package wordfreq, .* pip install 'discreet\[words\]'"):
        word_list("en")

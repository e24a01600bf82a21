"""What a word is by default: letters of any alphabet, without addresses; stop words; who keeps the rules."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
import warnings
from dataclasses import replace

import numpy as np
import pytest

from discreet import LDA, Corpus, InputError, PrivateVectorizer, Release
from discreet.corpus import Tokenizer, datasets, docstrings, letters, stop_words, stop_words_of
from discreet.corpus.tokenizer import LETTERS_A_TO_Z

ALL = Tokenizer(stop_words=None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Die Häuser, Straße und GRÖSSE", "die häuser straße und grösse"),
        ("Мы любим музыку", "любим музыку"),
        ("Η ΓΛΩΣΣΑ της Ελλάδας", "γλωσσα της ελλάδας"),
        ("मैं हिन्दी में किताबें पढ़ता हूँ, घर और जल", "हिन्दी किताबें पढ़ता घर और जल"),  # two syllables are a word
        ("안녕하세요 학교 꽃", "안녕하세요 학교"),
        ("שָׁלוֹם עולם", "שָׁלוֹם עולם"),
        ("می\u200cخواهم کتاب", "می\u200cخواهم کتاب"),
        ("ሰላም ቤት", "ሰላም ቤት"),
        ("ไทย หนังสือ", "ไทย หนังสือ"),  # cut into words
        ("我 喜欢 音乐 和 北京", "喜欢 音乐 北京"),
        ("コンピュータ の ネットワーク", "コンピュータ ネットワーク"),
        ("İstanbul", "istanbul"),
        ("x9x a_b km² ab e-mail H2O", "mail"),
    ],
)
def test_letters_of_any_alphabet(text, words):
    assert ALL(text) == words.split()
    assert ALL(unicodedata.normalize("NFD", text)) == words.split()  # accents that are characters of their own
    assert [ALL.finds(word) for word in words.split()] == [True] * len(words.split())


def test_the_fast_pattern_finds_what_the_other_finds():
    """Words by the simple pattern, wherever it is used, are those by the pattern for all scripts."""
    alphabets = "abcxyzß äöéñ çşğıж дяєґ αωάς ŵ ʼ 'n't 12_²-.,“”–€ "
    draw = np.random.default_rng(3)
    for _ in range(300):
        text = letters.prepared("".join(draw.choice(list(alphabets), 60)))
        assert letters._NOT_SIMPLE.search(text) is None
        assert letters._SIMPLE.findall(text) == letters._all_scripts().findall(text), text
    marks = [chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    assert len(marks) > 1_000
    assert all(letters._NOT_SIMPLE.search(mark) for mark in marks)
    assert all(letters._NOT_SIMPLE.search(chr(c)) for c in (*range(0x900, 0xE00), *range(0x1200, 0x13A0), 0xAC00))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't, isn’t and DON'T", "don't isn't and don't"),
        ("the company's plan; they'll say we’ve won", "the company plan they say won"),
        ("do n't", "n't"),
        ("l'homme, lorsqu'il quelqu’un aujourd'hui dell'acqua", "homme dell acqua"),
        ("м'ята, сім’я, п\u02bcять", "м'ята сім'я п'ять"),
        ("soft\u00adhyphen, ﬁnance", "softhyphen finance"),
    ],
)
def test_apostrophes_and_spellings(text, words):
    assert ALL(text) == words.split()


def test_contractions_are_english_stop_words():
    assert Tokenizer()("don't you think he isn’t, they CAN'T do n't music") == ["think", "music"]
    assert Tokenizer(lemmas="en")("don't think: can't, won't music") == ["think", "music"]
    assert Tokenizer(stop_words="de")("don't") == ["don't"]
    assert len(stop_words_of("english")) == 318  # scikit-learn's list itself is unchanged


@pytest.mark.parametrize(
    "address",
    [
        "http://www.example.com/a?b=c&d=e",
        "HTTPS://example.org/über/uns",
        "ftp://files.example.net",
        "www.example.de/path",
        "first.last+tag@mail.example.co.uk",
        "amazon.com",
        "cs.cmu.edu/~name/page.html",
    ],
)
def test_addresses_are_left_out(address):
    assert ALL(f"before {address} after") == ["before", "after"]
    assert ALL(f'<a href="{address}">click</a>') == ["href", "click"]
    assert ALL(f"({address}), then more") == ["then", "more"]


def test_what_only_looks_like_an_address_stays():
    found = ALL("The end. Net income rose; node.js or l@s: @name")
    assert found == ["the", "end", "net", "income", "rose", "node", "name"]
    assert Tokenizer(r"\w+", stop_words=None)("http://x.com don't") == ["http", "x", "com", "don", "t"]  # as it stands


@pytest.mark.parametrize(
    "bad",
    [
        "a" * 300_000 + "é",
        "a." * 150_000,
        "qu" * 150_000 + "'",
        "@" * 300_000,
        "a@" * 150_000 + ".com",
        "a\u0301" * 150_000 + "1",
    ],
    ids=["letters", "dots", "elisions", "at signs", "addresses", "marks"],
)
def test_no_text_takes_forever(bad):
    """Linear time: 0.02 to 0.2 s. Quadratic time would be hours."""
    start = time.process_time()
    ALL(bad)
    assert time.process_time() - start < 20


# --- text without spaces -----------------------------------------------------------------------------------------

CHINESE, THAI = "今天天气很好我们去公园散步吧", "ฉันชอบอ่านหนังสือภาษาไทย"


@pytest.mark.parametrize("text", [CHINESE, THAI, "今日は天気がいいので公園を散歩しました"])
def test_text_without_spaces_is_left_out_with_one_warning(text):
    with pytest.warns(UserWarning, match="no spaces between its words .* Cut it into words first") as caught:
        corpus = Corpus.from_texts([text, f"Python {text} music", text])
    assert len(caught) == 1
    assert corpus.vocabulary == ("music", "python")
    with pytest.raises(InputError, match="some text has no spaces between its words") as error:
        Corpus.from_texts([text])
    assert "\n" not in str(error.value)


def test_words_with_spaces_get_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Corpus.from_texts(["今天 天气 很好", "我们 去 公园"]).vocabulary == (
            "今天",
            "公园",
            "天气",
            "很好",
            "我们",
        )
        assert Corpus.from_texts([[CHINESE]]).n_words == 1  # a list of words is taken as it is
        assert Corpus.from_texts([CHINESE], tokenizer=Tokenizer(r"\w+")).n_words == 1  # and so is a pattern
        assert Corpus.from_texts(["コンピュータ"]).n_words == 1  # one word of katakana


# --- stop words of languages --------------------------------------------------------------------------------------


def test_stop_words_of_languages():
    assert Tokenizer(stop_words="de")("Die Häuser und der Garten für uns") == ["häuser", "garten"]
    assert Tokenizer(stop_words="german") == Tokenizer(stop_words="DE") == Tokenizer(stop_words="de")
    assert Tokenizer(stop_words="en") == Tokenizer()
    assert Tokenizer(stop_words="russian")("Мы любим музыку, потому что она наша") == ["любим", "музыку"]
    assert Tokenizer(stop_words="fr")("Les maisons de la ville, dans une rue") == ["maisons", "ville", "rue"]
    assert Tokenizer(stop_words=["Größe"])("größe gewicht") == ["gewicht"]  # a given word is spelled as text is
    wanted = {"en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "sv", "tr", "ar", "hi", "ja"}
    assert wanted <= set(stop_words.languages())


def test_every_list_is_spelled_as_text_is():
    """Lists are cleaned: an entry is one word, without blanks or quotes at its ends (the package's Hebrew has both)."""
    for language in stop_words.languages():
        words = stop_words_of(language)
        assert len(words) > 40, language
        assert not [w for w in words if w != w.strip(" '\",.") or " " in w or w != stop_words.one_spelling(w)], language
    assert "אבל" in stop_words_of("he")


def test_lemmas_bring_their_stop_words():
    pytest.importorskip("simplemma", reason="simplemma is not installed: pip install 'discreet[lemmas]'")
    assert Tokenizer(lemmas="de").stop_words == "de"
    assert Tokenizer(lemmas="de")("Die Häuser und der Garten") == ["haus", "garten"]
    assert Tokenizer(lemmas="la").stop_words == "english"  # there is no list of Latin
    words = PrivateVectorizer(8.0, stop_words="de").fit(["und Häuser", "und ein Garten"] * 1_000)
    assert list(words.vocabulary_) == ["garten", "häuser"]


# --- who keeps the rules -------------------------------------------------------------------------------------------


def test_a_release_keeps_the_rules(tmp_path):
    texts = ["Häuser und Gärten, don't http://x.com", "мяч и м'ята; cafe\u0301"] * 5
    model = LDA(n_topics=2, n_sweeps=5, random_state=0).fit(
        Corpus.from_texts(texts, tokenizer=Tokenizer(stop_words="de"))
    )
    release = Release.load(model.release().save(tmp_path / "model"))
    said = json.loads((tmp_path / "model" / "release.json").read_text())["tokenizer"]
    assert said == {"rules": "letters 1", "lowercase": True, "stop_words": "de"}
    assert release.tokenizer == Tokenizer(stop_words="de")
    new = ["HÄUSER www.example.com Ga\u0308rten", "сім’я М’ЯТА café"]
    expected = release.transform([["häuser", "gärten"], ["м'ята", "café"]])
    np.testing.assert_array_equal(release.transform(new), expected)
    np.testing.assert_array_equal(model.transform(new), expected)


def test_a_folder_of_before_reads_text_as_before(tmp_path):
    """A folder that says its pattern is read by it: letters a–z, "don" out of "don't", words of addresses."""
    old = Tokenizer(LETTERS_A_TO_Z)
    corpus = Corpus.from_texts(["don't see http://rain.com", "Häuser rain"] * 5, tokenizer=old)
    assert corpus.vocabulary == ("com", "don", "http", "rain")  # "user" touches "ä"
    folder = LDA(n_topics=2, n_sweeps=5, random_state=0).fit(corpus).release().save(tmp_path / "model")
    assert json.loads((folder / "release.json").read_text())["tokenizer"] == {
        "pattern": r"\b[a-z]{3,}\b",
        "lowercase": True,
    }
    release = Release.load(folder)
    np.testing.assert_array_equal(release.transform(["don't http"]), release.transform([["don", "http"]]))


def test_other_rules_are_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="the rules 'letters 9' of what a word is are not known here"):
        Tokenizer.from_json({"rules": "letters 9", "lowercase": True})


def test_named_sets_keep_the_pattern_they_were_measured_with(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    folder = tmp_path / "novels"
    monkeypatch.setitem(datasets._SETS, "novels", replace(datasets._SETS["novels"], files=("novels/f.jsonl",)))
    folder.mkdir()
    (folder / "f.jsonl").write_text('{"label": "x", "text": "don\'t été http://rain.com"}\n')
    assert datasets.load("novels").vocabulary == ("com", "don", "http", "rain")
    assert datasets.load("novels").tokenizer == Tokenizer(datasets.TOKEN_PATTERN)
    assert datasets.load("novels", tokenizer=Tokenizer()).vocabulary == ("été",)


def test_docstrings_keep_it_too(monkeypatch):
    from discreet.corpus import installed

    monkeypatch.setattr(installed, "_modules", lambda: [("numpy", "numpy.x", sys.modules[__name__].__file__)])
    monkeypatch.setattr(installed, "_docstrings_of", lambda path: ["don't see " * 8])
    assert docstrings().vocabulary == ("don",)

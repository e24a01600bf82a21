"""Tokenising, vocabularies, and the builder."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet._errors import DataNotFound, InputError
from discreet.corpus import Corpus, CorpusBuilder, Tokenizer, Vocabulary, english_stop_words, public_vocabulary
from discreet.corpus import builder as room

TEXTS = ["The cat saw a bee; the bee fled.", "", "Zebra! zebra? ZEBRA x9x ca", "of the and"]


def built(texts, **options):
    builder = CorpusBuilder(**options)
    for text in texts:
        builder.add(text)
    return builder.build()


def test_default_tokens_are_three_letters_or_more():
    assert Tokenizer()("The cat's TOES, bee2 été a_b ab abc") == ["cat", "toes", "été", "abc"]


def test_each_option_of_the_tokenizer_does_something():
    assert Tokenizer(stop_words=None)("The cat") == ["the", "cat"]
    assert Tokenizer(stop_words=frozenset({"cat"}))("The cat") == ["the"]
    assert Tokenizer(lowercase=False)("The cat") == ["The", "cat"]
    assert Tokenizer(pattern=r"\w+")("oui été 42") == ["oui", "été", "42"]
    assert Tokenizer(pattern=r"#(\w+)")("a #tag") == ["tag"]


def test_tokenizers_can_be_compared_and_pickled():
    assert pickle.loads(pickle.dumps(Tokenizer())) == Tokenizer()
    assert hash(Tokenizer(stop_words={"a"})) == hash(Tokenizer(stop_words=frozenset({"a"})))


def test_stop_words_are_scikit_learns():
    assert len(english_stop_words()) == 318


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "["}, "not a regular expression"),
        ({"pattern": 3}, "not a regular expression"),
        ({"pattern": "(a)(b)"}, "has 2 groups"),
        ({"pattern": r"\w*"}, "also matches empty text"),
        ({"pattern": r"\b"}, "also matches empty text"),
        ({"pattern": r"(x)?[a-z]+"}, "also matches empty text"),
        ({"stop_words": "klingon"}, "no stop words for the language 'klingon'; there are those of en, ar, bg"),
        ({"stop_words": "germn"}, "Did you mean 'german'"),
    ],
)
def test_bad_tokenizers(options, message):
    with pytest.raises(InputError, match=message) as caught:
        Tokenizer(**options)
    assert "\n" not in str(caught.value)


def test_a_learnt_vocabulary_is_alphabetical_and_from_the_text():
    corpus = built(TEXTS)
    assert corpus.vocabulary == ("bee", "cat", "fled", "saw", "zebra")
    assert corpus.vocabulary.origin == "text"
    assert_array_equal(corpus.to_counts().toarray(), [[2, 1, 1, 1, 0], [0] * 5, [0, 0, 0, 0, 3], [0] * 5])
    assert corpus.n_empty == 2


def test_tokens_keep_their_order():
    corpus = built(TEXTS)
    assert [corpus.vocabulary[w] for w in corpus.words[:5]] == ["cat", "saw", "bee", "bee", "fled"]


def test_a_corpus_of_text_knows_its_tokenizer():
    mine = Tokenizer(r"\w+", stop_words=None)
    corpus = built(TEXTS, tokenizer=mine)
    assert built(TEXTS).tokenizer == Tokenizer()
    for part in (corpus, corpus[:1], corpus.most_frequent(2), corpus.restrict(Vocabulary(["cat"], "public"))):
        assert part.tokenizer == mine
    assert built(TEXTS, tokenizer=mine, vocabulary=["cat"]).tokenizer == mine
    assert Corpus.from_counts(corpus.to_counts()).tokenizer is None


def test_the_most_frequent_words_with_ties_by_alphabet():
    assert built(TEXTS, max_words=3).vocabulary == ("bee", "cat", "zebra")


def test_the_order_of_documents_does_not_change_the_vocabulary():
    texts = [" ".join(random.Random(i).choices(["ant", "bee", "cat", "dog", "eel"], k=6)) for i in range(20)]
    assert built(texts, max_words=3).vocabulary == built(texts[::-1], max_words=3).vocabulary


def test_a_given_vocabulary_is_public_and_kept_whole():
    corpus = built(TEXTS, vocabulary=["zebra", "the", "unseen"])
    assert corpus.vocabulary == ("zebra", "the", "unseen")
    assert corpus.vocabulary.origin == "public"
    assert_array_equal(corpus.to_counts().toarray(), [[0, 2, 0], [0, 0, 0], [3, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("options", [{}, {"max_words": 40}, {"vocabulary": ["aaa", "bbb", "ccc"]}])
def test_chunks_are_invisible(options, monkeypatch):
    letters = random.Random(1)
    texts = [" ".join(letters.choice("abcdefgh") * 3 for _ in range(letters.randrange(9))) for _ in range(200)]
    whole = built(texts, **options)
    monkeypatch.setattr(room, "_CHUNK", 7)
    pieces = built(texts, **options)
    assert whole.vocabulary == pieces.vocabulary
    assert_array_equal(whole.words, pieces.words)
    assert_array_equal(whole.offsets, pieces.offsets)


def test_groups_collections_and_labels():
    builder = CorpusBuilder()
    builder.add("cat", group="ann", collection=1, label="x")
    builder.add("dog", group=7, collection=2.0, label=None)
    builder.add(None, group="ann", collection=2, label="y")
    corpus = builder.build()
    assert corpus.groups.tolist() == ["ann", 7, "ann"]
    assert corpus.collections.tolist() == [1, 2, 2]
    assert corpus.collections.dtype == np.int64
    assert corpus.labels.tolist() == ["x", "", "y"]
    assert corpus.n_empty == 1


def test_huge_numbers_stay_what_they_are():
    builder = CorpusBuilder()
    builder.add("cat", group=2**70, label=2**70)
    corpus = builder.build()
    assert corpus.groups.tolist() == [2**70]
    assert corpus.labels.tolist() == [str(2**70)]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"text": 5}], "not a string but a whole number"),
        ([{"text": ["a", 5]}], "tokens of a document must be strings"),
        ([{"text": {"a": 5}}], "dict"),
        ([{"text": "a", "group": 1.5}], "string or a whole number"),
        ([{"text": "a", "group": float("nan")}], "user id is missing"),
        ([{"text": "a", "label": {"a": 1}}], "string or a whole number"),
        ([{"text": "a", "group": "long " * 500}], "2,500 characters"),
        ([{"text": "a", "group": 1}, {"text": "b"}], "has no group, but others have"),
        ([{"text": "a"}, {"text": "b", "collection": 1}], "has a collection, but others have none"),
    ],
)
def test_bad_documents(documents, message):
    builder = CorpusBuilder()
    *good, bad = documents
    for document in good:
        builder.add(**document)
    with pytest.raises(InputError, match=message) as caught:
        builder.add(**bad)
    assert "\n" not in str(caught.value)


def test_a_refused_document_leaves_no_trace():
    builder = CorpusBuilder()
    builder.add("cat", group="ann", label="x")
    with pytest.raises(InputError):
        builder.add("dog", group="bob", label=1.5)
    corpus = builder.build()
    assert corpus.vocabulary == ("cat",)
    assert corpus.groups.tolist() == ["ann"]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "no document was added"),
        (["", "of the"], {}, "no word was found in the documents .* other than stop words"),
        (["a 1 2"], {}, "no word was found in the documents "),
        (["cat"], {"max_words": 0}, "max_words must be a whole number"),
        (["cat"], {"max_words": 1.5}, "max_words must be a whole number"),
        (["cat"], {"max_words": 2, "vocabulary": ["cat"]}, "both given"),
        (
            ["cat"],
            {"vocabulary": ["Cat", "of"]},
            "no word of the vocabulary, for instance 'Cat', is a word by the usual rules",
        ),
    ],
)
def test_bad_builders(texts, options, message):
    with pytest.raises(InputError, match=message) as caught:
        built(texts, **options)
    assert "\n" not in str(caught.value)


def test_a_builder_builds_once():
    builder = CorpusBuilder()
    builder.add("cat")
    builder.build()
    with pytest.raises(InputError, match="built its corpus already"):
        builder.build()


def test_vocabulary_from_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff# animals\n\nzebra\r\n  bee \n#no\ncat".encode())
    assert public_vocabulary(path) == ("zebra", "bee", "cat")
    assert public_vocabulary(str(path)) == ("zebra", "bee", "cat")
    assert built(TEXTS, vocabulary=path).vocabulary == ("zebra", "bee", "cat")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cat\n\n# x\ndog\ncat\n", "line 5: 'cat' is there already"),
        (b"# nothing\n\n", "holds no word"),
        (b"", "is empty"),
        (b"cat\ncaf\xe9\n", "line 2, byte 4 \\(0xe9\\) is not UTF-8"),
        (b"cat\n\x00\x01", "line 2 holds a zero byte"),
    ],
)
def test_bad_vocabulary_files(tmp_path, content, message):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        public_vocabulary(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "vocabulary is empty"),
        (["a", "b", "a"], "position 3: 'a' is there already"),
        (["a", ""], "position 2: a word must be a string that is not blank"),
        (["a", 3], "position 2: a word must be a string"),
    ],
)
def test_bad_vocabulary_lists(words, message):
    with pytest.raises(InputError, match=message):
        public_vocabulary(words)


def test_a_missing_vocabulary_file_names_its_neighbour(tmp_path):
    (tmp_path / "words.txt").write_text("cat\n")
    with pytest.raises(DataNotFound, match=r"Did you mean 'words\.txt'"):
        public_vocabulary(tmp_path / "word.txt")
    with pytest.raises(DataNotFound, match=r"Did you mean 'words\.txt'"):
        public_vocabulary(tmp_path / "Words.csv")
    (tmp_path / "zh.jsonl").write_text("{}")
    with pytest.raises(DataNotFound, match=r"Check the path"):  # the same ending does not make two names alike
        public_vocabulary(tmp_path / "nope.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        public_vocabulary(tmp_path)

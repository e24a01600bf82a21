"""Text everywhere text is taken: strings, lists of tokens, functions that cut text into words, missing documents."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from discreet import LDA, Corpus, PrivateLDA, PrivateVectorizer
from discreet._errors import InputError
from discreet.corpus import CorpusBuilder, Tokenizer, read_table
from discreet.release.release import Release
from tests.support.spending import hopeless

nan = float("nan")
TEXTS = ["rain and wind", "piano, violin"] * 100
TOKENS = [["rain", "wind"], ("piano", "violin")] * 100
WORDS = ("piano", "rain", "violin", "wind")


class NAType:
    """Stands for pandas.NA."""


class Column:
    """Stands for a pandas column: one dimension, iterable, with missing values in it."""

    ndim = 1

    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


GAPS = {
    "list": ["rain wind", None, nan, "piano"],
    "array": np.array(["rain wind", None, nan, "piano"], object),
    "missing first": [None, nan, "rain wind", "piano"],
    "polars": pl.Series(["rain wind", None, None, "piano"]),
    "pandas": Column("rain wind", nan, NAType(), "piano"),
    "tokens": [["rain", "wind"], [], None, ["piano"]],
    "mixed": ["rain wind", ["piano"], nan, None],
}


def by_blanks(text):
    return text.split()


@pytest.fixture(scope="module")
def model():
    return LDA(2, n_sweeps=20, random_state=1, n_threads=1).fit(Corpus.from_texts(TEXTS))


def test_texts_tokens_and_functions_make_the_same_corpus():
    by_text, by_token = Corpus.from_texts(TEXTS), Corpus.from_texts(TOKENS)
    by_function = Corpus.from_texts([" ".join(words) for words in TOKENS], tokenizer=by_blanks)
    for corpus in (
        by_text,
        by_token,
        by_function,
        Corpus.from_texts(np.array(TEXTS)),
        Corpus.from_texts(Column(*TEXTS)),
    ):
        assert corpus.vocabulary == WORDS
        assert_array_equal(corpus.words, by_text.words)
        assert (corpus.vocabulary.origin, corpus.vocabulary.complete) == ("text", True)
    assert Corpus.from_texts(TEXTS, vocabulary=["wind"]).vocabulary.origin == "public"
    owned = Corpus.from_texts(TEXTS, groups=["ann", "bob"] * 100, labels=[1, 2] * 100, max_words=3)
    assert (owned.n_words, len(set(owned.groups)), len(set(owned.labels))) == (3, 2, 2)


def test_a_function_decides_what_a_word_is():
    texts = ["The CAT of X1", "the cat"]
    assert Corpus.from_texts(texts, tokenizer=by_blanks).vocabulary == ("CAT", "The", "X1", "cat", "of", "the")
    builder = CorpusBuilder(tokenizer=lambda text: (word.lower() for word in text.split()))
    builder.add(texts[0])
    assert builder.build().vocabulary == ("cat", "of", "the", "x1")


@pytest.mark.parametrize("name", GAPS)
def test_missing_documents_are_empty_documents(model, name):
    """Rows stay aligned: as many come out as went in."""
    given = GAPS[name]
    corpus = Corpus.from_texts(given)
    assert (corpus.n_documents, corpus.n_empty) == (4, 2)
    empty = corpus.lengths == 0
    for transform in (model.transform, model.release().transform):
        theta = transform(given)
        assert theta.shape == (4, 2)
        np.testing.assert_allclose(theta[empty], 0.5)
        assert (theta[~empty].max(axis=1) > 0.7).all()


def test_models_and_releases_take_text(model, tmp_path):
    release = model.release()
    expected = model.transform(Corpus.from_texts(TEXTS))
    loaded = Release.load(release.save(tmp_path / "model"))
    for transform in (model.transform, release.transform, loaded.transform):
        assert_array_equal(transform(TEXTS), expected)
        assert_array_equal(transform(TOKENS), expected)
        assert_array_equal(transform(np.array(TEXTS)), expected)
        assert_array_equal(transform(Corpus.from_texts(TEXTS).to_counts()), expected)
        assert_array_equal(transform(["unknown words only"]), [[0.5, 0.5]])
    assert_array_equal(release.transform(TEXTS, tokenizer=lambda text: text.replace(",", "").split()), expected)


def test_texts_are_scored(model):
    texts = ["rain and wind, wind and rain", None, "violin, violin, piano, piano", nan]
    assert model.perplexity(texts) == model.perplexity(Corpus.from_texts(texts)) < 4
    assert model.score(texts) == -np.log(model.perplexity(texts))


def test_a_function_stays_with_the_model_but_does_not_leave_with_a_release(tmp_path):
    corpus = Corpus.from_texts(["RAIN wind", "PIANO violin"] * 50, tokenizer=by_blanks)
    model = LDA(2, n_sweeps=20, random_state=1).fit(corpus)
    assert model.transform(["RAIN", "PIANO"]).argmax(axis=1).tolist() in ([0, 1], [1, 0])
    release = model.release()
    assert release.tokenizer is None
    release.save(tmp_path / "model")
    with pytest.raises(InputError, match=r"how text becomes words.*tokenizer="):
        release.transform(["RAIN"])
    assert_array_equal(release.transform(["RAIN"], tokenizer=by_blanks), model.transform(["RAIN"]))
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(["RAIN"]), model.transform(["RAIN"]))


def test_a_model_of_bare_counts_says_what_it_lacks(model):
    counts = Corpus.from_texts(TEXTS).to_counts()
    bare = LDA(2, n_sweeps=5).fit(counts)
    with pytest.raises(InputError, match="trained on counts"):
        bare.transform(["rain"])
    with pytest.raises(InputError, match="trained on counts"):
        bare.perplexity([["rain"]])
    with pytest.raises(InputError, match="takes word counts"):
        LDA(2).fit(TOKENS)


@hopeless
@pytest.mark.parametrize(
    ("documents", "options"),
    [(TEXTS, {}), (TOKENS, {}), (TEXTS, {"tokenizer": lambda text: text.replace(",", "").split()})],
    ids=["texts", "tokens", "function"],
)
def test_the_private_vectorizer_takes_them_too(documents, options):
    vectorizer = PrivateVectorizer(8.0, **options)
    counts = vectorizer.fit_transform([*documents, None, nan])
    assert counts.shape[0] == 202
    assert set(WORDS) <= set(vectorizer.vocabulary_)
    assert_array_equal(vectorizer.transform([nan, documents[0]]).sum(axis=1).ravel() > 0, [[False, True]])
    fitted = PrivateLDA(2, epsilon=9.0, n_rounds=3).fit(counts)
    assert fitted.transform([documents[0], None]).shape == (2, 2)


BAD = {
    "one string": ("rain", "list of documents"),
    "a table": (np.array([["rain"]]), "2 dimensions"),
    "a number": (["rain", 5], "document 1 .* is not a string but a whole number"),
    "a number in tokens": ([["rain", 5]], r"document 0 .*tokens"),
    "bytes": ([b"rain"], r"document 0 .*bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_text(name):
    given, message = BAD[name]
    for take in (Corpus.from_texts, PrivateVectorizer(8.0).fit):
        with pytest.raises(InputError, match=message) as caught:
            take(given)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "function", [lambda text: text, lambda text: [1], lambda text: None], ids=["text", "int", "None"]
)
def test_functions_that_give_no_words(function):
    with pytest.raises(InputError, match="the tokenizer must give a list of words"):
        Corpus.from_texts(["rain"], tokenizer=function)


def test_what_is_no_tokenizer():
    with pytest.raises(InputError, match="tokenizer must be a Tokenizer or a function"):
        Corpus.from_texts(["rain"], tokenizer=r"\w+")
    with pytest.raises(InputError, match="function cannot be saved"):
        Release(
            [[1.0]], ("rain",), [0.1], 0.1, "lda", {}, LDA(1).fit([[1]]).guarantee_, tokenizer=Tokenizer.of(by_blanks)
        )


def test_files_with_lists_of_tokens_and_missing_text(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"text": ["rain", "wind"]}\n{"text": NaN}\n{"text": null}\n{"text": "rain"}\n')
    assert read_table(path).lengths.tolist() == [2, 0, 0, 1]
    pl.DataFrame({"text": [["rain", "wind"], None]}).write_parquet(tmp_path / "table.parquet")
    assert read_table(tmp_path / "table.parquet").lengths.tolist() == [2, 0]

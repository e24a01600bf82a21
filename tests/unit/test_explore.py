"""What the explorer computes: rankings, means, words where they stand, matched topics; and what it keeps on disk."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import numpy as np
import pytest

from discreet._errors import InputError
from discreet.corpus import Corpus, Tokenizer, read
from discreet.corpus.builder import CorpusBuilder, heard_by
from discreet.evaluation import coverage
from discreet.explore.classes import Classes
from discreet.explore.documents import read_documents
from discreet.explore.explorer import Explorer
from discreet.explore.later import Later
from discreet.explore.marked import likely_topics, pieces
from discreet.explore.matched import matched
from discreet.explore.shares import CHUNK, Shares
from discreet.explore.spool import Table, Texts
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.release.measured import ignored_words, measured
from discreet.release.release import Release

NONE = Guarantee.none(EXACT_COUNTS)


def release(topics: np.ndarray, words: list[str], **more) -> Release:
    return Release(topics, tuple(words), np.full(len(topics), 0.1), 0.01, "lda", {}, NONE, **more)


# --- files without a name ---------------------------------------------------------------------------------------------


def test_texts_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given = ["plain", "", None, float("nan"), "zwei\nZeilen ☂", ["a", "b c"], "lone \ud800 half", "x" * 100_000]
    texts = Texts()
    for text in given:
        texts.add(text)
    assert list(texts) == ["plain", "", "", "", "zwei\nZeilen ☂", ["a", "b c"], "lone \ud800 half", "x" * 100_000]
    assert os.listdir(tmp_path) == []  # there is a file, and no folder has it
    assert os.fstat(texts._file.fileno()).st_mode & 0o777 == 0o600
    with pytest.raises(IndexError):
        texts[8]
    texts.close()
    with pytest.raises(InputError, match="has ended"):
        texts[0]


def test_a_table_is_written_in_parts_of_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    whole = np.random.default_rng(1).random((3, 10)).astype(np.float32)
    table = Table(3, 10)
    for first in (4, 0, 8):
        table.write(first, whole[:, first : first + 4])
    found = table.read()
    table.close()
    np.testing.assert_array_equal(found, whole)
    assert not found.flags.writeable
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    texts, table = Texts(), Table(1, 100_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(InputError, match=f"{tmp_path}: File too large.*TMPDIR"):
            texts.add("x" * 100_000)
        with pytest.raises(InputError, match="cannot be written"):
            table.write(0, np.zeros((1, 100_000), np.float32))
        texts.close()
        table.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# --- shares -----------------------------------------------------------------------------------------------------------


def shares_with_ties(n: int = 5_000) -> Shares:
    """Many documents share a value, as all that hold one word do."""
    random = np.random.default_rng(7)
    table = (random.integers(0, 40, (3, n)) / 40).astype(np.float32)
    known = random.random(n) < 0.9
    table[:, ~known] = 0.0
    return Shares(table, known)


@pytest.mark.parametrize("among", [None, np.arange(0, 5_000, 3)])
def test_pages_of_a_ranking_are_the_whole_ranking(among: np.ndarray | None) -> None:
    """Every known document once, in the order of a stable sort, however many have the same share."""
    shares = shares_with_ties()
    candidates = np.arange(5_000) if among is None else among
    candidates = candidates[shares.known[candidates]]
    for topic in range(3):
        expected = candidates[np.argsort(-shares.table[topic][candidates], kind="stable")]
        found = []
        for first in range(0, len(expected) + 50, 50):
            documents, values = shares.ranked(topic, first, 50, among)
            np.testing.assert_array_equal(values, shares.table[topic][documents])
            found += documents.tolist()
        assert found == expected.tolist()


def test_a_selection_without_the_number_would_lose_documents() -> None:
    """Why the number is part of what is compared: by shares alone, pages overlap and miss documents."""
    shares = shares_with_ties()
    chosen = np.flatnonzero(shares.known)
    seen = set()
    for first in range(0, len(chosen), 50):
        seen |= set(chosen[np.argpartition(-shares.table[0][chosen], min(first + 49, len(chosen) - 1))[first:][:50]])
    assert len(seen) < len(chosen)


def test_means_of_classes() -> None:
    shares = shares_with_ties()
    codes = np.random.default_rng(3).integers(0, 6, 5_000).astype(np.int32)
    codes[codes == 4] = 5
    codes[~shares.known] = 4  # a class without a known word
    found = shares.means_by(codes, np.array([2, 4, 0]))
    for row, c in zip(found, (2, 4, 0), strict=True):
        members = (codes == c) & shares.known
        expected = shares.table[:, members].astype(np.float64).mean(axis=1) if members.any() else np.zeros(3)
        np.testing.assert_allclose(row, expected, rtol=1e-12)
    np.testing.assert_allclose(shares.means, shares.table[:, shares.known].astype(np.float64).mean(axis=1), rtol=1e-6)


def test_shares_are_those_of_transform_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = np.random.default_rng(2).dirichlet(np.full(30, 0.1), 4)
    model = release(topics, [f"w{i}" for i in range(30)])
    counts = np.random.default_rng(3).poisson(0.3, (200, 30))
    counts[[5, 77]] = 0
    corpus = Corpus.from_counts(counts, model.vocabulary)
    assert corpus.n_documents < CHUNK
    monkeypatch.setattr("discreet.explore.shares.CHUNK", 32)
    shares = Shares.computed(model.transform, corpus, 4)
    expected = model.transform(corpus).T.astype(np.float32)
    expected[:, corpus.lengths == 0] = 0
    np.testing.assert_array_equal(shares.table, expected)
    assert {5, 77} <= set(np.flatnonzero(~shares.known))


def test_classes_are_numbered_by_size() -> None:
    classes = Classes.of("label", np.array(["b", "a", "c", "a", "b", "a"]))
    assert (classes.names, classes.sizes.tolist()) == (["a", "b", "c"], [3, 2, 1])
    assert [classes.members(c).tolist() for c in range(3)] == [[1, 3, 5], [0, 4], [2]]


# --- words where they stand -------------------------------------------------------------------------------------------

TEXT = (
    "Rain, RAIN & (rain)! The studies of l'homme don't end; www.rain.org and rain@rain.com are addresses. "
    "New York's rain-storms\n\n\tin new  york: rain_wind rain9 ﬁnd café cafe\u0301 <b>rain</b> "
    "lorsqu'il state of the art, state-of-the-art. München, Straße; İstanbul 東京"
)
TOKENIZERS = {
    "usual": Tokenizer(),
    "as written": Tokenizer(lowercase=False),
    "pattern": Tokenizer(r"\b[a-z]{3,}\b"),
    "group": Tokenizer(r"\b(\w\w+)\b"),
    "lemmas": Tokenizer(lemmas="en"),
    "german": Tokenizer(lemmas="de"),
    "phrases": Tokenizer(phrases={"new york", "state of the art", "rain storms"}),
    "function": Tokenizer.of(str.split),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_counted_word_is_marked_where_it_stands(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    counted = tokenizer.tokens_of(TEXT)
    assert len(counted) > 8
    found = pieces(TEXT, tokenizer.tokens_of, lambda word: True)
    assert "".join(piece.text for piece in found) == TEXT
    assert [piece.word for piece in found if piece.word is not None] == counted
    if name == "phrases":
        marked = {piece.word: piece.text for piece in found if piece.word and "_" in piece.word}
        assert marked == {"new_york": "new  york", "state_of_the_art": "state-of-the-art", "rain_storms": "rain-storms"}
    if name == "lemmas":
        assert ("studies", "study") in found
    if name == "usual":
        assert "www.rain.org" in "".join(piece.text for piece in found if piece.word is None)


def test_only_words_of_the_model_are_marked_and_lists_of_words_too() -> None:
    found = pieces(["new", "york", "rain"], TOKENIZERS["phrases"].tokens_of, {"new_york"}.__contains__)
    assert [tuple(piece) for piece in found if piece.text.strip()] == [("new york", "new_york"), ("rain", None)]


def test_a_word_has_the_topic_that_is_most_likely_given_the_document() -> None:
    model = release(np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]), ["a", "b", "c"])
    words = np.array([0, 1, 2])
    assert likely_topics(model, words, np.array([0.5, 0.5])).tolist() == [0, 1, -1]
    assert likely_topics(model, words, np.array([0.05, 0.95])).tolist() == [1, 1, -1]  # the mixture outweighs a word


def test_a_cross_collection_model_reads_a_document_by_its_collection() -> None:
    common = np.array([[0.5, 0.5], [0.5, 0.5]])
    own = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])  # of two collections: the opposite
    parts = {"collections": ("x", "y"), "collection_topics": own, "switch": np.full((2, 2), 0.5)}
    model = release(common, ["a", "b"], **parts)
    half = np.array([0.5, 0.5])
    assert likely_topics(model, np.array([0, 1]), half, 0).tolist() == [0, 1]
    assert likely_topics(model, np.array([0, 1]), half, 1).tolist() == [1, 0]


# --- documents --------------------------------------------------------------------------------------------------------


def test_what_is_heard_is_every_document_with_all_of_its_words() -> None:
    heard: list[tuple[object, list[str]]] = []
    builder = CorpusBuilder(vocabulary=["rain"])
    with heard_by(lambda text, words: heard.append((text, words))):
        builder.add("Rain and wind")
        builder.add(None)
    builder.add("not heard")
    assert heard == [("Rain and wind", ["rain", "and", "wind"]), (None, [])]
    assert builder.build().n_documents == 3


def write_texts(folder: Path) -> Path:
    lines = ["rain and wind, rain, storm: sailors like harbours", "piano and violin", "", "nothing known"]
    (folder / "texts.txt").write_text("\n".join(lines * 20))
    return folder / "texts.txt"


WORDS = ["piano", "rain", "storm", "violin", "wind"]
TOPICS = np.array([[0.01, 0.5, 0.23, 0.01, 0.25], [0.5, 0.01, 0.01, 0.47, 0.01]])


def test_coverage_is_that_of_evaluate(tmp_path: Path) -> None:
    file, model = write_texts(tmp_path), release(TOPICS, WORDS)
    documents = read_documents(model, lambda: read(file, vocabulary=model.vocabulary), "model")
    everything = read(file, tokenizer=Tokenizer(stop_words=None))
    assert documents.covered == coverage(everything, WORDS, ignored=ignored_words(None))
    assert 0 < documents.covered < 1
    other = release(TOPICS[:, :2] / TOPICS[:, :2].sum(axis=1, keepdims=True), ["piano", "and"])
    corpus, covered = documents.for_model(other)
    assert covered == coverage(everything, other.vocabulary, ignored=ignored_words(None))
    assert corpus.n_tokens == 60  # "and" is a stop word, and a word of this model
    documents.texts.close()


def test_counts_have_no_text_but_a_coverage() -> None:
    counts = Corpus.from_counts(np.array([[3, 1], [0, 2]]), ["rain", "snow"])
    model = release(TOPICS, WORDS)
    documents = read_documents(model, lambda: counts, "model")
    assert documents.texts is None
    assert documents.covered == 0.5
    assert documents.for_model(release(np.array([[1.0]]), ["snow"]))[1] == 0.5
    explorer = Explorer.opened(documents, ("model", model))
    assert explorer.beginning(0, 100) == "rain"
    assert explorer.shares.known.tolist() == [True, False]


def test_documents_of_another_language_are_refused(tmp_path: Path) -> None:
    file, model = write_texts(tmp_path), release(np.array([[1.0]]), ["regen"])
    with pytest.raises(InputError, match="no document holds a word of model"):
        read_documents(model, lambda: read(file, vocabulary=model.vocabulary), "model")


def test_measures_are_computed_when_somebody_asks(tmp_path: Path) -> None:
    file, model = write_texts(tmp_path), release(TOPICS, WORDS)
    documents = read_documents(model, lambda: read(file, vocabulary=model.vocabulary), "model")
    explorer = Explorer.opened(documents, ("model", model), ("same", model))
    expected = measured(model, documents.corpus)
    assert explorer.other is not None
    for one in (explorer.model, explorer.other):
        found = one.measures.ask(30)
        assert isinstance(found, tuple)
        assert found[0].held_out.perplexity == expected.held_out.perplexity
        assert found[0].c_v.mean == expected.c_v.mean
        assert found[1] == documents.covered
    explorer.close()


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_topics_are_matched_over_the_words_of_both() -> None:
    a = release(np.array([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]]), ["x", "y", "z"])
    b = release(np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.4, 0.6, 0.0]]), ["y", "u", "z"])
    found = matched(a, b)
    assert found.order.tolist() == [2, 0]
    np.testing.assert_allclose(found.overlap, [0.4, 1.0])  # y; y and z
    assert (found.left, found.n_shared) == ([1], 2)
    assert found.mean == pytest.approx(0.7)
    assert matched(b, a).order.tolist() == [1, -1, 0]
    assert np.isnan(matched(b, a).overlap[1])


def test_what_takes_long_is_begun_once_and_tells_why_it_failed() -> None:
    go, calls = threading.Event(), []

    def work() -> int:
        calls.append(1)
        go.wait(10)
        return 7

    later = Later(work)
    assert later.ask() is None
    assert later.ask() is None
    go.set()
    assert later.ask(10) == 7
    assert calls == [1]

    def refuse() -> int:
        raise InputError("no.")

    assert Later(refuse).ask(10) == "no."

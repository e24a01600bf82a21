"""Coherence against gensim, on texts small enough to check by hand and on two real corpora."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.evaluation import coherence, mixed_coherence, top_words
from discreet.kernels.measures.windows import count_windows

MEASURES = ("c_v", "c_npmi", "u_mass")


def corpus_of(texts: Sequence[Sequence[str]]) -> Corpus:
    vocabulary = sorted({word for text in texts for word in text})
    words = [vocabulary.index(word) for text in texts for word in text]
    return Corpus(np.array(words, np.int32), np.cumsum([0] + [len(t) for t in texts]), tuple(vocabulary))


def texts_of(corpus: Corpus) -> list[list[str]]:
    names = np.array(corpus.vocabulary)
    return [list(names[part]) for part in np.split(corpus.words, corpus.offsets[1:-1])]


def by_gensim(lists: list[list[str]], corpus: Corpus, measure: str, window: int | None = None) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gensim and its imports use deprecated names
        from gensim.corpora import Dictionary
        from gensim.models import CoherenceModel

        texts = texts_of(corpus)
        dictionary = Dictionary([list(corpus.vocabulary)])
        found = {"topics": lists, "texts": texts, "dictionary": dictionary, "topn": max(map(len, lists))}
        model = CoherenceModel(**found, coherence=measure, window_size=window, processes=1)
        return np.array(model.get_coherence_per_topic())


def word_lists(topics: np.ndarray, corpus: Corpus, n: int = 10) -> list[list[str]]:
    return [[corpus.vocabulary[i] for i in row] for row in top_words(topics, n)]


def random_corpus(seed: int, n_documents: int = 60, n_words: int = 25) -> Corpus:
    """Documents of 0 to 39 tokens with many repeats."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 40, n_documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = np.concatenate([np.arange(n_words), rng.zipf(1.4, offsets[-1] - n_words) % n_words])
    return Corpus(words, offsets, tuple(f"w{i:02}" for i in range(n_words)))


# --- against gensim ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", [0, 1])
def test_small_texts_agree_with_gensim(measure: str, seed: int) -> None:
    corpus = random_corpus(seed)
    topics = np.random.default_rng(seed).random((4, corpus.n_words))
    for window in (None,) if measure == "u_mass" else (None, 2, 7):
        ours = coherence(topics, corpus, measure, top_n=6, window=window)
        assert_allclose(ours.per_topic, by_gensim(word_lists(topics, corpus, 6), corpus, measure, window), atol=1e-9)
        assert ours.mean == ours.per_topic.mean()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("name", "n_documents"), [("kos", 150), ("nips", 20)])
def test_real_texts_agree_with_gensim(measure: str, name: str, n_documents: int) -> None:
    corpus = _uci(name)
    assert_allclose(*_both(corpus, corpus[:n_documents], measure), rtol=0, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ["kos", "nips"])
def test_whole_real_corpora_agree_with_gensim(measure: str, name: str) -> None:
    corpus = _uci(name)
    assert_allclose(*_both(corpus, corpus, measure), rtol=0, atol=1e-6)


def _both(corpus: Corpus, reference: Corpus, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Ours and gensim's, for the words of documents that are most unusual in the reference."""
    reference = reference.restrict([w for w, n in zip(reference.vocabulary, reference.word_counts, strict=True) if n])
    counts = np.stack([reference[d].word_counts for d in range(8)])
    topics = counts * np.log(reference.n_tokens / reference.word_counts)
    lists = word_lists(topics, reference)
    ours = coherence(lists, reference, measure)
    assert_array_equal(ours.per_topic, coherence(topics, reference, measure).per_topic)
    return ours.per_topic, by_gensim(lists, reference, measure)


def _uci(name: str) -> Corpus:
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        pytest.skip("DISCREET_DATA does not point to a folder with the UCI bags of words")
    path = Path(folder) / f"uci_{name}"
    if not path.is_dir():
        pytest.skip(f"no folder uci_{name} in DISCREET_DATA")
    with gzip.open(path / f"docword.{name}.txt.gz", "rt") as lines:
        n_documents, n_words, _ = (int(next(lines)) for _ in range(3))
        triples = np.array(lines.read().split(), dtype=np.int64).reshape(-1, 3)
    document, word, count = triples.T
    counts = sp.csr_matrix((count, (document - 1, word - 1)), shape=(n_documents, n_words))
    return Corpus.from_counts(counts, (path / f"vocab.{name}.txt").read_text().split())


# --- counting windows -------------------------------------------------------------------------------------------------


def count_slowly(corpus: Corpus, window: int) -> tuple[np.ndarray, int]:
    """What the paper describes: each window is a small document."""
    together, n_windows = np.zeros((corpus.n_words, corpus.n_words), np.int64), 0
    for text in np.split(corpus.words, corpus.offsets[1:-1]):
        for start in range(max(1, len(text) - window + 1)):
            inside = np.unique(text[start : start + window])
            together[np.ix_(inside, inside)] += 1
            n_windows += 1
    return together, n_windows


def run(kernel: object, corpus: Corpus, slot: np.ndarray, window: int, forgetful: bool) -> tuple[np.ndarray, int]:
    n_slots = int(slot.max()) + 1
    together = np.zeros((n_slots, n_slots), np.int64)
    n_windows = kernel(corpus.words, corpus.offsets, slot, window, forgetful, together)  # type: ignore[operator]
    return together, n_windows


@pytest.mark.parametrize("window", [1, 2, 5, 39, 100])
def test_exact_windows_are_those_of_the_paper(window: int) -> None:
    corpus = random_corpus(3)
    every = np.arange(corpus.n_words, dtype=np.int32)
    together, n_windows = run(count_windows, corpus, every, window, False)
    expected, n_expected = count_slowly(corpus, window)
    assert_array_equal(together, expected)
    assert n_windows == n_expected

    some = np.where(every % 3 == 0, every // 3, -1).astype(np.int32)  # counting fewer words changes nothing for them
    assert_array_equal(run(count_windows, corpus, some, window, False)[0], expected[::3, ::3])


@pytest.mark.parametrize("forgetful", [False, True])
def test_compiled_windows_equal_their_python_body(forgetful: bool) -> None:
    corpus = random_corpus(4)
    every = np.arange(corpus.n_words, dtype=np.int32)
    compiled = run(count_windows, corpus, every, 6, forgetful)
    python = run(count_windows.py_func, corpus, every, 6, forgetful)
    assert_array_equal(compiled[0], python[0])
    assert compiled[1] == python[1]


def test_repeats_tell_the_two_ways_of_counting_apart() -> None:
    """gensim loses the second ``a`` when the first leaves: windows ``aab`` and ``abc`` both hold it, one is counted."""
    corpus = corpus_of([["a", "a", "b", "c"]])
    every = np.arange(3, dtype=np.int32)
    assert run(count_windows, corpus, every, 3, False)[0][0, 0] == 2
    assert run(count_windows, corpus, every, 3, True)[0][0, 0] == 1
    corpus = random_corpus(5)
    topics = np.random.default_rng(5).random((3, corpus.n_words))
    assert coherence(topics, corpus, "c_npmi").mean != coherence(topics, corpus, "c_npmi", repeats="exact").mean
    assert coherence(topics, corpus, "u_mass").mean == coherence(topics, corpus, "u_mass", repeats="exact").mean


# --- mixed coherence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n_collections", [1, 2, 5])
def test_mixed_coherence_is_gensims_of_the_union(measure: str, n_collections: int) -> None:
    """The union, word by word: common words first, then those of each collection that are not there yet."""
    corpus, rng = random_corpus(7, n_documents=200, n_words=60), np.random.default_rng(7)
    common, own = rng.random((4, 60)), rng.random((n_collections, 4, 60))
    lists = word_lists(common, corpus, 6)
    for topics in own:
        for union, words in zip(lists, word_lists(topics, corpus, 6), strict=True):
            union.extend(word for word in words if word not in union)
    assert len({len(union) for union in lists}) > (n_collections > 1)  # unions differ in size
    ours = mixed_coherence(common, own, corpus, measure, top_n=6)
    theirs = np.concatenate([by_gensim([union], corpus, measure) for union in lists])
    assert_allclose(ours.per_topic, theirs, atol=1e-9)
    assert ours.mean == ours.per_topic.mean()
    for k, union in enumerate(lists):
        assert_allclose(coherence([union], corpus, measure, top_n=len(union)).mean, ours.per_topic[k])


def test_collections_that_speak_of_one_thing_are_more_coherent() -> None:
    pets, cars = ["cat", "dog", "vet", "paw"], ["car", "road", "fuel", "tyre"]
    corpus = corpus_of([pets, cars, pets[::-1], cars[::-1]] * 5)
    among = {word: i for i, word in enumerate(corpus.vocabulary)}

    def topic(words: list[str]) -> np.ndarray:
        return np.isin(np.arange(8), [among[word] for word in words]).astype(float)

    common, same = topic(pets[:2])[None], np.array([[topic(pets[1:3])], [topic(pets[2:])]])
    other = np.array([[topic(pets[1:3])], [topic(cars[2:])]])
    right, wrong = (mixed_coherence(common, own, corpus, top_n=2, repeats="exact").mean for own in (same, other))
    assert right > wrong + 0.1
    # the common words alone do not see it
    assert coherence(common, corpus, top_n=2, repeats="exact").mean == pytest.approx(1)


@pytest.mark.parametrize("shape", [(4, 25), (2, 3, 25), (2, 4, 24)])
def test_collection_topics_must_fit_the_common_ones(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"collection_topics must be collection × topic × word"):
        mixed_coherence(np.ones((4, 25)), np.ones(shape), random_corpus(0))


# --- meaning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_words_that_keep_company_beat_words_that_do_not(measure: str) -> None:
    pets, cars, filler = ["cat", "dog", "vet"], ["car", "road", "fuel"], ["x", "y", "z"]
    corpus = corpus_of([pets + filler, cars + filler, pets[::-1], cars[1:] + cars[:1], filler] * 5)
    good, bad = coherence([pets, ["cat", "car", "y"]], corpus, measure, repeats="exact").per_topic
    assert good > bad


def test_topics_are_judged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = random_corpus(6)
    topics = np.random.default_rng(6).random((7, corpus.n_words))
    together = coherence(topics, corpus).per_topic
    monkeypatch.setattr(sys.modules[coherence.__module__], "WORDS_PER_PASS", 20)
    assert_array_equal(coherence(topics, corpus).per_topic, together)


def test_a_word_that_never_occurs_is_met_with_nothing() -> None:
    corpus = Corpus(np.array([0, 1, 0, 1, 2], np.int32), np.array([0, 2, 4, 5]), ("a", "b", "c", "never"))
    lists = [["a", "b", "never"]]
    assert coherence([["a", "never"]], corpus, "c_npmi").mean == -1.0
    assert coherence([["never", "a"]], corpus, "u_mass").mean == 0.0
    for measure in MEASURES:
        value = coherence(lists, corpus, measure).mean
        assert np.isfinite(value)
        assert value < coherence([["a", "b"]], corpus, measure).mean or measure == "u_mass"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "c_w2v"}, "measure must be one of"),
        ({"top_n": 1}, "at least 2"),
        ({"top_n": 26}, "from 1 to the 25 words"),
        ({"window": 0}, "at least one token"),
        ({"measure": "u_mass", "window": 5}, "takes no window"),
        ({"repeats": "twice"}, "'gensim' or 'exact'"),
        ({"topics": np.ones((2, 24))}, "24 words but the corpus 25"),
        ({"topics": [["w00", "nowhere"]]}, "'nowhere', which is not in the vocabulary"),
        ({"topics": [["w00", "w00"]]}, "each once"),
        ({"topics": ["w00", "w01"]}, "matrix of numbers"),
        ({"topics": np.full((2, 25), np.nan)}, "finite"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: dict[str, object], message: str) -> None:
    arguments = {"topics": np.ones((2, 25)), "corpus": random_corpus(0), **arguments}
    with pytest.raises(InputError, match=message) as caught:
        coherence(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_ties_go_to_the_lower_index() -> None:
    assert_array_equal(top_words([[0, 2, 1, 2, 1], [1, 1, 1, 1, 1]], 3), [[1, 3, 2], [0, 1, 2]])

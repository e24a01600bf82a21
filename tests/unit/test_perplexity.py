"""Perplexity: against a slow oracle, against closed forms, and as a judge of models whose order is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import MAX_STEPS, PIECE, TOLERANCE
from discreet.evaluation import completion, completion_perplexity, coverage, fold_in_perplexity, unigram_perplexity
from discreet.kernels.measures.likelihood import mixture_weights, score_documents, score_mixtures
from discreet.kernels.sweeps.shuffle import shuffle_documents


def drawn(n_documents: int, n_topics: int, n_words: int, seed: int, longest: int = 60) -> tuple[np.ndarray, Corpus]:
    """Topics, and documents of 0 to ``longest`` tokens drawn from them with α = 0.2."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    lengths = rng.integers(0, longest + 1, n_documents)
    documents = [
        rng.choice(n_words, n, p=rng.dirichlet(np.full(n_topics, 0.2)) @ topics) if n else np.empty(0, int)
        for n in lengths
    ]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return topics, Corpus(np.concatenate(documents), offsets, tuple(f"w{i}" for i in range(n_words)))


@pytest.fixture(scope="module")
def model() -> tuple[np.ndarray, Corpus]:
    return drawn(n_documents=PIECE * 3 + 5, n_topics=6, n_words=40, seed=1)


# --- oracle -----------------------------------------------------------------------------------------------------------


def em_slowly(tokens: np.ndarray, topics: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Token by token, no counts, as the docstring of ``completion`` states it."""
    theta = np.full(len(topics), 1 / len(topics))
    for _ in range(MAX_STEPS):
        q = theta * topics[:, tokens].T
        new = alpha + (q / q.sum(axis=1, keepdims=True)).sum(axis=0)
        new /= new.sum()
        moved, theta = np.abs(new - theta).sum(), new
        if moved < TOLERANCE:
            break
    return theta


def halves(corpus: Corpus, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    words = corpus.words.copy()
    key = Key.from_seed(seed).words
    shuffle_documents(words, corpus.offsets, key, np.uint32(Purpose.COMPLETION_SPLIT), np.uint32(0))
    return [(p[: len(p) // 2], p[len(p) // 2 :]) for p in np.split(words, corpus.offsets[1:-1])]


@pytest.mark.parametrize("alpha", [0.2, 1.0, np.array([0.1, 0.5, 1.0, 0.02, 2.0, 0.3])])
def test_completion_follows_its_protocol(model: tuple[np.ndarray, Corpus], alpha: float | np.ndarray) -> None:
    topics, corpus = model
    found = completion(topics, corpus, alpha=alpha, random_state=7)
    prior = np.broadcast_to(alpha, len(topics))
    log_likelihood, n_tokens, n_documents = 0.0, 0, 0
    for d, (seen, scored) in enumerate(halves(corpus, 7)):
        if len(seen) + len(scored) < 4:
            assert math.isnan(found.per_document[d])
            continue
        expected = np.log(em_slowly(seen, topics, prior) @ topics[:, scored]).sum()
        assert_allclose(found.per_document[d], expected, rtol=1e-10)
        log_likelihood, n_tokens, n_documents = log_likelihood + expected, n_tokens + len(scored), n_documents + 1
    assert (found.n_tokens, found.n_documents) == (n_tokens, n_documents)
    assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12)
    assert_allclose(found.perplexity, np.exp(-log_likelihood / n_tokens), rtol=1e-12)
    assert completion_perplexity(topics, corpus, alpha=alpha, random_state=7) == found.perplexity


def test_fold_in_scores_the_tokens_it_has_seen(model: tuple[np.ndarray, Corpus]) -> None:
    topics, corpus = model
    parts = [p for p in np.split(corpus.words, corpus.offsets[1:-1]) if len(p)]
    logs = [np.log(em_slowly(p, topics, np.full(6, 0.2)) @ topics[:, p]).sum() for p in parts]
    assert_allclose(fold_in_perplexity(topics, corpus, alpha=0.2), np.exp(-sum(logs) / corpus.n_tokens), rtol=1e-11)


# --- kernels ----------------------------------------------------------------------------------------------------------


def test_compiled_kernels_equal_their_python_bodies(model: tuple[np.ndarray, Corpus]) -> None:
    topics, corpus = model
    half = corpus.lengths // 2
    results = []
    for kernel in (score_documents, score_documents.py_func):
        out = np.zeros(corpus.n_documents)
        given = (topics.T.copy(), corpus.words.copy(), corpus.offsets, half, half, 0, 9)
        kernel(*given, np.full(6, 0.2), 0.0, 1e-6, 500, out)
        results.append(out)
    assert_allclose(*results, rtol=1e-13)
    assert (results[0][9:] == 0).all()

    mixtures = np.random.default_rng(0).dirichlet(np.ones(6), corpus.n_documents)
    given = (topics.T.copy(), corpus.words.copy(), corpus.offsets, mixtures)
    for kernel, out in ((score_mixtures, results[0]), (score_mixtures.py_func, results[1])):
        kernel(*given, out)
    assert_array_equal(*results)
    parts = np.split(corpus.words, corpus.offsets[1:-1])
    assert_allclose(results[0], [np.log(m @ topics[:, p]).sum() for m, p in zip(mixtures, parts, strict=True)])

    rows, counts = topics.T[:11].copy(), np.arange(1.0, 12.0)
    thetas, steps = np.empty((2, 6)), []
    for theta, kernel in zip(thetas, (mixture_weights, mixture_weights.py_func), strict=True):
        steps.append(kernel(rows, rows.T.copy(), counts, np.full(6, 0.2), 0.0, 1e-6, 500, theta))
    assert_array_equal(thetas[0], thetas[1])
    assert steps[0] == steps[1] < 500
    assert_allclose(
        thetas[0], em_slowly(np.repeat(np.arange(11), np.arange(1, 12)), topics, np.full(6, 0.2)), rtol=1e-11
    )


def test_one_signature_whatever_the_caller_passes(model: tuple[np.ndarray, Corpus]) -> None:
    topics, corpus = model
    before = len(score_documents.signatures)
    completion(topics.astype(np.float32), corpus, alpha=1)
    completion(topics.tolist(), corpus, alpha=[0.5] * 6)
    completion(np.asfortranarray(topics), corpus, alpha=0.5)
    fold_in_perplexity(topics, corpus, alpha=0.5)
    assert len(score_documents.signatures) == max(before, 1)


@pytest.mark.parametrize("n_threads", [1, 2, 5, None])
def test_threads_change_nothing(model: tuple[np.ndarray, Corpus], n_threads: int | None) -> None:
    topics, corpus = model
    one, many = (completion(topics, corpus, alpha=0.2, n_threads=n) for n in (1, n_threads))
    assert one.perplexity == many.perplexity
    assert_array_equal(one.per_document, many.per_document)


# --- meaning ----------------------------------------------------------------------------------------------------------


def test_one_topic_is_the_unigram_model(model: tuple[np.ndarray, Corpus]) -> None:
    corpus = model[1]
    unigram = (corpus.word_counts + 1) / (corpus.word_counts + 1).sum()
    scored = np.concatenate([s for seen, s in halves(corpus, 0) if len(seen) + len(s) >= 4])
    expected = np.exp(-np.log(unigram[scored]).mean())
    for alpha in (0.01, 3.0):
        assert_allclose(completion_perplexity(unigram[None], corpus, alpha=alpha), expected, rtol=1e-12)
    whole = np.exp(-np.log(unigram[corpus.words]).mean())
    assert_allclose(fold_in_perplexity(unigram[None], corpus, alpha=1.0), whole, rtol=1e-12)


def test_uniform_topics_have_the_perplexity_of_the_vocabulary(model: tuple[np.ndarray, Corpus]) -> None:
    assert_allclose(completion_perplexity(np.full((3, 40), 1 / 40), model[1], alpha=0.1), 40.0, rtol=1e-12)


def test_the_model_that_made_the_documents_wins() -> None:
    topics, corpus = drawn(n_documents=300, n_topics=6, n_words=60, seed=2, longest=200)
    rng = np.random.default_rng(3)
    values = [completion_perplexity(topics, corpus, alpha=0.2)]
    for share in (0.2, 0.5, 0.9):
        blurred = (1 - share) * topics + share * rng.dirichlet(np.full(60, 0.1), 6)
        values.append(completion_perplexity(blurred, corpus, alpha=0.2))
    assert values == sorted(values)
    assert values[-1] > 1.3 * values[0]


def test_fold_in_flatters_and_completion_does_not() -> None:
    """One topic for each word tells nothing about a second half, yet fold-in thinks it better than the true model."""
    topics, corpus = drawn(n_documents=200, n_topics=4, n_words=60, seed=4, longest=30)
    one_word_each = 0.999 * np.eye(60) + 0.001 / 60
    assert fold_in_perplexity(one_word_each, corpus, alpha=0.01) < fold_in_perplexity(topics, corpus, alpha=0.2)
    assert completion_perplexity(one_word_each, corpus, alpha=0.01) > completion_perplexity(topics, corpus, alpha=0.2)


def test_splits_follow_the_seed_and_leave_the_corpus_alone(model: tuple[np.ndarray, Corpus]) -> None:
    topics, corpus = model
    before = corpus.words.copy()
    first, again, other = (completion_perplexity(topics, corpus, alpha=0.2, random_state=s) for s in (0, 0, 1))
    assert first == again != other
    assert_array_equal(corpus.words, before)


def test_a_word_without_probability_makes_perplexity_infinite() -> None:
    corpus = Corpus(np.array([0, 0, 0, 0, 2, 2, 2, 2], np.int32), np.array([0, 4, 8]), ("a", "b", "c"))
    topics = np.array([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])
    found = completion(topics, corpus, alpha=0.1)
    assert found.perplexity == math.inf
    assert found.log_likelihood == -math.inf
    assert math.isfinite(found.per_document[0])
    assert fold_in_perplexity(topics, corpus, alpha=0.1) == math.inf


def test_perplexity_past_the_largest_float_is_infinite_too() -> None:
    corpus = Corpus(np.zeros(4, np.int32), np.array([0, 4]), ("a", "b"))
    assert completion_perplexity(np.array([[5e-324, 1.0]]), corpus, alpha=1.0) == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topics": np.full((2, 3), 1 / 3)}, "3 words but the corpus 2"),
        ({"topics": np.array([0.5, 0.5])}, "topic × word"),
        ({"topics": np.array([["a", "b"]])}, "matrix of numbers"),
        ({"topics": np.array([[1.5, -0.5]])}, "not be negative; found -0.5"),
        ({"topics": np.array([[0.5, 0.5], [3, 1]])}, "topic 1 sums to 4"),
        ({"topics": np.array([[np.nan, 1.0]])}, "finite"),
        ({"alpha": 0.0}, "positive"),
        ({"alpha": -1}, "positive"),
        ({"alpha": math.inf}, "positive and finite"),
        ({"alpha": [0.1, 0.1, 0.1]}, "each of 2 topics; found shape"),
        ({"alpha": "auto"}, "'auto'"),
        ({"n_threads": 0}, "at least 1"),
        ({"corpus": Corpus(np.zeros(6, np.int32), np.array([0, 3, 6]), ("a", "b"))}, "no document has 4 tokens"),
        ({"random_state": "today"}, "random_state"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: dict[str, object], message: str) -> None:
    corpus = Corpus(np.zeros(4, np.int32), np.array([0, 4]), ("a", "b"))
    arguments = {"topics": np.full((2, 2), 0.5), "corpus": corpus, "alpha": 0.1, **arguments}
    with pytest.raises(InputError, match=message) as caught:
        completion_perplexity(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_fold_in_needs_a_token() -> None:
    corpus = Corpus(np.empty(0, np.int32), np.array([0, 0]), ("a", "b"))
    with pytest.raises(InputError, match="no document has 1 tokens"):
        fold_in_perplexity(np.full((2, 2), 0.5), corpus, alpha=0.1)


# --- what to read a perplexity beside ---------------------------------------------------------------------------------


def repeated(*documents: str) -> Corpus:
    """Each document is one letter again and again, so that any half of it is known."""
    words = np.array([ord(letter) - ord("a") for letter in "".join(documents)], np.int32)
    return Corpus(words, np.cumsum([0, *map(len, documents)]), ("a", "b", "c"))


def test_unigram_counts_observed_halves_and_scores_the_others() -> None:
    corpus = repeated("aaaa", "aaaa", "aaaaaa", "bbbb", "ccc")  # the last is too short to be scored, but it is observed
    p = np.array([7.5, 2.5, 1.5]) / 11.5
    expected = math.exp(-(7 * math.log(p[0]) + 2 * math.log(p[1])) / 9)
    assert unigram_perplexity(corpus) == pytest.approx(expected)
    assert unigram_perplexity(corpus) == pytest.approx(completion_perplexity(p[None], corpus, alpha=1.0))
    assert unigram_perplexity(corpus, random_state=5, n_threads=2) == pytest.approx(expected)


def test_topics_of_two_kinds_of_documents_beat_it() -> None:
    corpus = repeated(*["aaaaaaaa", "bbbbbbbb"] * 20)
    topics = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]])
    assert completion_perplexity(topics, corpus, alpha=0.1) < 1.2
    assert unigram_perplexity(corpus) == pytest.approx(2, rel=0.01)


def test_coverage() -> None:
    corpus = repeated("aaaa", "bbb", "c")
    assert coverage(corpus, ["a", "z"]) == 4 / 8
    assert coverage(corpus, ["a"], ignored={"b", "a"}) == 4 / 5  # a word of the model is no stop word
    assert coverage(corpus, []) == 0
    with pytest.raises(InputError, match="no token"):
        coverage(corpus, [], ignored={"a", "b", "c"})

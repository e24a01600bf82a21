"""How frequent words are, by all releases of a fit; and what public documents tell of words."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from discreet import PrivateLDA
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.models.knowledge import TEXT, PublicKnowledge
from discreet.models.private import shrink, told
from discreet.models.private.evidence import Evidence
from discreet.models.private.rounds import PrivateRounds
from discreet.models.word_use import Expected, word_use


def test_evidence_is_the_mean_by_precision():
    evidence = Evidence.none(3)
    evidence.add(np.array([0.2, 0.3, 0.5]), 1e-8)
    evidence.add(np.array([0.5, 0.3, 0.2]), np.array([3e-8, 1e-8, 1e-8]))
    assert np.allclose(evidence.weighted / evidence.precision, [0.275, 0.3, 0.35])
    assert np.allclose(evidence.precision, [4e8 / 3, 2e8, 2e8])
    assert np.allclose(evidence.frequencies(None), np.array([0.275, 0.3, 0.35]) / 0.925, atol=1e-6)


def test_public_frequencies_help_if_they_are_alike_and_do_not_bind_if_not():
    """600 words whose noise is as large as the mean frequency; seeded."""
    rng = np.random.default_rng(5)
    true = rng.dirichlet(np.full(600, 0.5))
    evidence = Evidence.none(600)
    evidence.add(true + rng.normal(0, 1 / 600, 600), 1 / 600**2)

    def error(public: PublicKnowledge | None) -> float:
        return float(np.abs(evidence.frequencies(public) - true).sum())

    alike = true * rng.lognormal(0, 0.2, 600)
    near, far = (knowledge(f / f.sum()) for f in (alike, rng.permutation(true)))
    assert error(near) < 0.6 * error(None)
    assert error(far) < 1.3 * error(None)


def knowledge(frequencies: np.ndarray) -> PublicKnowledge:
    words = Vocabulary([f"w{i}" for i in range(len(frequencies))], "public")
    return PublicKnowledge(words, frequencies[None], np.ones(1), frequencies, TEXT)


def test_a_frequency_without_noise_is_kept_whatever_public_text_says():
    """Also where it is so far from the public one that no ratio of the grid reaches it."""
    true = np.array([0.5, 0.3, 0.15, 0.05])
    public = Expected(np.array([1e-7, 1e-7, 0.3, 0.7]), np.eye(4), np.array([1e-7, 1e-7, 0.3, 0.7]))
    assert np.allclose(word_use(true, np.full(4, 1e-9), public).frequencies, true)


class Recorded(PrivateRounds):
    """Keeps itself, so that a test sees what it has learnt."""

    last: Recorded

    def finish(self, setting: object) -> None:
        super().finish(setting)  # type: ignore[arg-type]
        type(self).last = self


@pytest.mark.filterwarnings("ignore:these topics are unlikely")
def test_what_the_rounds_say_of_words_is_right_and_its_noise_is_known(monkeypatch):
    """Of 300 words, the rounds alone: the distance to the true share in deviations of its noise has mean square 1.

    With K = 1 every token is counted and few units are clipped. The mean of 300 squares of normal numbers lies between
    0.75 and 1.3 with chance 0.998, and that of noise of twice the variance, or half, does not with chance 0.999.
    """
    corpus = lda_corpus(4000, 300, 3, mean_length=40, seed=2).corpus
    corpus = corpus.restrict(Vocabulary(corpus.vocabulary, "public"))
    monkeypatch.setattr("discreet.models.private.model.PrivateRounds", Recorded)
    first: list[Evidence] = []
    learn = PrivateRounds._learn_frequencies

    def keep(self: PrivateRounds) -> None:
        learn(self)
        first.append(Evidence(self.evidence.weighted, self.evidence.precision))

    monkeypatch.setattr(PrivateRounds, "_learn_frequencies", keep)
    PrivateLDA(1, epsilon=3.0, n_rounds=60, clip=1e3, word_power=0.0, random_state=1).fit(corpus)
    found = Recorded.last.evidence
    precision = found.precision - first[0].precision
    rounds = (found.weighted - first[0].weighted) / precision
    share = corpus.word_counts / corpus.n_tokens
    distance = (rounds - share) * np.sqrt(precision)
    assert 0.75 < float((distance**2).mean()) < 1.3
    assert (found.precision > first[0].precision).all()


# --- what public documents tell -------------------------------------------------------------------------------------


@pytest.fixture
def text() -> tuple[Corpus, np.ndarray]:
    made = lda_corpus(300, 60, 3, mean_length=50, alpha=0.2, beta=0.1, seed=4)
    return made.corpus, made.topics.T


def test_told_is_a_dense_step_of_em(text):
    """Against loops over documents and words."""
    corpus, topics = text
    alpha = np.full(3, 0.1)
    theta = told.mixtures(np.ascontiguousarray(topics.T), alpha, corpus)
    found = np.zeros((60, 3))
    for d, row in enumerate(corpus.to_counts().toarray()):
        for w in np.flatnonzero(row):
            split = theta[d] * topics[w]
            found[w] += row[w] * split / split.sum()
    shares = found.sum(axis=0) / found.sum()
    expected = (found + told.PRIOR * shares) / ((found.sum(axis=1, keepdims=True) + told.PRIOR) * shares)
    assert np.allclose(told.told(corpus, topics, alpha), expected)


def test_told_is_the_same_in_chunks_and_knows_what_words_are_about(text, monkeypatch):
    corpus, topics = text
    whole = told.told(corpus, topics, np.full(3, 0.1))
    monkeypatch.setattr(told, "CHUNK", 7)
    assert np.allclose(told.told(corpus, topics, np.full(3, 0.1)), whole)
    truth = shrink.profiles(topics)
    common = corpus.word_counts > 100
    assert np.corrcoef(whole[common].ravel(), truth[common].ravel())[0, 1] > 0.9


def test_what_is_told_takes_little_memory(text, monkeypatch):
    """It is asked for at the end of a fit, when everything is paid for."""
    corpus, _ = text
    many = np.random.default_rng(1).dirichlet(np.full(60, 0.1), 200).T + 1e-6
    whole = told.told(corpus, many / many.sum(axis=0), np.full(200, 0.1), 1)
    monkeypatch.setattr(told, "CELLS", 1 << 14)
    tracemalloc.start()
    found = told.told(corpus, many / many.sum(axis=0), np.full(200, 0.1), 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(found, whole)
    assert most < 8 * 200 * corpus.to_counts().nnz / 4  # of one table of all words of all documents by topics


def test_a_word_that_public_text_lacks_is_told_to_be_in_all_topics(text):
    corpus, topics = text
    silent = Corpus(np.where(corpus.words == 7, 8, corpus.words).astype(np.int32), corpus.offsets, corpus.vocabulary)
    assert np.allclose(told.told(silent, topics, np.full(3, 0.1))[7], 1.0)
    nothing = corpus[:0]
    assert np.allclose(told.told(nothing, topics, np.full(3, 0.1)), 1.0)


def test_long_public_text_is_read_at_even_distances(text, monkeypatch):
    corpus, _ = text
    assert told.some(corpus).n_documents == 300
    monkeypatch.setattr(told, "MOST_TOKENS", corpus.n_tokens // 3)
    assert 75 <= told.some(corpus).n_documents <= 100

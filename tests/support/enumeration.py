"""Small problems for sweeps, every outcome of one with its chance, and a test of a kernel against them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import chi2, ncx2

from discreet.corpus.corpus import Corpus

ALPHA_ERROR = 1e-6
"""Chance that a statistical test fails although the kernel is right."""


def corpus_of(*documents: Any, n_words: int | None = None) -> Corpus:
    lengths = [len(document) for document in documents]
    words = np.concatenate([np.asarray(document, np.int32) for document in documents])
    n_words = int(words.max(initial=0)) + 1 if n_words is None else n_words
    return Corpus(words, np.concatenate([[0], np.cumsum(lengths)]), tuple(f"w{i}" for i in range(n_words)))


def random_problem(lengths: Any, n_topics: int, seed: int, n_words: int = 11):
    """A corpus with these lengths, topics to start from, weights and alpha."""
    rng = np.random.default_rng(seed)
    corpus = corpus_of(*(rng.integers(0, n_words, n) for n in lengths), n_words=n_words)
    topics = rng.integers(0, n_topics, corpus.n_tokens).astype(np.uint16)
    return corpus, topics, rng.gamma(0.3, 1.0, (n_words, n_topics)), rng.uniform(0.05, 0.5, n_topics)


SHAPES = {
    "only empty documents": [0, 0, 0],
    "one token": [1],
    "few documents": [3, 0, 1, 7, 0],
    "sixteen documents": [4, 1, 2, 9, 1, 1, 3, 5, 2, 2, 1, 6, 1, 2, 3, 1],
    "many documents": [0, *range(12), 1, 0, 0, 5, 1, *range(9), 2, 1, 1, 1, 17, 0],
}


# --- enumeration ----------------------------------------------------------------------------------------------------


def right(n: np.ndarray, own: int, alpha: np.ndarray) -> np.ndarray:
    """n[d, ·] + α without the token itself, which ``n`` still counts under its topic ``own``."""
    return n - np.eye(len(n))[own] + alpha


def keeps_itself(n, own, alpha):
    return n + alpha


def forgets_alpha(n, own, alpha):
    return n - np.eye(len(n))[own] + 1e-12


def transition(words: Any, start: Any, weights: np.ndarray, alpha: np.ndarray, rule=right) -> np.ndarray:
    """Chance of each outcome of a sweep over one document, token by token; shape (K,) * length."""
    n_topics = len(alpha)
    chances = np.empty((n_topics,) * len(words))
    for outcome in product(range(n_topics), repeat=len(words)):
        topics, chance = list(start), 1.0
        for i, (word, new) in enumerate(zip(words, outcome, strict=True)):
            p = weights[word] * rule(np.bincount(topics, minlength=n_topics), topics[i], alpha)
            chance *= p[new] / p.sum()
            topics[i] = new
        chances[outcome] = chance
    return chances


def never_moves(words, start, weights, alpha):
    """A sweep whose n[d, ·] stays as it was at the start, the token taken out."""
    chances, n = np.ones(()), np.bincount(start, minlength=len(alpha))
    for word, own in zip(words, start, strict=True):
        row = weights[word] * right(n, own, alpha)
        chances = np.multiply.outer(chances, row / row.sum())
    return chances


def pearson(seen: np.ndarray, expected: np.ndarray) -> float:
    return float(((seen - expected) ** 2 / expected).sum())


DOCUMENTS = [([0, 1, 0], [0, 1, 1]), ([1, 2], [1, 0])]
"""Words, and the topics before the sweep."""

WRONG = {
    "keeps itself": lambda *of: transition(*of, rule=keeps_itself),
    "forgets alpha": lambda *of: transition(*of, rule=forgets_alpha),
    "never moves": never_moves,
}


def check_law(sweep, weights, alpha, copies, key, law, wrong):
    """``sweep`` on so many copies of `DOCUMENTS` draws by ``law``, and a chance above 0.999 catches each ``wrong``
    law. A law gives the chance of each outcome from words, topics, weights and alpha."""
    corpus = corpus_of(*[words for words, _ in DOCUMENTS] * copies)
    start = np.tile(np.concatenate([topics for _, topics in DOCUMENTS]), copies)
    topics = sweep(corpus, start, weights, alpha, key, 1).reshape(copies, -1)
    score, freedom, distance, at = 0.0, 0, dict.fromkeys(wrong, 0.0), 0
    for words, before in DOCUMENTS:
        p = law(words, before, weights, alpha)
        drawn = tuple(topics[:, at : at + len(words)].T.astype(int))
        seen = np.bincount(np.ravel_multi_index(drawn, p.shape), minlength=p.size)
        at += len(words)
        assert_allclose(p.sum(), 1)
        assert copies * p.min() > 50
        score += pearson(seen, copies * p.ravel())
        freedom += p.size - 1
        for name, other in wrong.items():
            distance[name] += pearson(copies * other(words, before, weights, alpha), copies * p)
    limit = chi2.isf(ALPHA_ERROR, freedom)
    assert score < limit
    for name, far in distance.items():
        assert ncx2.sf(limit, freedom, far) > 0.999, name

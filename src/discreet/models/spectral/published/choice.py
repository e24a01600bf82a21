"""The paper's choice of a configuration and of the budgets of its edges, by private likelihood (appendix J).

"For a particular edge set, we vary the ε parameter across each edge … choosing the combination that yields the maximum
likelihood. We do this across every possible configuration, and choose the configuration which yields the highest
likelihood to the original output. … we perturb the sufficient statistics of the data": a k×d matrix S, each entry of
sensitivity at most d/N, with Gaussian noise. The paper says no more. Our reading:

* S[i, w] = 1/N Σₙ 1/ℓₙ Σ (tokens of word w in document n) · p(topic i | word, document), under the *original output*:
  the topics without any noise. It is released once, with deviation (d/N)·τ(ε, δ), for a share of the budget.
* A candidate's likelihood is Σ S̃[i, w] log μ[i, w], its topics μ in the order that makes this largest.
* Candidates are the four configurations with all splits into multiples of 1/5, each run once.

The result of the best candidate is kept unchanged, since another run would be another release. **Nothing of this is
proved**: S depends on all documents through the original output, d/N bounds nothing, and the other candidates were runs
on the documents too, which are not charged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import mixtures
from discreet.models.spectral.moments import smoothed
from discreet.models.spectral.published.edges import PARTS, Account, Configured, Edge, Outcome, Part, shares, tau
from discreet.models.spectral.published.mirrored import MOST_MIRRORED

RESOLUTION = 5
"""Splits are multiples of one over this."""

ROWS = 1 << 20
"""Entries of the count matrix that are divided among topics at a time."""


class Candidate(NamedTuple):
    """``log_likelihood`` is that of the noisy statistics."""

    configuration: int
    edge_split: tuple[float, ...]
    log_likelihood: float


class Choice(NamedTuple):
    """The best of ``candidates``, and its result."""

    best: Candidate
    outcome: Outcome
    candidates: tuple[Candidate, ...]
    likelihood: Edge
    account: Account


def splits(n_parts: int) -> Iterator[tuple[float, ...]]:
    """All ways to share RESOLUTION fifths between ``n_parts``, at least one each."""
    for cuts in itertools.combinations(range(1, RESOLUTION), n_parts - 1):
        ends = (0, *cuts, RESOLUTION)
        yield tuple((b - a) / RESOLUTION for a, b in itertools.pairwise(ends))


def choose_configuration(
    run: Configured, corpus: Corpus, epsilon: float, delta: float, share: float, smoothing: float
) -> Choice:
    """``share`` of (ε, δ) is spent on the likelihood, the rest on the configuration that is chosen."""
    part = Account([Part("likelihood", share * epsilon, share * delta)]).take("likelihood")
    sensitivity = corpus.n_words / corpus.n_documents
    edge = Edge(*part, sensitivity, sensitivity * tau(part))
    uniform = np.full(corpus.n_words, 1 / corpus.n_words)
    topics = smoothed(run.original, uniform, smoothing)
    noise = run.normals(topics.size).reshape(topics.shape)
    noisy = statistics(topics, run.original_alpha, corpus) + edge.scale * noise
    found: list[tuple[Candidate, Outcome, Account]] = []
    for configuration, names in PARTS.items():
        if configuration == 1 and run.k > MOST_MIRRORED:
            continue
        for split in splits(len(names)):
            parts = shares(configuration, split, (1 - share) * epsilon, (1 - share) * delta)
            outcome = run.run(configuration, Account(parts))
            value = log_likelihood(noisy, smoothed(outcome.topics, uniform, smoothing))
            found.append((Candidate(configuration, split, value), outcome, Account((part, *parts))))
    best = max(found, key=lambda one: one[0].log_likelihood)
    return Choice(best[0], best[1], tuple(one[0] for one in found), edge, best[2])


def statistics(topics: FloatArray, alpha: FloatArray, corpus: Corpus) -> FloatArray:
    """S without noise, topic × word; its entries sum to 1 (documents without words count as zero)."""
    counts = corpus.to_counts().tocsr()
    theta = mixtures(topics, alpha, corpus, None)
    weights = 1 / (np.maximum(corpus.lengths, 1) * max(corpus.n_documents, 1))
    documents = np.repeat(np.arange(corpus.n_documents), np.diff(counts.indptr))
    total = np.zeros(topics.shape)
    step = max(1, ROWS // len(topics))
    for at in range(0, counts.nnz, step):
        words, rows = counts.indices[at : at + step], documents[at : at + step]
        shared = theta[rows] * topics.T[words]
        shared *= (counts.data[at : at + step] * weights[rows] / shared.sum(axis=1))[:, None]
        for topic, row in enumerate(total):
            row += np.bincount(words, shared[:, topic], minlength=len(row))
    return total


def log_likelihood(noisy: FloatArray, topics: FloatArray) -> float:
    """Σ S̃ log μ, with topics in the best order."""
    each = noisy @ np.log(topics).T
    rows, columns = linear_sum_assignment(each, maximize=True)
    return float(each[rows, columns].sum())

"""What public documents tell of words, read with the topics of a fit.

Public documents are units without noise. With the topics of the fit their own are inferred, and each of their tokens is
divided among topics, as in an EM step. How a word is then spread over topics says something of its profile in the
private text, too: how much is fitted to released numbers, as with the neighbours of a word (``neighbours.fitted``). It
costs nothing: public documents and released topics are all that is read.
"""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import mixtures

MOST_TOKENS = 1_000_000
"""Of public text that are read; of more, documents at even distances."""

PRIOR = 1.0
"""Tokens of each word that are assumed to be spread as all text is."""

CHUNK = 4096
"""Documents at once: a table of them by topics is made."""

CELLS = 1 << 22
"""Of a table of the words of documents by topics: with long documents and many topics a whole one takes gigabytes, and
the topics are paid for when it is made."""


def some(text: Corpus) -> Corpus:
    """The documents that are read."""
    return text[:: max(1, -(-text.n_tokens // MOST_TOKENS))]


def told(text: Corpus, topics: FloatArray, alpha: FloatArray, n_threads: int | None = None) -> FloatArray:
    """By what factor the share of each topic in a word's tokens is larger than in all text, word × topic. ``topics`` is
    word × topic, with columns that sum to 1."""
    theta = mixtures(np.ascontiguousarray(topics.T), alpha, text, n_threads)
    counts, found = text.to_counts(), np.zeros(topics.shape)
    for first in range(0, text.n_documents, CHUNK):
        mixed, pairs = theta[first : first + CHUNK], counts[first : first + CHUNK].tocoo()
        likelihood, step = np.empty(pairs.nnz), max(CELLS // topics.shape[1], 1)
        for start in range(0, pairs.nnz, step):
            part = slice(start, start + step)
            likelihood[part] = (mixed[pairs.row[part]] * topics[pairs.col[part]]).sum(axis=1)
        pairs.data = pairs.data / np.maximum(likelihood, 1e-300)
        found += pairs.tocsr().T @ mixed
    found *= topics
    total = found.sum()
    shares = found.sum(axis=0) / total if total > 0 else np.full(topics.shape[1], 1 / topics.shape[1])
    expected = (found.sum(axis=1, keepdims=True) + PRIOR) * np.maximum(shares, 1e-300)
    return np.asarray((found + PRIOR * shares) / expected)

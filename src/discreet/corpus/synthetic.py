"""Corpora drawn from a known model: data whose true topics are known."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary

_BATCH = 1 << 21  # tokens drawn at a time, so that a large corpus needs little more memory than itself


class Synthetic(NamedTuple):
    """A corpus and the truth behind it."""

    corpus: Corpus
    topics: FloatArray
    """topic × word; rows sum to 1."""
    proportions: FloatArray
    """document × topic; rows sum to 1."""


def lda_corpus(
    n_documents: int = 1_000,
    n_words: int = 1_000,
    n_topics: int = 10,
    *,
    mean_length: float = 100.0,
    alpha: float | FloatArray = 0.1,
    beta: float = 0.05,
    lengths: Literal["poisson", "fixed"] = "poisson",
    seed: int = 0,
) -> Synthetic:
    """Draw a corpus from LDA: topics from Dirichlet(beta), proportions from Dirichlet(alpha), then token by token.

    ``alpha`` is one number for all topics, or one for each.
    Lengths are Poisson with mean ``mean_length`` (documents may be empty), or all equal to it. The vocabulary is
    public: it is fixed before anything is drawn. The draws are numpy's, from ``seed``: this is data, not privacy
    noise.
    """
    for name, number in (("n_documents", n_documents), ("n_words", n_words), ("n_topics", n_topics)):
        if not isinstance(number, int | np.integer) or number < 1:
            raise InputError(f"{name} must be a whole number of at least 1; found {number!r}. Change it.")
    for name, value in (("beta", beta), ("mean_length", mean_length)):
        if not 0 < value < np.inf:
            raise InputError(f"{name} must be a number above 0; found {value!r}. Change it.")
    prior = np.asarray(alpha, np.float64)
    if prior.shape not in ((), (n_topics,)) or not ((prior > 0) & (prior < np.inf)).all():
        raise InputError(
            f"alpha must be a number above 0, or one for each of the {n_topics} topics; found {alpha!r}. Change it."
        )
    if lengths not in ("poisson", "fixed") or (lengths == "fixed" and mean_length != int(mean_length)):
        raise InputError(
            f"lengths must be 'poisson', or 'fixed' with a whole mean_length; found {lengths!r} with {mean_length}. "
            "Change one."
        )
    rng = np.random.default_rng(seed)
    topics = _dirichlet(rng, beta, n_topics, n_words)
    proportions = _dirichlet(rng, prior, n_documents, n_topics)
    n_tokens = rng.poisson(mean_length, n_documents) if lengths == "poisson" else np.full(n_documents, int(mean_length))
    offsets = np.concatenate([[0], np.cumsum(n_tokens)]).astype(np.int64)

    words = np.empty(offsets[-1], np.int32)
    word_steps = _steps(topics)
    first = 0
    while first < n_documents:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BATCH, side="right")) - 1)
        documents = np.repeat(np.arange(last - first), n_tokens[first:last])
        drawn = _draw(rng, _steps(proportions[first:last]), n_topics, documents)
        words[offsets[first] : offsets[last]] = _draw(rng, word_steps, n_words, drawn)
        first = last
    vocabulary = tuple(f"word{i}" for i in range(n_words))
    return Synthetic(Corpus(words, offsets, Vocabulary(vocabulary, "public")), topics, proportions)


def _dirichlet(rng: np.random.Generator, concentration: float | FloatArray, rows: int, columns: int) -> FloatArray:
    drawn: FloatArray = rng.dirichlet(np.full(columns, concentration), size=rows)
    return drawn


def _steps(probabilities: FloatArray) -> FloatArray:
    """Row ``r``'s cumulative distribution plus ``r``: one increasing array for all rows, so one search serves all
    draws."""
    steps = np.cumsum(probabilities, axis=1)
    steps /= steps[:, -1:]
    steps += np.arange(len(steps))[:, None]
    return steps.ravel()


def _draw(rng: np.random.Generator, steps: FloatArray, n_columns: int, rows: IntArray) -> IntArray:
    """One column for each entry of ``rows``, by inversion."""
    found: IntArray = np.searchsorted(steps, rows + rng.random(rows.size), side="right") - rows * n_columns
    return np.minimum(found, n_columns - 1, out=found)  # rows + u may round up to the next row

"""The papers' data sets, split as the papers say. Each is read once per process."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.corpus import Corpus, Vocabulary, load
from discreet.evaluation import coherence, completion_perplexity, fold_in_perplexity

TRAINING = {"kos": 3000, "nips": 1350, "enron": 8000}
"""Documents for training in Table II of Zhao et al. 2021; those after them are for testing (Enron: 2,000)."""

STAND_IN = (
    "`enron` stands in for UCI's Enron: other e-mails of the same company, from six mailboxes. 10,000 of them, drawn "
    "once with a fixed seed because the file is ordered by mailbox; 8,000 for training."
)


JUDGED = ("perplexity", "completion", "over_unigram")
"""The measures of :func:`judged`."""


class Split(NamedTuple):
    train: Corpus
    test: Corpus


@cache
def zhao_split(name: str, n_words: int, n_documents: int | None = None) -> Split:
    """KOS, NIPS or e-mail over their most frequent words, taken as public; the first documents are for training.

    ``n_documents`` keeps only that many training documents, for quick runs.
    """
    corpus = whole(name)
    if name == "enron":
        corpus = corpus[np.random.default_rng(0).permutation(corpus.n_documents)[:10_000]]
    corpus = as_public(corpus.most_frequent(n_words))
    n_train = TRAINING[name]
    return Split(corpus[: n_documents or n_train], corpus[n_train:])


def each_word_once(corpus: Corpus) -> Corpus:
    """Documents as sets of words."""
    counts = corpus.to_counts()
    counts.data = np.minimum(counts.data, 1)
    return Corpus.from_counts(counts, corpus.vocabulary)


@cache
def whole(name: str) -> Corpus:
    """All words of a set, which is read once for all sizes of vocabulary."""
    return load(name)


@cache
def held_out(name: str, n_words: int | None, n_documents: int | None = None) -> Split:
    """Every fortieth document is held out. The most frequent words are taken as public; None keeps all, as text."""
    corpus = whole(name)[: n_documents or None]
    if n_words is not None:
        corpus = as_public(corpus.most_frequent(n_words))
    out = np.arange(corpus.n_documents) % 40 == 0
    return Split(corpus[~out], corpus[out])


def unigram(train: Corpus) -> FloatArray:
    """One topic, the frequencies of all words: what a model must beat to have found any topics."""
    counts = train.word_counts + 1.0
    return np.asarray(counts / counts.sum())[None, :]


def judged(topics: FloatArray, split: Split, alpha: float) -> dict[str, Any]:
    """Held-out perplexity: as the papers measure it (fold-in), by completion, and the latter divided by the unigram
    model's."""
    completion = completion_perplexity(topics, split.test, alpha=alpha)
    return {
        "perplexity": fold_in_perplexity(topics, split.test, alpha=alpha),
        "completion": completion,
        "over_unigram": completion / completion_perplexity(unigram(split.train), split.test, alpha=1.0),
    }


def completion_and_npmi(topics: FloatArray, split: Split) -> dict[str, Any]:
    """Completion perplexity on held-out documents; NPMI of the ten best words, counted in the training set."""
    if len(topics) == 1:
        return {"perplexity": completion_perplexity(topics, split.test, alpha=1.0)}
    return {
        "perplexity": completion_perplexity(topics, split.test, alpha=0.1),
        "npmi": coherence(topics, split.train, "c_npmi").mean,
    }


def as_public(corpus: Corpus) -> Corpus:
    """Under the assumption of the papers: the list of words is known to everybody."""
    return corpus.restrict(Vocabulary(corpus.vocabulary, "public"))

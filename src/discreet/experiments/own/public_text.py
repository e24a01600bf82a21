"""Pairs of private and public text: which documents train, which are held out, and what everybody is taken to know."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from discreet.corpus import Corpus, Vocabulary
from discreet.experiments.data import Split, as_public, whole
from discreet.experiments.experiment import Setting

ABSTRACTS = "5,000 abstracts"
"""Abstracts of arXiv that are set aside as public: neither trained on nor held out."""

SET_ASIDE = 5_000

OF_ARXIV = ("arxiv", "arxiv-titles")

OWN_WORDS, PUBLIC_WORDS = "of the private text", "of the public text"
"""Whose most frequent words are the public list."""


class Pair(NamedTuple):
    """Private text, held-out text of the same kind, and public text, over one list of words."""

    pool: Corpus
    test: Corpus
    public: Corpus | None


@cache
def pair(dataset: str, public: str | None, n_words: int, words: str) -> Pair:
    """Every fortieth abstract of arXiv is held out, and every tenth document of other sets, which are smaller."""
    corpus = whole(dataset)
    known = None if public in (None, ABSTRACTS) else whole(public)
    chosen = corpus if words == OWN_WORDS else known
    if chosen is None:
        raise ValueError(f"{dataset}: {words} needs a public text of another set")
    listed = Vocabulary(chosen.most_frequent(n_words).vocabulary, "public")
    corpus = as_public(corpus.restrict(listed))
    out = np.arange(corpus.n_documents) % (40 if dataset in OF_ARXIV else 10) == 0
    pool = corpus[~out]
    if dataset in OF_ARXIV:  # set aside whether or not it is used, so that all cells train on the same abstracts
        order = np.random.default_rng(0).permutation(pool.n_documents)
        aside, pool = pool[np.sort(order[:SET_ASIDE])], pool[np.sort(order[SET_ASIDE:])]
        known = aside if public == ABSTRACTS else known
    return Pair(pool, corpus[out], None if known is None else as_public(known.restrict(listed)))


def documents_of(setting: Setting, seed: int) -> tuple[Split, Corpus | None]:
    """The training documents of one repetition: ``n_documents`` of the pool, drawn by ``seed``, or all; with
    ``n_users``, each is dealt to one user."""
    found = pair(setting["dataset"], setting["public"], setting["n_words"], setting["words"])
    train, n = found.pool, setting["n_documents"]
    if n is not None and n < train.n_documents:
        train = train[np.sort(np.random.default_rng(seed).permutation(train.n_documents)[:n])]
    if setting["n_users"] is not None:
        train = replace(train, groups=dealt(train.n_documents, setting["n_users"], seed))
    return Split(replace(train, groups=train.groups if setting["n_users"] else None), found.test), found.public


def dealt(n_documents: int, n_users: int, seed: int) -> Any:
    """A user for each document: user number i gets a document with probability ∝ i^−0.6. Users without one drop out."""
    weights = np.arange(1, n_users + 1) ** -0.6
    return np.random.default_rng(seed).choice(n_users, size=n_documents, p=weights / weights.sum())

"""Canaries: units of made-up text whose contributions are as large as the mechanism lets them be, and easy to find.

A canary repeats rare words that nobody else has, so often that it is clipped: what it contributes then lies in cells of
its own and is as long as what was charged. Canaries with different words lie in different cells, so that one run audits
as many of them as there are words. The rest of the documents repeat one word that no canary has: an audit's adversary
may choose them, and nothing then has to be subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary

FILLERS = 3
"""Documents that are always there, each a user of its own."""


@dataclass(frozen=True)
class Canaries:
    """``number`` canaries of ``documents`` documents each, with ``words`` different words, ``length`` tokens in all.

    One word in one document is the plain canary; several words are an unusual mixture; several documents are a user,
    who must be one unit (``users``).
    """

    number: int = 1
    words: int = 1
    documents: int = 1
    length: int = 64
    users: bool = False

    def __post_init__(self) -> None:
        if self.number < 1:
            raise InputError(f"an audit needs at least one canary; found {self.number}.")
        if self.documents > 1 and not self.users:
            raise InputError("a canary of several documents is a user. Audit the unit 'user'.")
        if self.length < self.words * self.documents:
            raise InputError(f"{self.length} tokens are too few for {self.words} words in {self.documents} documents.")

    @property
    def n_words(self) -> int:
        """Of the vocabulary: the word of the other documents is the first."""
        return 1 + self.number * self.words

    def vocabulary(self) -> Vocabulary:
        """Made up, so public."""
        return Vocabulary(["filler", *(f"canary{i:06d}" for i in range(self.n_words - 1))], "public")

    def corpus(self, inside: BoolArray, **more: Any) -> Corpus:
        """The documents if the canaries with True are in. The others keep their order; the fillers come first."""
        per_document = self.length // self.documents
        own = np.arange(per_document * self.documents) % self.words
        chosen = np.flatnonzero(inside)
        words = [np.zeros(FILLERS * per_document, np.int64)]
        words += [1 + i * self.words + own for i in chosen]
        n_documents = FILLERS + len(chosen) * self.documents
        users = [f"filler{i}" for i in range(FILLERS)]
        users += [f"user{i}" for i in chosen for _ in range(self.documents)]
        return Corpus(
            np.concatenate(words).astype(np.int32),
            np.arange(n_documents + 1) * per_document,
            self.vocabulary(),
            groups=np.array(users) if self.users else None,
            **more,
        )

    def rows_to_canaries(self, rows: Any) -> Any:
        """A number for each word (first axis) → the sum over the words of each canary."""
        return rows[1:].reshape(self.number, self.words).sum(axis=1)

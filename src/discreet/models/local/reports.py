"""Reports: what the server has received, and how it was randomised. Everything here is seen by the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import FloatArray, UInt8Array
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.mechanisms.local import RandomisedResponse


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomised reports, one row of packed bits each, over a public vocabulary.

    >>> from discreet.mechanisms.local import RandomisedResponse
    >>> response = RandomisedResponse.for_epsilon(2.0, n_words=3)
    >>> bodies = [response.report([0, 2]), response.report([1])]
    >>> Reports(response, b"".join(bodies), ["apple", "pear", "plum"])
    <Reports: 2 reports about 3 words, ε = 2 for one bit>

    ``packed`` holds rows of bytes, or the bytes of all reports one after another. ``seeded`` says that the random bits
    came from a seed: then nothing is promised.
    """

    response: RandomisedResponse
    packed: UInt8Array
    vocabulary: Vocabulary
    seeded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "packed", self.response.rows(self.packed))
        given = self.vocabulary
        public = given if isinstance(given, Vocabulary) else Vocabulary(given, "public")
        object.__setattr__(self, "vocabulary", public)
        if len(public) != self.response.n_words:
            raise InputError(
                f"the reports are about {self.response.n_words:,} words, but the vocabulary has {len(public):,}."
            )

    @classmethod
    def of_documents(cls, corpus: Corpus, response: RandomisedResponse, random_state: Any = None) -> Reports:
        """What the clients would send, each document's words randomised once."""
        key = random_state if isinstance(random_state, Key) else Key.open(random_state)
        return cls(response, response.randomise(corpus.words, corpus.offsets, key), corpus.vocabulary, key.seeded)

    @property
    def n_reports(self) -> int:
        return len(self.packed)

    def __len__(self) -> int:
        return self.n_reports

    def __getitem__(self, which: slice) -> Reports:
        return Reports(self.response, self.packed[which], self.vocabulary, self.seeded)

    def __repr__(self) -> str:
        return (
            f"<Reports: {self.n_reports:,} reports about {self.response.n_words:,} words, "
            f"ε = {self.response.epsilon_bit:.4g} for one bit>"
        )

    def corpus(self) -> Corpus:
        """A document for each report: the words whose bit is set, true and false ones."""
        words, offsets = self.response.words(self.packed)
        return Corpus(words, offsets, self.vocabulary)

    def estimate(self) -> FloatArray:
        """Unbiased estimates of how many documents hold each word (N̂_t)."""
        return self.response.estimate(self.response.count(self.packed), self.n_reports)


def words_once(corpus: Corpus) -> Corpus:
    """Each word of a document once: what a report would say without noise."""
    counts = corpus.to_counts()
    counts.data = np.minimum(counts.data, 1)
    return Corpus.from_counts(counts, corpus.vocabulary)


def frequencies(estimate: FloatArray, variance: float) -> FloatArray:
    """Word frequencies from unbiased estimates that each have the given noise variance; positive, they add up to 1.

    Estimates are drawn towards their mean by the share of their spread that the noise explains, and a word has at least
    a twentieth of the mean: an estimate may be negative, and no word of the vocabulary is impossible.
    """
    mean = max(float(estimate.mean()), 1e-9)
    spread = float(estimate.var())
    trusted = max(spread - variance, 0.0) / spread if spread else 0.0
    found = np.maximum(mean + trusted * (estimate - mean), mean / 20)
    return np.asarray(found / found.sum())

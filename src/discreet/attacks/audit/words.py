"""Audits of promises about one word, one bit or a list of words: replaced words, reports, and selected vocabularies.

With one topic every count is known to the attacker but for one token: the word of the canary is a in one world and b in
the other. So the likelihood ratio of Laplace noise is known exactly, and there is nothing to learn beforehand.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, FloatArray
from discreet.attacks.audit.targets import LIKELIHOOD, TOPICS
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.mechanisms.release import Released, observed
from discreet.privacy.events import DiscreteLaplacePair, Entry

OTHERS, COMMON = 40, 8_000
"""Tokens of each of the two words besides the canary's, and of the word that shares are compared with."""

TRIES = 40
"""Numbers of others that are tried, each a twentieth larger."""


@dataclass
class ReplacedWord:
    """One token is the first word (in) or the second (out). ``fit`` trains with one topic and the seed given."""

    method: str
    fit: Callable[[Corpus, int], Any]
    claimed: float
    delta: float
    scale: float = math.nan
    """Of the noise in a count, for an attack on the topics alone; by default every release is seen."""
    unit: str = "word"
    entries: tuple[Entry, ...] = ()
    n_canaries: int = 1

    @property
    def setting(self) -> str:
        seen = "every release" if math.isnan(self.scale) else "the topics"
        return f"one token, replaced by another word, of {COMMON + 2 * OTHERS + 1:,}; one topic; seen: {seen}"

    def prepare(self, seed: int) -> None:
        """Everything is known."""

    def _counts(self, there: bool) -> list[int]:
        return [COMMON, OTHERS + there, OTHERS + (not there)]

    def scores(self, inside: BoolArray, seed: int) -> dict[str, FloatArray]:
        counts = self._counts(bool(inside[0]))
        corpus = Corpus(
            np.repeat(np.arange(3), counts).astype(np.int32),
            np.array([0, sum(counts)]),
            Vocabulary(["common", "first", "second"], "public"),
        )
        seen: list[Released] = []
        with observed(seen.append), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.fit(corpus, seed)
        if not math.isnan(self.scale):
            found = model.components_[0] / model.components_[0, 0] * COMMON
            return {LIKELIHOOD: np.array([self._ratio(found, self.scale)])}
        scales = [(r.cells, 2 / r.event.epsilon) for r in seen if isinstance(r.event, DiscreteLaplacePair)]
        return {LIKELIHOOD: np.array([sum(self._ratio(cells.ravel(), scale) for cells, scale in scales)])}

    def _ratio(self, noisy: Any, scale: float) -> float:
        """log of Laplace densities: the two words' counts with the first word against with the second."""
        yes, no = np.array(self._counts(True)[1:]), np.array(self._counts(False)[1:])
        return float((np.abs(noisy[1:] - no) - np.abs(noisy[1:] - yes)).sum() / scale)


@dataclass
class Report:
    """A client of the local model holds all of ``n_words`` words or none; with one word, this is one bit. Every report
    is a canary of its own, and the server sees it as it is."""

    method: str
    unit: str
    epsilon_bit: float
    n_words: int
    n_canaries: int
    delta: float = 0.0
    entries: tuple[Entry, ...] = ()

    @property
    def claimed(self) -> float:
        return float(self._response().epsilon_bit) * self.n_words

    @property
    def setting(self) -> str:
        return f"a report about {self.n_words} word{'s'[: self.n_words > 1]}, all there or none; seen: the report"

    def _response(self) -> Any:
        from discreet.mechanisms.local import RandomisedResponse

        return RandomisedResponse.for_epsilon(self.epsilon_bit, n_words=self.n_words)

    def prepare(self, seed: int) -> None:
        """Everything is known."""

    def scores(self, inside: BoolArray, seed: int) -> dict[str, FloatArray]:
        from discreet.models.local.reports import Reports

        lengths = np.where(inside, self.n_words, 0)
        words = np.tile(np.arange(self.n_words, dtype=np.int32), int(inside.sum()))
        vocabulary = Vocabulary([f"word{i}" for i in range(self.n_words)], "public")
        corpus = Corpus(words, np.concatenate([[0], np.cumsum(lengths)]), vocabulary)
        reports = Reports.of_documents(corpus, self._response(), seed)
        _, offsets = self._response().words(reports.packed)
        return {LIKELIHOOD: self.epsilon_bit * (2.0 * np.diff(offsets) - self.n_words)}


@dataclass
class SelectedWord:
    """One unit has a word that nearly enough others have for it to be selected: is it in the list?

    With probability δ the list may give a unit away; beyond that, a unit may change the probability of a word by e^ε.
    ``others`` units have the word too.
    """

    epsilon: float
    delta: float
    unit: str = "document"
    method: str = "vocabulary"
    entries: tuple[Entry, ...] = ()
    n_canaries: int = 1
    others: int = 0

    @property
    def claimed(self) -> float:
        return self.epsilon

    @property
    def setting(self) -> str:
        return f"a document of one word that {self.others} others have; seen: the selected words"

    def _vectorizer(self, seed: int) -> Any:
        from discreet.models.vectorizer import PrivateVectorizer

        return PrivateVectorizer(
            self.epsilon, self.delta, max_words_per_unit=1, token_pattern=r"\w+", stop_words=None, random_state=seed
        )

    def prepare(self, seed: int) -> None:
        """Choose how many others make the word as likely as not."""
        self.others = max(self._vectorizer(seed).plan().units_for_a_word() - 1, 0)
        for i in range(TRIES):
            found = [self.scores(np.array([False]), seed + 8 * i + j)[TOPICS][0] for j in range(8)]
            if sum(found) >= 4:
                break
            self.others += 1 + self.others // 20

    def scores(self, inside: BoolArray, seed: int) -> dict[str, FloatArray]:
        texts = ["canary"] * (self.others + bool(inside[0]))
        vectorizer = self._vectorizer(seed)
        try:
            found = "canary" in vectorizer.fit(texts or [""]).vocabulary_
        except InputError:  # no word was selected, and that is the result
            found = False
        return {TOPICS: np.array([float(found)])}

"""How many words private selection will find, and how much of the text they cover: from a typical text, not yours.

A text is described by one curve: the share of its r-th most frequent word is proportional to (r + b)^−s (Mandelbrot
1953), stop words left out. Three curves lie around the sets that were measured: broad (20 Newsgroups), usual (arXiv,
Enron, novels) and narrow (NeurIPS and CVPR, docstrings). The rounds of the selection are then followed in expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.planning.noise import selection

if TYPE_CHECKING:
    from discreet.mechanisms.vocabulary import VocabularyPlan

DIFFERENT, DIFFERENT_POWER = 1.25, 0.885
"""A text of L tokens has about 1.25 · L^0.885 different words: 40 at 50 tokens, 74 at 100, 250 at 400."""


@dataclass(frozen=True, eq=False)
class Text:
    """The word frequencies of a kind of text. Equal only to itself: many words would make comparing slow."""

    name: str
    power: float
    """s."""
    offset: float
    """b."""
    n_words: int
    """Different words of a large collection."""
    measured: tuple[float, ...] = ()
    """Shares of the words of a public text, the most frequent first: instead of the formula."""

    @cached_property
    def _classes(self) -> tuple[FloatArray, FloatArray]:
        """Words of about the same rank are followed together: how many there are, and the share of each."""
        wider = np.geomspace(100, 101 + self.n_words, 200).round().astype(int).tolist()
        ends = [*sorted({rank for rank in (*range(101), *wider) if rank < self.n_words}), self.n_words]
        formula = (np.arange(1.0, self.n_words + 1) + self.offset) ** -self.power
        weights = np.array(self.measured) if self.measured else formula
        sums = np.add.reduceat(weights / weights.sum(), ends[:-1])
        counts = np.diff(ends).astype(float)
        return counts, sums / counts

    @property
    def counts(self) -> FloatArray:
        return self._classes[0]

    @property
    def shares(self) -> FloatArray:
        """In all tokens, of one word of each class; the most frequent first."""
        return self._classes[1]

    def covered(self, n_words: float) -> float:
        """The share of all tokens that are among the ``n_words`` most frequent words."""
        ranks = np.concatenate([[0.0], np.cumsum(self.counts)])
        return float(np.interp(n_words, ranks, np.concatenate([[0.0], np.cumsum(self.counts * self.shares)])))

    def document_shares(self, tokens: float) -> FloatArray:
        """The share of units of ``tokens`` tokens that have a word: 1 − e^{−a·p}, with the usual number of words."""
        wanted = different(tokens)
        low, high = 0.0, max(tokens, 1.0) * 4
        for _ in range(50):
            middle = (low + high) / 2
            found = -(self.counts * np.expm1(-middle * self.shares)).sum()
            low, high = (middle, high) if found < wanted else (low, middle)
        return np.asarray(-np.expm1(-low * self.shares))


BROAD = Text("broad", 1.008, 88.6, 60_000)
USUAL = Text("usual", 1.28, 110.0, 40_000)
NARROW = Text("narrow", 1.291, 45.6, 20_000)
TEXTS = (BROAD, USUAL, NARROW)


def measured_text(name: str, counts: IntArray) -> Text:
    """The word frequencies of a public text."""
    found = np.sort(counts[counts > 0])[::-1].astype(float)
    return Text(name, 0.0, 0.0, len(found), tuple((found / found.sum()).tolist()))


def different(tokens: float) -> float:
    """About the number of different words among ``tokens`` tokens."""
    return float(min(tokens, DIFFERENT * tokens**DIFFERENT_POWER))


@dataclass(frozen=True)
class Selected:
    """What to expect of a selection."""

    n_words: int
    covered: float
    """The share of all tokens that are among them."""


@lru_cache(maxsize=4096)
def expected(text: Text, n_units: float, tokens: float, epsilon: float, delta: float, share: float) -> Selected:
    """Of ``n_units`` units with ``tokens`` tokens each. Monotone in units and ε."""
    return follow(text, n_units, tokens, selection(epsilon, delta, share))


def follow(text: Text, n_units: float, tokens: float, plan: VocabularyPlan) -> Selected:
    """The rounds of ``select_words`` with expected weights; a word passes with the chance that the noise gives it."""
    from scipy.special import ndtr

    most = plan.event.max_words
    if n_units <= 0 or tokens <= 0 or plan.norm < math.sqrt(most):  # with so much noise the selection is refused
        return Selected(0, 0.0)
    counts, having = text.counts, text.document_shares(tokens)
    having = having * min(
        1.0, most / (counts * having).sum()
    )  # of more different words a unit keeps so many, by its own coins
    wanted = np.ones(len(having))  # the chance that a word is undecided
    passed = np.zeros(len(having))
    total = np.zeros(len(having))
    deviation = plan.event.sigma
    for number in range(1, plan.rounds + 1):
        undecided = max(float((counts * having * wanted).sum()), 1.0)
        total += n_units * having / math.sqrt(undecided)
        noise = deviation * math.sqrt(number)
        above = ndtr((total - plan.threshold(number) / plan.norm) / noise)
        below = ndtr((plan.hopeless(number) / plan.norm - total) / noise) if number < plan.rounds else 0.0
        passed = np.maximum(passed, above)
        wanted = np.minimum(wanted, np.maximum(1 - passed - below, 0.0))
    return Selected(round(float((counts * passed).sum())), float((counts * passed * text.shares).sum()))

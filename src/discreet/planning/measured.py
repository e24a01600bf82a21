"""The measurements that the law was fitted to: ``measured.csv``, made by ``benchmarks/plan_table.py``."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from discreet.planning.law import Facts

FEWEST_WORDS, LEAST_GAIN = 80, 0.05
"""With fewer words, or where plain LDA itself gains less than 0.05 nats, *kept* is a ratio of small numbers: such rows
are in the table, but do not judge the law."""


@dataclass(frozen=True)
class Measurement:
    """One private model, and plain LDA and the unigram model on the same documents and words."""

    source: str
    """*plan*: measured for this table; *usefulness*, *private-table*: published in ``docs/results`` before; *trial*."""
    data: str
    unit: str
    n_units: int
    words: str
    """*public* or *selected*."""
    n_words: int
    n_topics: int
    epsilon: float
    mean_tokens: float
    median_tokens: float
    private: float
    """Completion perplexity of held-out documents, as the two that follow."""
    lda: float
    unigram: float

    @property
    def gain(self) -> float:
        """Of plain LDA, in nats per token."""
        return math.log(self.unigram / self.lda)

    @property
    def kept(self) -> float:
        """Not below 0: word frequencies alone are then the better model."""
        return max(0.0, math.log(self.unigram / self.private) / self.gain)

    @property
    def judges(self) -> bool:
        return self.n_words >= FEWEST_WORDS and self.gain >= LEAST_GAIN

    @property
    def facts(self) -> Facts:
        return Facts(
            n_units=self.n_units,
            n_words=self.n_words,
            n_topics=self.n_topics,
            epsilon=self.epsilon,
            tokens=math.sqrt(self.mean_tokens * self.median_tokens),
            spent=0.05 if self.words == "selected" else 0.0,
        )


_KINDS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("source", "data", "unit", "words"), str),
    **dict.fromkeys(("n_units", "n_words", "n_topics"), int),
}


@cache
def table() -> tuple[Measurement, ...]:
    """All rows."""
    found = []
    with (Path(__file__).parent / "measured.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values: dict[str, Any] = {name: _KINDS.get(name, float)(value) for name, value in row.items()}
            found.append(Measurement(**values))
    return tuple(found)

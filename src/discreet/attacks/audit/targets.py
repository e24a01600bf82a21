"""What is audited: something that runs with some of the canaries in, and gives scores to the auditor.

`Observed` fits any model that draws its noise through ``mechanisms/release.py``, and sees what its guarantee says that
an observer sees: every release on the way (white box), or the topics alone (black box). It knows nothing of the model.
What a canary contributes to each release it learns beforehand from pairs of *seeded* runs: with the same seed the noise
and the coins are the same, so that a release with all canaries less one without them is what they contributed, exactly.
Then, for noise of scale s, a canary's contribution c_t to release t and the rate q_t of its coin,

    L = Σ_t log[(1 − q_t) + q_t · exp((2·⟨y_t, c_t⟩ − ‖c_t‖²) / 2s²)]

is the likelihood ratio of the releases y_t with and without the canary: a matched filter, which is the best test there
is if contributions do not depend on the history (they do not with one topic). The bounds do not need it to be right. A
second score looks for noise that was used twice, a third at the topics.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from discreet._types import BoolArray, FloatArray
from discreet.attacks.audit.canaries import Canaries
from discreet.mechanisms.release import Released, observed
from discreet.privacy import accounting
from discreet.privacy.events import DiscreteGaussianRelease, Entry

LIKELIHOOD, REPEATED, TOPICS = "likelihood ratio", "repeated noise", "topics"
"""Names of scores."""

MISSED, FEWEST, MOST = 1e-6, 8, 300
"""Contributions are learnt from so many pairs of seeded runs that a canary's coin misses all of them with probability
`MISSED`; at least and at most so many."""

PREPARING = 1000
"""Seeds that are set aside for preparing."""


class Target(Protocol):
    """Runs and scores. ``claimed`` and ``delta`` are the promise; ``entries`` what was charged for it, if an accountant
    can say."""

    method: str
    unit: str
    delta: float
    entries: tuple[Entry, ...]

    @property
    def claimed(self) -> float:
        """ε, once prepared."""

    @property
    def n_canaries(self) -> int:
        """In a run."""

    @property
    def setting(self) -> str:
        """In words: what ran, on what, seen by whom."""

    def prepare(self, seed: int) -> None:
        """Learn what the scores need, from runs that are not measured: with this seed and up to `PREPARING` after."""

    def scores(self, inside: BoolArray, seed: int) -> Mapping[str, FloatArray]:
        """Run once with these canaries in: one number for each canary, by name of score. Near 0 means undecided."""


@dataclass
class Observed:
    """``fit(corpus, seed)`` trains a model, seeded, and returns it."""

    method: str
    unit: str
    fit: Callable[[Any, int], Any]
    canaries: Canaries
    delta: float
    claimed: float = math.nan
    black_box: bool = False
    entries: tuple[Entry, ...] = ()
    note: str = ""
    _contributions: list[FloatArray] = field(default_factory=list)
    _typical: float = 0.0

    @property
    def n_canaries(self) -> int:
        return self.canaries.number

    @property
    def setting(self) -> str:
        seen = "the topics" if self.black_box else "every release"
        who = f"{self.canaries.documents} documents of a user" if self.canaries.users else "one document"
        what = "one word" if self.canaries.words == 1 else f"{self.canaries.words} words"
        return f"{who} that repeats {what} {self.canaries.length} times; seen: {seen}{self.note}"

    def run(self, inside: BoolArray, seed: int) -> tuple[list[Released], Any]:
        """One fit, and what its observer sees."""
        seen: list[Released] = []
        with observed(seen.append), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so little text is called useless, rightly
            model = self.fit(self.corpus(inside), seed)
        return seen, model

    def corpus(self, inside: BoolArray) -> Any:
        return self.canaries.corpus(inside)

    def prepare(self, seed: int) -> None:
        nobody, everybody = np.zeros(self.n_canaries, bool), np.ones(self.n_canaries, bool)
        pairs = [(self.run(everybody, seed), self.run(nobody, seed))]
        rates = [event.sampling_rate for event, _ in pairs[0][0][0] if isinstance(event, DiscreteGaussianRelease)]
        n_pairs = math.log(MISSED) / math.log(max(1 - min(rates, default=1.0), MISSED))
        for i in range(1, round(min(max(n_pairs, FEWEST), MOST))):
            pairs.append((self.run(everybody, seed + i), self.run(nobody, seed + i)))
        (_, model), _ = pairs[0]
        if not self.entries:
            self.entries = tuple(model.ledger_.entries)
        if math.isnan(self.claimed):
            self.claimed = accounting.epsilon(self.entries, self.delta)
        self._contributions = []
        for number, (event, _) in enumerate(pairs[0][0][0]):
            differences = [
                (a[number].cells - b[number].cells).ravel().astype(np.float64)
                for (a, _), (b, _) in pairs
                if isinstance(event, DiscreteGaussianRelease) and len(a) > number < len(b)
                if a[number].cells.size == b[number].cells.size == event.cells
            ]
            self._contributions.append(self._mean(np.array(differences)) if differences else np.zeros(0))
        topics = [self._topics(run[1]) for run, _ in pairs] + [self._topics(run[1]) for _, run in pairs]
        self._typical = float(np.median(topics))

    def _mean(self, differences: FloatArray) -> FloatArray:
        """The contribution when a canary takes part. A coin decides for all cells of a canary together."""
        took_part = np.array([self._per_cell(self._per_canary(np.abs(cells)) > 0, cells.size) for cells in differences])
        return np.asarray((differences * took_part).sum(axis=0) / np.maximum(took_part.sum(axis=0), 1))

    def _per_canary(self, cells: FloatArray) -> FloatArray:
        """Sums over the cells of each canary. Cells are blocks of words; with one canary all of them are its own."""
        if self.n_canaries == 1:
            return np.array([cells.sum()])
        if cells.size % self.canaries.n_words or cells.size < self.canaries.n_words:
            return np.zeros(self.n_canaries)  # a release that mixes all canaries
        return np.asarray(self.canaries.rows_to_canaries(cells.reshape(-1, self.canaries.n_words).sum(axis=0)))

    def _per_cell(self, flags: BoolArray, n_cells: int) -> BoolArray:
        """The same in reverse: a flag of each canary for each of its cells."""
        if self.n_canaries == 1:
            return np.repeat(flags, n_cells)
        words = np.concatenate([[False], np.repeat(flags, self.canaries.words)])
        whole, rest = divmod(n_cells, self.canaries.n_words)
        return np.tile(words, whole) if whole and not rest else np.zeros(n_cells, bool)

    def scores(self, inside: BoolArray, seed: int) -> dict[str, FloatArray]:
        seen, model = self.run(inside, seed)
        topics = self._topics(model) - self._typical
        if self.black_box:
            return {TOPICS: topics}
        ratio, filtered = np.zeros(self.n_canaries), []
        for (event, cells), own in zip(seen, self._contributions, strict=False):
            if not isinstance(event, DiscreteGaussianRelease) or own.size != cells.size:
                continue
            length = self._per_canary(own**2)
            found = self._per_canary(cells.ravel() * own)
            ratio += sampled_ratio((2 * found - length) / (2 * event.scale**2), event.sampling_rate)
            filtered.append(found / np.sqrt(np.maximum(length, 1.0)) / event.scale)
        found = np.array(filtered)[-len(filtered) // 2 :] if len(filtered) > 2 else np.array(filtered)
        return {LIKELIHOOD: ratio, REPEATED: np.ptp(found, axis=0), TOPICS: topics}  # repeated: all but equal

    def _topics(self, model: Any) -> FloatArray:
        """The logarithm of the share of each canary's words, in the topic that has most of them."""
        components = model.components_
        if components.shape[1] != self.canaries.n_words:
            return np.full(self.n_canaries, components.shape[1] - 1e6)  # the canary's words are not in the list at all
        shares = [self.canaries.rows_to_canaries(topic) for topic in components]
        return np.asarray(np.log(np.maximum(np.max(shares, axis=0), 1e-300)))


def sampled_ratio(exponent: FloatArray, rate: float) -> FloatArray:
    """log[(1 − q) + q·e^x]."""
    if rate >= 1:
        return exponent
    return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))

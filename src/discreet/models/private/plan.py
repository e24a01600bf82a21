"""What one fit of PrivateLDA will release: decided, with its noise and its cost, before the data are touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet._errors import InputError
from discreet.mechanisms.sampling import coin_rate, coin_threshold
from discreet.privacy.calibrate import gaussian, on_grid, rising
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.privacy.ledger import Budget

if TYPE_CHECKING:
    from discreet.models.private.model import PrivateLDA
    from discreet.models.variational.model import VariationalLDA

SCALE = 16384.0
"""The noise scale in steps of the grid. It is the same for every release, so that one noise table serves all; the step
of the grid is chosen to fit."""

STEPS = 32.0
"""A clip of fewer steps than this (in the rounds, which have many cells, four times this) gets a finer grid: on the
usual one most of it would be lost by rounding."""

SIZES = 64
"""Bins of the histogram of unit sizes: bin b holds norms from 2^(b/4) on, in units of one token."""

SIZE_SHARE, WORD_SHARE, COLLECTION_SHARE = 0.004, 0.05, 0.15
"""Shares of the budget (as precision) for the histogram of unit sizes, for the word frequencies, and for those of each
collection where collections are compared."""


ONLY_NOISE = "epsilon={:g} is so small that the result would be only noise. Choose a larger epsilon."


@dataclass(frozen=True)
class EqualRounds:
    """Equal noise in every round, and no other release: decided before the data are touched."""

    rounds: Entry
    event: DiscreteGaussianRelease
    threshold: int
    """A unit takes part only if its 32 random bits are below this: the rate that is charged."""
    epsilon: float

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.rounds,)


def equal_event(rounds: Entry, refusal: str) -> DiscreteGaussianRelease:
    """The event of equal rounds. Raises an error with the message ``refusal`` if the clip is below one step of the
    grid."""
    assert isinstance(rounds.event, DiscreteGaussianRelease)
    if rounds.event.sensitivity < 1:
        raise InputError(refusal)
    return rounds.event


@dataclass(frozen=True)
class PrivatePlan:
    """Everything that is decided before the data are touched: public constants, the noise, and what it costs."""

    sizes: DiscreteGaussianRelease
    frequencies: DiscreteGaussianRelease
    preliminary: tuple[Entry, ...]
    """The entries of the releases that precede the rounds."""
    rounds: tuple[Entry, ...]
    threshold: int
    """A unit takes part when its 32 random bits are below this."""
    epsilon: float
    of_collections: DiscreteGaussianRelease | None = None
    """The word frequencies of each collection, where collections are compared."""

    @classmethod
    def make(
        cls,
        model: PrivateLDA | VariationalLDA,
        n_words: int,
        vocabulary_entries: tuple[Entry, ...] = (),
        *,
        n_collections: int = 0,
    ) -> PrivatePlan:
        """``vocabulary_entries``: the cost of the words, which comes from the same budget. With ``n_collections`` a
        round releases a table of word × topic for each collection, and one for all of them together."""
        assert model.epsilon is not None
        budget = Budget(float(model.epsilon), float(model.delta))
        if model.n_units is not None and model.delta >= 1 / model.n_units:
            raise InputError(
                f"delta={model.delta:g} is not below {1 / model.n_units:g}, one over n_units={model.n_units}: it "
                "would permit publishing one unit outright. Choose a much smaller delta, such as a thousandth of that."
            )
        cells = n_words * (1 + n_collections) * int(model.n_topics)
        values = SIZES + n_words * (1 + n_collections) + cells * int(model.n_rounds)
        # the noise multiplier if one release of all values took the whole budget
        whole = gaussian(budget, cells=values, scale=SCALE).noise
        sizes = on_grid(whole / math.sqrt(SIZE_SHARE), SIZES, scale=SCALE, steps=STEPS)
        frequencies = on_grid(whole / math.sqrt(WORD_SHARE), n_words, scale=SCALE, steps=STEPS)
        preliminary = [Entry(sizes, 1, "histogram of unit sizes"), Entry(frequencies, 1, "word frequencies")]
        of_collections = None
        if n_collections:
            noise, n_rows = whole / math.sqrt(COLLECTION_SHARE), n_collections * n_words
            of_collections = on_grid(noise, n_rows, scale=SCALE, steps=STEPS)
            preliminary.append(Entry(of_collections, 1, "word frequencies of each collection"))
        if sizes.sensitivity < 1 or frequencies.sensitivity < 1:
            raise InputError(ONLY_NOISE.format(model.epsilon))
        threshold = coin_threshold(model.sampling_rate)
        found = gaussian(
            budget,
            profile=rising(int(model.n_rounds)),
            sampling_rate=coin_rate(threshold),
            cells=cells,
            scale=SCALE,
            steps=4 * STEPS,
            alongside=(*preliminary, *vocabulary_entries),
            label="topic counts",
        )
        return cls(sizes, frequencies, tuple(preliminary), found.plan, threshold, found.epsilon, of_collections)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (*self.preliminary, *self.rounds)

    @property
    def round_events(self) -> list[DiscreteGaussianRelease]:
        events = [entry.event for entry in self.rounds for _ in range(entry.count)]
        return [event for event in events if isinstance(event, DiscreteGaussianRelease)]

    @property
    def rate(self) -> float:
        return coin_rate(self.threshold)

"""What one fit of AdaptedLDA will release: decided, with its noise and its cost, before the data are touched."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet._errors import InputError
from discreet.models.private.plan import ONLY_NOISE, SCALE, SIZES, STEPS
from discreet.privacy.calibrate import gaussian, on_grid
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.privacy.ledger import Budget

SIZE_SHARE, SENSES_SHARE, PREVALENCE_SHARE = 0.01, 0.1, 0.05
"""Shares of the budget (as precision) for the histogram of unit sizes, for words in topics, and for the prevalence of
topics; the rest is for word frequencies."""

FINE = 4096.0
"""Steps of the grid that the clip of words in topics should have: a contribution has very many cells, and what is less
than a step is lost."""


@dataclass(frozen=True)
class AdaptedPlan:
    """Four releases: unit sizes, word frequencies, words in topics, and the prevalence of topics."""

    entries: tuple[Entry, Entry, Entry, Entry]
    """In the order in which they are drawn."""
    epsilon: float

    @classmethod
    def make(
        cls,
        epsilon: float,
        delta: float,
        n_words: int,
        n_topics: int,
        *,
        n_units: int | None = None,
        vocabulary_entries: tuple[Entry, ...] = (),
    ) -> AdaptedPlan:
        """``vocabulary_entries``: the cost of the words, which comes from the same budget."""
        if n_units is not None and delta >= 1 / n_units:
            raise InputError(
                f"delta={delta:g} is not below {1 / n_units:g}, one over n_units={n_units}: it would permit publishing "
                "one unit outright. Choose a much smaller delta, such as a thousandth of that."
            )
        budget = Budget(float(epsilon), float(delta))
        # the noise multiplier if one release of all values took the whole budget
        whole = gaussian(budget, cells=SIZES + n_words + n_words * n_topics + n_topics, scale=SCALE).noise
        sizes = on_grid(whole / math.sqrt(SIZE_SHARE), SIZES, scale=SCALE, steps=STEPS)
        prevalence = on_grid(whole / math.sqrt(PREVALENCE_SHARE), n_topics, scale=SCALE, steps=STEPS)
        senses = on_grid(whole / math.sqrt(SENSES_SHARE), n_words * n_topics, scale=SCALE, steps=FINE)
        others = (
            Entry(sizes, 1, "histogram of unit sizes"),
            Entry(senses, 1, "words in topics"),
            Entry(prevalence, 1, "prevalence of topics"),
        )
        found = gaussian(
            budget,
            cells=n_words,
            scale=SCALE,
            steps=STEPS,
            alongside=(*others, *vocabulary_entries),
            label="word frequencies",
        )
        (frequencies,) = found.plan
        plan = cls((others[0], frequencies, *others[1:]), found.epsilon)
        if min(event.sensitivity for event in plan.events) < 1:
            raise InputError(ONLY_NOISE.format(epsilon))
        return plan

    @property
    def events(self) -> tuple[DiscreteGaussianRelease, ...]:
        events = [entry.event for entry in self.entries]
        return tuple(event for event in events if isinstance(event, DiscreteGaussianRelease))

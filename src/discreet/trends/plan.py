"""What trends will release: decided, with its noise and its cost, before the data are touched."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet._errors import InputError, counted
from discreet.models.private.plan import ONLY_NOISE
from discreet.privacy.calibrate import FINEST_SCALE, gaussian
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.privacy.ledger import Budget

LEAST = 5.0
"""A slice is shown if its size is at least so many deviations of the noise in it. Shares are divided by the size: its
error is then at most 20%, and the errors of shares, which are to first order in it, hold to a few percent."""

MOST_CELLS = 10**8

LARGE = 10_000
"""Units. If a slice has to be larger than this to be shown, the noise is too large for nearly every collection."""


@dataclass(frozen=True)
class TrendsPlan:
    """One release: a sum of topic proportions for each slice and topic."""

    entry: Entry
    event: DiscreteGaussianRelease
    epsilon: float
    n_slices: int
    n_topics: int

    @classmethod
    def make(
        cls, epsilon: float, delta: float, n_slices: int, n_topics: int, *, n_units: int | None = None
    ) -> TrendsPlan:
        if n_units is not None and delta >= 1 / n_units:
            raise InputError(
                f"delta={delta:g} is not below {1 / n_units:g}, one over n_units={n_units}: it would permit publishing "
                "one unit outright. Choose a much smaller delta, such as a thousandth of that."
            )
        cells = n_slices * n_topics
        if cells > MOST_CELLS:
            raise InputError(
                f"{counted(n_slices, 'slice')} and {counted(n_topics, 'topic')} are more than {MOST_CELLS:,} cells. "
                "Choose longer periods, fewer classes or a model with fewer topics."
            )
        # the finest grid: proportions of many topics are small numbers, and rounding them costs accuracy
        found = gaussian(
            Budget(float(epsilon), float(delta)), cells=cells, scale=FINEST_SCALE, label="topic shares by slice"
        )
        (entry,) = found.plan
        assert isinstance(entry.event, DiscreteGaussianRelease)
        if entry.event.sensitivity < 1:
            raise InputError(ONLY_NOISE.format(epsilon))
        return cls(entry, entry.event, found.epsilon, n_slices, n_topics)

    @property
    def noise(self) -> float:
        """The deviation of the noise in each sum. A unit in one slice adds 1 to the sums of that slice together."""
        return self.event.scale / self.event.sensitivity

    @property
    def fewest(self) -> float:
        """Units that a slice needs to be shown."""
        return LEAST * self.noise * math.sqrt(self.n_topics)

    def described(self, unit: str = "unit") -> str:
        """What is known before anything is spent; ``unit`` is "document" or "user", where it is known."""
        weight = "; a user in n slices counts 1/√n in each" if unit == "user" else ""
        return (
            f"noise of {self.noise:.3g} {unit}s in each of {counted(self.n_slices * self.n_topics, 'sum')}: a share of "
            f"a slice of 1,000 {unit}s has a standard error of about {self.noise / 10:.2g} points, and a slice of "
            f"fewer than about {math.ceil(self.fewest):,} {unit}s is not shown{weight}"
        )

    def foreseen(self, n_units: int | None, unit: str = "unit") -> str:
        """Why nearly nothing will be shown, from public facts alone; empty if that is not known."""
        instead = "Choose longer periods or fewer classes, a model with fewer topics, or a larger epsilon."
        needed = f"a slice needs about {counted(self.fewest, unit)} to be shown"
        if n_units is not None and n_units < self.fewest * self.n_slices:
            slices = "in one slice" if self.n_slices == 1 else f"in {counted(self.n_slices, 'slice')}"
            return f"these trends will hardly show anything: {needed}, and {n_units:,} {unit}s are {slices}. {instead}"
        if n_units is None and self.fewest > LARGE:
            return f"these trends will hardly show anything: {needed}. {instead}"
        return ""

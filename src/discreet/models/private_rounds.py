"""The rounds of PrivateLDA: local sweeps, one clipped contribution a unit, noise, and what is made of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._random import Purpose
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.engines.rounds import RoundEngine
from discreet.kernels.slots import aligned
from discreet.mechanisms.release import release_sum
from discreet.models.checkpoint import Payment
from discreet.models.loop import Measures
from discreet.models.private_plan import SIZES, Plan
from discreet.models.shrink import Average, topics_from
from discreet.privacy.events import DiscreteGaussianRelease

if TYPE_CHECKING:
    from discreet.models.private import PrivateLDA

CLIP = 0.5
"""The clip as a share of the median size of the units: clipping most of them costs less than noise for a longer one."""

_RELEASED = ("n_units", "clip", "frequencies", "word_weights", "topics", "final_weight")
"""Fields of a run that a checkpoint keeps beside the averages: functions of what was released."""


class Rounds:
    """One training run. The engine is private; every other field is a function of what was released."""

    def __init__(
        self,
        model: PrivateLDA,
        plan: Plan,
        engine: RoundEngine,
        payment: Payment,
        alpha: FloatArray,
        saved: Mapping[str, AnyArray],
    ) -> None:
        self.model, self.plan, self.engine, self.payment, self.alpha = model, plan, engine, payment, alpha
        self.n_releases = 0
        self.events = plan.round_events
        self.weights = aligned(engine.n_words * engine.width, np.float32)
        if saved:
            self._resume(saved)
        else:
            self._start()

    def _start(self) -> None:
        model, engine = self.model, self.engine
        self._learn_sizes()
        self._learn_frequencies()
        # Bits of their own (tokens take those of number 0), never the key itself: whoever guessed the start from what
        # was released would know a part of the key that the noise hangs on.
        seed = engine.key.bits(Purpose.FIRST_TOPICS, 1, 0, 8)  # [start]
        generator = np.random.Generator(np.random.PCG64(seed.tolist()))
        start = self.frequencies[:, None] * generator.gamma(4.0, 0.25, (engine.n_words, model.n_topics))
        self.topics = start / start.sum(axis=0)
        self.running = Average.nothing(engine.n_words, model.n_topics)
        self.final = Average.nothing(engine.n_words, model.n_topics)
        self.final_weight = 0.0

    def _state(self) -> dict[str, Any]:
        """For a checkpoint: what was released, and the engine's private state."""
        averages = {"running": self.running, "final": self.final}
        return {
            **{name: getattr(self, name) for name in _RELEASED},
            **{f"{name}_{part}": getattr(a, part) for name, a in averages.items() for part in ("value", "variance")},
            **self.engine.state(),
        }

    def _resume(self, saved: Mapping[str, AnyArray]) -> None:
        for name in _RELEASED:
            found = saved[name]
            setattr(self, name, found if found.ndim else float(found))
        for name in ("running", "final"):
            setattr(self, name, Average(saved[f"{name}_value"], saved[f"{name}_variance"]))
        self.engine.restore(saved)

    def _release(self, cells: IntArray, event: DiscreteGaussianRelease) -> IntArray:
        self.n_releases += 1
        return release_sum(
            cells,
            event,
            self.payment.reservation,
            key=self.engine.key,
            number=self.n_releases,
            n_threads=self.engine.n_threads,
        )

    # --- what must not be read off the data ---------------------------------------------------------------------------

    def _learn_sizes(self) -> None:
        """How many units there are, and how large: each unit counts once, in the bin of its norm."""
        event = self.plan.sizes
        step = math.floor(event.sensitivity)  # [sizes] a unit's whole share of the grid, in one cell
        bins = self.engine.size_bins(SIZES)
        noisy = self._release(np.bincount(bins, minlength=SIZES).astype(np.int64) * step, event) / step
        deviation = event.scale / step
        kept = np.where(noisy > 3 * deviation, noisy, 0.0)  # bins that stand above the noise
        if not kept.sum() > 0:
            kept = np.maximum(noisy, 1.0)
        self.n_units = float(self.model.n_units or max(noisy.sum(), 1.0))
        middle = int(np.searchsorted(np.cumsum(kept), kept.sum() / 2))
        self.clip = float(self.model.clip or CLIP * 2.0 ** ((middle + 0.5) / 4))

    def _learn_frequencies(self) -> None:
        """The share of each word, from all units, clipped like any contribution."""
        engine, event = self.engine, self.plan.frequencies
        grid = self.clip / event.sensitivity
        cells = engine.word_counts(np.full(engine.n_words, 1 / grid, np.float32), event.sensitivity)  # [words]
        noisy = self._release(cells, event) * grid
        deviation = event.scale * grid
        positive = np.maximum(noisy, deviation / 2)  # a word without a clear count is taken as rare, not as absent
        self.frequencies = positive / positive.sum()
        self.word_weights = (self.frequencies * engine.n_words) ** self.model.word_power
        surely = noisy.sum() - 2 * deviation * math.sqrt(
            engine.n_words
        )  # tokens within the clip, less what may be noise
        self._warn_if_hopeless(max(surely, self.clip) / self.n_units)

    def _warn_if_hopeless(self, tokens_per_unit: float) -> None:
        """An honest sentence when the noise in the last rounds' mean may well be larger than what it hides."""
        model, n = self.model, self.model.n_rounds // 3 or 1
        multiplier = self.events[-1].scale / self.events[-1].sensitivity
        noise = multiplier * self.clip / (self.plan.rate * self.n_units * math.sqrt(n))
        signal = tokens_per_unit / (self.engine.n_words * model.n_topics)
        if model.delta * self.n_units >= 1:
            warnings.warn(
                f"delta={model.delta:g} is not below one over the number of units, about {self.n_units:,.0f}: it would "
                "allow to publish one unit as it is. Take a delta far below.",
                stacklevel=6,
            )
        if noise > signal:
            warnings.warn(
                f"this will hardly give useful topics: the noise in an average cell may be {noise / signal:.2g} times "
                f"the count it hides, with about {self.n_units:,.0f} units, {self.engine.n_words:,} words, "
                f"{model.n_topics} topics and epsilon={model.epsilon:g}. More units, fewer words, fewer topics or a "
                "larger epsilon would help.",
                stacklevel=6,
            )

    # --- the rounds ---------------------------------------------------------------------------------------------------

    def round(self, number: int) -> Measures:
        """Sweep, release, average, shrink."""
        self.payment.open_round(number, self._state)
        model, engine, event = self.model, self.engine, self.events[number - 1]
        table = self.weights.reshape(engine.n_words, engine.width)
        table[:, : model.n_topics] = self.topics * engine.n_words
        grid = self.clip / event.sensitivity
        exact = engine.contributions(
            engine.coins(number, self.plan.threshold),
            self.weights,
            self.alpha,
            n_sweeps=model.n_sweeps,
            n_samples=min(model.n_samples, model.n_sweeps),
            word_weights=(self.word_weights / grid).astype(np.float32),
            clip=event.sensitivity,  # [clip] what was charged
        )
        cells = exact.reshape(engine.n_words, engine.width)[:, : model.n_topics].ravel()
        noisy = self._release(cells, event).reshape(engine.n_words, model.n_topics)
        per_unit = grid / (
            self.word_weights * self.plan.rate * self.n_units
        )  # [divisor] planned, never the batch's size
        mean, variance = noisy * per_unit[:, None], (event.scale * per_unit) ** 2
        self.running.move(mean, variance, number**-0.6)
        if number > model.n_rounds * 2 / 3:
            weight = (event.sensitivity / event.scale) ** 2
            self.final_weight += weight
            self.final.move(mean, variance, weight / self.final_weight)
        self.topics = topics_from(self.running.value, self.running.variance, self.frequencies)
        return {}

    def final_topics(self) -> FloatArray:
        """From the mean over the last third of the rounds, weighted by their precision."""
        best = self.final if self.final_weight else self.running
        return topics_from(best.value, best.variance, self.frequencies)

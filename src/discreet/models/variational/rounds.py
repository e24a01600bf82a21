"""The rounds of VariationalLDA: λ, the parameters of the topics' Dirichlets, moves towards the estimate of each round.

Three forms, all over a ``VariationalUnitEngine``: our own rounds, which are PrivateLDA's with another local
step; the published ones; and exact ones, which promise nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._errors import InputError, warn_caller
from discreet._random import Key, Purpose
from discreet._types import FloatArray
from discreet.engines.interface import Round, VariationalUnitEngine
from discreet.mechanisms.release import Releases
from discreet.mechanisms.sampling import coin_rate, coin_threshold
from discreet.models.private.plan import SCALE, STEPS, EqualRounds, equal_event
from discreet.models.private.rounds import PrivateRounds
from discreet.privacy import accounting
from discreet.privacy.calibrate import gaussian, on_grid
from discreet.privacy.events import Entry
from discreet.privacy.ledger import Budget, Reservation
from discreet.training.loop import Measures

if TYPE_CHECKING:
    from discreet.models.variational.model import VariationalLDA


def step_size(model: VariationalLDA, number: int) -> float:
    """ρ_t = (τ₀ + t)^-κ, with t = 0 in round 1, and never more than 1."""
    return float(min((model.learning_offset + number - 1) ** -model.learning_decay, 1.0))


def expected_topics(lam: FloatArray) -> FloatArray:
    """exp(E[log β]) = exp(ψ(λ_kw) − ψ(Σ_w λ_kw)), word × topic, as λ is."""
    from scipy.special import psi

    return np.asarray(np.exp(psi(lam) - psi(lam.sum(axis=0))))


def first_lambda(key: Key, n_words: int, n_topics: int) -> FloatArray:
    """Hoffman's start, Gamma(100, 1/100) in every cell. It does not read the documents."""
    generator = key.generator(Purpose.FIRST_TOPICS, 1)  # [start] bits of its own, not the key itself
    return generator.gamma(100.0, 0.01, (n_words, n_topics))


class VariationalRounds(PrivateRounds):
    """Our own form. What was released is averaged and shrunk as in PrivateLDA; λ = β + n_units · table."""

    model: VariationalLDA
    judges = False

    def _weights(self) -> FloatArray:
        lam = self.model.beta + self.n_units * self.table
        return expected_topics(lam) * self.engine.n_words

    def _step(self, number: int) -> float:
        return step_size(self.model, number)


class _Updates:
    """Update of Hoffman, Blei and Bach: λ ← (1 − ρ)·λ + ρ·(β + the corpus's expected counts, estimated from this
    round)."""

    def __init__(self, model: VariationalLDA, engine: VariationalUnitEngine, alpha: FloatArray) -> None:
        self.model, self.engine, self.alpha = model, engine, alpha
        self.lam = first_lambda(engine.key, engine.n_words, model.n_topics)

    def _round(self, number: int, threshold: int) -> Round:
        weights = expected_topics(self.lam) * self.engine.n_words
        return Round(number, threshold, weights, self.alpha, self.model.local_sweeps)

    def _update(self, counts: FloatArray, step: float) -> Measures:
        self.lam = (1 - step) * self.lam + step * (self.model.beta + counts)
        return {}

    def final_table(self) -> FloatArray:
        """λ: each column is the mean of a topic times its number of tokens."""
        return self.lam


class ExactRounds(_Updates):
    """Without noise, clip or promise. A round in which every document takes part replaces λ: batch updates."""

    def round(self, number: int) -> Measures:
        engine, model = self.engine, self.model
        threshold = coin_threshold(model.sampling_rate)
        sums, n_included = engine.expected(self._round(number, threshold))
        if not n_included:
            return {}
        step = 1.0 if coin_rate(threshold) == 1 else step_size(model, number)
        return self._update(sums * (engine.n_units / n_included), step)


class PublishedPlan(EqualRounds):
    """The whole plan of the published form."""

    @classmethod
    def make(cls, model: VariationalLDA, n_words: int, vocabulary_entries: tuple[Entry, ...] = ()) -> PublishedPlan:
        """``vocabulary_entries``: the cost of the words, which comes from the same budget."""
        threshold = coin_threshold(model.sampling_rate)
        cells, n_rounds = n_words * int(model.n_topics), int(model.n_rounds)
        grid: Any = {"scale": SCALE, "steps": 4 * STEPS, "sampling_rate": coin_rate(threshold)}
        if model.noise_multiplier is not None:
            rounds = Entry(on_grid(float(model.noise_multiplier), cells, **grid), n_rounds, "topic counts")
        else:
            budget = Budget(float(model.epsilon or math.nan), float(model.delta))
            (rounds,) = gaussian(
                budget, rounds=n_rounds, cells=cells, alongside=vocabulary_entries, label="topic counts", **grid
            ).plan
        refusal = "the noise is so large that the result would be only noise. Choose a larger epsilon."
        event = equal_event(rounds, refusal)
        epsilon = accounting.epsilon((rounds, *vocabulary_entries), float(model.delta))
        if epsilon == math.inf:  # before anything is charged
            raise InputError(
                f"at delta={model.delta:g} no epsilon is finite, including the cost of the words. Choose a larger "
                "delta, or more noise."
            )
        return cls(rounds, event, threshold, epsilon)


class PublishedRounds(_Updates):
    """The steps of Park et al.: expected counts, clipped, noised, cells below zero set to zero, averaged into λ."""

    def __init__(
        self,
        model: VariationalLDA,
        plan: PublishedPlan,
        engine: VariationalUnitEngine,
        reservation: Reservation,
        alpha: FloatArray,
    ) -> None:
        super().__init__(model, engine, alpha)
        self.plan, self.releases = plan, Releases(reservation, engine.key, engine.n_threads)
        assert model.clip is not None
        self.grid = model.clip / plan.event.sensitivity
        if model.n_units is not None and model.delta * model.n_units >= 1:
            warn_caller(
                f"delta={model.delta:g} is not below {1 / model.n_units:g}, one over n_units={model.n_units}: it "
                "would permit publishing one unit outright. Choose a much smaller delta.",
            )

    def round(self, number: int) -> Measures:
        engine, event = self.engine, self.plan.event
        exact = engine.residuals(
            self._round(number, self.plan.threshold),
            cell_weights=1 / self.grid,
            background=0.0,
            clip=event.sensitivity,  # [clip] what was charged
        )
        noisy = self.releases.release(exact.ravel(), event)
        rate = coin_rate(self.plan.threshold)
        counts = np.maximum(noisy, 0) * (self.grid / rate)  # [divisor] planned, never the batch's size
        return self._update(counts.reshape(self.lam.shape), step_size(self.model, number))

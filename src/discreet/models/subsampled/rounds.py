"""The sound form of SUB-LDA: rounds of Theorem A with only the paper's own steps (``proof.md``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._random import Purpose
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import KeptUnitEngine, Round, Threshold
from discreet.evaluation import completion_perplexity
from discreet.mechanisms.release import Releases
from discreet.mechanisms.sampling import coin_rate, coin_threshold
from discreet.models.private.plan import ONLY_NOISE, SCALE, STEPS, EqualRounds, equal_event
from discreet.models.subsampled.rules import Converged, frequent_cells
from discreet.privacy.calibrate import gaussian
from discreet.privacy.events import Entry
from discreet.privacy.ledger import Budget
from discreet.release.usefulness import Setting, judge
from discreet.training.loop import Measures
from discreet.training.payment import Payment

if TYPE_CHECKING:
    from discreet.models.subsampled.model import SubsampledLDA

STEP = 0.6
"""Round i moves the running counts towards its own by the share i^-STEP."""


class SubsampledPlan(EqualRounds):
    """The whole plan of the sound form."""

    @classmethod
    def make(cls, model: SubsampledLDA, n_words: int, vocabulary_entries: tuple[Entry, ...] = ()) -> SubsampledPlan:
        """``vocabulary_entries``: what the words have cost. It comes out of the same budget."""
        threshold = coin_threshold(model.largest_rate)
        found = gaussian(
            Budget(float(model.epsilon), float(model.delta)),
            rounds=int(model.n_rounds),
            sampling_rate=coin_rate(threshold),
            cells=n_words * int(model.n_topics),
            scale=SCALE,
            steps=4 * STEPS,
            alongside=vocabulary_entries,
            label="topic counts",
        )
        event = equal_event(found.plan[0], ONLY_NOISE.format(model.epsilon))
        return cls(found.plan[0], event, threshold, found.epsilon)


class SubsampledRounds:
    """One training run. The engine is private; every other field is a function of what was released."""

    def __init__(
        self,
        model: SubsampledLDA,
        plan: SubsampledPlan,
        engine: KeptUnitEngine,
        payment: Payment,
        alpha: FloatArray,
        public: Corpus | None,
        saved: Mapping[str, AnyArray],
    ) -> None:
        self.model, self.plan, self.engine, self.payment = model, plan, engine, payment
        self.alpha, self.public = alpha, public
        self.grid = model.clip / plan.event.sensitivity
        self.releases = Releases(payment.reservation, engine.key, engine.n_threads)
        self.perplexities: list[float] = []
        self.counts = np.zeros((engine.n_words, model.n_topics))
        self.variance = 0.0
        generator = engine.key.generator(Purpose.FIRST_TOPICS, 1)  # [start] bits of their own, not the key's
        start = generator.gamma(4.0, 0.25, self.counts.shape)
        self.topics = start / start.sum(axis=0)
        self.converged = False
        self._rule = None if model.tolerance is None else Converged(model.tolerance, model.patience)
        if saved:
            self._resume(saved)

    def _state(self) -> dict[str, Any]:
        """For a checkpoint: what was released, and the engine's private state."""
        released = {"counts": self.counts, "variance": self.variance, "topics": self.topics}
        return {**released, "perplexities": self.perplexities, **self.engine.state()}

    def _resume(self, saved: Mapping[str, AnyArray]) -> None:
        self.counts, self.variance, self.topics = saved["counts"], float(saved["variance"]), saved["topics"]
        for perplexity in saved["perplexities"].tolist():
            self._add_perplexity(perplexity)
        self.engine.restore(saved)

    def round(self, number: int) -> Measures:
        """Sample, sweep, release, average."""
        self.payment.open_round(number, self._state)
        model, engine = self.model, self.engine
        exact = engine.contributions(
            Round(number, self.threshold(number), self.topics * engine.n_words, self.alpha, model.local_sweeps),
            word_weights=np.full(engine.n_words, 1 / self.grid),
            clip=self.plan.event.sensitivity,  # [clip] what was charged
        )
        noisy = self.releases.release(exact.ravel(), self.plan.event)
        self._average(noisy.reshape(exact.shape), number)
        positive = np.maximum(self.counts, math.sqrt(self.variance) / 2) + model.beta
        self.topics = positive / positive.sum(axis=0)
        return self._judge()

    def _average(self, noisy: IntArray, number: int) -> None:
        """Update the running mean, and the variance of the noise that is left in it."""
        scale = self.grid / self.model.sampling_rate  # [divisor] planned, never the batch's size
        step = number**-STEP
        self.counts = (1 - step) * self.counts + step * scale * noisy
        self.variance = (1 - step) ** 2 * self.variance + (step * scale * self.plan.event.scale) ** 2

    def threshold(self, number: int) -> Threshold:
        """The sampling threshold: the same for all units, or a lower one for each unit (Eq. 10)."""
        model, engine, largest = self.model, self.engine, self.plan.threshold
        if not model.adaptive or number == 1:  # before the first release no word is frequent
            return coin_threshold(model.sampling_rate) if model.adaptive else largest
        own = engine.shares(frequent_cells(self.counts, model.frequent_share))  # [own] its tokens and the released
        return np.minimum(np.ceil(own * largest), largest).astype(np.int64)  # [rate]

    def _judge(self) -> Measures:
        """Eq. 9 on public documents: post-processing."""
        if self.public is None:
            return {}
        perplexity = completion_perplexity(
            self.topics.T, self.public, alpha=self.alpha, n_threads=self.engine.n_threads
        )
        self._add_perplexity(perplexity)
        return {"public_perplexity": perplexity}

    def _add_perplexity(self, perplexity: float) -> None:
        self.perplexities.append(perplexity)
        self.converged = self._rule is not None and self._rule(perplexity)

    def finish(self, setting: Setting) -> None:
        """Set the topics on the model, the noise that is left in them, and whether they stand out of it."""
        model, deviation = self.model, math.sqrt(self.variance)
        model.components_ = np.ascontiguousarray(self.topics.T)
        sizes = (np.maximum(self.counts, deviation / 2) + model.beta).sum(axis=0)
        model.topic_shares_ = sizes / sizes.sum()
        model.standard_errors_ = np.repeat(deviation / sizes[:, None], self.engine.n_words, axis=1)
        model.usefulness_ = judge(self.counts, self.variance, model.components_, setting)

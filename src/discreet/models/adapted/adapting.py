"""The releases of AdaptedLDA, and the topics that are made of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet._types import FloatArray
from discreet.engines.interface import ProportionEngine
from discreet.mechanisms.release import Releases
from discreet.models.adapted import estimate
from discreet.models.adapted.plan import AdaptedPlan
from discreet.models.adapted.senses import senses
from discreet.models.bounds import LEAST_PRIOR
from discreet.models.knowledge import PublicKnowledge
from discreet.models.private.plan import SIZES
from discreet.models.private.sizes import middle_bin
from discreet.models.word_use import Expected, word_use
from discreet.privacy.ledger import Reservation
from discreet.release.release import PRESENT
from discreet.release.usefulness import CLEAR, Usefulness
from discreet.training.private_fit import units_in_words, warn_of_delta

if TYPE_CHECKING:
    from discreet.models.adapted.model import AdaptedLDA

CLIP = 0.4
"""The clip as a share of the median norm of the units' word counts."""

STRETCH = 4.0
"""Proportions are multiplied by this before they are clipped to norm 1: those of most units are far shorter than 1."""

ALPHA = 20.0
"""The sum of the prior weights of topics in a document, if they are not given: each has its share of it."""

LEAST_CLEAR = 0.02
"""The smallest share of the text in words whose frequencies stand out from the noise, where they are more than the
public ones. On abstracts with NeurIPS/CVPR as public text perplexity was 1009 where it was 0 (public topics alone:
1052), and 951 where it was 0.03; on e-mail with newsgroups 1227 to 1238 where it was 0 (1279), and 1078 where it was
0.12."""


class Adapting:
    """One fit. The engine is private; every other field is public, or a function of what was released."""

    def __init__(
        self,
        model: AdaptedLDA,
        plan: AdaptedPlan,
        engine: ProportionEngine,
        reservation: Reservation,
        known: PublicKnowledge,
        alpha: FloatArray | None,
    ) -> None:
        self.model, self.engine, self.known = model, engine, known
        self.sizes_event, self.words_event, self.senses_event, self.prevalence_event = plan.events
        self.releases = Releases(reservation, engine.key, engine.n_threads)
        self._learn_sizes()
        self._learn_words()
        self.given_alpha = alpha
        self._learn_senses()
        self._learn_prevalence()

    @property
    def alpha(self) -> FloatArray:
        """The prior weights of topics: as given, or by their shares as they are known by now."""
        return np.maximum(ALPHA * self.shares, LEAST_PRIOR) if self.given_alpha is None else self.given_alpha

    def _learn_sizes(self) -> None:
        """Release how many units there are and how large they are: each unit counts once, in the bin of its norm."""
        event = self.sizes_event
        step = math.floor(event.sensitivity)  # [sizes] a unit's whole share of the grid, in one cell
        noisy = self.releases.release(self.engine.size_histogram(SIZES) * step, event) / step
        self.n_units = float(self.model.n_units or max(noisy.sum(), 1.0))
        middle = middle_bin(noisy, event.scale / step)
        self.norm = 2.0 ** ((middle + 0.5) / 4)
        self.clip = float(self.model.clip or CLIP * self.norm)
        units = units_in_words(self.n_units, public=self.model.n_units is not None)
        warn_of_delta(self.model.delta, self.n_units, units)

    def _learn_words(self) -> None:
        """Release the frequencies of words, each unit's counts weighted and clipped; then adapt the topics to them."""
        event, known = self.words_event, self.known
        expected = Expected.of(known)
        weights = expected.frequencies**self.model.word_power
        weights /= math.sqrt(float(expected.frequencies @ weights**2))  # the usual norm stays what it is
        grid = self.clip / event.sensitivity
        cells = self.engine.root_counts(weights / grid, event.sensitivity)  # [roots] clipped to what was charged
        noisy = self.releases.release(cells, event) * (grid / weights)
        self.use = word_use(noisy, event.scale * grid / weights, expected)
        self.topics, self.shares = estimate.adapted(expected.topics, known.shares, self.use.frequencies)

    def _learn_senses(self) -> None:
        """Release in which topics words are used, and move the topics to it."""
        known = (self.topics, self.shares, self.alpha, self.norm)
        found = senses(self.engine, self.releases, self.senses_event, *known)
        self.topics, self.shares = estimate.adapted(found * self.topics, self.shares, self.use.frequencies)

    def _learn_prevalence(self) -> None:
        """Release the sum of all units' topic proportions."""
        event = self.prevalence_event
        cells = self.engine.proportions(  # [proportions] clipped to what was charged
            self.topics, self.alpha, scale=STRETCH * event.sensitivity, clip=event.sensitivity
        )
        noisy = self.releases.release(cells, event).astype(np.float64)
        total = max(float(noisy.sum()), event.scale)
        self.prevalence, self.prevalence_error = np.maximum(noisy, 0) / total, event.scale / total

    def finish(self) -> None:
        """Set the topics of the model, the most prevalent first, and the noise in them."""
        model, order = self.model, np.argsort(-self.prevalence, kind="stable")
        model.alpha_ = self.alpha[order]
        model.components_ = np.ascontiguousarray(self.topics[order])
        model.topic_shares_ = self.prevalence[order] / max(float(self.prevalence.sum()), 1e-300)
        model.share_errors_ = np.full(len(order), self.prevalence_error)
        model.word_frequencies_, model.frequency_errors_ = self.use.frequencies, self.use.errors
        model.public_frequencies_ = self.known.frequencies
        model.standard_errors_ = model.components_ * (self.use.errors / self.use.frequencies)
        model.usefulness_ = self._judged(int((model.topic_shares_ > PRESENT * model.share_errors_).sum()))

    def _judged(self, clear_topics: int) -> Usefulness:
        """Whether the released word frequencies say more than the public text. That says nothing about how well public
        topics suit the private text."""
        found, errors = self.use.frequencies, self.use.errors
        share = float(found[found > CLEAR * errors].sum())
        clear = share >= LEAST_CLEAR
        reason = f"the frequencies of words that make up {share:.0%} of the text stand out from the noise"
        advice = ""
        if not clear:
            reason += ", so the topics are hardly more than those of the public text"
            advice = "Use a larger epsilon, or more documents."
        return Usefulness(clear, share, clear_topics, len(self.topics), len(found), reason, advice)

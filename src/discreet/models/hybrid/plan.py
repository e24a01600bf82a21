"""What a HybridLDA fit costs, decided before the data are read. Theorem B: ``models/hybrid/proof.md``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet._errors import InputError
from discreet.privacy import accounting
from discreet.privacy.calibrate import bounded_range, discrete_laplace
from discreet.privacy.events import BoundedRangeDraw, DiscreteLaplacePair, Entry, PureRelease
from discreet.privacy.ledger import Budget
from discreet.training import self_test

DRAW_SHARE = 0.9
"""Share of ``epsilon`` for the draws alone; the noise gets the rest. On KOS more than 0.5 or 0.7 was better."""

LARGEST_INHERENT = 64.0
"""Up to here, and with priors within `bounds.PRIOR`, every product of a draw is a normal float32."""

SELF_TESTS = (self_test.laplace_noise, self_test.exact_draws)
"""Tests of the kernels that the guarantee depends on."""

EXAMPLE = 100
"""Words of the document whose protection is stated beside that of a word."""


def inaccuracy(n_topics: int) -> float:
    """κ: the logarithm of each probability of the implemented draw is within this of the ideal one's."""
    return n_topics * 2.0**-29 + 2.0**-23  # [kappa]


def clip_for(model: Any) -> float:
    """C of ε_I as the paper has it (Eq. 7), nothing set aside for the arithmetic."""
    return float(model.beta) * math.expm1(float(model.epsilon_inherent) / 2)


@dataclass(frozen=True)
class HybridPlan:
    """T + 1 releases and T draws, and the total ε at the δ that it was made for."""

    laplace: DiscreteLaplacePair
    draw: BoundedRangeDraw
    n_topics: int
    n_sweeps: int
    epsilon: float

    @classmethod
    def make(
        cls,
        budget: Budget | None,
        delta: float,
        laplace: float | None,
        inherent: float | None,
        *,
        n_topics: int,
        n_sweeps: int,
    ) -> HybridPlan:
        """From a total and one part at most, or from both parts."""
        if (budget is None) != (laplace is not None and inherent is not None):
            raise InputError(
                "say how much privacy to spend: epsilon= for the whole fit, alone or with one of epsilon_laplace= and "
                "epsilon_inherent=, or these two for each sweep without epsilon=."
            )
        slack = 4 * inaccuracy(n_topics)
        draw = None if inherent is None else BoundedRangeDraw(eta=float(inherent) + slack)  # [range]
        noise = None if laplace is None else DiscreteLaplacePair(epsilon=float(laplace))
        if budget is not None and draw is None:
            if noise is None:
                found = bounded_range(Budget(DRAW_SHARE * budget.epsilon, budget.delta), rounds=n_sweeps)
            else:
                found = bounded_range(budget, rounds=n_sweeps, alongside=(Entry(noise, n_sweeps + 1),))
            draw = BoundedRangeDraw(eta=min(1 / found.noise, LARGEST_INHERENT + slack))
        assert draw is not None
        if draw.eta <= slack:
            raise InputError(
                f"epsilon is so small that nothing would be left for {n_sweeps} draws of {n_topics} topics. Use a "
                "larger epsilon, or fewer sweeps."
            )
        if budget is not None and noise is None:
            found = discrete_laplace(budget, rounds=n_sweeps + 1, alongside=(Entry(draw, n_sweeps),))
            noise = DiscreteLaplacePair(epsilon=2 / found.noise)
        assert noise is not None
        _check_scale(noise)
        plan = cls(noise, draw, n_topics, n_sweeps, 0.0)
        return cls(noise, draw, n_topics, n_sweeps, accounting.epsilon(plan.entries, delta))

    @property
    def releases(self) -> Entry:
        return Entry(self.laplace, self.n_sweeps + 1, "noisy topic counts")  # [releases] one more than sweeps

    @property
    def draws(self) -> Entry:
        return Entry(self.draw, self.n_sweeps, "topic of the word, drawn")  # [draws]

    @property
    def entries(self) -> tuple[Entry, Entry]:
        return self.releases, self.draws

    def clip(self, beta: float) -> float:
        """C: weights in [β, C + β] have the range that was charged, less what is set aside for the arithmetic."""
        inherent = self.draw.eta - 4 * inaccuracy(self.n_topics)
        return float(beta) * math.expm1(inherent / 2)  # [clip-of-range]

    def of_document(self, n_words: int, delta: float, spent: Sequence[Entry]) -> float:
        """ε if ``n_words`` words are replaced together: ``n_words`` draws per sweep, and ``n_words`` times ε_L per
        release.

        ``spent``: what was charged, which may be more than the plan.
        """
        release = PureRelease(epsilon=n_words * self.laplace.epsilon)  # [document] not pairs: one cell may move far
        n_releases, n_draws = (sum(e.count for e in spent if e.event == kind) for kind in (self.laplace, self.draw))
        return accounting.epsilon([Entry(release, n_releases), Entry(self.draw, n_draws * n_words)], delta)

    def remarks(self, spent: Sequence[Entry], delta: float) -> tuple[str, ...]:
        """What Theorem B does not cover, and what it gives for a whole document."""
        whole = self.of_document(EXAMPLE, delta, spent)
        meaning = f"ε = {whole:.4g}" + (", which protects nothing" if whole > 20 else "")
        return (
            "documents keep their lengths, and a document added or removed is not covered",
            "the word put in is one of the vocabulary (another only if unknown words keep a token of their own)",
            f"for a document of {EXAMPLE} words replaced by another of that length the same argument gives {meaning}",
        )


def _check_scale(noise: DiscreteLaplacePair) -> None:
    from discreet.mechanisms.noise import LARGEST_SCALE, SMALLEST_SCALE

    if not SMALLEST_SCALE <= 2 / noise.epsilon <= LARGEST_SCALE:
        raise InputError(
            f"noise of epsilon_laplace={noise.epsilon:g} per release cannot be drawn: it must lie between "
            f"{2 / LARGEST_SCALE:.2g} and {2 / SMALLEST_SCALE:g}. Change epsilon, epsilon_inherent or n_sweeps."
        )

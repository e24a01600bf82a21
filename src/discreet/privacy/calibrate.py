"""(ε, δ) → noise. It never spends more than the budget, and leaves less than 1% of it.

The answer is confirmed by the same accounting that a ledger uses, on exactly the entries that will be charged, together
with what has been charged before (``alongside``): one composition is tighter than a budget split into shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from discreet._errors import BudgetExceeded, InputError
from discreet.privacy import accounting
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    Entry,
    GaussianRelease,
    ThresholdedVocabulary,
    VocabularyRound,
)
from discreet.privacy.ledger import Budget

Profile: TypeAlias = tuple[tuple[float, int], ...]
"""(weight, rounds) pairs, in order: a round of weight w has multiplier σ/√w, so its precision is w times as large."""

GRID_SCALE = 4096.0
"""The usual scale of discrete Gaussian noise, in grid steps."""
FINEST_SCALE = 65536.0
"""The largest scale for which noise is drawn, which gives the finest grid."""
LEFT_OVER = 0.004
"""Share of the free budget that the search may leave; the promise is 1% of the budget."""
CLOSE = 1.0005
"""The search also ends when the noise is known to this relative precision: then the curve is too steep to use more."""
LARGEST = 1e9
"""The largest noise multiplier that is tried."""


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The noise, the entries to charge for it, and the ε at the budget's δ once they are (``alongside`` included)."""

    noise: float
    plan: tuple[Entry, ...]
    epsilon: float


def rising(rounds: int, low: float = 0.4, high: float = 1.6, levels: int = 8) -> Profile:
    """Precision rising linearly from ``low`` to ``high`` in ``levels`` equal steps; their mean should be 1.

    Levels, and not one weight per round, because each distinct weight needs its own distribution.
    """
    if levels < 1 or rounds < 1 or not min(low, high) > 0:
        raise InputError(
            f"a profile needs rounds, levels and positive weights; found {rounds}, {levels}, {low}, {high}."
        )
    levels = min(levels, rounds)
    ends = [round(rounds * (i + 1) / levels) for i in range(levels)]
    middle = [(i + 0.5) / levels for i in range(levels)]
    return tuple(
        (low + (high - low) * at, end - start) for at, start, end in zip(middle, [0, *ends[:-1]], ends, strict=True)
    )


def gaussian(
    budget: Budget,
    *,
    rounds: int = 1,
    sampling_rate: float = 1.0,
    profile: Sequence[tuple[float, int]] | None = None,
    cells: int | None = None,
    scale: float = GRID_SCALE,
    steps: float = 0.0,
    alongside: Sequence[Entry] = (),
    label: str = "noise",
) -> Calibrated:
    """The smallest noise multiplier of ``rounds`` Gaussian releases, Poisson-sampled at ``sampling_rate``.

    ``profile`` gives rounds of different precision (then ``rounds`` is the sum of its rounds). With ``cells`` the plan
    holds discrete Gaussians, all of the same ``scale`` in grid steps, so that one table of noise serves them all; the
    grid of a round follows from the ``sensitivity`` of its event, the clipping norm in steps. If one of these is below
    ``steps``, all have the scale `FINEST_SCALE`. Without ``cells`` the Gaussians are continuous. ``noise`` is the
    multiplier at weight 1.
    """
    if not budget.delta > 0:
        raise InputError("Gaussian noise needs a budget with delta > 0; found 0. Give delta, such as 1e-6.")
    shape = _profile(rounds, profile)
    for tried in (float(scale), FINEST_SCALE):
        found = _gaussian(budget, shape, float(sampling_rate), cells, tried, tuple(alongside), label)
        if all(getattr(entry.event, "sensitivity", steps) >= steps for entry in found.plan):
            break
    return found


def on_grid(
    multiplier: float, cells: int, *, scale: float = GRID_SCALE, steps: float = 0.0, sampling_rate: float = 1.0
) -> DiscreteGaussianRelease:
    """Noise of ``scale`` steps, on the grid on which it is accounted for at exactly this multiplier.

    If the sensitivity would be below ``steps``, the scale is `FINEST_SCALE`.
    """
    sensitivity = math.sqrt(scale**2 - 4) / multiplier
    if sensitivity < steps:
        return on_grid(multiplier, cells, scale=FINEST_SCALE, sampling_rate=sampling_rate)
    return DiscreteGaussianRelease(scale=scale, sensitivity=sensitivity, cells=cells, sampling_rate=sampling_rate)


def discrete_laplace(
    budget: Budget, *, rounds: int = 1, alongside: Sequence[Entry] = (), label: str = "noise"
) -> Calibrated:
    """The smallest scale of discrete Laplace noise on a table whose neighbours differ by one in two cells.

    ``noise`` is the scale, 2/ε_L; the plan is ``rounds`` times `DiscreteLaplacePair`. A budget with δ = 0 is fine.
    """
    return _laplace(budget, _profile(rounds, None)[0][1], tuple(alongside), label)


def bounded_range(
    budget: Budget, *, rounds: int = 1, alongside: Sequence[Entry] = (), label: str = "draws"
) -> Calibrated:
    """The widest range η of ``rounds`` draws, as ``noise`` = 1/η; the plan is ``rounds`` times `BoundedRangeDraw`."""
    return _range(budget, _profile(rounds, None)[0][1], tuple(alongside), label)


def vocabulary_threshold(sigma: float, delta_threshold: float, max_words: int, *, scale: float | None = None) -> float:
    """The threshold: with probability 1 − ``delta_threshold``, no word that only one unit has exceeds it.

    For weights 1/√t on the t ≤ ``max_words`` words of a unit. With ``scale``, the noise is a discrete Gaussian of that
    many grid steps, whose tail may be one step longer than that of the continuous one.
    """
    from scipy.special import ndtri

    if not 0 < delta_threshold < 1 or not sigma > 0 or max_words < 1:
        raise InputError(
            "a threshold needs sigma > 0, 0 < delta_threshold < 1 and max_words >= 1; "
            f"found {sigma}, {delta_threshold}, {max_words}."
        )
    step = 0.0 if scale is None else sigma / scale
    # −Φ⁻¹(1 − (1−δ)^{1/t}) equals Φ⁻¹((1−δ)^{1/t}), without cancellation
    each = (
        1 / math.sqrt(t) - sigma * ndtri(-math.expm1(math.log1p(-delta_threshold) / t)) for t in range(1, max_words + 1)
    )
    return float(max(each)) + step


def vocabulary(
    budget: Budget, *, rounds: int, max_words: int, delta_threshold: float, scale: float, label: str = "vocabulary"
) -> Calibrated:
    """The smallest noise of a private vocabulary within the budget, ``delta_threshold`` of all rounds included.

    ``noise`` is that of the rounds together, in units of the largest weight; each has √rounds times as much.
    """
    if not budget.delta > delta_threshold:
        raise InputError(
            f"a threshold takes {delta_threshold:g} of the delta, and the budget has {budget.delta:g}. Give more delta."
        )

    def plan(sigma: float) -> tuple[Entry, ...]:
        kind = ThresholdedVocabulary if rounds == 1 else VocabularyRound
        event = kind(
            sigma=sigma * math.sqrt(rounds),
            delta_threshold=delta_threshold / rounds,
            max_words=max_words,
            scale=scale,
        )
        return (Entry(event, rounds, label),)

    left = Budget(budget.epsilon, budget.delta - delta_threshold)
    return _smallest(plan, budget, (), guess=math.sqrt(0.5 / _rho(left)))


# --- the search -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _gaussian(
    budget: Budget,
    profile: Profile,
    rate: float,
    cells: int | None,
    scale: float,
    alongside: tuple[Entry, ...],
    label: str,
) -> Calibrated:
    def plan(sigma: float) -> tuple[Entry, ...]:
        multipliers = ((sigma / math.sqrt(w), n) for w, n in profile)
        if cells is None:
            return tuple(Entry(GaussianRelease(sigma=m, sampling_rate=rate), n, label) for m, n in multipliers)
        return tuple(Entry(on_grid(m, cells, scale=scale, sampling_rate=rate), n, label) for m, n in multipliers)

    rho = math.fsum(w * n for w, n in profile) / 2 * rate**2
    return _smallest(plan, budget, alongside, guess=math.sqrt(rho / _rho(budget)))


@lru_cache(maxsize=256)
def _laplace(budget: Budget, rounds: int, alongside: tuple[Entry, ...], label: str) -> Calibrated:
    def plan(scale: float) -> tuple[Entry, ...]:
        return (Entry(DiscreteLaplacePair(epsilon=2 / scale), rounds, label),)

    by_sum = 2 * rounds / budget.epsilon
    by_rho = math.sqrt(rounds / _rho(budget)) if budget.delta > 0 else math.inf
    return _smallest(plan, budget, alongside, guess=min(by_sum, by_rho))


@lru_cache(maxsize=256)
def _range(budget: Budget, rounds: int, alongside: tuple[Entry, ...], label: str) -> Calibrated:
    def plan(inverse: float) -> tuple[Entry, ...]:
        return (Entry(BoundedRangeDraw(eta=1 / inverse), rounds, label),)

    by_rho = math.sqrt(rounds / _rho(budget) / 8) if budget.delta > 0 else math.inf
    return _smallest(plan, budget, alongside, guess=min(rounds / budget.epsilon, by_rho))


def _smallest(
    plan: Callable[[float], tuple[Entry, ...]], budget: Budget, alongside: tuple[Entry, ...], guess: float
) -> Calibrated:
    """The smallest noise within the budget, by a bracketed secant on log noise against log ε of the free budget."""
    before = accounting.spent(alongside, budget.delta)
    free = budget.epsilon - before.epsilon
    if before.epsilon == math.inf:
        raise BudgetExceeded(
            f"what is spent or planned already has too little noise for a finite epsilon at delta={budget.delta:g}. "
            f"Choose an epsilon below {min(budget.epsilon, 60):g}, or a larger delta.",
            entry=plan(LARGEST)[0],
            spent=before,
            budget=budget,
        )
    if not free > 0:
        raise BudgetExceeded(
            f"no noise is large enough: {before} is spent or planned already, and the budget is {budget}. Choose a "
            "larger epsilon: it must also cover what was spent before, including the words.",
            entry=plan(LARGEST)[0],
            spent=before,
            budget=budget,
        )

    def used(noise: float) -> float:
        return accounting.epsilon((*alongside, *plan(noise)), budget.delta)

    enough = budget.epsilon - LEFT_OVER * free
    aim = math.log(free * (1 - LEFT_OVER / 2))
    low = high = best = math.nan  # low spends too much, high fits
    at_low = at_high = math.nan  # log ε of the free budget that is used there
    noise, factor = guess, 2.0
    while True:
        epsilon = used(noise)
        log_share = math.log(max(epsilon - before.epsilon, free * 1e-9)) if epsilon < math.inf else math.inf
        if epsilon <= budget.epsilon:
            high, at_high, best = noise, log_share, epsilon
            if epsilon >= enough:
                break
        else:
            low, at_low = noise, log_share
        if not math.isnan(low) and not math.isnan(high):
            if high / low < CLOSE:
                break
            noise = _between(low, high, at_low, at_high, aim)
        else:
            slope = 1.0 if log_share == math.inf else min(abs(log_share - aim) * 0.8 + 0.01, math.log(factor))
            noise = noise * math.exp(slope) if math.isnan(high) else noise / math.exp(slope)
            factor = min(factor**2, 1e6)
        if noise > LARGEST:
            raise InputError(
                f"no noise up to {LARGEST:g} fits the budget {budget} besides what is spent ({before}). "
                "Is part of its delta used outside the noise, as by the threshold of a vocabulary?"
            )
    return Calibrated(noise=high, plan=plan(high), epsilon=best)


def _between(low: float, high: float, at_low: float, at_high: float, aim: float) -> float:
    """Where a straight line in the logarithms reaches ``aim``, kept away from the ends of the bracket."""
    share = 0.5 if at_low == math.inf or at_low == at_high else (at_low - aim) / (at_low - at_high)
    share = min(max(share, 0.02), 0.98)
    return low * math.exp(share * math.log(high / low))


def _rho(budget: Budget) -> float:
    """The zCDP whose usual conversion gives the budget: a first guess."""
    log = math.log(1 / budget.delta)
    return (math.sqrt(log + budget.epsilon) - math.sqrt(log)) ** 2


def _profile(rounds: int, profile: Sequence[tuple[float, int]] | None) -> Profile:
    shape = ((1.0, rounds),) if profile is None else tuple((float(w), int(n)) for w, n in profile)
    if not shape or not all(0 < w < math.inf and n >= 1 for w, n in shape):
        raise InputError(f"noise is needed for at least one round of positive weight; found {shape}.")
    return shape

"""What one event costs, in each theory that can express it. Proofs: ``accounting.proof.md``.

Three theories: a *pure* ε; a Rényi curve (``rdp``, at the orders of `ORDERS`); a privacy loss distribution (``pld``, by
dp-accounting). No function here takes a count: repetition is composition, which accounting.py does for all events.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PureRelease,
    ThresholdedVocabulary,
)

Floats: TypeAlias = npt.NDArray[np.float64]
Distribution: TypeAlias = Any
"""dp-accounting's PrivacyLossDistribution; the package is loaded only when one is built (it takes two seconds)."""

ORDERS: Floats = np.concatenate(
    [1 + np.logspace(-4, -0.02, 80), np.arange(2.0, 33), np.round(np.geomspace(36, 2048, 30)), [4e3, 1e4, 3e4, 1e5]]
)
MAX_SAMPLED_ORDER = 2048
"""Above this order the binomial sum of a sampled Gaussian takes more time than it is worth."""
SAMPLING_DISTANCE = 2.0**-159  # [sampling]
"""Total variation between one drawn value of discrete Gaussian noise and its law, at most (``kernels/noise/tables.py``,
which this package does not import)."""
SAMPLING_RATIO = 2.0**-80
"""The largest relative error of the probability of a drawn value of discrete Laplace noise."""
DISCRETE_CELL = 5e-34
"""The largest relative difference of a cell's discrete Gaussian from a randomised rounding of a continuous one."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of one event. If a theory cannot express it, it is infinite there, or None for the distribution.

    ``precision`` is 1/σ² of an unsampled Gaussian: these compose by adding precisions, so such an event has no other
    curve. ``outside_epsilon`` and ``outside_delta`` are added to the result whatever the theory; ``values`` are
    drawn numbers that neighbours may move, each within `SAMPLING_DISTANCE` of its law. ``spread`` is about the standard
    deviation of the privacy loss; it chooses the grid of the distribution and nothing else. ``tight`` is
    False when the distribution dominates the event without being attained, so that the Rényi curve may win.
    """

    pure: float = math.inf
    rdp: Floats | None = None
    pld: Callable[[float], Distribution] | None = None
    precision: float = 0.0
    spread: float = 0.0
    tight: bool = True
    outside_epsilon: float = 0.0
    outside_delta: float = 0.0
    values: int = 0


@lru_cache(maxsize=256)
def cost(event: Event) -> Cost:
    """What ``event`` costs once."""
    return _cost(event)


@singledispatch
def _cost(event: Event) -> Cost:
    """The cost of an unknown event, or of a release without protection: infinite."""
    return Cost()


@_cost.register
def _(event: GaussianRelease) -> Cost:
    return _gaussian(event.sigma, event.sampling_rate, cells=0)


@_cost.register
def _(event: DiscreteGaussianRelease) -> Cost:
    return _gaussian(event.sigma, event.sampling_rate, cells=event.cells)


@_cost.register
def _(event: ThresholdedVocabulary) -> Cost:
    """Only the unit's own words differ between neighbours, so the discrete correction counts ``max_words`` cells."""
    discrete = event.scale is not None
    shrink = math.sqrt(1 - 4 / event.scale**2) if event.scale is not None else 1.0
    gaussian = _gaussian(event.sigma * shrink, 1.0, cells=event.max_words if discrete else 0)
    return Cost(
        precision=gaussian.precision,
        outside_epsilon=gaussian.outside_epsilon - math.log1p(-event.delta_threshold),  # [vocabulary]
        outside_delta=gaussian.outside_delta + event.delta_threshold,
        values=gaussian.values,
    )


def _gaussian(sigma: float, rate: float, *, cells: int) -> Cost:
    drift = cells * DISCRETE_CELL  # [discrete-gaussian]
    if rate == 1:
        return Cost(precision=sigma**-2, outside_epsilon=2 * drift, outside_delta=drift, values=cells)
    grown = math.expm1(min(sigma**-2, 50.0))
    return Cost(
        rdp=_sampled_curve(sigma, rate),
        pld=lambda step: gaussian_distribution(sigma, rate, step),
        spread=math.sqrt(min(rate**2 * grown, rate * sigma**-2)),
        outside_epsilon=2 * drift,
        outside_delta=drift,
        values=cells,
    )


@_cost.register
def _(event: LaplaceRelease) -> Cost:
    def pld(step: float) -> Distribution:
        from dp_accounting.pld import privacy_loss_distribution  # type: ignore[import-untyped]

        return privacy_loss_distribution.from_laplace_mechanism(event.scale, value_discretization_interval=step)

    epsilon, a = 1 / event.scale, ORDERS
    up = np.log(a / (2 * a - 1)) + (a - 1) * epsilon
    down = np.log((a - 1) / (2 * a - 1)) - a * epsilon
    return Cost(pure=epsilon, rdp=np.minimum(np.logaddexp(up, down) / (a - 1), epsilon), pld=pld, spread=epsilon)


@_cost.register
def _(event: DiscreteLaplacePair) -> Cost:
    """Twice the two-point mechanism: a discrete Laplace of sensitivity 1 has only the losses ±ε/2."""
    half = event.epsilon / 2  # [pair]
    return Cost(
        pure=event.epsilon,
        rdp=2 * _two_point_curve(half),
        pld=lambda step: _two_point_distribution(half, step).self_compose(2),
        spread=event.epsilon / math.sqrt(2),
        outside_epsilon=4 * SAMPLING_RATIO,  # two cells, each in both worlds
    )


@_cost.register
def _(event: DiscreteLaplaceRelease) -> Cost:
    """Pure, and no worse than any mechanism of that ε: how the ℓ₁ norm lies in the cells is not known."""
    epsilon = event.sensitivity / event.scale  # [laplace-vector]
    return Cost(
        pure=epsilon,
        rdp=_two_point_curve(epsilon),
        pld=lambda step: _two_point_distribution(epsilon, step),
        spread=epsilon,
        outside_epsilon=2 * event.cells * SAMPLING_RATIO,  # each cell, in both worlds
    )


@_cost.register
def _(event: PureRelease) -> Cost:
    """Of all ε-private mechanisms the two-point one (randomised response) is the worst."""
    epsilon = event.epsilon
    return Cost(
        pure=epsilon,
        rdp=_two_point_curve(epsilon),  # [pure]
        pld=lambda step: _two_point_distribution(epsilon, step),
        spread=epsilon,
    )


@_cost.register
def _(event: BoundedRangeDraw) -> Cost:
    """The distribution belongs to a pair whose curve is the worst δ at every ε; no single draw attains it at all ε."""
    eta = event.eta
    return Cost(
        pure=eta,
        rdp=bounded_range_rdp(eta, ORDERS),
        pld=lambda step: _connect(
            lambda epsilons: np.expm1(np.minimum(0, (epsilons - eta) / 2)) ** 2 / -math.expm1(-eta), eta, step
        ),
        spread=eta / math.sqrt(3),
        tight=False,  # [bounded-range-pld]
    )


# --- curves -----------------------------------------------------------------------------------------------------------


def gaussian_distribution(sigma: float, rate: float, step: float) -> Distribution:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        sigma, value_discretization_interval=step, sampling_prob=rate
    )


def bounded_range_rdp(eta: float, orders: Floats) -> Floats:
    """max over 0 < t < η of log[q·e^{αt} + (1−q)·e^{α(t−η)}]/(α−1), q = (1−e^{t−η})/(e^t−e^{t−η}), in closed form.

    Never above η (pure) nor αη²/8 (zCDP), which also bound what rounding could add for small η.
    """
    a = np.asarray(orders, dtype=np.float64)
    high = -np.expm1(-a * eta)
    best = np.log(a - 1) - np.log(a) + np.log(high) + eta - np.log(-np.expm1(-(a - 1) * eta))  # the worst t
    moment = (a - 1) * best + np.log(high) - np.log(a) - math.log(-math.expm1(-eta))
    # [bounded-range-rdp]
    exact = (moment + 1e-14 * (1 + np.abs(a * best))) / (a - 1)
    return np.minimum(exact, np.minimum(eta, a * eta**2 / 8))


def sampled_gaussian_rdp(sigma: float, rate: float, order: int) -> float:
    """Poisson-sampled Gaussian at an integer order, add/remove (Mironov, Talwar and Zhang 2019, section 3.3)."""
    from scipy.special import gammaln

    k = np.arange(order + 1)
    log_binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    log_terms = log_binomial + k * math.log(rate) + (order - k) * math.log1p(-rate) + (k * k - k) / (2 * sigma**2)
    largest = float(log_terms.max())  # [sampled]
    return (largest + math.log(float(np.exp(log_terms - largest).sum()))) / (order - 1)


def _sampled_curve(sigma: float, rate: float) -> Floats:
    """A Rényi curve never falls, so an order between two whole ones costs at most what the next whole one costs."""
    whole = np.ceil(ORDERS).astype(int)
    known = {n: sampled_gaussian_rdp(sigma, rate, n) for n in sorted(set(whole.tolist())) if n <= MAX_SAMPLED_ORDER}
    return np.array([known.get(n, math.inf) for n in whole.tolist()])


def _two_point_curve(epsilon: float) -> Floats:
    a = ORDERS
    log_p, log_r = -np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)
    moment = np.logaddexp(a * log_p + (1 - a) * log_r, a * log_r + (1 - a) * log_p)
    curve: Floats = np.minimum(moment / (a - 1), epsilon)
    return curve


def _two_point_distribution(epsilon: float, step: float) -> Distribution:
    """In place of dp-accounting's, which rounds the loss up to the grid: 5–13% more ε for 100 small pairs
    (measured)."""
    likely = 1 / (1 + math.exp(-epsilon))
    return _connect(lambda at: -likely * np.expm1(at - epsilon), epsilon, step)


def _connect(deltas: Callable[[Floats], Floats], reach: float, step: float) -> Distribution:
    """The distribution with these δ on the grid and straight lines between them, so never below the true curve.

    ``deltas`` is valid for |ε| ≤ ``reach``; below that δ is 1 − e^ε for every mechanism, and above it is 0 for this
    one.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    last = math.ceil(reach / step)
    epsilons = np.arange(-last, last + 1) * step
    inside = np.clip(epsilons, -reach, reach)
    at = np.where(epsilons < -reach, -np.expm1(epsilons), np.where(epsilons >= reach, 0.0, deltas(inside)))
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, at)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)

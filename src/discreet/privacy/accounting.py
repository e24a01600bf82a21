"""Entries → (ε, δ), by the tightest theory that is valid for all of them. Proofs: ``accounting.proof.md``.

Equal events are counted together before anything is computed, so n charges of one event cost exactly as much as one
charge of n events, in any order. Gaussians without sampling merge into one. Everything else becomes one privacy loss
distribution per distinct event, composed with itself ``count`` times at once (round by round would cost tens of
milliseconds per round).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from discreet._errors import InputError
from discreet.privacy.costs import ORDERS, SAMPLING_DISTANCE, Cost, Distribution, Floats, cost, gaussian_distribution
from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import rounded_up

Parts: TypeAlias = tuple[tuple[Event, int], ...]

GRID = 8
"""Grid steps of a distribution per standard deviation of one event's loss: ε is then about 0.1% above the truth."""
MAX_STEP = 1.0
HOPELESS = 2000.0
"""Beyond this ε a distribution is not worth its memory: no accounting would show any protection."""
ROUNDING = 2e-16
"""Error in δ of a distribution in float64, per composition: five times the worst that was measured (see the proof)."""

REPEATS = 20
"""Steps of the search for an ε that covers sampling. One is enough unless ε is close to the largest that can be
covered."""

CURVE_ROUNDING = 1e-14
"""Error of a Rényi curve in float64, per event: twice the worst that was measured (see the proof)."""


@dataclass(frozen=True)
class Spent:
    """An (ε, δ) that holds, and the theory that gave it: nothing, pure, rdp, pld, a sum of two, or none."""

    epsilon: float
    delta: float
    method: str

    def __str__(self) -> str:
        return f"ε = {rounded_up(self.epsilon, 4)} at δ = {self.delta:g} ({self.method})"


def spent(entries: Iterable[Entry], delta: float) -> Spent:
    """The smallest ε that is valid at ``delta``. Infinite when no theory gives one."""
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1; found {delta}.")
    return _spent(_parts(entries), float(delta))


def epsilon(entries: Iterable[Entry], delta: float) -> float:
    """The smallest ε that is valid at ``delta``."""
    return spent(entries, delta).epsilon


def delta(entries: Iterable[Entry], epsilon: float) -> float:
    """The smallest δ that is valid at ``epsilon``; 1 when no theory gives a smaller one."""
    if not epsilon >= 0:
        raise InputError(f"epsilon must be at least 0; found {epsilon}.")
    parts = _parts(entries)
    if not parts:
        return 0.0
    total = _total(parts)
    inside = epsilon - total.outside_epsilon
    if inside < 0:
        return 1.0
    ways = [total.pure_delta(inside), total.rdp_delta(inside), total.pld_delta(inside)]
    ways += [_invert(lambda d: _split(parts, d).epsilon, inside)]
    return min(1.0, min(ways) + total.outside_delta + total.sampling_delta(epsilon))


# --- composition ------------------------------------------------------------------------------------------------------


def _parts(entries: Iterable[Entry]) -> Parts:
    """Distinct events with their counts, in an order that does not depend on when they were charged."""
    counts: Counter[Event] = Counter()
    for entry in entries:
        counts[entry.event] += entry.count
    return tuple(sorted(counts.items(), key=lambda part: repr(part[0])))


@lru_cache(maxsize=1024)
def _spent(parts: Parts, delta: float) -> Spent:
    if not parts:
        return Spent(0.0, delta, "nothing")
    total = _total(parts)
    inside = delta - total.outside_delta
    found = _best(parts, inside)
    for _ in range(REPEATS):  # the share of δ for sampling grows with ε: repeat until it is covered
        again = _best(parts, inside - total.sampling_delta(found.epsilon))
        if again.epsilon <= found.epsilon:
            return Spent(again.epsilon, delta, again.method)
        found = again
    return Spent(math.inf, delta, "none")


@lru_cache(maxsize=1024)
def _best(parts: Parts, delta: float) -> Spent:
    """The smallest ε that any theory gives, if noise had exactly its law."""
    if delta < 0:
        return Spent(math.inf, delta, "none")
    total = _total(parts)
    best = min([*total.ways(delta), _split(parts, delta)], key=lambda way: way.epsilon)
    if best.epsilon == math.inf:
        return Spent(math.inf, delta, "none")
    return Spent(best.epsilon + total.outside_epsilon, delta, best.method)


def _split(parts: Parts, delta: float) -> Spent:
    """Events whose distribution is not tight are accounted for by Rényi curve or sum, the others by distribution."""
    loose = tuple(part for part in parts if not cost(part[0]).tight)
    others = tuple(part for part in parts if cost(part[0]).tight)
    if not loose or not others or delta <= 0:
        return Spent(math.inf, delta, "none")
    draws, rest = _total(loose), _total(others)
    shared = rest.pld_epsilon(delta / 2) + draws.rdp_epsilon(delta / 2)
    alone = rest.pld_epsilon(delta) + draws.pure
    return Spent(shared, delta, "pld + rdp") if shared <= alone else Spent(alone, delta, "pld + pure")


class _Total:
    """A composition, without the costs that lie outside the theories."""

    def __init__(self, parts: Parts) -> None:
        self._costs: list[tuple[Cost, int]] = [(cost(event), count) for event, count in parts]
        self.outside_epsilon = math.fsum(n * c.outside_epsilon for c, n in self._costs)
        self.outside_delta = math.fsum(n * c.outside_delta for c, n in self._costs)
        self.values = sum(n * c.values for c, n in self._costs)
        self.precision = math.fsum(n * c.precision for c, n in self._costs)
        self._rest = [(c, n) for c, n in self._costs if not c.precision]
        self.pure = math.inf if self.precision else math.fsum(n * c.pure for c, n in self._rest)
        self._rdp = ORDERS * self.precision / 2
        for c, n in self._rest:
            self._rdp = self._rdp + (n * _above_rounding(c.rdp) if c.rdp is not None else math.inf)

    def sampling_delta(self, epsilon: float) -> float:
        """The increase of δ at ``epsilon`` because each value is drawn from a law that differs slightly from the exact
        one."""
        if not self.values:
            return 0.0
        return (1 + math.exp(epsilon)) * self.values * SAMPLING_DISTANCE if epsilon < 700 else math.inf

    def ways(self, delta: float) -> list[Spent]:
        return [
            Spent(self.pure, delta, "pure"),
            Spent(self.rdp_epsilon(delta), delta, "rdp"),
            Spent(self.pld_epsilon(delta), delta, "pld"),
        ]

    def pure_delta(self, epsilon: float) -> float:
        return 0.0 if self.pure <= epsilon else 1.0

    def rdp_epsilon(self, delta: float) -> float:
        """Canonne, Kamath and Steinke 2020, proposition 12."""
        if delta <= 0:
            return math.inf
        at_order = self._rdp + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)
        return max(0.0, float(at_order.min()))

    def rdp_delta(self, epsilon: float) -> float:
        log_delta = (ORDERS - 1) * (self._rdp - epsilon + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        return math.exp(min(0.0, float(log_delta.min())))

    @property
    def _rounding(self) -> float:
        return ROUNDING * (8 + sum(n for _, n in self._rest))

    def pld_epsilon(self, delta: float) -> float:
        if delta <= 4 * self._rounding or self._distribution is None:
            return math.inf
        return float(self._distribution.get_epsilon_for_delta(delta - self._rounding))

    def pld_delta(self, epsilon: float) -> float:
        if self._distribution is None:
            return 1.0
        return float(self._distribution.get_delta_for_epsilon(epsilon)) + self._rounding

    @cached_property
    def _distribution(self) -> Distribution | None:
        hopeless = min(self.pure, self.rdp_epsilon(1e-6)) > HOPELESS
        if hopeless or any(c.pld is None for c, _ in self._rest):
            return None
        step = self._step()
        composed = gaussian_distribution(self.precision**-0.5, 1.0, step) if self.precision else None
        for c, n in self._rest:
            assert c.pld is not None
            one = c.pld(step)
            many = one if n == 1 else one.self_compose(n)
            composed = many if composed is None else composed.compose(many)
        return composed

    def _step(self) -> float:
        """A power of two, so that equal events have equal grids in different compositions."""
        n = bool(self.precision) + sum(n for _, n in self._rest)
        variance = (self.precision + math.fsum(n * c.spread**2 for c, n in self._rest)) / n
        grid = GRID * max(1.0, 8 / math.sqrt(n))  # few events can afford a finer one
        return min(MAX_STEP, 2.0 ** math.floor(math.log2(math.sqrt(variance) / grid)))


def _above_rounding(rdp: Floats) -> Floats:
    """An upper bound on the true curve: each of 10¹⁵ tiny events may be rounded to zero or below."""
    slack = CURVE_ROUNDING * (1 + rdp + 1 / (ORDERS - 1))
    return np.asarray(np.maximum(rdp, 0) + slack)


@lru_cache(maxsize=32)
def _total(parts: Parts) -> _Total:
    return _Total(parts)


def _invert(epsilon_at: Callable[[float], float], epsilon: float) -> float:
    """The smallest δ at which a falling function of δ is at most ``epsilon``, to 1%, from above."""
    low, high = math.log(1e-30), 0.0
    if not epsilon_at(0.5) <= epsilon:
        return 1.0
    high = math.log(0.5)
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon_at(math.exp(middle)) <= epsilon else (middle, high)
    return math.exp(high)

"""The bound for those who trust the kind of noise, and only ask how much of it there is.

A bound on (ε, δ) for all mechanisms at once must be careful: a mechanism could hide its leak in events that are rarer
than any audit can count, and at δ = 1e-6 the ε of Gaussian noise is decided by such events. If the releases are of the
kind that was charged, and only their length over the noise is other by a factor λ, then common events say how large λ
is, and the accountant says which ε belongs to it (Nasr et al. 2023, "Tight auditing of differentially private machine
learning", for plain Gaussians). This bound is tight, and conditional: it does not refute a promise by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from discreet.attacks.audit.bounds import Inverse, curve
from discreet.privacy import accounting
from discreet.privacy.events import DiscreteGaussianRelease, Entry

FACTORS = (1 / 32, 4.0)
STEPS = 12
"""Halvings between them: λ to 0.1%."""

LEVELS = 40
"""Points of a trade-off curve."""


def scaled(entries: tuple[Entry, ...], factor: float) -> tuple[Entry, ...]:
    """The same releases, with contributions ``factor`` times as long."""
    return tuple(_scaled(entry, factor) for entry in entries)


def _scaled(entry: Entry, factor: float) -> Entry:
    event = entry.event
    assert isinstance(event, DiscreteGaussianRelease)
    return replace(entry, event=replace(event, sensitivity=factor * event.sensitivity))


def is_family(entries: tuple[Entry, ...]) -> bool:
    return bool(entries) and all(isinstance(entry.event, DiscreteGaussianRelease) for entry in entries)


@lru_cache(maxsize=64)
def trade_off(entries: tuple[Entry, ...]) -> Inverse:
    """The curve of all (ε, δ) that the accountant gives."""
    farthest = accounting.epsilon(entries, 1e-9)
    epsilons = np.concatenate([[0.0], np.geomspace(farthest / 500, farthest, LEVELS)])
    deltas = np.array([accounting.delta(entries, float(epsilon)) for epsilon in epsilons])
    return curve(epsilons, deltas)


def least_epsilon(entries: tuple[Entry, ...], delta: float, refutes: Callable[[Inverse], bool]) -> float:
    """ε at ``delta`` of the least λ that is not refuted; 0 if none is."""
    low, high = FACTORS
    if not refutes(trade_off(scaled(entries, low))):
        return 0.0
    if refutes(trade_off(scaled(entries, high))):
        return accounting.epsilon(scaled(entries, high), delta)
    for _ in range(STEPS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if refutes(trade_off(scaled(entries, middle))) else (low, middle)
    return accounting.epsilon(scaled(entries, low), delta)

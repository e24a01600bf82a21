"""The one place where central noise is drawn: charge first, then noise, then let go."""

from __future__ import annotations

from discreet._errors import InputError, Overdrawn
from discreet._random import Key
from discreet._types import IntArray
from discreet.mechanisms.noise import add_discrete_gaussian, add_discrete_laplace
from discreet.privacy.events import DiscreteGaussianRelease, DiscreteLaplacePair, Event
from discreet.privacy.ledger import Reservation


def release_sum(
    cells: IntArray,
    event: DiscreteGaussianRelease | DiscreteLaplacePair,
    reservation: Reservation,
    *,
    key: Key,
    number: int,
    n_threads: int = 1,
) -> IntArray:
    """Noise in every cell of a sum over units, in place; the result may leave.

    ``cells`` are whole numbers, and the caller answers for what the event says of neighbours: for a Gaussian it has
    checked in whole numbers that one unit moves them by at most ``event.sensitivity`` in ℓ₂; for a Laplace pair, that
    they differ by one in at most two cells. The event is drawn from ``reservation``, which the ledger has been charged
    for, before any noise is. ``number`` counts the releases of the reservation from 1, and no other is accepted: the
    difference of two releases with the same noise is the difference of the data. (One key, one reservation.)
    """
    if isinstance(event, DiscreteGaussianRelease) and cells.size != event.cells:
        raise InputError(f"{event.cells:,} cells were charged, but {cells.size:,} are to be released.")
    scale = event.scale if isinstance(event, DiscreteGaussianRelease) else 2 / event.epsilon
    add_charged_noise(cells, scale, event, reservation, key=key, number=number, n_threads=n_threads)
    return cells


def add_charged_noise(
    cells: IntArray,
    scale: float,
    event: Event,
    reservation: Reservation,
    *,
    key: Key,
    number: int,
    n_threads: int = 1,
) -> None:
    """Draw ``event`` from what was charged, then noise of ``scale`` steps for every cell (Laplace for a pair)."""
    reservation.draw(event=event)  # [charge] raises if this release was not paid for
    upto = sum(entry.count for entry in reservation.plan) - reservation.left
    if number != upto:  # [fresh]
        raise Overdrawn(f"release {upto} was to be drawn with the noise of release {number}.")
    add = add_discrete_laplace if isinstance(event, DiscreteLaplacePair) else add_discrete_gaussian
    add(cells, scale, key, number, n_threads)  # [noise] fresh, in every cell

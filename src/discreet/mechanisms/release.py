"""The one place where central noise is drawn: charge first, then add noise, then release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from discreet._errors import InputError, Overdrawn
from discreet._random import Key
from discreet._types import IntArray
from discreet.mechanisms.noise import add_discrete_gaussian, add_discrete_laplace
from discreet.privacy.events import (
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    ThresholdedVocabulary,
)
from discreet.privacy.ledger import Reservation

Event: TypeAlias = DiscreteGaussianRelease | DiscreteLaplacePair | DiscreteLaplaceRelease | ThresholdedVocabulary


class Released(NamedTuple):
    """One release as the observer *statistics* of a guarantee sees it: its noisy cells, and how they were made."""

    event: Event
    cells: IntArray


_observers: ContextVar[tuple[Callable[[Released], None], ...]] = ContextVar("observers", default=())


@contextmanager
def observed(observer: Callable[[Released], None]) -> Iterator[None]:
    """Call ``observer`` with a copy of every release that is made in this block, after its noise was drawn.

    For audits, and for whoever wants to keep what a fit releases on its way to the topics. It can see nothing that the
    guarantee does not already count as seen, and what it returns is ignored. The noisy weights of a vocabulary are not
    among them: only the words that pass are released.

    >>> seen: list[Released] = []
    >>> with observed(seen.append):
    ...     pass  # fit a model
    """
    token = _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:
        _observers.reset(token)


class Releases:
    """The releases of one run, in order. It numbers them: release n takes the noise of number n, and no other.

    The difference of two releases with the same noise is the difference of the data. So a run has one ``key``, one
    ``reservation`` and one `Releases`; a resumed run has a fresh key, and its numbers start at 1 again.
    """

    def __init__(self, reservation: Reservation, key: Key, n_threads: int = 1) -> None:
        self._reservation, self._key, self._n_threads = reservation, key, n_threads
        self._number = 0

    def release(self, cells: IntArray, event: Event) -> IntArray:
        """Add noise to every cell of a sum over units, in place; the result may be published (of a vocabulary: what
        passes).

        ``cells`` are whole numbers, and the caller ensures what the event states about neighbours: for a Gaussian it
        has checked in whole numbers that one unit moves them by at most ``event.sensitivity`` in ℓ₂; for Laplace noise,
        in ℓ₁; for a Laplace pair, that they differ by one in at most two cells. Before any noise is drawn, the event is
        drawn from the reservation, which the ledger has been charged for.
        """
        if isinstance(event, DiscreteGaussianRelease | DiscreteLaplaceRelease) and cells.size != event.cells:
            raise InputError(f"{event.cells:,} cells were charged, but {cells.size:,} are to be released.")
        scale = 2 / event.epsilon if isinstance(event, DiscreteLaplacePair) else event.scale
        assert scale is not None  # a vocabulary without a grid can be accounted for, but is never drawn
        self._reservation.draw(event=event)  # [charge] raises if this release was not paid for
        self._number += 1
        if self._number != self._reservation.drawn:  # [fresh]
            raise Overdrawn(
                f"release {self._reservation.drawn} was to be drawn with the noise of release {self._number}."
            )
        laplace = isinstance(event, DiscreteLaplacePair | DiscreteLaplaceRelease)
        add = add_discrete_laplace if laplace else add_discrete_gaussian
        add(cells, scale, self._key, self._number, self._n_threads)  # [noise] fresh, in every cell
        if not isinstance(event, ThresholdedVocabulary):  # what does not pass its threshold stays private
            for observer in _observers.get():
                observer(Released(event, cells.copy()))
        return cells

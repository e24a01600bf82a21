"""The one place where central noise is drawn: charge first, then add noise, then release."""

from __future__ import annotations

from discreet._errors import InputError, Overdrawn
from discreet._random import Key
from discreet._types import IntArray
from discreet.mechanisms.noise import add_discrete_gaussian, add_discrete_laplace
from discreet.privacy.events import DiscreteGaussianRelease, DiscreteLaplacePair, ThresholdedVocabulary
from discreet.privacy.ledger import Reservation


class Releases:
    """The releases of one run, in order. It numbers them: release n takes the noise of number n, and no other.

    The difference of two releases with the same noise is the difference of the data. So a run has one ``key``, one
    ``reservation`` and one `Releases`; a resumed run has a fresh key, and its numbers start at 1 again.
    """

    def __init__(self, reservation: Reservation, key: Key, n_threads: int = 1) -> None:
        self._reservation, self._key, self._n_threads = reservation, key, n_threads
        self._number = 0

    def release(
        self, cells: IntArray, event: DiscreteGaussianRelease | DiscreteLaplacePair | ThresholdedVocabulary
    ) -> IntArray:
        """Add noise to every cell of a sum over units, in place; the result may be published (of a vocabulary: what
        passes).

        ``cells`` are whole numbers, and the caller ensures what the event states about neighbours: for a Gaussian it
        has checked in whole numbers that one unit moves them by at most ``event.sensitivity`` in ℓ₂; for a Laplace
        pair, that they differ by one in at most two cells. Before any noise is drawn, the event is drawn from the
        reservation, which the ledger has been charged for.
        """
        if isinstance(event, DiscreteGaussianRelease) and cells.size != event.cells:
            raise InputError(f"{event.cells:,} cells were charged, but {cells.size:,} are to be released.")
        scale = 2 / event.epsilon if isinstance(event, DiscreteLaplacePair) else event.scale
        assert scale is not None  # a vocabulary without a grid can be accounted for, but is never drawn
        self._reservation.draw(event=event)  # [charge] raises if this release was not paid for
        self._number += 1
        if self._number != self._reservation.drawn:  # [fresh]
            raise Overdrawn(
                f"release {self._reservation.drawn} was to be drawn with the noise of release {self._number}."
            )
        add = add_discrete_laplace if isinstance(event, DiscreteLaplacePair) else add_discrete_gaussian
        add(cells, scale, self._key, self._number, self._n_threads)  # [noise] fresh, in every cell
        return cells

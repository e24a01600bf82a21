"""Who pays for the rounds of a private fit, and when: always before their noise is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from discreet._errors import DiscreetError
from discreet.privacy.events import Entry, Event
from discreet.privacy.ledger import Ledger, Reservation, new_run
from discreet.training.checkpoint import Checkpoint


class Payment:
    """The ledger is charged for the whole plan at once, or stage by stage where there is a checkpoint.

    ``before`` is released ahead of the first round. ``owed`` was released elsewhere and is charged here too. ``method``
    names the model in a budget file.
    """

    def __init__(
        self,
        ledger: Ledger,
        before: Sequence[Entry],
        rounds: Sequence[Event],
        *,
        owed: Sequence[Entry] = (),
        checkpoint: Checkpoint | None = None,
        every: int = 1,
        label: str = "",
        method: str | None = None,
    ) -> None:
        self._ledger, self._rounds, self._checkpoint, self._every = ledger, rounds, checkpoint, every
        self._label, self._method = label, method
        self._run = new_run() if checkpoint is None else checkpoint.id
        self.reservation = Reservation(())
        if checkpoint is None:
            self.done, self._paid = 0, len(rounds)
            self._charge((*before, *self._entries(0, len(rounds)), *owed))
            return
        self.done = int(checkpoint.state.get("round", 0))
        self._paid = int(checkpoint.state["paid"]) if checkpoint.untouched else self.done
        first = () if self.done else tuple(before)
        owed = () if checkpoint.spent else tuple(owed)
        ahead = (*owed, *first, *(self._entries(self._paid, len(rounds)) if self._paid < len(rounds) else ()))
        try:
            if ahead:
                ledger.would_take(ahead)  # rather now than half-way
        except DiscreetError:
            if not checkpoint.spent:
                checkpoint.remove()
            raise
        if checkpoint.untouched:  # [unused] paid for before a stop that was asked for, and not drawn since
            checkpoint.begin_again()
            self._take(self._entries(self.done, self._paid))
            return
        if owed:
            ledger.reserve(owed, run=self._run, method=method)
            checkpoint.note(owed)
        self._pay(first)

    def open_round(self, number: int, state: Callable[[], Mapping[str, Any]]) -> None:
        """Before round ``number``: at the start of a stage, save the state, then pay for the stage."""
        if number > self._paid and self._checkpoint is not None:
            self.save(number - 1, state)
            self._pay()

    def save(self, done: int, state: Callable[[], Mapping[str, Any]]) -> None:
        """After round ``done``, when nothing is being drawn: a run that stops now repeats nothing. Without a
        checkpoint there is nothing to save."""
        if self._checkpoint is not None:
            self._checkpoint.save({**state(), "round": done, "paid": self._paid})

    def pause(self, state: Callable[[], Mapping[str, Any]]) -> Callable[[int], None] | None:
        """What to call with the number of the last round of a run that stops; None where nothing is kept."""
        return None if self._checkpoint is None else lambda done: self.save(done, state)

    def settle(self) -> None:
        """After the last round: one that ended early is charged for all, since whether it would was open."""
        if self._paid < len(self._rounds):
            assert self._checkpoint is not None
            rest = self._entries(self._paid, len(self._rounds))
            self._charge(rest)
            self._checkpoint.note(rest)
            self._paid = len(self._rounds)

    def _pay(self, before: tuple[Entry, ...] = ()) -> None:
        assert self._checkpoint is not None
        last = min(self._paid + self._every, len(self._rounds))
        entries = (*before, *self._entries(self._paid, last))
        if not entries:  # a run that was lost after its last round
            return
        self._charge(entries)  # [stage] charged, then noted, and only then drawn
        self._checkpoint.note(entries)
        self._paid = last

    def _charge(self, entries: tuple[Entry, ...]) -> None:
        self._ledger.reserve(entries, run=self._run, method=self._method)
        self._take(entries)

    def _take(self, entries: tuple[Entry, ...]) -> None:
        """What was charged may be drawn."""
        self.reservation.add(Reservation(entries))

    def _entries(self, first: int, last: int) -> tuple[Entry, ...]:
        return tuple(Entry(event, len(list(same)), self._label) for event, same in groupby(self._rounds[first:last]))

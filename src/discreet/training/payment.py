"""Charges a ledger for the rounds of a private fit, always before their noise is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet._errors import DiscreetError
from discreet.privacy.events import Entry
from discreet.privacy.ledger import Ledger, Reservation, new_run
from discreet.training.checkpoint import Checkpoint


class Payment:
    """The ledger is charged for the whole plan at once, or stage by stage if there is a checkpoint.

    ``rounds`` are the entries of ``n_rounds`` releases in order, or of one more: the last round is then paid together
    with a release after it. ``draws`` are the entries of as many draws without noise, if rounds have them.
    ``preliminary`` is released before the first round. ``owed`` was released elsewhere and is charged here too.
    ``method`` names the model in a budget file. Releases are drawn from ``reservation``, draws from
    ``draw_reservation``: they alternate, and noise is numbered by releases alone.
    """

    def __init__(
        self,
        ledger: Ledger,
        n_rounds: int,
        rounds: Sequence[Entry],
        *,
        draws: Sequence[Entry] = (),
        preliminary: Sequence[Entry] = (),
        owed: Sequence[Entry] = (),
        checkpoint: Checkpoint | None = None,
        every: int = 1,
        method: str | None = None,
    ) -> None:
        self._ledger, self._n_rounds, self._rounds, self._draws = ledger, n_rounds, rounds, draws
        self._checkpoint, self._every, self._method = checkpoint, every, method
        self._run = new_run() if checkpoint is None else checkpoint.id
        self.reservation, self.draw_reservation = Reservation(()), Reservation(())
        if checkpoint is None:
            self.done, self._paid = 0, n_rounds
            self._charge(0, n_rounds, preliminary, owed)
            return
        self.done = int(checkpoint.state.get("round", 0))
        self._paid = int(checkpoint.state["paid"]) if checkpoint.untouched else self.done
        first = () if self.done else tuple(preliminary)
        owed = () if checkpoint.spent else tuple(owed)
        ahead = (*owed, *first, *(self._entries(self._paid, n_rounds) if self._paid < n_rounds else ()))
        try:
            if ahead:
                ledger.would_take(ahead)  # fail now rather than half-way
        except DiscreetError:
            if not checkpoint.spent:
                checkpoint.remove()
            raise
        if checkpoint.untouched:  # [unused] paid for before a requested stop, and not drawn since
            checkpoint.begin_again()
            self._take(self.done, self._paid)
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
        """Save the state after round ``done``, when nothing is being drawn: a run that stops now repeats nothing.
        Without a checkpoint, do nothing."""
        if self._checkpoint is not None:
            self._checkpoint.save({**state(), "round": done, "paid": self._paid})

    def pause(self, state: Callable[[], Mapping[str, Any]]) -> Callable[[int], None] | None:
        """A function to call with the number of the last round when a run stops; None without a checkpoint."""
        return None if self._checkpoint is None else lambda done: self.save(done, state)

    def settle(self) -> None:
        """After the last round: a run that ended early is charged for all rounds, since the early end was not
        planned."""
        if self._paid < self._n_rounds:
            assert self._checkpoint is not None
            self._checkpoint.note(self._charge(self._paid, self._n_rounds))
            self._paid = self._n_rounds

    def _pay(self, preliminary: Sequence[Entry] = ()) -> None:
        assert self._checkpoint is not None
        last = min(self._paid + self._every, self._n_rounds)
        if not preliminary and not self._entries(self._paid, last):  # the run was interrupted after its last round
            return
        charged = self._charge(self._paid, last, preliminary)  # [stage] charged, then noted, and only then drawn
        self._checkpoint.note(charged)
        self._paid = last

    def _charge(
        self, done: int, last: int, preliminary: Sequence[Entry] = (), owed: Sequence[Entry] = ()
    ) -> tuple[Entry, ...]:
        entries = (*preliminary, *self._entries(done, last), *owed)
        self._ledger.reserve(entries, run=self._run, method=self._method)
        self._take(done, last, preliminary)
        return entries

    def _take(self, done: int, last: int, preliminary: Sequence[Entry] = ()) -> None:
        """Allow what was charged to be drawn."""
        self.reservation.add(Reservation((*preliminary, *self._part(self._rounds, done, last))))
        self.draw_reservation.add(Reservation(self._part(self._draws, done, last)))

    def _entries(self, done: int, last: int) -> tuple[Entry, ...]:
        return *self._part(self._rounds, done, last), *self._part(self._draws, done, last)

    def _part(self, entries: Sequence[Entry], done: int, last: int) -> tuple[Entry, ...]:
        """The part of ``entries``, in order, that rounds ``done`` + 1 to ``last`` use; the last round of all takes the
        rest."""
        found, start = [], 0
        for entry in entries:
            end = entry.count if last == self._n_rounds else min(last - start, entry.count)
            if (count := end - max(done - start, 0)) > 0:
                found.append(replace(entry, count=count))
            start += entry.count
        return tuple(found)

"""Ledger: what was charged for one data set, and whether more may be charged.

Check first, charge second, draw noise last. A ledger only grows: nothing gives budget back, neither cloning nor copying
nor a checkpoint. It is kept in memory; `BudgetFile` is the same on disk, and a ledger may use one.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet._errors import BudgetExceeded, InputError, Overdrawn
from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import Relation, Unit, rounded_up

if TYPE_CHECKING:
    from discreet.privacy.accounting import Spent
    from discreet.privacy.budget import BudgetFile

FORGIVEN = 1e-12
"""Relative tolerance: three thirds of a budget are the whole of it, despite float64 rounding."""


@dataclass(frozen=True)
class Budget:
    """The most that may be spent."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"the {name} of a budget must be a number; found {value!r}.")
            object.__setattr__(self, name, float(value))
        if not 0 < self.epsilon < math.inf or not 0 <= self.delta < 1:
            raise InputError(
                f"a budget needs a positive, finite epsilon and 0 <= delta < 1; found epsilon={self.epsilon:g}, "
                f"delta={self.delta:g}."
            )

    def covers(self, epsilon: float) -> bool:
        """Whether ``epsilon``, valid at this budget's delta, is within it (never true for NaN)."""
        return epsilon <= self.epsilon * (1 + FORGIVEN)

    def to_json(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"


def usual_relation(unit: Unit) -> Relation:
    """Documents and users are added or removed; words, bits and reports are replaced."""
    return Relation.ADD_REMOVE if unit in (Unit.DOCUMENT, Unit.USER) else Relation.REPLACE


def new_run() -> str:
    """An id for the charges of one run: random, so that it reveals nothing and no two runs share it."""
    return secrets.token_hex(8)


class Ledger:
    """Append-only entries under one unit and one relation, within ``budget`` if there is one.

    ``file`` is a `BudgetFile` that is charged before the ledger itself; unit and relation are then the file's. A ledger
    that was unpickled or read from JSON is a record: it shows what was charged and refuses more, because two copies
    could each spend the same budget. The copy in a forked process is a record too. (A ledger with a file and no budget
    of its own stays open: the file counts the charges.)
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        unit: Unit | str | None = None,
        relation: Relation | str | None = None,
        file: BudgetFile | None = None,
    ) -> None:
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(f"budget must be a Budget or None; found {type(budget).__name__}.")
        if file is not None:
            _same(file.unit, unit, "unit")
            _same(file.relation, relation, "relation")
            unit, relation = str(file.unit), str(file.relation)
        self.budget, self.file = budget, file
        self.unit: Unit = _member(Unit, Unit.DOCUMENT if unit is None else unit, "unit")
        self.relation: Relation = _member(
            Relation, usual_relation(self.unit) if relation is None else relation, "relation"
        )
        self._entries: tuple[Entry, ...] = ()
        self._closed = False
        self._process = os.getpid()
        self._lock = threading.RLock()

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self._entries

    def spent(self, delta: float | None = None) -> Spent:
        """The tightest valid ε of everything charged, at ``delta`` (by default the budget's)."""
        return self._cost(self._entries, self._delta(delta))

    def remaining(self) -> float:
        """The budget's ε (and its file's) minus the spent one. A larger charge may still fit, since composition costs
        less than the sum."""
        left = [math.inf if self.budget is None else self.budget.epsilon - self.spent().epsilon]
        if self.file is not None:
            left.append(self.file.ledger().remaining())
        return max(0.0, min(left))

    def __str__(self) -> str:
        title = f"ledger per {self.unit} ({self.relation})"
        limit = f"budget {self.budget}" if self.budget is not None else "no budget" if self.file is None else ""
        limit += f"{', ' if limit else ''}budget file {self.file.path}" if self.file is not None else ""
        lines = [f"{title}, {limit}"]
        lines += [f"  {e.label or '(no label)'}: {e.count} × {e.event}" for e in self._entries]
        if self.budget is not None:
            lines.append(f"spent {self.spent()}, {self.remaining():.4g} left")
        elif not self._entries:
            lines.append("nothing charged")
        return "\n".join(lines)

    def __repr__(self) -> str:
        n = len(self._entries)
        file = "" if self.file is None else f", budget file {self.file.path}"
        return f"<Ledger: {n} {'entry' if n == 1 else 'entries'} per {self.unit}, budget {self.budget or 'none'}{file}>"

    def _repr_html_(self) -> str:
        from discreet.privacy.notebook import ledger_html

        return ledger_html(self)

    # --- charging ---------------------------------------------------------------------------------------------------

    def check(self, event: Event, count: int = 1, *, label: str = "") -> Spent | None:
        """What would be spent after this charge; raises what `charge` would raise. Changes nothing."""
        entries = (Entry(event, count, label),)
        after = self._check(entries)
        if self.file is not None:
            self.file.ledger().fits(entries)
        return after

    def charge(
        self,
        event: Event,
        count: int = 1,
        *,
        label: str,
        unit: Unit | str | None = None,
        relation: Relation | str | None = None,
    ) -> Reservation:
        """Charge ``count`` times ``event`` as one entry, or raise and change nothing.

        Call it before the noise is drawn, and draw from the reservation that it returns. ``unit`` and ``relation``,
        when given, are those of the mechanism, and must be the ledger's: convert other costs first, or do not add them.
        """
        _same(self.unit, unit, "unit")
        _same(self.relation, relation, "relation")
        return self.reserve([Entry(event, count, label)])

    def reserve(self, plan: Iterable[Entry], *, run: str | None = None, method: str | None = None) -> Reservation:
        """Charge a whole plan at once, or raise and change nothing. Rounds of different noise are several entries.

        A budget file keeps ``run``, an id made by `new_run` by which it finds the entries again, and ``method``, the
        model's name.
        """
        entries = tuple(plan)
        with self._lock:
            self._check(entries)
            if self.file is not None:
                self.file.reserve(entries, run=run, method=method)  # on disk before it counts here
            self._entries = (*self._entries, *entries)  # the only line that changes the ledger
        return Reservation(entries)

    def extend(
        self, reservation: Reservation, plan: Iterable[Entry], *, run: str | None = None, method: str | None = None
    ) -> None:
        """Charge more of a plan and add it to what was reserved, or raise and change nothing."""
        reservation.add(self.reserve(plan, run=run, method=method))

    def would_take(self, plan: Iterable[Entry]) -> None:
        """Raise what `reserve` would raise now. Changes nothing, and promises nothing for later."""
        entries = tuple(plan)
        self._check(entries)
        if self.file is not None:
            self.file.ledger().fits(entries)

    def absorb(self, other: Ledger) -> None:
        """Charge everything that was charged to ``other``, such as the ledger of a private vocabulary."""
        if other is self or not other.entries:
            return
        _same(self.unit, other.unit, "unit")
        _same(self.relation, other.relation, "relation")
        self.reserve(other.entries)

    def _check(self, entries: Sequence[Entry]) -> Spent | None:
        if self._closed or (os.getpid() != self._process and not self._file_counts(self.file, self.budget)):
            raise InputError(
                "this ledger is a copy (unpickled, read from JSON, or another process's) and takes no charges, because "
                "the original would not count them. Use the original, or one that processes share: "
                "Ledger(file=BudgetFile(...))."
            )
        if not entries:
            raise InputError("there is nothing to charge: the plan has no entry.")
        for entry in entries:
            if not isinstance(entry, Entry):
                raise InputError(f"a plan consists of entries; found {type(entry).__name__}.")
            if not entry.event.holds_for(self.relation):
                raise InputError(
                    f"{entry.event} holds for neighbours that add or remove a unit, but this ledger's relation is "
                    f"'{self.relation}'. Use a ledger of relation '{Relation.ADD_REMOVE}'."
                )
        if self.budget is None:
            return None
        after = self._cost((*self._entries, *entries), self.budget.delta)
        if not self.budget.covers(after.epsilon):
            before = self.spent()
            raise BudgetExceeded(
                self._refusal(entries, self.budget, before, after), entry=entries[0], spent=before, budget=self.budget
            )
        return after

    def _refusal(self, entries: Sequence[Entry], budget: Budget, before: Spent, after: Spent) -> str:
        what = f"'{entries[0].label}'"
        if math.isfinite(after.epsilon):
            rounds = " or fewer rounds" if any(entry.count > 1 for entry in entries) else ""
            return (
                f"{what} would bring what is spent from ε = {rounded_up(before.epsilon, 4)} to "
                f"{rounded_up(after.epsilon, 4)} at δ = {budget.delta:g}, but the budget is ε = {budget.epsilon:g}. "
                f"Choose a smaller epsilon or delta (more noise){rounds}, or ask for a larger budget."
            )
        from discreet.privacy import accounting

        needed = accounting.delta((*self._entries, *entries), budget.epsilon)
        if needed >= 1:
            return f"{what} would protect nothing, and the budget is {budget}. Leave it out, or add noise."
        smaller = "Choose a smaller delta, or ask" if budget.delta else "Ask"
        needs = f"δ = {rounded_up(needed, 3)}" if needed > 1.01 * budget.delta else "a little more"
        return (
            f"{what} is refused: the budget's δ = {budget.delta:g} does not cover it. At ε = {budget.epsilon:g} all "
            f"charges together would need {needs}. {smaller} for a budget with a larger δ."
        )

    def _delta(self, delta: float | None) -> float:
        if delta is None and self.budget is None:
            raise InputError("this ledger has no budget. Give the delta at which to account.")
        return self.budget.delta if delta is None and self.budget is not None else float(delta or 0.0)

    @staticmethod
    def _cost(entries: Sequence[Entry], delta: float) -> Spent:
        from discreet.privacy import accounting  # here: reading a guarantee must not load numpy

        return accounting.spent(entries, delta)

    # --- copies -----------------------------------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Ledger:
        """Cloned estimators share the ledger, so that cross-validation counts every charge."""
        return self

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        closed = state["_closed"] or not self._file_counts(state["file"], state["budget"])
        self.__dict__.update(state, _lock=threading.RLock(), _closed=closed)

    @staticmethod
    def _file_counts(file: BudgetFile | None, budget: Budget | None) -> bool:
        """Whether the file alone limits what may be spent, so that copies in other processes are harmless."""
        return file is not None and budget is None

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``json.dumps``. A budget file is not part of it."""
        return {
            "budget": None if self.budget is None else self.budget.to_json(),
            "unit": str(self.unit),
            "relation": str(self.relation),
            "entries": [entry.to_json() for entry in self._entries],
        }

    @classmethod
    def from_json(cls, value: Any) -> Ledger:
        """A record from what `to_json` returned: it can be read and absorbed, but takes no charges."""
        expected = {"budget", "unit", "relation", "entries"}
        if not isinstance(value, Mapping) or set(value) != expected or not isinstance(value["entries"], list):
            raise InputError(f"a ledger must be a JSON object with {', '.join(sorted(expected))}.")
        budget = value["budget"]
        if budget is not None and (not isinstance(budget, Mapping) or set(budget) != {"epsilon", "delta"}):
            raise InputError(f"the budget of a ledger must have epsilon and delta, or be null; found {budget!r}.")
        return cls.record(
            None if budget is None else Budget(**budget),
            value["unit"],
            value["relation"],
            [Entry.from_json(entry) for entry in value["entries"]],
        )

    @classmethod
    def record(
        cls, budget: Budget | None, unit: Unit | str, relation: Relation | str, entries: Iterable[Entry]
    ) -> Ledger:
        """A ledger that shows charges and takes none."""
        ledger = cls(budget, unit=unit, relation=relation)
        ledger._entries, ledger._closed = tuple(entries), True
        return ledger

    def fits(self, entries: Sequence[Entry]) -> None:
        """As `check`, for a plan, and for records too: a `BudgetFile` checks with it what it has read."""
        open_one = Ledger(self.budget, unit=self.unit, relation=self.relation)
        open_one._entries = self._entries
        open_one._check(entries)


class Reservation:
    """A plan that has been charged, used up as its noise is drawn. It detects programming errors."""

    def __init__(self, plan: Sequence[Entry]) -> None:
        self.plan = tuple(plan)
        self._drawn = 0
        self._lock = threading.Lock()

    @property
    def drawn(self) -> int:
        return self._drawn

    @property
    def left(self) -> int:
        return sum(entry.count for entry in self.plan) - self._drawn

    def add(self, more: Reservation) -> None:
        """Append what another has reserved. The count of drawn releases continues."""
        with self._lock:
            self.plan = (*self.plan, *more.plan)

    def draw(self, n: int = 1, event: Event | None = None) -> Event:
        """Take the next ``n`` events of the plan and return the last of them; raises if fewer are left.

        ``event``, when given, is what the caller is about to do, and must be exactly what was charged.
        """
        with self._lock:
            if n < 1 or n > self.left:
                raise Overdrawn(f"{n} draws were requested, but the ledger was charged for {self.left} more.")
            upcoming = [self._at(self._drawn + i) for i in range(n)]
            if event is not None and any(planned != event for planned in upcoming):
                raise Overdrawn(f"the ledger was charged for {upcoming[0]}, which is not {event}.")
            self._drawn += n
            return upcoming[-1]

    def _at(self, index: int) -> Event:
        for entry in self.plan:
            if index < entry.count:
                return entry.event
            index -= entry.count
        raise IndexError(index)

    def __repr__(self) -> str:
        return f"<Reservation: {self.left} of {sum(e.count for e in self.plan)} draws left>"


def _same(mine: object, theirs: object, name: str) -> None:
    if theirs is not None and str(mine) != str(theirs):
        raise InputError(
            f"a ledger adds only entries with the same unit and relation: its {name} is '{mine}', found '{theirs}'. "
            "Convert the cost first, or keep a second ledger."
        )


def _member(kind: Any, value: object, name: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} must be one of {', '.join(kind)}; found {value!r}.") from None

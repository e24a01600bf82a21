"""A long private fit that outlives its process, and tells the truth about what it has spent.

The plan is charged in stages. A stage is a few rounds: what they cost is charged, and noted here, before the first of
them draws noise; when the last is done the state is saved. So after ``kill -9`` at any moment everything that was drawn
has been charged. A resumed run goes on from the last saved state with a fresh key, and charges the stage that it
repeats a second time: the same rounds under new noise are new releases (and under the old noise they would give the
data away). Restoring a checkpoint never gives budget back, because what was spent is not its to keep: the budget file
has it. Without a budget file the note in the folder is all there is, and a copied folder would forget.

The folder holds private state (every token and its topic): its files are for their owner's eyes only, and a fit that
ends removes it. One process uses it at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from discreet._errors import DiscreetError, InputError
from discreet._files import BINARY, sync_folder, try_lock
from discreet._types import AnyArray
from discreet.corpus.corpus import Corpus
from discreet.privacy.events import Entry, Event
from discreet.privacy.ledger import Ledger, Reservation

RUN, SPENT, STATE, NEW, LOCK = "run.json", "spent.jsonl", "state.npz", "new", "lock"

_HELD: dict[Path, int] = {}
"""Folders that this process has locked, and by which open file. A fit that fails in it may be begun again in it."""

_WAITING: ContextVar[list[Checkpoint] | None] = ContextVar("_WAITING", default=None)

NOTICE = "private: tokens and topics of a fit that is not done. Never publish or copy; the fit removes it at its end."


def fingerprint(corpus: Corpus, groups: AnyArray | None, **facts: Any) -> str:
    """The same for the same documents under the same plan, and for nothing else."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=repr).encode())
    digest.update("\n".join(corpus.vocabulary).encode())
    for array in (corpus.words, corpus.offsets, groups):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@contextmanager
def kept_until_safe() -> Iterator[None]:
    """Checkpoints of fits that end within are removed when the block has ended well: then what was paid for is safe."""
    if _WAITING.get() is not None:  # an outer block waits for more
        yield
        return
    waiting: list[Checkpoint] = []
    before = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(before)
    for checkpoint in waiting:
        checkpoint.remove()


class Checkpoint:
    """The state of one run in ``folder``, made when there is none. ``run`` is its `fingerprint`."""

    def __init__(self, folder: str | os.PathLike[str], run: str) -> None:
        self.folder = Path(folder)
        self.resumed = False
        self.state: dict[str, AnyArray] = {}
        self.spent: tuple[Entry, ...] = ()
        """What this run has been charged, stages that were repeated twice."""
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            if not self.folder.is_dir() or {path.name for path in self.folder.iterdir()} - {NEW, LOCK}:
                self._open(run)
                return
        except FileNotFoundError:
            raise InputError(
                f"there is no folder {self.folder.parent} to put a checkpoint in. Make it first."
            ) from None
        self._hold()
        self.write(RUN, json.dumps({"notice": NOTICE, "run": run}).encode())
        sync_folder(self.folder.absolute().parent)

    def _hold(self) -> None:
        """Two runs in one folder would each believe that the other's noise is theirs."""
        folder = self.folder.resolve()
        if folder in _HELD:
            return
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | BINARY, 0o600)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise InputError(
                f"the checkpoint in {self.folder} is in use by another process. Wait for it, or name another folder."
            )
        _HELD[folder] = descriptor

    def _open(self, run: str) -> None:
        try:
            found = json.loads((self.folder / RUN).read_bytes())["run"]
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.folder} exists and is not a checkpoint. Name a folder that is not there yet, or an earlier "
                "run's checkpoint."
            ) from None
        if found != run:
            raise InputError(
                f"the checkpoint in {self.folder} is of another run: other documents, parameters or budget. Resume it "
                "with what it was begun with, or name another folder. (What that run spent stays spent.)"
            )
        self._hold()
        if (self.folder / SPENT).exists():
            *lines, torn = (self.folder / SPENT).read_bytes().split(b"\n")
            if torn:  # its noise was never drawn
                os.truncate(self.folder / SPENT, (self.folder / SPENT).stat().st_size - len(torn))
            self.spent = tuple(Entry.from_json(entry) for line in lines for entry in json.loads(line))
        if (self.folder / STATE).exists():
            with np.load(self.folder / STATE, allow_pickle=False) as arrays:
                self.state = dict(arrays)
        self.resumed = bool(self.spent)

    def note(self, entries: Iterable[Entry]) -> None:
        """On disk when this returns; then the noise may be drawn."""
        entries = tuple(entries)
        with open(self.folder / SPENT, "a", encoding="utf-8", opener=_private) as file:
            file.write(json.dumps([entry.to_json() for entry in entries]) + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.folder)
        self.spent = (*self.spent, *entries)

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the state, completely or not at all."""
        self._replace(STATE, lambda file: np.savez(file, **state))

    def account(
        self, plan: Sequence[Entry], elsewhere: Sequence[Entry], delta: float, ledger: Ledger
    ) -> tuple[float, tuple[str, ...]]:
        """The ε of everything that this run has spent, with what was paid ``elsewhere``, and what to say about it."""
        from discreet.privacy.accounting import spent

        twice = sum(entry.count for entry in self.spent) - sum(entry.count for entry in plan)
        reasons = []
        if self.resumed and twice > 0:
            reasons.append(f"interrupted and resumed: {twice} releases were charged a second time")
        if ledger.file is None:
            reasons.append("the checkpoint was not copied, nor restored from a backup")
        return spent((*elsewhere, *self.spent), delta).epsilon, tuple(reasons)

    def done(self) -> None:
        """The run has ended, and nobody needs its private state: remove it, now or when `kept_until_safe` says so."""
        waiting = _WAITING.get()
        if waiting is None:
            self.remove()
        else:
            waiting.append(self)

    def remove(self) -> None:
        """Everything that is ours. A result that was paid for is not lost because a folder cannot be removed."""
        with suppress(KeyError):
            os.close(_HELD.pop(self.folder.resolve()))
        try:
            (self.folder / RUN).unlink()  # first: what a kill leaves of the folder is then no checkpoint
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
        except OSError as error:
            warnings.warn(
                f"the checkpoint in {self.folder} could not be removed ({error.strerror or error}). It may hold "
                "private state: remove it by hand.",
                stacklevel=3,
            )

    def write(self, name: str, content: bytes) -> None:
        """A file of the folder, completely or not at all."""
        self._replace(name, lambda file: file.write(content))

    def _replace(self, name: str, fill: Callable[[IO[bytes]], object]) -> None:
        with open(self.folder / NEW, "wb", opener=_private) as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        (self.folder / NEW).replace(self.folder / name)
        sync_folder(self.folder)


class Resumable(Protocol):
    """A model that may keep a checkpoint."""

    random_state: Any
    ledger: Ledger | None
    checkpoint: str | os.PathLike[str] | None

    def _planned_parameters(self) -> dict[str, Any]: ...


def open_checkpoint(
    model: Resumable, corpus: Corpus, groups: AnyArray | None, plan: Iterable[Entry], **facts: Any
) -> Checkpoint | None:
    """The checkpoint of this fit, if it has one: new, or of the same documents, parameters, plan and budget."""
    if model.checkpoint is None:
        return None
    file = None if model.ledger is None else model.ledger.file
    if model.ledger is not None and file is None:
        raise InputError(
            "a ledger in memory does not outlive an interrupted run, as a checkpoint does. Use "
            "Ledger(file=BudgetFile(...)), or leave ledger out."
        )
    facts |= {**model._planned_parameters(), "seed": model.random_state, "budget": file and file.identity}
    return Checkpoint(model.checkpoint, fingerprint(corpus, groups, **facts, plan=[e.to_json() for e in plan]))


def reopened(ledger: Ledger, spent: Sequence[Entry]) -> Ledger:
    """The ledger of a run that goes on. Without a file: a new one that knows what was spent, and sets no limit, since
    what is repeated comes on top of the plan."""
    if ledger.file is not None:
        return ledger
    again = type(ledger)(unit=ledger.unit, relation=ledger.relation)
    again.reserve(spent)
    return again


class Payment:
    """Who pays for the rounds: the ledger, the whole plan at once, or stage by stage where there is a checkpoint.

    ``before`` is released ahead of the first round. ``owed`` was released elsewhere and is charged here too.
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
    ) -> None:
        self._ledger, self._rounds, self._checkpoint, self._every = ledger, rounds, checkpoint, every
        self._label = label
        self.reservation = Reservation(())
        if checkpoint is None:
            self.done, self._paid = 0, len(rounds)
            self._charge((*before, *self._entries(0, len(rounds)), *owed))
            return
        self.done = self._paid = int(checkpoint.state.get("round", 0))
        first = () if self.done else tuple(before)
        owed = () if checkpoint.spent else tuple(owed)
        try:
            ledger.would_take((*owed, *first, *self._entries(self.done, len(rounds))))  # rather now than half-way
        except DiscreetError:
            if not checkpoint.spent:
                checkpoint.remove()
            raise
        if owed:
            ledger.reserve(owed)
        self._pay(first, owed)

    def open_round(self, number: int, state: Callable[[], Mapping[str, Any]]) -> None:
        """Before round ``number``: at the start of a stage, save the state, then pay for the stage."""
        if number > self._paid and self._checkpoint is not None:
            self._checkpoint.save({**state(), "round": number - 1})
            self._pay()

    def settle(self) -> None:
        """After the last round: one that ended early is charged for all, since whether it would was open."""
        if self._paid < len(self._rounds):
            assert self._checkpoint is not None
            rest = self._entries(self._paid, len(self._rounds))
            self._charge(rest)
            self._checkpoint.note(rest)
            self._paid = len(self._rounds)

    def _pay(self, before: tuple[Entry, ...] = (), owed: tuple[Entry, ...] = ()) -> None:
        assert self._checkpoint is not None
        last = min(self._paid + self._every, len(self._rounds))
        entries = (*before, *self._entries(self._paid, last))
        self._charge(entries)  # [stage] charged, then noted, and only then drawn
        self._checkpoint.note((*owed, *entries))
        self._paid = last

    def _charge(self, entries: tuple[Entry, ...]) -> None:
        self._ledger.extend(self.reservation, entries)

    def _entries(self, first: int, last: int) -> tuple[Entry, ...]:
        return tuple(Entry(event, len(list(same)), self._label) for event, same in groupby(self._rounds[first:last]))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

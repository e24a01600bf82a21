"""Checkpoints: a long private fit can be resumed in another process, with a correct account of what it has spent.

The plan is charged in stages (``training/payment.py``). A stage is a few rounds: what they cost is charged, and noted,
before the first of them draws noise; when the last is done the state is saved. So after ``kill -9`` at any moment
everything that was drawn has been charged. A resumed run continues from the last saved state with a fresh key, and
charges the stage that it repeats a second time: the same rounds under new noise are new releases (and under the old
noise they would give the data away). After a requested stop (Ctrl-C) nothing is repeated: the state is saved after the
current round, and the rounds that were paid for but not drawn may still be drawn, once.

**What was spent** is kept where it was charged. With a budget file, each charge carries the run's id, and the cost of
the run is computed from the file: a copied folder or an old backup of it cannot hide a charge. Without one, the notes
in the folder are the only record, and a copied folder would miss later charges. A saved state records the number and
the digest of the charges made before it, and is refused if they are missing or different.

The folder holds functions of what was released and a fingerprint of the documents; `SubsampledLDA` and `HybridLDA`,
which keep topics from round to round, also save every token and its topic. Only their owner may read its files, and a
fit that ends removes the folder. One process uses it at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from discreet._errors import InputError
from discreet._files import BINARY, sync_folder, try_lock
from discreet._types import AnyArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.privacy.budget import BudgetFile
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import RESUMED
from discreet.privacy.ledger import Ledger, new_run

RUN, SPENT, STATE, NEW, LOCK = "run.json", "spent.jsonl", "state.npz", "new", "lock"


@dataclass
class _Held:
    """A folder that this process has locked. A failed fit may be started again: the newest checkpoint owns the
    folder."""

    descriptor: int
    process: int
    owner: Checkpoint


_HELD: dict[Path, _Held] = {}
_OWNERS = threading.RLock()
"""Held while a folder changes its owner, and while its owner writes that it resumes."""

_WAITING: ContextVar[list[Checkpoint] | None] = ContextVar("_WAITING", default=None)

NOTICE = (
    "private: the state of an unfinished fit, and a fingerprint of its documents. Never publish or copy it; the fit "
    "removes it at its end."
)

STANDS_ON = "stands_on"
"""Name in a saved state: the number of charges made before it, and their digest."""


def fingerprint(corpus: Corpus | StoredCorpus, groups: AnyArray | None, **facts: Any) -> str:
    """The same for the same documents under the same plan, and for nothing else."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=repr).encode())
    digest.update("\n".join(corpus.vocabulary).encode())
    if isinstance(corpus, StoredCorpus):
        digest.update(corpus.digest.encode())
        return digest.hexdigest()
    for array in (corpus.words, corpus.offsets, groups):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@contextmanager
def kept_until_safe() -> Iterator[None]:
    """Checkpoints of fits that end inside the block are removed when it ends without an error: then their results are
    safe."""
    if _WAITING.get() is not None:  # an outer block waits for more
        yield
        return
    waiting: list[Checkpoint] = []
    outer = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(outer)
    for checkpoint in waiting:
        checkpoint.remove()


class Checkpoint:
    """The state of one run in ``folder``, which is made if needed. ``run`` is its `fingerprint`; ``file`` is
    charged."""

    def __init__(self, folder: str | os.PathLike[str], run: str, file: BudgetFile | None = None) -> None:
        self.folder, self._file = Path(folder), file
        self.id = new_run()
        """Identifies the charges of this run in the budget file."""
        self.state: dict[str, AnyArray] = {}
        self.charges: tuple[tuple[Entry, ...], ...] = ()
        """What this run has been charged; repeated stages are in it twice. An empty charge means that the run was
        resumed."""
        self.untouched = False
        """Whether nothing was charged since the state was saved: then the rounds that were paid for have not been
        drawn."""
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
        self.write(RUN, json.dumps({"notice": NOTICE, "run": run, "id": self.id}).encode())
        sync_folder(self.folder.absolute().parent)

    def _hold(self) -> None:
        """Lock the folder: of two runs in it, each would take the other's charges and state for its own."""
        folder, held = self.folder.resolve(), _HELD.get(self.folder.resolve())
        if held is not None and held.process == os.getpid():  # a forked process has a copy of this, but not the lock
            held.owner = self
            return
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | BINARY, 0o600)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise InputError(
                f"the checkpoint in {self.folder} is in use by another process. Wait for it, or name another folder."
            )
        _HELD[folder] = _Held(descriptor, os.getpid(), self)

    def _still_owner(self) -> None:
        held = _HELD.get(self.folder.resolve())
        if held is None or held.owner is not self or held.process != os.getpid():
            raise InputError(
                f"the checkpoint in {self.folder} was taken over by another fit. Only one fit can use it at a time."
            )

    @property
    def spent(self) -> tuple[Entry, ...]:
        """All charges together."""
        return tuple(entry for charge in self.charges for entry in charge)

    def _open(self, run: str) -> None:
        try:
            found = json.loads((self.folder / RUN).read_bytes())
            known, self.id = found["run"], str(found["id"])
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.folder} exists and is not a checkpoint. Name a folder that does not exist yet, or an earlier "
                "run's checkpoint."
            ) from None
        if known != run:
            raise InputError(
                f"the checkpoint in {self.folder} is of another run: other documents, parameters or budget, or another "
                "version of discreet. Resume it with the same ones, or name another folder. (What that run spent stays "
                "spent.)"
            )
        with _OWNERS:
            self._hold()
            self.charges = self._noted() if self._file is None else self._charged(self._file)
        if (self.folder / STATE).exists():
            with np.load(self.folder / STATE, allow_pickle=False) as arrays:
                self.state = dict(arrays)
            n = self.check_stands_on(self.state.pop(STANDS_ON).tolist())
            self.untouched = len(self.charges) == n

    def stands_on(self) -> tuple[str, str]:
        """The number of charges so far and their digest: stored with what is made after them."""
        return str(len(self.charges)), _digest(self.charges)

    def check_stands_on(self, kept: Sequence[str]) -> int:
        """The number of charges in ``kept``. Raises an error if they are missing or different."""
        n, digest = kept
        if digest != _digest(self.charges[: int(n)]):
            raise InputError(
                f"the state in {self.folder} was saved after charges that are no longer noted: {SPENT} or the "
                "budget file is an older copy, was edited, or is missing. What the run has spent is unknown, so it "
                "cannot be resumed. Restore the missing file, or start again in another folder."
            )
        return int(n)

    def _noted(self) -> tuple[tuple[Entry, ...], ...]:
        path = self.folder / SPENT
        if not path.exists():
            return ()
        *lines, torn = path.read_bytes().split(b"\n")
        if torn:  # its noise was never drawn
            os.truncate(path, path.stat().st_size - len(torn))
        return tuple(tuple(Entry.from_json(entry) for entry in json.loads(line)) for line in lines)

    def _charged(self, file: BudgetFile) -> tuple[tuple[Entry, ...], ...]:
        return tuple(charge.entries for charge in file.charges() if charge.run == self.id)

    def note(self, entries: Iterable[Entry]) -> None:
        """Record that these were charged. On disk when this returns (a budget file has them already); then noise may be
        drawn."""
        entries = tuple(entries)
        if self._file is None:
            self._still_owner()
            with open(self.folder / SPENT, "a", encoding="utf-8", opener=_private) as file:
                file.write(json.dumps([entry.to_json() for entry in entries]) + "\n")
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.folder)
        self.charges = (*self.charges, entries)

    def begin_again(self) -> None:
        """Record that the run is resumed, before it draws what was paid for earlier: the same state may be resumed only
        once."""
        with _OWNERS:
            self._still_owner()
            if self._file is not None and not self._file.mark(run=self.id, after=len(self.charges)):
                raise InputError(
                    f"the run of the checkpoint in {self.folder} was resumed from a copy meanwhile. Fit again: the "
                    "remaining rounds are then charged again."
                )
            self.note(())
        self.untouched = False

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the state, completely or not at all."""
        self._still_owner()
        arrays: dict[str, Any] = {**state, STANDS_ON: np.array(self.stands_on())}
        self._replace(STATE, lambda file: np.savez(file, **arrays))

    def account(
        self, plan: Sequence[Entry], elsewhere: Sequence[Entry], delta: float, ledger: Ledger
    ) -> tuple[float, tuple[str, ...]]:
        """The ε of everything that this run has spent, with what was paid ``elsewhere``, and remarks about it."""
        from discreet.privacy.accounting import spent

        if self._file is not None:  # a copy of this run may have been charged too
            self.charges = self._charged(self._file)
        twice = sum(entry.count for entry in self.spent) - sum(entry.count for entry in plan)
        reasons = []
        if twice > 0:
            reasons.append(f"{RESUMED}{twice} releases were charged a second time")
        if ledger.file is None:
            reasons.append("the checkpoint was not copied, nor restored from a backup")
        return spent((*elsewhere, *self.spent), delta).epsilon, tuple(reasons)

    def done(self) -> None:
        """The run has ended and its private state is not needed: remove it now, or at the end of `kept_until_safe`."""
        waiting = _WAITING.get()
        if waiting is None:
            self.remove()
        else:
            waiting.append(self)

    def remove(self) -> None:
        """Remove the folder. If that fails, warn only: a result that was paid for must not be lost for it."""
        with suppress(KeyError):
            os.close(_HELD.pop(self.folder.resolve()).descriptor)
        try:
            (self.folder / RUN).unlink()  # first, so that a folder left by a killed process is no checkpoint
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
        try:
            with open(self.folder / NEW, "wb", opener=_private) as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            (self.folder / NEW).replace(self.folder / name)
        except OSError as error:
            raise InputError(
                f"the checkpoint in {self.folder} cannot be written: {error.strerror or error}. Make room and fit "
                "again with the same folder; what has been charged stays charged."
            ) from None
        sync_folder(self.folder)


class Resumable(Protocol):
    """A model that may keep a checkpoint."""

    random_state: Any
    ledger: Ledger | None
    checkpoint: str | os.PathLike[str] | None

    def _planned_parameters(self) -> dict[str, Any]: ...


def open_checkpoint(
    model: Resumable, corpus: Corpus | StoredCorpus, groups: AnyArray | None, plan: Iterable[Entry], **facts: Any
) -> Checkpoint | None:
    """The checkpoint of this fit, if it has one: new, or of the same documents, parameters, plan and budget."""
    if model.checkpoint is None:
        return None
    file = None if model.ledger is None else model.ledger.file
    if file is not None and model.ledger is not None and model.ledger.budget is not None:
        raise InputError(
            "a ledger with a budget of its own besides its file loses what an interrupted run has spent. Use "
            "Ledger(file=BudgetFile(...)) with a checkpoint."
        )
    if model.ledger is not None and file is None:
        raise InputError(
            "a ledger in memory is lost when a run is interrupted, so it cannot be used with a checkpoint. Use "
            "Ledger(file=BudgetFile(...)), or leave ledger out."
        )
    facts |= {**model._planned_parameters(), "seed": model.random_state, "budget": file and file.identity}
    run = fingerprint(corpus, groups, **facts, plan=[e.to_json() for e in plan])
    return Checkpoint(model.checkpoint, run, file)


def reopened(ledger: Ledger, checkpoint: Checkpoint) -> Ledger:
    """The ledger of a resumed run. Without a file: a new one that holds what was spent, and sets no limit, since
    repeated stages are charged in addition to the plan."""
    if ledger.file is not None:
        return ledger
    again = type(ledger)(unit=ledger.unit, relation=ledger.relation)
    again.reserve(checkpoint.spent, run=checkpoint.id)
    return again


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _digest(charges: Sequence[Sequence[Entry]]) -> str:
    return hashlib.sha256(json.dumps([[e.to_json() for e in charge] for charge in charges]).encode()).hexdigest()

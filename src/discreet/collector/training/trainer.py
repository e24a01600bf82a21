"""The training process: closes windows, trains on them, leaves Release folders, deletes old reports.

It shares nothing with the service but the database and the folder of releases, so it can be stopped, killed or moved at
any time. A window is marked as trained after its release and its state are on disk; whatever ends the process before
that, the window is trained again from the state of the window before.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.collector.store import windows
from discreet.collector.store.folder import Folder
from discreet.collector.store.store import Store, StoredCampaign, Unavailable
from discreet.collector.training.child import PARENT
from discreet.collector.training.learner import Learner, state_file

PAUSE_SECONDS = 1.0
"""Between two looks into the database."""
KEPT = 3
"""Windows whose releases are kept: the newest, and some before it for those who are reading them."""
NICENESS = 10
"""Training waits for the service, not the other way round."""


class Trainer:
    """Trains the campaigns of one store, one window at a time. A seed (``random_state``) is for tests. ``calmly``
    calls a function that computes for long."""

    def __init__(
        self,
        store: Store,
        models: Path,
        *,
        n_threads: int = 1,
        random_state: int | None = None,
        calmly: Callable[..., Any] = lambda work, *given: work(*given),
    ) -> None:
        self._store, self._models, self._calmly = store, models, calmly
        self._options: dict[str, Any] = {"n_threads": n_threads, "random_state": random_state}
        self._learners: dict[int, tuple[int, Learner]] = {}

    def step(self, stop: threading.Event | None = None) -> int:
        """Train what is waiting, at most one window of each campaign. Returns how many windows were trained."""
        trained = 0
        for campaign in self._store.campaigns():
            if stop is not None and stop.is_set():
                break
            windows.close_windows(self._store, campaign)
            waiting = windows.untrained(self._store, campaign.id)
            if waiting:
                self._train(campaign, waiting[0])
                trained += 1
            windows.delete_old(self._store, campaign)
        return trained

    def _train(self, campaign: StoredCampaign, window: windows.Window) -> None:
        name = campaign.campaign.name
        (self._models / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = windows.window_folder(self._models, name, window.number)
        learner = self._learner(campaign, window.number)
        bodies = self._store.bodies(campaign.id, window.after_id, window.last_id)
        if len(bodies) != window.n_reports:
            raise InputError(
                f"window {window.number} of {name} had {window.n_reports:,} reports when it was closed and has "
                f"{len(bodies):,} now. Restore the database from a backup."
            )
        self._learners.pop(campaign.id, None)  # if this fails half-way, begin again from what is on disk
        release = self._calmly(learner.learn, bodies)
        shutil.rmtree(folder, ignore_errors=True)  # of a process that ended before it could mark the window
        release.save(folder)
        learner.save(folder)
        windows.mark_trained(self._store, campaign.id, window.number)
        self._learners[campaign.id] = (window.number, learner)
        self._forget(name, window.number - KEPT)

    def _learner(self, campaign: StoredCampaign, number: int) -> Learner:
        """The model as it was after the window before."""
        last, learner = self._learners.get(campaign.id, (0, None))
        if learner is not None and last == number - 1:
            return learner
        if number == 1:
            return Learner(campaign.campaign, **self._options)
        before = windows.window_folder(self._models, campaign.campaign.name, number - 1)
        return Learner.load(campaign.campaign, before, **self._options)

    def _forget(self, name: str, number: int) -> None:
        if number >= 1:
            old = windows.window_folder(self._models, name, number)
            shutil.rmtree(old, ignore_errors=True)
            state_file(old).unlink(missing_ok=True)


def train(folder: Folder, *, once: bool = False) -> int:
    """Run the training process until it is told to stop (or, ``once``, until nothing waits). Returns the windows
    trained."""
    stop = threading.Event()
    if threading.current_thread() is threading.main_thread() and not once:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
    folder.make()
    total = 0
    with folder.alone("train"), ThreadPoolExecutor(1, initializer=None if once else _step_back) as slow:
        store = Store(folder.database)
        try:
            trainer = Trainer(store, folder.models, calmly=lambda work, *given: slow.submit(work, *given).result())
            while not stop.is_set():
                try:
                    n = trainer.step(stop)
                except Unavailable:
                    if once:
                        raise
                    n = 0
                total += n
                if (once and n == 0) or _orphaned():
                    break
                if n == 0:
                    stop.wait(PAUSE_SECONDS)
        finally:
            store.close()
    return total


def _step_back() -> None:
    """Lower the priority of this thread alone. The thread that writes to the database keeps its own: while it holds
    SQLite's lock, the service waits for it."""
    with suppress(AttributeError, OSError):
        if sys.platform == "linux":
            own = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + NICENESS)
        else:
            os.nice(NICENESS)  # elsewhere a priority belongs to the whole process


def _orphaned() -> bool:
    """Whether the server that started this process is gone: its next start brings a training process of its own."""
    return PARENT in os.environ and os.environ[PARENT] != str(os.getppid())

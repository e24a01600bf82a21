"""Group commit: one thread writes, and many requests share one durable transaction.

A transaction costs a few milliseconds of waiting for the disk, whether it holds one report or a thousand. While one is
under way, further reports wait in a queue of limited length; the next transaction takes them all. A request is answered
when the transaction that holds its reports is on disk, and never before.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import NamedTuple

from discreet._errors import DiscreetError
from discreet.collector.service.metrics import Metrics
from discreet.collector.store.bulk import Batch, Stored
from discreet.collector.store.store import Store, Unavailable

MAX_QUEUE = 50_000
"""Reports that may wait; with more, senders are asked to come back later."""
MAX_TRANSACTION = 10_000
"""Reports in one transaction, so that none lasts long. (One list may make it larger.)"""
PAUSE_AFTER_ERROR = 0.1
"""Seconds between two attempts while the database is not available: a lost database must not cost a processor."""


class QueueFull(DiscreetError, RuntimeError):
    """More reports are waiting than the server is willing to hold. Nothing was acknowledged."""


class _Job(NamedTuple):
    batch: Batch
    answer: asyncio.Future[frozenset[int]]


class Writer:
    """Start it inside the event loop whose requests it serves."""

    def __init__(self, store: Store, metrics: Metrics, *, max_queue: int = MAX_QUEUE) -> None:
        self._store, self._metrics, self._max_queue = store, metrics, max_queue
        self._jobs: deque[_Job] = deque()
        self._waiting = 0  # reports in the queue
        self._changed = threading.Condition()
        self._stopping = False
        self.available = True
        """Whether the last transaction succeeded."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="collector-writer", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        return self._waiting

    async def store(self, batch: Batch) -> frozenset[int]:
        """Returns when the reports are on disk: the positions of those whose nonce was there with other bits. Raises
        `QueueFull` or `Unavailable` when they are not."""
        n = len(batch.nonces)
        answer: asyncio.Future[frozenset[int]] = self._loop.create_future()
        with self._changed:
            if self._stopping:
                raise Unavailable("the server is stopping. Try again later.")
            if self._waiting and self._waiting + n > self._max_queue:
                raise QueueFull(f"{self._waiting:,} reports are waiting to be written. Try again later.")
            self._jobs.append(_Job(batch, answer))
            self._waiting += n
            self._changed.notify()
        return await answer

    async def stop(self) -> None:
        """Write what is waiting, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join)

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while jobs := self._take():
            started = time.perf_counter()
            outcome: Stored | Exception
            try:
                outcome = self._store.insert([job.batch for job in jobs])
            except Exception as error:  # whatever it was, the senders must hear that nothing was acknowledged
                if not isinstance(error, Unavailable):
                    self._metrics.failure(error)
                outcome = Unavailable("the reports could not be written. Try again later.")
            took = time.perf_counter() - started
            self.available = not isinstance(outcome, Exception)
            if isinstance(outcome, Stored):
                self._metrics.commit(took, sum(len(job.batch.nonces) for job in jobs), outcome.new)
            else:
                self._metrics.failed_commit()
            try:
                self._loop.call_soon_threadsafe(_answer, jobs, outcome)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                return
            if not self.available:
                time.sleep(PAUSE_AFTER_ERROR)

    def _take(self) -> list[_Job]:
        """The jobs of the next transaction; none when the server stops."""
        with self._changed:
            while not self._jobs and not self._stopping:
                self._changed.wait()
            jobs: list[_Job] = []
            n = 0
            while self._jobs and (not jobs or n + len(self._jobs[0].batch.nonces) <= MAX_TRANSACTION):
                jobs.append(self._jobs.popleft())
                n += len(jobs[-1].batch.nonces)
            self._waiting -= n
            return jobs


def _answer(jobs: list[_Job], outcome: Stored | Exception) -> None:
    for i, job in enumerate(jobs):
        if job.answer.cancelled():  # the sender went away; its reports are stored, and it may send them again
            continue
        if isinstance(outcome, Exception):
            job.answer.set_exception(outcome)
        else:
            job.answer.set_result(outcome.conflicts[i])

"""Counts and times for Prometheus, in its text format. Nothing here is about a single report or sender."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_SIZES = (1, 10, 30, 100, 300, 1_000, 3_000, 10_000)


class Histogram:
    """Counts of values up to each bound, their number and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str) -> Iterable[str]:
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            yield f'{name}_bucket{{le="{"+Inf" if bound == float("inf") else f"{bound:g}"}"}} {running}'
        yield f"{name}_sum {self.total:g}"
        yield f"{name}_count {running}"


class Metrics:
    """What has happened since the server started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the writer thread and the event loop both count
        self.started = time.time()
        self.responses: Counter[int] = Counter()
        self.refused: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.stored = self.acknowledged = self.commits = self.failed_commits = 0
        self.request_seconds = Histogram(_SECONDS)
        self.commit_seconds = Histogram(_SECONDS)
        self.commit_reports = Histogram(_SIZES)

    def commit(self, seconds: float, reports: int, new: int) -> None:
        with self._lock:
            self.commits += 1
            self.stored += new
            self.acknowledged += reports
            self.commit_seconds.add(seconds)
            self.commit_reports.add(reports)

    def failed_commit(self) -> None:
        with self._lock:
            self.failed_commits += 1

    def failure(self, error: BaseException) -> None:
        """An error that nobody expected. Its text may quote values, so only its kind is counted."""
        with self._lock:
            self.errors[type(error).__name__] += 1

    def refuse(self, code: str, n: int = 1) -> None:
        with self._lock:
            self.refused[code] += n

    def response(self, status: int, seconds: float) -> None:
        with self._lock:
            self.responses[status] += 1
            self.request_seconds.add(seconds)

    def text(self, *, waiting: int, available: bool, training: bool | None) -> str:
        """The page that Prometheus reads."""
        with self._lock:
            lines = [
                *_family("reports_stored_total", "counter", "New reports on disk.", [("", self.stored)]),
                *_family(
                    "reports_written_total", "counter", "Reports on disk, repeated ones too.", [("", self.acknowledged)]
                ),
                *_family("reports_refused_total", "counter", "Refused reports.", _labelled("reason", self.refused)),
                *_family("responses_total", "counter", "Answers.", _labelled("status", self.responses)),
                *_family("commits_total", "counter", "Transactions.", [("", self.commits)]),
                *_family("commits_failed_total", "counter", "Failed transactions.", [("", self.failed_commits)]),
                *_family("errors_total", "counter", "Unexpected errors.", _labelled("kind", self.errors)),
                *_family("queue_reports", "gauge", "Reports waiting to be written.", [("", waiting)]),
                *_family("database_available", "gauge", "1 if the last write succeeded.", [("", int(available))]),
                *_family("start_time_seconds", "gauge", "When the server started.", [("", int(self.started))]),
            ]
            if training is not None:
                lines += _family("training_alive", "gauge", "1 if the training process runs.", [("", int(training))])
            for name, histogram, about in (
                ("request_seconds", self.request_seconds, "From the request's headers to its answer."),
                ("commit_seconds", self.commit_seconds, "Time of a transaction."),
                ("commit_reports", self.commit_reports, "Reports in a transaction."),
            ):
                lines += [f"# HELP discreet_{name} {about}", f"# TYPE discreet_{name} histogram"]
                lines += histogram.lines(f"discreet_{name}")
        return "\n".join(lines) + "\n"


def _labelled(label: str, counts: Counter[str] | Counter[int]) -> list[tuple[str, int]]:
    return [(f'{{{label}="{value}"}}', n) for value, n in sorted(counts.items(), key=lambda item: str(item[0]))]


def _family(name: str, kind: str, about: str, values: Iterable[tuple[str, int]]) -> list[str]:
    head = [f"# HELP discreet_{name} {about}", f"# TYPE discreet_{name} {kind}"]
    return head + [f"discreet_{name}{labels} {value}" for labels, value in values]

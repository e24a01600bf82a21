"""The training driver: runs sweeps in order, collects measures, calls callbacks, and shows the progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.training.pause import Paused, finishing

Measures = dict[str, float]
"""What one sweep measured, by name."""


@dataclass(frozen=True)
class SweepInfo:
    """What a callback receives after each sweep. For the curator only: measures come from the training documents."""

    sweep: int
    """1 for the first."""
    n_sweeps: int
    seconds: float | None
    """Since training began. None for a private model: how long a sweep takes depends on the documents."""
    measures: Measures = field(default_factory=dict)


Callback = Callable[[SweepInfo], object]
"""Called after each sweep; training ends early if it returns True, and a private model's guarantee then has `STOPPED`.

A callback with a method ``begin`` receives the run itself, including private state, before the first sweep. Only models
that promise nothing accept such a callback (``TopicModel.shows_run``)."""

STOPPED = (
    "a callback ended training early, and looked at nothing but released numbers (not at the clock, nor at documents)"
)
"""The condition of a guarantee if a callback ended training: the number of sweeps is then part of what is released."""


class Trained(NamedTuple):
    """The result of a run of sweeps."""

    history: dict[str, list[float]]
    conditions: tuple[str, ...]
    """`STOPPED`, or nothing."""


def run_sweeps(
    numbers: range,
    sweep: Callable[[int], Measures],
    *,
    callbacks: Iterable[Callback] = (),
    progress: bool = False,
    label: str = "training",
    run: object = None,
    timed: bool = False,
    converged: Callable[[], bool] = lambda: False,
    pause: Callable[[int], object] | None = None,
) -> Trained:
    """Call ``sweep`` with each number and collect its measures.

    ``timed``: whether callbacks receive the time; only for models that promise nothing. ``converged`` is the model's
    own rule for an early end, checked after each sweep. With ``pause``, Ctrl-C waits for the end of the sweep, calls it
    with that sweep's number, and then raises `Paused`.
    """
    history: dict[str, list[float]] = {}
    callbacks = list(callbacks)
    for callback in callbacks:
        if hasattr(callback, "begin"):
            callback.begin(run)
    started = time.perf_counter()
    stopped = False
    with Bar(label, len(numbers), progress) as advance, finishing("round", wanted=pause is not None) as asked:
        for done, number in enumerate(numbers, start=1):
            measures = sweep(number)
            for name, value in measures.items():
                history.setdefault(name, []).append(value)
            advance(measures)
            info = SweepInfo(done, len(numbers), time.perf_counter() - started if timed else None, measures)
            answers = [callback(info) for callback in callbacks]
            stopped = any(answer is True for answer in answers) and done < len(numbers)
            if stopped or converged():
                break
            if pause is not None and asked():
                pause(number)
                raise Paused
    return Trained(history, (STOPPED,) if stopped else ())


class Bar:
    """A progress bar on standard error, or nothing at all."""

    def __init__(self, label: str, total: int, wanted: bool) -> None:
        self._label, self._total, self._wanted = label, total, wanted

    def __enter__(self) -> Callable[[Measures], None]:
        if not self._wanted:
            return lambda measures: None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._progress.start()
        task = self._progress.add_task(self._label, total=self._total, rate="")
        started = time.perf_counter()

        def advance(measures: Measures) -> None:
            done = self._progress.tasks[task].completed + 1
            rate = done / max(time.perf_counter() - started, 1e-9)
            self._progress.update(task, advance=1, rate=f"{rate:,.1f} per second")

        return advance

    def __exit__(self, *exception: object) -> None:
        if self._wanted:
            self._progress.stop()

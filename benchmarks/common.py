"""What the measurements share: the data, the clock and the table."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from discreet import LDA, DataNotFound
from discreet.corpus import Corpus, load
from discreet.training.loop import Callback

VERDICTS: list[bool] = []
"""Of this run, in order."""

SKIPPED: list[str] = []
"""What could not be measured."""


# --- data -----------------------------------------------------------------------------------------------------------


@cache
def uci_split(name: str) -> tuple[Corpus, Corpus]:
    """KOS or NIPS as in the papers: 1,000 most frequent words, the first 3,000 or 1,350 documents for training."""
    corpus = load(name).most_frequent(1000)
    n_train = {"kos": 3000, "nips": 1350}[name]
    return corpus[:n_train], corpus[n_train:]


@cache
def arxiv() -> Corpus:
    """120,000 abstracts over their 5,000 most frequent words; reading them takes a while, so once."""
    return load("arxiv", max_words=5000)


def every(corpus: Corpus, n_documents: int) -> Corpus:
    """About ``n_documents``, evenly spaced: the first abstracts of arXiv are shorter than the rest."""
    return corpus[:: max(1, corpus.n_documents // n_documents)]


def corpora(**readers: Callable[[], Corpus]) -> Iterator[tuple[str, Corpus]]:
    """Those that can be had; a line for each of the others."""
    for name, read in readers.items():
        try:
            corpus = read()
        except DataNotFound as error:
            skip(name, error)
        else:
            yield name, corpus


def skip(what: str, why: object) -> None:
    SKIPPED.append(what)
    print(f"  skipped  {what}: {why}", flush=True)


# --- clock ----------------------------------------------------------------------------------------------------------


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    work()
    return clock() - started


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The fastest of several: on a shared machine the others measure the neighbours."""
    return min(seconds(work) for _ in range(repeats))


def best_of_each(
    works: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The fastest of several for each, in turns: what the neighbours do falls on all alike.

    For work on one thread pass ``time.process_time``: it does not run while the core serves somebody else.
    """
    rounds = [[seconds(work, clock) for work in works] for _ in range(repeats)]
    return [min(column) for column in zip(*rounds, strict=True)]


def step_seconds(fit: Callable[[Callback], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """How long each step of a fit took that calls back after each: the first with all before it, then what is left."""
    ends = [clock()]
    fit(lambda info: ends.append(clock()))
    return np.diff([*ends, clock()]).tolist()


def fastest_steps(
    fits: Sequence[Callable[[Callback], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[tuple[float, float]]:
    """For each, in turns: the fastest of each step over the repeats, added up, and the fastest as a whole.

    A fit of a minute is never left alone by the neighbours for all of its time; a step of it is, in one of the turns.
    """
    turns = [[step_seconds(fit, clock) for fit in fits] for _ in range(repeats)]
    steps = [np.array(column) for column in zip(*turns, strict=True)]
    return [(float(found.min(axis=0).sum()), float(found.sum(axis=1).min())) for found in steps]


def median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def trainee(n_topics: int, algorithm: str = "sampled") -> LDA:
    """A model to be trained a few sweeps at a time, with nothing but sweeps to do."""
    return LDA(
        n_topics,
        alpha=0.1,
        beta=0.01,
        n_average=1,
        evaluate_every=0,
        warm_start=True,
        random_state=1,
        n_threads=1,
        algorithm=algorithm,
    )


def sweep_seconds(model: LDA, corpus: Corpus, n_sweeps: int, n_threads: int) -> list[float]:
    """Train on, and say how long each whole sweep took: weights from counts, new topics, new counts."""
    ends = [0.0]
    model.set_params(n_sweeps=n_sweeps, n_threads=n_threads, callbacks=[lambda info: ends.append(info.seconds)])
    model.fit(corpus)
    return np.diff(ends).tolist()


# --- paper ----------------------------------------------------------------------------------------------------------


def machine() -> str:
    """The kind of processor and its cores."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def line(*cells: object) -> None:
    """One line of a table: a wide first column, then numbers to three digits."""
    first, *rest = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"  {first:<26}" + "".join(f"{cell:>12}" for cell in rest), flush=True)


def verdict(name: str, found: float, wanted: float, *, at_least: bool, unit: str = "") -> bool:
    """Print one line: what was found, what is wanted, and whether it holds."""
    holds = found >= wanted if at_least else found <= wanted
    VERDICTS.append(holds)
    sign = "≥" if at_least else "≤"
    word = "holds " if holds else "MISSED"
    print(f"  {word}  {name}: {found:.3g}{unit} (wanted {sign} {wanted:g}{unit})", flush=True)
    return holds

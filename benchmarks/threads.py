"""Do two threads give what two cores can give?

Drawing and counting all topics (``ThreadSweeps`` under given weights) with one and with two threads, beside an empty
loop that touches no memory and goes through the same pool in the same pieces. They take turns, 0.15 seconds each. On a
shared machine the second core is often not there. So a third loop takes part, which keeps the arithmetic busy and
touches no memory either, and only rounds of turns count in which it ran at least 1.8 times as fast on two threads, and
in which other processes used next to nothing, by the system's own books. A round is not chosen by how our own work
did in it. (The empty loop waits most of the time, so it does not notice when two cores of a virtual machine share
one real core; the full loop does.) A speed-up is the fastest with one thread over the fastest with two, as the
neighbours come and go within a round too; the medians are printed beside it. Without a verdict: a model's whole sweep,
which also turns counts into weights.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numba
import numpy as np

from benchmarks.common import arxiv, best, corpora, every, line, seconds, skip, uci_split, verdict
from discreet import Corpus
from discreet._random import Key
from discreet._types import FloatArray
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.engines.threads.workers import shares
from discreet.kernels.sums.counts import topic_totals

K = 50
BURN_IN = 20
OTHERS = 0.05
"""Share of the machine that others may use during a round that counts."""
THERE = 1.8
"""The full loop's speed-up in a round that counts, by its medians."""
TURN, ENOUGH = 0.15, 40
"""Seconds of a measure's turn, and how many rounds of turns that count end the measurement."""


@numba.njit(nogil=True)
def spin(n: int) -> int:
    """Each step waits for the one before."""
    x = np.uint64(88172645463325252)
    for _ in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


@numba.njit(nogil=True)
def work(n: int) -> int:
    """Eight chains that do not wait for each other."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    e, f, g, h = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    left, right = np.uint64(13), np.uint64(7)
    for _ in range(n):
        a, b, c, d = a ^ a << left, b ^ b << left, c ^ c << left, d ^ d << left
        e, f, g, h = e ^ e << left, f ^ f << left, g ^ g << left, h ^ h << left
        a, b, c, d = a ^ a >> right, b ^ b >> right, c ^ c >> right, d ^ d >> right
        e, f, g, h = e ^ e >> right, f ^ f >> right, g ^ g >> right, h ^ h >> right
    return a + b + c + d + e + f + g + h


class Sweeps:
    """Training as a model does it, without the model."""

    def __init__(self, corpus: Corpus, n_threads: int) -> None:
        self.engine = ThreadSweeps(corpus, K, Key.from_seed(1), n_threads=n_threads)
        self.engine.draw_first_topics()
        self.number = 0
        self.counts = self.engine.count()

    def __call__(self) -> tuple[float, float]:
        """Seconds to draw and count, and of the whole."""
        self.number += 1
        started = time.perf_counter()
        scale = 1 / (topic_totals(self.counts) + 0.01 * self.engine.n_words)
        weights = self.engine._fill_weights(self.counts, 0.01, scale)
        ready = time.perf_counter()
        self.engine._sweep(weights, self.engine._row(np.full(K, 0.1)), self.number)
        self.counts = self.engine.count()
        done = time.perf_counter()
        return done - ready, done - started

    def loop(self, body: Callable[[int], int], steps: int) -> tuple[float]:
        """Seconds of an empty or full loop."""
        pieces = np.diff(steps * shares(self.engine.n_threads)).astype(int)
        return (seconds(lambda: self.engine._workers.share(lambda thread, piece: body(pieces[piece]), len(pieces))),)


def speed_ups(corpus: Corpus, budget: float) -> list[list[float]]:
    """Of drawing and counting, a whole sweep, the empty and the full loop: by medians, and by the fastest.

    Nothing if the machine was never ours.
    """
    one, two = Sweeps(corpus, 1), Sweeps(corpus, 2)
    for _ in range(BURN_IN):
        one()
        two()
    loops = []
    for body in (spin, work):
        body(1)
        loops.append((body, int(1e6 * best(one) / best(lambda body=body: body(10**6)))))  # as long as a sweep
    runs: list[Callable[[], Sequence[float]]] = []
    for sweeps in (one, two):
        runs += [sweeps, *(partial(sweeps.loop, *loop) for loop in loops)]
    kept: list[list[FloatArray]] = [[] for _ in runs]
    n_kept, stop = 0, time.perf_counter() + budget
    while n_kept < ENOUGH and time.perf_counter() < stop:
        before = ticks()
        turns = [turn(run) for run in runs]
        full = np.median(turns[2]) / np.median(turns[5])
        if others_share(before, ticks()) <= OTHERS and full >= THERE:
            n_kept += 1
            for had, new in zip(kept, turns, strict=True):
                had.append(new)
        else:
            time.sleep(TURN)  # let the others get on with it
    if not n_kept:
        return []
    measures = [np.concatenate(had) for had in kept]
    found = []
    for middle in (np.median, np.min):
        times = np.concatenate([middle(measure, axis=0) for measure in measures])
        found.append((times[:4] / times[4:]).tolist())
    return found


def turn(run: Callable[[], Sequence[float]]) -> FloatArray:
    """All times of one measure in its turn: sweeps follow sweeps, as in training."""
    times, end = [], time.perf_counter() + TURN
    while time.perf_counter() < end:
        times.append(run())
    return np.array(times)


def ticks() -> tuple[float, float, float]:
    """Seconds that all cores have been there, that they were idle, and that this process used (Linux)."""
    spent = [int(n) / os.sysconf("SC_CLK_TCK") for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(spent), spent[3] + spent[4], time.process_time()


def others_share(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    total, idle, ours = (late - early for early, late in zip(before, after, strict=True))
    return (total - idle - ours) / total


def main(quick: bool = False) -> bool:
    holds = True
    sets = corpora(
        kos=lambda: uci_split("kos")[0],
        nips=lambda: uci_split("nips")[0],
        arxiv=lambda: every(arxiv(), 20_000),
    )
    line("speed-ups, K=50", "draw, count", "whole sweep", "empty loop", "full loop")
    for name, corpus in sets:
        found = speed_ups(corpus, 5.0 if quick else 80.0)
        if not found:
            skip(f"{name} on two threads", "the second core was never there for a second")
            continue
        usual, fastest = found
        line(f"{name}, medians", *usual)
        line(f"{name}, fastest", *fastest)
        line(f"{name}, over an empty loop's, by medians", usual[0] / usual[2])
        holds &= verdict(f"{name}: speed-up over that of an empty loop", fastest[0] / fastest[2], 0.9, at_least=True)
    return holds


if __name__ == "__main__":
    main()

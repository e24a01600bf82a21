"""Do two threads give what two cores can give?

Drawing and counting all topics (``ThreadEngine.sweep`` and ``count``) with one and with two threads, beside an empty
loop that touches no memory and goes through the same pool in the same pieces. On a shared machine the second core is
often not there. So with two threads the loop runs before and after, and only what lies between two loops that had both
cores counts: it is chosen by its neighbours, not by itself. A speed-up is the fastest with one thread over the fastest
with two. Beside it, without a verdict, the same for a model's whole sweep, which also turns counts into weights.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from benchmarks.common import arxiv, best, corpora, every, line, seconds, skip, uci_split, verdict
from discreet import Corpus
from discreet._random import Key
from discreet.engines.threads import PIECES, ThreadEngine

K = 50
BURN_IN = 20
FREE = 1.8
"""Speed-up of the empty loop from which both cores are taken to be free."""
ENOUGH = 60
"""Free moments that end the measurement."""


@numba.njit(nogil=True)
def spin(n: int) -> int:
    """Each step waits for the one before."""
    x = np.uint64(88172645463325252)
    for _ in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


class Sweeps:
    """Training as a model does it, without the model."""

    def __init__(self, corpus: Corpus, n_threads: int) -> None:
        self.engine = ThreadEngine(corpus, K, Key.from_seed(1), n_threads)
        self.engine.draw_first_topics()
        self.weights, self.number = self.engine.new_weights(), 0
        self.counts = self.engine.count()

    def __call__(self) -> tuple[float, float]:
        """Seconds to draw and count, and of the whole."""
        self.number += 1
        started = time.perf_counter()
        scale = 1 / (self.engine.totals(self.counts) + 0.01 * self.engine.n_words)
        self.engine.fill_weights(self.weights, self.counts, np.array([0.01]), scale)
        ready = time.perf_counter()
        self.engine.sweep(self.weights, np.full(K, 0.1), self.number)
        self.counts = self.engine.count()
        done = time.perf_counter()
        return done - ready, done - started

    def loop(self, steps: int) -> float:
        """Seconds of the empty loop."""
        pieces = PIECES * self.engine.n_threads if self.engine.n_threads > 1 else 1
        return seconds(lambda: self.engine._share(lambda thread, piece: spin(steps // pieces), pieces))


def speed_ups(corpus: Corpus, budget: float) -> list[float]:
    """Of drawing and counting, of a whole sweep, and of the loop; nothing if both cores were never free."""
    one, two = Sweeps(corpus, 1), Sweeps(corpus, 2)
    for _ in range(BURN_IN):
        one()
        two()
    spin(1)
    steps = int(1e7 * best(one) / best(lambda: spin(10**7)))  # as long as a sweep
    singles, doubles = [], []
    stop = time.perf_counter() + budget
    while time.perf_counter() < stop and len(doubles) < ENOUGH:
        singles.append([*one(), one.loop(steps)])
        limit = min(loop for *_, loop in singles) / FREE
        before, taken, after = two.loop(steps), two(), two.loop(steps)
        if max(before, after) <= limit:
            doubles.append([*taken, min(before, after)])
        else:
            time.sleep(0.05)  # let the others get on with it
    return (np.min(singles, axis=0) / np.min(doubles, axis=0)).tolist() if doubles else []


def main(quick: bool = False) -> bool:
    holds = True
    sets = corpora(
        kos=lambda: uci_split("kos")[0],
        nips=lambda: uci_split("nips")[0],
        arxiv=lambda: every(arxiv(), 5_000),
    )
    line("speed-ups, K=50", "draw, count", "whole sweep", "empty loop")
    for name, corpus in sets:
        found = speed_ups(corpus, 4.0 if quick else 40.0)
        if not found:
            skip(f"{name} on two threads", "the second core was never free")
            continue
        line(name, *found)
        holds &= verdict(f"{name}: speed-up over that of an empty loop", found[0] / found[2], 0.9, at_least=True)
    return holds


if __name__ == "__main__":
    main()

"""Do two threads give what two cores can give?

A whole sweep (weights from counts, new topics, new counts) with one and with two threads, beside an empty loop that
touches no memory and goes through the same pool in the same pieces. The empty loop says what the second core is worth
at that moment; on a shared machine that is rarely 2. One and two threads, loop and sweep take turns; each speed-up is
the fastest with one thread over the fastest with two. Rounds go on, up to a limit, until a moment has come in which the
second core was free: without one, both speed-ups are near 1 and their ratio says little.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from benchmarks.common import arxiv, best, best_of_each, corpora, every, line, uci_split, verdict
from discreet import Corpus
from discreet._random import Key
from discreet.engines.threads import PIECES, ThreadEngine

K = 50
BURN_IN = 20
FREE = 1.7
"""Speed-up of the empty loop from which the second core counts as free."""


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
        self.engine.count()

    def __call__(self) -> None:
        self.number += 1
        counts = self.engine._counts[0]
        scale = 1 / (self.engine.totals(counts) + 0.01 * self.engine.n_words)
        self.engine.fill_weights(self.weights, counts, np.array([0.01]), scale)
        self.engine.sweep(self.weights, np.full(K, 0.1), self.number)
        self.engine.count()


def speed_ups(corpus: Corpus, budget: float) -> tuple[float, float]:
    """Of the sweep and of the empty loop, from rounds for ``budget`` seconds, or three times that."""
    one, two = Sweeps(corpus, 1), Sweeps(corpus, 2)
    for _ in range(BURN_IN):
        one()
        two()
    spin(1)
    steps = int(1e7 * best(one) / best(lambda: spin(10**7)))  # as long as a sweep
    pieces = PIECES * 2
    works = [
        lambda: one.engine._share(lambda thread, piece: spin(steps), 1),
        one,
        lambda: two.engine._share(lambda thread, piece: spin(steps // pieces), pieces),
        two,
    ]
    started = time.perf_counter()
    taken = best_of_each(works, 10)
    while (spent := time.perf_counter() - started) < budget or (taken[0] < FREE * taken[2] and spent < 3 * budget):
        taken = [min(pair) for pair in zip(taken, best_of_each(works, 10), strict=True)]
    loop_one, sweep_one, loop_two, sweep_two = taken
    return sweep_one / sweep_two, loop_one / loop_two


def main(quick: bool = False) -> bool:
    holds = True
    sets = corpora(
        kos=lambda: uci_split("kos")[0],
        nips=lambda: uci_split("nips")[0],
        arxiv=lambda: every(arxiv(), 10_000),
    )
    line("K=50", "sweep", "empty loop", "ratio")
    for name, corpus in sets:
        sweep, loop = speed_ups(corpus, 2.0 if quick else 12.0)
        line(name, sweep, loop, sweep / loop)
        holds &= verdict(f"{name}: speed-up over that of an empty loop", sweep / loop, 0.9, at_least=True)
    return holds


if __name__ == "__main__":
    main()

"""What limits a collapsed step: arithmetic or memory?

KOS with 64 topics, one thread, so that no lane is empty. A pair of document and word takes 14 vector instructions of
arithmetic for each sixteen topics (``kernels/sweeps/collapsed.py``: 1 for its total, 9 without its own tokens, 4 to add
it up), and 12 bytes for each topic to and from tables of word × topic: weights are read, sums read and written. Both
are set against what this core does in loops of nothing else: fused multiply-adds in registers, and reading and adding
to tables as large as these. The fastest of many calls; all take turns.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.common import best_of_each, line, uci_split
from discreet._random import Key
from discreet.engines.threads.collapsed import ThreadCollapsed
from discreet.kernels.compile import bare_kernel
from discreet.kernels.lanes import LANES, fused, load, splat, store
from discreet.kernels.sweeps.collapsed import OwnWords, collapse_documents
from discreet.kernels.sweeps.slots import aligned

K = 64
ARITHMETIC = 14
CALLS = 100_000


@bare_kernel
def multiply_and_add(n, out):
    """Twelve chains of n fused multiply-adds: enough of them to hide their latency."""
    x = load(out, 0)
    a, b, c, d, e, f, g, h, i, j, k, m = x, x, x, x, x, x, x, x, x, x, x, x
    for _ in range(n):
        a, b, c, d = fused(a, x, x), fused(b, x, x), fused(c, x, x), fused(d, x, x)
        e, f, g, h = fused(e, x, x), fused(f, x, x), fused(g, x, x), fused(h, x, x)
        i, j, k, m = fused(i, x, x), fused(j, x, x), fused(k, x, x), fused(m, x, x)
    store(out, 0, a + b + c + d + e + f + g + h + i + j + k + m)


@bare_kernel
def read_and_add(rows, weights, sums):
    """What a step does to its tables, with no arithmetic in between but one addition."""
    for i in range(rows.shape[0]):
        row = np.int64(rows[i]) * K
        for k in range(row, row + K, LANES):
            store(sums, k, load(sums, k) + load(weights, k))


def main(quick: bool = False) -> bool:
    train, _ = uci_split("kos")
    engine = ThreadCollapsed(train, K, Key.from_seed(1), n_threads=1)
    engine.draw_first_topics()
    counts = engine.count()
    scale = 1.0 / (counts.sum(axis=0) + 0.01 * train.n_words)
    engine.sweep(counts, np.full(K, 0.1), 1, prior=0.01, scale=scale)
    weights, alpha = engine._fill_weights(counts, 0.01, scale), engine._row(np.full(K, 0.1))
    documents = (engine._words, engine._pair_counts, engine._steps, engine.offsets, engine._numbers, engine._expected)
    tables = (weights, alpha, OwnWords(engine._row(scale), engine._row(0.01 * scale)), None)
    sums, out = aligned(weights.size, np.float32), np.full(LANES, 1e-3, np.float32)
    store(out, 0, splat(np.float32(1e-3)))

    def step() -> None:
        collapse_documents(*documents, 0, len(train), *tables, *engine._scratch[0], engine._sums[0])

    works = (
        step,
        lambda: multiply_and_add(CALLS, out),
        lambda: read_and_add(engine._words, weights, sums),
    )
    for work in works:
        work()
    taken, arithmetic, memory = best_of_each(works, 20 if quick else 200, time.process_time)
    n_pairs, chunks = len(engine._words), K // LANES
    peak = 12 * CALLS / arithmetic
    needed, moved = n_pairs * chunks * ARITHMETIC, n_pairs * K * 12
    line("million tokens a second", train.n_tokens / taken / 1e6)
    line("ns for each pair", 1e9 * taken / n_pairs)
    line("GFLOP/s in registers", 2 * LANES * peak / 1e9)
    line("of it, used by a step", f"{needed / taken / peak:.0%}")
    line("GB/s of tables", moved / memory / 1e9)
    line("of it, used by a step", f"{memory / taken:.0%}")
    return True


if __name__ == "__main__":
    main()

"""What does secure randomness cost?

A draw is 32 bits. Ours is ChaCha20, sixteen blocks at a time; numpy's generators are fast and predictable, the
operating system's is secure. ``fill_document`` calls ``fill_group`` for each 256 draws. In plain numba, one block at a
time, ChaCha20 took 7 ns a draw.
"""

from __future__ import annotations

import os

import numpy as np

from benchmarks.common import best_of_each, line, verdict
from discreet._random import Key, Purpose
from discreet.kernels.stream import fill_document

N = 1 << 16
PLAIN = 7.0


def main(quick: bool = False) -> bool:
    key, places, out = Key.from_seed(1).words, np.zeros(32, np.uint32), np.zeros(N, np.uint32)
    purpose, zero = np.uint32(Purpose.SWEEP), np.uint32(0)
    generators = {name: np.random.Generator(getattr(np.random, name)(1)) for name in ("PCG64", "Philox")}
    works = {"ours, ChaCha20": lambda: fill_document(key, purpose, zero, zero, 0, places, 0, out, 0, N)}
    for name, generator in generators.items():
        works[f"numpy, {name}"] = lambda g=generator: g.integers(0, 2**32, N, dtype=np.uint32)
    works["os.urandom"] = lambda: os.urandom(4 * N)
    for work in works.values():
        work()
    found = best_of_each(list(works.values()), 200 if quick else 2000)
    line("", "ns a draw", "GB/s")
    for name, taken in zip(works, found, strict=True):
        line(name, 1e9 * taken / N, 4e-9 * N / taken)
    return verdict("ns a secure draw", 1e9 * found[0] / N, PLAIN, at_least=False)


if __name__ == "__main__":
    main()

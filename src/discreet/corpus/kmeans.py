"""k-means of byte vectors in whole numbers: the same centres on every machine, whatever the number of threads.

Vectors and centres have entries from 0 to 255. A product of two of them is at most 128 · 255² < 2²³, and every partial
sum of it is a whole number below 2²⁴: float32 holds it exactly. So a matrix product gives the same bits in whatever
order a library adds, and so do sums of a cluster, which are whole numbers too. Centres are rounded to whole numbers,
which moves an entry by at most a half; vectors of SIFT have length 512. scikit-learn's KMeans adds floats in the order
in which its threads finish.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._types import AnyArray, FloatArray, IntArray

LONGEST = 128
"""Entries of a vector, at most: more would not be exact."""

ROUNDS = 30
"""Of moving all centres, at most. The last ones change little."""

FIRST_SAMPLE = 32
"""Vectors for each centre among which the first centres are drawn."""

_BLOCK = 4096  # rows compared at a time: their table of distances to 700 centres takes 11 MiB


def nearest(vectors: AnyArray, centres: AnyArray) -> tuple[IntArray, IntArray]:
    """The nearest centre of each vector (of several, the first), and the squared distance to it."""
    table = centres.astype(np.float32).T
    lengths = _squared_lengths(centres)
    choice, distance = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.int64)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        scores = lengths.astype(np.float32) - 2 * (block.astype(np.float32) @ table)
        best = scores.argmin(axis=1)
        choice[start : start + len(block)] = best
        distance[start : start + len(block)] = scores[np.arange(len(block)), best]
    distance += _squared_lengths(vectors)
    return choice, distance


def k_means(
    vectors: AnyArray,
    n_centres: int,
    generator: np.random.Generator,
    after_round: Callable[[int, int], object] = lambda done, total: None,
) -> AnyArray:
    """Lloyd's algorithm from k-means++ centres (Arthur and Vassilvitskii, SODA 2007). ``vectors`` are uint8.

    A centre without vectors moves to the vector that is farthest from its own centre.
    """
    centres = _first_centres(vectors, n_centres, generator)
    before = np.full(len(vectors), -1)
    for done in range(1, ROUNDS + 1):
        choice, distance = nearest(vectors, centres)
        if (choice == before).all():
            break
        before = choice
        centres = _means(vectors, choice, distance, n_centres)
        after_round(done, ROUNDS)
    return centres


def _first_centres(vectors: AnyArray, n_centres: int, generator: np.random.Generator) -> AnyArray:
    """k-means++: each next one is drawn with a chance in proportion to the squared distance from those before it."""
    size = min(len(vectors), FIRST_SAMPLE * n_centres)
    sample = vectors[np.sort(generator.choice(len(vectors), size, replace=False))]
    chosen = [int(generator.integers(size))]
    floats, lengths = sample.astype(np.float32), _squared_lengths(sample)
    left = np.full(size, np.iinfo(np.int64).max)
    while len(chosen) < n_centres:
        last = chosen[-1]
        products = (floats @ floats[last]).astype(np.int64)
        left = np.minimum(left, lengths + lengths[last] - 2 * products)
        marks = left.cumsum()
        mark = generator.integers(marks[-1]) if marks[-1] else generator.integers(size)
        chosen.append(int(np.searchsorted(marks, mark, side="right")) if marks[-1] else int(mark))
    return sample[chosen]


def _means(vectors: AnyArray, choice: IntArray, distance: IntArray, n_centres: int) -> AnyArray:
    """The rounded mean of each cluster."""
    counts = np.bincount(choice, minlength=n_centres)
    order = np.argsort(choice, kind="stable")
    sums = np.add.reduceat(
        np.concatenate([vectors[order], np.zeros((1, vectors.shape[1]), vectors.dtype)]),
        np.concatenate([[0], counts.cumsum()[:-1]]),
        axis=0,
        dtype=np.int64,
    )
    means: FloatArray = sums / np.maximum(counts, 1)[:, None]
    centres = np.floor(means + 0.5).astype(np.uint8)
    empty = np.flatnonzero(counts == 0)
    if empty.size:
        centres[empty] = vectors[np.argsort(-distance, kind="stable")[: empty.size]]
    return centres


def _squared_lengths(vectors: AnyArray) -> IntArray:
    lengths: IntArray = np.square(vectors, dtype=np.uint32).sum(axis=1, dtype=np.int64)
    return lengths

"""Documents as pairs of a word and its count: what collapsed steps read."""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array, UInt32Array
from discreet.kernels.compile import at, bare_kernel


@bare_kernel
def find_pairs(
    words: Int32Array,
    offsets: IntArray,
    documents: IntArray,
    seen: IntArray,
    pair_words: Int32Array,
    counts: Float32Array,
    pair_offsets: IntArray,
) -> None:
    """The different words of each of ``documents``, in the order of their first tokens, and how often each occurs.

    ``pair_offsets`` has one place more than documents. ``seen`` holds -1 for every word; the pair arrays have room for
    all tokens.
    """
    n = np.int64(0)
    for i in range(documents.shape[0]):
        start, d = n, documents[at(i)]
        pair_offsets[at(i)] = start
        for token in range(offsets[at(d)], offsets[at(d + 1)]):
            word = at(words[at(token)])
            if seen[word] < start:
                seen[word] = n
                pair_words[at(n)], counts[at(n)] = words[at(token)], np.float32(1)
                n += 1
            else:
                counts[at(seen[word])] += np.float32(1)
    pair_offsets[at(documents.shape[0])] = n


@bare_kernel
def count_pairs(
    words: Int32Array,
    counts: Float32Array,
    steps: Float32Array,
    offsets: IntArray,
    topics: UInt16Array,
    first: Int,
    last: Int,
    first_token: Int,
    width: Int,
    expected: Float32Array,
    sums: UInt32Array,
) -> None:
    """Give the tokens of documents ``first`` to ``last - 1`` the ``topics`` from ``first_token`` on, a pair's tokens
    one after the other: counted in ``expected``, document × width, and added to ``sums``, word × width."""
    token, row = at(first_token), at(width)
    for d in range(first, last):
        for j in range(offsets[at(d)], offsets[at(d + 1)]):
            step = np.uint32(steps[at(j)] / counts[at(j)])
            for _ in range(np.int64(counts[at(j)])):
                topic = at(topics[token])
                expected[at(d) * row + topic] += np.float32(1)
                sums[at(words[at(j)]) * row + topic] += step
                token += at(1)

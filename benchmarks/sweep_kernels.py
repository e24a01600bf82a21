"""What does a token cost in each of the three sweep kernels?

Dense, exact and sparse share the slots in which documents advance, and the booking of draws
(``kernels/sweeps/slots.py``). They are called as the thread engine calls them, on one thread, on random documents that
have up to eight topics each; every call draws the same tokens from the same state. Fastest of many calls.

Slots and booking stood in each kernel before 2026-11-16. ns per token, before and after, fastest of four runs in turns
(2 cores with AVX-512, 20 and 200 tokens per document):

    dense, 48 topics       15.9 → 15.6     13.5 → 13.6
    dense, 96 topics       20.5 → 20.7     18.6 → 18.9
    exact, 48 topics       26.2 → 24.1     22.5 → 21.8
    sparse, 512 topics      110 → 104      96.4 → 99.4
    sparse, 1008 topics     136 → 125       136 → 141

The same before and after the kernels could take a Beta-Liouville prior, and then with that prior, fastest of three runs
in turns (the same machine, busy with other work):

    dense, 16 topics       11.8 → 11.8, 14.1     9.97 → 9.92, 11.6
    dense, 48 topics       15.8 → 15.7, 17.6     13.7 → 13.5, 15.1
    dense, 96 topics       20.9 → 20.9, 22.6     18.4 → 18.4, 20.4
    exact, 48 topics       24.6 → 24.4, 28.1     24.6 → 23.5, 26.6
    sparse, 512 topics      118 → 116, 115        114 → 103, 106
    sparse, 1008 topics     144 → 132, 137        177 → 150, 147
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.common import best_of_each, line
from discreet._random import Key, Purpose
from discreet.corpus import lda_corpus
from discreet.kernels.sweeps.dense import dense_scratch, sweep_dense
from discreet.kernels.sweeps.exact import exact_scratch, sweep_exact
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.kernels.sweeps.slots import aligned
from discreet.kernels.sweeps.sparse import smooth_sums, sparse_scratch, sweep_sparse

SHAPES = {"dense": (16, 48, 96), "exact": (16, 48, 96), "sparse": (512, 1008)}
"""Topics; whole rows, so that nothing has to be padded."""
LENGTHS = 20, 200


def calls(n_topics: int, mean_length: int, rest: float | None) -> tuple[int, dict[str, Callable[[], None]]]:
    """How many tokens, and a sweep over them by each kernel; ``rest`` makes the document prior Beta-Liouville."""
    made = lda_corpus(100_000 // mean_length, 2000, min(n_topics, 50), mean_length=mean_length, seed=1)
    corpus, rng = made.corpus, np.random.default_rng(2)
    numbers = np.arange(corpus.n_documents, dtype=np.uint32)
    eight, document = rng.choice(n_topics, (corpus.n_documents, 8)), np.repeat(numbers, corpus.lengths)
    start = eight[document, rng.integers(0, 8, corpus.n_tokens)].astype(np.uint16)
    topics = start.copy()
    weights, alpha = aligned(2000 * n_topics, np.float32), aligned(n_topics, np.float32)
    weights[:], alpha[:] = rng.gamma(0.1, 1.0, 2000 * n_topics) + 1e-3, 0.1
    last_topic = None if rest is None else LastTopic.of(alpha.astype(np.float64), rest)
    if last_topic is not None:
        alpha[-1] = last_topic.least * last_topic.beta
    smooth = np.empty(2000 * n_topics // 16, np.float32)
    smooth_sums(weights, alpha, 0, 2000, smooth)
    draws = (Key.from_seed(3).words, np.uint32(Purpose.SWEEP), np.uint32(1))
    twice = 2 * corpus.offsets
    twice.setflags(write=False)
    scratch = dense_scratch(n_topics), exact_scratch(n_topics), sparse_scratch(n_topics, n_topics)
    tables = (numbers, topics, 0, corpus.n_documents, weights, alpha, last_topic)

    def dense() -> None:
        topics[:] = start
        sweep_dense(corpus.words, corpus.offsets, *tables, 1, *draws, *scratch[0])

    def exact() -> None:
        topics[:] = start
        sweep_exact(corpus.words, twice, *tables, n_topics, *draws, *scratch[1])

    def sparse() -> None:
        topics[:] = start
        sweep_sparse(corpus.words, corpus.offsets, *tables, smooth, *draws, *scratch[2])

    return corpus.n_tokens, {"dense": dense, "exact": exact, "sparse": sparse}


def main(quick: bool = False) -> bool:
    line("ns per token", *(f"{length} tokens" for length in LENGTHS))
    for kernel, shapes in SHAPES.items():
        for n_topics in shapes[:1] if quick else shapes:
            for rest, prior in ((None, ""), (3.0, ", Beta-Liouville")):
                found = []
                for length in LENGTHS:
                    n_tokens, works = calls(n_topics, length, rest)
                    works[kernel]()
                    (taken,) = best_of_each([works[kernel]], 20 if quick else 200, time.process_time)
                    found.append(1e9 * taken / n_tokens)
                line(f"{kernel}, {n_topics} topics{prior}", *(f"{ns:.2f}" for ns in found))
    return True


if __name__ == "__main__":
    main()

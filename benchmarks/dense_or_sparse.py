"""From how many topics on is it faster to look only at the topics present in a document?

Both kernels draw the same tokens from the same state, on one thread, after 5 and after 50 sweeps: a state in which
topics have settled has fewer of them in a document, and suits the sparse kernel. The sparse kernel's time includes its
tables. ``engines.threads`` takes the sparse kernel for rows at least ``SPARSE_FROM`` wide and wider than the mean
document is long; the verdict is how much time that rule costs, at worst, over always having taken the faster one.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.common import arxiv, best_of_each, corpora, every, line, uci_split, verdict
from discreet import Corpus
from discreet._random import Key
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.kernels.sums.counts import topic_totals

TOPICS = 50, 100, 200, 300, 400, 500, 700, 1000
SWEEPS = 5, 50


class Chain:
    """An engine that can be swept by either kernel."""

    def __init__(self, corpus: Corpus, n_topics: int) -> None:
        self.engine = ThreadSweeps(corpus, n_topics, Key.from_seed(1), n_threads=1)
        self.rule = self.engine.sparse
        self.engine.draw_first_topics()
        self.number = 0

    def sweep(self) -> None:
        self.number += 1
        counts = self.engine.count()
        scale = 1 / (topic_totals(counts) + 0.01 * self.engine.n_words)
        self.weights = self.engine._fill_weights(counts, 0.01, scale)
        self.redraw()

    def redraw(self) -> None:
        self.engine._sweep(self.weights, self.engine._row(np.full(self.engine.n_topics, 0.1)), self.number)

    def times(self, repeats: int) -> list[float]:
        """Nanoseconds a token of the dense and of the sparse kernel."""
        state = self.engine.topics.copy()
        works = [lambda sparse=sparse: self._from(state, sparse) for sparse in (False, True)]
        found = best_of_each(works, repeats, time.process_time)
        self.engine.sparse = self.rule
        self.engine.use_threads(1)
        return [1e9 * t / self.engine.n_tokens for t in found]

    def _from(self, state: np.ndarray, sparse: bool) -> None:
        self.engine.topics[:] = state
        self.engine.sparse = sparse
        self.engine.use_threads(1)
        self.redraw()


def main(quick: bool = False) -> bool:
    sets = corpora(
        kos=lambda: every(uci_split("kos")[0], 1_500),
        nips=lambda: every(uci_split("nips")[0], 150),
        arxiv=lambda: every(arxiv(), 2_000),
    )
    worst = 0.0
    for name, corpus in sets:
        length = corpus.n_tokens / corpus.n_documents
        print(f"  {name}: {corpus!r}, {length:.0f} tokens a document; ns a token")
        line("topics", *(f"{kernel}, {n}" for n in SWEEPS for kernel in ("dense", "sparse")), "chosen")
        for n_topics in TOPICS[1::3] if quick else TOPICS:
            chain, found = Chain(corpus, n_topics), []
            for n_sweeps in SWEEPS[:1] if quick else SWEEPS:
                while chain.number < n_sweeps:
                    chain.sweep()
                pair = chain.times(3 if quick else 15)
                worst = max(worst, pair[chain.rule] / min(pair))
                found += pair
            line(n_topics, *found, "sparse" if chain.rule else "dense")
    return worst > 0 and verdict(
        "the rule's time over that of the faster kernel, at worst", worst, 1.25, at_least=False
    )


if __name__ == "__main__":
    main()

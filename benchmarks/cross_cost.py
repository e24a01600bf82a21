"""What does it cost in time for each token to compare collections: CrossLDA and CrossLBLA against plain LDA?

Whole fits on the abstracts of two conferences (NeurIPS and CVPR), in turns with plain LDA on the same tokens and as
many topics. The verdict is by the fastest of each sweep over the turns, added up: on one thread by processor time, on
all by the clock on the wall. A sweep over two collections reads and counts in tables that are twice as large.

AMD EPYC, 2 cores: 1.11 to 1.19 on one thread, and 1.11 to 1.30 on two, but 1.21 to 1.36 with 5,000 words and 50 topics.
Before threads drew one collection after the other, and before weights were written over threads, it was 1.16 to 1.22
and 1.31 to 1.33, and more in short fits (``docs/results/benchmarks.md``).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.common import corpora, fastest_steps, line, verdict
from discreet import LDA, CrossLBLA, CrossLDA
from discreet.corpus import Corpus, load
from discreet.models.base import TopicModel
from discreet.training.loop import Callback

WANTED = 1.3


def fitting(model: TopicModel, corpus: Corpus) -> Callable[[Callback], object]:
    model.fit(corpus[::100])  # compiled
    return lambda after_each: model.set_params(callbacks=[after_each]).fit(corpus)


def compare(name: str, corpus: Corpus, n_topics: int, n_sweeps: int, n_threads: int | None, repeats: int) -> bool:
    common = {"n_sweeps": n_sweeps, "n_threads": n_threads, "random_state": 1}
    models = {
        "LDA": LDA(n_topics, evaluate_every=0, algorithm="sampled", **common),
        "CrossLDA": CrossLDA(n_topics, **common),
        "CrossLBLA": CrossLBLA.public_code_settings(n_topics, corpus.n_words, as_published=False, **common),
    }
    clock = time.process_time if n_threads == 1 else time.perf_counter
    found = fastest_steps([fitting(model, corpus) for model in models.values()], repeats, clock)
    steps = 1e9 * np.array(found)[:, 0] / (n_sweeps * corpus.n_tokens)
    threads = "1 thread" if n_threads == 1 else "all threads"
    line(f"{name}, K={n_topics}, {threads}", *steps.tolist())
    case = f"{name}, K={n_topics}, {threads}: times the time of LDA for each token"
    return verdict(case, float(steps[1:].max() / steps[0]), WANTED, at_least=False)


def main(quick: bool = False) -> bool:
    holds = True
    repeats, n_sweeps = (2, 20) if quick else (5, 50)
    line("ns a token", "LDA", "CrossLDA", "CrossLBLA")
    for n_words in (2000, 5000):
        name = f"{n_words:,} words"
        for _, corpus in corpora(**{name: lambda n_words=n_words: load("neurips-cvpr", max_words=n_words)}):
            for n_topics in (20, 50):
                for n_threads in (1, None):
                    holds &= compare(name, corpus, n_topics, n_sweeps, n_threads, repeats)
    return holds


if __name__ == "__main__":
    main()

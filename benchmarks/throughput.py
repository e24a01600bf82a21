"""How many tokens a second, at how many topics, and against tomotopy?

arXiv abstracts over their 5,000 most frequent words, every sixth document, α=0.1, β=0.01, after twenty sweeps of
burn-in. A sweep of ours is everything between two states of the chain: weights from counts, new topics, new counts.
tomotopy chooses its own sampler. All four take turns; the fastest sweep of each counts.
"""

from __future__ import annotations

import time
import warnings

from benchmarks.common import arxiv, every, line, seconds, sweep_seconds, trainee
from discreet import Corpus

TOPICS = 20, 50, 100, 500, 1000
BURN_IN = 20


def tomotopy(corpus: Corpus, n_topics: int):
    import tomotopy as tp

    model = tp.LDAModel(k=n_topics, alpha=0.1, eta=0.01, seed=1)
    model.optim_interval = 0
    for d in range(len(corpus)):
        model.add_doc([str(w) for w in corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]])
    model.train(0)
    return model


def rates(corpus: Corpus, n_topics: int, budget: float) -> list[float]:
    """Million tokens a second: ours with 1 and 2 threads, tomotopy's with 1 and 2 workers."""
    model = trainee(n_topics)
    sweep_seconds(model, corpus, BURN_IN, 2)
    rivals = {workers: tomotopy(corpus, n_topics) for workers in (1, 2)}
    for workers, rival in rivals.items():
        rival.train(2, workers=workers)
    taken = [float("inf")] * 4
    stop = time.perf_counter() + budget
    while taken[0] == float("inf") or time.perf_counter() < stop:
        found = [min(sweep_seconds(model, corpus, 3, n_threads)) for n_threads in (1, 2)]
        found += [seconds(lambda w=w, rival=rival: rival.train(1, workers=w)) for w, rival in rivals.items()]
        taken = [min(pair) for pair in zip(taken, found, strict=True)]
    return [corpus.n_tokens / t / 1e6 for t in taken]


def main(quick: bool = False) -> None:
    corpus = every(arxiv(), 5_000 if quick else 20_000)
    print(f"  {corpus!r}, million tokens a second")
    line("topics", "1 thread", "2 threads", "tomotopy 1", "tomotopy 2", "ratio of 1", "of the best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two workers do not repeat their results
        for n_topics in TOPICS[1::2] if quick else TOPICS:
            one, two, rival_one, rival_two = rates(corpus, n_topics, 2.0 if quick else 8.0)
            ratio = max(one, two) / max(rival_one, rival_two)
            line(n_topics, one, two, rival_one, rival_two, one / rival_one, ratio)


if __name__ == "__main__":
    main()

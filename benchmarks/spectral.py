"""How long do topics from moments take, plain and private, on arXiv: 5,000 and 10,000 words, 20 and 50 topics?

Each fit in a process of its own, on all cores, with the peak of its memory; a small fit before loads compiled code.
The plain form is also timed on a half and a quarter of the documents: time should be linear in tokens. Then the race:
the plain form against LDA's Gibbs sweeps until these are as good on held-out documents (every fortieth), as few sweeps
as it takes, found in a run that is not timed. There is no verdict: what LDA reaches beyond that, moments never do.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.common import arxiv, best, corpora, every, line, verdict
from discreet._types import FloatArray
from discreet.corpus import Corpus, Vocabulary, lda_corpus, load
from discreet.evaluation import completion_perplexity

ALPHA = 0.1
"""Of LDA, and with which perplexity is measured."""

SECONDS, GIGABYTES = 30, 3.0
"""Wanted at 5,000 words and 50 topics on two cores."""


def public(corpus: Corpus) -> Corpus:
    return corpus.restrict(Vocabulary(corpus.vocabulary, "public"))


def fit(corpus: Corpus, n_topics: int, epsilon: float | None, results: Connection) -> None:
    from discreet.models.spectral.model import SpectralLDA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of topics that noise hides
        SpectralLDA(2, epsilon=epsilon).fit(lda_corpus(200, 50, 2).corpus)
        started = time.perf_counter()
        SpectralLDA(n_topics, epsilon=epsilon).fit(corpus)
    results.send((time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))


def measure(corpus: Corpus, n_topics: int, epsilon: float | None) -> tuple[float, float]:
    """Seconds, and gigabytes at the peak, the corpus included."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    process = context.Process(target=fit, args=(corpus, n_topics, epsilon, its))
    process.start()
    found: tuple[float, float] = mine.recv()
    process.join()
    return found


def race(corpus: Corpus, n_topics: int) -> None:
    """The seconds that SpectralLDA takes, and those of LDA until it is as good."""
    from discreet import LDA, SpectralLDA

    held_out = np.arange(corpus.n_documents) % 40 == 0
    train, test = corpus[~held_out], corpus[held_out]

    def perplexity(topics: FloatArray) -> float:
        return completion_perplexity(topics, test, alpha=ALPHA)

    def gibbs(n_sweeps: int) -> LDA:
        return LDA(
            n_topics,
            alpha=ALPHA,
            beta=0.05,
            n_sweeps=n_sweeps,
            n_average=1,
            random_state=1,
            evaluate_every=0,
            algorithm="sampled",
        )

    moments = SpectralLDA(n_topics)
    its = best(lambda: moments.fit(train), 3)
    target = perplexity(moments.components_)
    growing, n_sweeps = gibbs(1).set_params(warm_start=True), 1
    while perplexity(growing.fit(train).components_) > target:
        n_sweeps += 1
    ours = best(lambda: gibbs(n_sweeps).fit(train), 3)
    line(f"race to {target:.0f}", corpus.n_words, n_topics, its, "SpectralLDA")
    line(f"{n_sweeps} sweeps", corpus.n_words, n_topics, ours, "LDA")
    line("times as fast as LDA", corpus.n_words, n_topics, ours / its, "")


def main(quick: bool = False) -> None:
    line("", "words", "topics", "seconds", "GB")
    readers = {"5,000": arxiv} if quick else {"5,000": arxiv, "10,000": lambda: load("arxiv", max_words=10_000)}
    for _, corpus in corpora(**readers):
        corpus = public(corpus)
        for n_topics in (50,) if quick else (20, 50):
            for name, epsilon in (("plain", None), ("ε = 4", 4.0)):
                seconds, gigabytes = measure(corpus, n_topics, epsilon)
                line(name, corpus.n_words, n_topics, seconds, gigabytes)
                if (corpus.n_words, n_topics) == (5000, 50):
                    verdict(f"{name}, 5,000 words, 50 topics", seconds, SECONDS, at_least=False, unit=" s")
                    verdict(f"{name}, 5,000 words, 50 topics", gigabytes, GIGABYTES, at_least=False, unit=" GB")
    if not quick:
        for _, corpus in corpora(arxiv=arxiv):
            race(public(corpus.most_frequent(2000)), 20)
            race(public(corpus), 50)
            for share in (4, 2, 1):
                part = every(corpus, corpus.n_documents // share)
                seconds, _ = measure(part, 20, None)
                line("plain, ns a token", part.n_words, 20, seconds / part.n_tokens * 1e9, "")


if __name__ == "__main__":
    main()

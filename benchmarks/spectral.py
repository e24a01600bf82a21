"""How long do topics from moments take, plain and private, on arXiv: 5,000 and 10,000 words, 20 and 50 topics?

Each fit in a process of its own, on all cores, with the peak of its memory; a small fit before loads compiled code.
The plain form is also timed on a half and a quarter of the documents: time should be linear in tokens.

Found on two cores of a 2.8 GHz Xeon that others used too (load 4), 5,000 words; seconds and GB. Plain: 20 topics 4.8
and 0.44; 50 topics 21 to 50 and 0.46. ε = 4: 20 topics 32 and 0.72; 50 topics 77 and 0.76, the clipped triples about 25
seconds of processor time. On free cores, and for 10,000 words, it is still to be measured.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from multiprocessing.connection import Connection

from benchmarks.common import arxiv, corpora, every, line, verdict
from discreet.corpus import Corpus, lda_corpus, load

SECONDS, GIGABYTES = 30, 3.0
"""Wanted at 5,000 words and 50 topics on two cores."""


def public(corpus: Corpus) -> Corpus:
    return corpus.restrict(corpus.vocabulary, vocabulary_from="public")


def fit(corpus: Corpus, n_topics: int, epsilon: float | None, results: Connection) -> None:
    from discreet.models.spectral import SpectralLDA

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
            for share in (4, 2, 1):
                part = every(corpus, corpus.n_documents // share)
                seconds, _ = measure(part, 20, None)
                line("plain, ns a token", part.n_words, 20, seconds / part.n_tokens * 1e9, "")


if __name__ == "__main__":
    main()

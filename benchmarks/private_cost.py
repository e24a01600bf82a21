"""What does privacy cost in time for each token visited: PrivateLDA and HybridLDA against plain LDA?

Whole fits on one thread, noise and accounting included (its packages loaded before), in turns with plain LDA on the
same tokens, by processor time, with as many visits for both: a short run may be lucky. The verdict is by the fastest of
each sweep or round over the turns, added up; the fastest whole fits are printed beside it. PrivateLDA: arXiv over 2,000
words, 20 topics; a round visits the tokens of its units ``local_sweeps`` times to draw their topics and once more for
their expected counts, which is the same sum over topics; the ratio is also printed with the sweeps alone as visits.
HybridLDA: NIPS over 1,000 and over all 12,419 words, 50 topics; its draws have float64 sums and 53 random bits, so it
is allowed to cost more than the 1.15 that is wanted.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.common import arxiv, corpora, every, fastest_steps, line, verdict
from discreet import LDA, HybridLDA, PrivateLDA
from discreet.corpus import Corpus, Vocabulary, load
from discreet.models.private.rounds import usual_sweeps
from discreet.privacy import accounting, calibrate
from discreet.training.loop import Callback

WANTED = 1.15


def nips(n_words: int | None) -> Corpus:
    corpus = load("nips")
    corpus = corpus[:1350] if n_words is None else corpus[:1350].most_frequent(n_words)
    return public(corpus)


def public(corpus: Corpus) -> Corpus:
    return corpus.restrict(Vocabulary(corpus.vocabulary, "public"))


def plain(corpus: Corpus, n_topics: int, n_sweeps: int) -> LDA:
    return LDA(n_topics, n_sweeps=n_sweeps, evaluate_every=0, n_threads=1, algorithm="sampled")


def compare(
    name: str, corpus: Corpus, model: PrivateLDA | HybridLDA, visits: float, n_sweeps: int, repeats: int
) -> tuple[float, bool]:
    """``visits``: how often the private fit visits each token."""
    usual = plain(corpus, model.n_topics, n_sweeps)

    def private(after_each: Callback) -> None:
        for cache in (accounting._spent, accounting._total, calibrate._gaussian):
            cache.cache_clear()  # each fit does its own accounting
        model.set_params(callbacks=[after_each]).fit(corpus)

    def plainly(after_each: Callback) -> None:
        usual.set_params(callbacks=[after_each]).fit(corpus)

    model.fit(corpus[:50])  # compiled, and packages loaded
    its, ours = np.array(fastest_steps([plainly, private], repeats, time.process_time))
    its, ours = 1e9 * its / (n_sweeps * corpus.n_tokens), 1e9 * ours / (visits * corpus.n_tokens)
    for what, usually, privately in zip((name, "whole fits"), its, ours, strict=True):
        line(what, usually, privately, privately / usually)
    ratio = float(ours[0] / its[0])
    return ratio, verdict(f"{name}: times the time of LDA for each token visited", ratio, WANTED, at_least=False)


def main(quick: bool = False) -> bool:
    holds = True
    repeats, n_sweeps = (2, 10) if quick else (4, 50)
    line("ns a token visited", "LDA", "private", "ratio")
    for name, corpus in corpora(**{"nips, 1,000 words": lambda: nips(1000), "nips, 12,419 words": lambda: nips(None)}):
        model = HybridLDA(50, epsilon_laplace=1.0, epsilon_inherent=10.0, n_sweeps=n_sweeps, n_threads=1)
        holds &= compare(f"HybridLDA, {name}", corpus, model, n_sweeps, n_sweeps, repeats)[1]
    for _, corpus in corpora(arxiv=lambda: public((every(arxiv(), 20_000) if quick else arxiv()).most_frequent(2000))):
        sweeps = usual_sweeps(20)
        rounds = PrivateLDA(20, epsilon=1.0, **({"n_rounds": 40} if quick else {}), n_threads=1)
        visits = rounds.n_rounds * rounds.sampling_rate * (sweeps + 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a small corpus: that it will hardly learn anything
            ratio, within = compare("PrivateLDA, arxiv, 2,000", corpus, rounds, visits, round(visits), repeats)
        line("with its sweeps alone as visits", ratio * (sweeps + 1) / sweeps)
        holds &= within
    return holds


if __name__ == "__main__":
    main()

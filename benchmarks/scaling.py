"""How does training time grow with documents, words and topics?

Synthetic corpora, so that only one thing changes at a time; documents of 100 tokens; one thread, timed by the
processor's clock, which stands still while the core serves somebody else. Documents: a whole ``LDA.fit`` of five
sweeps. Words and topics: nanoseconds a token of a whole sweep.
"""

from __future__ import annotations

import time

from benchmarks.common import best_of_each, line, sweep_seconds, trainee, verdict
from discreet import LDA
from discreet.corpus import lda_corpus

K = 50
WORDS = 1_000, 4_000, 16_000, 64_000
TOPICS = 16, 64, 256, 1_024


def documents(quick: bool) -> bool:
    """16 times the documents."""
    n = 500 if quick else 2_000
    large = lda_corpus(16 * n, 2_000, K, mean_length=100, lengths="fixed").corpus
    small = large[::16]
    works = [
        lambda corpus=corpus: LDA(
            K, n_sweeps=5, n_threads=1, random_state=1, evaluate_every=0, algorithm="sampled"
        ).fit(corpus)
        for corpus in (small, large)
    ]
    fast, slow = best_of_each(works, 5 if quick else 15, time.process_time)
    line(f"{len(small):,} documents", f"{1e3 * fast:.0f} ms")
    line(f"{len(large):,} documents", f"{1e3 * slow:.0f} ms")
    return verdict("time for 16 times the documents over the time for one", slow / fast, 17, at_least=False)


def cost(n_words: int, n_topics: int, quick: bool) -> float:
    """Nanoseconds a token, the fastest of some sweeps after a few others."""
    corpus = lda_corpus(1_000 if quick else 5_000, n_words, n_topics, mean_length=100).corpus
    model = trainee(n_topics)
    sweep_seconds(model, corpus, 5, 1)
    return 1e9 * min(sweep_seconds(model, corpus, 5 if quick else 15, 1)) / corpus.n_tokens


def main(quick: bool = False) -> bool:
    holds = documents(quick)
    line("words (50 topics)", *WORDS)
    line("ns a token", *(cost(n_words, K, quick) for n_words in WORDS))
    line("topics (4,000 words)", *TOPICS)
    line("ns a token", *(cost(4_000, n_topics, quick) for n_topics in TOPICS))
    return holds


if __name__ == "__main__":
    main()

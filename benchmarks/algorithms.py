"""Sampled or collapsed: which is faster to equal perplexity, and does ``auto`` choose it?

All data sets of text and four synthetic ones of documents from 10 to 400 tokens, K from 20 to 1,000, α=0.1, β=0.01, two
threads, medians over seeds. The sampler's time is that of ``LDA.fit`` with 200 sweeps, its perplexity the target. The
time of collapsed steps is that of a whole fit with just enough steps (in steps of ten) to reach it: found first, in a
run that is not timed, as the same seed gives the same topics. Both then have 200 sweeps for their final perplexity.

``auto`` knows the numbers of documents, tokens and topics (``models/algorithm.py``). Its error is how much longer its
choice takes than the sampler, and how far its final perplexity lies above the better of both. Seeds differ by about
half a percent in perplexity.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from benchmarks.common import arxiv, corpora, every, line, median, seconds, uci_split, verdict
from discreet import LDA, Corpus
from discreet.corpus import lda_corpus, load
from discreet.models.algorithm import is_collapsed

SWEEPS, STEP = 200, 10
SEEDS = range(1, 4)
SETS: dict[str, tuple[int, ...]] = {
    "kos": (20, 50, 200, 1000),
    "nips": (20, 50, 200),
    "20newsgroups": (20, 50, 200),
    "neurips-cvpr": (20, 50, 200),
    "enron": (50,),
    "novels": (50,),
    "arxiv": (20, 50, 200, 500, 1000),
    "10 tokens": (20, 50, 100, 200),
    "30 tokens": (20, 50, 200, 400),
    "100 tokens": (50, 200),
    "400 tokens": (50,),
}
WORDS = {"20newsgroups": 3000, "neurips-cvpr": 2000, "enron": 3000, "novels": 3000}


@cache
def corpus_of(name: str) -> Corpus:
    if name in WORDS:
        return load(name, max_words=WORDS[name])
    if name == "arxiv":
        return every(arxiv(), 20_000)
    length = int(name.split()[0])
    return lda_corpus(600_000 // length, 2000, 50, mean_length=length, alpha=0.1, beta=0.05, seed=1).corpus


@cache
def split(name: str) -> tuple[Corpus, Corpus]:
    """Every tenth document is held out; of KOS and NIPS the last."""
    if name in ("kos", "nips"):
        return uci_split(name)
    corpus = corpus_of(name)
    held_out = [d % 10 == 9 for d in range(len(corpus))]
    return corpus[[not out for out in held_out]], corpus[held_out]


def model(n_topics: int, algorithm: str, seed: int, n_sweeps: int = SWEEPS, **options: bool) -> LDA:
    return LDA(
        n_topics,
        alpha=0.1,
        beta=0.01,
        n_sweeps=n_sweeps,
        algorithm=algorithm,
        random_state=seed,
        n_threads=2,
        evaluate_every=0,
        **options,
    )


def steps_to(train: Corpus, test: Corpus, n_topics: int, seed: int, target: float) -> int:
    """Of the collapsed run; twice the sampler's if it does not get there."""
    warm = model(n_topics, "collapsed", seed, STEP, warm_start=True)
    for n in range(STEP, 2 * SWEEPS, STEP):
        if warm.fit(train).perplexity(test) <= target:
            return n
    return 2 * SWEEPS


def compared(train: Corpus, test: Corpus, n_topics: int, seed: int) -> tuple[float, float, int, float, float]:
    """Seconds and perplexity of the sampler; collapsed steps to it and their seconds; its own final perplexity."""
    sampled, collapsed = (model(n_topics, algorithm, seed) for algorithm in ("sampled", "collapsed"))
    taken = seconds(lambda: sampled.fit(train))
    target = sampled.perplexity(test)
    steps = steps_to(train, test, n_topics, seed, target)
    reached = seconds(lambda: model(n_topics, "collapsed", seed, steps).fit(train))
    return taken, target, steps, reached, collapsed.fit(train).perplexity(test)


def cases(quick: bool) -> Iterator[tuple[str, int]]:
    chosen = ("kos", "10 tokens") if quick else SETS
    for name, _ in corpora(**{name: lambda name=name: split(name) for name in chosen}):
        for n_topics in SETS[name][:2] if quick else SETS[name]:
            yield name, n_topics


def main(quick: bool = False) -> bool:
    holds = True
    line("set, topics", "tokens/doc", "sampled s", "perplexity", "steps to it", "seconds", "ratio", "after 200", "auto")
    for name, n_topics in cases(quick):
        train, test = split(name)
        for algorithm in ("sampled", "collapsed"):
            model(n_topics, algorithm, 0, 2).fit(train[:32]).perplexity(test[:32])  # compile
        runs = [compared(train, test, n_topics, seed) for seed in (SEEDS[:1] if quick else SEEDS)]
        taken, target, steps, reached, final = (median(column) for column in zip(*runs, strict=True))
        ratio = median(run[3] / run[0] for run in runs)
        auto = is_collapsed(train, n_topics)
        cells = (train.n_tokens / len(train), taken, target, int(steps), reached, ratio, final)
        line(f"{name}, {n_topics}", *cells, "collapsed" if auto else "sampled")
        case, better, chosen = f"{name}, {n_topics}", min(target, final), final if auto else target
        slower = ratio if auto else 1.0
        holds &= verdict(f"time of auto over the sampler's, {case}", slower, 1.05, at_least=False)
        holds &= verdict(f"perplexity of auto over the better, {case}", chosen / better, 1.005, at_least=False)
    return holds


if __name__ == "__main__":
    main()

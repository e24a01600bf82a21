"""How much of a text do the most frequent words of English cover, and how much would its own most frequent words?

For each named set: the share of its tokens, stop words apart, that are among the first N words of ``word_list("en")``,
for N of 5,000, 10,000, 20,000 and 50,000 (``--quick``: every tenth document); below it the share that its own N most
frequent words cover, which no list can beat. Text is read by the usual rules (``Tokenizer()``). Nothing is promised:
the table stands in docs/words.md.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import line
from discreet import DataNotFound, word_list
from discreet.corpus import Tokenizer, load
from discreet.evaluation import coverage

SETS = ("arxiv", "enron", "20newsgroups", "novels")
SIZES = (5_000, 10_000, 20_000, 50_000)


def main(quick: bool = False) -> bool:
    lists = {n: word_list("en", n) for n in SIZES}
    line("set", *(f"{n:,}" for n in SIZES))
    for name in SETS:
        try:
            corpus = load(name, tokenizer=Tokenizer())
        except DataNotFound:
            print(f"{name} is not here")
            continue
        corpus = corpus[::10] if quick else corpus
        line(name, *(f"{100 * coverage(corpus, lists[n]):.1f}%" for n in SIZES))
        own = np.cumsum(np.sort(corpus.word_counts)[::-1]) / corpus.n_tokens
        line("  its own", *(f"{100 * own[min(n, own.size) - 1]:.1f}%" for n in SIZES))
    return True


if __name__ == "__main__":
    main()

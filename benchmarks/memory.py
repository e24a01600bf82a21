"""How much memory does training need beyond the corpus?

Promised of sampled sweeps: 8 bytes a token, and 16 bytes for each cell of topic × word and thread. Of collapsed ones,
whose rows have whole multiples of sixteen topics: 2 bytes a token (its first topic, at the start), 12 for each pair of
document and word, 4 for each document and topic, 40 for each cell (the counts of three sweeps, the mean of the last
ones, and weights) and 8 for each cell and thread.

Each case runs in a fresh process that reads the corpus, trains on a tenth of a percent of it (to load and compile), and
then trains twice with the default settings: once watched from outside (the growth of resident memory to its peak, Linux
only) and once by tracemalloc, which sees every numpy array. The verdict is on the larger of the two: resident memory
adds thread stacks and what the allocator keeps, tracemalloc adds pages that were asked for but never touched.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.common import arxiv, corpora, line, uci_split, verdict
from discreet import LDA, Corpus
from discreet.corpus import load
from discreet.kernels.sums.counts import padded

CASES = {
    "arxiv": ((50, 1), (50, 2), (500, 1), (500, 2)),
    "kos": ((50, 1), (50, 2)),
    "kos, all words": ((50, 1), (500, 1)),
}
MIB = 2.0**20


def promised(corpus: Corpus, algorithm: str, n_topics: int, n_threads: int) -> int:
    """Bytes."""
    if algorithm == "sampled":
        return 8 * corpus.n_tokens + 16 * n_topics * corpus.n_words * n_threads
    width = padded(n_topics)
    cells = width * corpus.n_words
    documents = 2 * corpus.n_tokens + 12 * corpus.to_counts().nnz + 4 * width * len(corpus)
    return documents + cells * (40 + 8 * n_threads)


def measure(path: str, algorithm: str, n_topics: int, n_threads: int) -> dict[str, float]:
    """In the fresh process: bytes at the peak, both ways."""
    with np.load(path) as stored:
        corpus = Corpus(stored["words"], stored["offsets"], [f"w{i}" for i in range(stored["n_words"])])
    model = LDA(n_topics, n_sweeps=4, algorithm=algorithm, random_state=1, n_threads=n_threads)
    few = corpus[:: max(1, corpus.n_documents // 100)]
    model.fit(few)
    del model.components_, few
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    model.fit(corpus)
    resident = _status("VmHWM") - before
    del model.components_
    gc.collect()
    tracemalloc.start()
    model.fit(corpus)
    return {"resident": resident, "traced": tracemalloc.get_traced_memory()[1]}


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(text.split()[1]) for text in lines if text.startswith(field))


def main(quick: bool = False) -> bool:
    holds = True
    sets = corpora(
        **{"kos": lambda: uci_split("kos")[0], "kos, all words": lambda: load("kos")},
        **({} if quick else {"arxiv": arxiv}),
    )
    line("MiB beyond the corpus", "algorithm", "topics", "threads", "resident", "traced", "promised")
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in sets:
            path = str(Path(folder) / "corpus.npz")
            np.savez(path, words=corpus.words, offsets=corpus.offsets, n_words=corpus.n_words)
            for algorithm, (n_topics, n_threads) in product(("sampled", "collapsed"), CASES[name]):
                command = [sys.executable, "-m", "benchmarks.memory", path, algorithm, str(n_topics), str(n_threads)]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                allowed = promised(corpus, algorithm, n_topics, n_threads)
                shown = (value / MIB for value in (found["resident"], found["traced"], allowed))
                line(name, algorithm, n_topics, n_threads, *shown)
                case = f"{name}, {algorithm}, K={n_topics}, {n_threads} threads: peak over what is promised"
                holds &= verdict(case, max(found.values()) / allowed, 1, at_least=False)
    return holds


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main()

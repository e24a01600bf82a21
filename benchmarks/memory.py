"""How much memory does training need beyond the corpus?

Promised: 8 bytes a token, and 16 bytes for each topic × word cell and thread. Each case runs in a fresh process that
reads the corpus, trains on a tenth of a percent of it (to load and compile), and then trains twice with the default
settings: once watched from outside (the growth of resident memory to its peak, Linux only) and once by tracemalloc,
which sees every numpy array. The verdict is on the larger of the two: resident memory adds thread stacks and what the
allocator keeps, tracemalloc adds pages that were asked for but never touched.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np

from benchmarks.common import arxiv, corpora, line, uci_split, verdict
from discreet import LDA, Corpus
from discreet.corpus import load

CASES = {
    "arxiv": ((50, 1), (50, 2), (500, 1), (500, 2)),
    "kos": ((50, 1), (50, 2)),
    "kos, all words": ((50, 1), (500, 1)),
}
MIB = 2.0**20


def measure(path: str, n_topics: int, n_threads: int) -> dict[str, float]:
    """In the fresh process: bytes at the peak, both ways."""
    with np.load(path) as stored:
        corpus = Corpus(stored["words"], stored["offsets"], [f"w{i}" for i in range(stored["n_words"])])
    model = LDA(n_topics, n_sweeps=2, random_state=1, n_threads=n_threads)
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
    line("MiB beyond the corpus", "topics", "threads", "resident", "traced", "promised")
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in sets:
            path = str(Path(folder) / "corpus.npz")
            np.savez(path, words=corpus.words, offsets=corpus.offsets, n_words=corpus.n_words)
            for n_topics, n_threads in CASES[name]:
                command = [sys.executable, "-m", "benchmarks.memory", path, str(n_topics), str(n_threads)]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                promised = 8 * corpus.n_tokens + 16 * n_topics * corpus.n_words * n_threads
                line(name, n_topics, n_threads, found["resident"] / MIB, found["traced"] / MIB, promised / MIB)
                case = f"{name}, K={n_topics}, {n_threads} threads: peak over what is promised"
                holds &= verdict(case, max(found.values()) / promised, 1, at_least=False)
    return holds


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        main()

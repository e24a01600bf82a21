"""How long does the explorer take to start, how much memory does it need, and how long does a page take?

Two cases, 50 topics each: the 120,000 abstracts of arXiv (packed, as they are on disk) under a model of their 5,000
most frequent words, and a million made-up documents of 100 words over 8,000 words, with a label and 200,000 users. The
explorer runs as a process of its own; its processor time and its peak of resident memory are those that Linux counts, a
page is timed from outside, the second time that it is asked for. Promised: a page in less than 0.5 s, and memory of at
most 24 bytes a token, 4 bytes for each topic of a document, and 300 MiB. ``quick``: a tenth of the made-up documents.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from benchmarks.common import arxiv, line, median, skip, verdict
from discreet import LDA, DataNotFound
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.release.release import Release

N_TOPICS = 50
MIB = 2.0**20
LENGTH = 100
PAGES = ("", "topic/0", "topic/0?place=60000", "topic/7?place=99999999", "documents?place=90000", "document/54321")
BY_CLASS = ("by/label", "by/label/3", "topic/3?by=label&class=2")


def made_up(folder: Path, n: int) -> tuple[Path, Path]:
    """A model and documents that were drawn from nothing in particular: the words of one of the topics, mostly."""
    random = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.unique(["".join(row) for row in letters[random.integers(0, 26, (9_000, 7))]])[:8_000]
    topics = random.dirichlet(np.full(len(words), 0.02), N_TOPICS) * 0.999 + 0.001 / len(words)
    guarantee = Guarantee.none(EXACT_COUNTS)
    model = Release(topics, tuple(words.tolist()), np.full(N_TOPICS, 0.1), 0.01, "lda", {}, guarantee)
    file = folder / "documents.jsonl"
    with file.open("w") as out:
        for first in range(0, n, 10_000):
            drawn = words[random.choice(len(words), (10_000, LENGTH), p=topics[first // 10_000 % N_TOPICS])]
            for i, row in enumerate(drawn, first):
                about = {"label": f"label{i % 30}", "user": f"user{i * 7919 % 200_003}"}
                out.write(json.dumps({"text": " ".join(row), **about}) + "\n")
    return model.save(folder / "model"), file


def measure(model: Path, documents: Path | str, n_tokens: int, n_documents: int, *columns: str) -> bool:
    command = [sys.executable, "-m", "discreet", "explore", str(model), str(documents), *columns, "--no-browser"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http\S+", process.stdout.readline())
        assert address is not None
        seconds, processor = time.perf_counter() - started, _processor(process.pid)
        memory = _peak(process.pid)
        times = []
        for path in (*PAGES, *BY_CLASS):
            for _ in range(2):
                before = time.perf_counter()
                urlopen(address[0] + path).read()
                once = time.perf_counter() - before
            times.append(once)
        before = time.perf_counter()
        process.send_signal(signal.SIGINT)
        process.wait()
        ended = time.perf_counter() - before
    allowed = (24 * n_tokens + 4 * N_TOPICS * n_documents) / MIB + 300
    line("start-up", f"{seconds:.1f} s", f"{processor:.1f} s of processor time")
    line("Ctrl-C", f"{ended:.2f} s", f"exit code {process.returncode}")
    line("a page, median", f"{1000 * median(times):.0f} ms")
    promises = [("slowest page", max(times), 0.5, " s"), ("peak of memory", memory / MIB, allowed, " MiB")]
    holds = [verdict(name, found, wanted, at_least=False, unit=unit) for name, found, wanted, unit in promises]
    return all(holds)


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(text.split()[1]) for text in lines if text.startswith("VmHWM"))


def main(quick: bool = False) -> bool:
    holds = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            corpus = arxiv()
        except DataNotFound as error:
            skip("arxiv", error)
        else:
            print(f"  arXiv, {corpus.n_documents:,} documents")
            model = LDA(N_TOPICS, n_sweeps=20, random_state=1).fit(corpus).release().save(folder / "arxiv")
            holds &= measure(model, "dataset:arxiv", corpus.n_tokens, corpus.n_documents)
        n = 100_000 if quick else 1_000_000
        print(f"  made up, {n:,} documents")
        holds &= measure(*made_up(folder, n), n * LENGTH, n, "--label", "label", "--group", "user")
    return holds


if __name__ == "__main__":
    main()

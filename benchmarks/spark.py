"""How does PrivateLDA on Spark compare with spark.ml's LDA, and with our own threads? How much memory does ingest take?

Two cores (``local[2]``), arXiv abstracts over 2,000 words, 20 topics; every 40th document is held out. The verdict is
on time and completion perplexity together: with ε = 1, ahead of the online LDA of spark.ml after 100 iterations, which
promises nothing. A round is also timed on threads of this process, and with nobody taking part: what Spark itself
takes. Ingest: the largest memory of a Python worker, whatever the number of documents. Needs ``discreet[spark]`` and
Java.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import arxiv, corpora, every, line, seconds, verdict
from benchmarks.private_cost import public
from discreet import Corpus, PrivateLDA
from discreet.engines import open_units
from discreet.engines.interface import Round
from discreet.evaluation import completion_perplexity

N_TOPICS, N_WORDS, MEMORY = 20, 2000, 400
"""``MEMORY``: megabytes that a Python worker may take, with its packages and compiled code."""


@contextmanager
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


def rival(spark: Any, train: Corpus, held: Corpus, n_iterations: int) -> tuple[float, float]:
    """Seconds and perplexity of spark.ml."""
    from pyspark.ml.clustering import LDA
    from pyspark.ml.linalg import Vectors

    counts = train.to_counts()
    parts = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    rows = [(Vectors.sparse(N_WORDS, counts.indices[a:b], counts.data[a:b].astype(float)),) for a, b in parts]
    table = spark.createDataFrame(rows, ["features"]).repartition(2).cache()
    table.count()
    started = time.perf_counter()
    model = LDA(k=N_TOPICS, maxIter=n_iterations, optimizer="online", seed=1).fit(table)
    took = time.perf_counter() - started
    topics = model.topicsMatrix().toArray().T
    table.unpersist()
    return took, completion_perplexity(topics / topics.sum(axis=1, keepdims=True), held, alpha=0.1)


def rounds(engine: Any, train: Corpus, repeats: int) -> None:
    """A round on Spark, one on threads, and one in which nobody takes part."""
    from discreet._random import Key

    key, table = Key.from_seed(1), np.random.default_rng(1).gamma(1.0, 1.0, (N_WORDS, N_TOPICS))
    units = {
        "spark": engine.open_units(train, None, N_TOPICS, key, max_tokens=10_000),
        "threads": open_units(train, None, N_TOPICS, key, max_tokens=10_000, n_threads=2),
    }

    few = engine.open_units(train[:1000], None, N_TOPICS, key, max_tokens=10_000)

    def one(units: Any, rate: float, number: int) -> tuple[float, float]:
        given = Round(number, int(rate * 2**32), table, np.full(N_TOPICS, 0.1), 8)
        before = processor_seconds()
        took = seconds(lambda: units.residuals(given, cell_weights=table, background=0.1, clip=1000.0))
        return took, processor_seconds() - before

    line("a round", "seconds", "of processors")
    took = {}
    for name, where, rate in (
        ("threads, rate 0.1", units["threads"], 0.1),
        ("Spark, rate 0.1", units["spark"], 0.1),
        ("Spark, rate 0", units["spark"], 0.0),
        ("Spark, rate 0, 1,000 documents", few, 0.0),
    ):
        found = np.array([one(where, rate, number) for number in range(repeats)][2:])
        took[name] = np.array([found[:, 0].min(), found[:, 1].mean()])  # the clock of processors ticks ten milliseconds
        line(name, *map(float, took[name]))
    line("Spark beyond threads", *map(float, took["Spark, rate 0.1"] - took["threads, rate 0.1"]))
    for one_of in (*units.values(), few):
        one_of.close()


def processor_seconds() -> float:
    """Of this process and all that it has started: Spark's, too. It does not run while a core serves somebody else."""
    found, parents = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(fields[1])
        found[int(process.name)] = int(fields[11]) + int(fields[12])
    ours: set[int] = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(found[process] for process in ours) / os.sysconf("SC_CLK_TCK")


def ingest(spark: Any, engine: Any, n_documents: int) -> float:
    """Megabytes of the largest Python worker while ``n_documents`` of 20 words are read, two of each user."""
    from pyspark.sql import functions as F

    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}x" for i in range(N_WORDS)]
    named = F.array(*[F.lit(word) for word in words])
    picked = [
        F.element_at(named, (F.pmod(F.xxhash64("id", F.lit(i)), F.lit(N_WORDS)) + 1).cast("int")) for i in range(20)
    ]
    table = spark.range(n_documents).select(
        (F.col("id") % (n_documents // 2)).alias("user"), F.concat_ws(" ", *picked).alias("text")
    )
    largest, done = [0.0], threading.Event()
    watching = threading.Thread(target=_watch, args=(largest, done))
    watching.start()
    try:
        took = seconds(lambda: engine.read(table, text="text", groups="user", vocabulary=words).remove())
    finally:
        done.set()
        watching.join()
    line(f"ingest of {n_documents:,} documents, s", took)
    line("largest Python worker, MB", largest[0])
    return largest[0]


def _watch(largest: list[float], done: threading.Event) -> None:
    while not done.wait(0.2):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if b"pyspark" in (process / "cmdline").read_bytes() and b"daemon" in (process / "cmdline").read_bytes():
                    pages = int((process / "statm").read_text().split()[1])
                    largest[0] = max(largest[0], pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
            except OSError:  # it has ended
                continue


def main(quick: bool = False) -> bool:
    from discreet.engines.spark import SparkEngine

    holds = True
    with session() as spark, tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = SparkEngine(spark, folder)
        for _, corpus in corpora(
            arxiv=lambda: public((every(arxiv(), 20_000) if quick else arxiv()).most_frequent(N_WORDS))
        ):
            train, held = corpus[np.arange(len(corpus)) % 40 > 0], corpus[::40]
            rounds(engine, train, 6 if quick else 22)
            line("", "seconds", "perplexity")
            found = {}
            for n_iterations in (5,) if quick else (20, 100):
                found[n_iterations] = rival(spark, train, held, n_iterations)
                line(f"spark.ml online, {n_iterations} iterations", *found[n_iterations])
            model = PrivateLDA(N_TOPICS, epsilon=1.0, engine=engine, **({"n_rounds": 30} if quick else {}))
            took = seconds(partial(model.fit, train))
            ours = completion_perplexity(model.components_, held, alpha=0.1)
            line("PrivateLDA on Spark, ε = 1", took, ours)
            if not quick:
                holds &= verdict(
                    "times the time of spark.ml after 100 iterations", took / found[100][0], 1.0, at_least=False
                )
                holds &= verdict("times its perplexity", ours / found[100][1], 1.02, at_least=False)
        memory = [ingest(spark, engine, n) for n in ((20_000, 100_000) if quick else (1_000_000, 10_000_000))]
        holds &= verdict("MB of a worker, largest ingest", memory[-1], MEMORY, at_least=False)
    return holds

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
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import arxiv, corpora, every, line, seconds, verdict
from benchmarks.private_cost import public
from discreet import Corpus, PrivateLDA
from discreet.corpus import load
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


def rival(spark: Any, train: Corpus, held: Corpus, n_iterations: int, optimizer: str = "online") -> tuple[float, float]:
    """Seconds and perplexity of spark.ml. Its EM is a graph of documents and words, which it keeps in memory."""
    from pyspark.ml.clustering import LDA
    from pyspark.ml.linalg import Vectors

    counts = train.to_counts()
    parts = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    rows = [(Vectors.sparse(N_WORDS, counts.indices[a:b], counts.data[a:b].astype(float)),) for a, b in parts]
    table = spark.createDataFrame(rows, ["features"]).repartition(2).cache()
    table.count()
    started = time.perf_counter()
    model = LDA(k=N_TOPICS, maxIter=n_iterations, optimizer=optimizer, seed=1).fit(table)
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


def tables(spark: Any, folder: str, repeats: int = 12) -> None:
    """What a larger table costs: rounds in which nobody takes part, with a small table and a large one. In each, three
    tables of four bytes a cell go to the executors, and one of eight bytes comes back from each partition. Then the way
    back alone: numbers that nobody had to compute."""
    from discreet._random import Key
    from discreet.engines.spark import SparkEngine
    from discreet.engines.spark.jobs import summed

    key, n_topics, partitions = Key.from_seed(1), 100, 2
    engine, abstracts = SparkEngine(spark, folder, partitions=partitions), load("arxiv", max_words=20_000)
    rounds, back = {}, {}
    for n_words in (200, 20_000):
        corpus = public(abstracts.most_frequent(n_words))[:1000]
        table = np.random.default_rng(1).gamma(1.0, 1.0, (n_words, n_topics))
        units = engine.open_units(corpus, None, n_topics, key, max_tokens=10_000)
        given = Round(1, 0, table, np.full(n_topics, 0.1), 8)
        ask = partial(units.residuals, given, cell_weights=table, background=0.1, clip=1000.0)
        rounds[n_words] = min(seconds(ask) for _ in range(repeats))
        units.close()
        line(f"a round of nobody, {n_words:,} words × {n_topics} topics", rounds[n_words])

        def numbers(batches: Any, n: int = n_words * n_topics) -> Any:  # inside, so that executors get its code
            return np.full(n, sum(batch.num_rows for batch in batches))

        rows = spark.range(partitions, numPartitions=partitions)
        receive = partial(summed, spark, rows, numbers, partitions, "receive numbers")
        back[n_words] = min(seconds(receive) for _ in range(repeats))
    small, large = rounds
    cells = (large - small) * n_topics
    line("ns a cell of a larger table, in all", (rounds[large] - rounds[small]) / cells * 1e9)
    line("MB a second on the way back alone", partitions * cells * 8 / 2**20 / (back[large] - back[small]))


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


def write_texts(path: Path, n_documents: int, n_words: int) -> tuple[str, ...]:
    """A Parquet file of texts, two of each user: pieces of ``n_words`` words of arXiv abstracts, drawn at random. It is
    written a hundred thousand at a time. Returns the most frequent words."""
    corpus = arxiv()
    starts = np.arange(0, corpus.n_tokens - n_words, n_words)
    names = np.array(corpus.vocabulary.words, dtype=object)
    pieces = pa.array([" ".join(names[corpus.words[start : start + n_words]]) for start in starts])
    rng, schema = np.random.default_rng(0), pa.schema([("user", pa.int64()), ("body", pa.string())])
    with pq.ParquetWriter(path, schema) as file:
        for first in range(0, n_documents, 100_000):
            numbers = np.arange(first, min(first + 100_000, n_documents))
            bodies = pieces.take(pa.array(rng.integers(len(pieces), size=len(numbers))))
            file.write_table(pa.table([numbers % (n_documents // 2), bodies], schema=schema))
    return tuple(corpus.most_frequent(N_WORDS).vocabulary.words)


def ingest(spark: Any, engine: Any, folder: Path, n_documents: int, n_words: int = 8) -> float:
    """Megabytes of the largest Python worker while ``n_documents`` are read from a file."""
    from discreet.engines.spark.shards import TOKENS

    path = folder / f"{n_documents}.parquet"
    with ProcessPoolExecutor(1, get_context("spawn")) as another:  # its memory is not the driver's
        vocabulary = another.submit(write_texts, path, n_documents, n_words).result()
    largest: dict[str, float] = {}
    done = threading.Event()
    watching = threading.Thread(target=_watch, args=(largest, done))
    watching.start()
    try:
        started = time.perf_counter()
        stored = engine.read(spark.read.parquet(str(path)), text="body", groups="user", vocabulary=vocabulary)
        took = time.perf_counter() - started
    finally:
        done.set()
        watching.join()
    n_shards, n_units = len(stored.shards.firsts), stored.shards.n_units
    size = sum(file.stat().st_size for file in Path(stored.shards.path).glob("*.parquet"))
    stored.remove()
    path.unlink()
    line(f"{n_documents:,} documents of {n_words} words, s", took)
    line("documents a second", n_documents / took)
    line("users, shards", n_units, n_shards)
    line("a shard, MB; at most, in a worker", size / n_shards / 2**20, TOKENS * 4 / 2**20)
    for name in ("driver", "Spark", "worker"):
        line(f"largest memory, {name}, MB", largest.get(name, 0.0))
    return float(largest["worker"])


def _watch(largest: dict[str, float], done: threading.Event) -> None:
    """The largest resident memory of this process, of Spark's Java, and of a Python worker, in megabytes."""
    while not done.wait(0.2):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                said = (process / "cmdline").read_bytes()
                pages = int((process / "statm").read_text().split()[1])
            except OSError:  # it has ended
                continue
            kinds = {
                "driver": process.name == str(os.getpid()),
                "Spark": b"SparkSubmit" in said,
                "worker": b"pyspark" in said and b"daemon" in said,
            }
            for kind in [kind for kind, fits in kinds.items() if fits]:
                largest[kind] = max(largest.get(kind, 0.0), pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


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
            tables(spark, folder, 4 if quick else 12)
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
    return holds and main_ingest(quick)


def main_tables() -> bool:
    with session() as spark, tempfile.TemporaryDirectory() as folder:
        tables(spark, folder)
    return True


def main_em(n_iterations: int = 20) -> bool:
    """The EM of spark.ml alone."""
    with session() as spark:
        for _, corpus in corpora(arxiv=lambda: public(arxiv().most_frequent(N_WORDS))):
            train, held = corpus[np.arange(len(corpus)) % 40 > 0], corpus[::40]
            line("", "seconds", "perplexity")
            line(f"spark.ml EM, {n_iterations} iterations", *rival(spark, train, held, n_iterations, "em"))
    return True


def main_ingest(quick: bool = False, n_words: int = 8, most: int = 10_000_000) -> bool:
    from discreet.engines.spark import SparkEngine

    with session() as spark, tempfile.TemporaryDirectory() as folder:
        engine = SparkEngine(spark, f"{folder}/shards")
        for n_documents in (20_000, 100_000) if quick else (most,):
            largest = ingest(spark, engine, Path(folder), n_documents, n_words)
        return verdict("MB of a worker, largest ingest", largest, MEMORY, at_least=False)


if __name__ == "__main__":  # ``ingest [WORDS [DOCUMENTS]]``, ``em [ITERATIONS]`` or ``tables``: that part alone
    parts = {"ingest": partial(main_ingest, False), "em": main_em, "tables": main_tables}
    part = parts.get((sys.argv[1:] or [""])[0], main)
    raise SystemExit(0 if part(*map(int, sys.argv[2:])) else 1)

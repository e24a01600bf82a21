"""Do topics improve through the day as reports come in?

100,000 devices, each with one arXiv abstract, report to a campaign: 1,000 words, at most 50 of them in a report,
windows of 1,000 reports, 20 topics. The word list is the 1,000 most frequent words of NeurIPS and CVPR abstracts, other
text that is public. Reports go through ``discreet collect serve`` in lists, over HTTP; the training process's own code
then trains window by window, and every fifth model is measured: completion perplexity of 2,000 abstracts that no device
holds. Beside it, neither of them private: word frequencies alone, and LDA on 20,000 of the abstracts.

``--quick``: 5,000 devices. ``python -m benchmarks.collector_day FOLDER`` keeps the collectors in a folder and goes on
where it stopped, as a collector does; ``--write docs/results`` writes the page and its figure from what lies there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collector import serving
from benchmarks.collector_day_page import written
from benchmarks.common import line, machine, verdict
from discreet import LDA, Release
from discreet.collector.campaign import Campaign
from discreet.collector.client.client import Client
from discreet.collector.client.memory import Answer
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store, StoredCampaign
from discreet.collector.store.tokens import new_token
from discreet.collector.store.windows import window_folder
from discreet.collector.training.trainer import Trainer
from discreet.corpus import Corpus
from discreet.corpus.datasets import load
from discreet.evaluation import completion_perplexity
from discreet.experiments.run import source_digest
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.local.reports import words_once

WORDS, CAP, TOPICS, WINDOW, HELD_OUT, EVERY, PLAIN = 1_000, 50, 20, 1_000, 2_000, 5, 20_000
EPSILONS = (1.0, 2.0, 3.0)


def data(n: int) -> tuple[Corpus, Corpus]:
    """The abstracts of n devices, and those held out."""
    public = load("neurips-cvpr", max_words=WORDS).vocabulary
    corpus = words_once(load("arxiv", vocabulary=list(public)))
    order = np.random.default_rng(18).permutation(corpus.n_documents)
    return corpus[order[HELD_OUT : HELD_OUT + n]], corpus[order[:HELD_OUT]]


def measured(topics: np.ndarray, alpha: Any, held_out: Corpus) -> float:
    return float(completion_perplexity(topics, held_out, alpha=alpha, n_threads=1))


def yardsticks(train: Corpus, held_out: Corpus) -> dict[str, float]:
    frequencies = (np.asarray(train.word_counts, float)[None] + 0.5) / (train.n_tokens + 0.5 * train.n_words)
    plain = LDA(TOPICS, n_sweeps=200, evaluate_every=0, n_threads=1, random_state=1, algorithm="sampled").fit(
        train[:PLAIN]
    )
    return {
        "frequencies": measured(frequencies, 1.0, held_out),
        "lda": measured(plain.components_, plain.alpha_, held_out),
    }


def report_all(corpus: Corpus, stored: StoredCampaign, address: str, token: str, memory: Path) -> None:
    """Every document is another device's: a random answer and a nonce for each, sent in lists as a gateway would."""
    rows = stored.campaign.response.randomise(corpus.words, corpus.offsets)
    with Client(address, stored.campaign.name, token, memory=memory) as client:
        for first in range(0, len(rows), 500):
            client._send([Answer(os.urandom(16), row.tobytes(), sent=False) for row in rows[first : first + 500]])


def day(folder: Path, train: Corpus, held_out: Corpus, epsilon_bit: float) -> list[tuple[int, float]]:
    """(reports so far, perplexity) after every fifth window, and after the first. Goes on from what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    response = RandomisedResponse.for_epsilon(epsilon_bit, WORDS, CAP)
    store = Store(sqlite_url(folder / "reports.db"), create=True)
    stored = store.campaign("day")
    if stored is None:
        about = Campaign(
            name="day",
            vocabulary=tuple(train.vocabulary),  # type: ignore[arg-type]
            threshold=response.threshold,
            max_words=CAP,
            n_topics=TOPICS,
            window_reports=WINDOW,
            reports_per_minute=100_000_000,
        )
        stored = store.add_campaign(about)
        token, row = new_token(stored.id, "", None)
        store.add_token(row)
        with serving(folder, "--no-training") as (address, _):
            report_all(train, stored, address, token, folder / "memory.db")
    if store.n_reports(stored.id) != train.n_documents:
        raise SystemExit(f"{folder} holds {store.n_reports(stored.id):,} reports. Remove it and begin again.")
    points = folder / "points.jsonl"
    curve = [tuple(json.loads(text)) for text in points.read_text().splitlines()] if points.exists() else []
    trainer = Trainer(store, folder / "models")
    window = stored_windows(folder)
    while trainer.step():
        window += 1
        if window == 1 or window % EVERY == 0:
            release = Release.load(window_folder(folder / "models", "day", window))
            found = measured(release.topics, release.alpha, held_out)
            curve.append((window * WINDOW, found))
            with open(points, "a") as out:
                out.write(f"{json.dumps(curve[-1])}\n")
            line(f"ε per bit {epsilon_bit:g}", f"{window * WINDOW:,} reports", f"perplexity {found:.1f}")
            sys.stdout.flush()
    store.close()
    return curve


def stored_windows(folder: Path) -> int:
    """How many windows were trained before."""
    found = sorted((folder / "models" / "day").glob("window-*.state.npz"))
    return int(found[-1].name.removeprefix("window-").split(".")[0]) if found else 0


def run(folder: Path, n: int, epsilons: tuple[float, ...]) -> dict[str, Any]:
    """All days, and the yardsticks; kept in the folder with how long each took."""
    train, held_out = data(n)
    kept = folder / "result.json"
    result: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"curves": {}, "seconds": {}}
    result |= {"source": source_digest(), "n": n, "words_per_report": train.n_tokens / train.n_documents}
    for name in ("yardsticks", *epsilons):
        if str(name) in result["seconds"]:
            continue
        started, cpu = time.perf_counter(), time.process_time()
        if name == "yardsticks":
            result |= yardsticks(train, held_out)
            line("not private", f"frequencies {result['frequencies']:.1f}", f"LDA {result['lda']:.1f}")
        else:
            assert isinstance(name, float)
            result["curves"][str(name)] = day(folder / f"epsilon-{name:g}", train, held_out, name)
        result["seconds"][str(name)] = [time.perf_counter() - started, time.process_time() - cpu]
        kept.write_text(json.dumps(result))
    return result


def main(quick: bool = False) -> bool:
    n, epsilons = (5_000, (3.0,)) if quick else (100_000, EPSILONS)
    with tempfile.TemporaryDirectory() as name:
        result = run(Path(name), n, epsilons)
    found = []
    for epsilon, curve in result["curves"].items():
        name = f"perplexity at the end, ε per bit {epsilon}"
        found.append(verdict(name, curve[-1][1], curve[0][1], at_least=False))
    return all(found)


def command() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collector_day", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where the collectors lie")
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--epsilon", type=float, action="append", help="of one bit; repeatable (default: 1, 2 and 3)")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write collector-day.md and .svg there")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    result = run(options.folder, options.reports, tuple(options.epsilon or EPSILONS))
    if options.write:
        packages = ", ".join(f"{name} {version(name)}" for name in ("discreet", "numpy", "numba"))
        made = f"{machine()}; Python {platform.python_version()}, {packages}; {time.strftime('%Y-%m-%d')}"
        written(result, options.write, made)


if __name__ == "__main__":
    command()

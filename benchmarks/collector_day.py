"""Do topics improve through the day as reports come in?

100,000 devices, each with one arXiv abstract, report to a campaign: 1,000 words, windows of 1,000 reports, 20 topics.
Reports go through ``discreet collect serve`` in lists, over HTTP; the training process's own code then trains window by
window, and every fifth model is measured: completion perplexity of 2,000 abstracts that no device holds. The word list
is the 1,000 most frequent words of the abstracts, which stands in for a public list. Beside it: the unigram model, and
LDA on the abstracts themselves, neither of which is private. ``--quick``: 5,000 devices.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.collector import serving
from benchmarks.common import arxiv, line, verdict
from discreet import LDA, Release
from discreet.collector.campaign import Campaign
from discreet.collector.client import Client
from discreet.collector.engine import sqlite_url
from discreet.collector.memory import Answer
from discreet.collector.store import Store, StoredCampaign
from discreet.collector.tokens import new_token
from discreet.collector.trainer import Trainer
from discreet.collector.windows import window_folder
from discreet.corpus import Corpus
from discreet.evaluation import completion_perplexity
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.local.reports import words_once

WORDS, TOPICS, WINDOW, HELD_OUT, EVERY = 1_000, 20, 1_000, 2_000, 5


def report_all(corpus: Corpus, stored: StoredCampaign, address: str, token: str, memory: Path) -> None:
    """Every document is another device's: a random answer and a nonce for each, sent in lists as a gateway would."""
    rows = stored.campaign.response.randomise(corpus.words, corpus.offsets)
    with Client(address, stored.campaign.name, token, memory=memory) as client:
        for first in range(0, len(rows), 500):
            client._send([Answer(os.urandom(16), row.tobytes(), sent=False) for row in rows[first : first + 500]])


def day(train: Corpus, held_out: Corpus, epsilon_bit: float) -> list[tuple[int, float]]:
    """(reports so far, perplexity) after every fifth window, and after the first."""
    response = RandomisedResponse.for_epsilon(epsilon_bit, WORDS)
    about = Campaign(
        name="day",
        vocabulary=tuple(train.vocabulary),  # type: ignore[arg-type]
        threshold=response.threshold,
        max_words=None,
        n_topics=TOPICS,
        window_reports=WINDOW,
        reports_per_minute=100_000_000,
    )
    curve = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store(sqlite_url(folder / "reports.db"), create=True)
        stored = store.add_campaign(about)
        token, row = new_token(stored.id, "", None)
        store.add_token(row)
        with serving(folder, "--no-training") as (address, _):
            report_all(train, stored, address, token, folder / "memory.db")
        assert store.n_reports(stored.id) == train.n_documents
        trainer = Trainer(store, folder / "models")
        window = 0
        while trainer.step():
            window += 1
            if window == 1 or window % EVERY == 0:
                release = Release.load(window_folder(folder / "models", "day", window))
                found = completion_perplexity(release.topics, held_out, alpha=release.alpha, n_threads=1)
                curve.append((window * WINDOW, found))
                line(f"ε per bit {epsilon_bit:g}", f"{window * WINDOW:,} reports", f"perplexity {found:.1f}")
                sys.stdout.flush()
        store.close()
    return curve


def main(quick: bool = False) -> bool:
    corpus = words_once(arxiv().most_frequent(WORDS))
    rng = np.random.default_rng(18)
    order = rng.permutation(corpus.n_documents)
    n = 5_000 if quick else 100_000
    held_out, train = corpus[order[:HELD_OUT]], corpus[order[HELD_OUT : HELD_OUT + n]]
    unigram = np.asarray(train.word_counts, float)[None] / train.n_tokens
    base = completion_perplexity(unigram, held_out, alpha=1.0, n_threads=1)
    plain = LDA(TOPICS, n_sweeps=200, evaluate_every=0, n_threads=1, random_state=1).fit(train[: min(n, 20_000)])
    best = completion_perplexity(plain.components_, held_out, alpha=plain.alpha_, n_threads=1)
    line("not private", f"unigram {base:.1f}", f"LDA on 20,000 abstracts {best:.1f}")
    found = []
    curves = {}
    for epsilon_bit in (2.0,) if quick else (1.0, 2.0, 3.0):
        curve = curves[epsilon_bit] = day(train, held_out, epsilon_bit)
        found.append(
            verdict(f"perplexity at the end, ε per bit {epsilon_bit:g}", curve[-1][1], curve[0][1], at_least=False)
        )
    print(json.dumps({"unigram": base, "lda": best, "curves": curves}))
    return all(found)

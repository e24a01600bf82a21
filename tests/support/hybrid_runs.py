"""Recorded runs of HybridLDA on neighbours that differ in one word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.models.hybrid import model as hybrid
from discreet.models.hybrid.model import HybridLDA
from tests.support.neighbours import Run, recorded

N_WORDS, N_TOPICS, N_SWEEPS = 12, 3, 5
WORD, NEW_WORD, TOKEN = 0, 11, 3
"""Token 3 of document 2 is word 0 in D and word 11 in D′: the first and the last, if tokens lay in word order."""


@dataclass
class SweptRun(Run):
    """A run whose observer also sees the topics after every sweep."""

    drawn: list[np.ndarray] = field(default_factory=list)
    """Topics as they were drawn, before those of the history took their place."""
    offsets: Any = None
    slots: Any = None


def fit(corpus: Corpus, history: SweptRun | None = None, training: type = hybrid.Training, **options: Any) -> SweptRun:
    run = SweptRun()

    def sweep(engine, table, alpha, number, **options):
        run.offsets, run.slots = engine.offsets, engine.words.copy()
        real_sweep(engine, table, alpha, number, **options)
        run.inputs.append((engine._weights.reshape(engine.n_words, -1)[:, :N_TOPICS].copy(),))  # rounded, as drawn from
        run.drawn.append(engine.topics.copy())
        if history is not None:
            engine.topics[:] = history.drawn[len(run.drawn) - 1]
            engine._total = None

    real_sweep = ThreadSweeps.sweep_exact
    chosen = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": N_SWEEPS, "n_threads": 1, "random_state": 5}
    with (
        recorded(run, None if history is None else history.noisy),
        patch.object(hybrid, "Training", training),
        patch.object(ThreadSweeps, "sweep_exact", sweep),
    ):
        run.train(HybridLDA(N_TOPICS, **(chosen | options)), corpus)
    return run


def pair() -> tuple[Corpus, Corpus]:
    d = lda_corpus(9, N_WORDS, N_TOPICS, mean_length=12, seed=3).corpus
    words = d.words.copy()
    at = int(d.offsets[2]) + TOKEN
    words[at] = WORD
    replaced = words.copy()
    replaced[at] = NEW_WORD
    return tuple(Corpus(w, d.offsets, Vocabulary(d.vocabulary, "public")) for w in (words, replaced))  # type: ignore[return-value]

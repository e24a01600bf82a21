"""Recorded runs of HybridLDA and HybridCrossLBLA on neighbours that differ in one word."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.models.cross import hybrid as cross
from discreet.models.cross.hybrid import HybridCrossLBLA
from discreet.models.hybrid import model as hybrid
from discreet.models.hybrid.model import HybridLDA
from tests.support.neighbours import Run, faults_of_flow, recorded

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


def fit(
    corpus: Corpus,
    history: SweptRun | None = None,
    training: type | None = None,
    kind: type[HybridLDA] = HybridLDA,
    **options: Any,
) -> SweptRun:
    run = SweptRun()
    module, name = (cross, "CrossTraining") if kind is HybridCrossLBLA else (hybrid, "Training")

    def sweep(engine, table, alpha, number, **given):
        run.offsets, run.slots = engine.offsets, engine.words.copy()
        real_sweep(engine, table, alpha, number, **given)
        run.inputs.append((engine._weights.reshape(engine.n_words, -1)[:, :N_TOPICS].copy(),))  # rounded, as drawn from
        run.drawn.append(engine.topics.copy())
        if history is not None:
            engine.topics[:] = history.drawn[len(run.drawn) - 1]
            engine._total = None

    real_sweep = ThreadSweeps.sweep_exact
    chosen = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": N_SWEEPS, "n_threads": 1, "random_state": 5}
    with (
        recorded(run, None if history is None else history.noisy),
        patch.object(module, name, training or getattr(module, name)),
        patch.object(ThreadSweeps, "sweep_exact", sweep),
    ):
        run.train(kind(N_TOPICS, **(chosen | options)), corpus)
    return run


def pair() -> tuple[Corpus, Corpus]:
    d = lda_corpus(9, N_WORDS, N_TOPICS, mean_length=12, seed=3).corpus
    words = d.words.copy()
    at = int(d.offsets[2]) + TOKEN
    words[at] = WORD
    replaced = words.copy()
    replaced[at] = NEW_WORD
    return tuple(Corpus(w, d.offsets, Vocabulary(d.vocabulary, "public")) for w in (words, replaced))  # type: ignore[return-value]


def pair_of_collections() -> tuple[Corpus, Corpus]:
    """The same pair; document 2, which has the replaced token, is in collection 1 of 2."""
    d, d1 = pair()
    return tuple(replace(corpus, collections=np.arange(corpus.n_documents) % 3 // 2) for corpus in (d, d1))  # type: ignore[return-value]


def faults(d: SweptRun, d1: SweptRun) -> set[str]:
    """What Theorem B forbids and these runs do."""
    found = faults_of_flow(d, d1)
    n_collections = len(getattr(d.model, "collections_", [0]))
    first = (n_collections - 1) * N_WORDS  # row of the replaced token's collection, the last one
    if [entry.count for entry in d.charged] != [len(d.exact), len(d.drawn)]:
        found.add("charged for other than what was done")
    for a, b in zip(d.exact, d1.exact, strict=True):
        difference = np.sort((a - b)[a != b]).tolist()
        moved = {*np.argwhere(a != b)[:, 0].tolist()}
        if difference not in ([], [-1, 1]) or not moved <= {first + WORD, first + NEW_WORD}:
            found.add("tables")
    for (weights,) in d.inputs:
        table = weights.astype(float).reshape(n_collections, N_WORDS, -1)
        reach = np.log(table.max(axis=1) / table.min(axis=1)).max()
        if 2 * reach > d.charged[1].event.eta:
            found.add("range of a draw")
    slot = int(np.flatnonzero(d.slots != d1.slots)[0]) if (d.slots != d1.slots).sum() == 1 else -1
    if slot < 0:
        found.add("slots depend on words")
        return found
    document = int(np.searchsorted(d.offsets, slot, side="right")) - 1
    own = np.zeros(len(d.slots), bool)  # the replaced token's draw, and those after it in its document, which see it
    own[slot : d.offsets[document + 1]] = True
    if any((a != b)[~own].any() for a, b in zip(d.drawn, d1.drawn, strict=True)):
        found.add("other draws read the word")
    return found

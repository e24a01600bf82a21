"""Cells of SUB-LDA's measured figures: which documents, which settings, and one run of each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from discreet.corpus import load
from discreet.experiments.data import JUDGED, Split, as_public, judged
from discreet.experiments.experiment import Grid, Point, Setting
from discreet.experiments.papers.huang2021.sums import EPSILON, ORDER
from discreet.privacy.subsampled import subsampled_rdp, table_3_rdp

DATASETS = ("20newsgroups", "nips", "enron")
RATES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
TOPICS = (20, 40, 60, 80, 100)
ITERATIONS = 100
ALPHA, BETA = 0.1, 0.01

TOLERANCE, PATIENCE = 1.0, 5
"""D̂ and s of Eq. 9, which the paper does not give."""

UNIFORM = "uniform"


@cache
def split(name: str, n_words: int | None, n_documents: int | None) -> Split:
    """All words, as the sizes in Table 2 say (Enron: the 28,102 most frequent); every tenth document is held out.

    Without the authors of posts and e-mails: the paper protects words, and its form refuses users."""
    corpus = replace(load(name, split="train") if name == "20newsgroups" else load(name), groups=None)
    corpus = as_public(corpus if n_words is None else corpus.most_frequent(n_words))
    corpus = corpus[: n_documents or corpus.n_documents]
    out = np.arange(corpus.n_documents) % 10 == 0
    return Split(corpus[~out], corpus[out])


def sizes(quick: bool, datasets: Sequence[str] = DATASETS) -> list[Setting]:
    if quick:
        return [{"dataset": "kos", "n_words": 100, "n_documents": 100, "rounds": 6}]
    words = {"enron": 28_102}
    whole = {"n_documents": None, "rounds": ITERATIONS}
    return [{"dataset": name, "n_words": words.get(name), **whole} for name in datasets]


def model_of(setting: Setting, seed: int, **more: Any) -> Any:
    from discreet.models.subsampled.model import SubsampledLDA

    return SubsampledLDA(
        setting["n_topics"],
        as_published=True,
        alpha=ALPHA,
        beta=BETA,
        order=ORDER,
        round_epsilon=EPSILON,
        sampling_rate=setting["gamma"],
        n_rounds=setting["rounds"],
        random_state=seed,
        **more,
    )


# --- Figures 2, 3 and 5: time and perplexity by γ and K --------------------------------------------------------------


def _grid_settings(quick: bool) -> list[Setting]:
    topics, rates = ((5, 10), (0.1, 0.5, 1.0)) if quick else (TOPICS, RATES)
    return [{**size, "n_topics": k, "gamma": rate} for size in sizes(quick) for k in topics for rate in rates]


def _grid_cell(setting: Setting, seed: int) -> Iterator[Point]:
    documents = split(setting["dataset"], setting["n_words"], setting["n_documents"])
    clock: list[float] = [time.process_time()]
    model = model_of(setting, seed, n_threads=1, callbacks=[lambda info: clock.append(time.process_time())])
    model.fit(documents.train)
    per_iteration = (clock[-1] - clock[1]) / (len(clock) - 2)  # without the first, which may compile
    yield {"seconds": per_iteration, **judged(model.components_, documents, ALPHA)}


BY_RATE = Grid("sub-lda-by-rate", 1, _grid_settings, _grid_cell, ("seconds", *JUDGED), repetitions=3)


# --- Figure 4 and Table 3: perplexity by iteration, and when it has settled -----------------------------------------


def _curve_settings(quick: bool) -> list[Setting]:
    k, rates = (5, (0.1, 0.5, 1.0)) if quick else (100, RATES)
    return [{**size, "n_topics": k, "gamma": rate} for size in sizes(quick) for rate in rates]


def _curve_cell(setting: Setting, seed: int) -> Iterator[Point]:
    """The perplexity of the training documents under their Θ and Φ, as the paper's rule for stopping seems to read it.

    Training goes on to the end, and the rule is applied to the curve: a tolerance of 0 is never met.
    """
    documents = split(setting["dataset"], setting["n_words"], setting["n_documents"])
    model = model_of(setting, seed, tolerance=0.0, patience=setting["rounds"])
    curve = model.fit(documents.train).history_["perplexity"]
    for iteration, value in enumerate(curve, 1):
        if iteration == 1 or iteration % 5 == 0:
            yield {"iteration": iteration, "perplexity": value}
    settled = iterations_until_settled(curve)
    yield {"settled": settled, **_totals(settled, setting["gamma"])}


def iterations_until_settled(curve: Sequence[float]) -> float:
    """Eq. 9: the first T + s with |per_i − per_{i−1}| ≤ D̂ for i = T, …, T + s; all iterations if there is none."""
    changes = np.abs(np.diff(curve))  # changes[i] is that of iteration i + 2
    for end in range(PATIENCE + 1, len(changes) + 1):
        if (changes[end - PATIENCE - 1 : end] <= TOLERANCE).all():
            return float(end + 1)
    return float(len(curve))


def _totals(iterations: float, rate: float) -> Point:
    exact, printed = subsampled_rdp(ORDER, EPSILON, rate), table_3_rdp(ORDER, EPSILON, rate)
    return {"epsilon_sub": exact, "total": iterations * exact, "printed_total": iterations * printed}


CURVES = Grid(
    "sub-lda-curves",
    1,
    _curve_settings,
    _curve_cell,
    ("perplexity", "settled", "epsilon_sub", "total", "printed_total"),
    repetitions=3,
)


# --- Figure 6: adaptive subsampling ----------------------------------------------------------------------------------

SHARE = 0.5
"""q of Eq. 10, which the paper does not give; v = 1/(ηq)."""


def _adaptive_settings(quick: bool) -> list[Setting]:
    k = 5 if quick else 20
    etas = (None, 1.0) if quick else (None, 1.0, 0.5, 0.25)
    return [{**size, "n_topics": k, "gamma": 0.1, "eta": eta} for size in sizes(quick) for eta in etas]


def _adaptive_cell(setting: Setting, seed: int) -> Iterator[Point]:
    documents = split(setting["dataset"], setting["n_words"], setting["n_documents"])
    eta = setting["eta"]
    more = {} if eta is None else {"adaptive": True, "frequent_share": SHARE, "boost": 1 / (eta * SHARE)}
    model = model_of(setting, seed, **more).fit(documents.train)
    yield {"sampling": UNIFORM if eta is None else "adaptive", **judged(model.components_, documents, ALPHA)}


ADAPTIVE = Grid("sub-lda-adaptive", 1, _adaptive_settings, _adaptive_cell, JUDGED, repetitions=5)

"""Copy me: a whole model in a class of under sixty lines, on the same engine as ``LDA``.

CoarseLDA trains on topic-word counts rounded down to multiples of ``grid``. It shows where a model meets the engine; it
is no advice. Rounding is not privacy: one document more can still move a count over a step, so the guarantee is none.

1. Copy this file to ``src/discreet/models/`` (a family of several files: to a folder there), and change the one line
   that makes the statistic. A private model also makes a ``PrivateFit``: see "A private model" in ``docs/design.md``.
2. Add a row to ``src/discreet/_catalogue.py``, which makes the class public and gives it its ``--method``, and an
   import for type checkers to ``src/discreet/__init__.py``.
3. Let it join the contract of every estimator: a subclass that rounds its input and one line for each of its forms in
   ``tests/contract/test_estimators.py``, and a seeded fit in ``tests/contract/test_seeded_bits.py``.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

from discreet._random import Key
from discreet.engines import open_sweeps
from discreet.models.base import TopicModel, broadcast_alpha, check_sizes
from discreet.models.bounds import Alpha, AtLeastOne, Prior, Sweeps, Topics
from discreet.models.estimator import Seeded, estimator
from discreet.privacy import SEEDED, Guarantee
from discreet.training.loop import Measures, run_sweeps

ROUNDED = "counts are rounded, not noised, so one document more can still be seen"


@estimator  # the fields below are the parameters: what they may be, and their defaults
class CoarseLDA(Seeded, TopicModel):
    """LDA by frozen sweeps on rounded counts. See ``LDA`` for the other parameters."""

    method = "coarse"

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    grid: AtLeastOne = 2
    n_sweeps: Sweeps = 100

    def fit(self, X: Any, y: Any = None) -> Self:
        self._check_parameters()
        corpus = self._read(X, reset=True)  # a Corpus or a matrix of counts, checked
        check_sizes(corpus, self.n_topics)
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        key = Key.open(self.random_state)  # fresh from the operating system, or from a seed
        engine = open_sweeps(corpus, self.n_topics, key, n_threads=self.n_threads)  # tokens and topics stay in here
        engine.draw_first_topics()

        def statistic() -> Any:
            return engine.count() // self.grid * self.grid  # what a sweep may see of the other documents

        def sweep(number: int) -> Measures:
            seen = statistic()
            scale = 1.0 / (seen.sum(axis=0) + engine.n_words * self.beta)
            engine.sweep(seen, alpha, number, prior=self.beta, scale=scale)  # no number twice under one key
            return {}

        self.history_, _ = run_sweeps(range(1, self.n_sweeps + 1), sweep)
        table = statistic().T + self.beta
        self.components_ = table / table.sum(axis=1, keepdims=True)
        self.alpha_, self.beta_ = alpha, float(self.beta)
        self.guarantee_ = Guarantee.none(ROUNDED, *((SEEDED,) if key.seeded else ()))
        return self

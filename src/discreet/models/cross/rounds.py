"""The rounds of PrivateCrossLDA: those of PrivateLDA over the words of each collection, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet._errors import warn_caller
from discreet._types import FloatArray
from discreet.engines.interface import Table
from discreet.models.cross.tables import CrossPriors, CrossTables
from discreet.models.cross.units import SUM_WEIGHT, CollectionUnits, shorter
from discreet.models.private import shrink
from discreet.models.private.rounds import PrivateRounds
from discreet.privacy.events import DiscreteGaussianRelease
from discreet.release.usefulness import Setting, judge
from discreet.training.private_fit import units_in_words

if TYPE_CHECKING:
    from discreet.models.cross.private import PrivateCrossLDA

LEAST_SHARE = 0.02
"""A topic has at least this share of its usual size in every collection: with noise it may seem to have none."""

PRIORS = CrossPriors(beta=0.01, beta_collection=0.01, gamma0=1.0, gamma1=1.0)
"""Those of CrossLDA, for the division into common and own words."""

EM_STEPS = 300
"""Of that division, which then says nearly the same of a word as the table that is divided."""


class CrossRounds(PrivateRounds):
    """One training run. The engine is private; every other field is a function of what was released.

    Three tables are estimated, each pulled towards the one before by how large its noise is:

    * *common*: word × topic, from the sum over collections and from what each collection says of it, weighted by
      precision, and pulled towards a table without topics as in PrivateLDA.
    * *rows*: how frequent each word is in each collection, from its own release, pulled towards what the common topics
      say, given how large they are in the collection.
    * the *table*: collection × word × topic, pulled towards the common profile of each word, with the rows as sums.
    """

    model: PrivateCrossLDA
    engine: CollectionUnits
    judges = False
    released = (*PrivateRounds.released, "observed", "observed_variance", "rows", "common")

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.engine.n_collections, self.engine.n_words, self.model.n_topics

    # --- before the rounds --------------------------------------------------------------------------------------------

    def _learn_frequencies(self) -> None:
        super()._learn_frequencies()
        engine, event = self.engine, self.plan.of_collections
        assert event is not None
        grid = self.clip / event.sensitivity
        cells = engine.collection_counts(self.word_weights / grid, event.sensitivity)
        noisy = self.releases.release(cells, event).reshape(self.shape[:2]) * (grid / self.word_weights)
        total = max(float(noisy.sum()), 1.0)
        self.observed = noisy / total
        self.observed_variance = (event.scale * grid / self.word_weights / total) ** 2
        self.rows = self._shrunk_rows(self.frequencies * self.shares[:, None])
        self._warn_of_few_units()

    @property
    def shares(self) -> FloatArray:
        """How much of the text each collection is, long documents counting no more than the clip lets them."""
        found = np.maximum(self.observed.sum(axis=1), 1e-3 / len(self.observed))
        return np.asarray(found / found.sum())

    def _warn_of_few_units(self) -> None:
        """From noisy numbers; public ones were judged before anything was charged."""
        if isinstance(self.model.collection_names, Mapping):
            return
        for label, share in zip(self.model.collections_.tolist(), self.shares.tolist(), strict=True):
            n, needed = share * self.n_units, self.model._needed_units(self.plan)
            if n < needed:
                units = units_in_words(max(n, 1.0), public=False)
                warn_caller(f"the collection {label!r} has {units}, {few_units(needed)}")

    def _first_table(self, start: FloatArray) -> FloatArray:
        self.common = self.frequencies[:, None] * start
        return (self.rows[:, :, None] * start).reshape(-1, self.model.n_topics)

    # --- the cells of a round: collections × words, then words --------------------------------------------------------

    def _all_cells(self, cell_weights: FloatArray) -> FloatArray:
        return np.concatenate([*[cell_weights] * self.shape[0], SUM_WEIGHT * cell_weights])

    def _grid(self, event: DiscreteGaussianRelease) -> float:
        return self.clip / shorter(event.sensitivity, 1)  # the clip, in tokens, is that of one collection's table

    def _by_word(self, cells: FloatArray) -> FloatArray:
        return np.asarray(cells[-self.shape[1] :].sum(axis=1))

    def _subtracted(self, background: Table) -> FloatArray:
        parts = self.size * self.rows.reshape(-1, 1) * background
        return np.concatenate([parts, parts.reshape(self.shape).sum(axis=0)])

    def _weigh_cells(self, table: FloatArray) -> FloatArray:
        return super()._weigh_cells(self.common)

    def _weights(self) -> FloatArray:
        """A[c, w, k], times the number of words."""
        return self._topics(self.table).reshape(self.table.shape) * self.shape[1]

    def _topics(self, table: FloatArray) -> FloatArray:
        """Columns that sum to 1 in each collection: collection × word × topic."""
        parts = table.reshape(self.shape)
        return np.asarray(parts / parts.sum(axis=1, keepdims=True))

    # --- from noisy cells to tables -----------------------------------------------------------------------------------

    def _shrunk(self, rule: shrink.Rule, noisy: FloatArray, variance: FloatArray) -> FloatArray:
        n_rows = self.shape[0] * self.shape[1]
        parts, noise = noisy[:n_rows].reshape(self.shape), variance[:n_rows].reshape(self.shape)
        sizes = self._sizes(parts)
        pooled = self._pooled(noisy, variance, sizes)
        flat = shrink.without_topics(pooled[0], self.frequencies, self.seeds)
        self.common = rule(*pooled, self._target(*pooled, flat))
        # how a word of each collection is spread over topics, if collections differed in the sizes of topics alone
        spread = shrink.topics(self.common) * sizes[:, None, :]
        rows = spread.sum(axis=2)
        self.rows = self._shrunk_rows(rows * (self.shares / rows.sum(axis=1))[:, None])
        total = max(float(pooled[0].sum()), 1e-3 * float(sizes.sum()))  # noise alone may add up to less than nothing
        expected = spread * (total * self.rows / rows)[:, :, None]
        expected = np.maximum(expected, expected.max() * 1e-9)
        if rule is shrink.shrunk:
            noise = noise / shrink.TRUST  # collections shall differ only where the noise cannot have made them
        return relative(parts, noise, expected).reshape(n_rows, -1)

    def _sizes(self, parts: FloatArray) -> FloatArray:
        """Of each topic in each collection."""
        sizes = np.maximum(parts.sum(axis=1), 0)
        if not sizes.sum() > 0:
            sizes = np.ones_like(sizes)
        return np.asarray(np.maximum(sizes, LEAST_SHARE * self.shares[:, None] * np.maximum(sizes.sum(axis=0), 1e-12)))

    def _pooled(self, noisy: FloatArray, variance: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Word × topic and its variance: what was released for the sum, and each collection's word on it.

        A collection that is expected to have the share h of a cell says x / h of it, with variance v / h².
        """
        n_rows = self.shape[0] * self.shape[1]
        parts, noise = noisy[:n_rows].reshape(self.shape), variance[:n_rows].reshape(self.shape)
        h = sizes[:, None, :] * (self.rows / self.shares[:, None])[:, :, None]
        h /= h.sum(axis=0)
        precision = (h**2 / noise).sum(axis=0) + 1 / variance[n_rows:]
        mean = ((h * parts / noise).sum(axis=0) + noisy[n_rows:] / variance[n_rows:]) / precision
        return mean, 1 / precision

    def _shrunk_rows(self, expected: FloatArray) -> FloatArray:
        """The share of each word of each collection in all text."""
        noise = np.broadcast_to(self.observed_variance, expected.shape)
        columns = zip(self.observed, noise, expected, strict=True)
        found = np.array([shrink.posterior(*(one[:, None] for one in column))[:, 0] for column in columns])
        return np.asarray(found / found.sum())

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, setting: Setting) -> None:
        """Hand common topics, collections' own words and the switch to the model; all from what was released."""
        model, best, table = self.model, self.best, self.final_table()
        counts = table.reshape(self.shape) * self.n_units
        model._keep_tables(divided(counts))
        model.topic_shares_, model.collection_shares_ = shrink.shares(table), self.shares
        noisy, variance = self._pooled(best.value, best.variance, self._sizes(self._parts(best.value)))
        model.standard_errors_ = np.ascontiguousarray((np.sqrt(variance) / self.common.sum(axis=0)).T)
        topics = np.ascontiguousarray(shrink.topics(self.common).T)
        model.usefulness_ = judge(noisy, variance, topics, replace(setting, n_units=self.n_units))

    def _parts(self, noisy: FloatArray) -> FloatArray:
        return noisy[: self.shape[0] * self.shape[1]].reshape(self.shape)


def relative(noisy: FloatArray, variance: FloatArray, expected: FloatArray) -> FloatArray:
    """A linear rule, as `shrink.shrunk`, for tables that differ little from what is expected of them: the deviation of
    a cell is proportional to its expectation e. It keeps the share t·e² / (t·e² + v), v being the noise variance and t
    one number for each collection: how much its cells vary beyond the noise, estimated by weighted moments."""
    apart, squared = noisy - expected, expected**2
    t = np.full((len(noisy), 1, 1), 0.1)
    for _ in range(5):
        weight = squared / (variance + t * squared) ** 2
        excess = (weight * (apart**2 - variance)).sum(axis=(1, 2), keepdims=True)
        t = np.maximum(excess / (weight * squared).sum(axis=(1, 2), keepdims=True), 1e-4)
    keep = t * squared / (t * squared + variance)
    return np.asarray(np.maximum(expected + keep * apart, shrink.FLOOR * expected))


def divided(counts: FloatArray) -> CrossTables:
    """φ, σ and ψ of a table, collection × word × topic, by EM from no own words; balanced in the first half."""
    own_share = np.zeros_like(counts)
    for step in range(EM_STEPS):
        tables = CrossTables.of(counts, counts * own_share, PRIORS, balanced=2 * step < EM_STEPS)
        own_share = tables.mixed()[1]
    return tables


def few_units(needed: float) -> str:
    return (
        f"too few to tell its own words from the noise, which takes about {needed:,.0f}: its topics will be much like "
        "those of all collections. Join it with another, or use fewer words or a larger epsilon."
    )

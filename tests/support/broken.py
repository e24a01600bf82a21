"""Broken copies of our own mechanisms, as context managers: each is a mistake that programs of this kind have made. The
audit must refute every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from discreet._random import Purpose
from discreet.attacks.audit.targets import Observed
from discreet.corpus import Vocabulary
from discreet.engines.threads import units
from discreet.engines.threads.units import Batch, ThreadUnits
from discreet.mechanisms import release

REAL_NOISE = release.add_discrete_gaussian
REAL_RESIDUALS = ThreadUnits.residuals


@contextmanager
def no_clip() -> Iterator[None]:
    """A contribution may be a hundred times as long as was charged, which these never reach."""

    def residuals(its, given, *, clip, **public):
        return REAL_RESIDUALS(its, given, clip=100 * clip, **public)

    with patch.object(ThreadUnits, "residuals", residuals):
        yield


@contextmanager
def half_of_the_noise() -> Iterator[None]:
    def add(cells, scale, *rest):
        REAL_NOISE(cells, scale / 2, *rest)

    with patch.object(release, "add_discrete_gaussian", add):
        yield


@contextmanager
def noise_used_again() -> Iterator[None]:
    """Every release takes the noise of the first."""

    def add(cells, scale, key, number, n_threads=1):
        REAL_NOISE(cells, scale, key, 1, n_threads)

    with patch.object(release, "add_discrete_gaussian", add):
        yield


@contextmanager
def divided_by_the_batch(planned: int) -> Iterator[None]:
    """The sum is brought to ``planned`` units by the number that took part, before the noise: a mean of few units is
    longer than was charged."""

    def residuals(its, given, **public):
        took_part = max(int(its.coins(given.number, given.threshold).sum()), 1)
        return REAL_RESIDUALS(its, given, **public) * planned // took_part

    with patch.object(ThreadUnits, "residuals", residuals):
        yield


@contextmanager
def a_coin_for_each_document() -> Iterator[None]:
    """A user takes part with those documents whose own coin says so: with many documents, in every round."""

    def coins(its, number, threshold):
        bits = its.key.bits(Purpose.INCLUSION, number, 0, len(its.offsets) - 1)
        return np.asarray(bits < np.asarray(threshold, np.int64))

    def batch(its, included):
        chosen = np.flatnonzero(included)
        first_document = np.searchsorted(chosen, its.first_document)
        offsets = np.concatenate([[0], np.cumsum(its._lengths[chosen])])
        offsets.setflags(write=False)
        ends = offsets[first_document]
        cuts = np.searchsorted(ends[1:], ends[-1] * units.shares(its.n_threads), side="left")
        cuts[0], cuts[-1] = 0, len(ends) - 1
        return Batch(
            numbers=chosen.astype(np.uint32),
            starts=its.offsets[chosen],
            offsets=offsets,
            first_document=first_document,
            token_ends=ends[1:],
            cuts=cuts,
            longest=int(np.diff(ends).max(initial=0)),
            words=np.empty(offsets[-1], np.int32),
            topics=np.empty(offsets[-1], np.uint16),
        )

    with patch.multiple(ThreadUnits, coins=coins, _batch=batch):
        yield


class WordsOfTheText(Observed):
    """The list of words is read from the documents, and called public."""

    def corpus(self, inside):
        found = super().corpus(inside)
        there = [found.vocabulary[i] for i in np.unique(found.words)]
        return replace(found.restrict(Vocabulary(there, "public")))

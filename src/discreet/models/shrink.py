"""From noisy released statistics to topics: post-processing, which costs nothing.

A noisy table of word × topic is averaged over rounds, and then each word's profile over topics is pulled towards the
profile of a word without any topic: the released frequency of the word times the size of each topic. How far depends on
how much the profile varies beyond the known noise (an empirical-Bayes rule, James and Stein's in spirit): words with a
clear profile keep it, words whose profile is noise lose it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet._types import FloatArray

FLOOR = 0.02
"""No cell falls below this share of its expectation without topics: a zero would be for ever."""


def topics_from(noisy: FloatArray, variance: FloatArray, frequencies: FloatArray) -> FloatArray:
    """φ̃, word × topic with columns that sum to 1, from a noisy word × topic table.

    ``variance`` is the known noise variance in the cells of each word, ``frequencies`` the released share of each word.
    """
    sizes = np.maximum(noisy.sum(axis=0), 0)
    if not sizes.sum() > 0:
        sizes = np.ones(noisy.shape[1])
    flat = frequencies[:, None] * sizes[None, :]
    apart = noisy - flat
    signal = np.maximum((apart**2).mean(axis=1) - variance, 0)
    keep = signal / np.maximum(signal + variance, 1e-300)
    shrunk = np.maximum(flat + keep[:, None] * apart, FLOOR * np.maximum(flat, flat.max() * 1e-9))
    return np.asarray(shrunk / shrunk.sum(axis=0))


@dataclass
class Average:
    """A weighted mean of noisy tables, and the noise variance that it has."""

    value: FloatArray
    variance: FloatArray

    @classmethod
    def nothing(cls, n_words: int, n_topics: int) -> Average:
        return cls(np.zeros((n_words, n_topics)), np.zeros(n_words))

    def move(self, table: FloatArray, variance: FloatArray, step: float) -> None:
        """A step of this size from the mean so far towards the new table."""
        self.value = (1 - step) * self.value + step * table
        self.variance = (1 - step) ** 2 * self.variance + step**2 * variance

"""In which topics the private text uses its words: one release of word × topic.

Public text says how a word is spread over topics, and private text may use it otherwise: "release" of a product, or of
a prisoner. So each unit infers the topics of its own tokens from the adapted topics, and contributes the expected
counts of its words by topic, minus a share of what the topics predict. That is a round of VariationalLDA in which
everybody takes part, over many more topics. Hardly any cell stands out from the noise, but all cells of a word together
may: they are pulled towards what was expected as PrivateLDA pulls its cells towards a word without topics.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray
from discreet.engines.interface import ProportionEngine, Round
from discreet.mechanisms.release import Releases
from discreet.models.private import shrink
from discreet.models.private.cells import BACKGROUND_SHARE, weigh_cells
from discreet.privacy.events import DiscreteGaussianRelease

EVERYBODY = 2**32
"""The threshold of a coin that always comes up."""

STEPS, MORE_PRIOR = 10, 0.3
"""Variational steps of a unit, and what is added to the prior of each topic: exp(ψ(x)) is nearly x − ½ for large x, and
next to nothing for small ones, so these are about the steps of EM to the likeliest mixture. On 10,000 e-mails with 400
topics of newsgroups, and without noise, perplexity was 821 with 0.5 and 825 without; with Gibbs sweeps in place of
steps 843 (851 before)."""

CLIP = 0.01
"""The clip as a share of the median norm of the units' word counts: so small that most units are scaled to one norm.
How long their contributions are depends on how well public topics suit them, and is not known."""

CLEAR = 3.0
"""If the size of all contributions stands out from the noise by fewer deviations, words are left where they are: it
says how large a cell is expected to be."""

WORD_POWER = -0.4
"""A word of frequency u gets the weight u^WORD_POWER in the norm."""

LEAST = 1e-12
"""No word and no cell is expected less often than this: it prevents division by zero."""


def senses(
    engine: ProportionEngine,
    releases: Releases,
    event: DiscreteGaussianRelease,
    topics: FloatArray,
    shares: FloatArray,
    alpha: FloatArray,
    norm: float,
) -> FloatArray:
    """How much more often than expected a word is used in a topic, topic × word: ratios around 1.

    ``topics`` and ``shares`` are functions of what was released, and so is ``norm``, the usual norm of word counts.
    """
    expected = np.ascontiguousarray((shares[:, None] * topics).T)  # word × topic; sums to 1
    frequencies = np.maximum(expected.sum(axis=1), LEAST)
    profiles = expected / frequencies[:, None]
    words = frequencies**WORD_POWER
    words /= math.sqrt(float(frequencies @ words**2))  # the usual norm stays what it is
    weights = weigh_cells(frequencies, profiles, words)
    grid = CLIP * norm / event.sensitivity
    exact = engine.residuals(
        Round(1, EVERYBODY, topics.T * len(expected), alpha + MORE_PRIOR, STEPS),
        cell_weights=weights / grid,
        background=BACKGROUND_SHARE * profiles,
        clip=event.sensitivity,  # [senses] clipped to what was charged
    )
    noisy = releases.release(exact.ravel(), event).reshape(exact.shape) * (grid / weights)
    deviation = event.scale * grid / weights
    size = float(noisy.sum()) / (1 - BACKGROUND_SHARE)  # tokens of clipped units: what they left out is the rest
    if size < CLEAR * math.sqrt((deviation**2).sum()) / (1 - BACKGROUND_SHARE):
        return np.ones_like(topics)
    flat = np.maximum(size * expected, LEAST)
    found = noisy + BACKGROUND_SHARE * flat
    return np.ascontiguousarray((shrink.posterior(found, deviation**2, flat) / flat).T)

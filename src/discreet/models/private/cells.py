"""Weights of the cells word × topic in a contribution: what its norm is spent on."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray

BACKGROUND_SHARE = 0.75
"""λ: the share of a word's released profile that is subtracted from contributions, since it is known already."""

EVENNESS, LEAST = 0.6, 0.15
"""A cell's weight falls with the share of its topic in the word, (K·share + LEAST)^-EVENNESS: so the norm of a word is
not spent on its main topic alone."""

USUAL_TOPICS = 20
"""With K topics, more than usual, `LEAST` is multiplied by 20/K."""


def of_usual_topics(n_topics: int) -> float:
    return min(1.0, USUAL_TOPICS / n_topics)


def weigh_cells(frequencies: FloatArray, profiles: FloatArray, word_weights: FloatArray) -> FloatArray:
    """Weights by word and by share of the topic in it; one common factor keeps the usual norm of a contribution what it
    is with ``word_weights`` alone."""
    n_topics = profiles.shape[1]
    least = LEAST * of_usual_topics(n_topics)
    weights = word_weights[:, None] * (n_topics * profiles + least) ** -EVENNESS
    known = BACKGROUND_SHARE * (2 - BACKGROUND_SHARE)
    now = (frequencies[:, None] * profiles * (1 - known * profiles) * weights**2).sum()
    usual = (1 - known / 4) * (frequencies * word_weights**2).sum()
    return np.asarray(weights * math.sqrt(usual / now))

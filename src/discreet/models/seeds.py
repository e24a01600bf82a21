"""Seed words: prior knowledge of which words belong to which topics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet._errors import InputError, counted
from discreet._types import FloatArray
from discreet.models.base import numbers
from discreet.models.bounds import MOST_PRIOR


def check_seeds(given: Any, n_topics: int) -> None:
    """Topics and weights of a dictionary, {topic: {word: weight}}; which words there are need not be known yet."""
    for topic, weights in given.items() if isinstance(given, Mapping) else ():
        if not (isinstance(topic, int | np.integer) and 0 <= topic < n_topics):
            raise InputError(f"word_prior names topic {topic!r}; topics are 0 to {n_topics - 1}.")
        if not isinstance(weights, Mapping):
            raise InputError(f"word_prior[{topic}] must be a dictionary of words and weights; found {weights!r}.")
        for word, weight in weights.items():
            if not (isinstance(weight, int | float | np.number) and 0 <= float(weight) <= MOST_PRIOR):
                raise InputError(f"word_prior gives {word!r} the weight {weight!r}; weights are 0 to {MOST_PRIOR:g}.")


def seed_table(given: Any, n_topics: int, vocabulary: Sequence[str], *, all_known: bool = True) -> FloatArray | None:
    """A weight for each topic and word, or None without seed words.

    Words outside the vocabulary are refused, or with ``all_known=False`` left out: if words are selected privately, it
    is not known in advance which there will be.
    """
    if given is None:
        return None
    shape = (n_topics, len(vocabulary))
    if not isinstance(given, Mapping):
        prior = numbers(given, "word_prior")
        if prior.shape != shape or not ((prior >= 0) & (prior <= MOST_PRIOR)).all():
            raise InputError(
                f"word_prior must hold weights from 0 to {MOST_PRIOR:g}, one for each of {shape[0]} topics and "
                f"{shape[1]} words; found shape {prior.shape}."
            )
        return prior
    check_seeds(given, n_topics)
    column = {word: i for i, word in enumerate(vocabulary)}
    named = {word for weights in given.values() for word in weights}
    lost = sorted(str(word) for word in named - column.keys())
    if lost and all_known:
        raise InputError(f"word_prior names {lost[0]!r}, which is not in the vocabulary.")
    if lost:
        warnings.warn(
            f"{len(lost):,} of {counted(len(named), 'seed word')} were not selected from the text, for instance "
            f"{lost[0]!r}: they are left out.",
            stacklevel=3,
        )
    prior = np.zeros(shape)
    for topic, weights in given.items():
        for word, weight in weights.items():
            if word in column:
                prior[int(topic), column[word]] = weight
    return prior

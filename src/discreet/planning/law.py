"""How much of what plain LDA learns a private model keeps: one law for every forecast, fitted to measurements.

What LDA learns is its gain over word frequencies, log(unigram perplexity / LDA perplexity). *kept* is the share of it
that is left under privacy. A cell of word × topic holds a signal that grows with the number of units N and, since the
contribution of a unit is clipped to a norm, with the square root of its tokens L; its noise is a multiple m of the clip
that the budget decides. More words V and topics K divide the same signal among more cells. So

    x = N / m · √(L / 64) · (V / 2000)^−0.8 · (K / 20)^−0.5,
    kept = (top + floor) · logistic(slope · (log x − middle)) − floor,  and not below 0.

The powers are rounded from a free fit (0.48 for L, −0.81 for V, −0.50 for K). Below 0 the noise would do harm, and word
frequencies alone are the better model. ``benchmarks/plan_law.py`` fits the four constants to ``measured.csv``
and prints how well they predict data sets that they were not fitted to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from discreet.planning.noise import multiplier

TOP, FLOOR, SLOPE, MIDDLE = 0.974, 0.541, 2.134, 8.619
"""The constants of the fit. ``TOP`` is below 1 because rounds of sampled units lose a little without any noise too."""

TOKENS, WORDS, TOPICS = 64.0, 2_000.0, 20.0
TOKEN_POWER, WORD_POWER, TOPIC_POWER = 0.5, -0.8, -0.5

SPREAD, LEAST_SPREAD = 0.35, 0.05
"""The range of a forecast: x times or over e^SPREAD, and LEAST_SPREAD more. It holds nine in ten cells of data sets
that were left out of the fit."""

USEFUL, USELESS = 1 / 3, 1 / 5
"""Topics are useful if they keep a third of what LDA learns, useless below a fifth; in between they may be either."""

LDA_GAIN, GAIN_TOPICS, GAIN_WORD_POWER, GAIN_LOST, GAIN_TOKENS = 0.67, 8.0, 0.24, 1.2, 0.3
"""What plain LDA gains, in nats per token: 0.67 · K/(K + 8) · (V/2000)^0.24 · exp(−1.2 / (1 + 0.3 t)) with t tokens per
cell, for a small corpus teaches LDA little."""

GAIN_SPREAD = 0.55
"""Texts differ: the gain times or over e^0.55 holds 90% of the data sets (novels have little, e-mail has much)."""


class Range(NamedTuple):
    """A forecast and its range."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the law reads."""

    n_units: float
    n_words: float
    n_topics: float
    epsilon: float
    delta: float = 1e-6
    tokens: float = TOKENS
    """Of a usual unit, counted in words of the vocabulary: between the mean and the median."""
    spent: float = 0.0
    """The share of the precision that the selection of words took."""


def strength(facts: Facts) -> float:
    """log x."""
    return (
        math.log(max(facts.n_units, 1e-9))
        - math.log(multiplier(facts.epsilon, facts.delta, share=facts.spent))
        + TOKEN_POWER * math.log(max(facts.tokens, 1e-3) / TOKENS)
        + WORD_POWER * math.log(max(facts.n_words, 1) / WORDS)
        + TOPIC_POWER * math.log(max(facts.n_topics, 1) / TOPICS)
    )


def at(log_x: float) -> float:
    """The law itself."""
    z = SLOPE * (log_x - MIDDLE)
    share = 1 / (1 + math.exp(-z)) if z > -500 else 0.0
    return max(0.0, (TOP + FLOOR) * share - FLOOR)


def kept(facts: Facts) -> Range:
    """The share of what plain LDA learns that is expected to be left."""
    x = strength(facts)
    low, high = max(0.0, at(x - SPREAD) - LEAST_SPREAD), min(1.0, at(x + SPREAD) + LEAST_SPREAD)
    return Range(at(x), low, high)


def reached(share: float) -> float:
    """The log x with which this share is kept."""
    part = (share + FLOOR) / (TOP + FLOOR)
    return MIDDLE + math.log(part / (1 - part)) / SLOPE


def units_needed(share: float, facts: Facts) -> float:
    """About the number of units with which this share is kept."""
    return math.exp(reached(share) - strength(replace(facts, n_units=1.0)))


def lda_gain(facts: Facts) -> Range:
    """What plain LDA gains over word frequencies with the same documents, in nats per token."""
    per_cell = facts.n_units * facts.tokens / (facts.n_words * facts.n_topics)
    gain = (
        LDA_GAIN
        * (facts.n_topics / (facts.n_topics + GAIN_TOPICS))
        * (facts.n_words / WORDS) ** GAIN_WORD_POWER
        * math.exp(-GAIN_LOST / (1 + GAIN_TOKENS * per_cell))
    )
    return Range(gain, gain * math.exp(-GAIN_SPREAD), gain * math.exp(GAIN_SPREAD))


def ratio(share: Range, gain: Range) -> Range:
    """Perplexity over plain LDA's. The two errors, of the share and of the gain, are taken as independent."""

    def middle(share_kept: float, nats: float) -> float:
        return math.exp((1 - share_kept) * nats)

    expected = middle(share.expected, gain.expected)
    low, high = middle(share.high, gain.expected), middle(share.low, gain.expected)
    by_gain = [middle(share.expected, nats) for nats in (gain.low, gain.high)]
    away = [
        math.hypot(math.log(expected / a), math.log(expected / b)) for a, b in ((low, by_gain[0]), (high, by_gain[1]))
    ]
    return Range(expected, expected * math.exp(-away[0]), expected * math.exp(away[1]))

"""Are private topics useful? Judged from released numbers only, so the answer costs nothing and may be published.

Two things make a private model useless: noise that hides the topics, and a list of words so short that there is nothing
to make topics of. The first is measured. In the averaged table of word × topic, z is how far a cell lies above what its
word would have there without topics, in deviations of the known noise. The *clear share* is the part of the text that
lies above, summed over the cells with z > 3, less what noise alone would add to that sum. The second is decided by the
number of words. The thresholds come from ``benchmarks/usefulness.py``. Only the advice rests on the law of
``discreet.planning``; the verdict after training does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.planning import advice
from discreet.planning.law import Facts
from discreet.planning.noise import WORDS_SHARE

CLEAR = 3.0
"""Deviations of the noise above which a cell is clear."""

LEAST_SHARE = 0.175
"""The smallest clear share of useful topics. With 2 to 50 topics it was 0.20 or more where at least a third of what
plain LDA learns remained, and 0.15 or less where less than a fifth remained."""

WORDS_PER_TOPIC = 5
"""With fewer words per topic, the ten best words of a topic are mostly those of other topics too."""

FEWEST_FOR_TWO = 6
"""With fewer privately selected words, not even two topics are trained: they could not be distinguished."""

FEWEST_WORDS = 100
"""Fewer privately selected words than this cover too little of the text."""

TOP = 10
"""Number of best words by which people recognise a topic; half of them must be clear in a clear topic."""


@dataclass(frozen=True)
class Usefulness:
    """What a reader of the topics may expect of them."""

    useful: bool
    clear_share: float
    """The clear share: the part of the text by which words in topics exceed their usual frequency, beyond the noise."""
    clear_topics: int
    """Number of topics in which at least half of the ten best words clearly exceed their usual frequency."""
    n_topics: int
    n_words: int
    reason: str
    """Why, in words."""
    advice: str
    """What would help; empty where the topics are useful."""

    @property
    def verdict(self) -> str:
        return "topics are likely to be useful" if self.useful else "topics are unlikely to be useful"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """One line for people."""
        return f"{self.verdict}: {self.reason}." + (f" {self.advice}" if self.advice else "")

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}

    @classmethod
    def from_json(cls, stored: Any) -> Usefulness:
        """The inverse of `to_json`; every value is checked."""
        kinds = {"useful": bool, "clear_share": float, "clear_topics": int, "n_topics": int, "n_words": int}
        names = [one.name for one in fields(cls)]
        if not isinstance(stored, Mapping) or set(stored) != {*names, "verdict"}:
            raise InputError(f"usefulness must have exactly the fields {', '.join(names)} and verdict.")
        for name in names:
            wanted = kinds.get(name, str)
            if type(stored[name]) is not wanted and not (wanted is float and type(stored[name]) is int):
                raise InputError(f"usefulness: {name} must be of type {wanted.__name__}; found {stored[name]!r}.")
        return cls(**{name: stored[name] for name in names})


@dataclass(frozen=True)
class Setting:
    """What is known without the documents: used for the reason and the advice."""

    epsilon: float
    n_units: float | None = None
    """Public or released."""
    users: bool = False
    """Whether a unit is all documents of one user."""
    selected: bool = False
    """Whether the words were selected privately from the text."""
    delta: float = 1e-6


def judge(noisy: FloatArray, variance: FloatArray | float, topics: FloatArray, setting: Setting) -> Usefulness | None:
    """From the noisy table of word × topic, its noise, and the ``topics`` made of it (topic × word).

    None for a single topic, which is the frequencies of words and nothing else.
    """
    n_words, n_topics = noisy.shape
    if n_topics == 1:
        return None
    above, deviation = _above_frequency(noisy, np.broadcast_to(variance, noisy.shape))
    clear = above > CLEAR * deviation
    share = _clear_share(noisy, variance, above, deviation, clear)
    top = np.argsort(-topics, axis=1, kind="stable")[:, :TOP]
    clear_topics = int((2 * np.take_along_axis(clear.T, top, axis=1).sum(axis=1) >= top.shape[1]).sum())
    too_few = few_words(n_words, n_topics, selected=setting.selected)
    hidden = share < LEAST_SHARE
    reason = too_few or f"they differ by more than the noise in {share:.0%} of the text"
    if hidden and not too_few:
        reason += f", and useful ones do so in {math.ceil(100 * LEAST_SHARE)}% or more"
    help_ = _advice(n_words, n_topics, setting, hidden=hidden, too_few=bool(too_few))
    return Usefulness(not (too_few or hidden), share, clear_topics, n_topics, n_words, reason, help_)


def few_words(n_words: int, n_topics: int, *, selected: bool) -> str:
    """Why these are too few words, or an empty text. Known before any topic is trained."""
    if n_words < WORDS_PER_TOPIC * n_topics:
        words = "1 word is" if n_words == 1 else f"{n_words:,} words are"
        return f"{words} too few for {n_topics} topics, which need {WORDS_PER_TOPIC} each"
    if selected and n_words < FEWEST_WORDS:
        return f"only {n_words} words were selected, and so few usually cover little of the text"
    return ""


def _above_frequency(noisy: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far each cell lies above its word's share of the topic's size, and the noise of that difference.

    The word's frequency is that of its own row: another estimate of it would bring its own noise into every topic.
    """
    sizes = np.maximum(noisy.sum(axis=0), 0)
    shares = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(sizes), 1 / len(sizes))
    above = noisy - noisy.sum(axis=1, keepdims=True) * shares
    others = variance.sum(axis=1, keepdims=True) - variance
    return above, np.sqrt(variance * (1 - shares) ** 2 + others * shares**2)


def _clear_share(
    noisy: FloatArray, variance: FloatArray | float, above: FloatArray, deviation: FloatArray, clear: Any
) -> float:
    total = float(noisy.sum())
    noise = math.sqrt(float(np.broadcast_to(variance, noisy.shape).sum()))
    if total < 3 * math.sqrt(noisy.shape[1]) * noise:  # not even the size of a topic is known
        return 0.0
    by_chance = math.exp(-(CLEAR**2) / 2) / math.sqrt(2 * math.pi)  # E[z; z > 3] of pure noise
    return max(0.0, float(above[clear].sum() - by_chance * deviation.sum()) / total)


def foreseen(n_words: int, n_topics: int, setting: Setting) -> str:
    """The summary of topics that cannot be useful, if that is known before anything is charged; otherwise an empty
    text. Noise is judged by the plan's law (``planning/law.py``), for documents of usual length."""
    if n_topics == 1:
        return ""
    too_few = few_words(n_words, n_topics, selected=setting.selected)
    facts = _facts(n_words, n_topics, setting)
    hidden = facts is not None and advice.hopeless(facts)
    if not (too_few or hidden):
        return ""
    reason = too_few or f"the noise at epsilon={setting.epsilon:g} hides the topics of {n_words:,} words"
    return f"topics are unlikely to be useful: {reason}. " + _advice(
        n_words, n_topics, setting, hidden=hidden, too_few=bool(too_few)
    )


def _advice(n_words: int, n_topics: int, setting: Setting, *, hidden: bool, too_few: bool) -> str:
    """One or two things that would help, computed from public and released numbers."""
    enough = n_words // WORDS_PER_TOPIC
    if too_few and enough >= 2 and not (setting.selected and n_words < FEWEST_WORDS):
        return f"Ask for {enough} topics or fewer."
    if too_few and setting.selected:
        unit = "Protect documents instead of users, or give" if setting.users else "Give"
        return f"{unit} a public word list, or use {_more_words(setting)}."
    if too_few:
        return f"Use a list of at least {WORDS_PER_TOPIC * n_topics} words."
    if not hidden:
        return ""
    facts = _facts(n_words, n_topics, setting)
    if facts is None:
        return f"Use {_larger(setting)}."
    most, topics = advice.fewer_words(facts), advice.fewer_topics(facts)
    fewer = f" at most {most:,.0f} words, or" if most >= WORDS_PER_TOPIC * n_topics else ""
    if advice.FEWEST_TOPICS <= topics <= n_topics // 2:
        fewer = f" at most {topics} topics,{fewer or ' or'}"
    return f"Use{fewer} {_larger(setting, advice.larger_epsilon(facts), advice.more_units(facts))}."


def _facts(n_words: int, n_topics: int, setting: Setting) -> Facts | None:
    """What the plan's law reads; None if the number of units is not known."""
    if setting.n_units is None:
        return None
    return Facts(
        n_units=setting.n_units, n_words=n_words, n_topics=n_topics, epsilon=setting.epsilon, delta=setting.delta
    )


def _more_words(setting: Setting) -> str:
    """How to have `FEWEST_WORDS` words selected."""
    if setting.n_units is None:
        return _larger(setting)
    known = (FEWEST_WORDS, setting.n_units, setting.epsilon, setting.delta, WORDS_SHARE)
    return _larger(setting, advice.epsilon_that_selects(*known), advice.units_that_select(*known))


def _larger(setting: Setting, epsilon: float | None = None, n_units: float | None = None) -> str:
    """A larger ε while it still promises something, otherwise more units."""
    if epsilon is not None:
        return f"epsilon={epsilon:g}"
    unit = "users" if setting.users else "documents"
    return f"more {unit} or a larger epsilon" if n_units is None else f"more {unit}: about {n_units:,.0f}"

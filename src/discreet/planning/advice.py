"""What would make topics useful: more units, a larger ε, fewer words or fewer topics, each by the same law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from discreet.planning import law
from discreet.planning.law import Facts
from discreet.planning.words import USUAL, expected

LARGEST_EPSILON = 8.0
"""A larger ε promises so little that it is not proposed."""

SURE = 0.8
"""A warning must be right although lengths are not known: x times e^0.8. Then none of the 173 measured cells that kept
a third of what LDA learns would have been warned of, papers of 860 words included."""

SURE_OF_LENGTHS = 0.6
"""The same where lengths are known, and rounds can count words instead: the border is then at log x = 8.0. On abstracts
with 20 topics the perplexity of topics, over that of counted words, was 1.026 at 7.8, 0.996 at 8.06 and 0.964 at 8.3;
with public text, whose topics get the counted words, 1.09 at 7.8 and 0.967 at 8.5. On e-mail the two are equal at a
smaller x (1.015 at 7.15, 0.90 at 7.5; with public text 1.09 at 7.2, 0.92 at 7.8): there a fit just below the border
could have had topics. On newsgroup posts it was 1.07 at 7.2, and larger x were not measured."""

FEWEST_TOPICS = 5
"""Fewer are not proposed: with two topics the law promised 0.45 where nothing was kept (10,000 abstracts, ε = 1)."""

USUAL_TOKENS = 90.0
"""Of a document, stop words left out, where nothing is known: an abstract."""


def hopeless(facts: Facts, *, known_lengths: bool = False) -> bool:
    """Whether the topics will surely be useless, even of documents that are much longer than usual."""
    return law.at(law.strength(facts) + (SURE_OF_LENGTHS if known_lengths else SURE)) < law.USELESS


def _wanted(facts: Facts) -> float:
    """The log x of useful topics, and at least twice the present x: advice is asked for where that was not enough."""
    return max(law.reached(law.USEFUL), law.strength(facts) + math.log(2))


def more_units(facts: Facts) -> float:
    """About so many units, rounded up to two digits."""
    return rounded(facts.n_units * math.exp(_wanted(facts) - law.strength(facts)))


def larger_epsilon(facts: Facts) -> float | None:
    """About the smallest ε; None above `LARGEST_EPSILON`."""
    wanted = _wanted(facts)
    return smallest(lambda epsilon: law.strength(replace(facts, epsilon=epsilon)) >= wanted, facts.epsilon)


def fewer_words(facts: Facts) -> float:
    """About the largest number of words, at most half of those there are; rounded down to two digits."""
    most = facts.n_words * math.exp((_wanted(facts) - law.strength(facts)) / law.WORD_POWER)
    return rounded(min(most, facts.n_words / 2), down=True)


def fewer_topics(facts: Facts) -> int:
    """About the largest number of topics."""
    return int(facts.n_topics * math.exp((_wanted(facts) - law.strength(facts)) / law.TOPIC_POWER))


def epsilon_that_selects(n_words: int, n_units: float, epsilon: float, delta: float, share: float) -> float | None:
    """About the smallest ε, above ``epsilon``, at which private selection finds so many words of a usual text."""

    def enough(tried: float) -> bool:
        return expected(USUAL, n_units, USUAL_TOKENS, tried, delta, share).n_words >= n_words

    return smallest(enough, epsilon)


def units_that_select(n_words: int, n_units: float, epsilon: float, delta: float, share: float) -> float:
    """About the number of units, at least twice those there are, of which it finds so many words."""
    tried = 2 * n_units
    while expected(USUAL, tried, USUAL_TOKENS, epsilon, delta, share).n_words < n_words and tried < 1e12:
        tried *= 1.1
    return rounded(tried)


def smallest(enough: Callable[[float], bool], above: float) -> float | None:
    """About the smallest ε that is ``enough``; None above `LARGEST_EPSILON`."""
    low, high = above, LARGEST_EPSILON
    if low >= high or not enough(high):
        return None
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    found = sensible(high)
    return found if above < found <= LARGEST_EPSILON else None


def sensible(epsilon: float) -> float:
    """An ε that people would choose: rounded up, to halves above 1 and to two digits below."""
    return rounded(epsilon) if epsilon <= 1 else math.ceil(round(2 * epsilon, 6)) / 2


def rounded(value: float, *, down: bool = False) -> float:
    """To two digits, up or down."""
    unit = 10.0 ** (math.floor(math.log10(max(value, 1e-9))) - 1)
    return float((math.floor if down else math.ceil)(round(value / unit, 6)) * unit)

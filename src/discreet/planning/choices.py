"""What the plan chooses where nobody says: from the public number of units, the budget, and units of usual length."""

from __future__ import annotations

from discreet._errors import InputError
from discreet.planning.noise import WORDS_SHARE
from discreet.planning.plan import Known, best_share, best_topics

USUAL_WORDS = 180.0
"""Words of a usual unit where its length is not known: an abstract."""

AUTO = "auto"


def usual(
    *,
    n_units: int,
    users: bool = False,
    epsilon: float,
    delta: float,
    n_topics: int = 20,
    n_words: int | None = None,
    share: float | None = None,
    words_per_unit: float | None = None,
) -> Known:
    """The facts of a fit that is about to be charged: all public."""
    return Known(
        n_units=n_units,
        users=users,
        words_per_unit=words_per_unit or USUAL_WORDS,
        epsilon=epsilon,
        delta=delta,
        n_topics=n_topics,
        n_words=n_words,
        share=share,
    )


def words_share(*, n_units: int | None, epsilon: float, delta: float, n_topics: int = 20) -> float:
    """The share of the budget for private selection of words; the usual one if the number of units is not public."""
    if n_units is None:
        return WORDS_SHARE
    return best_share(usual(n_units=n_units, epsilon=epsilon, delta=delta, n_topics=n_topics))


def topics(*, n_units: int | None, epsilon: float, delta: float, n_words: int | None = None) -> int:
    """As many topics as the noise can carry: those with which the text gains most over word frequencies.

    1, the word frequencies themselves, if it can carry none. The number decides what is charged, so it is made of
    public facts, before anything is charged.
    """
    if n_units is None:
        raise InputError(
            "n_topics='auto' is decided before anything is charged, and needs the number of units. Give n_units, if "
            "that number is public, or say how many topics you want."
        )
    return best_topics(usual(n_units=n_units, epsilon=epsilon, delta=delta, n_words=n_words))

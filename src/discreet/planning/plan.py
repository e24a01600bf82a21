"""What to expect of a private model before anything is spent: from public facts alone, never from documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from discreet._errors import InputError, counted
from discreet.planning import law
from discreet.planning.advice import FEWEST_TOPICS, LARGEST_EPSILON, rounded, sensible
from discreet.planning.law import Facts, Range
from discreet.planning.noise import WORDS_SHARE, multiplier, selection
from discreet.planning.words import TEXTS, Text, different, expected

LEFT = 0.5
"""The share of a text's words that are left without stop words and words of less than three letters: 0.4 in novels, 0.5
in e-mail, 0.6 in abstracts."""

USUAL_USER = 0.7
"""A usual user has about 0.7 times as many words as the mean, for a few write much."""

COVERED, HARDLY_COVERED = 0.2, 0.15
"""Selected words that cover a fifth of the text make useful topics; less than 15% makes useless ones."""

NORM = 1.7
"""The squared norm of a unit's word counts, over its tokens."""

LATE = 0.467
"""The share of the precision of all rounds that the last third has, of which the topics are made."""

WORDS_PER_TOPIC = 5
"""A topic needs so many words of the vocabulary."""

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TOPICS = (FEWEST_TOPICS, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200)
SHARES = (0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
ENOUGH = 0.98
"""The smallest share is chosen that gains so much of what the best one gains."""

Public = Literal["near", "far"]


@dataclass(frozen=True, kw_only=True)
class Known:
    """The public facts that a plan is made from."""

    n_units: int
    users: bool
    words_per_unit: float
    """Of running text, as a word processor counts them."""
    epsilon: float
    delta: float
    n_topics: int
    n_words: int | None
    """Size of a public word list; None where words are selected privately."""
    share: float | None = None
    """Share of the budget for the selection; None: chosen."""
    public: Public | None = None
    """Whether there is public text, of the same field or of another."""
    texts: tuple[Text, Text, Text] = TEXTS
    """Word frequencies: broad, usual, narrow."""

    @property
    def tokens(self) -> float:
        """Words of a usual unit that are no stop words."""
        return LEFT * self.words_per_unit * (USUAL_USER if self.users else 1.0)

    @property
    def unit(self) -> str:
        return "users" if self.users else "documents"


@dataclass(frozen=True)
class Outcome:
    """What one ε buys."""

    epsilon: float
    n_topics: int
    share: float
    """Of the budget, for words; 0 with a public list."""
    n_words: Range
    covered: Range
    """The share of the text that is among the words."""
    noise: float
    """The deviation of the noise in a cell of word × topic, over what an average cell holds."""
    kept: Range
    """Of what plain LDA learns beyond word frequencies."""
    ratio: Range
    """Perplexity over plain LDA's with the same words."""
    over_frequencies: float
    """Perplexity over that of word frequencies alone."""

    @property
    def enough_words(self) -> bool:
        """Whether there are words enough for two topics. If not, nothing else can be said of topics."""
        return self.n_topics > 1 and self.n_words.expected >= 2 * WORDS_PER_TOPIC

    @property
    def worth(self) -> float:
        """Nats per token of the whole text that topics are expected to gain over word frequencies."""
        return self.covered.expected * -math.log(self.over_frequencies)

    @property
    def verdict(self) -> str:
        """*useful*, *uncertain* or *nothing*: useful if even the worse end of the range is not useless, nothing if even
        the better end is useless."""
        if self.n_topics == 1 or self.kept.high < law.USELESS or self._selected.high < HARDLY_COVERED:
            return "nothing"
        return "uncertain" if self.doubt else "useful"

    @property
    def _selected(self) -> Range:
        """The share of the text that private selection leaves; a public list is taken as it is."""
        return self.covered if self.share else Range(1.0, 1.0, 1.0)

    @property
    def likely(self) -> bool:
        """Whether useful topics are more likely than not."""
        return self.kept.expected >= law.USEFUL and self._selected.expected >= COVERED

    @property
    def doubt(self) -> str:
        """Why topics may be useless, the worst reason first; empty if they are useful."""
        covered, kept = self._selected, self.kept
        if not self.enough_words:
            n_words = round(self.n_words.expected)
            few = f"{counted(n_words, 'word')} cannot carry two topics"
            return few if n_words else "no word is expected to pass the private selection"
        if covered.expected < COVERED:
            return f"the words cover only {covered.expected:.0%} of the text"
        if kept.expected < law.USEFUL:
            left = f"only {kept.expected:.0%}" if kept.expected >= 0.005 else "nothing"
            return f"the noise leaves {left} of what plain LDA learns"
        if covered.low < HARDLY_COVERED:
            return f"the words may cover as little as {covered.low:.0%} of the text"
        if kept.low < law.USELESS:
            return f"the noise may leave as little as {kept.low:.0%} of what plain LDA learns"
        return ""


def outcome(known: Known) -> Outcome:
    """The forecast for these facts."""
    if known.n_words is None and known.share is None:
        found = [_outcome(replace(known, share=share)) for share in SHARES]
        best = max(one.worth for one in found)
        if best <= 0:
            return _outcome(replace(known, share=WORDS_SHARE))
        return next(one for one in found if one.worth >= ENOUGH * best)
    return _outcome(known)


@lru_cache(maxsize=4096)
def _outcome(known: Known) -> Outcome:
    share = 0.0 if known.n_words is not None else known.share or WORDS_SHARE
    parts = [_words(known, text, share) for text in known.texts]
    high = max(parts, key=lambda part: part[1])
    found = [_facts(known, n_words, covered, share) for n_words, covered in parts]
    usual = found[1]
    kept = law.kept(usual)
    if not _enough(parts[1][0], known):
        most = found[parts.index(high)]
        kept = Range(0.0, 0.0, law.kept(most).high if _enough(high[0], known) else 0.0)
    gain = law.lda_gain(usual)
    ratio = law.ratio(kept, gain)
    noise = multiplier(known.epsilon, known.delta, share=share) / math.sqrt(LATE)  # over the clip
    cell = math.sqrt(usual.tokens / NORM) * known.n_units / (usual.n_words * usual.n_topics)  # over the clip
    return Outcome(
        epsilon=known.epsilon,
        n_topics=int(usual.n_topics),
        share=share,
        n_words=Range(parts[1][0], min(part[0] for part in parts), max(part[0] for part in parts)),
        covered=Range(parts[1][1], min(part[1] for part in parts), high[1]),
        noise=noise / max(cell, 1e-9),
        kept=kept,
        ratio=ratio,
        over_frequencies=math.exp(-kept.expected * gain.expected),
    )


def _words(known: Known, text: Text, share: float) -> tuple[float, float]:
    if known.n_words is not None:
        return float(known.n_words), text.covered(known.n_words)
    found = expected(text, known.n_units, known.tokens, known.epsilon, known.delta, share)
    return float(found.n_words), found.covered


def law_facts(known: Known) -> Facts:
    """What the law reads, for the usual text."""
    found = outcome(known)
    return _facts(known, found.n_words.expected, found.covered.expected, found.share)


def _enough(n_words: float, known: Known) -> bool:
    """Whether there are words enough for two topics."""
    return n_words >= 2 * WORDS_PER_TOPIC or known.n_topics == 1


def _facts(known: Known, n_words: float, covered: float, share: float) -> Facts:
    n_words = max(n_words, 1.0)
    return Facts(
        n_units=known.n_units,
        n_words=n_words,
        n_topics=min(known.n_topics, max(n_words // WORDS_PER_TOPIC, 2)) if known.n_topics > 1 else 1,
        epsilon=known.epsilon,
        delta=known.delta,
        tokens=known.tokens * max(covered, 1e-3),
        spent=share,
    )


# --- what to ask for --------------------------------------------------------------------------------------------------


def best_topics(known: Known) -> int:
    """The number of topics with which the text gains most over word frequencies; 1 if the noise carries none."""
    share = outcome(known).share or None
    found = [outcome(replace(known, n_topics=k, share=share)) for k in TOPICS]
    best = max(found, key=lambda one: (round(one.worth, 5), -one.n_topics))
    return best.n_topics if best.worth > 0 else 1


def best_share(known: Known) -> float:
    """The share of the budget for words with which the text gains most."""
    return outcome(replace(known, n_words=None, share=None)).share


def epsilon_needed(known: Known) -> float | None:
    """About the smallest ε with which the verdict is *useful*; None if that is above `LARGEST_EPSILON`."""

    def useful(epsilon: float) -> bool:
        return outcome(replace(known, epsilon=epsilon)).verdict == "useful"

    return _smallest(useful, EPSILONS[0] / 2, LARGEST_EPSILON, sensible)


def units_needed(known: Known) -> int | None:
    """About the smallest number of units with which the verdict is *useful*; None above a thousand million."""

    def useful(n_units: float) -> bool:
        return outcome(replace(known, n_units=round(n_units))).verdict == "useful"

    found = _smallest(useful, 10.0, 1e9, rounded)
    return None if found is None else round(found)


def _smallest(useful: Callable[[float], bool], low: float, high: float, up: Callable[[float], float]) -> float | None:
    """By halving, on a logarithmic scale; rounded up, and farther up if the rounded value falls short."""
    top = high
    if not useful(high):
        return None
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if useful(middle) else (middle, high)
    found = up(high)
    while found < top and not useful(found):
        found = up(found * 1.02)
    return found if found <= top and useful(found) else None


def units_for_a_word(known: Known, share: float) -> int | None:
    """How many units must share a word for it to be selected, if they are as long as usual; None if the noise is so
    large that none is."""
    plan, n_different = selection(known.epsilon, known.delta, share), max(1, round(different(known.tokens)))
    if plan.norm < math.sqrt(plan.event.max_words):
        return None
    return plan.units_for_a_word(n_different)


# --- checks -----------------------------------------------------------------------------------------------------------


def known(
    *,
    documents: int | None = None,
    users: int | None = None,
    words_per_document: float,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    topics: int = 20,
    words: int | None = None,
    share: float | None = None,
    public: str | None = None,
    texts: Iterable[Text] = TEXTS,
) -> Known:
    """The facts, checked."""
    for name, value, low, high in (
        ("documents", documents, 1, 10**12),
        ("users", users, 1, 10**12),
        ("topics", topics, 1, 10_000),
        ("words", words, 2, 10**7),
    ):
        if value is not None and not (type(value) is int and low <= value <= high):
            raise InputError(f"{name} must be a whole number from {low:,} to {high:,}; found {value!r}. Change it.")
    for name, number, top in (("words_per_document", words_per_document, 1e7), ("epsilon", epsilon, 1e3)):
        if not (isinstance(number, int | float) and 0 < number <= top):
            raise InputError(f"{name} must be a number above 0 and at most {top:g}; found {number!r}. Change it.")
    if not (isinstance(delta, float) and 0 < delta < 1):
        raise InputError(f"delta must lie between 0 and 1; found {delta!r}. Leave it out for 1e-6.")
    if share is not None and not 0 < share < 1:
        raise InputError(f"share must lie between 0 and 1; found {share!r}. Leave it out and it is chosen.")
    if share is not None and words is not None:
        raise InputError("a public word list costs nothing, so it takes no share of the budget. Leave one out.")
    if public not in (None, "near", "far"):
        raise InputError(f"public must be 'near' or 'far'; found {public!r}. Near is text of the same field.")
    if documents is None:
        raise InputError("a plan needs the number of documents. Give documents.")
    if users is not None and users > documents:
        raise InputError(f"{users:,} users cannot have written {documents:,} documents. Change one of the numbers.")
    units = documents if users is None else users
    if delta >= 1 / units:
        raise InputError(
            f"delta={delta:g} is not below {1 / units:g}, one over the number of units: it would permit publishing one "
            "unit outright. Choose a much smaller delta."
        )
    return Known(
        n_units=units,
        users=users is not None,
        words_per_unit=float(words_per_document) * documents / units,
        epsilon=float(epsilon),
        delta=delta,
        n_topics=topics,
        n_words=words,
        share=share,
        public=public,  # type: ignore[arg-type]
        texts=tuple(texts),  # type: ignore[arg-type]
    )

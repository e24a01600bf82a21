"""Which private method for this corpus, if there is public text: adapted topics, private topics with help, or without.

All gains are in nats per token over word frequencies, like those of the law. With few units only word frequencies can
be released well, so the topics must be public ones (``AdaptedLDA``); with many, private topics know more, unless the
public text is of the same field: its 400 topics are then as good as 20 of plain LDA on the documents themselves.

The constants of adapted topics were fitted to 30 runs on two pairs, 400 public topics, δ = 1e-6, one run a cell, at 300
to 30,000 documents and ε of 0.25, 1 and 4: abstracts of arXiv with NeurIPS and CVPR as public text (near; 2,000 words)
and e-mail with newsgroups (far; 3,000 words). The error has rms 0.005 and is at most 0.017. Perplexities at ε = 1,
near: 943 (N = 300), 878 (1,000), 838 (3,000), 814 (10,000), 809 (30,000), word frequencies 1240, public topics as they
are 990; far: 1183, 1020, 909, 845, 839 (13,000), word frequencies 1095, public topics 1277. Since then AdaptedLDA
releases words in topics too: 827 at 10,000 far.

Short documents were measured on one pair: titles of arXiv (5.5 tokens) with NeurIPS and CVPR as public text, 2,000
words, ε = 1: 1015 (N = 10,000) and 973 (100,000), word frequencies 1038 and 1024, public topics as they are 1612.
PrivateLDA with public text 1045 and 837: by the law 1038 and 812.

That of private topics with public text is a shift of log x: abstracts with NeurIPS and CVPR, 50 topics: 945 → 863 at
117,000 and ε = 0.5 (0.31), 819 → 809 at ε = 1 (0.09), 840 → 812 at 30,000 and ε = 4 (0.33).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.planning import law
from discreet.planning.law import Facts
from discreet.planning.noise import multiplier

if TYPE_CHECKING:
    from discreet.planning.plan import Public

Method = Literal["private", "adapted", "public"]


@dataclass(frozen=True)
class Curve:
    """Gain of adapted topics: ``none`` + (``most`` − ``none``) · y^p / (y^p + half^p) at y = N / m · √(tokens / 64)."""

    none: float
    """Gain of the public topics as they are."""
    most: float
    half: float

    def at(self, facts: Facts) -> float:
        y = facts.n_units / multiplier(facts.epsilon, facts.delta) * math.sqrt(facts.tokens / law.TOKENS)
        none, most = self.alone(facts), self.most - SHORT_MOST * _shorter(facts)
        return float(none + (most - none) * y**POWER / (y**POWER + self.half**POWER))

    def alone(self, facts: Facts) -> float:
        """``none`` for documents of that length."""
        return self.none - SHORT_NONE * _shorter(facts)


def _shorter(facts: Facts) -> float:
    """By how much documents are shorter than usual ones, on a logarithmic scale; 0 for longer ones."""
    return max(math.log(law.TOKENS / max(facts.tokens, 1.0)), 0.0)


POWER = 1.13
ADAPTED: dict[Public, Curve] = {"near": Curve(0.225, 0.430, 192.0), "far": Curve(-0.154, 0.292, 238.0)}
SHORT_NONE, SHORT_MOST = 0.27, 0.153
"""What `none` and `most` lose with documents that are shorter by a factor of e: a few words hardly say which of so many
topics they are of."""

HELP: dict[Public, float] = {"near": 0.3, "far": 0.0}
"""The shift of log x by public text."""


@dataclass(frozen=True)
class Way:
    """One way to topics, and what it is expected to keep of what plain LDA learns with the same documents."""

    method: Method
    name: str
    gain: float
    """In nats per token, over word frequencies; not below 0."""
    kept: float
    ratio: float
    """Perplexity over plain LDA's."""


def ways(facts: Facts, public: Public | None) -> tuple[Way, ...]:
    """What is known of each way, the best first."""
    plain = law.lda_gain(facts).expected
    gains: list[tuple[Method, str, float]] = [("private", "PrivateLDA", law.kept(facts).expected * plain)]
    if public is not None:
        helped = law.at(law.strength(facts) + HELP[public]) * plain
        adapted = ADAPTED[public]
        gains = [
            ("private", "PrivateLDA with public text", max(helped, gains[0][2])),
            *gains,
            ("adapted", "AdaptedLDA", adapted.at(facts)),
            ("public", "public topics only, ε = 0", adapted.alone(facts)),
        ]
    found = (
        Way(method, name, max(gain, 0.0), min(max(gain, 0.0) / plain, 1.0), math.exp(plain - max(gain, 0.0)))
        for method, name, gain in gains
    )
    return tuple(sorted(found, key=lambda way: -way.gain))


@dataclass(frozen=True)
class Choice:
    """A method for a fit with public text, and why."""

    method: Literal["private", "adapted"]
    reason: str


def choose(facts: Facts | None, public: Public = "far") -> Choice:
    """Adapted or private topics. ``facts`` is None if the number of units is not public.

    Whether the public text is near, of the same field, its owner may know; *far* is the cautious guess.
    """
    if facts is None:
        return Choice(
            "adapted",
            "the number of units is not given, and adapted topics are good for few units and for many. Give n_units, "
            "or name the method",
        )
    found = {way.name: way for way in reversed(ways(facts, public))}
    private, adapted = found["PrivateLDA with public text"], found["AdaptedLDA"]
    if not max(private.gain, adapted.gain) > 0:
        nothing = (
            "neither adapted public topics nor private ones are expected to say more than the frequencies of words"
        )
        return Choice("adapted", nothing)
    kept = f"(about {adapted.kept:.0%} and {private.kept:.0%} of what plain LDA learns)"
    if adapted.gain >= private.gain:
        return Choice("adapted", f"adapted public topics are expected to keep more than private ones {kept}")
    return Choice("private", f"private topics are expected to keep more than adapted public ones {kept}")

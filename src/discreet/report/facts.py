"""The numbers of a report, computed from a Release alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet._types import BoolArray, FloatArray, IntArray
from discreet.evaluation.similarity import Plane, classical_scaling, hellinger
from discreet.release.release import Release
from discreet.release.usefulness import CLEAR

STOPS = tuple(round(0.1 * step, 1) for step in range(11))
"""Where the relevance slider stops: λ of Sievert and Shirley (2014)."""

PLACES = 5
"""Topics that the look-up shows for a word, at most."""

LEAST_PLACE = 100
"""A topic that has fewer ten-thousandths of a word is not shown for it."""


@dataclass(frozen=True)
class Facts:
    """What the sections of a report share."""

    release: Release
    names: dict[int, str]
    n_best: int
    """Words shown of each topic, at most."""

    @property
    def n_topics(self) -> int:
        return self.release.n_topics

    @cached_property
    def weights(self) -> FloatArray:
        """Shares that sum to 1; equal ones if the model does not estimate them."""
        shares = self.release.topic_shares
        if shares is None or not shares.sum() > 0:
            return np.full(self.n_topics, 1 / self.n_topics)
        found: FloatArray = shares / shares.sum()
        return found

    @cached_property
    def usual(self) -> FloatArray:
        """How frequent each word is in all topics together."""
        found: FloatArray = self.weights @ self.release.topics
        return found

    @property
    def errors(self) -> FloatArray | None:
        return self.release.standard_errors

    @cached_property
    def clear(self) -> BoolArray:
        """Topic × word: is the probability more than `CLEAR` deviations of the privacy noise? All are, if there is no
        noise, or none that is known."""
        if self.errors is None:
            return np.ones(self.release.topics.shape, np.bool_)
        return np.asarray(self.release.topics > CLEAR * self.errors)

    @cached_property
    def ranked(self) -> IntArray:
        """Topic × word: words by probability, best first; ties in the order of the vocabulary."""
        return np.argsort(-self.release.topics, axis=1, kind="stable")

    @cached_property
    def best(self) -> IntArray:
        return self.ranked[:, : self.n_best]

    def name(self, topic: int) -> str:
        return self.names.get(topic, "")

    def title(self, topic: int) -> str:
        name = self.name(topic)
        return f"Topic {topic}: {name}" if name else f"Topic {topic}"

    @cached_property
    def order(self) -> IntArray:
        """How topics are first shown: by number, or by prevalence where that is the finding."""
        shares = self.release.topic_shares
        if shares is not None and self.release.share_errors is not None:
            return np.argsort(-shares, kind="stable")
        return np.arange(self.n_topics)

    @cached_property
    def distances(self) -> FloatArray:
        return hellinger(self.release.topics)

    @cached_property
    def plane(self) -> Plane:
        return classical_scaling(self.distances)

    def candidates(self, topic: int) -> IntArray:
        """The words that are among the best at one of the stops at least, in the order of probability."""
        p = self.release.topics[topic]
        some = np.flatnonzero(p > 0)
        logs = np.log(p[some])
        lifts = logs - np.log(self.usual[some])
        chosen = np.zeros(len(p), np.bool_)
        for stop in STOPS:
            relevance = stop * logs + (1 - stop) * lifts
            n = min(self.n_best, len(some))
            chosen[some[np.argpartition(-relevance, n - 1)[:n]]] = True
        chosen[self.best[topic]] = True
        ranked = self.ranked[topic]
        found: IntArray = ranked[chosen[ranked]]
        return found

    def scale(self, topic: int) -> float:
        """The end of the axis of a topic's bars: the longest whisker of its best words."""
        best = self.best[topic]
        ends = self.release.topics[topic, best]
        if self.errors is not None:
            ends = np.minimum(ends + CLEAR * self.errors[topic, best], 2 * ends.max(initial=0.0))
        return float(ends.max(initial=0.0)) or 1.0

    def for_script(self) -> dict[str, Any]:
        """What the script needs: candidates for each stop of the slider, and where each word stands."""
        topics, errors = self.release.topics, self.errors
        lists = []
        for k in range(self.n_topics):
            words = self.candidates(k)
            one: dict[str, Any] = {"w": words.tolist(), "p": _shortened(topics[k, words])}
            if errors is not None:
                one["e"] = _shortened(errors[k, words])
            lists.append(one)
        return {
            "clear": CLEAR,
            "noisy": errors is not None,
            "words": list(self.release.vocabulary),
            "usual": _shortened(self.usual),
            "weights": _shortened(self.weights),
            "topics": lists,
            "scales": [self.scale(k) for k in range(self.n_topics)],
            "names": [self.name(k) for k in range(self.n_topics)],
            "places": self._places(),
        }

    def _places(self) -> list[list[int]]:
        """For each word: topic, ten-thousandths of the word's uses, rank in the topic (negative if it cannot be told
        from noise there); topic, … The topics with most of its uses come first."""
        topics = self.release.topics
        ranks = np.empty(topics.shape, np.int64)
        np.put_along_axis(ranks, self.ranked, np.arange(1, topics.shape[1] + 1)[None, :], axis=1)
        ranks[~self.clear] *= -1
        uses = self.weights[:, None] * topics / np.maximum(self.usual, np.finfo(float).tiny)
        first = np.argsort(-uses, axis=0, kind="stable")[:PLACES]
        parts = np.rint(10_000 * np.take_along_axis(uses, first, axis=0)).astype(int)
        kept = np.take_along_axis(ranks, first, axis=0)
        return [
            [number for k, part, rank in zip(*row, strict=True) if part >= LEAST_PLACE for number in (k, part, rank)]
            for row in zip(first.T.tolist(), parts.T.tolist(), kept.T.tolist(), strict=True)
        ]


def _shortened(values: FloatArray) -> list[float]:
    return [short(value) for value in values]


def short(value: float) -> float:
    """Four digits: what the script has, so that it draws what stands in the file. Whole numbers are shorter in JSON."""
    found = float(f"{value:.4g}")
    return int(found) if found == int(found) else found

"""What the tests on neighbours share: runs that are recorded, people who come and go, and what no proof allows.

A run is recorded by putting :func:`recorded` in the place of ``Releases.release`` and watching the engine. The second
run of a pair has the key of the first and is given what the first released, so both see one history; whatever else then
differs, besides the exact sums, is a function of the data that no noise has covered.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.mechanisms.release import Releases

N_WORDS, N_TOPICS, N_ROUNDS = 30, 3, 10
SHORT: dict[str, Any] = {"n_rounds": N_ROUNDS, "epsilon": 2.0, "clip": 4.0, "n_threads": 1, "random_state": 5}
"""Parameters of a short fit by rounds."""

levels = pytest.mark.parametrize("level", ["document", "user"])


@dataclass
class Run:
    """What one fit did. ``exact``, ``coins`` and ``thresholds`` are private; all the rest must be a function of
    ``noisy`` and of public constants."""

    exact: list[np.ndarray] = field(default_factory=list)
    noisy: list[np.ndarray] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    coins: list[np.ndarray] = field(default_factory=list)
    thresholds: list[np.ndarray] = field(default_factory=list)
    inputs: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    """What the engine was given in each step."""
    warnings: list[str] = field(default_factory=list)
    charged: list[Any] = field(default_factory=list)
    model: Any = None

    def train(self, model: Any, corpus: Corpus, **options: Any) -> None:
        """Fit, with warnings on record."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.model = model.fit(corpus, **options)
        self.warnings = [str(warning.message) for warning in caught]
        self.charged = list(self.model.ledger_.entries)

    @property
    def charged_for(self) -> int:
        """Releases."""
        return sum(entry.count for entry in self.charged)


def recorded(run: Run, answers: list[np.ndarray] | None) -> Any:
    """A patch of ``Releases.release``: into ``run`` go exact cells, numbers, events and noisy cells; ``answers`` take
    the place of what would be released."""
    real = Releases.release

    def release(releases, cells, event):
        run.exact.append(cells.copy())
        run.numbers.append(releases._number + 1)
        run.events.append(event)
        releases._number = len(run.noisy)  # a broken copy may ask for the same number twice: it shall get that far
        noisy = real(releases, cells.copy(), event)
        if answers is not None:
            noisy = answers[len(run.noisy)].copy()
        run.noisy.append(noisy.copy())
        return noisy

    return patch.object(Releases, "release", release)


def opened_anew(training: type, step: str = "round") -> type:
    """A broken copy that opens its releases anew in each step, so that their numbers start again at 1."""

    def broken(self, *arguments):
        self.releases = Releases(self.releases._reservation, self.releases._key)
        return getattr(training, step)(self, *arguments)

    return type("SameNoise", (training,), {step: broken})


class ExactAnswers(Releases):
    """Broken: draws the noise, and returns what the cells were."""

    def release(self, cells, event):
        self.exact = cells.copy()
        super().release(cells, event)
        return self.exact


class KeptCells(Releases):
    """Broken: keeps what the cells were."""

    def release(self, cells, event):
        self.exact = cells.copy()
        return super().release(cells, event)


@contextmanager
def watched(run: Run, engine: type, sums: str) -> Iterator[None]:
    """Write down the coins of an engine by rounds, and what its method ``sums`` is given."""
    real_coins, real_sums = engine.coins, getattr(engine, sums)

    def coins(self, number, threshold):
        run.thresholds.append(np.broadcast_to(np.asarray(threshold, np.int64), self.n_units).copy())
        run.coins.append(real_coins(self, number, threshold))
        return run.coins[-1]

    def watched_sums(self, given, **public):
        options = [given.local_sweeps, *(value for _, value in sorted(public.items()))]
        run.inputs.append((np.array(given.number), given.weights.copy(), given.alpha.copy(), *map(np.copy, options)))
        return real_sums(self, given, **public)

    with patch.object(engine, "coins", coins), patch.object(engine, sums, watched_sums):
        yield


# --- what no proof allows ---------------------------------------------------------------------------------------------


def faults_of_flow(d: Run, d1: Run) -> set[str]:
    """In what was done, apart from the exact sums."""
    found = set()
    if len(set(d.numbers)) < len(d.numbers):
        found.add("noise used twice")
    if (d.numbers, d.events, d.charged, d.warnings) != (d1.numbers, d1.events, d1.charged, d1.warnings):
        found.add("control flow")
    steps = zip(d.inputs, d1.inputs, strict=False)  # other numbers of steps are another control flow
    if any(not np.array_equal(a, b) for x, y in steps for a, b in zip(x, y, strict=True)):
        found.add("a step reads private data")
    released = ("components_", "topic_shares_", "standard_errors_", "alpha_", "collection_components_", "switch_")
    names = [name for name in (*released, "collection_shares_") if hasattr(d.model, name)]
    same = [np.array_equal(getattr(d.model, name), getattr(d1.model, name)) for name in names]
    same.append(getattr(d.model, "usefulness_", None) == getattr(d1.model, "usefulness_", None))
    if not all(same) or d.model.history_ != d1.model.history_:
        found.add("the model reads private data")
    return found


def is_too_long(event: Any, difference: np.ndarray) -> bool:
    """Longer than was charged, in whole numbers."""
    return sum(int(x) ** 2 for x in difference.ravel()) > math.floor(event.sensitivity**2)


def faults_of_rounds(d: Run, d1: Run, *, unit: int, words: set[int], before: int = 0, first: int = 0) -> set[str]:
    """In a fit by rounds. ``unit`` and ``words``: whose data D has and D′ has not. ``before``: releases ahead of the
    rounds; ``first``: the first to be looked at."""
    found = faults_of_flow(d, d1)
    for i, (event, a, b) in enumerate(zip(d.events, d.exact, d1.exact, strict=False)):
        if i < first or a.shape != b.shape:
            continue
        difference = a - b
        if is_too_long(event, difference):
            found.add("sensitivity")
        if i >= before:
            if not d.coins[i - before][unit] and difference.any():
                found.add("a unit that was not included")
            if not {int(cell) // N_TOPICS for cell in np.flatnonzero(difference)} <= words:
                found.add("other units")
    return found


def used(d: Run, d1: Run) -> list[float]:
    """How long the difference of each release is, as a share of what was charged."""
    runs = zip(d.events, d.exact, d1.exact, strict=True)
    return [float(np.linalg.norm(a - b)) / event.sensitivity for event, a, b in runs]


# --- who comes and goes -----------------------------------------------------------------------------------------------


def people(level: str) -> tuple[Corpus, Corpus, int, set[int]]:
    """D, D′ without its last unit, that unit's number and its words. The unit is large: it must be clipped."""
    corpus = lda_corpus(24, N_WORDS, N_TOPICS, mean_length=15, seed=3).corpus
    large = [*([7] * 150), *range(20), *([11] * 60)]
    texts = [corpus.words[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]
    parts = [np.array(large[i::4] if level == "user" else large, np.int32) for i in range(4 if level == "user" else 1)]
    users = [f"user{i // 3}" for i in range(24)]
    if level == "user":  # zoe's four documents stand before the last two of others, who have been met by then
        texts[22:22], users[22:22] = parts, ["zoe"] * 4
    else:
        texts, users = [*texts, *parts], [*users, "zoe"]
    offsets = np.cumsum([0, *map(len, texts)])
    groups = np.array(users) if level == "user" else None
    d = Corpus(np.concatenate(texts), offsets, Vocabulary(corpus.vocabulary, "public"), groups)
    return d, d[np.flatnonzero(np.array(users) != "zoe")], 8 if level == "user" else 24, set(large)

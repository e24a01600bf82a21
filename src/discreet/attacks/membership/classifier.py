"""The shadow-model attack on a classifier whose features are topic proportions (Zhao 2021, Figure 7).

Topics are trained on some documents; a logistic regression learns their labels from their topic proportions, and
answers with a probability for each label. The attack of Shokri et al. [1]_ learns what such answers look like for
members and for others from shadows, which it trains itself on documents of the same kind; then it decides about the
target's documents.

Differences from [1]_, which Zhao 2021 cites without further details: the attack model is a logistic regression for each
label on the log-odds of the true label and its square, not a neural network.

.. [1] Shokri, Stronati, Song and Shmatikov, "Membership Inference Attacks Against Machine Learning Models", S&P 2017.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, BoolArray, FloatArray, IntArray
from discreet.corpus import Corpus

Trainer = Callable[[Corpus, int], Any]
"""Documents and a seed → a fitted model with ``transform``."""


class Classified(NamedTuple):
    """How well the attack and its target do."""

    attack: float
    """Share of right answers about membership; half of the documents asked about are members."""
    accuracy: float
    """Of the target's labels, on documents that it was not trained on."""
    f1: float
    """The same as the mean of both labels' F1 scores."""


class Answers(NamedTuple):
    """What a classifier of this kind answers about documents."""

    odds: FloatArray
    """Log-odds of the true label."""
    labels: IntArray
    predicted: IntArray


def attack_classifier(
    train: Trainer, documents: Corpus, labels: AnyArray, *, n_shadows: int = 4, seed: int = 0
) -> Classified:
    """Half of the documents are the target's world (a half of it is trained on), the other half the attacker's.

    ``labels`` are 0 or 1. Each shadow is trained on a random half of the attacker's documents.
    """
    labels = np.asarray(labels)
    if set(np.unique(labels).tolist()) != {0, 1}:
        raise InputError(f"labels must be 0 and 1, both present; found {np.unique(labels)[:5].tolist()}.")
    rng = np.random.default_rng(seed)
    theirs, mine = _halves(labels, rng)
    trained, held_out = (theirs[part] for part in _halves(labels[theirs], rng))
    target = _Classifier(train, documents, labels, trained, seed)
    odds, about, members = [], [], []
    for number in range(1, n_shadows + 1):
        inside, outside = (mine[part] for part in _halves(labels[mine], rng))
        shadow = _Classifier(train, documents, labels, inside, seed + 1000 * number)
        for part, member in ((inside, True), (outside, False)):
            answers = shadow.answers(part)
            odds.append(answers.odds)
            about.append(answers.labels)
            members.append(np.full(len(part), member))
    decide = _decisions(np.concatenate(odds), np.concatenate(about), np.concatenate(members))
    inside_, outside_ = target.answers(trained), target.answers(held_out)
    right = decide(inside_).mean() + (~decide(outside_)).mean()
    from sklearn.metrics import accuracy_score, f1_score

    return Classified(
        float(right / 2),
        float(accuracy_score(outside_.labels, outside_.predicted)),
        float(f1_score(outside_.labels, outside_.predicted, average="macro")),
    )


class _Classifier:
    """Topics, and a logistic regression on topic proportions."""

    def __init__(self, train: Trainer, documents: Corpus, labels: IntArray, members: IntArray, seed: int) -> None:
        self.documents, self.labels = documents, labels
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # topics that are not useful are a result here
            self.model = train(documents[members], seed)
        self.regression = _regression().fit(self._features(members), labels[members])

    def answers(self, which: IntArray) -> Answers:
        odds = self.regression.decision_function(self._features(which))
        labels = self.labels[which]
        return Answers(np.where(labels == 1, odds, -odds), labels, (odds > 0).astype(np.int64))

    def _features(self, which: IntArray) -> FloatArray:
        return np.asarray(self.model.transform(self.documents[which]))


def _decisions(odds: FloatArray, labels: IntArray, members: BoolArray) -> Callable[[Answers], BoolArray]:
    """The attack model of each label: from answers to whether the documents are members."""
    models = {
        int(label): _regression().fit(_inputs(odds[labels == label]), members[labels == label]) for label in (0, 1)
    }

    def decide(answers: Answers) -> BoolArray:
        found = np.zeros(len(answers.odds), bool)
        for label, model in models.items():
            where = answers.labels == label
            if where.any():
                found[where] = model.predict(_inputs(answers.odds[where]))
        return found

    return decide


def _inputs(odds: FloatArray) -> FloatArray:
    return np.stack([odds, odds**2], axis=1)


def _regression() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _halves(labels: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Two halves with as many documents of each label."""
    parts: tuple[list[IntArray], list[IntArray]] = ([], [])
    for label in (0, 1):
        order = rng.permutation(np.flatnonzero(labels == label))
        half = len(order) // 2
        parts[0].append(order[:half])
        parts[1].append(order[half : 2 * half])
    return np.concatenate(parts[0]), np.concatenate(parts[1])

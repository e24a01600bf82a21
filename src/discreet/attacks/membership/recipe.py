"""How a target and its shadows are trained: a class of estimators, by name, and its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.corpus import Corpus

SCIKIT_LEARN = "scikit-learn"
"""The name of scikit-learn's LDA where methods have names: the target of the published attack."""

LEAST = 1e-12
"""The least probability of a word. Clipped noise can leave a word with 0 in all topics, and a likelihood of −∞."""


@dataclass(frozen=True)
class Recipe:
    """A class and its parameters: plain values, because another process trains it and results are stored under it.

    The attacker knows the recipe. Seeds differ from model to model; every fit runs on one thread, since models are
    trained side by side.
    """

    home: str
    """The module of the class."""
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def scikit_learn(cls, n_topics: int, **parameters: Any) -> Recipe:
        """scikit-learn's LDA with its defaults: priors 1/K, ten passes of batch variational inference."""
        found = {"n_components": n_topics, **parameters}
        return cls("sklearn.decomposition", "LatentDirichletAllocation", found)

    @property
    def ours(self) -> bool:
        return self.home.startswith("discreet.")

    def model(self, seed: int) -> Any:
        """An estimator that has not been fitted."""
        kind = getattr(import_module(self.home), self.name)
        threads = {"n_threads": 1} if self.ours else {}
        try:
            return kind(**self.parameters, **threads, random_state=seed)
        except TypeError as error:
            raise InputError(f"{self.name} cannot be made with {dict(self.parameters)}: {error}.") from None

    def fit(self, documents: Corpus, seed: int) -> Any:
        """A fitted estimator. Warnings that its topics are not useful are left out: usefulness is not asked here."""
        from threadpoolctl import threadpool_limits

        model = self.model(seed)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(documents if self.ours else documents.to_counts())

    def to_json(self) -> dict[str, Any]:
        return {"home": self.home, "name": self.name, "parameters": dict(self.parameters)}


def published_topics(model: Any, n_words: int) -> FloatArray:
    """What the attacker has: topic × word, rows that sum to 1, no zero."""
    topics = np.asarray(model.components_, dtype=np.float64)
    if topics.ndim != 2 or topics.shape[1] != n_words:
        raise InputError(
            f"the attack needs topics over the {n_words:,} words; {type(model).__name__} has {topics.shape}. "
            "Attack a method with one vocabulary, without collections."
        )
    topics = np.maximum(topics / topics.sum(axis=1, keepdims=True), LEAST)
    return np.asarray(topics / topics.sum(axis=1, keepdims=True))

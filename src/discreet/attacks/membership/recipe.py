"""How a target and its shadows are trained: a class of estimators, by name, and its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray
from discreet.corpus import Corpus
from discreet.corpus.collections import collection_labels, collection_numbers

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

    @property
    def kind(self) -> Any:
        """The class."""
        return getattr(import_module(self.home), self.name)

    @property
    def compares_collections(self) -> bool:
        """Whether a model has a table of topics for each collection."""
        if not self.ours:
            return False
        from discreet.models.cross.comparing import ComparesCollections

        return issubclass(self.kind, ComparesCollections)

    def model(self, seed: int) -> Any:
        """An estimator that has not been fitted."""
        kind = self.kind
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


class Published(NamedTuple):
    """What the attacker reads documents with."""

    topics: FloatArray
    """Table × topic × word; rows sum to 1, no zero. One table, or one for each collection: A = (1 − ψ)·φ + ψ·σ."""
    of_document: IntArray
    """The table of each document: that of its own collection, which the attacker knows."""


def published_topics(model: Any, documents: Corpus) -> Published:
    """What a model publishes that bears on the likelihood of these documents."""
    topics = np.asarray(model.components_, dtype=np.float64)
    if topics.ndim != 2 or topics.shape[1] != documents.n_words:
        raise InputError(
            f"the attack needs topics over the {documents.n_words:,} words; {type(model).__name__} has {topics.shape}. "
            "Attack a method that trains on all words of the documents."
        )
    own = getattr(model, "collection_components_", None)
    if own is None:
        return Published(_probabilities(topics[None]), np.zeros(documents.n_documents, np.int64))
    chance = model.switch_.T[:, :, None]
    numbers = collection_numbers(collection_labels(documents), model.collections_.tolist())
    return Published(_probabilities((1.0 - chance) * topics + chance * own), numbers)


def _probabilities(tables: FloatArray) -> FloatArray:
    tables = np.maximum(tables / tables.sum(axis=-1, keepdims=True), LEAST)
    return np.asarray(tables / tables.sum(axis=-1, keepdims=True))

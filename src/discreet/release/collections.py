"""Apply a cross-collection model to documents: each document is read with the topics of its own collection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.corpus.collections import collection_labels, collection_numbers, product_corpus
from discreet.corpus.corpus import Corpus

if TYPE_CHECKING:
    from discreet.evaluation import Completion


class MixedTopics(NamedTuple):
    """A = (1 − ψ)·φ + ψ·σ of each collection."""

    labels: Sequence[str | int]
    topics: FloatArray
    """Topic × (collection · n_words + word). A row sums to 1 in each collection."""
    alpha: FloatArray
    alpha_rest: float | None = None

    @classmethod
    def of(
        cls,
        labels: Sequence[str | int],
        alpha: FloatArray,
        common: FloatArray,
        own: FloatArray,
        switch: FloatArray,
        *,
        alpha_rest: float | None = None,
    ) -> MixedTopics:
        """From φ, topic × word; σ, collection × topic × word; and ψ, topic × collection."""
        chance = switch.T[:, :, None]
        mixed = (1.0 - chance) * common + chance * own
        return cls(labels, np.ascontiguousarray(mixed.transpose(1, 0, 2)).reshape(len(common), -1), alpha, alpha_rest)

    def mixtures(self, corpus: Corpus, collections: Any, n_threads: int | None) -> FloatArray:
        """Topic proportions of each document."""
        from discreet.engines.threads.documents import mixtures

        product = self._product(corpus, collections)
        return mixtures(self.topics, self.alpha, product, n_threads, alpha_rest=self.alpha_rest)

    def completion(self, corpus: Corpus, collections: Any, n_threads: int | None) -> Completion:
        """Document completion."""
        from discreet.evaluation import completion

        n, product = len(self.labels), self._product(corpus, collections)
        # completion needs rows that sum to 1; one factor for all words does not change the proportions
        prior: dict[str, Any] = {"alpha": self.alpha, "alpha_rest": self.alpha_rest}
        found = completion(self.topics / n, product, **prior, n_threads=n_threads)
        scored = corpus.lengths - corpus.lengths // 2
        return replace(
            found,
            perplexity=found.perplexity / n,
            log_likelihood=found.log_likelihood + found.n_tokens * math.log(n),
            per_document=found.per_document + scored * math.log(n),
        )

    def fold_in_perplexity(self, corpus: Corpus, collections: Any, n_threads: int | None) -> float:
        """The papers' perplexity."""
        from discreet.evaluation import fold_in_perplexity

        n, product = len(self.labels), self._product(corpus, collections)
        prior: dict[str, Any] = {"alpha": self.alpha, "alpha_rest": self.alpha_rest}
        return fold_in_perplexity(self.topics / n, product, **prior, n_threads=n_threads) / n

    def chances(self, corpus: Corpus, prior: Any, n_threads: int | None) -> FloatArray:
        """P(c | words) ∝ P(c) · p(words | c), document × collection."""
        from discreet.engines.threads.documents import evidences

        n = len(self.labels)
        try:
            given = np.ones(n) if prior is None else np.asarray(prior, np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (n,) or not ((given >= 0) & np.isfinite(given)).all() or not given.any():
            raise InputError(f"prior must hold a probability for each of {n} collections; found {prior!r}.")
        evidence = evidences(self.topics, self.alpha, corpus, n, alpha_rest=self.alpha_rest, n_threads=n_threads)
        with np.errstate(divide="ignore"):
            logarithms = np.log(given) + evidence
        logarithms -= logarithms.max(axis=1, keepdims=True)
        found: FloatArray = np.exp(logarithms)
        found /= found.sum(axis=1, keepdims=True)
        return found

    def _product(self, corpus: Corpus, collections: Any) -> Corpus:
        numbers = collection_numbers(collection_labels(corpus, collections), self.labels)
        return product_corpus(corpus, numbers, len(self.labels))

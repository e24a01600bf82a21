"""ComparesCollections: how every cross-collection model is used once it is trained."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from discreet._errors import warn_caller
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.collections import collection_labels, labels_given
from discreet.corpus.corpus import Corpus
from discreet.models.base import TopicModel, refuse_weights
from discreet.models.cross.tables import CrossTables
from discreet.release.release import Release


class ComparesCollections(TopicModel):
    """A model of documents that belong to collections: common topics, topics of each collection, and a switch."""

    collections_: AnyArray
    """Labels, sorted."""
    collection_shares_: FloatArray
    """Of the training documents."""
    collection_components_: FloatArray
    """Collection × topic × word; rows sum to 1."""
    switch_: FloatArray
    """Topic × collection: how much of a topic's text in a collection is in the collection's own words."""

    def _read_collections(self, corpus: Corpus, collections: Any, y: Any) -> tuple[AnyArray, IntArray]:
        """The labels, sorted, and the place of each document's label among them."""
        labels, of_document = np.unique(
            collection_labels(corpus, labels_given(corpus, collections, y)), return_inverse=True
        )
        self._warn_of_one_collection(labels, corpus)
        return labels, of_document

    @staticmethod
    def _warn_of_one_collection(labels: AnyArray, corpus: Corpus) -> None:
        """The number of collections is public also where the documents are private."""
        if len(labels) == 1:
            advice = (
                "give the folder whose sub-folders are the collections"
                if corpus.codebook is not None
                else "check that collections= names the right labels"
            )
            warn_caller(f"found only one collection, {labels.tolist()[0]!r}: nothing is compared; {advice}")

    def _keep_collections(self, labels: AnyArray, of_document: IntArray) -> None:
        self.collections_ = labels
        self.collection_shares_ = np.bincount(of_document, minlength=len(labels)) / max(len(of_document), 1)

    def _keep_tables(self, tables: CrossTables) -> None:
        self.components_ = np.ascontiguousarray(tables.common.T)
        self.collection_components_ = np.ascontiguousarray(tables.own.transpose(0, 2, 1))
        self.switch_ = np.ascontiguousarray(tables.switch.T)

    def fit(self, X: Any, y: Any = None, *, collections: Any = None) -> Self:
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, *, collections: Any = None) -> FloatArray:
        """Train on documents, and give the topic proportions of each."""
        return self.fit(X, y, collections=collections)._transform_fitted(X, y, collections)

    def _transform_fitted(self, X: Any, y: Any, collections: Any) -> FloatArray:
        release, corpus = self._released(X)
        given = labels_given(corpus, collections, y)
        return release.transform(corpus, collections=given, n_threads=self.n_threads)

    def transform(self, X: Any, *, collections: Any = None) -> FloatArray:
        """Topic proportions of documents, each under the mixed topics A of its own collection, held fixed (fold-in)."""
        release, corpus = self._released(X)
        return release.transform(corpus, collections=collections, n_threads=self.n_threads)

    def perplexity(self, X: Any, *, collections: Any = None) -> float:
        """Document-completion perplexity (see :func:`discreet.evaluation.completion`), each document under the mixed
        topics of its own collection; lower is better."""
        release, corpus = self._released(X)
        return release.completion(corpus, collections=collections, n_threads=self.n_threads).perplexity

    def fold_in_perplexity(self, X: Any, *, collections: Any = None) -> float:
        """The same as papers report it (see :func:`discreet.evaluation.fold_in_perplexity`): too low, as each document
        is scored on the words that its proportions were fitted to. Not for comparing models."""
        release, corpus = self._released(X)
        return release.fold_in_perplexity(corpus, collections=collections, n_threads=self.n_threads)

    def score(self, X: Any, y: Any = None, sample_weight: None = None, *, collections: Any = None) -> float:
        """Log-likelihood per token by document completion; higher is better. ``y`` is taken for the collections as in
        :meth:`fit`, so that ``GridSearchCV`` and ``cross_val_score`` can be given them as y. ``sample_weight`` must be
        None, as in :meth:`TopicModel.score`."""
        refuse_weights(sample_weight)
        release, corpus = self._released(X)
        given = labels_given(corpus, collections, y)
        found = release.completion(corpus, collections=given, n_threads=self.n_threads)
        return -float(np.log(found.perplexity))

    def predict(self, X: Any, *, prior: Any = None) -> AnyArray:
        """The most probable collection of each document, as :meth:`predict_proba` finds it."""
        release, corpus = self._released(X)
        return release.predict(corpus, prior=prior, n_threads=self.n_threads)

    def predict_proba(self, X: Any, *, prior: Any = None) -> FloatArray:
        """How probable each collection is for each document, by :meth:`~discreet.Release.predict_proba`.

        ``prior`` holds P(c) in the order of ``collections_``, eq. (23) of Luo et al. 2023, for example
        ``collection_shares_``. None: all alike, eq. (24).
        """
        release, corpus = self._released(X)
        return release.predict_proba(corpus, prior=prior, n_threads=self.n_threads)

    def _released(self, X: Any) -> tuple[Release, Corpus]:
        check_is_fitted(self)
        corpus = self._read(X, reset=False)
        return self.release(corpus.vocabulary), corpus

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=True)  # predict_proba has a column for each collection
        return tags

    def _accounts(self) -> dict[str, Any]:
        return {
            **super()._accounts(),
            "collections": self.collections_.tolist(),
            "collection_topics": self.collection_components_,
            "switch": self.switch_,
        }

"""PrivateCrossLDA: topics of several collections, proved to protect each document or each user whole."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Annotated, Any, Self

import numpy as np

from discreet._errors import InputError, warn_caller
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.collections import collection_labels, labels_given, match_labels
from discreet.corpus.corpus import Corpus
from discreet.models.bounds import Topics
from discreet.models.cross.comparing import ComparesCollections
from discreet.models.cross.rounds import CrossRounds, few_units
from discreet.models.cross.units import CollectionUnits
from discreet.models.estimator import estimator
from discreet.models.private.model import PrivateLDA
from discreet.models.private.plan import PrivatePlan
from discreet.privacy.events import Entry
from discreet.training.private_fit import units_in_words

PUBLIC_NAMES = "the list of collections is public"
PUBLIC_SIZES = "the list of collections and their numbers of units are public"
READ_NAMES = "the list of collections is public (it was read from the documents)"
"""Conditions of the guarantee. Which of them a document belongs to is protected like its words."""

WORDS_OF_A_UNIT = 36
"""Different words of a typical unit, for the advice on small collections: about those of an abstract."""


@estimator
class PrivateCrossLDA(PrivateLDA, ComparesCollections):
    """Cross-collection LDA under differential privacy for whole documents, or whole users. Nobody has published it.

    The model is that of :class:`~discreet.CrossLDA`: topics with words that all collections share, φ, and words of its
    own in each collection, σ, and a switch between them, ψ. It is trained as :class:`~discreet.PrivateLDA` is (Theorem
    A of ``docs/guarantees.md``): in each round some units infer the topics of their tokens from what was released, here
    by A[c, w, k] = (1 − ψ)·φ + ψ·σ of each document's collection, and contribute expected counts, clipped, to a sum
    with noise. Word w of collection c is counted as word c·V + w.

    A table for each of C collections has C times the cells of one, and each cell gets noise. Two things keep that from
    hiding the topics:

    * A round releases the tables and, weighted double, their sum over collections. A document counts in one collection,
      so this makes its contribution √5 times as long, and the clip is shortened accordingly; that of a user with
      documents in n collections by √(1 + 4n).
    * Before the rounds the word frequencies of each collection are released. Afterwards each estimate is pulled towards
      a better known one by how large its noise is: the frequency of a word in a collection towards what the common
      topics predict, and its profile over topics towards the common one.

    φ, σ and ψ are then found from the final table by EM, and A agrees with the table: on arXiv abstracts completion
    perplexity is the same to three digits. All of this is post-processing of what was released.

    Small collections profit from large ones this way, and topics stay the same ones in all collections. CrossLDA, which
    sees exact counts, lets them drift apart where that explains more; what this costs is in ``docs/results``.

    Parameters
    ----------
    n_topics, epsilon, delta, alpha, n_units, n_rounds, sampling_rate, local_sweeps, clip, word_power, max_tokens, \
ledger, checkpoint, checkpoint_every, n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.PrivateLDA`.
    word_prior : array (n_topics, n_words), or {topic: {word: weight}}
        Seeds common topics with words, as there.
    collection_names : list of labels, or {label: number of units}, optional
        The collections, which must be known without the documents: that there is a collection says that somebody may be
        in it. By default they are read from the documents, and it is a condition of the guarantee that the list is
        public anyway. Numbers of units are public too; those too small for the noise are then warned of before anything
        is charged.

    Attributes
    ----------
    components_ : array (n_topics, n_words)
        Common topics φ; rows sum to 1.
    collection_components_ : array (n_collections, n_topics, n_words)
        Collection topics σ; rows sum to 1.
    switch_ : array (n_topics, n_collections)
        ψ: how much of a topic's text in a collection is in the collection's own words.
    collections_ : array (n_collections,)
        Labels, sorted.
    collection_shares_ : array (n_collections,)
        How much of the text each collection is, from what was released; long documents count no more than the clip
        lets them.
    alpha_, guarantee_, ledger_, topic_shares_, standard_errors_, usefulness_, history_ :
        As in :class:`~discreet.PrivateLDA`, of the common topics.
    """

    method = "private-cross"
    runs_elsewhere = False

    n_topics: Topics = field(default=10, kw_only=False)  # the plan knows nothing about collections
    collection_names: Annotated[Sequence[str | int] | Mapping[str | int, int], "array-like", dict] | None = None

    def fit(  # type: ignore[override]  # there are no tables of an engine to name the columns of
        self, X: Any, y: Any = None, *, groups: Any = None, collections: Any = None
    ) -> Self:
        """Train on documents.

        ``collections`` holds the label of each, where ``X`` is no Corpus that has them; ``y`` is taken for them if
        neither is given. ``groups`` holds one user id for each, which makes users the unit.
        """
        self._check_parameters()
        corpus = self._read(X, reset=True, max_tokens=self.max_tokens)
        labels = collection_labels(corpus, labels_given(corpus, collections, y))
        self.collections_ = np.unique(labels) if self.collection_names is None else self._names()
        numbers = self._numbers(labels, self.collections_)
        cost = corpus.vocabulary.cost
        if cost is None or not cost.same_run:  # else `_check_documents` has said it, before the words were charged
            self._warn_of_one_collection(self.collections_, corpus)
        named = PUBLIC_SIZES if isinstance(self.collection_names, Mapping) else PUBLIC_NAMES
        condition = READ_NAMES if self.collection_names is None else named
        engine = partial(CollectionUnits, numbers=numbers, n_collections=len(self.collections_))
        facts = {"names": self.collections_.tolist(), "collections": hashlib.sha256(numbers.tobytes()).hexdigest()}
        return self._train(corpus, groups, engine, CrossRounds, condition, **facts)

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, collections: Any = None) -> FloatArray:
        """Train on documents, and give the topic proportions of each: those are for the curator."""
        return self.fit(X, y, groups=groups, collections=collections)._transform_fitted(X, y, collections)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.engine is not None:
            raise InputError("PrivateCrossLDA runs on the threads of this machine only. Leave engine= out.")
        if self.collection_names is not None:
            self._names()

    def _names(self) -> AnyArray:
        """The public labels, sorted and checked."""
        given = [] if self.collection_names is None else list(self.collection_names)
        labels = np.array(given) if given else np.array([], str)
        if not given or labels.dtype.kind not in "Uiu" or len(np.unique(labels)) < len(given):
            raise InputError(
                f"collection_names must name each collection once, by strings or by whole numbers; found {given!r}."
            )
        sizes = self.collection_names.values() if isinstance(self.collection_names, Mapping) else ()
        if not all(isinstance(n, int | np.integer) and n >= 0 for n in sizes):
            raise InputError("collection_names: numbers of units must be whole and not negative.")
        return np.sort(labels)

    def _check_documents(self, corpus: Corpus) -> None:
        super()._check_documents(corpus)
        labels = collection_labels(corpus)
        names = np.unique(labels) if self.collection_names is None else self._names()
        self._numbers(labels, names)
        self._warn_of_one_collection(names, corpus)

    @staticmethod
    def _numbers(labels: AnyArray, names: AnyArray) -> IntArray:
        numbers, other = match_labels(labels, names.tolist())
        if other is not None:  # which label it is may be private: that is why names are given
            raise InputError(
                "a document is of a collection that collection_names does not name. Add it there, if it is public that "
                "there is such a collection, or leave its documents out."
            )
        return numbers

    def _plan(self, n_words: int, vocabulary_entries: tuple[Entry, ...]) -> PrivatePlan:
        n_collections = len(getattr(self, "collections_", (1, 2)))  # before they are known: it hardly matters
        return PrivatePlan.make(self, n_words, vocabulary_entries, n_collections=n_collections)

    def _foresee(self, plan: PrivatePlan) -> None:
        """Warn of collections that are too small, as far as that is public."""
        needed, sizes = self._needed_units(plan), self.collection_names
        if isinstance(sizes, Mapping):
            for label in (label for label, n in sizes.items() if n < needed):
                units = units_in_words(sizes[label], public=True)
                warn_caller(f"the collection {label!r} has {units}, {few_units(needed)}")
        elif self.n_units is not None and self.n_units < needed * len(self.collections_):
            units = units_in_words(self.n_units // len(self.collections_), public=True)
            known = f"the smallest of {len(self.collections_)} collections has at most {units}"
            warn_caller(f"{known}, {few_units(needed)}")

    def _needed_units(self, plan: PrivatePlan) -> float:
        """From so many units on, the count of a word in a collection is larger than its noise, on average over words.

        n units of d different words each, of norm 1, give a word n·√d/V on average.
        """
        event = plan.of_collections
        assert event is not None
        return event.scale / event.sensitivity * self.n_features_in_ / math.sqrt(WORDS_OF_A_UNIT)

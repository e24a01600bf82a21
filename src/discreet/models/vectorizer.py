"""PrivateVectorizer: from texts to word counts, over words that may be published."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from discreet._errors import InputError, WouldLeak
from discreet._random import Key
from discreet._types import AnyArray, BoolArray, IntArray
from discreet.corpus.builder import CorpusBuilder, add_texts
from discreet.corpus.corpus import Corpus
from discreet.corpus.selected import SelectedCounts
from discreet.corpus.stored import StoredCorpus, removed_after
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary, VocabularyCost
from discreet.mechanisms.vocabulary import (
    Selected,
    VocabularyPlan,
    select_by_sums,
    select_words,
    sum_of_units,
    words_of_units,
)
from discreet.models.bounds import AtLeastOne, Delta, Epsilon, RandomState
from discreet.models.estimator import check_parameters, estimator
from discreet.models.notebook import ShowsGuarantee
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import rounded_up
from discreet.privacy.ledger import Budget, Ledger
from discreet.training import self_test
from discreet.training.inputs import checked_ids, units_of
from discreet.training.loop import Bar
from discreet.training.own_ledger import GuaranteeOfFit
from discreet.training.private_fit import PrivateFit

WordsPerUnit = Annotated[int, Interval(Integral, 1, 1_000_000, closed="both")]


@estimator
class PrivateVectorizer(ShowsGuarantee, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Document-term counts over a vocabulary that was selected from the text with differential privacy.

    A unit is one document, or with ``groups=`` all documents of one user: the *model's* unit, if a private model is
    trained on the counts. Only units of the data that were fitted are protected, and only in the list of words: the
    counts themselves are as private as the texts. The mechanism and its proof: ``mechanisms/vocabulary.py``.

    Parameters
    ----------
    epsilon, delta : float
        The budget of the selection.
    max_words_per_unit : int
        At most this many different words of each unit count (Δ₀), chosen at random by bits of its own. The counts are
        not cut.
    rerouting : bool
        Select in ten rounds, in each of which a unit spends its weight on words that were not found yet; or by the
        weighted Gaussian of one round, which finds fewer words.
    max_words : int, optional
        Keep at most this many of the words that were found: the best, by their released weights. It costs nothing.
    n_units : int, optional
        The number of units, if it is public. A selection that cannot find a word with so few units is then refused
        before it is charged.
    share : float
        Spend only this share of the budget (as precision), and leave the rest to the model that is trained afterwards.
    token_pattern, lowercase, stop_words, lemmas :
        As in :class:`~discreet.corpus.Tokenizer`: public, never learnt.
    phrases : int or list, optional
        2 to 5: phrases of up to so many words are selected like words, and take the place of their words where they
        are. A unit has more different words then, under the same ``max_words_per_unit``. Or a public list of phrases.
    tokenizer : Tokenizer or function, optional
        Instead of these. A function takes one text and gives its words; it must be public, like the pattern, and
        use only that text.
    output : "matrix" or "corpus"
        What ``transform`` gives: a sparse matrix of counts, or a :class:`~discreet.Corpus` (``to_corpus`` always gives
        one). Both carry the cost of their words to a private model, and so does a selection of their rows; a corpus
        also keeps the order of words, and keeps the cost if it is restricted to some of them.
    ledger : Ledger, optional
        Charged before the first noise is drawn. By default a new one for this fit.
    random_state :
        For tests. A seeded run promises nothing.
    progress : bool
        Whether to show a bar on standard error.
    engine : SparkEngine, optional
        Where the texts are, if they are a table of Spark. ``fit_transform`` then gives documents that the engine keeps.

    Attributes
    ----------
    vocabulary_ : dict
        Word → column. Columns are in alphabetical order, which does not reveal who used a word first.
    guarantee_, ledger_ :
        What the list of words promises, and what was charged.
    """

    _self_tests = (self_test.gaussian_noise, self_test.word_weights)

    epsilon: Epsilon = field(default=1.0, kw_only=False)
    delta: Delta = field(default=1e-6, kw_only=False)
    max_words_per_unit: Annotated[int, Interval(Integral, 1, 1_000_000, closed="both")] = field(
        default=100, kw_only=False
    )
    rerouting: bool = True
    max_words: AtLeastOne | None = None
    n_units: AtLeastOne | None = None
    share: Annotated[float, Interval(Real, 1e-6, 1, closed="both")] = 1.0
    token_pattern: str | None = None
    lowercase: bool = True
    stop_words: Annotated[Any, str, "array-like", set, frozenset, None] = "auto"
    lemmas: str | None = None
    phrases: Annotated[Any, Integral, "array-like", set, frozenset, str, os.PathLike, None] = None
    tokenizer: Annotated[Any, Tokenizer, callable, None] = None
    output: Literal["matrix", "corpus"] = "matrix"
    ledger: Ledger | None = None
    random_state: RandomState = None
    progress: bool = False
    engine: Annotated[Any, HasMethods(["read", "holds"]), None] = None

    guarantee_ = GuaranteeOfFit()

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, text: str | None = None) -> Self:
        """Select words from texts, or from a corpus that holds all of its words. ``y`` is ignored.

        A document is a string or a list of words; None and NaN are empty documents. Words of a list are used unchanged,
        stop words apart. Of a table of ``engine``, ``text`` and ``groups`` name columns.
        """
        plan = self.plan()
        if self._is_table(X):
            with removed_after(self._stored(X, text, groups)) as stored:
                self._fit(stored, None, plan)
        else:
            self._fit(X, groups, plan)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, text: str | None = None) -> Any:
        """As ``fit`` and ``transform``, reading the texts once."""
        plan = self.plan()
        if self._is_table(X):
            with removed_after(self._stored(X, text, groups)) as stored:
                self._fit(stored, None, plan)
                return stored.restrict(self._selected)
        corpus = self._fit(X, groups, plan)
        return self._given(replace(corpus.restrict(self._selected), groups=checked_ids(groups, corpus)))

    def _is_table(self, X: Any) -> bool:
        return self.engine is not None and bool(self.engine.holds(X))

    def _stored(self, X: Any, text: str | None, groups: str | None, vocabulary: Any = None) -> StoredCorpus:
        stored: StoredCorpus = self.engine.read(
            X, text=text, groups=groups, vocabulary=vocabulary, tokenizer=self._tokenizer()
        )
        return stored

    def _fit(
        self,
        X: Any,
        groups: Any,
        plan: VocabularyPlan,
        *,
        key: Key | None = None,
        noted: Callable[[tuple[Entry, ...]], object] | None = None,
        run: str | None = None,
    ) -> Any:
        """``noted`` is called with the charge before noise is drawn; a resumed run gives its ``key`` and ``run``."""
        self.__dict__.pop("_selected", None)  # of an earlier fit, whose guarantee is gone
        self._check_units(plan)
        corpus = self._read_all(X)
        fit = PrivateFit(self, corpus, groups=groups, no_word_list=True)
        fit.key = fit.key if key is None else key
        with Bar("selecting words", plan.rounds, self.progress) as advance:
            select = _selection(corpus, fit.groups, fit.key, plan)
            reservation = fit.reserve(plan.entries, run=run)  # [reserve]
            if noted is not None:
                noted(plan.entries)
            selected = select(corpus.n_words, plan, reservation, fit.key, after_round=partial(advance, {}))
        found = selected.words[: self.max_words]
        fit.end(plan.entries, plan.epsilon)
        words = sorted(corpus.vocabulary[i] for i in found)  # [order]
        self.vocabulary_ = {word: i for i, word in enumerate(words)}
        if not words:
            raise InputError(
                f"no word stood out of the noise at epsilon={self.epsilon:g}, delta={self.delta:g}: {_needed(plan)}. "
                f"The attempt has been charged: ε = {rounded_up(plan.epsilon, 3)}. Use more "
                "units that share words, a larger epsilon, or a public word list."
            )
        cost = VocabularyCost(plan.entries, fit.ledger, fit.key.seeded, units_of(corpus, fit.groups))
        self._selected = Vocabulary(words, "private-selection", cost=cost)
        return corpus

    def _check_units(self, plan: VocabularyPlan) -> None:
        """Refuse what cannot find a word among a public number of units: nothing has been charged yet."""
        if self.n_units is not None and self.n_units < plan.units_for_a_word():
            raise InputError(
                f"{self.n_units:,} units are too few to select any word from at epsilon={self.epsilon:g}: "
                f"{_needed(plan)}. Nothing was charged. Use a public word list, more units or a larger epsilon."
            )

    def plan(self) -> VocabularyPlan:
        """What a fit will charge: a function of the parameters alone."""
        check_parameters(self)
        return VocabularyPlan.make(
            Budget(float(self.epsilon), float(self.delta)),
            rerouting=self.rerouting,
            max_words=int(self.max_words_per_unit),
            share=float(self.share),
        )

    # --- reading ------------------------------------------------------------------------------------------------------

    def _tokenizer(self) -> Tokenizer:
        if self.tokenizer is not None:
            given = Tokenizer.of(self.tokenizer)
            return given if self.phrases is None else replace(given, phrases=self.phrases)
        stop: Any = self.stop_words
        stop = stop if isinstance(stop, str | None) else frozenset(stop)
        return Tokenizer(self.token_pattern, self.lowercase, stop, lemmas=self.lemmas, phrases=self.phrases)

    def _read_all(self, X: Any) -> Any:
        """Every word, in alphabetical order. Which words a document has depends on this document only."""
        if isinstance(X, Corpus | StoredCorpus):
            if not X.vocabulary.complete:  # [all-words]
                raise WouldLeak(
                    "this corpus does not hold all words of its text: some were left out by looking at all documents, "
                    "or it never was text. Pass the texts, or a corpus read without vocabulary= and max_words=."
                )
            if self.phrases is not None and (isinstance(X, StoredCorpus) or X.sizes is None):
                raise InputError(
                    "the words of this corpus have been found already. Pass the texts, or leave phrases= out."
                )
            return X
        return all_words(X, self._tokenizer())

    def to_corpus(self, X: Any, *, groups: Any = None, text: str | None = None) -> Any:
        """Documents over the selected words. The corpus carries their cost. Of a table of ``engine``, ``text`` and
        ``groups`` name columns, and the engine keeps the documents until ``remove()``."""
        check_is_fitted(self)
        if not self.vocabulary_:
            raise InputError("the vocabulary is empty: the last fit selected no word. Fit again before you transform.")
        if self._is_table(X):
            return self._stored(X, text, groups, self._selected)
        if isinstance(X, Corpus):
            if not X.vocabulary.complete and X.vocabulary.origin != "public":  # [restricted]
                raise WouldLeak(
                    "this corpus does not hold all words of its text: which of the selected words are left in it "
                    "depends on all documents. Pass the texts, or a corpus read without max_words=."
                )
            corpus = X.restrict(self._selected)
        else:
            builder = add_texts(CorpusBuilder(vocabulary=self._selected, tokenizer=self._tokenizer()), X)
            if not len(builder):
                raise InputError("there is no document. Give at least one.")
            corpus = builder.build()
        return replace(corpus, groups=checked_ids(groups, corpus))

    # --- output -------------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Counts of the selected words; all others are ignored. Counts describe the documents: only the curator may see
        them."""
        return self._given(self.to_corpus(X))

    def _given(self, corpus: Corpus) -> SelectedCounts | Corpus:
        return corpus if self.output == "corpus" else SelectedCounts.of(corpus)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The selected words, in the order of the columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _selection(corpus: Any, groups: IntArray | None, key: Key, plan: VocabularyPlan) -> Callable[..., Selected]:
    """`select_words` from the documents of this process, or of an engine."""
    if isinstance(corpus, StoredCorpus):
        other = key if key.seeded else Key.fresh()  # the key of the noise stays here

        def summed(wanted: BoolArray | None) -> IntArray:
            return corpus.summed(partial(_sum_of_shard, key=other, plan=plan, wanted=wanted))

        return partial(select_by_sums, summed)
    numbers = np.arange(corpus.n_documents) if groups is None else groups
    return partial(select_words, *words_of_units(corpus.words, corpus.offsets, numbers, corpus.n_words, key))


def _sum_of_shard(units: Any, first: int, *, key: Key, plan: VocabularyPlan, wanted: BoolArray | None) -> IntArray:
    """What the units of a shard add, on an executor."""
    numbers = np.repeat(np.arange(units.n_units), np.diff(units.first_document))
    found = words_of_units(units.words, units.offsets, numbers, units.n_words, key, first)
    return sum_of_units(*found, units.n_words, plan, wanted)


def all_words(texts: Any, tokenizer: Tokenizer) -> Corpus:
    """The texts over every word that they have. Texts without any word are treated like texts in which no word stands
    out."""
    builder = add_texts(CorpusBuilder(tokenizer=tokenizer), texts)
    try:
        return builder.build()
    except InputError:  # no document, or no word
        none, offsets = np.empty(0, np.int32), np.zeros(len(builder) + 1, np.int64)
        return Corpus(none, offsets, Vocabulary([""], "text", complete=True), all_tokens=True)


def _needed(plan: VocabularyPlan) -> str:
    """How common a word must be, which only the plan decides."""
    many = plan.event.max_words
    return (
        f"a word must be shared by about {plan.units_for_a_word():,} units if they have no other word, and by about "
        f"{plan.units_for_a_word(many):,} if each has {many} different words or more"
    )

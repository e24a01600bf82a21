"""TopicModel: what every estimator shares, by the rules of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet._errors import InputError, counted
from discreet._types import FloatArray
from discreet.corpus.builder import holds_texts, texts_for_model
from discreet.corpus.codebook import Codebook, check_codebook
from discreet.corpus.corpus import LONGEST_DOCUMENT, Corpus
from discreet.corpus.selected import SelectedCounts
from discreet.corpus.stored import StoredCorpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.engines.threads.documents import mixtures
from discreet.models.bounds import LEAST_PRIOR, MOST_PRIOR
from discreet.models.estimator import check_parameters
from discreet.models.notebook import ShowsGuarantee
from discreet.privacy.events import Entry
from discreet.release.folder import WORD_USE
from discreet.release.release import Release
from discreet.release.usefulness import Usefulness
from discreet.training.own_ledger import GuaranteeOfFit

THINNED = 16
"""A row of counts with more tokens than this many times the cap is thinned evenly first. For such a row that hardly
changes the random choice of the cap."""


class TopicModel(ShowsGuarantee, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model that turns documents into proportions of topics.

    ``X`` is a :class:`~discreet.Corpus` or a document-term matrix of whole counts, dense or sparse. A model of a corpus
    of text also transforms and scores texts, and lists of their words; a missing text is an empty document. A subclass
    writes ``fit``, which sets ``components_`` (topic × word, rows sum to 1), ``alpha_``, ``beta_``, ``guarantee_`` and
    ``history_``, and gives its name on the command line (``method``).
    """

    method: str
    shows_run: bool = False
    """Whether callbacks may see the run itself: only if nothing is promised."""
    runs_elsewhere: bool = False
    """Whether it takes an ``engine``."""
    components_: FloatArray
    alpha_: FloatArray
    alpha_rest_: float | None = None
    """Of a Beta-Liouville prior of a document's topics."""
    beta_: float
    guarantee_ = GuaranteeOfFit()
    history_: dict[str, list[float]]
    topic_shares_: FloatArray
    standard_errors_: FloatArray
    share_errors_: FloatArray
    word_frequencies_: FloatArray
    frequency_errors_: FloatArray
    public_frequencies_: FloatArray
    usefulness_: Usefulness | None
    n_threads: int | None
    _vocabulary: tuple[str, ...] | None
    _tokenizer: Tokenizer | None = None
    _codebook: Codebook | None = None
    _columns: Mapping[str, str]
    """The column of documents in the table of an engine that the model was fitted to."""
    _self_tests: Any
    """Of compiled code, where the model is private."""
    _spent: tuple[Entry, ...]
    """The charges in the guarantee of a private fit; its ledger may hold other fits too."""

    # --- reading ----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self)
        for callback in getattr(self, "callbacks", None) or ():
            if hasattr(callback, "begin") and not self.shows_run:
                raise InputError(
                    f"{type(callback).__name__} reads the private counts of a run, which {type(self).__name__} does "
                    "not show. Use it with LDA."
                )

    def _check_together(self) -> None:
        """Parameters that do not go together. ``fit`` calls it, and ``fit_text`` before words are charged."""

    def _check_documents(self, corpus: Corpus) -> None:
        """Refuse documents that ``fit`` would refuse whatever their words. ``fit_text`` calls it before words are
        charged."""

    def _forget(self) -> None:
        """Delete what an earlier fit has set: a fit that is refused or interrupted must not show that fit's
        guarantee."""
        ours = ("_vocabulary", "_tokenizer", "_codebook", "_columns", "_spent")
        for name in [name for name in vars(self) if name.endswith("_") or name in ours]:
            del self.__dict__[name]

    def __sklearn_is_fitted__(self) -> bool:
        return {"components_", "guarantee_"} <= vars(self).keys()

    def _read(self, X: Any, *, reset: bool, max_tokens: int | None = None) -> Corpus:
        """Documents as a Corpus over the words of the model; with ``reset`` the model takes the words of ``X``.

        ``max_tokens`` is the cap of a private model on a unit. Which tokens stay is chosen later, at random, among all
        that a unit has. But one row of counts must not fill the memory before that, so a row with far more tokens is
        thinned first.
        """
        if isinstance(X, StoredCorpus):
            raise InputError(f"{type(self).__name__} cannot read documents that an engine keeps. Pass a Corpus.")
        if type(X).__module__.startswith("pyspark.sql"):
            raise InputError(
                "this is a table of Spark: give the model engine=SparkEngine(…) and name the column of documents."
                if self.runs_elsewhere
                else f"{type(self).__name__} runs on the threads of this machine only. Pass a Corpus, or counts."
            )
        if isinstance(X, SelectedCounts) and (selected := X.to_corpus()) is not None:
            X = selected
        if reset:
            self._forget()
            if isinstance(X, Corpus) and X.tokenizer is not None:
                self._tokenizer = X.tokenizer.without_stop_words()
        if isinstance(X, Corpus):
            if reset and X.sizes is not None:
                raise InputError(
                    "these documents hold every phrase beside its words, and each word would count several times. "
                    "Choose among them first: max_words= when they are read, a public list of phrases, or a model that "
                    "selects words privately (fit_text)."
                )
            if reset:
                self.n_features_in_ = X.n_words
                self._vocabulary = X.vocabulary.words  # not its cost: a model may be given away
                if X.codebook is not None:
                    self._codebook = X.codebook
                return X
            check_codebook(X.codebook, self._codebook)
            if self._vocabulary is not None and X.vocabulary != self._vocabulary:
                return X.restrict(self._vocabulary)
            if X.n_words != self.n_features_in_:
                raise InputError(
                    f"the corpus has {X.n_words:,} words but the model {self.n_features_in_:,}. "
                    "Use Corpus.restrict with the vocabulary of the training documents."
                )
            return X
        if holds_texts(X):
            if not reset:
                return texts_for_model(X, self._vocabulary, self._tokenizer)
            raise InputError(
                f"{type(self).__name__} takes word counts, and these are texts. Pass what PrivateVectorizer makes of "
                "them; or, where the words need no protection, Corpus.from_texts(…) or counts from CountVectorizer."
            )
        matrix = self._as_matrix(X, reset=reset)
        if reset:
            names = getattr(self, "feature_names_in_", None)
            self._vocabulary = None if names is None else tuple(names)
        if matrix.min() < 0:  # in scikit-learn's words: its checks look for them
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}; found {matrix.min()}. "
                "Pass word counts, 0 where a document does not have the word."
            )
        most = None if max_tokens is None else min(THINNED * int(max_tokens), LONGEST_DOCUMENT)
        return Corpus.from_counts(matrix, self._vocabulary, max_tokens=most)

    def _as_matrix(self, X: Any, *, reset: bool) -> Any:
        """What scikit-learn's checks let through. Some of their messages repeat values, which may be texts: these are
        said without."""
        try:
            matrix = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        except ValueError as error:
            what, repeats, advice = str(error).partition("array=")
            if repeats:  # all values of a single row
                reshape = advice.rpartition("Reshape your data")
                raise InputError(f"{what.strip().rstrip(':.')}. {''.join(reshape[1:])}") from None
            if not what.startswith("could not convert"):
                raise
            matrix = None
        if matrix is None or matrix.dtype.kind not in "biuf":
            raise InputError(
                f"{type(self).__name__} takes word counts, and this table holds something else. Pass its column of "
                "texts to fit_text, or to Corpus.from_texts."
            ) from None
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    # --- using the model --------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> FloatArray:
        """Topic proportions of documents, one row each, with the topics held fixed (fold-in).

        They describe the documents given: if those are private, only their curator may see the result.
        """
        check_is_fitted(self)
        corpus = self._read(X, reset=False)
        return mixtures(self.components_, self.alpha_, corpus, self.n_threads, alpha_rest=self.alpha_rest_)

    def score(self, X: Any, y: Any = None, sample_weight: None = None) -> float:
        """Log-likelihood per token by document completion; higher is better. (Pipelines pass ``sample_weight`` under
        metadata routing, also if nobody gave it; documents have no weights here.)"""
        refuse_weights(sample_weight)
        return -float(np.log(self.perplexity(X)))

    def perplexity(self, X: Any) -> float:
        """Document-completion perplexity (see :func:`discreet.evaluation.completion`); lower is better."""
        from discreet.evaluation import completion_perplexity

        check_is_fitted(self)
        corpus = self._read(X, reset=False)
        prior: dict[str, Any] = {"alpha": self.alpha_, "alpha_rest": self.alpha_rest_}
        return completion_perplexity(self.components_, corpus, **prior, n_threads=self.n_threads)

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The most probable words of each topic."""
        return self.release().top_words(n)

    # --- releasing it -----------------------------------------------------------------------------------------------

    def release(self, vocabulary: Any = None) -> Release:
        """What may be published under the guarantee of the model: topics, words, parameters.

        It holds no document. The topics of a model that adds no noise are exact counts in another form, which is
        why its guarantee reads *none*.

        ``vocabulary`` names the columns when the model was trained on a bare matrix, for example
        ``vectorizer.get_feature_names_out()``.
        """
        check_is_fitted(self)
        words = self._vocabulary if vocabulary is None else tuple(str(word) for word in vocabulary)
        if words is None:
            words = tuple(f"word{i}" for i in range(self.n_features_in_))
        return Release(
            topics=self.components_,
            vocabulary=words,
            alpha=self.alpha_,
            alpha_rest=self.alpha_rest_,
            beta=self.beta_,
            method=self.method,
            parameters=self._planned_parameters(),
            guarantee=self.guarantee_,
            tokenizer=None if self._tokenizer is None or self._tokenizer.function else self._tokenizer,
            codebook=self._codebook,
            **self._accounts(),
        )

    def _accounts(self) -> dict[str, Any]:
        """The shares of topics, and fields that only private models release, because theirs are computed from released
        numbers."""
        spent = getattr(self, "_spent", None)
        if spent is None:
            return {"topic_shares": getattr(self, "topic_shares_", None)}
        names = ("topic_shares", "standard_errors", "share_errors", *WORD_USE, "usefulness")
        released = {name: getattr(self, f"{name}_", None) for name in names}
        return {"ledger": [entry.to_json() for entry in spent], "history": self.history_, **released}

    def _planned_parameters(self) -> dict[str, Any]:
        """Constructor parameters that describe the training and can be written down."""
        skipped = {"callbacks", "progress", "n_threads", "random_state", "warm_start", "word_prior", "ledger"}
        skipped |= {"checkpoint", "checkpoint_every", "engine"}
        plain = (bool, int, float, str, type(None), np.ndarray, list, tuple)
        found = {name: value for name, value in self.get_params(deep=False).items() if name not in skipped}
        return {
            name: v.item() if isinstance(v, np.generic) else v
            for name, v in found.items()
            if isinstance(v, (*plain, np.generic))
        }

    def fit(self, X: Any, y: Any = None) -> Self:
        raise NotImplementedError


def check_sizes(corpus: Corpus, n_topics: int) -> None:
    """Refuse a corpus without tokens, and more topics than tokens."""
    if not corpus.n_tokens:
        raise InputError(
            f"the corpus has no token: nothing in {counted(corpus.n_documents, 'document')} is among its "
            f"{counted(corpus.n_words, 'word')}. Check the text column, the stop words and the vocabulary."
        )
    if n_topics > corpus.n_tokens:
        raise InputError(
            f"n_topics={n_topics:,} is more than the corpus has tokens: {corpus.n_tokens:,}. "
            "Ask for fewer topics; a few dozen suit most corpora."
        )


def refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise InputError("documents have no weights: every token counts once. Leave sample_weight out.")


def broadcast_alpha(alpha: Any, n_topics: int) -> FloatArray:
    """One number for each topic, within `bounds.PRIOR`."""
    return _broadcast(alpha, n_topics, "alpha", "topics")


def broadcast_beta(beta: Any, n_words: int, name: str = "beta") -> FloatArray:
    """One number for each word, within `bounds.PRIOR`."""
    return _broadcast(beta, n_words, name, "words")


def _broadcast(values: Any, n: int, name: str, what: str) -> FloatArray:
    given = numbers(values, name)
    wanted = f"{name} must be a number from {LEAST_PRIOR:g} to {MOST_PRIOR:g}, or one for each of {n} {what}"
    if given.shape not in ((), (n,)):
        raise InputError(f"{wanted}; found shape {given.shape}.")
    bad = ~((given >= LEAST_PRIOR) & (given <= MOST_PRIOR))
    if bad.any():
        raise InputError(f"{wanted}; found {given[bad].flat[0]}.")
    return np.array(np.broadcast_to(given, n))


def numbers(values: Any, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from None

"""Release: the part of a trained model that may be published.

Topics, the words they are made of, how they were made and what is promised about them. No document-topic table and
nothing else that was not released: a Release can be given to everyone for whom its guarantee is enough. (If the
guarantee is *none*, only the curator may have it: the topics of an ordinary model are exact counts in another form.) On
disk it is a folder that any tool can read (see ``folder.py``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet._errors import InputError, WouldLeak, counted
from discreet._types import AnyArray, BoolArray, FloatArray
from discreet.corpus.builder import AnyTokenizer, holds_texts, texts_for_model
from discreet.corpus.codebook import Codebook, Grid, check_codebook
from discreet.corpus.corpus import Corpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.privacy import Basis, Entry, Guarantee
from discreet.release import folder as release_folder
from discreet.release.checks import check_lists, check_topics, check_words, floats, json_values, not_negative, positive
from discreet.release.collections import MixedTopics
from discreet.release.usefulness import Usefulness

if TYPE_CHECKING:
    from discreet.evaluation import Completion
    from discreet.privacy.odds import Odds

PRESENT = 2.0
"""A topic is known to be there if its share is more than so many deviations of its noise."""

JSON: TypeAlias = Any
"""None, a bool, a finite number, a string, or a list or dictionary of these."""


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A trained model without anything private that its guarantee does not cover."""

    topics: FloatArray
    """Topic × word; each row is a distribution over ``vocabulary``."""
    vocabulary: tuple[str, ...]
    alpha: FloatArray
    """Prior weight of each topic in a document."""
    beta: float
    """Prior weight of each word in a topic."""
    method: str
    """The name of the command line's ``--method``, such as ``lda``."""
    parameters: dict[str, JSON]
    """Planned parameters of the training, never anything measured on the data."""
    guarantee: Guarantee
    ledger: list[dict[str, JSON]] = field(default_factory=list)
    """What was charged, entry by entry; empty for models that promise nothing."""
    history: dict[str, list[float]] = field(default_factory=dict)
    """Values per sweep that are functions of released statistics only."""
    tokenizer: Tokenizer | None = None
    """How the training text became words, stop words apart, so that new text is read in the same way; None for
    counts."""
    versions: dict[str, str] = field(default_factory=release_folder.versions)
    """The software that made it, for those who want to repeat it."""
    topic_shares: FloatArray | None = None
    """The share of the text in each topic, from released numbers; None if the model does not estimate it."""
    standard_errors: FloatArray | None = None
    """Topic × word: the deviation of the privacy noise in each probability, before shrinking, which only lowers it. It
    does not include sampling error. None if no noise was added, or if the noise is not known."""
    usefulness: Usefulness | None = None
    """Whether the topics stand out of the noise, judged by released numbers; None if no noise was added."""
    share_errors: FloatArray | None = None
    """The deviation of the privacy noise in each of ``topic_shares``; None if they were not released by themselves."""
    word_frequencies: FloatArray | None = None
    """The share of each word in the private text, shrunk towards what public text says; None if the model does not
    adapt public topics."""
    frequency_errors: FloatArray | None = None
    """The deviation of the privacy noise in each of ``word_frequencies``, before shrinking."""
    public_frequencies: FloatArray | None = None
    """The share of each word in the public text; 0 for words that it does not have."""
    collections: tuple[str | int, ...] | None = None
    """Labels of the collections that a cross-collection model compares; None for other models. ``topics`` are then what
    the collections share."""
    collection_topics: FloatArray | None = None
    """Collection × topic × word: each collection's own words for a topic."""
    switch: FloatArray | None = None
    """Topic × collection: how much of the topic is in the collection's own words."""
    alpha_rest: float | None = None
    """Where a document's topics have a Beta-Liouville prior: its weight of all topics but the last together. None: the
    prior is Dirichlet(alpha)."""
    codebook: Codebook | None = None
    """How the training pictures became visual words, so that others can too; None of text."""

    def __post_init__(self) -> None:
        topics, alpha = floats(self.topics, 2, "topics"), floats(self.alpha, 1, "alpha")
        vocabulary = (self.vocabulary,) if isinstance(self.vocabulary, str) else tuple(self.vocabulary)
        check_words(vocabulary, topics.shape[1])
        check_topics(topics)
        if alpha.shape != (len(topics),) or not (alpha > 0).all():
            raise InputError(
                f"alpha must hold one positive number for each of {len(topics)} topics; "
                f"found shape {alpha.shape}, smallest {alpha.min(initial=np.inf):.3g}."
            )
        beta = positive(self.beta, "beta")
        if not isinstance(self.method, str) or not self.method:
            raise InputError(f"method must be a name such as 'lda'; found {self.method!r}.")
        if not isinstance(self.guarantee, Guarantee):
            raise InputError(
                f"guarantee must be a Guarantee; found {type(self.guarantee).__name__}. See Guarantee.none."
            )
        if self.guarantee.basis is Basis.ESTIMATE:
            raise WouldLeak(
                "an estimate was computed from private data and may not leave with a model. Keep it with the curator; "
                "the model's own guarantee_ is what goes with its topics."
            )
        settled: dict[str, Any] = {"topics": topics, "vocabulary": vocabulary, "alpha": alpha, "beta": beta}
        if self.alpha_rest is not None:
            settled["alpha_rest"] = positive(self.alpha_rest, "alpha_rest")
            if len(alpha) < 2:
                raise InputError("alpha_rest needs two topics or more; found one. Leave it out.")
        of_words = dict.fromkeys(release_folder.WORD_USE, topics.shape[1:])
        shapes = {"topic_shares": alpha.shape, "share_errors": alpha.shape, "standard_errors": topics.shape, **of_words}
        for name, shape in shapes.items():
            if getattr(self, name) is not None:
                settled[name] = not_negative(getattr(self, name), shape, name)
        settled |= self._checked_collections(topics)
        if not isinstance(self.codebook, Codebook | None):
            raise InputError(f"codebook must be a Codebook; found {type(self.codebook).__name__}.")
        if not isinstance(self.usefulness, Usefulness | None):
            raise InputError(f"usefulness must be a Usefulness; found {type(self.usefulness).__name__}.")
        if self.tokenizer is not None:
            if not isinstance(self.tokenizer, Tokenizer):
                raise InputError(f"tokenizer must be a Tokenizer; found {type(self.tokenizer).__name__}.")
            if self.tokenizer.function is not None:
                raise InputError("a tokenizer that is a function cannot be saved with a model. Leave tokenizer out.")
            settled["tokenizer"] = self.tokenizer.without_stop_words()
        for name, kind in (("parameters", dict), ("ledger", list), ("history", dict), ("versions", dict)):
            settled[name] = json_values(getattr(self, name), kind, name)
        check_lists(settled["history"], settled["versions"], settled["ledger"])
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def _checked_collections(self, topics: FloatArray) -> dict[str, Any]:
        parts = (self.collections, self.collection_topics, self.switch)
        if any(part is None for part in parts):
            if any(part is not None for part in parts):
                raise InputError("collections, collection_topics and switch go together. Give all three, or none.")
            return {}
        labels = self.collections
        if (
            not isinstance(labels, list | tuple)
            or not labels
            or {type(label) for label in labels} not in ({str}, {int})
        ):
            raise InputError(
                f"collections must be a list of labels, all strings or all whole numbers; found {labels!r}."
            )
        if len(set(labels)) != len(labels):
            raise InputError(f"each collection needs a label of its own; found {labels!r}.")
        own = not_negative(self.collection_topics, (len(labels), *topics.shape), "collection_topics")
        check_topics(own.reshape(-1, topics.shape[1]))
        switch = not_negative(self.switch, (len(topics), len(labels)), "switch")
        if switch.max() > 1:
            raise InputError(f"switch must hold probabilities; found {switch.max():.3g}.")
        return {"collections": tuple(labels), "collection_topics": own, "switch": switch}

    # --- reading it -------------------------------------------------------------------------------------------------

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocabulary)

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The ``n`` most probable words of each topic, best first (ties in the order of the vocabulary)."""
        if n < 1:
            raise InputError(f"the number of words per topic must be at least 1; found {n}.")
        return self._best_words(self.topics, n)

    def collection_top_words(self, n: int = 10) -> dict[str | int, list[list[str]]]:
        """The same for each collection's own words for a topic; empty if the model has no collections."""
        if self.collections is None or self.collection_topics is None:
            return {}
        own = zip(self.collections, self.collection_topics, strict=True)
        return {label: self._best_words(topics, n) for label, topics in own}

    def _best_words(self, topics: FloatArray, n: int) -> list[list[str]]:
        best = np.argsort(-topics, axis=1, kind="stable")[:, :n]
        return [[self.vocabulary[i] for i in row] for row in best]

    @property
    def present(self) -> BoolArray:
        """Which topics the text is known to have: their share is above twice its error. All of them if the errors are
        not known."""
        if self.topic_shares is None or self.share_errors is None:
            return np.ones(self.n_topics, np.bool_)
        return np.asarray(self.topic_shares > PRESENT * self.share_errors)

    def unknown_words(self) -> list[tuple[str, float, float]]:
        """Words that the public text does not have, each with its share in the private text and the error of that, the
        most frequent first. They are in no topic of their own. Empty if the model does not adapt public topics."""
        if self.word_frequencies is None or self.frequency_errors is None or self.public_frequencies is None:
            return []
        unknown = np.flatnonzero(self.public_frequencies == 0)
        ranked = unknown[np.argsort(-self.word_frequencies[unknown], kind="stable")]
        found = zip(ranked, self.word_frequencies[ranked], self.frequency_errors[ranked], strict=True)
        return [(self.vocabulary[i], float(share), float(error)) for i, share, error in found]

    def odds(self) -> Odds:
        """How often an attacker can guess right about one unit: by the guarantee alone, and by what the ledger says was
        done (see :meth:`Guarantee.odds`)."""
        try:
            entries = [Entry.from_json(entry) for entry in self.ledger]
        except InputError:  # anybody's folder: a ledger that cannot be read is none
            entries = []
        return self.guarantee.odds(entries)

    def __repr__(self) -> str:
        sizes = f"{counted(self.n_topics, 'topic')}, {counted(self.n_words, 'word')}"
        verdict = "" if self.usefulness is None else f", {self.usefulness.verdict}"
        return f"<Release: {self.method}, {sizes}, guarantee {self.guarantee.basis}{verdict}>"

    def _repr_html_(self) -> str:
        """For notebooks: the short form of ``discreet report``."""
        from discreet.release.notebook import release_html

        return release_html(self)

    # --- using it ---------------------------------------------------------------------------------------------------

    def transform(
        self, X: Any, *, tokenizer: AnyTokenizer = None, n_threads: int | None = None, collections: Any = None
    ) -> FloatArray:
        """Topic proportions of documents, one row each: the EM fixed point of θ_k ∝ α_k + Σ_i q_ik; with
        ``alpha_rest``, of θ = the prior's posterior mean given the counts Σ_i q_ik.

        ``X`` is a document-term matrix over ``vocabulary``, or a Corpus, or a list of texts or of lists of words. Words
        outside ``vocabulary`` are ignored; None and NaN are empty documents. Text is read as the training text was
        (``self.tokenizer``), or by ``tokenizer``, which may be a function from a text to its words. The row of a
        document without a known word is the prior. The result describes the documents given: if these are private, only
        their curator may see it. It is the same for any ``n_threads`` (all cores by default).

        With a cross-collection model, ``collections`` holds the label of each document if the Corpus has none; a
        document is read with the topics of its own collection.
        """
        from discreet.engines.threads.documents import mixtures  # only here: reading a release needs no numba

        corpus, mixed = self.documents(X, tokenizer=tokenizer), self._mixed()
        if mixed is not None:
            return mixed.mixtures(corpus, collections, n_threads)
        if collections is not None:
            raise InputError(f"a model made by {self.method} has no collections. Leave collections= out.")
        return mixtures(self.topics, self.alpha, corpus, n_threads, alpha_rest=self.alpha_rest)

    def completion(
        self, X: Any, *, tokenizer: AnyTokenizer = None, n_threads: int | None = None, collections: Any = None
    ) -> Completion:
        """Document completion (see :func:`discreet.evaluation.completion`); arguments as in :meth:`transform`."""
        from discreet.evaluation import completion

        corpus, mixed = self.documents(X, tokenizer=tokenizer), self._mixed()
        if mixed is not None:
            return mixed.completion(corpus, collections, n_threads)
        return completion(self.topics, corpus, alpha=self.alpha, alpha_rest=self.alpha_rest, n_threads=n_threads)

    def fold_in_perplexity(
        self, X: Any, *, tokenizer: AnyTokenizer = None, n_threads: int | None = None, collections: Any = None
    ) -> float:
        """See :func:`discreet.evaluation.fold_in_perplexity`; arguments as in :meth:`transform`."""
        from discreet.evaluation import fold_in_perplexity

        corpus, mixed = self.documents(X, tokenizer=tokenizer), self._mixed()
        if mixed is not None:
            return mixed.fold_in_perplexity(corpus, collections, n_threads)
        return fold_in_perplexity(
            self.topics, corpus, alpha=self.alpha, alpha_rest=self.alpha_rest, n_threads=n_threads
        )

    def predict(
        self, X: Any, *, prior: Any = None, tokenizer: AnyTokenizer = None, n_threads: int | None = None
    ) -> AnyArray:
        """The most probable of ``collections`` for each document; arguments as in :meth:`predict_proba`."""
        chances = self.predict_proba(X, prior=prior, tokenizer=tokenizer, n_threads=n_threads)
        found: AnyArray = np.asarray(self.collections)[chances.argmax(axis=1)]
        return found

    def predict_proba(
        self, X: Any, *, prior: Any = None, tokenizer: AnyTokenizer = None, n_threads: int | None = None
    ) -> FloatArray:
        """How probable each of ``collections`` is for each document: P(c | words) ∝ P(c) · p(words | c).

        The evidence p(words | c) is that of the whole document under the topics of collection c, its proportions
        integrated out under their prior. It is estimated from left to right by particles, which is unbiased
        (``kernels/measures/evidence.py``), and the same on every run. ``prior`` holds P(c); None: all equal.
        """
        mixed = self._mixed()
        if mixed is None:
            raise InputError(f"a model made by {self.method} has no collections, so it predicts none.")
        return mixed.chances(self.documents(X, tokenizer=tokenizer), prior, n_threads)

    def documents(self, X: Any, *, tokenizer: AnyTokenizer = None) -> Corpus:
        """Documents in the words of the model, as :meth:`transform` reads them; other words are left out."""
        if isinstance(X, Corpus):
            check_codebook(X.codebook, self.codebook)
            return X if X.vocabulary == self.vocabulary else X.restrict(self.vocabulary)
        if holds_texts(X):
            return texts_for_model(X, self.vocabulary, self.tokenizer if tokenizer is None else tokenizer)
        return Corpus.from_counts(X, self.vocabulary)

    def _mixed(self) -> MixedTopics | None:
        if self.collections is None or self.collection_topics is None or self.switch is None:
            return None
        tables = (self.topics, self.collection_topics, self.switch)
        return MixedTopics.of(self.collections, self.alpha, *tables, alpha_rest=self.alpha_rest)

    # --- saving it --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a new folder, completely or not at all. Replaces an existing release only with ``overwrite=True``."""
        tables = {name: getattr(self, name) for name in release_folder.ALL_ARRAYS}
        if self.codebook is not None:
            tables["codebook"] = self.codebook.centres
        return release_folder.write(
            path,
            {name: array for name, array in tables.items() if array is not None},
            self.vocabulary,
            {
                "method": self.method,
                "beta": self.beta,
                "parameters": self.parameters,
                "guarantee": self.guarantee.to_json(),
                "ledger": self.ledger,
                "history": self.history,
                "versions": self.versions,
                "tokenizer": self.tokenizer and self.tokenizer.to_json(),
                "usefulness": self.usefulness and self.usefulness.to_json(),
                "collections": self.collections and list(self.collections),
                "alpha_rest": self.alpha_rest,
                "grid": self.codebook and self.codebook.grid._asdict(),
            },
            overwrite=overwrite,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a folder that `save` wrote. Runs no code from the folder: no pickle, every value checked.

        The checksums find damage, not forgery: trust the guarantee as far as you trust whoever gave you the folder. The
        tokenizer's pattern comes from them too, and some regular expressions take forever to match.
        """
        with release_folder.reading(path) as (arrays, vocabulary, about):
            about["guarantee"] = Guarantee.from_json(about["guarantee"])
            if about["tokenizer"] is not None:
                about["tokenizer"] = Tokenizer.from_json(about["tokenizer"])
            if about["usefulness"] is not None:
                about["usefulness"] = Usefulness.from_json(about["usefulness"])
            grid, centres = about.pop("grid"), arrays.pop("codebook", None)
            if centres is not None or grid is not None:
                about["codebook"] = Codebook(np.asarray(centres), Grid.from_json(grid))
            return cls(vocabulary=vocabulary, **{**about, **arrays})

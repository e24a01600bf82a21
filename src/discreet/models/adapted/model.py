"""AdaptedLDA: public topics, private word use. For corpora of a few thousand documents."""

from __future__ import annotations

from contextlib import closing
from dataclasses import field
from typing import Any, Self

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.engines.interface import ProportionEngine
from discreet.models.adapted.adapting import Adapting
from discreet.models.adapted.plan import AdaptedPlan
from discreet.models.base import broadcast_alpha
from discreet.models.bounds import Alpha, Clip, Epsilon, Tokens, Topics, Units, WordPower
from discreet.models.estimator import Paying, Seeded, estimator
from discreet.models.knowledge import (
    PUBLIC_TOPICS,
    Public,
    check_public,
    most_frequent_words,
    n_public_topics,
    public_knowledge,
    refuse_same_text,
)
from discreet.models.placed import Placed
from discreet.privacy.events import Entry
from discreet.training import self_test
from discreet.training.private_fit import PrivateFit

MOST_WORDS = 5_000
"""Words of the public text that ``fit_text`` takes by default."""


@estimator
class AdaptedLDA(Seeded, Paying, Placed):
    """Public topics, adapted to the word use of private documents. For corpora that are too small for `PrivateLDA`.

    **Which topics there are is public knowledge here; how much of each there is, and of which words, is the private
    finding.** An ordinary LDA with many topics is trained on public text, without noise. Of the private documents four
    things are released: a histogram of the units' sizes, the frequencies of words, in which topics words are used, and
    the prevalence of topics, each unit clipped, in whole numbers, with discrete Gaussian noise
    (``models/adapted/proof.md``). The rest is a function of these and of public text. The frequencies are shrunk
    towards those of mixtures of public topics, and the words of every topic are scaled so that the mixture of all
    topics has the private frequencies. Words move between topics as far as the noise lets that be seen
    (``models/adapted/senses.py``): hardly with a few thousand documents at ε = 1, much with more. Topics that the
    private documents have and the public text has not are not found.

    Parameters
    ----------
    n_topics : int
        Topics of the public text, if that is a corpus. They cost nothing, so there may be many; a short text gets no
        more than one for 20 of its tokens.
    public : Corpus, Release or fitted model
        Public text, or a model of it. It must be known without the private documents: only its owner can know that, so
        it is a condition of the guarantee. Text that holds the private documents is refused where that can be seen.
    epsilon, delta : float
        The budget of one fit: all releases, and also the selection of the vocabulary if that was private.
    alpha : float or array, optional
        Prior weight of each topic in a document. By default they sum to 20 and are as large as the shares of the
        topics, as public text and released word frequencies have them.
    n_units : int, optional
        The number of units, if it is public. By default it is estimated from the histogram, which is charged.
    clip : float, optional
        The largest norm of a unit's word counts, of each of which the square root is taken. By default 0.4 of the
        median of the norms of word counts (histogram).
    word_power : float
        A word of public frequency u gets the weight u^word_power in that norm.
    max_tokens : int
        A public cap on the tokens of one unit, applied before anything else.
    ledger : Ledger, optional
        Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    engine : SparkEngine, optional
        Where the private documents are read; by default on the threads of this machine. The public topics are trained
        here, and the noise is drawn here, in any case.
    n_threads, random_state, progress :
        As in :class:`~discreet.LDA`; the progress is that of the public topics. A seeded run promises nothing.

    Attributes
    ----------
    components_, alpha_, guarantee_, ledger_ :
        The adapted topics, the most prevalent first, and what they promise.
    topic_shares_, share_errors_ : array
        The prevalence of each topic: its mean share in the units' text, where a unit of few topics counts less; and the
        standard deviation of the noise in it.
    word_frequencies_, frequency_errors_, public_frequencies_ : array
        The share of each word in the private text (shrunk), the deviation of the noise in it before shrinking, and its
        share in the public text; 0 for a word that the public text does not have.
    standard_errors_ : array
        Topic × word: the deviation that the noise in a word's frequency gives to ``components_``, before shrinking. The
        noise in the use of words in topics is not in it: shrinking leaves little of that.
    usefulness_ : Usefulness
        Whether the released frequencies say more than the public text. How well public topics suit the private text is
        not known: that would take another release.
    """

    method = "adapted"
    _self_tests = (
        self_test.gaussian_noise,
        self_test.root_counts,
        self_test.variational_residuals,
        self_test.proportions,
    )

    n_topics: Topics = field(default=PUBLIC_TOPICS, kw_only=False)
    public: Public = None
    epsilon: Epsilon = 1.0
    alpha: Alpha | None = None
    n_units: Units | None = None
    clip: Clip | None = None
    word_power: WordPower = -0.3
    max_tokens: Tokens = 10_000
    progress: bool = False

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **columns: Any) -> Self:
        """Adapt the topics to documents. ``groups`` holds one user id per document and makes users the unit; ``y`` is
        ignored.

        If ``X`` is a table of ``engine``, the other arguments are as in :class:`~discreet.PrivateLDA`. Without
        ``vocabulary``, its words are those of `public_words`.
        """
        self._check_parameters()
        self._check_together()
        columns = self._with_words(columns)
        with self._documents(X, groups, columns, self.max_tokens) as (corpus, groups):
            return self._adapt(corpus, groups)

    def _adapt(self, corpus: Corpus | StoredCorpus, groups: Any) -> Self:
        refuse_same_text(self.public, corpus)  # [same-text]
        n_topics = n_public_topics(self.public, self.n_topics)
        alpha = None if self.alpha is None else broadcast_alpha(self.alpha, n_topics)
        fit = PrivateFit(self, corpus, groups=groups)
        plan = self._plan(corpus.n_words, fit.vocabulary_entries)
        fit.ledger.would_take(plan.entries)  # before minutes of training on public text
        known = public_knowledge(  # [knowledge] reads public data and the list of words
            self.public, corpus.vocabulary, n_topics=n_topics, n_threads=self.n_threads, progress=self.progress
        )
        engine: ProportionEngine = self._backend.open_proportions(
            corpus, fit.groups, n_topics, fit.key, max_tokens=self.max_tokens, n_threads=self.n_threads
        )
        with closing(engine):
            reservation = fit.reserve(plan.entries)  # [reserve] before any noise is drawn
            adapting = Adapting(self, plan, engine, reservation, known, alpha)
        adapting.finish()
        self.beta_, self.history_ = 1.0 / corpus.n_words, {}
        given = ["n_units is public"] if self.n_units is not None else []
        if self.engine is not None:
            given.append(self.engine.condition)
        fit.end(plan.entries, plan.epsilon, known.condition, *given)
        return self

    def _with_words(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Of a table's texts, the words of the public text, read in the same way, if no others are given."""
        if self.engine is None or columns.get("text") is None or columns.get("vocabulary") is not None:
            return columns
        tokenizer = columns.get("tokenizer") or getattr(self.public, "tokenizer", None)
        return {**columns, "vocabulary": self.public_words(), "tokenizer": tokenizer}

    def public_words(self, max_words: int | None = None) -> Vocabulary:
        """The most frequent words of the public text, in alphabetical order: the words of ``fit_text`` by default."""
        self._check_parameters()
        self._check_together()
        return most_frequent_words(self.public, max_words or MOST_WORDS)

    def _check_together(self) -> None:
        if self.public is None:
            raise InputError(
                "AdaptedLDA needs public=, text that everybody may know: a Corpus, or a Release or fitted model of it."
            )
        check_public(self.public)

    def _plan(self, n_words: int, vocabulary_entries: tuple[Entry, ...]) -> AdaptedPlan:
        """The releases over ``n_words`` words, which have cost ``vocabulary_entries``."""
        return AdaptedPlan.make(
            self.epsilon,
            self.delta,
            n_words,
            n_public_topics(self.public, self.n_topics),
            n_units=self.n_units,
            vocabulary_entries=vocabulary_entries,
        )

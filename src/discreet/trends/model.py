"""PrivateTrends: how much of each topic there is in each slice of private documents."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Annotated, Any, Self

from sklearn.base import BaseEstimator

from discreet._errors import InputError, WouldLeak, warn_caller
from discreet._types import IntArray
from discreet.corpus.builder import AnyTokenizer, holds_texts
from discreet.corpus.corpus import Corpus
from discreet.corpus.selected import SelectedCounts
from discreet.engines import open_slices
from discreet.mechanisms.release import Releases
from discreet.models.base import TopicModel
from discreet.models.bounds import Epsilon, Units
from discreet.models.estimator import Paying, Seeded, check_parameters, estimator
from discreet.models.notebook import ShowsGuarantee
from discreet.privacy import accounting
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import Basis, Observer, Relation, Unit, rounded_up
from discreet.release.release import Release
from discreet.training import self_test
from discreet.training.own_ledger import GuaranteeOfFit
from discreet.training.private_fit import PrivateFit
from discreet.trends.plan import TrendsPlan
from discreet.trends.shares import Trends
from discreet.trends.slices import UNREADABLE, Slices, places_of, slices_of

BEST_WORDS = 10
"""Words of each topic that trends name."""

MOST, HARDLY_ANY = 0.5, 0.001
"""Documents are refused if fewer than this share has a date that can be read; is in any slice, or has a word."""

PUBLIC_MODEL = "the model is public, and so are the documents that it was trained on"
COUNTED_APART = (
    "the model is public, or is charged to the same budget (its own guarantee: ε = {}, δ = {:g} for one {}, under its "
    "own conditions)"
)
LEFT_OUT = "no word was left out of a document because of other documents (where the word list comes from is not known)"
"""Conditions of a guarantee."""


@estimator
class PrivateTrends(ShowsGuarantee, Seeded, Paying, BaseEstimator):  # type: ignore[misc]
    """Shares of a model's topics in private documents, by period of the calendar or by class, with their errors.

    For each slice the topic proportions of its units are added up, and every sum is released with discrete Gaussian
    noise (``trends/proof.md``). The unit is the document, or the user with ``groups``, of whom all documents together
    are one contribution of ℓ₂ norm at most 1: a unit in n slices adds 1/√n of its proportions to each. The proportions
    are those of fold-in, as in ``transform``, without the prior: the mean over the words of a text. The noise is the
    same however many slices and topics there are; what is left in a slice depends on its own units.

    **Slices are public.** Which period or class a document is in is private, so the periods are not read from the
    documents: their bounds, or the list of classes, are given. Documents outside are in no slice.

    Parameters
    ----------
    release : Release or fitted model
        Its topics. A model without a proven guarantee needs ``public_model``.
    by : "year", "quarter", "month", "week", "day" or "class"
        ISO weeks start on Monday.
    start, end : date or str
        The first and the last period, such as "2015" or "2015-03-17". Needed for dates.
    classes : list, optional
        The names of all classes that are counted; for ``by="class"``.
    date_format : str, optional
        How dates are written, as in ``datetime.strptime``, if not as year-month-day.
    epsilon, delta : float
        The budget of the trends alone: the model is counted apart.
    n_units : int, optional
        The number of documents, or of users, if it is public. It serves warnings before anything is spent.
    public_model : bool
        Whether the model, and the documents that it was trained on, are public. The guarantee states it.
    tokenizer : Tokenizer or function, optional
        How texts become words, if not as in the model.
    ledger : Ledger, optional
        Charged before the noise is drawn. By default a new one for this fit.
    n_threads, random_state :
        As in :class:`~discreet.LDA`. A seeded run promises nothing.

    Attributes
    ----------
    trends_ : Trends
        Slices, shares, standard errors, changes; all that may be published.
    guarantee_, ledger_ :
        What the trends promise, and what was charged.
    """

    _self_tests = (self_test.gaussian_noise, self_test.slice_proportions)

    release: Annotated[Any, object] = field(kw_only=False)
    by: Annotated[str, object] = "month"
    start: Annotated[Any, object] = None
    end: Annotated[Any, object] = None
    classes: Annotated[Any, object] = None
    date_format: str | None = None
    epsilon: Epsilon = 1.0
    n_units: Units | None = None
    public_model: bool = False
    tokenizer: Annotated[Any, object] = None

    guarantee_ = GuaranteeOfFit()

    def plan(self) -> TrendsPlan:
        """What a fit will charge, and its noise: a function of the parameters alone."""
        check_parameters(self)
        return self._plan(self._checked_release(), self.slices())

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Count topics in documents ``X``: texts, counts over the words of the model, or a Corpus. ``y`` holds the date
        or the class of each; ``groups`` one user id per document, and makes users the unit."""
        check_parameters(self)
        for name in ("trends_", "guarantee_", "ledger_", "_spent"):  # of an earlier fit
            self.__dict__.pop(name, None)
        release, slices = self._checked_release(), self.slices()
        plan = self._plan(release, slices)
        corpus, conditions = self._read(release, X)
        fit = PrivateFit(self, corpus, observer=Observer.TRENDS, groups=groups, no_word_list=True)
        self._check_unit(release, fit.unit)
        places = places_of(slices, y, corpus.n_documents)
        self._check_documents(slices, places, corpus)
        fit.ledger.would_take((plan.entry,))  # before the work on all documents
        foreseen = plan.foreseen(self.n_units, fit.unit)
        if foreseen:
            warn_caller(foreseen)
        engine = open_slices(corpus, fit.groups, places, plan.n_slices, n_threads=self.n_threads)
        steps = plan.event.sensitivity
        sums = engine.proportions(  # [proportions] clipped to what was charged
            release.topics, release.alpha, alpha_rest=release.alpha_rest, scale=steps, clip=steps
        )
        engine.close()
        words = tuple(tuple(best) for best in release.top_words(BEST_WORDS))
        with_model = self._with_model(release, plan, fit.unit)  # here: after the charge nothing may fail
        reservation = fit.reserve((plan.entry,))  # [reserve] before any noise is drawn
        noisy = Releases(reservation, fit.key).release(sums, plan.event)
        public = ["n_units is public"] if self.n_units is not None else []
        fit.end((plan.entry,), plan.epsilon, slices.condition, self._model_condition(release), *conditions, *public)
        self.trends_ = Trends(
            by=slices.by,
            slices=slices.names,
            sums=noisy / steps,
            noise=plan.noise,
            topics=words,
            unit=fit.unit,
            guarantee=self.guarantee_,
            ledger=[plan.entry.to_json()],
            with_model=with_model,
        )
        if not foreseen and not self.trends_.enough.any():
            warn_caller(
                f"no slice is large enough to have shares: {plan.described(fit.unit)}. Choose longer periods or fewer "
                "classes, a model with fewer topics, or a larger epsilon."
            )
        return self

    def slices(self) -> Slices:
        """The public slices: a function of the parameters alone."""
        return slices_of(self.by, self.start, self.end, self.classes, self.date_format)

    def _plan(self, release: Release, slices: Slices) -> TrendsPlan:
        n_units = None if self.n_units is None else int(self.n_units)
        return TrendsPlan.make(self.epsilon, self.delta, len(slices.names), release.n_topics, n_units=n_units)

    def _checked_release(self) -> Release:
        """The topics. Those that may reveal the documents are refused."""
        release = self.release
        if isinstance(release, TopicModel):
            if not hasattr(release, "components_"):
                raise InputError(f"the {type(release).__name__} is not fitted. Fit it, or pass a Release.")
            release = release.release()
        if not isinstance(release, Release):
            raise InputError(f"PrivateTrends takes a Release or a fitted model; found a {type(release).__name__}.")
        if release.collections is not None:
            raise InputError(
                "a cross-collection model has topics of its own for each collection, which trends cannot compare. Use "
                "a model without collections, and by='class' for the collections."
            )
        if release.guarantee.basis is not Basis.PROVEN and not self.public_model:  # [model]
            raise WouldLeak(
                "the model has no proven guarantee, so its topics may reveal the documents that it was trained on, and "
                "the trends name their words. Use a private model, or say that the model and its documents are public "
                "(public_model=True)."
            )
        return release

    def _check_unit(self, release: Release, unit: Unit) -> None:
        """A model that protects users comes from text of users: trends must not quietly promise less."""
        if release.guarantee.unit is Unit.USER and unit is not Unit.USER and not self.public_model:
            raise InputError(
                "the model protects all documents of one user, and without user ids the trends would protect single "
                "documents only. Name the user of each document (groups=); where nobody has two "
                "documents, any id of a document will do."
            )

    def _model_condition(self, release: Release) -> str:
        its = release.guarantee
        if self.public_model or its.unit is None:
            return PUBLIC_MODEL
        return COUNTED_APART.format(rounded_up(its.epsilon), its.delta, its.unit)

    def _read(self, release: Release, X: Any) -> tuple[Corpus, tuple[str, ...]]:
        """The documents in the words of the model, and what must be assumed about them."""
        if isinstance(X, SelectedCounts) and (selected := X.to_corpus()) is not None:
            X = selected
        tokenizer: AnyTokenizer = self.tokenizer
        documents = release.documents(X, tokenizer=tokenizer)
        if not isinstance(X, Corpus):
            return documents, () if holds_texts(X) else (LEFT_OUT,)
        if X.vocabulary.origin == "text" and not X.vocabulary.complete:  # [words]
            raise WouldLeak(
                "this corpus does not hold all words of its text: some were left out by looking at all documents, so "
                "what is read of one document depends on the others. Pass the texts, or a corpus of all their words."
            )
        return documents, (LEFT_OUT,) if X.vocabulary.origin == "unknown" else ()

    def _check_documents(self, slices: Slices, places: IntArray, corpus: Corpus) -> None:
        """Refuse input that was surely meant otherwise, before it is charged. Like other checks of the input it reads
        private documents, and its message says nothing about them."""
        n = corpus.n_documents
        if (places != UNREADABLE).sum() < MOST * n:
            raise InputError(slices.unreadable)
        if (places >= 0).sum() < HARDLY_ANY * n:
            raise InputError(
                f"hardly any document is in one of {slices.span}. Check them, and the column. Nothing was charged."
            )
        if (corpus.lengths > 0).sum() < HARDLY_ANY * n:
            raise InputError(
                "hardly any document holds a word of the model. Are they of the same kind and language? Nothing was "
                "charged."
            )

    def _with_model(self, release: Release, plan: TrendsPlan, unit: Unit) -> float | None:
        its = release.guarantee
        if its.basis is not Basis.PROVEN or (its.unit, its.relation) != (unit, Relation.ADD_REMOVE):
            return None
        if not release.ledger:
            return None
        entries = [Entry.from_json(entry) for entry in release.ledger]
        together = accounting.spent((*entries, plan.entry), float(self.delta)).epsilon
        return together if math.isfinite(together) else None

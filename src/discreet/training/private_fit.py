"""What every private fit has in common, in order: checks, ledger, key, checkpoint, payment, guarantee.

Models differ in what they release. Which unit is protected, against whom, and from which change of the documents is
stated once, when a `PrivateFit` is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from discreet._errors import DiscreetError, InputError, counted, warn_caller
from discreet._random import Key
from discreet._types import AnyArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation, new_run
from discreet.release.usefulness import Setting, Usefulness, foreseen
from discreet.training import self_test
from discreet.training.checkpoint import Checkpoint, open_checkpoint, reopened
from discreet.training.inputs import (
    NOTHING,
    check_groups,
    check_phrases,
    check_vocabulary,
    is_by_user,
    vocabulary_cost,
)
from discreet.training.own_ledger import OwnLedger, refuse_in_a_search, searched
from discreet.training.payment import Payment


class PrivateFit:
    """One fit of ``model`` that protects one ``unit`` whose data are added or removed, or replaced (``relation``).

    ``observer`` says against whom the guarantee holds. Without ``unit``, the unit is the user if there are ``groups``
    (by default the corpus's own), and the document if there are none. ``no_word_list``: there is none to
    check, because the fit selects its words itself, or takes those of a model that has a guarantee of its own.
    """

    def __init__(
        self,
        model: Any,
        corpus: Corpus | StoredCorpus,
        *,
        unit: Unit | None = None,
        relation: Relation = Relation.ADD_REMOVE,
        observer: Observer = Observer.STATISTICS,
        groups: Any = None,
        no_word_list: bool = False,
    ) -> None:
        self._model, self._corpus, self._observer = model, corpus, observer
        self._conditions = (*(() if no_word_list else check_vocabulary(corpus, groups)), *check_phrases(corpus))
        self.groups = check_groups(groups, corpus) if unit in (None, Unit.USER) else None
        self.unit = unit or (Unit.USER if is_by_user(corpus, self.groups) else Unit.DOCUMENT)
        self._vocabulary = NOTHING if no_word_list else vocabulary_cost(corpus, self.unit)
        if self._vocabulary.entries and self._vocabulary.ledger.relation != relation:
            raise InputError(
                f"the words were selected privately for adding or removing a {self.unit}, but this fit protects "
                "against replacing one: their costs cannot be added. Use public words."
            )
        shared = self._vocabulary.same_run
        self.ledger = self._vocabulary.ledger if shared else open_ledger(model, self.unit, relation)
        self.key = Key.open(model.random_state)
        self._checkpoint: Checkpoint | None = None
        self._foreseen = ""

    @property
    def vocabulary_entries(self) -> tuple[Entry, ...]:
        """The cost of the words: part of the same budget."""
        return self._vocabulary.entries

    @property
    def saved(self) -> Mapping[str, AnyArray]:
        """The state to resume from; empty in a new run."""
        return {} if self._checkpoint is None else self._checkpoint.state

    @property
    def setting(self) -> Setting:
        """What is known about this fit without its documents."""
        return Setting(
            epsilon=float(self._model.epsilon),
            n_units=getattr(self._model, "n_units", None),
            users=self.unit is Unit.USER,
            selected=self._corpus.vocabulary.origin == "private-selection",
            delta=float(self._model.delta),
        )

    def resume(self, plan: Sequence[Entry], **facts: Any) -> None:
        """Open the model's checkpoint, if it has one. A resumed run gets a fresh key and a ledger with what was
        spent."""
        self._checkpoint = open_checkpoint(self._model, self._corpus, self.groups, plan, **facts)
        if self._checkpoint is not None and self._checkpoint.spent:
            self.key = self.key.renewed(len(self._checkpoint.charges))
            self.ledger = reopened(self.ledger, self._checkpoint)
        elif self.unit in (Unit.DOCUMENT, Unit.USER):
            self._foresee(plan)

    def pay(
        self, n_rounds: int, rounds: Sequence[Entry], *, draws: Sequence[Entry] = (), preliminary: Sequence[Entry] = ()
    ) -> Payment:
        """Pay for everything at once, or with a checkpoint stage by stage. Includes the cost of the words if it was
        paid elsewhere."""
        return Payment(
            self.ledger,
            n_rounds,
            rounds,
            draws=draws,
            preliminary=preliminary,
            owed=self._vocabulary.owed(self.ledger),
            checkpoint=self._checkpoint,
            every=self._model.checkpoint_every,
            method=type(self._model).__name__,
        )

    def reserve(self, plan: Sequence[Entry], *, run: str | None = None) -> Reservation:
        """Charge everything at once, for a fit that cannot be resumed."""
        entries = (*plan, *self._vocabulary.owed(self.ledger))
        return self.ledger.reserve(entries, run=run or new_run(), method=type(self._model).__name__)

    def end(
        self,
        plan: Sequence[Entry],
        epsilon: float,
        *conditions: str,
        remarks: Callable[[Sequence[Entry]], tuple[str, ...]] = lambda spent: (),
    ) -> None:
        """Set the ledger, this fit's part of it and the guarantee of the model; then remove the checkpoint.

        ``remarks`` computes, from everything that was spent, what the guarantee states besides its conditions.
        """
        conditions, spent = (*searched(), *self._conditions, *conditions), (*self._vocabulary.entries, *plan)
        if self._checkpoint is not None:
            # the words were charged in this run too
            here = set(self._vocabulary.entries) <= set(self._checkpoint.spent)
            elsewhere, planned = ((), spent) if here else (self._vocabulary.entries, plan)
            epsilon, more = self._checkpoint.account(planned, elsewhere, float(self._model.delta), self.ledger)
            conditions, spent = (*conditions, *more), (*elsewhere, *self._checkpoint.spent)
        if isinstance(self.ledger, OwnLedger):
            self.ledger.include(self._vocabulary.ledger)
        self._model.ledger_, self._model._spent = self.ledger, spent
        self._model.guarantee_ = self._guarantee(epsilon, conditions, lambda: remarks(spent))
        if self._checkpoint is not None:
            self._checkpoint.done()
        found: Usefulness | None = getattr(self._model, "usefulness_", None)
        if found is not None and not found.useful and not self._foreseen:
            warn_caller(f"these {found.summary()}")

    def _guarantee(
        self, epsilon: float, conditions: tuple[str, ...], remarks: Callable[[], tuple[str, ...]]
    ) -> Guarantee:
        """What was proved, if compiled code still passes its self-test. A seeded fit has no guarantee."""
        self_test.check(self._model._self_tests)
        if self.key.seeded or self._vocabulary.seeded:
            return Guarantee.none(SEEDED, f"without the seed it would be epsilon={epsilon:.4g} for one {self.unit}")
        return Guarantee(
            epsilon=epsilon,
            delta=float(self._model.delta),
            unit=self.unit,
            observer=self._observer,
            relation=self.ledger.relation,
            basis=Basis.PROVEN,
            reasons=(*conditions, *remarks()),
        )

    def _foresee(self, plan: Sequence[Entry]) -> None:
        """Warn before anything is charged if the topics are sure to be useless, unless the budget will refuse the fit
        anyway."""
        with suppress(DiscreetError):
            self.ledger.would_take((*plan, *self._vocabulary.owed(self.ledger)))
            self._foreseen = foreseen(self._corpus.n_words, int(self._model.n_topics), self.setting)
        if self._foreseen:
            warn_caller(f"these {self._foreseen}")


def open_ledger(model: Any, unit: Unit, relation: Relation = Relation.ADD_REMOVE) -> Ledger:
    """The model's ledger, which must have the same unit and relation, or a new one for this fit alone.

    Every private fit calls this first, so nothing is charged if compiled code fails its self-test.
    """
    self_test.check(model._self_tests)
    if model.ledger is None:
        # without an epsilon the noise is given instead, and the fit's own ledger sets no limit
        budget = None if model.epsilon is None else Budget(float(model.epsilon), float(model.delta))
        if model.random_state is not None:  # it promises nothing, so there is nothing to add up
            return Ledger(budget, unit=unit, relation=relation)
        refuse_in_a_search(model)
        return OwnLedger(budget, unit=unit, relation=relation)
    ledger: Ledger = model.ledger
    if (ledger.unit, ledger.relation) != (unit, relation):
        users = ", or give groups= for users" if unit is Unit.DOCUMENT and relation is Relation.ADD_REMOVE else ""
        raise InputError(
            f"one {unit} is to be protected ({relation}), but the ledger counts per {ledger.unit} "
            f"({ledger.relation}). Use a ledger of unit '{unit}' and relation '{relation}'{users}."
        )
    return ledger


def units_in_words(n_units: float, *, public: bool) -> str:
    """The number of units as text for warnings, which says whether the number is noisy."""
    return counted(n_units, "unit") if public else f"about {counted(n_units, 'unit')} (a noisy count)"


def warn_of_delta(delta: float, n_units: float, units: str) -> None:
    """Warn if delta is so large that the guarantee means little. ``units``: their number as text."""
    if delta * n_units >= 1:
        warn_caller(
            f"delta={delta:g} is not below one over the number of units, with {units}: it would permit publishing one "
            "unit outright. Choose a much smaller delta.",
        )

"""A private fit of whole documents or people: whose data, who pays, which key, what to go on from, what was earned.

`PrivateLDA`, `SubsampledLDA`, `VariationalLDA` and `SpectralLDA` differ in what they release. Everything around it is
the same and stands here, in the order in which it happens: refuse what would leak; open the ledger and the key; find
the checkpoint of a run that was interrupted; pay, before noise is drawn; and in the end say what was spent.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from discreet._errors import DiscreetError
from discreet._random import Key
from discreet._types import AnyArray
from discreet.corpus.corpus import Corpus
from discreet.evaluation.usefulness import Setting, Usefulness, foreseen
from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import Unit
from discreet.privacy.ledger import Reservation, new_run
from discreet.training.checkpoint import Checkpoint, open_checkpoint, reopened
from discreet.training.inputs import check_groups, check_vocabulary, vocabulary_cost
from discreet.training.own_ledger import OwnLedger
from discreet.training.payment import Payment
from discreet.training.promise import open_ledger, proven


class UnitFit:
    """One fit of ``model``. ``groups`` are numbers, or None where documents are the units."""

    def __init__(self, model: Any, corpus: Corpus, groups: Any) -> None:
        self._model, self._corpus = model, corpus
        self._assumptions = check_vocabulary(corpus, groups)
        self.groups = check_groups(groups, corpus)
        self.unit = Unit.DOCUMENT if self.groups is None else Unit.USER
        self._words = vocabulary_cost(corpus, self.unit)
        self.ledger = self._words.ledger if self._words.same_run else open_ledger(model, self.unit)
        self.key = Key.open(model.random_state)
        self._checkpoint: Checkpoint | None = None
        self._foreseen = ""

    @property
    def before(self) -> tuple[Entry, ...]:
        """What the words have cost: part of the same budget."""
        return self._words.entries

    @property
    def saved(self) -> Mapping[str, AnyArray]:
        """The state to go on from; nothing in a new run."""
        return {} if self._checkpoint is None else self._checkpoint.state

    @property
    def setting(self) -> Setting:
        """What is known of this fit without its documents."""
        return Setting(
            epsilon=float(self._model.epsilon),
            n_units=getattr(self._model, "n_units", None),
            users=self.unit is Unit.USER,
            selected=self._corpus.vocabulary.origin == "private-selection",
        )

    def resume(self, plan: Sequence[Entry], **facts: Any) -> None:
        """Open the model's checkpoint, if it has one. A run that goes on has a fresh key, and knows what was spent."""
        self._checkpoint = open_checkpoint(self._model, self._corpus, self.groups, plan, **facts)
        if self._checkpoint is not None and self._checkpoint.spent:
            self.key = self.key.renewed(len(self._checkpoint.charges))
            self.ledger = reopened(self.ledger, self._checkpoint)
        else:
            self._foresee(plan)

    def pay(self, before: Sequence[Entry], rounds: Sequence[Event], label: str) -> Payment:
        """For everything, or with a checkpoint stage by stage. What the words cost is owed too, if paid elsewhere."""
        return Payment(
            self.ledger,
            before,
            rounds,
            owed=self._words.owed(self.ledger),
            checkpoint=self._checkpoint,
            every=self._model.checkpoint_every,
            label=label,
            method=type(self._model).__name__,
        )

    def reserve(self, plan: Sequence[Entry]) -> Reservation:
        """All at once, for a fit that cannot be resumed."""
        entries = (*plan, *self._words.owed(self.ledger))
        return self.ledger.reserve(entries, run=new_run(), method=type(self._model).__name__)

    def end(self, plan: Sequence[Entry], epsilon: float, *assumptions: str) -> None:
        """Hand the ledger, this fit's part of it and the guarantee to the model; then the checkpoint may go."""
        assumed, spent = (*self._assumptions, *assumptions), (*self._words.entries, *plan)
        if self._checkpoint is not None:
            here = set(self._words.entries) <= set(self._checkpoint.spent)  # the words were charged in this run too
            elsewhere, planned = ((), spent) if here else (self._words.entries, plan)
            epsilon, more = self._checkpoint.account(planned, elsewhere, float(self._model.delta), self.ledger)
            assumed, spent = (*assumed, *more), (*elsewhere, *self._checkpoint.spent)
        key = replace(self.key, seeded=self.key.seeded or self._words.seeded)
        if isinstance(self.ledger, OwnLedger):
            self.ledger.include(self._words.ledger)
        self._model.ledger_, self._model._spent = self.ledger, spent
        self._model.guarantee_ = proven(self._model, epsilon, self.unit, key, assumed)
        if self._checkpoint is not None:
            self._checkpoint.done()
        found: Usefulness | None = getattr(self._model, "usefulness_", None)
        if found is not None and not found.useful and not self._foreseen:
            warnings.warn(f"these {found.summary()}", stacklevel=3)

    def _foresee(self, plan: Sequence[Entry]) -> None:
        """Say before anything is charged what can be known then, unless the budget will refuse the fit anyway."""
        with suppress(DiscreetError):
            self.ledger.would_take((*plan, *self._words.owed(self.ledger)))
            self._foreseen = foreseen(self._corpus.n_words, int(self._model.n_topics), self.setting)
        if self._foreseen:
            warnings.warn(f"these {self._foreseen}", stacklevel=4)

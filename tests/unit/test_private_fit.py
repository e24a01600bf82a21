"""What every private fit has in common: its checks, its ledger, what it pays and when, and its guarantee."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import Ledger, PrivateVectorizer, SpectralLDA
from discreet._errors import InputError, Overdrawn
from discreet.corpus import Vocabulary, lda_corpus
from discreet.models.hybrid.model import HybridLDA
from discreet.privacy import Basis, Entry, Observer, Relation, Unit
from discreet.privacy.events import BoundedRangeDraw, PureRelease
from discreet.training.checkpoint import Checkpoint
from discreet.training.inputs import PUBLIC_WORDS
from discreet.training.payment import Payment
from discreet.training.private_fit import PrivateFit

CORPUS = lda_corpus(30, 20, 2, seed=1).corpus.restrict(
    Vocabulary(lda_corpus(1, 20, 2, seed=1).corpus.vocabulary, "public")
)
USERS = np.arange(30) // 3
SELECTED = PrivateVectorizer(epsilon=20.0, output="corpus", random_state=1).fit_transform(["rain wind hail"] * 300)
FIRST, LATER, DRAW = PureRelease(epsilon=0.1), PureRelease(epsilon=0.2), BoundedRangeDraw(eta=0.1)
PLAN = (Entry(FIRST, 2, "test"),)


def model(**changes: Any) -> Any:
    given = {"epsilon": 1.0, "delta": 1e-6, "ledger": None, "random_state": None, "checkpoint": None, "_self_tests": ()}
    return SimpleNamespace(**{**given, **changes})


# --- the guarantee ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("observer", [Observer.STATISTICS, Observer.TRAJECTORY])
@pytest.mark.parametrize(
    ("given", "groups", "unit"),
    [(None, None, Unit.DOCUMENT), (None, USERS, Unit.USER), (Unit.WORD, None, Unit.WORD), (Unit.BIT, None, Unit.BIT)],
)
def test_the_guarantee_is_of_what_the_fit_was_made_for(given, groups, unit, relation, observer):
    fitted = model()
    fit = PrivateFit(fitted, CORPUS, unit=given, relation=relation, observer=observer, groups=groups)
    assert (fit.groups is None) == (groups is None)
    fit.reserve(PLAN)
    fit.end(PLAN, 0.2, "a condition", remarks=lambda spent: (f"{len(spent)} entries",))
    found = fitted.guarantee_
    assert (found.unit, found.relation, found.observer, found.basis) == (unit, relation, observer, Basis.PROVEN)
    assert (found.epsilon, found.delta) == (0.2, 1e-6)
    assert found.reasons == (PUBLIC_WORDS, "a condition", "1 entries")
    assert (fitted.ledger_.unit, fitted.ledger_.relation, fitted.ledger_.entries) == (unit, relation, PLAN)
    assert fitted._spent == PLAN


def test_a_seed_promises_nothing():
    fitted = model(random_state=3)
    fit = PrivateFit(fitted, CORPUS, unit=Unit.WORD, relation=Relation.REPLACE)
    fit.end(PLAN, 0.2)
    assert fitted.guarantee_.basis is Basis.NONE
    assert "without the seed it would be epsilon=0.2 for one word" in fitted.guarantee_.reasons


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ledger", "options"),
    [
        (Ledger(), {"relation": Relation.REPLACE}),
        (Ledger(), {"groups": USERS}),
        (Ledger(unit="word"), {}),
        (Ledger(unit="word", relation="add-remove"), {"unit": Unit.WORD, "relation": Relation.REPLACE}),
    ],
)
def test_a_ledger_of_another_unit_or_relation_is_refused(ledger, options):
    with pytest.raises(InputError, match="but the ledger counts per"):
        PrivateFit(model(ledger=ledger), CORPUS, **options)
    assert ledger.entries == ()


def test_words_that_were_selected_under_another_unit_or_relation_are_refused():
    assert PrivateFit(model(), SELECTED).vocabulary_entries
    for replaced in (
        lambda: PrivateFit(model(), SELECTED, unit=Unit.DOCUMENT, relation=Relation.REPLACE),
        lambda: SpectralLDA(2, epsilon=1.0, configuration=1).fit(SELECTED),
    ):
        with pytest.raises(InputError, match="selected privately for adding or removing a document, but this fit"):
            replaced()
    for by_word in (
        lambda: PrivateFit(model(), SELECTED, unit=Unit.WORD, relation=Relation.REPLACE),
        lambda: HybridLDA(2, epsilon=1.0).fit(SELECTED),
    ):
        with pytest.raises(InputError, match="selected to protect one document, but this fit protects one word"):
            by_word()


# --- payment ----------------------------------------------------------------------------------------------------------


def drawn(reservation: Any) -> list[Any]:
    return [reservation.draw() for _ in range(reservation.left)]


@pytest.mark.parametrize("every", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("one_more", [False, True])
def test_stages_are_paid_one_by_one_and_come_to_the_plan(tmp_path, every, one_more):
    """Five rounds of two kinds, each with a draw, and maybe a release after the last, which is paid with it."""
    ledger, checkpoint = Ledger(unit="word"), Checkpoint(tmp_path / "c", "run")
    rounds = [Entry(FIRST, 2, "rounds"), Entry(LATER, 3 + one_more, "rounds")]
    payment = Payment(
        ledger, 5, rounds, draws=[Entry(DRAW, 5, "draws")], preliminary=PLAN, checkpoint=checkpoint, every=every
    )
    assert drawn(payment.reservation)[:2] == [FIRST, FIRST]
    draws = []
    for number in range(1, 6):
        payment.open_round(number, dict)
        paid = min(-(-number // every) * every, 5)
        assert payment.reservation.drawn + payment.reservation.left == 2 + paid + (one_more and paid == 5)
        assert payment.draw_reservation.drawn + payment.draw_reservation.left == paid
        drawn(payment.reservation)
        draws += drawn(payment.draw_reservation)
    assert sum(entry.count for entry in ledger.entries) == 2 + 10 + one_more
    assert draws == [DRAW] * 5
    assert [event for entry in payment.reservation.plan for event in [entry.event] * entry.count] == [
        *[FIRST] * 4,
        *[LATER] * (3 + one_more),
    ]
    assert checkpoint.spent == ledger.entries
    with pytest.raises(Overdrawn):
        payment.reservation.draw()


def test_what_is_owed_is_charged_and_cannot_be_drawn():
    ledger = Ledger()
    payment = Payment(ledger, 2, PLAN, owed=[Entry(LATER, 1, "words")])
    assert [entry.event for entry in ledger.entries] == [FIRST, LATER]
    assert drawn(payment.reservation) == [FIRST, FIRST]

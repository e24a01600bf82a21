"""What randomised reports promise: one guarantee for a word, one for the whole report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from discreet.mechanisms.local import RandomisedResponse
from discreet.privacy.guarantee import SEEDED, WHOLE, Basis, Guarantee, Observer, Relation, Unit, rounded_up
from discreet.training import self_test
from discreet.training.inputs import PUBLIC_WORDS

SELF_TESTS = (self_test.flips,)

CLIENTS = "every client randomises as these numbers say"
"""A condition where reports were not made by this process: the server cannot check it."""

SIMULATED = "whoever ran this may see the documents: the clients were simulated here, and another run is another report"
"""A condition where `fit` was given documents: each fit of the same ones randomises them again."""

ASSUMED = (
    "each text is randomised once: reports of the same person about other texts add up",
    "it is no secret that a report was sent, and when",
)


class Promises(NamedTuple):
    """Against the server that receives a report."""

    word: Guarantee
    """One word added to the document or taken from it (unit *bit*)."""
    report: Guarantee
    """The document replaced by another."""


def promises(
    response: RandomisedResponse, *, seeded: bool = False, conditions: Sequence[str] = (PUBLIC_WORDS,)
) -> Promises:
    """Proven by ``mechanisms/local.proof.md``, if compiled code passes its self-test. ``conditions`` are those of the
    caller, what is assumed about the word list among them."""
    self_test.check(SELF_TESTS)
    if seeded:
        return Promises(Guarantee.none(SEEDED), Guarantee.none(SEEDED))
    about: dict[str, Any] = {"delta": 0.0, "observer": Observer.REPORT, "relation": Relation.REPLACE}
    about["reasons"] = (*conditions, *ASSUMED)
    whole = Guarantee(response.epsilon_report, unit=Unit.REPORT, basis=Basis.PROVEN, **about)
    word = replace(whole, epsilon=response.epsilon_word, unit=Unit.BIT)
    remark = (
        f"{WHOLE}replaced by another it is ε = {rounded_up(whole.epsilon)} ({response.n_bits:,} bits of "
        f"ε = {rounded_up(response.epsilon_bit)} each)"
    )
    return Promises(replace(word, reasons=(*word.reasons, remark)), whole)

"""The guarantee card: what is promised and what is not, in words first, and the odds of an attacker."""

from __future__ import annotations

from discreet.privacy import Basis, Guarantee, Observer, Unit
from discreet.privacy.guarantee import RESUMED, WHOLE, observed, rounded_up
from discreet.privacy.odds import Guess, Odds, percent
from discreet.report.figures import odds_figure
from discreet.report.markup import Html, Part, table, tag, whole

_STATUS = {
    Basis.PROVEN: ("good", "Private, with a proof: may be given to everyone for whom the promise below is enough."),
    Basis.CLAIMED: ("bad", "The privacy of this model is claimed and not proven. Do not rely on it."),
    Basis.NONE: ("bad", "Not private: give this page only to people who may read the documents."),
}
_MORE = {Unit.WORD: "a whole document", Unit.DOCUMENT: "all documents of one person", Unit.BIT: "a whole report"}
_ONE_WORD = (Unit.WORD, Unit.BIT)
"""Units that are less than what people mean by a text: the first lines of the page say so."""

WEAK = 0.9
"""A promise by which an attacker may be right more often than this is called weak."""


def status(guarantee: Guarantee, odds: Odds) -> tuple[str, str]:
    """Its class, and the sentence at the top of the page."""
    best = odds.own or odds.bound
    if guarantee.basis is Basis.PROVEN and best is not None and best.accuracy > WEAK:
        return "bad", f"A weak promise, with a proof: an attacker may be right {percent(best.accuracy)} of the time."
    if guarantee.basis is Basis.PROVEN and guarantee.unit in _ONE_WORD and guarantee.group == 1:
        return "bad", f"The proof protects single words: {_MORE[guarantee.unit]} has less protection, or hardly any."
    return _STATUS[guarantee.basis]


def promise(guarantee: Guarantee, odds: Odds) -> Html:
    parts: list[Part] = [tag("h2", "What is promised", id="promise-title")]
    if odds.bound is None:
        parts.append(tag("p", whole(str(guarantee)), cls="lead"))
    else:
        parts += [tag("p", _lead(guarantee, odds), cls="lead"), _odds(odds, guarantee), tag("h3", "The same exactly")]
        exactly = str(guarantee).split(" It assumes: ")[0]  # which has a list of its own
        parts += [tag("p", whole(exactly)), _numbers(guarantee)]
    happened = [reason for reason in guarantee.reasons if reason.startswith(RESUMED)]
    lists = [
        _list("It holds if", guarantee.conditions if guarantee.basis is Basis.PROVEN else ()),
        _list("What is not promised", _not_promised(guarantee)),
        _list("What happened in the run", happened),
    ]
    return tag("section", parts, tag("div", lists, cls="sides"), id="promise", aria_labelledby="promise-title")


def _lead(guarantee: Guarantee, odds: Odds) -> str:
    """One sentence for whoever reads no other."""
    assert odds.bound is not None
    best = odds.own or odds.bound
    if guarantee.basis is not Basis.PROVEN:
        claim = (
            f"by which an attacker who guesses {odds.guess} would be right at most {percent(best.accuracy)} of the time"
        )
        return f"There is a published claim, {claim}. It is not proven: {'; '.join(guarantee.reasons)}."
    said = (
        f"An attacker who knows everything else and guesses {odds.guess} is right at most {percent(best.accuracy)} of "
        "the time. Tossing a coin is right 50% of the time. This is proven."
    )
    whole = [reason for reason in guarantee.reasons if reason.startswith(WHOLE)] if guarantee.group == 1 else []
    return said + "".join(f" {reason[0].upper()}{reason[1:]}." for reason in whole)


def _odds(odds: Odds, guarantee: Guarantee) -> Html:
    assert odds.bound is not None
    claimed = guarantee.basis is not Basis.PROVEN
    title = "The odds of an attacker, if the claim were true" if claimed else "The odds of an attacker"
    sides: list[tuple[str, Guess | None]] = [
        ("by the promise, (ε,\N{NO-BREAK SPACE}δ) alone", odds.bound),
        ("of this very model", odds.own),
    ]
    rows = [
        ("chance", "50%", "0.1%"),
        *((name, percent(one.accuracy), percent(one.true_positives)) for name, one in sides if one is not None),
    ]
    columns = ("at most", "right guesses", "detected, at one false alarm in a thousand")
    why = (
        "The promise is one point of a curve. The odds of this very model use the whole curve, the privacy loss "
        "distribution of what the ledger says was released: a better bound, with the same proof."
    )
    caption = "Right guesses out of all, where a coin decides what is true."
    drawn = [
        tag("figure", odds_figure(odds), tag("figcaption", caption)),
        table("The odds as numbers", columns, rows, numbers=(1, 2)),
    ]
    said = [tag("p", sentence) for sentence in odds.sentences()]
    if odds.own is not None:
        said.append(tag("p", why, cls="soft"))
    return tag("div", tag("h3", title), tag("div", tag("div", said), tag("div", drawn), cls="sides"))


def _numbers(guarantee: Guarantee) -> Html:
    assert guarantee.observer is not None
    cells = [
        ("the change considered", guarantee.change),
        ("against whoever sees", observed(guarantee.observer)),
        ("ε", rounded_up(guarantee.epsilon)),
        ("δ", f"{guarantee.delta:g}"),
        ("basis", str(guarantee.basis)),
    ]
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in cells], cls="facts")


def _not_promised(guarantee: Guarantee) -> list[str]:
    if guarantee.basis is Basis.NONE:
        return ["Anything. Whoever has the topics may find out which documents they were made of."]
    whole = [reason.removeprefix(WHOLE) for reason in guarantee.reasons if reason.startswith(WHOLE)]
    found = [f"As much for a whole report: {reason}." for reason in whole]
    if guarantee.unit in _MORE and guarantee.group == 1 and not found:
        found.append(f"The same protection for {_MORE[guarantee.unit]}: that is weaker.")
    many = "reports" if guarantee.unit is Unit.BIT else f"{guarantee.unit}s"
    found.append(f"Hiding what many {many} have in common: that is what topics are.")
    found.append("Anything about what is computed with this model on documents: such results are as private as these.")
    if guarantee.observer is not Observer.REPORT:
        found.append(f"Anything about other releases from the same {many}: what they cost adds up.")
        found.append("Protection from whoever trained the model, who had the documents.")
    return found


def _list(title: str, items: list[str] | tuple[str, ...]) -> Html | None:
    if not items:
        return None
    return tag("div", tag("h3", title), tag("ul", [tag("li", whole(item)) for item in items]))

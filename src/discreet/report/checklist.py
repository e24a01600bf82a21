"""What is left to the curator: after the pyramid of NIST SP 800-226, in our words.

Near, Darais, Lefkovitz and Howarth, *Guidelines for Evaluating Differential Privacy Guarantees*, NIST Special
Publication 800-226, 2025: each layer of the pyramid is worth only as much as those below it. A model folder can settle
some of its questions; the others are open whatever the folder says.
"""

from __future__ import annotations

from typing import NamedTuple

from discreet.privacy import Basis, Observer, Unit
from discreet.privacy.guarantee import rounded_up
from discreet.release.release import Release
from discreet.report.markup import Html, Part, tag, whole

SOURCE = (
    "After the pyramid of NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (Near, Darais, "
    "Lefkovitz and Howarth 2025), in our words. A layer protects only as well as the layers below it."
)


class Question(NamedTuple):
    title: str
    settled: str
    """What this model says about it; empty if it can say nothing."""
    open: str
    """What is left to the curator; empty if there is nothing."""


def checklist(release: Release) -> Html:
    parts: list[Part] = [
        tag("h2", "What is left to do", id="check-title"),
        tag("p", SOURCE, cls="soft"),
    ]
    for layer, questions in layers(release):
        items = [
            tag(
                "li",
                tag("strong", question.title),
                tag("p", tag("span", "here: ", cls="settled"), whole(question.settled)) if question.settled else None,
                tag("p", tag("span", "to do: ", cls="open"), whole(question.open)) if question.open else None,
            )
            for question in questions
        ]
        parts += [tag("h3", layer), tag("ul", items, cls="checks")]
    return tag("section", parts, id="check", aria_labelledby="check-title")


def layers(release: Release) -> list[tuple[str, list[Question]]]:
    """From the top of the pyramid to its base."""
    return [
        ("At the top: the promise", [_strength(release), _unit(release), _conditions(release)]),
        (
            "In the middle: what can undermine it",
            [_trust(release), _correctness(release), _budget(release), _usefulness(release), _SECURITY],
        ),
        ("At the base: the data", [_COLLECTION]),
    ]


def _strength(release: Release) -> Question:
    guarantee = release.guarantee
    left = "Decide whether these odds are good enough for documents like these, and write down why."
    if guarantee.basis is Basis.NONE:
        return Question("How strong it is", "Nothing is promised.", "Keep the model where the documents are.")
    return Question("How strong it is", f"ε = {rounded_up(guarantee.epsilon)}, δ = {guarantee.delta:g}.", left)


def _unit(release: Release) -> Question:
    unit = release.guarantee.unit
    title = "Whom it protects"
    if unit is None:
        return Question(title, "Nobody.", "If people are behind the documents, train a private model of them.")
    said = "One word of one report." if unit is Unit.BIT else f"One {unit}."
    if unit is Unit.USER:
        return Question(title, said, "Make sure that nobody has two ids, and that nobody else is written about.")
    if unit is Unit.DOCUMENT:
        left = "If one person may have several documents, or be in several, protect users instead (--group)."
        return Question(title, said, left)
    if unit is Unit.WORD:
        return Question(title, said, "A document has many words: decide whether words are what needs protection.")
    return Question(title, said, "Count the reports of each person: the cost of each adds up.")


def _conditions(release: Release) -> Question:
    conditions = release.guarantee.conditions if release.guarantee.basis is Basis.PROVEN else ()
    if release.guarantee.basis is Basis.PROVEN and not conditions:
        return Question(
            "What it assumes", "Nothing about this run.", "Choose parameters without looking at the documents."
        )
    if not conditions:
        return Question("What it assumes", "Nothing is proven, so there are no conditions to keep.", "")
    return Question("What it assumes", "", f"Make sure that {'; that '.join(conditions)}.")


def _trust(release: Release) -> Question:
    if release.guarantee.observer is Observer.REPORT:
        return Question(
            "Who is trusted",
            "Nobody but the device of each person: noise is added before a report is sent.",
            "Make sure that the program on the device is the one that was promised. That a report came, and when, is "
            "visible.",
        )
    return Question(
        "Who is trusted",
        "Whoever trained the model: noise was added after the documents had been gathered in one place."
        if release.guarantee.basis is Basis.PROVEN
        else "Everyone who has this model.",
        "Limit who can read the documents and the computer of the training, and what is kept there afterwards.",
    )


def _correctness(release: Release) -> Question:
    basis = release.guarantee.basis
    if basis is Basis.PROVEN:
        said = "The mechanism is proven, and the program tests its compiled code before a fit."
        return Question("Whether it was done right", said, "Audit it yourself if much depends on it: discreet audit.")
    why = "; ".join(release.guarantee.reasons)
    return Question("Whether it was done right", f"There is no proof: {why}.", "Do not publish on this basis.")


def _budget(release: Release) -> Question:
    said = "The ledger below lists what was charged for this model." if release.ledger else ""
    left = (
        "Count all releases from the same documents together, with one budget file for everybody (discreet budget), "
        "and do not publish what was measured on the documents, such as perplexity."
    )
    return Question("What else was released", said, left)


def _usefulness(release: Release) -> Question:
    said = (
        ""
        if release.usefulness is None
        else f"{release.usefulness.summary()[0].upper()}{release.usefulness.summary()[1:]}"
    )
    left = (
        "Noise hides small groups first: what few people write about is missing here, and its absence says nothing. "
        "Check decisions that rest on these topics for whom they leave out."
    )
    return Question("Whether it is of use, and to whom", said, left)


_SECURITY = Question(
    "Whether the computer kept quiet",
    "",
    "Seeds, checkpoints, logs, swap files and running times are outside the promise. Keep them with the documents.",
)
_COLLECTION = Question(
    "How the documents came together",
    "",
    "Check consent, storage, access and deletion. Differential privacy begins when documents are read, and noise does "
    "not mend an earlier leak.",
)

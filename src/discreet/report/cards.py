"""A card for each topic: its words as a table with bars, whiskers of the privacy noise, and those of collections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet._types import FloatArray
from discreet.release.usefulness import CLEAR
from discreet.report.facts import STOPS, Facts, short
from discreet.report.figures import bar, nearest
from discreet.report.markup import Html, Part, percent, plus_minus, tag

DIGITS = 2
"""Most digits after the point of a probability in a card. (The script has the same.)"""


def cards(facts: Facts) -> Html:
    near = nearest(facts) if facts.n_topics > 1 else [[]]
    made = [_card(facts, k, near[k]) for k in facts.order.tolist()]
    return tag(
        "section",
        tag("h2", "The words of each topic", id="cards-title"),
        tag("p", _legend(facts), cls="soft"),
        _slider(),
        tag("div", made, id="cards", cls="cards wide" if facts.release.collections else "cards"),
        id="each",
        aria_labelledby="cards-title",
    )


def _legend(facts: Facts) -> str:
    said = "Bars are probabilities in the topic; the tick across is how frequent the word is in all topics together."
    if facts.errors is not None:
        said += (
            f" After ± stands one standard error of the privacy noise (before shrinking, which lowers it), and "
            f"whiskers are {CLEAR:g} of them. A bar is hollow if its whisker reaches zero: the word cannot be told "
            "from noise there."
        )
    elif facts.release.guarantee.observer is not None:
        said += " The noise of single words is not known for this kind of model, so there are no whiskers."
    if facts.release.collections is not None:
        said += " Beside the common words stand each collection's own, with their part of the topic there."
    return said


def _slider() -> Html:
    ends = "1: frequent in the topic; 0: hardly anywhere else"
    return tag(
        "div",
        tag("label", "Relevance λ", for_="relevance"),
        tag(
            "input",
            type="range",
            id="relevance",
            min=STOPS[0],
            max=STOPS[-1],
            step=0.1,
            value=STOPS[-1],
            aria_describedby="relevance-help",
        ),
        tag("output", "1", for_="relevance", id="relevance-value"),
        tag("span", ends, id="relevance-help", cls="soft"),
        cls="control",
        hidden=True,
    )


def _card(facts: Facts, k: int, near: Sequence[tuple[int, float]]) -> Html:
    release = facts.release
    about = []
    if release.topic_shares is not None:
        share = float(release.topic_shares[k])
        error = "" if release.share_errors is None else f" {plus_minus(float(release.share_errors[k]), share)}"
        about.append(f"{percent(share)}{error} of the text")
    if near:
        about.append(f"most like topic {near[0][0]}")
    if not release.present[k]:
        about.append("the text is not known to have it")
    words = _common(facts, k)
    inner: Part = words
    if release.collections is not None and release.collection_topics is not None and release.switch is not None:
        own = [
            _own(facts, k, str(label), release.collection_topics[c, k], float(release.switch[k, c]))
            for c, label in enumerate(release.collections)
        ]
        inner = tag("div", words, own, cls="beside")
    heading = tag(
        "h3", tag("span", str(k), cls="number"), f" {facts.name(k)}" if facts.name(k) else "", id=f"topic-{k}"
    )
    return tag(
        "article",
        heading,
        tag("p", ", ".join(about), cls="soft") if about else None,
        inner,
        aria_labelledby=f"topic-{k}",
        cls="card" if release.present[k] else "card absent",
        data_number=k,
        data_share=None if release.topic_shares is None else f"{release.topic_shares[k]:.6g}",
        data_name=facts.name(k) or None,
    )


def _common(facts: Facts, k: int) -> Html:
    """The words that the slider changes."""
    caption = "Common to all collections" if facts.release.collections is not None else f"Best words of topic {k}"
    rows = []
    scale = facts.scale(k)
    for w in facts.best[k].tolist():
        p, usual = short(facts.release.topics[k, w]), short(facts.usual[w])
        error = None if facts.errors is None else short(facts.errors[k, w])
        drawn = bar(p, scale, error=error, usual=usual, clear=error is None or p > CLEAR * error)
        rows.append((facts.release.vocabulary[w], p, error, drawn))
    return _bars(caption, rows, noisy=facts.errors is not None, shown=facts.release.collections is not None, topic=k)


def _own(facts: Facts, k: int, label: str, own: FloatArray, switch: float) -> Html:
    best = np.argsort(-own, kind="stable")[: facts.n_best]
    scale = float(own[best].max(initial=0.0)) or 1.0
    rows = [(facts.release.vocabulary[w], float(own[w]), None, bar(float(own[w]), scale)) for w in best.tolist()]
    return _bars(f"{label}'s own: {switch:.0%} of the topic there", rows, noisy=False, shown=True)


def _bars(
    caption: str,
    rows: Sequence[tuple[str, float, float | None, Html]],
    *,
    noisy: bool,
    shown: bool,
    topic: int | None = None,
) -> Html:
    """Words with their numbers and bars. The head is for screen readers; people see what the columns are."""
    names = ("word", "probability", *(("error",) if noisy else ()), "bar")
    body = [
        tag(
            "tr",
            tag("th", word, scope="row"),
            tag("td", percent(p, DIGITS), cls="number"),
            tag("td", plus_minus(error or 0.0, p, DIGITS), cls="number soft") if noisy else None,
            tag("td", drawn, cls="drawn"),
        )
        for word, p, error, drawn in rows
    ]
    return tag(
        "table",
        tag("caption", caption, cls=None if shown else "hidden-text"),
        tag("colgroup", [tag("col", cls=f"of-{name}") for name in names]),
        tag("thead", tag("tr", [tag("th", name, scope="col") for name in names]), cls="hidden-text"),
        tag("tbody", body),
        cls="best",
        data_topic=topic,
    )

"""All topics together: an overview that can be sorted, a map, their similarity, and words looked up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet._errors import counted
from discreet._types import FloatArray
from discreet.release.usefulness import CLEAR
from discreet.report.facts import Facts
from discreet.report.figures import LABELLED, bar, matrix, nearest, topic_map
from discreet.report.markup import Html, Part, percent, plus_minus, table, tag

SHORT = 8
"""Words of a topic in the overview."""

UNKNOWN = 30
"""Words unknown to the public text that are listed."""


# --- overview ---------------------------------------------------------------------------------------------------------


def overview(facts: Facts) -> Html:
    release = facts.release
    useful = release.usefulness
    verdict = None
    if useful is not None:
        summary = useful.summary()
        verdict = tag("p", f"{summary[0].upper()}{summary[1:]}", cls="verdict good" if useful.useful else "verdict bad")
    present = int(release.present.sum())
    known = tag(
        "label",
        tag("input", type="checkbox", id="known"),
        tag("span", f"only the {counted(present, 'topic')} that the text is known to have"),
        cls="control",
        hidden=True,
    )
    said = "The numbers of topics never change, however they are sorted."
    if release.share_errors is not None:
        said = f"After ± stands one standard error of the privacy noise; whiskers are {CLEAR:g} of them. {said}"
    if release.topic_shares is not None:
        said = f"Shares are of the text in each topic. {said}"
    if not present:
        said = f"No topic is known to be in the text: the noise hides them all. {said}"
    return tag(
        "section",
        tag("h2", "Topics", id="topics-title"),
        verdict,
        tag("p", said, cls="soft"),
        known if 0 < present < facts.n_topics else None,
        _rows(facts),
        id="topics",
        aria_labelledby="topics-title",
    )


def _rows(facts: Facts) -> Html:
    release, shares, errors = facts.release, facts.release.topic_shares, facts.release.share_errors
    named = bool(facts.names)
    keys = [
        ("number", "topic"),
        *([("name", "name")] if named else []),
        *([("share", "share")] if shares is not None else []),
    ]
    initial = "share" if errors is not None else "number"
    head: list[Part] = [
        tag(
            "th",
            tag("button", title, type="button", data_sort=key),
            scope="col",
            cls="number" if key == "share" else None,
            aria_sort=("descending" if key == "share" else "ascending") if key == initial else None,
        )
        for key, title in keys
    ]
    head += (
        [tag("th", tag("span", "share, drawn", cls="hidden-text"), scope="col", cls="drawn")]
        if shares is not None
        else []
    )
    head += [tag("th", "best words", scope="col")]
    if facts.errors is not None:
        head.append(tag("th", "above the noise", scope="col", cls="number few"))
    clear = np.take_along_axis(facts.clear, facts.best, axis=1).sum(axis=1)
    widest = float(_share_ends(facts).max(initial=0.0)) or 1.0
    body = []
    for k in facts.order.tolist():
        cells: list[Part] = [tag("th", tag("a", str(k), href=f"#topic-{k}"), scope="row", cls="number")]
        if named:
            cells.append(tag("td", facts.name(k) or "–"))
        if shares is not None:
            error = None if errors is None else float(errors[k])
            told = percent(float(shares[k])) + ("" if error is None else f" {plus_minus(error, float(shares[k]))}")
            cells.append(tag("td", told, cls="number"))
            drawn = bar(float(shares[k]), widest, error=error, clear=bool(release.present[k]))
            cells.append(tag("td", drawn, cls="drawn"))
        cells.append(tag("td", ", ".join(release.vocabulary[w] for w in facts.best[k, :SHORT])))
        if facts.errors is not None:
            cells.append(tag("td", f"{int(clear[k])} of {facts.best.shape[1]}", cls="number few"))
        share = None if shares is None else f"{shares[k]:.6g}"
        cls = None if release.present[k] else "absent"
        body.append(tag("tr", cells, cls=cls, data_number=k, data_share=share, data_name=facts.name(k) or None))
    caption = tag("caption", "All topics", tag("span", ": press a heading to sort", cls="screen"))
    made = tag("table", caption, tag("thead", tag("tr", head)), tag("tbody", body), id="overview")
    return tag("div", made, cls="scroll", tabindex="0", role="region", aria_label="All topics")


def _share_ends(facts: Facts) -> FloatArray:
    shares, errors = facts.release.topic_shares, facts.release.share_errors
    if shares is None:
        return np.zeros(0)
    return shares if errors is None else np.minimum(shares + CLEAR * errors, 2 * shares.max())


# --- map and similarity -----------------------------------------------------------------------------------------------


def relations(facts: Facts) -> Html | None:
    """Where topics lie and which are alike; nothing to show for a single one."""
    if facts.n_topics < 2:
        return None
    near = nearest(facts)
    points, weights = facts.plane.points, facts.weights
    sized = "Areas are shares of the text. " if facts.release.topic_shares is not None else ""
    places = [
        (str(k), facts.name(k) or "–", *(_coordinate(at) for at in points[k]), percent(float(weights[k])))
        for k in range(facts.n_topics)
    ]
    alike = [
        (str(k), facts.name(k) or "–", *(_near(facts, near[k], i) for i in range(min(3, facts.n_topics - 1))))
        for k in range(facts.n_topics)
    ]
    columns = ("topic", "name", "most similar", "second", "third")[: 2 + min(3, facts.n_topics - 1)]
    numbered = (
        "the numbers are theirs." if facts.n_topics <= LABELLED else "there are too many to number, see the table."
    )
    kept = f"{facts.plane.kept:.0%}"
    rest = "" if kept == "100%" else "; the rest cannot be drawn"
    crowded = (
        "" if facts.n_topics <= LABELLED else " Numbers that would cover others are left out: point at the circle."
    )
    return tag(
        "section",
        tag("h2", "How similar the topics are", id="map-title"),
        tag(
            "div",
            tag(
                "figure",
                topic_map(facts),
                tag(
                    "figcaption",
                    f"Similar topics lie close together. {sized}This plane holds {kept} of the squared "
                    f"distances (classical scaling of Hellinger distances){rest}.{crowded}",
                ),
                _behind(
                    table("Places in the map", ("topic", "name", "across", "up", "size"), places, numbers=(0, 2, 3, 4))
                ),
            ),
            tag(
                "figure",
                matrix(facts),
                tag(
                    "figcaption",
                    _scale(facts) + (f" Similar topics are neighbours here; {numbered}" if facts.n_topics > 2 else ""),
                ),
                _behind(table("The most similar topics of each", columns, alike, numbers=(0,))),
            ),
            cls="pair",
        ),
        id="map",
        aria_labelledby="map-title",
    )


def _coordinate(at: float) -> str:
    return f"{at:.3f}".replace("-", "−")


def _scale(facts: Facts) -> str:
    """What the colours of the matrix stand for."""
    found = 1 - facts.distances[~np.eye(facts.n_topics, dtype=bool)]
    least, most = f"{found.min():.2f}", f"{found.max():.2f}"
    if least == most:
        return f"Similarity of each pair, 1 − Hellinger distance: {least}."
    return (
        f"Similarity of each pair, 1 − Hellinger distance: from {least} (no colour) to {most} (the strongest colour)."
    )


def _near(facts: Facts, near: Sequence[tuple[int, float]], place: int) -> Html:
    topic, likeness = near[place]
    name = f" {facts.name(topic)}" if facts.name(topic) else ""
    return tag("span", tag("a", f"{topic}{name}", href=f"#topic-{topic}"), f" ({likeness:.2f})")


def _behind(made: Html) -> Html:
    return tag("details", tag("summary", "The same as a table"), made)


# --- words ------------------------------------------------------------------------------------------------------------


def look_up(facts: Facts) -> Html:
    label = tag("label", "Look up a word", for_="word")
    field = tag("input", type="search", id="word", autocomplete="off", autocapitalize="off", spellcheck="false")
    return tag(
        "section",
        tag("h2", "Words", id="words-title"),
        tag("div", label, field, cls="control", hidden=True),
        tag("div", id="found", aria_live="polite"),
        tag(
            "p",
            f"{facts.release.n_words:,} words are in this model. Looking one up needs a browser with scripts.",
            cls="no-script",
        ),
        _unknown(facts),
        id="words",
        aria_labelledby="words-title",
    )


def _unknown(facts: Facts) -> Html | None:
    """Words that the public text of an adapted model does not have."""
    found = facts.release.unknown_words()[:UNKNOWN]
    if not found:
        return None
    rows = [(word, percent(share), plus_minus(error, share)) for word, share, error in found]
    caption = "Words that the public text does not have, by frequency"
    return tag("details", tag("summary", caption), table(caption, ("word", "share", "error"), rows, numbers=(1, 2)))

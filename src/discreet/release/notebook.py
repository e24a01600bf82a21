"""A Release in a notebook: what ``discreet report`` says, in short. Small, without styles, every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.release.release import Release

MOST_TOPICS = 50
"""Rows of the table; a notebook is no place for hundreds."""


def release_html(release: Release) -> str:
    """What is promised, the odds, whether the topics are useful, and the best words of each topic."""
    about = [f"<b>{escape(repr(release)[1:-1])}</b>", f"guarantee: {escape(release.guarantee.summary())}"]
    about += [escape(sentence) for sentence in release.odds().sentences()]
    if release.usefulness is not None:
        about.append(escape(release.usefulness.summary()))
    shares, errors = release.topic_shares, release.share_errors
    order = np.arange(release.n_topics)
    if shares is not None and errors is not None:  # prevalence is the finding of such a model
        order = np.argsort(-shares, kind="stable")
    rows = []
    best = release.top_words()
    own = release.collection_top_words()
    for k in order[:MOST_TOPICS]:
        share = (
            "" if shares is None else f"<td>{escape(share_text(shares[k], None if errors is None else errors[k]))}</td>"
        )
        words = [escape(" ".join(best[k]))]
        words += [f"{escape(str(label))}: {escape(' '.join(topics[k]))}" for label, topics in own.items()]
        rows.append(f"<tr><td>{k}</td>{share}<td>{'<br>'.join(words)}</td></tr>")
    head = f"<tr><th>topic</th>{'' if shares is None else '<th>share</th>'}<th>words</th></tr>"
    left = release.n_topics - len(rows)
    more = f"<div>and {left:,} more topics</div>" if left else ""
    return "".join(f"<div>{line}</div>" for line in about) + f"<table>{head}{''.join(rows)}</table>{more}"


def share_text(share: float, error: float | None = None) -> str:
    """An error that is not zero never looks like it."""
    if error is None:
        return f"{share:.1%}"
    return f"{share:.2%} ± {'<0.01%' if 0 < error < 5e-5 else f'{error:.2%}'}"

"""Releases made by hand, for pages that show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import Guarantee, Release
from discreet.privacy import Basis, Entry, Observer, Relation, Unit
from discreet.privacy.accounting import epsilon
from discreet.privacy.events import GaussianRelease

CHARGED = (
    Entry(GaussianRelease(sigma=20.0), 1, "word frequencies"),
    Entry(GaussianRelease(sigma=12.0, sampling_rate=0.1), 10, "topic counts"),
    Entry(GaussianRelease(sigma=8.0, sampling_rate=0.1), 10, "topic counts"),
)
NASTY = "<script>document.title='broken'</script>"


def proven(**changed: Any) -> Guarantee:
    """What `CHARGED` gives."""
    about: dict[str, Any] = {"unit": Unit.DOCUMENT, "observer": Observer.STATISTICS, "relation": Relation.ADD_REMOVE}
    about |= {"basis": Basis.PROVEN, "reasons": ("the word list is public",), "epsilon": epsilon(CHARGED, 1e-6)}
    return Guarantee(**{**about, "delta": 1e-6, **changed})


def make_release(n_topics: int = 4, n_words: int = 60, *, seed: int = 0, **changed: Any) -> Release:
    """Topics with a few words of their own each, shares, and errors that the rarest words do not exceed."""
    generator = np.random.default_rng(seed)
    usual = 1 / np.arange(2, n_words + 2)
    topics = generator.gamma(np.maximum(usual * 40, 0.05), size=(n_topics, n_words)) + 1e-6
    for k in range(n_topics):
        topics[k, (7 * k + np.arange(5)) % n_words] += 10 + np.arange(5)
    topics /= topics.sum(axis=1, keepdims=True)
    fields: dict[str, Any] = {
        "topics": topics,
        "vocabulary": [f"word{i}" for i in range(n_words)],
        "alpha": np.full(n_topics, 0.1),
        "beta": 0.01,
        "method": "private",
        "parameters": {"epsilon": 1.0, "n_topics": n_topics, "clip": None},
        "guarantee": proven(),
        "ledger": [entry.to_json() for entry in CHARGED],
        "topic_shares": generator.dirichlet(np.ones(n_topics)),
        "standard_errors": np.full((n_topics, n_words), 0.008),
    }
    return Release(**{**fields, **changed})


def nasty_release() -> Release:
    """Every text that can come from outside looks like markup."""
    release = make_release()
    words = [NASTY, "</script>", '"><img src=x onerror=alert(1)>', "<!--", "it's & so", *release.vocabulary[5:]]
    return make_release(
        vocabulary=words,
        method="</title>" + NASTY,
        parameters={NASTY: NASTY},
        versions={NASTY: NASTY},
        guarantee=proven(reasons=(NASTY,)),
        ledger=[{**entry, "label": NASTY} for entry in release.ledger],
        collections=(NASTY, "other"),
        collection_topics=np.stack([release.topics, release.topics[::-1]]),
        switch=np.full((4, 2), 0.3),
    )

"""Topic diversity: do topics differ, or do they repeat one another?"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.evaluation._top_words import top_words


def diversity(topics: Any, *, top_n: int = 25) -> float:
    """Share of distinct words among the ``top_n`` best words of all topics: 1 when no two topics share a top word.

    Dieng, Ruiz and Blei, "Topic Modeling in Embedding Spaces" (TACL 2020), with their 25 words. Read it together with
    coherence: one topic of frequent words, repeated K times, is coherent and has diversity 1/K.
    """
    best = top_words(topics, top_n)
    return len(np.unique(best)) / best.size

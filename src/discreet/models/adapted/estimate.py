"""From released word frequencies to adapted topics: post-processing of released numbers and of public ones.

Every topic's words are scaled, each by one factor: which topics a word belongs to is what the public text says. The
frequencies are estimated in ``models/word_use.py``.
"""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray


def adapted(topics: FloatArray, shares: FloatArray, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Topics and their shares, adapted to word ``frequencies``: how much of each word belongs to each topic stays as in
    the public text, p(k | v) = share_k φ_kv / Σ_l share_l φ_lv, and the word is as frequent as in the private text. So
    the mixture of the adapted topics by the adapted shares has the frequencies."""
    scaled = shares[:, None] * topics * (frequencies / np.maximum(shares @ topics, 1e-300))
    sizes = np.maximum(scaled.sum(axis=1), 1e-300)
    return np.ascontiguousarray(scaled / sizes[:, None]), np.asarray(sizes / sizes.sum())

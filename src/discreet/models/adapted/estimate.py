"""From released word frequencies to adapted topics: post-processing of released numbers and of public ones.

Every topic's words are scaled, each by one factor: which topics a word belongs to is what the public text says. The
frequencies are estimated in ``models/word_use.py``.
"""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray

WINDOW, USUAL = 8, 8
"""Bins of a histogram of sizes, norms within a factor of four; and the bin of a norm of four tokens."""


def middle_bin(noisy: FloatArray, deviation: float) -> int:
    """The bin of the median unit in a noisy histogram of sizes.

    Of the bins that stand out from the noise, if they hold most units; otherwise of the `WINDOW` bins in a row that
    hold most, since a few hundred units do not stand out in any single bin. If not even these stand out, `USUAL`: a
    clip that is too small costs little, since units are then scaled to the same norm.
    """
    kept, enough = np.where(noisy > 3 * deviation, noisy, 0.0), 4 * deviation * WINDOW**0.5
    if kept.sum() < max(noisy.sum() / 2, enough):
        together = np.convolve(noisy, np.ones(WINDOW), "valid")
        first = int(together.argmax())
        if together[first] < enough:
            return USUAL
        kept = np.zeros_like(noisy)
        kept[first : first + WINDOW] = np.maximum(noisy[first : first + WINDOW], 0.0)
    return int(np.searchsorted(np.cumsum(kept), kept.sum() / 2))


def adapted(topics: FloatArray, shares: FloatArray, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Topics and their shares, adapted to word ``frequencies``: how much of each word belongs to each topic stays as in
    the public text, p(k | v) = share_k φ_kv / Σ_l share_l φ_lv, and the word is as frequent as in the private text. So
    the mixture of the adapted topics by the adapted shares has the frequencies."""
    scaled = shares[:, None] * topics * (frequencies / np.maximum(shares @ topics, 1e-300))
    sizes = np.maximum(scaled.sum(axis=1), 1e-300)
    return np.ascontiguousarray(scaled / sizes[:, None]), np.asarray(sizes / sizes.sum())

"""How large units are, from a noisy histogram of their sizes."""

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

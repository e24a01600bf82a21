"""The papers' reconstruction of reports (Zhao et al. 2021, section V-B, Steps 1–5; 2019, section 3.2)."""

from __future__ import annotations

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import FloatArray, UInt8Array
from discreet.corpus.corpus import Corpus
from discreet.models.local.reports import Reports

_CHUNK = 1 << 25
"""Bits that are unpacked at a time."""


def reconstructed(reports: Reports, key: Key, wanted: FloatArray | None = None) -> Corpus:
    """Change random bits until each word is in as many documents as was estimated, and read the result as documents.

    Steps 1 and 2: n_t reports have bit t set, N̂_t is the estimate (``wanted``, if given: OLP-LDA's B(n_t)). Steps 3
    and 4: δ_t = N̂_t − n_t random reports with the bit at 0 get a 1, or −δ_t with a 1 get a 0. Step 5: the set bits
    are the words of the documents. The papers say nothing about estimates that are no whole numbers, negative or above
    M: they are rounded and clamped to [0, M], which biases them. Which word goes with which is lost where bits are
    changed at random; ``LocalLDA`` therefore trains on the reports themselves by default.
    """
    response, n = reports.response, reports.n_reports
    estimate = reports.estimate() if wanted is None else wanted
    target = np.rint(np.clip(estimate, 0, n)).astype(np.int64)
    coins = key.generator(Purpose.RECONSTRUCTION, 0)
    packed: UInt8Array = np.empty_like(reports.packed)
    step = max(1, _CHUNK // (8 * max(n, 1)))
    for first in range(0, response.n_bytes, step):
        columns = slice(first, min(first + step, response.n_bytes))
        bits = np.unpackbits(reports.packed[:, columns], axis=1, bitorder="little")
        for t in range(8 * first, min(8 * columns.stop, response.n_words)):
            column = bits[:, t - 8 * first]
            change = int(target[t]) - int(column.sum(dtype=np.int64))
            if change:
                places = np.flatnonzero(column == (change < 0))
                column[coins.choice(places, abs(change), replace=False)] ^= 1
        packed[:, columns] = np.packbits(bits, axis=1, bitorder="little")
    return Reports(response, packed, reports.vocabulary).corpus()

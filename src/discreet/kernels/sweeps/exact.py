"""The frozen sweep with draws that a guarantee can rely on: float64 sums, 53 random bits, rarely a uniform topic.

The plan of ``kernels/sweeps/dense.py`` (sixteen documents in step, topic ``k`` in lane ``k % 16``, lanes added in
rising order) with three differences. Products are float32 with a *relative* error of 2^-24, which changes no
probability ratio by much more than that; sums are float64, because their rounding errors are absolute. A draw is a
whole number r < 2^53, from two 32-bit words. And **r < 2^33, which has probability γ = 2^-20, draws a topic uniformly**
(from the second word), so that every topic has at least about γ/K, and the remaining rounding errors are small compared
with it. Otherwise r − 2^33, which is uniform too, finds the topic. How far the draw is from the ideal one is proved in
``models/hybrid/proof.md``.
"""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, FloatArray, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import bare_kernel
from discreet.kernels.lanes import LANES, gather, load, passed, splat, store, transpose, where, whole_53, widen
from discreet.kernels.sweeps.dense import chosen_topic, count_document, dense_scratch, return_token, take_token
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.kernels.sweeps.slots import CHOSEN, LOW, NOW, ROWS, WORD_ROW, aligned, book_draws, fill_slots

UNIFORM_BITS = 20
"""−log₂ γ."""

_UNIFORM_BELOW = np.uint32(2 ** (32 - UNIFORM_BITS))
"""First words below this draw uniformly."""

_SKIPPED = np.float64(2 ** (53 - UNIFORM_BITS))
_SHARE = np.float64(1 / (2**53 - 2 ** (53 - UNIFORM_BITS)))


def exact_scratch(width: Int) -> tuple[Float32Array, FloatArray, UInt32Array, UInt64Array]:
    """Working memory of one thread; nothing in it is kept between calls.

    16 × width topic counts and as many products; running sums of one lane for each document and 16 × 16 lane sums; for
    the others see ``kernels/sweeps/slots.py``.
    """
    _, bits, slots = dense_scratch(width)
    return aligned(2 * LANES * width, np.float32), aligned(width + LANES * LANES, np.float64), bits, slots


@bare_kernel
def sweep_exact(
    words: Int32Array,
    draw_offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    weights: Float32Array,
    alpha: Float32Array,
    last_topic: LastTopic | None,
    n_topics: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    rows: Float32Array,
    sums: FloatArray,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Draw the topics of documents ``first`` to ``last - 1`` anew, each from (1 − γ)·p + γ/K, p as in ``sweep_dense``.

    ``draw_offsets`` are twice the documents' offsets: slots count 32-bit words of the stream, and token i of a document
    takes the words 2i and 2i + 1. ``weights``, ``alpha`` and ``last_topic`` as in ``sweep_dense``, weights and alpha
    positive for every topic. The last four arguments come from :func:`exact_scratch`.
    """
    width = alpha.shape[0]
    products, lanes = LANES * width, width
    nothing = splat(np.float64(0))
    skipped, share = splat(_SKIPPED), splat(_SHARE)
    documents = (words, draw_offsets, numbers, topics, width, key, purpose, sweep)
    tables = (width, rows, last_topic)
    functions = (chosen_topic, count_document, take_token, return_token)
    fill_slots(first, last, 1, 1, *documents, count_document, take_token, tables, bits, slots)
    active = 1
    while active > 0:
        # 1. Sixteen documents, one token each: lane sums of the topics' weights.
        for slot in range(LANES):
            row, word = slot * width, np.int64(slots[WORD_ROW + slot])
            total = nothing
            for k in range(0, width, LANES):
                weight = load(weights, word + k) * (load(rows, row + k) + load(alpha, k))
                store(rows, products + row + k, weight)
                total = total + widen(weight)
            store(sums, lanes + slot * LANES, total)

        # 2. One document per lane: find the mark among the lane sums, then within its lane.
        transpose(sums, lanes)
        total = nothing
        for lane in range(lanes, lanes + LANES * LANES, LANES):
            total = total + load(sums, lane)
            store(sums, lane, total)
        mark = (whole_53(load(bits, NOW), load(bits, LOW)) - skipped) * (total * share)
        chosen, below = splat(np.uint32(0)), nothing
        for lane in range(lanes, lanes + LANES * LANES, LANES):
            running = load(sums, lane)
            flag = passed(running, mark, total)
            chosen = chosen + flag
            below = where(flag, running, below)
        mark = mark - below
        at, total = load(bits, ROWS) + chosen, nothing
        for k in range(0, width, LANES):  # the lane's running sums again: cheaper than keeping those of all lanes
            total = total + widen(gather(rows, products + k, at))
            store(sums, k, total)
        for k in range(0, width - LANES, LANES):
            chosen = chosen + passed(load(sums, k), mark, total) * splat(np.uint32(LANES))
        store(bits, CHOSEN, chosen)

        for slot in range(LANES):
            if bits[NOW + slot] < _UNIFORM_BELOW:  # [uniform]
                bits[CHOSEN + slot] = (np.uint64(bits[LOW + slot]) * np.uint64(n_topics)) >> np.uint64(32)

        # 3. Record the draws and go to the next tokens.
        active = book_draws(last, 1, *documents, *functions, tables, bits, slots)

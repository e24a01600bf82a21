"""Variational inference in one document, and the contribution of a unit.

Mean-field variational Bayes for LDA (Blei, Ng and Jordan 2003; Hoffman, Blei and Bach 2010, Algorithm 1, lines 4-9).
Under fixed topics a document's topic proportions have a Dirichlet of parameters γ, and the tokens of word w the
topics φ_w:

    φ_wk ∝ exp(E[log θ_k]) · exp(E[log β_kw]),    γ_k = α_k + Σ_w count(w) · φ_wk,    E[log θ_k] = ψ(γ_k) − ψ(Σ γ)

Here ``table[w, k]`` is exp(E[log β_kw]), times a constant. ψ(Σ γ) is the same for all topics and cancels. One step
computes a new γ from the φ of the old one; the number of steps is fixed, so the order of computation depends on the
words of the document alone.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, Float32Array, FloatArray, Int, Int32Array, IntArray, UInt32Array
from discreet.kernels.compile import at, bare_kernel, part
from discreet.kernels.lanes import LANES, add_up, load, splat, store
from discreet.kernels.sums.residuals import add_clipped, add_document
from discreet.kernels.sweeps.slots import aligned

FINE = float(2**32)
"""Steps per token in exact sums: whole numbers, so that threads may add them in any order."""

TINY = 1e-30
"""The smallest weight of a word, summed over topics, and the smallest γ: they prevent division by zero."""


def variational_scratch(n_words: Int, width: Int, n_places: Int, dtype: type) -> tuple[AnyArray, Int32Array]:
    """Working memory of one thread, for units of up to ``n_places`` different words.

    Floats: γ and exp(ψ(γ)) of a document, for each place its row, then the word's count divided by its weight.
    Integers: the place of each word (0: none yet), then for each place its word, its count in the unit, its count in
    the document, and for each turn its place.
    """
    return aligned(2 * width + n_places * width + n_places, dtype), np.zeros(n_words + 4 * n_places, np.int32)


@part
def exp_digamma(x: float) -> float:
    """exp(ψ(x)) for x > 0: ψ(x) = ψ(x + 6) − Σ 1/(x + i) over i < 6, and ψ(x + 6) by its asymptotic series, whose
    logarithm cancels with the exponential. Written out, because scipy's digamma cannot be called in a compiled loop
    without one more dependency; no branch depends on x."""
    x = max(x, TINY)
    u = x * x + 5.0 * x  # 1/x + 1/(x + 5) is (2x + 5)/u, the other pairs have u + 4 and u + 6
    below = (2.0 * x + 5.0) * (3.0 * u * u + 20.0 * u + 24.0) / (u * (u + 4.0) * (u + 6.0))
    far = x + 6.0
    inverse = 1.0 / far
    square = inverse * inverse
    series = square * (
        1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square * (1.0 / 240.0 - square / 132.0)))
    )
    return far * math.exp(-0.5 * inverse - series - below)


@part
def _read_document(
    words: Int32Array, start: Int, stop: Int, n: Int, n_words: Int, width: Int, floats: AnyArray, integers: Int32Array
) -> tuple[Int, Int]:
    """Count the words of a document. Returns how many different words the unit (``n`` before) and the document have."""
    n_places = (integers.shape[0] - n_words) // 4
    its_word, in_unit, in_document = n_words, n_words + n_places, n_words + 2 * n_places
    turn = n_words + 3 * n_places
    nothing = splat(floats.dtype.type(0))
    n_turns = 0
    for i in range(start, stop):
        word = np.int64(words[at(i)])
        place = np.int64(integers[at(word)]) - 1
        if place < 0:
            place = np.int64(n)
            n += 1
            integers[at(word)] = n
            integers[at(its_word + place)] = word
            integers[at(in_unit + place)] = 0
            integers[at(in_document + place)] = 0
            floats[at((2 + n_places) * width + place)] = 0.0
            for k in range(0, width, LANES):
                store(floats, (2 + place) * width + k, nothing)
        if integers[at(in_document + place)] == 0:
            integers[at(turn + n_turns)] = place
            n_turns += 1
        integers[at(in_document + place)] += 1
        integers[at(in_unit + place)] += 1
    return n, n_turns


@part
def _infer(
    n_turns: Int,
    n_words: Int,
    n_topics: Int,
    n_steps: Int,
    table: AnyArray,
    alpha: AnyArray,
    floats: AnyArray,
    integers: Int32Array,
) -> None:
    """γ of the document that was read, after ``n_steps`` steps from a uniform one, and the shares of its words.

    count(w) · φ_wk is share(w) · exp(ψ(γ_k)) · table[w, k]. (A γ kept from an earlier round, under noisier topics, made
    worse topics.)"""
    width = alpha.shape[0]
    n_places = (integers.shape[0] - n_words) // 4
    its_word, in_document, turn = n_words, n_words + 2 * n_places, n_words + 3 * n_places
    theta, shares = width, (2 + n_places) * width
    tiny = floats.dtype.type(TINY)
    nothing = splat(floats.dtype.type(0))
    for k in range(n_topics):
        floats[at(k)] = 1.0
    for step in range(n_steps + 1):  # the last computes the shares
        for k in range(n_topics):
            floats[at(theta + k)] = exp_digamma(np.float64(floats[at(k)]))
        for j in range(n_turns):
            place = np.int64(integers[at(turn + j)])
            row = np.int64(integers[at(its_word + place)]) * width
            total = nothing
            for k in range(0, width, LANES):
                total = total + load(floats, theta + k) * load(table, row + k)
            count = np.float64(integers[at(in_document + place)])
            floats[at(shares + place)] = count / np.float64(max(add_up(total), tiny))
        if step == n_steps:
            break
        for k in range(0, width, LANES):
            counts = nothing
            for j in range(n_turns):
                place = np.int64(integers[at(turn + j)])
                row = np.int64(integers[at(its_word + place)]) * width
                counts = counts + splat(floats[at(shares + place)]) * load(table, row + k)
            store(floats, k, load(alpha, k) + load(floats, theta + k) * counts)
    for j in range(n_turns):
        integers[at(in_document + np.int64(integers[at(turn + j)]))] = 0


@bare_kernel
def add_expected(
    words: Int32Array,
    offsets: IntArray,
    documents: IntArray,
    first: Int,
    last: Int,
    n_topics: Int,
    n_steps: Int,
    table: FloatArray,
    alpha: FloatArray,
    floats: FloatArray,
    integers: Int32Array,
    out: IntArray,
) -> None:
    """Add the expected counts of ``documents[first]`` to ``documents[last - 1]`` to ``out``, flat word × width.

    In steps of 1/`FINE` of a token, rounded. Nothing is clipped: only for the form that promises nothing."""
    width = alpha.shape[0]
    n_words = table.shape[0] // width
    n_places = (integers.shape[0] - n_words) // 4
    shares, turn = (2 + n_places) * width, n_words + 3 * n_places
    for j in range(first, last):
        d = documents[j]
        n, n_turns = _read_document(words, offsets[d], offsets[d + 1], 0, n_words, width, floats, integers)
        _infer(n_turns, n_words, n_topics, n_steps, table, alpha, floats, integers)
        add_document(n_turns, 2 * width, width, shares, n_words, turn, width, table, floats, integers)
        for place in range(n):
            word = np.int64(integers[n_words + place])
            integers[word] = 0
            for k in range(n_topics):
                out[word * width + k] += np.int64(math.floor(floats[(2 + place) * width + k] * FINE + 0.5))


@bare_kernel
def add_variational(
    words: Int32Array,
    offsets: IntArray,
    first_document: IntArray,
    units: IntArray,
    first: Int,
    last: Int,
    n_topics: Int,
    n_steps: Int,
    table: Float32Array,
    alpha: Float32Array,
    cell_weights: Float32Array,
    background: Float32Array,
    clip: float,
    floats: Float32Array,
    integers: Int32Array,
    out: UInt32Array,
) -> None:
    """Add the contributions of ``units[first]`` to ``units[last - 1]`` to ``out``, flat word × width.

    A unit contributes weight[w, k] · (Σ over its documents of count(w) · φ_wk − count(w) · background[w, k]). Clip,
    grid and check are those of PrivateLDA, :func:`~discreet.kernels.sums.residuals.add_clipped`.
    """
    width = alpha.shape[0]
    n_words = table.shape[0] // width
    n_places = (integers.shape[0] - n_words) // 4
    its_word, in_unit, turn = n_words, n_words + n_places, n_words + 3 * n_places
    rows, shares = 2 * width, (2 + n_places) * width
    for m in range(first, last):
        unit = units[m]
        n: Int = 0
        for d in range(first_document[unit], first_document[unit + 1]):
            n, n_turns = _read_document(words, offsets[d], offsets[d + 1], n, n_words, width, floats, integers)
            _infer(n_turns, n_words, n_topics, n_steps, table, alpha, floats, integers)
            if d + 1 < first_document[unit + 1]:  # the last document is added while clipping
                add_document(n_turns, rows, width, shares, its_word, turn, width, table, floats, integers)
        places = (n, rows, width, shares, its_word, in_unit, width)
        add_clipped(*places, table, cell_weights, background, clip, floats, integers, out)  # [check-variational]

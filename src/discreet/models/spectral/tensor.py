"""Orthogonal decomposition of a small symmetric tensor: T ≈ Σ λᵢ vᵢ⊗vᵢ⊗vᵢ with orthonormal vᵢ.

Two methods. *Robust tensor power iteration* with deflation (Anandkumar, Ge, Hsu, Kakade, Telgarsky, JMLR 2014,
Algorithm 1): v ← T(I, v, v)/‖·‖ from many starts, the best of them refined and subtracted, k times. The *simultaneous
power method* (Wang and Lu, ICML 2017, used by DP spectral LDA): all vectors at once, Y = [T(I, qⱼ, qⱼ)]ⱼ, Q ← QR(Y),
from the eigenvectors of a random slice T(I, I, w).

Different from both: after each vector the power iteration continues in the orthogonal complement of those found (theirs
subtracts λ v⊗v⊗v and searches the whole space); several slices w are tried and the best is kept, because one may have
close eigenvalues, and its eigenvectors are then arbitrary; and both methods end with the same steps, Q ← the
orthonormal matrix nearest to Y, which favour no vector before another as QR and deflation do. On an exactly
decomposable tensor those steps change nothing. The iterations need no gap between the λᵢ: ties are not a difficulty.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray

Method = Literal["power", "simultaneous"]

TOLERANCE = 1e-12
"""A step that moves no entry of a vector by more than this is the last."""

UNSETTLED = (
    "the tensor decomposition did not settle, so the topics cannot be trusted. More documents, fewer topics or "
    "another alpha0 would help."
)


class Decomposition(NamedTuple):
    """vᵢ are the columns of ``vectors``; signs are such that λᵢ = T(vᵢ, vᵢ, vᵢ) ≥ 0, largest first."""

    vectors: FloatArray
    values: FloatArray
    converged: bool
    share: float
    """The share of the squared entries of T that Σ λᵢ vᵢ⊗vᵢ⊗vᵢ accounts for: 1 if T is exactly decomposable."""


def from_unique(entries: FloatArray, k: int) -> FloatArray:
    """The k×k×k tensor of which ``entries`` holds i ≤ j ≤ h, in rising order."""
    i, j, h = unique_places(k)
    tensor = np.empty((k, k, k))
    for a, b, c in ((i, j, h), (i, h, j), (j, i, h), (j, h, i), (h, i, j), (h, j, i)):
        tensor[a, b, c] = entries
    return tensor


def unique_places(k: int) -> tuple[IntArray, IntArray, IntArray]:
    """i, j and h of the entries i ≤ j ≤ h, in rising order."""
    i, j, h = np.indices((k, k, k)).reshape(3, -1)
    kept = (i <= j) & (j <= h)
    return i[kept], j[kept], h[kept]


def decompose(
    tensor: FloatArray, *, method: Method = "power", n_restarts: int = 20, n_steps: int = 200, seed: int = 0
) -> Decomposition:
    """All k vectors of a k×k×k tensor. ``seed`` decides the starts, which are neither secret nor privacy noise."""
    k = len(tensor)
    if not np.isfinite(tensor).all():
        raise InputError("the tensor holds a number that is not finite. Check the moments that it was made of.")
    rng = np.random.default_rng(seed)
    if method == "power":
        start = _one_after_another(tensor, rng, n_restarts, n_steps)
    else:
        start = _all_at_once(tensor, rng, n_restarts, n_steps)
    vectors, converged = _refined(tensor, start, 5 * n_steps)
    values = _values(tensor, vectors)
    signs = np.where(values < 0, -1.0, 1.0)
    vectors, values = vectors * signs, values * signs
    order = np.argsort(-values, kind="stable")
    whole = float((tensor**2).sum())
    share = float((values**2).sum()) / whole if whole > 0 else 1.0
    assert vectors.shape == (k, k)
    return Decomposition(vectors[:, order], values[order], converged, share)


def _apply(tensor: FloatArray, vectors: FloatArray) -> FloatArray:
    """T(I, v, v) for each column v."""
    k, n = vectors.shape
    once = (tensor.reshape(k * k, k) @ vectors).reshape(k, k, n)
    return np.asarray((once * vectors).sum(axis=1))


def _values(tensor: FloatArray, vectors: FloatArray) -> FloatArray:
    """T(v, v, v) for each column v."""
    return np.asarray((_apply(tensor, vectors) * vectors).sum(axis=0))


def _scaled(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300))


def _one_after_another(tensor: FloatArray, rng: np.random.Generator, n_restarts: int, n_steps: int) -> FloatArray:
    """Power iteration, one vector after another, each in the orthogonal complement of those found."""
    k, left = len(tensor), tensor
    beside = np.eye(k)  # columns: a basis of the directions that are left
    found = np.zeros((k, k))
    for i in range(k):
        n = k - i
        vectors = _scaled(rng.standard_normal((n, n_restarts)))
        for _ in range(20):
            vectors = _scaled(_apply(left, vectors))
        best = vectors[:, [int(np.argmax(_values(left, vectors)))]]
        for _ in range(n_steps):
            before, best = best, _scaled(_apply(left, best))
            if np.abs(best - before).max() < TOLERANCE:
                break
        if not np.linalg.norm(best) > 0.5:  # nothing is left in the tensor: any direction will do
            best = np.eye(n, 1)
        found[:, i] = beside @ best[:, 0]
        rest = np.linalg.svd(best)[0][:, 1:]
        beside = beside @ rest
        left = np.einsum("abc,ai,bj,ch->ijh", left, rest, rest, rest, optimize=True)
    return found


def _all_at_once(tensor: FloatArray, rng: np.random.Generator, n_restarts: int, n_steps: int) -> FloatArray:
    """The simultaneous power method, from the best of several slices."""
    k = len(tensor)
    best, most = np.eye(k), -np.inf
    for _ in range(n_restarts):
        slice_values, basis = np.linalg.eigh(tensor @ rng.standard_normal(k))
        basis = basis[:, np.argsort(-np.abs(slice_values), kind="stable")]
        for _ in range(n_steps):
            before, basis = basis, np.linalg.qr(_apply(tensor, basis))[0]
            if np.abs(np.abs(basis) - np.abs(before)).max() < 1e-9:
                break
        caught = float((_values(tensor, basis) ** 2).sum())
        if caught > most:
            best, most = basis, caught
    return best


def _refined(tensor: FloatArray, vectors: FloatArray, n_steps: int) -> tuple[FloatArray, bool]:
    """Q ← the orthonormal matrix nearest to [T(I, qⱼ, qⱼ)]ⱼ until it no longer changes; returns whether it stopped."""
    left, _, right = np.linalg.svd(vectors)
    basis = left @ right
    for _ in range(n_steps):
        values = _values(tensor, basis)
        basis = basis * np.where(values < 0, -1.0, 1.0)
        left, _, right = np.linalg.svd(_apply(tensor, basis))
        before, basis = basis, left @ right
        if np.abs(basis - before).max() < TOLERANCE:
            return basis, True
    return basis, bool(np.abs(basis - before).max() < 1e-6)

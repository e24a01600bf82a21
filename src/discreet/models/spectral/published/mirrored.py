"""Symmetric Gaussian noise on a d×d×d tensor, seen through d×k vectors: drawn exactly, in k(k+1)(k+2)/6 numbers.

**Lemma.** Let E be a symmetric d×d×d tensor whose cells a ≤ b ≤ c are independent N(0, 1) and whose others are their
mirror images, and let Q be d×k with orthonormal columns. Then E(Q, Q, Q) is a symmetric Gaussian tensor with mean 0 and

    Cov(T_ijh, T_lmn) = Σ_π [(i,j,h) = π(l,m,n)] − Σ_{x∈{i,j,h}, y∈{l,m,n}} [x = y]·G₄(rest of x, rest of y) + 4·G₆,

with G₄(i,j; l,m) = Σ_a Q_ai Q_aj Q_al Q_am, G₆ = Σ_a Q_ai Q_aj Q_ah Q_al Q_am Q_an, and π over the six permutations.
For W = QD the tensor E(W, W, W) is E(Q, Q, Q) with D applied to each of its three sides. Proof:
``models/spectral/proof.md``.

(Were all d³ cells independent, T would have independent N(0, 1) entries, and k³ normals would do: for W that is not
orthogonal, covariance (WᵀW)⊗³.)
"""

from __future__ import annotations

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.models.spectral.tensor import from_unique, unique_places

MOST_MIRRORED = 30
"""Topics. The covariance has (k(k+1)(k+2)/6)² entries: 200 MB at 30."""


def check_mirrored(k: int) -> None:
    if k > MOST_MIRRORED:
        raise InputError(
            f"configuration=1 draws its symmetric noise through a covariance that grows like n_topics⁶, and {k} topics "
            f"are too many. Ask for at most {MOST_MIRRORED} topics, leave as_published out, or change configuration."
        )


def mirrored_covariance(basis: FloatArray) -> FloatArray:
    """Of the entries i ≤ j ≤ h of E(Q, Q, Q); ``basis`` is Q."""
    k = basis.shape[1]
    places = np.stack(unique_places(k))
    i, j, h = places
    equal = (i == j).astype(int) + (j == h)
    covariance = np.diag(np.array([1.0, 2.0, 6.0])[equal])  # permutations that leave (i, j, h) as it is
    cubes = basis[:, i] * basis[:, j] * basis[:, h]
    covariance += 4 * (cubes.T @ cubes)
    pairs = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), k * k)
    fourth = pairs.T @ pairs
    for x, rest_x in ((i, j * k + h), (j, i * k + h), (h, i * k + j)):
        for y, rest_y in ((i, j * k + h), (j, i * k + h), (h, i * k + j)):
            covariance -= (x[:, None] == y[None, :]) * fourth[np.ix_(rest_x, rest_y)]
    return np.asarray(covariance)


def projected_noise(basis: FloatArray, normals: FloatArray) -> FloatArray:
    """E(Q, Q, Q) from as many independent standard normals as it has different entries."""
    covariance = mirrored_covariance(basis)
    covariance[np.diag_indices(len(covariance))] += 1e-12  # rounding may take a tiny eigenvalue below zero
    return from_unique(np.linalg.cholesky(covariance) @ normals, basis.shape[1])


MOST_CUBED = 150
"""Words. Noise that is not Gaussian has no such law, so that all d³ cells are drawn: 27 MB at 150."""


def check_cubed(n_words: int) -> None:
    if n_words > MOST_CUBED:
        raise InputError(
            f"delta=0 as published draws Laplace noise for each triple of words, and {n_words:,} words are too many. "
            f"Restrict the corpus to at most {MOST_CUBED} words, give delta, or leave as_published out."
        )


def seen_through(cells: FloatArray, basis: FloatArray) -> FloatArray:
    """E(Q, Q, Q) for a symmetric E of which ``cells`` holds each set of indices once."""
    whole = from_unique(cells, len(basis))
    return np.asarray(np.einsum("abc,ai,bj,ch->ijh", whole, basis, basis, basis, optimize=True))


def on_each_side(tensor: FloatArray, factors: FloatArray) -> FloatArray:
    """T(D, D, D) for a diagonal D."""
    return np.asarray(tensor * factors[:, None, None] * factors[None, :, None] * factors[None, None, :])

"""The four configurations of DP spectral LDA as published, for reproduction: noise on edges of the paper's Figure 1.

DeCarolis, Ram, Esmaeili, Wang and Huang, "An end-to-end differentially private LDA using a spectral algorithm" (ICML
2020); sections and lemmas below are theirs. Neighbours *replace* a document; N, the number of documents, is public.

| their symbol | here |
|---|---|
| M̂₂, M̂₃ (Lemma 21) | ``LdaMoments.second``, ``.third`` |
| e0, e1: documents → M̂₂, M̂₃; e2: M̂₂ → SVD | no noise in any configuration |
| e3 (M̂₃), e4 (M̂₂ → Ŵ = ÛΣ̂^-½), e8 (M̂₂ → Ŵ† = Σ̂^½Û⊤) | Config. 1: `Configured._one` |
| e6 (T̂ = M̂₃(Ŵ, Ŵ, Ŵ)), e8 | Config. 2: `Configured._two` |
| e7 (μ̄ᵢ, ᾱᵢ of the decomposition of T̂), e8 | Config. 3: `Configured._three` |
| e9 (μᵢ, αᵢ) | Config. 4: `Configured._four` |
| Procedure 1: σ̃_k, γ̃_s | parts ``sigma_k`` and ``gamma_s`` of the budget |
| τ(ε, δ) = √(2 ln(1.25/δ))/ε (Proposition 18) | `tau` |
| ∆₂, ∆₃, ∆_T̂, ∆_μ̄, ∆_μ | ``printed.py``, from appendix H or from section 6 |

Every line where this differs from the text:

1. Moments: see ``models/spectral/unbiased.py`` (Lemma 3's coefficient, eq. 7–9).
2. Where N(0, ∆²τ) is printed, a standard deviation of ∆τ is used, as Proposition 18 has it.
3. Noise is symmetric, as appendix I.1 and Theorem 35 say: one value per set of indices, mirrored. On M̂₃ it is drawn
   through Ŵ (``mirrored.py``), not in d³ cells.
4. Eq. (64) also holds σ_{k+1}(M̂₂), which Procedure 1 does not release: 0 here, which only adds noise.
5. Where σ̃_k or γ̃_s comes out as 0 the published noise is infinite: they are held at 1e-9, with a warning.
6. An SVD leaves signs open: the largest entry of each vector is positive. Singular values of Ŵ and Ŵ† that come from
   two noisy matrices are not brought into one order or rotation, because the paper does not say so.
7. γ_s takes σ_{k+1}(T̂) as 0. Negative entries of topics become 0, rows are scaled to sum to 1, and 1% of the uniform
   distribution is mixed in (the paper states none of this). ᾱᵢ below a thousandth of the largest are held there.
8. Noise is on a grid of 1/4096 of its scale.
9. With δ = 0 (Config. 1 only: "allows a pure-DP if we add Laplace noise", section 6.1) an edge has Laplace noise of
   scale ∆/ε for the same ∆, which the appendix states in ℓ₁; it is mirrored too, and drawn in all cells of M̂₃.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from discreet._errors import InputError, Overdrawn
from discreet._random import Key
from discreet._types import FloatArray, IntArray
from discreet.kernels.sums.moments import n_triples
from discreet.mechanisms.noise import sample_discrete_gaussian, sample_discrete_laplace
from discreet.models.published import STEPS
from discreet.models.spectral.moments import to_simplex
from discreet.models.spectral.published.mirrored import on_each_side, projected_noise, seen_through
from discreet.models.spectral.published.printed import Constants, Printed, unscale
from discreet.models.spectral.tensor import Decomposition, Method, decompose, from_unique
from discreet.models.spectral.unbiased import LdaMoments, singular

Number = Literal[1, 2, 3, 4]

PARTS: dict[int, tuple[str, ...]] = {
    1: ("e3", "e4", "e8"),
    2: ("sigma_k", "e6", "e8"),
    3: ("sigma_k", "gamma_s", "e7", "e8"),
    4: ("sigma_k", "gamma_s", "e9"),
}
"""What each configuration spends on, in the order of ``edge_split``."""

USUAL: dict[int, tuple[float, ...]] = {1: (1, 1, 1), 2: (1, 2, 2), 3: (1, 1, 2, 2), 4: (1, 1, 2)}
"""Shares of ε and δ where none are given. The paper searches for the best."""

LEAST = 1e-9
"""The smallest value of a lower bound of Procedure 1."""


class Part(NamedTuple):
    """A share of the printed budget."""

    name: str
    epsilon: float
    delta: float


class Edge(NamedTuple):
    """Noise that was drawn. ``sensitivity`` is the paper's; ``scale`` the deviation (of Laplace noise: its scale)."""

    name: str
    epsilon: float
    delta: float
    sensitivity: float
    scale: float


class Account:
    """The printed budget, added up before the first noise and taken part by part: each once, before its noise."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._left = list(parts)

    @property
    def epsilon(self) -> float:
        """Proposition 19: plain sums."""
        return math.fsum(part.epsilon for part in self.parts)

    @property
    def delta(self) -> float:
        return math.fsum(part.delta for part in self.parts)

    def take(self, name: str) -> Part:
        for part in self._left:
            if part.name == name:
                self._left.remove(part)
                return part
        raise Overdrawn(f"no part '{name}' is left of the budget that was planned.")


def shares(configuration: int, split: Sequence[float] | None, epsilon: float, delta: float) -> tuple[Part, ...]:
    """(ε, δ) shared between the parts of a configuration, both in the same proportion."""
    names = PARTS[configuration]
    given = np.asarray(USUAL[configuration] if split is None else split, dtype=np.float64)
    if given.shape != (len(names),) or not (np.isfinite(given) & (given > 0)).all():
        raise InputError(
            f"edge_split must be {len(names)} positive numbers for configuration={configuration}, the shares of "
            f"{', '.join(names)}; found {split!r}."
        )
    given = given / given.sum()
    return tuple(Part(name, epsilon * s, delta * s) for name, s in zip(names, given.tolist(), strict=True))


def tau(part: Part) -> float:
    """Proposition 18."""
    return math.sqrt(2 * math.log(1.25 / part.delta)) / part.epsilon


@dataclass
class Outcome:
    """One run."""

    rows: FloatArray
    """The topics as they come out: μᵢ of Theorems 10 to 13."""
    alpha: FloatArray
    edges: list[Edge]
    values: FloatArray
    """Singular values of M̂₂ that Ŵ† was made of (Config. 4: without noise)."""
    bounds: dict[str, float] = field(default_factory=dict)
    """σ̃_k and γ̃_s of Procedure 1, as far as the configuration has them."""
    settled: bool = True
    """Whether the decomposition of noisy numbers settled, if there was one."""

    @property
    def topics(self) -> FloatArray:
        """Probabilities."""
        return as_probabilities(self.rows)

    @property
    def unbounded(self) -> list[str]:
        """Bounds that came out as 0."""
        return [name for name, value in self.bounds.items() if value <= LEAST]


class Configured:
    """The spectral algorithm on one corpus, with noise on the edges of a configuration; to be run once or often.

    ``gap`` and ``singular_values`` are the exact γ_s and σ₁ … σ_{k+1} of M̂₂ (the paper's Figure 3). Private, like all
    cached here. A run draws fresh noise each time.
    """

    def __init__(
        self,
        moments: LdaMoments,
        n_topics: int,
        key: Key,
        *,
        constants: Constants = "appendix",
        decomposition: Method = "power",
    ) -> None:
        self.moments, self.k, self.key = moments, int(n_topics), key
        self.printed = Printed(constants, moments.n, self.k, moments.alpha0)
        self.decomposition = decomposition
        self._n_noises = 0

    # --- without noise ------------------------------------------------------------------------------------------------

    @cached_property
    def second(self) -> FloatArray:
        return self.moments.second()

    @cached_property
    def _svd(self) -> tuple[FloatArray, FloatArray]:
        return singular(self.second, min(self.k + 1, len(self.second)))

    @property
    def singular_values(self) -> FloatArray:
        return self._svd[1]

    @cached_property
    def whitening(self) -> tuple[FloatArray, FloatArray]:
        """Û and σ₁ … σ_k; Ŵ = ÛΣ̂^-½."""
        vectors, values = self._svd
        return vectors[:, : self.k], np.maximum(values[: self.k], 1e-15)

    @cached_property
    def tensor(self) -> FloatArray:
        """T̂ = M̂₃(Ŵ, Ŵ, Ŵ)."""
        vectors, values = self.whitening
        return self.moments.third(vectors / np.sqrt(values))

    @cached_property
    def original(self) -> FloatArray:
        """The topics without any noise, topic × word."""
        return as_probabilities(self.original_rows)

    @property
    def original_rows(self) -> FloatArray:
        """The same as they come out."""
        return self._rows(*self.whitening, self.parts)

    @property
    def original_alpha(self) -> FloatArray:
        return self._alpha(self.parts.values)

    @cached_property
    def parts(self) -> Decomposition:
        """μ̄ᵢ and ᾱᵢ."""
        return self._decompose(self.tensor)

    @property
    def gap(self) -> float:
        """γ_s = minᵢ (σᵢ(T̂) − σᵢ₊₁(T̂))/4."""
        return float(-np.diff(np.append(self.parts.values, 0.0)).max() / 4)

    # --- with noise ---------------------------------------------------------------------------------------------------

    def run(self, configuration: int, account: Account) -> Outcome:
        """All noise of one configuration. ``account`` must hold its parts."""
        return {1: self._one, 2: self._two, 3: self._three, 4: self._four}[configuration](account, [])

    def _one(self, account: Account, edges: list[Edge]) -> Outcome:
        """Section 6.1: noise on M̂₃ for e3, on M̂₂ for e4 (Ŵ) and again for e8 (Ŵ†)."""
        vectors, values = self._noisy_second("e4", account, edges)
        scale = self._edge("e3", self.printed.third, account, edges)
        if edges[-1].delta == 0:
            noise = scale * seen_through(self.laplaces(n_triples(len(vectors))), vectors)
        else:
            noise = scale * projected_noise(vectors, self.normals(n_triples(self.k)))
        tensor = on_each_side(self.moments.third(vectors) + noise, 1 / np.sqrt(values))
        return self._unwhitened(self._decompose(tensor), account, edges)

    def _two(self, account: Account, edges: list[Edge]) -> Outcome:
        """Section 6.2: noise on T̂, whose Ŵ has none, and on M̂₂ for Ŵ†."""
        bounds = self._bounds(account, edges, "sigma_k")
        scale = self._edge("e6", self.printed.whitened(bounds["sigma_k"]), account, edges)
        noise = scale * from_unique(self.normals(n_triples(self.k)), self.k)
        return self._unwhitened(self._decompose(self.tensor + noise), account, edges, bounds)

    def _three(self, account: Account, edges: list[Edge]) -> Outcome:
        """Section 6.3: noise on each μ̄ᵢ and ᾱᵢ, and on M̂₂ for Ŵ†."""
        bounds = self._bounds(account, edges, "sigma_k", "gamma_s")
        scale = self._edge("e7", self.printed.decomposed(bounds["sigma_k"], bounds["gamma_s"]), account, edges)
        vectors = self.parts.vectors + scale * self.normals(self.k**2).reshape(self.k, self.k)
        values = self.parts.values + scale * self.normals(self.k)
        noisy = self.parts._replace(vectors=vectors, values=values, converged=True)
        return self._unwhitened(noisy, account, edges, bounds)

    def _four(self, account: Account, edges: list[Edge]) -> Outcome:
        """Section 6.4: noise on μᵢ and αᵢ."""
        bounds = self._bounds(account, edges, "sigma_k", "gamma_s")
        vectors, values = self.whitening
        largest, top = float(values[0]), float(self.parts.values[0])
        scale = self._edge(
            "e9", self.printed.output(bounds["sigma_k"], bounds["gamma_s"], largest, top), account, edges
        )
        topics = self._rows(vectors, values, self.parts)
        topics += scale * self.normals(topics.size).reshape(topics.shape)
        alpha = self._alpha(self.parts.values) + scale * self.normals(self.k)
        alpha = np.maximum(alpha, 1e-3 * max(float(alpha.max()), 1e-300))
        alpha *= self.moments.alpha0 / alpha.sum()
        return Outcome(topics, alpha, edges, values, bounds)

    def _bounds(self, account: Account, edges: list[Edge], *names: str) -> dict[str, float]:
        """Procedure 1, lines 1–2 and 4–5: Lap(1/Nε) and then 2/Nε·log(1/2δ) less, as printed."""
        exact = {"sigma_k": float(self.whitening[1][-1]), "gamma_s": self.gap}
        return {name: self._bound(name, exact[name], account, edges) for name in names}

    def _bound(self, name: str, exact: float, account: Account, edges: list[Edge]) -> float:
        part = account.take(name)
        scale = 1 / (self.moments.n * part.epsilon)
        edges.append(Edge(*part, 1 / self.moments.n, scale))
        bound = exact + scale * float(self.laplaces(1)[0]) - 2 * scale * math.log(1 / (2 * part.delta))
        return max(bound, LEAST)

    def _noisy_second(self, name: str, account: Account, edges: list[Edge]) -> tuple[FloatArray, FloatArray]:
        """Û and singular values of M̂₂ with symmetric noise."""
        scale = self._edge(name, self.printed.second, account, edges)
        matrix = self.second.copy()
        low = np.tril_indices(len(matrix))
        draw = self.laplaces if edges[-1].delta == 0 else self.normals
        matrix[low] += scale * draw(len(low[0]))
        matrix.T[low] = matrix[low]
        vectors, values = singular(matrix, self.k)
        return vectors, np.maximum(values, 1e-300)

    def _edge(self, name: str, sensitivity: float, account: Account, edges: list[Edge]) -> float:
        """Charge, then return the scale of the noise."""
        part = account.take(name)
        scale = sensitivity * (tau(part) if part.delta > 0 else 1 / part.epsilon)
        edges.append(Edge(*part, sensitivity, scale))
        return scale

    def normals(self, n: int) -> FloatArray:
        """Fresh standard normal numbers, on a grid of 1/4096."""
        return self._fresh(n, sample_discrete_gaussian)

    def laplaces(self, n: int) -> FloatArray:
        """Fresh Laplace noise of scale 1, on the same grid."""
        return self._fresh(n, sample_discrete_laplace)

    def _fresh(self, n: int, sample: Callable[[IntArray, float, Key, int], None]) -> FloatArray:
        noise = np.zeros(n, np.int64)
        self._n_noises += 1
        sample(noise, STEPS, self.key, self._n_noises)
        return noise / STEPS

    # --- from vectors to topics ---------------------------------------------------------------------------------------

    def _decompose(self, tensor: FloatArray) -> Decomposition:
        size = float(np.abs(tensor).max()) or 1.0  # noise may be of any size
        found = decompose(tensor / size, method=self.decomposition)
        return found._replace(values=found.values * size)

    def _unwhitened(
        self, parts: Decomposition, account: Account, edges: list[Edge], bounds: dict[str, float] | None = None
    ) -> Outcome:
        """e8: Ŵ† from an M̂₂ with noise of its own."""
        vectors, values = self._noisy_second("e8", account, edges)
        rows = self._rows(vectors, values, parts)
        return Outcome(rows, self._alpha(parts.values), edges, values, bounds or {}, parts.converged)

    def _rows(self, vectors: FloatArray, values: FloatArray, parts: Decomposition) -> FloatArray:
        """μᵢ = 1/√αᵢʳ · (Ŵ⊤)†μ̄ᵢ, topic × word."""
        raw = (vectors * np.sqrt(values)) @ parts.vectors
        return np.asarray((raw * unscale(self.moments.alpha0) * parts.values).T)

    def _alpha(self, values: FloatArray) -> FloatArray:
        """αᵢ ∝ ᾱᵢ⁻², with sum α₀."""
        held = np.maximum(values, 1e-3 * max(float(np.abs(values).max()), 1e-300))
        weights = (held / held.max()) ** -2.0
        return np.asarray(self.moments.alpha0 * weights / weights.sum())


def as_probabilities(rows: FloatArray) -> FloatArray:
    """Probabilities: a row whose sign was flipped by noise is flipped back."""
    rows = rows * np.where(rows.sum(axis=1) < 0, -1.0, 1.0)[:, None]
    return to_simplex(rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300) + 1e-300)

"""What DeCarolis et al. 2020 print: the sensitivities that size their noise, and their bounds on the utility loss.

Not what holds (``models/spectral/proof.md``, docs/papers.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from discreet.models.spectral.unbiased import Coefficients

Constants = Literal["appendix", "text"]


@dataclass(frozen=True)
class Printed:
    """The paper's sensitivities: of appendix H, or of section 6, where every O(·) is taken as it stands."""

    constants: Constants
    n: int
    k: int
    alpha0: float

    @property
    def second(self) -> float:
        """∆₂: H.1, or section 6.1."""
        return (2 + 4 * self._abc.a) / self.n if self.constants == "appendix" else 1 / self.n

    @property
    def third(self) -> float:
        """∆₃: H.2 (which counts one of B₁, B₂, B₃), or section 6.1."""
        if self.constants == "text":
            return 1 / self.n
        _, b, c = self._abc
        return (2 + 4 * abs(b)) / self.n + 6 * c * (self.n - 1) / (self.n * (self.n - 2))

    def whitened(self, sigma: float) -> float:
        """∆_T̂: eq. (64), or Theorem 5 as in section 6.2."""
        if self.constants == "text":
            return math.pow(self.k / sigma, 1.5) / self.n
        _, b, c = self._abc
        n, half = self.n, sigma / 2
        size = 1 + 6 * abs(b) * n / (n - 1) + 3 * c * n**3 / (n * (n - 1) * (n - 2))  # eq. (62)
        turned = math.sqrt(2 * self.k) * self.second / (sigma * math.sqrt(half))  # Lemma 28
        return size * turned**3 + self.third * math.pow(self.k / half, 1.5)

    def decomposed(self, sigma: float, gamma: float) -> float:
        """∆_μ̄ = ∆_ᾱ: H.4, or section 6.3."""
        if self.constants == "text":
            return self.k**2 / (self.n * gamma * math.pow(sigma, 1.5))
        return 2 * math.sqrt(self.k) * self.whitened(sigma) / gamma

    def output(self, sigma: float, gamma: float, largest: float, top: float) -> float:
        """∆_μ: H.5, or section 6.4; ``largest`` is σ₁(M̂₂), ``top`` is σ₁(T̂)."""
        if self.constants == "text":
            return self.k**2 * math.sqrt(largest) / (self.n * gamma * math.pow(sigma, 1.5))
        unscaled, vectors = unscale(self.alpha0), self.decomposed(sigma, gamma)
        return unscaled * (
            top * math.sqrt(largest) * vectors
            + top * math.sqrt(largest) / sigma * self.second
            + math.sqrt(largest + self.second) * vectors
        )

    @property
    def _abc(self) -> Coefficients:
        return Coefficients.of(self.alpha0)


def unscale(alpha0: float) -> float:
    """1/√αᵢʳ = this · ᾱᵢ (H.5)."""
    return (alpha0 + 2) / (2 * math.sqrt((alpha0 + 1) * alpha0))


@dataclass(frozen=True)
class Spectrum:
    """What the bounds of Theorems 10 to 13 depend on, besides the budget: N, d, k, σ₁(M̂₂), σ_k(M̂₂) and γ_s."""

    n: int
    d: int
    k: int
    largest: float
    sigma: float
    gamma: float


def utility_bound(
    configuration: int, at: Spectrum, taus: Mapping[str, float], bounds: Mapping[str, float] | None = None
) -> float:
    """The bound on ‖μᵢ − μᵢ^DP‖ of Theorems 10 to 13 (Table 1), with 1 as the constant of O(·).

    ``taus`` holds τ(ε, δ) of each edge by its name, ``bounds`` σ̃_k and γ̃_s of Procedure 1 (without them: the exact
    ones, as in Table 1). In Theorem 10 the two brackets differ in a power of σ_k, as printed; in Theorems 11 and 12 the
    last divisor is σ̃_k, where Table 1 has σ₁.
    """
    low = {"sigma_k": at.sigma, "gamma_s": at.gamma, **(bounds or {})}
    root = math.sqrt(at.largest)
    if configuration == 4:
        return math.sqrt(at.d) * at.k**2 * root * taus["e9"] / (low["gamma_s"] * at.n * math.pow(low["sigma_k"], 1.5))
    eighth = math.sqrt(at.d) / at.n * taus["e8"]  # ‖E₈‖, Theorem 35
    turned, blown = root * eighth / at.sigma, math.sqrt(at.largest + eighth)
    if configuration == 1:
        each = math.sqrt(at.d) / at.n
        whitened = each / math.pow(at.sigma, 1.5)
        first = math.sqrt(at.k) / at.gamma * ((whitened * taus["e4"]) ** 3 + whitened * taus["e3"])
        last = math.sqrt(at.k) / at.gamma * ((each / at.sigma * taus["e4"]) ** 3 + whitened * taus["e3"])
        return root * first + turned + blown * last
    whitened = 1 / (at.n * math.pow(low["sigma_k"], 1.5))
    if configuration == 2:
        first = last = math.pow(at.k, 2.5) / at.gamma * whitened * taus["e6"]
    else:
        first = math.pow(at.k, 2.5) / low["gamma_s"] * whitened * taus["e7"]
        last = at.k**2 / low["gamma_s"] * whitened * taus["e7"]
    return root * first + turned + blown * last


def lemma_25(alpha0: float, k: int, least: float, sigma: float, n: int) -> float:
    """The bound on ‖μᵢ − μ̂ᵢ‖₂ without noise, with C₂ = 1: (α₀+1)²k³/(p_min²σ_k(μ)√N); ``least`` is p_min."""
    return (alpha0 + 1) ** 2 * k**3 / (least**2 * sigma * math.sqrt(n))

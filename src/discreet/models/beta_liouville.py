"""The Beta-Liouville distribution of proportions: a Dirichlet vector whose last entry has a spread of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from discreet._errors import InputError
from discreet._types import AnyArray, FloatArray

_CANCELLED = 2.0**-20
"""A sum that is this much smaller than its terms has lost too many digits."""


@dataclass(frozen=True, eq=False)
class BetaLiouville:
    """θ = (u·y_1, …, u·y_{K−1}, 1 − u) with y ~ Dirichlet(α_1, …, α_{K−1}) and u ~ Beta(a, β), independent.

    With a = Λ = Σ α it is Dirichlet(α_1, …, α_{K−1}, β). Any other ``a`` lets the first K − 1 entries rise and fall
    together, which a Dirichlet vector cannot. The last entry is special in every formula below. Luo et al. 2023 call a
    α, and print one formula for all entries in eq. (2) and (15); the variance and covariance of eq. (3) and (4) are
    misprinted (``docs/papers.md``).
    """

    alpha: FloatArray
    """α_1, …, α_{K−1}."""
    a: float
    beta: float

    def __post_init__(self) -> None:
        alpha = np.array(self.alpha, np.float64)
        if alpha.ndim != 1 or not alpha.size or not all((p > 0) & (p < np.inf) for p in (*alpha, self.a, self.beta)):
            raise InputError(
                f"alpha, a and beta must be positive and finite; found {self.alpha}, {self.a}, {self.beta}."
            )
        alpha.setflags(write=False)
        object.__setattr__(self, "alpha", alpha)

    def mean(self) -> FloatArray:
        """E[θ]: (a / (a + β)) · α_k / Λ, and β / (a + β) for the last."""
        return self.posterior_mean(np.zeros(len(self.alpha) + 1))

    def covariance(self) -> FloatArray:
        """Cov[θ], K × K."""
        y, total = self.alpha / self.alpha.sum(), self.alpha.sum()
        both = self.a + self.beta
        first, second = self.a / both, self.a * (self.a + 1) / (both * (both + 1))  # E[u], E[u²]
        pairs = (np.outer(y, y) * total + np.diag(y)) / (total + 1)  # E[y yᵀ]
        spread = second - first**2
        found = np.empty((len(y) + 1, len(y) + 1))
        found[:-1, :-1] = second * pairs - first**2 * np.outer(y, y)
        found[-1, :-1] = found[:-1, -1] = -y * spread
        found[-1, -1] = spread
        return found

    def log_density(self, theta: AnyArray) -> FloatArray:
        """log p(θ) of each row, with respect to the first K − 1 entries: Π θ_k^{α_k − 1} · u^{a − Λ} · (1 − u)^{β − 1}
        over its integral."""
        theta = np.asarray(theta, np.float64)
        inner, last = theta[..., :-1], theta[..., -1]
        constant = gammaln(self.alpha.sum()) - gammaln(self.alpha).sum() - betaln(self.a, self.beta)
        found = constant + ((self.alpha - 1) * np.log(inner)).sum(axis=-1)
        found = found + (self.a - self.alpha.sum()) * np.log1p(-last) + (self.beta - 1) * np.log(last)
        return np.asarray(found)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` draws, one row each."""
        u = rng.beta(self.a, self.beta, size=(n, 1))
        return np.hstack([u * rng.dirichlet(self.alpha, size=n), 1 - u])

    def posterior(self, counts: AnyArray) -> BetaLiouville:
        """Of θ after so many draws of each entry: α_k + N_k, a + N_{<K} and β + N_K."""
        counts = np.asarray(counts, np.float64)
        return BetaLiouville(self.alpha + counts[:-1], float(self.a + counts[:-1].sum()), float(self.beta + counts[-1]))

    def posterior_mean(self, counts: AnyArray) -> FloatArray:
        """What the next draw would be, for each row of counts: (a + N_{<K}) / (a + β + N) · (α_k + N_k) / (Λ + N_{<K}),
        and (β + N_K) / (a + β + N) for the last."""
        counts = np.asarray(counts, np.float64)
        inner, last = counts[..., :-1], counts[..., -1:]
        seen = inner.sum(axis=-1, keepdims=True)
        whole = self.a + self.beta + seen + last
        factor = (self.a + seen) / (self.alpha.sum() + seen)
        found: FloatArray = np.concatenate([factor * (self.alpha + inner), self.beta + last], axis=-1)
        found /= whole
        return found


def word_divisors(
    totals: FloatArray, last: FloatArray, weight: float | FloatArray, rest: float, counts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """For the posterior means of a topic's words: (n_w + β_w) / divisor, times ratio for the last word.

    ``totals`` is Σ_w (n_w + β_w) of each topic, ``last`` is n + β of its last word; ``weight`` and ``rest`` are Λ and a
    of the prior of words. If they are equal (a Dirichlet prior), the divisor is exactly ``totals`` and the ratio
    exactly 1. ``counts`` is Σ n_w without the last word, if it is known apart from the prior.
    """
    excess = rest - weight
    inner = totals - last
    outer = inner + excess  # a + Σ n_w
    lost = outer < _CANCELLED * inner  # Λ is much larger than the result, which would be made of its last digits
    if np.any(lost):
        safe = np.maximum(inner - weight if counts is None else counts, 0.0) + rest
        ratio = inner / np.where(lost, safe, outer)
        return ratio * np.where(lost, safe + last, totals + excess), ratio
    ratio = inner / outer
    return ratio * (totals + excess), ratio

"""OLP-LDA's denoising of counts, and how large batches and prior data must be (Zhao et al. 2021, eq. 19 to 23).

Symbols: M = |D_l| the documents of a batch, f the share of randomised bits, N_t in how many documents word t is, n_t in
how many reports, N̂_t the moment estimate (`RandomisedResponse.estimate`), μ_t and σ² mean and variance of the prior
N(μ_t, σ²) of N_t, ω the weight of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray


def prior_weight(n_reports: int, f: float, sigma: float) -> float:
    """ω = Mf(2−f)/(Mf(2−f) + 4σ²(1−f)²): the noise's share of noise and prior variance together (below eq. 19)."""
    noise = n_reports * f * (2 - f)
    return noise / (noise + 4 * sigma**2 * (1 - f) ** 2)


def denoised(moment: FloatArray, mean: FloatArray, omega: float) -> FloatArray:
    """B(n_t) = ω·μ_t + (1−ω)·N̂_t, eq. (19)."""
    return np.asarray(omega * mean + (1 - omega) * moment)


def next_mean(mean: FloatArray, estimate: FloatArray, size: int, size_before: int, rule: str = "mean") -> FloatArray:
    """μ^l from μ^{l−1} and η^{l−1} = B(n^{l−1}).

    ``mean``: (μ^{l−1} + η^{l−1})/2 · |D_l|/|D_{l−1}|, eq. (21). ``last``: η^{l−1} alone, as in line 13 of Algorithm 2,
    also times |D_l|/|D_{l−1}|, which the line leaves out: without it a batch of 160 would be expected to hold the
    counts of prior data of 500.
    """
    before = estimate if rule == "last" else (mean + estimate) / 2
    return np.asarray(before * (size / size_before))


def frequency_variance(n_reports: int, f: float, omega: float, frequency: float = 0.0) -> float:
    """The variance of B(n_t)/M as eq. (22) states it: (1−ω)²·(f(2−f)/(4(1−f)²M) + p(1−p)/M), with p = N_t/M.

    The second term is the sampling variance of N_t. What ω adds to the error besides, the bias ω·(μ_t − N_t)/M, is in
    neither (20) nor (22): a large ω makes this variance small, and the estimate wrong where the prior is.
    """
    spread = f * (2 - f) / (4 * (1 - f) ** 2) + frequency * (1 - frequency)
    return (1 - omega) ** 2 * spread / n_reports


def batch_size_for(error: float, f: float, omega: float = 0.0, frequency: float = 0.0) -> int:
    """The smallest batch whose word frequencies have at most this standard error, by eq. (22) for a fixed ω."""
    if not 0 < error < math.inf:
        raise InputError(f"the standard error must be a positive number; found {error!r}.")
    return max(1, math.ceil(frequency_variance(1, f, omega, frequency) / error**2 * (1 - 1e-12)))


def prior_size_for(error: float, probability: float = 0.05) -> int:
    """Documents of prior data for which a word's frequency is within ``error`` of the true one except with
    ``probability``.

    Eq. (23) only says that this holds in the limit; Hoeffding's inequality gives a number:
    ln(2/probability)/(2·error²), for each word.
    """
    if not 0 < error < 1 or not 0 < probability < 1:
        raise InputError(f"error and probability must lie between 0 and 1; found {error!r} and {probability!r}.")
    return math.ceil(math.log(2 / probability) / (2 * error**2))

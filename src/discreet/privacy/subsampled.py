"""The cost of a Poisson-sampled Gaussian by Huang and Chen 2021 (SUB-LDA), at one Rényi order.

One iteration has noise of variance α/(2ε(α)) for a sensitivity of 1: its Rényi divergence of order ℓ is
ε(ℓ) = ℓ·ε(α)/α. Symbols: α is ``order``, ε(α) ``epsilon``, γ ``rate``.
"""

from __future__ import annotations

import math

from discreet._errors import InputError

TABLE_3 = {0.1: 0.05, 0.3: 0.73, 0.5: 1.18, 0.7: 1.48, 0.9: 1.63, 1.0: 2.0}
"""γ → ε_sub as printed in the paper's Table 3, for α = 14 and ε(α) = 2."""


def subsampled_rdp(order: int, epsilon: float, rate: float) -> float:
    """ε_sub(α), Theorem 3.1: log{(1−γ)^{α−1}(αγ−γ+1) + Σ_{ℓ=2}^{α} C(α,ℓ)(1−γ)^{α−ℓ}γ^ℓ e^{(ℓ−1)ε(ℓ)}} / (α−1).

    For Gaussian noise this is exact: the first term holds ℓ = 0 and 1 of the binomial sum of Mironov, Talwar and Zhang
    (2019), section 3.3, and the other terms are the same. (The general bound of Zhu and Wang has more terms.)
    """
    return _log_moment(order, epsilon, rate, last=order) / (order - 1)


def table_3_rdp(order: int, epsilon: float, rate: float) -> float:
    """What Table 3 prints: the same without the last term, ℓ = α. Too small, by 0.25 at γ = 0.9.

    The paper does not state this, but its numbers show it: all five with γ < 1 agree within 0.01, and with no other
    formula that we tried. At γ = 1 no term would remain, and the table prints ε(α).
    """
    if rate == 1:
        return float(epsilon)
    return _log_moment(order, epsilon, rate, last=order - 1) / (order - 1)


def efficiency_privacy(order: int, epsilon: float, rate: float, *, drop_last: bool = False) -> float:
    """I(γ) = γ·e^{(α−1)ε_sub(α)}, Eq. 6. ``drop_last`` uses the sum of Table 3.

    Lemma 4.1 of the paper says that I rises and then falls. In fact it only rises: e^{(α−1)ε_sub} = g(γ) = E[(1 +
    γ(L−1))^α] with E[L] = 1 is convex, and g′(0) = 0, so g and γ·g never fall. Without the last term I does fall, to 0
    at γ = 1, and has the maximum that the paper's Figure 1 shows.
    """
    return rate * math.exp(_log_moment(order, epsilon, rate, last=order - 1 if drop_last else order))


def round_epsilon(order: int, total: float, rate: float, rounds: int) -> float:
    """The ε(α) of one iteration at which ``rounds``·ε_sub(α) is ``total``, from below."""
    low, high = 0.0, 1.0
    while rounds * subsampled_rdp(order, high, rate) < total:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rounds * subsampled_rdp(order, middle, rate) <= total else (low, middle)
    return low


def as_approximate(order: int, rdp: float, delta: float) -> float:
    """The ε at δ that a Rényi divergence of one order gives (Canonne, Kamath and Steinke 2020, proposition 12)."""
    return max(0.0, rdp + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))


def sampled_epsilon(epsilon: float, rate: float) -> float:
    """ε of a pure mechanism after Poisson sampling: log(1 + γ(e^ε − 1)), Eq. 19, and with vγ Eq. 20."""
    return math.log1p(rate * math.expm1(epsilon))


def lemma_5_1(epsilon: float, rate: float, share: float, eta: float) -> float:
    """The bound on the ε of adaptive sampling: ε′ − log(ηq), where ε′ is that of uniform sampling.

    It follows from Eq. 19 and 20, since 1 + vx ≤ v(1 + x) for v = 1/(ηq) ≥ 1. But Eq. 20 is for rates that do not
    depend on the documents, and those of Eq. 10 do (`adaptive_epsilon`).
    """
    return sampled_epsilon(epsilon, rate) - math.log(eta * share)


def adaptive_epsilon(epsilon: float, rate: float, n: int) -> float:
    """What adaptive sampling at ``rate`` = vγ costs in fact, for two words of ``n`` tokens each in one topic, q = ½.

    The first word is the frequent one. Without one of its tokens the second is, and none of the first are sampled. For
    sampled counts with Laplace noise of scale 1/ε the losses reach log E[e^{εB}] with B binomial(n, vγ): n times Eq.
    20, so no bound without n can hold.
    """
    return n * sampled_epsilon(epsilon, rate)


def _log_moment(order: int, epsilon: float, rate: float, *, last: int) -> float:
    if order < 2 or not epsilon >= 0 or not 0 < rate <= 1:
        raise InputError(
            f"this needs a whole order of at least 2, epsilon >= 0 and 0 < rate <= 1; found {order}, {epsilon}, {rate}."
        )
    stay, take = math.log1p(-rate) if rate < 1 else -math.inf, math.log(rate)
    logs = [(order - 1) * stay + math.log1p((order - 1) * rate)]
    for n in range(2, last + 1):
        binomial = math.lgamma(order + 1) - math.lgamma(n + 1) - math.lgamma(order - n + 1)
        others = (order - n) * stay if n < order else 0.0  # 0 · ∞ is 0 here
        logs.append(binomial + others + n * take + (n - 1) * n * epsilon / order)
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(x - largest) for x in logs)) if largest > -math.inf else -math.inf

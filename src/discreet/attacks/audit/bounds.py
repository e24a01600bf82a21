"""From scores of an attack to a lower bound on ε: pure functions, each with the proof that it needs.

A *canary* is a unit whose data are in the documents or not. The auditor has scores: high where a canary seems to be in.
Every bound here is wrong with probability at most ``failure_probability`` whatever the mechanism is, as long as it is
what the bound's hypothesis says. **A bound above the claimed ε refutes the claim. A bound below it proves nothing.**

*Many runs* (`many_runs`): the mechanism runs often, with and without one canary; runs are independent. *One run*
(`one_run`, `one_run_refutes`): it runs once with many canaries, each in or out by a fair coin of its own; canaries may
influence each other in any way. Several runs with canaries of their own count as one run with all of them, because each
canary is in one run only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, FloatArray

N_THRESHOLDS = 32
"""About so many thresholds compete, in either direction."""

MOST_GUESSES = 32_768
"""With many canaries the surest guesses say most, and each guess costs time."""

LEAST_RUNS = 20
"""Runs of either kind, below which an audit says nothing."""


def check_failure_probability(value: float) -> float:
    if not 0 < value < 1:
        raise InputError(f"failure_probability must lie between 0 and 1; found {value:g}. Usual is 0.001.")
    return float(value)


def check_delta(value: float) -> float:
    if not 0 <= value < 1:
        raise InputError(f"delta must be at least 0 and below 1; found {value:g}.")
    return float(value)


# --- many runs --------------------------------------------------------------------------------------------------------


def at_least(hits: float, n: int, failure_probability: float) -> float:
    """Clopper and Pearson 1934: the true share is at least this, but for ``failure_probability``.

    It is the p at which ``hits`` or more of ``n`` have exactly that probability: P(Binomial(n, p) ≥ hits) = γ. A true
    share below it would give so many hits with probability below γ.
    """
    from scipy.special import betaincinv

    return float(betaincinv(hits, n - hits + 1, failure_probability)) if hits else 0.0


def at_most(hits: float, n: int, failure_probability: float) -> float:
    """The same from above."""
    return 1.0 - at_least(n - hits, n, failure_probability)


def log_ratio(more: float, less: float, delta: float) -> float:
    """(ε, δ) promises P(S) ≤ e^ε·Q(S) + δ for every set S of results, so ε ≥ log((P(S) − δ)/Q(S))."""
    if more <= delta:
        return -math.inf
    return math.inf if less == 0 else math.log((more - delta) / less)


@dataclass(frozen=True)
class Test:
    """A set of results: scores above ``threshold`` (``above``), or not above."""

    threshold: float
    above: bool

    def hits(self, scores: FloatArray) -> int:
        found = int((scores > self.threshold).sum())
        return found if self.above else len(scores) - found


@dataclass(frozen=True)
class ManyRuns:
    """What many runs say. ``more`` and ``less`` are bounds on the shares of the runs in the set of ``test``: with the
    canary and without it if the set is that of high scores, else the other way round."""

    epsilon: float
    test: Test
    more: float
    less: float
    n_inside: int
    n_outside: int


def _measured(test: Test, inside: FloatArray, outside: FloatArray, delta: float, failure: float) -> ManyRuns:
    """Two Clopper–Pearson bounds, each with half of the failure probability."""
    ours, others = (inside, outside) if test.above else (outside, inside)
    more = at_least(test.hits(ours), len(ours), failure / 2)
    less = at_most(test.hits(others), len(others), failure / 2)
    return ManyRuns(max(0.0, log_ratio(more, less, delta)), test, more, less, len(inside), len(outside))


def candidates(inside: FloatArray, outside: FloatArray, n: int = N_THRESHOLDS) -> list[Test]:
    """High scores and low scores, by thresholds at which ever smaller shares of the runs lie beyond."""
    both = np.concatenate([inside, outside])
    shares = np.unique(np.concatenate([np.geomspace(2 / len(both), 0.5, n // 2), 1 - np.geomspace(0.01, 0.5, n // 2)]))
    high = np.unique(np.quantile(both, 1 - shares, method="lower"))
    low = np.unique(np.quantile(both, shares, method="lower"))
    return [*(Test(float(t), True) for t in high), *(Test(float(t), False) for t in low)]


def many_runs(
    inside: FloatArray,
    outside: FloatArray,
    *,
    delta: float,
    failure_probability: float,
    thresholds: str | Sequence[Test] = "split",
) -> ManyRuns:
    """The largest lower bound on ε from scores of runs with a canary (``inside``) and without it (``outside``).

    Both directions count: high scores that are commoner with the canary, low ones that are commoner without. A test
    that is chosen by the scores that it is then measured on has to pay. ``"split"``: every fourth score chooses
    threshold and direction, and the others measure. ``"all"``: every tenth score proposes thresholds, the others
    measure all of them, and the failure probability is divided by their number (Bonferroni). Tests given as a sequence
    must be fixed in advance; they share the failure probability in the same way.
    """
    inside, outside = checked(inside), checked(outside)
    delta, failure = check_delta(delta), check_failure_probability(failure_probability)
    if not isinstance(thresholds, str):
        return best(thresholds, inside, outside, delta, failure / len(thresholds))
    if thresholds not in SPLITS:
        raise InputError(f"thresholds must be 'split', 'all' or a list of tests; found {thresholds!r}.")
    (few_in, inside), (few_out, outside) = (apart(scores, SPLITS[thresholds]) for scores in (inside, outside))
    tests: Sequence[Test] = candidates(few_in, few_out)
    if thresholds == "split":
        tests = [promising(tests, (few_in, few_out), (len(inside), len(outside)), delta, failure)]
    return best(tests, inside, outside, delta, failure / len(tests))


def promising(
    tests: Sequence[Test],
    few: tuple[FloatArray, FloatArray],
    numbers: tuple[int, int],
    delta: float,
    failure: float,
    value: Callable[[float, float], float] | None = None,
) -> Test:
    """The test that would give the largest bound on so many more runs with and without the canary, if shares were as in
    these ``few``. ``value`` says what two bounds on shares are worth: by default the ε that they refute."""
    worth = value or (lambda more, less: log_ratio(more, less, delta))

    def expected(test: Test) -> float:
        hits = [(test.hits(scores) + 0.5) / (len(scores) + 1) * n for scores, n in zip(few, numbers, strict=True)]
        (ours, n), (others, m) = (
            (zip(hits, numbers, strict=True)) if test.above else zip(hits[::-1], numbers[::-1], strict=True)
        )
        return worth(at_least(ours, n, failure / 2), at_most(others, m, failure / 2))

    return max(tests, key=expected)


SPLITS = {"split": 4, "all": 10}
"""Every so many scores choose, or propose, what the others measure."""


def checked(scores: FloatArray) -> FloatArray:
    found = np.asarray(scores, np.float64)
    if len(found) < LEAST_RUNS:
        raise InputError(f"an audit needs at least {LEAST_RUNS} runs of each kind; found {len(found)}.")
    if np.isnan(found).any():
        raise InputError("a score is not a number. Look at the attack.")
    return found


def apart(scores: FloatArray, every: int) -> tuple[FloatArray, FloatArray]:
    """Every so many scores, and the others."""
    chooses = np.arange(len(scores)) % every == 0
    return scores[chooses], scores[~chooses]


def best(tests: Sequence[Test], inside: FloatArray, outside: FloatArray, delta: float, failure: float) -> ManyRuns:
    """The test with the largest bound, each with this failure probability."""
    return max((_measured(test, inside, outside, delta, failure) for test in tests), key=lambda found: found.epsilon)


# --- one run, by Steinke, Nasr and Jagielski --------------------------------------------------------------------------


def one_run_p_value(n_canaries: int, n_guesses: int, n_right: int, epsilon: float, delta: float) -> float:
    """How likely ``n_right`` or more of ``n_guesses`` guesses are right if the mechanism is (ε, δ)-private, at most.

    Steinke, Nasr and Jagielski 2023, Theorem 5.2 (their m, r, v: canaries, guesses, right ones).

    *With δ = 0.* Let S be the secret bits, T the guesses, a function of what was released. Given T = t and the bits
    before i, Bayes's rule and P(T = t | S_i = 1, S_<i) ≤ e^ε·P(T = t | S_i = 0, S_<i) (the later bits are averaged
    over, which keeps it) give P(S_i = t_i | t, S_<i) ≤ q = e^ε/(1 + e^ε). So, guess by guess, the number of right ones
    is stochastically at most W ~ Binomial(n_guesses, q), whatever was abstained from.

    *With δ.* The excess x_i of that posterior over q has P₁(t) − e^ε·P₀(t) = (1 + e^ε)·(P₁(t) + P₀(t))·x_i, whose
    positive part sums to at most δ over all t, for each value of the bit. A guess is thus right at most when W_i = 1 or
    a further event F_i happens, where the F_i have an expected number of at most 2·m·δ. If F of them help, W must reach
    v − F; a law of F with a given mean does best at one value i beside 0, hence
    P ≤ P(W ≥ v) + 2·m·δ·max_i P(v > W ≥ v − i)/i. (The paper proves that F may be taken as independent of W given the
    guesses; we use that as published. `one_run_refutes` does not need it.)
    """
    from scipy.special import bdtrc, expit

    _check_guesses(n_canaries, n_guesses, n_right)
    q = float(expit(epsilon))
    at = float(bdtrc(n_right - 1, n_guesses, q)) if n_right else 1.0
    if delta == 0 or not n_right:
        return at
    steps = np.arange(1, n_right + 1)
    lower = n_right - steps - 1.0
    reached = np.where(lower < 0, 1.0, bdtrc(np.maximum(lower, 0), n_guesses, q))
    return float(min(1.0, at + 2 * n_canaries * delta * np.max((reached - at) / steps)))


def one_run(n_canaries: int, n_guesses: int, n_right: int, *, delta: float = 0.0, failure_probability: float) -> float:
    """The largest ε that so many right guesses refute at ``delta``, by `one_run_p_value`; 0 if none.

    Even if every guess is right the bound is finite: n guesses at 99.9% give at most 2.9 (128), 5.0 (1,000), 7.3
    (10,000).
    """
    delta, failure = check_delta(delta), check_failure_probability(failure_probability)
    return _largest(lambda e: one_run_p_value(n_canaries, n_guesses, n_right, e, delta) <= failure)


# --- one run, by the trade-off curve ----------------------------------------------------------------------------------

Inverse = Callable[[float], float]
"""The least false-positive rate at which a true-positive rate is allowed: F⁻¹ of `one_run_refutes`."""


def approximate(epsilon: float, delta: float) -> Inverse:
    """F⁻¹ of (ε, δ): P(S) ≤ δ + e^ε·Q(S) for S, and for its complement, in both directions."""
    factor = math.exp(-epsilon)
    return lambda share: max(0.0, (share - delta) * factor, 1 - delta - (1 - share) / factor)


def gaussian(mu: float) -> Inverse:
    """F⁻¹ of the Gaussian mechanism with sensitivity/deviation μ: F(x) = Φ(Φ⁻¹(x) + μ)."""
    from scipy.special import ndtr, ndtri

    return lambda share: float(ndtr(ndtri(share) - mu)) if share < 1 else 1.0


def curve(epsilons: FloatArray, deltas: FloatArray) -> Inverse:
    """F⁻¹ of a mechanism that is (ε_j, δ_j)-private for every j at once."""
    shrink = np.exp(-np.asarray(epsilons, np.float64))
    deltas = np.asarray(deltas, np.float64)
    rest = 1 - deltas
    return lambda share: max(0.0, float(((share - deltas) * shrink).max()), float((rest - (1 - share) / shrink).max()))


def one_run_refutes(
    n_canaries: int, n_guesses: int, n_right: int, inverse: Inverse, failure_probability: float
) -> bool:
    """Whether so many right guesses have a probability below ``failure_probability`` for every mechanism with this
    trade-off curve. Mahloujifar, Melis and Chaudhuri 2024 (arXiv 2410.22235), derived here in terms of tails.

    Let m canaries have fair secret bits, and let exactly k of them be guessed. F is concave and rising with
    P(S) ≤ F(Q(S)) for the results with and without any one canary, in both directions. Fix a canary i and let J be a
    set of numbers. The results and other bits where i is guessed "in" and the number of right guesses *among the
    others* is in J are one set S, whose probability with bit 1 is at most F of that with bit 0; the same for "out".
    Half the sum of both, and Jensen's inequality:

        P(i guessed right, others ∈ J) ≤ F(P(i guessed wrong, others ∈ J)).

    Take J = {c−1, c, …}, average over the m canaries, and use Jensen again. With p_t the chance of t right guesses,

        (1/m)·Σ_{t≥c} t·p_t ≤ F((1/m)·Σ_{t≥c−1} (k − t)·p_t)       for c = 1, …, k.

    In tails N_c = Σ_{t≥c} p_t the sums are c·N_c + Σ_{t>c} N_t and (k−c+1)·N_{c−1} − Σ_{t≥c} N_t. So

        N_{c−1} ≥ [m·F⁻¹((c·N_c + Σ_{t>c} N_t)/m) + Σ_{t≥c} N_t] / (k − c + 1),   and   N_{c−1} ≥ N_c,

    whose right-hand sides rise with every later tail. Start from N_v = γ and zero beyond, the least that "v or more
    with probability γ" allows, and take equality downwards: each tail is then as small as it can be. If N_0 comes out
    above 1, no such mechanism exists, and the probability of v or more is below γ. ∎

    There is no assumption about abstentions, except that their number is fixed.
    """
    _check_guesses(n_canaries, n_guesses, n_right)
    m, k, tail, later = n_canaries, n_guesses, failure_probability, 0.0
    for c in range(n_right, 0, -1):
        share = min(1.0, (c * tail + later) / m)
        least = (m * inverse(share) + later + tail) / (k - c + 1)
        if least <= tail:  # then this holds for all smaller c as well: both sums stay what they are
            return False
        later += tail
        tail = least
        if tail > 1:
            return True
    return tail > 1


def one_run_by_curve(
    n_canaries: int, n_guesses: int, n_right: int, *, delta: float = 0.0, failure_probability: float
) -> float:
    """The largest ε that so many right guesses refute at ``delta``, by `one_run_refutes` with nothing but (ε, δ)."""
    delta, failure = check_delta(delta), check_failure_probability(failure_probability)
    return _largest(lambda e: one_run_refutes(n_canaries, n_guesses, n_right, approximate(e, delta), failure))


def one_run_gaussian(n_canaries: int, n_guesses: int, n_right: int, *, failure_probability: float) -> float:
    """The largest μ that they refute *if the mechanism is Gaussian*: `gaussian_epsilon` makes an ε of it."""
    failure = check_failure_probability(failure_probability)
    return _largest(lambda mu: one_run_refutes(n_canaries, n_guesses, n_right, gaussian(mu), failure))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """ε of the Gaussian mechanism at ``delta``: δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018)."""
    from scipy.special import log_ndtr

    if mu <= 0:
        return 0.0
    if delta <= 0:
        return math.inf

    def delta_at(epsilon: float) -> float:
        upper, lower = float(log_ndtr(mu / 2 - epsilon / mu)), float(log_ndtr(-mu / 2 - epsilon / mu))
        return math.exp(upper) * -math.expm1(min(0.0, epsilon + lower - upper))

    return _largest(lambda e: delta_at(e) > delta)


def n_guesses_candidates(n_canaries: int) -> list[int]:
    """Numbers of guesses that compete: all canaries (at most `MOST_GUESSES`), half of them, … down to 32."""
    found = [min(n_canaries, MOST_GUESSES)]
    while found[-1] // 2 >= 32:
        found.append(found[-1] // 2)
    return found


def right_guesses(scores: FloatArray, inside: BoolArray, n_guesses: int) -> int:
    """Guess "in" above 0 and "out" below it, for the ``n_guesses`` scores that are farthest from 0."""
    scores, secret = np.asarray(scores, np.float64), np.asarray(inside, bool)
    order = np.argsort(-np.abs(scores), kind="stable")[:n_guesses]
    return int(((scores[order] > 0) == secret[order]).sum())


def _check_guesses(n_canaries: int, n_guesses: int, n_right: int) -> None:
    if not 0 <= n_right <= n_guesses <= n_canaries or not n_guesses:
        raise InputError(
            f"of {n_canaries} canaries {n_guesses} were guessed and {n_right} rightly: each number must be at most the "
            "one before it, and there must be a guess."
        )


def _largest(refuted: Callable[[float], bool]) -> float:
    """The largest value that is refuted, from below to 1e-4, if smaller values are refuted too; 0 if none is."""
    low, high = 0.0, 1.0
    if not refuted(1e-4):
        return 0.0
    while refuted(high):
        low, high = high, 2 * high
        if high > 100:
            return low
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low

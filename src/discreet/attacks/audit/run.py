"""Run an audit: canaries in and out, scores, bounds, verdict."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, FloatArray
from discreet.attacks.audit import bounds, family
from discreet.attacks.audit.methods import make
from discreet.attacks.audit.result import Audit
from discreet.attacks.audit.shares import many_canaries
from discreet.attacks.audit.targets import LIKELIHOOD, PREPARING, Target

Progress = Callable[[int, int], object]
"""Called with the runs done and all of them."""

ENOUGH_RUNS = 200
"""From so many runs on, they are counted one by one; fewer are taken as one run with all their canaries."""

MOST_RUNS = 2**31
"""Runs have seeds one after another, so that no two runs share one: a seed that came twice would count twice."""


def audit(
    method: str = "private",
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: str | None = None,
    n_runs: int = 1000,
    n_canaries: int | None = None,
    black_box: bool = False,
    failure_probability: float = 0.001,
    seed: int | None = None,
    progress: Progress = lambda done, total: None,
    **options: Any,
) -> Audit:
    """Attack ``method`` with canaries, and say which ε the attack refutes.

    With one canary, ``n_runs`` runs with it and as many without; with more, ``n_runs`` runs in which each canary is in
    by a fair coin. By default as many as the method has room for. ``black_box``: the topics alone are seen, otherwise
    every release. ``options`` change parameters of the model.

    The text is made up; the audit is about our code and spends no budget. On private text an audit must
    never run, unless its result stays as private as the text: it says who was in.
    """
    target = make(
        method, unit=unit, epsilon=epsilon, delta=delta, n_canaries=n_canaries, black_box=black_box, **options
    )
    return audit_target(target, n_runs=n_runs, failure_probability=failure_probability, seed=seed, progress=progress)


def audit_target(
    target: Target,
    *,
    n_runs: int,
    failure_probability: float = 0.001,
    seed: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Audit:
    """The same for anything that runs and scores."""
    bounds.check_failure_probability(failure_probability)
    least = bounds.LEAST_RUNS if target.n_canaries == 1 else 1
    if n_runs < least:
        raise InputError(f"an audit needs at least {least} runs; found {n_runs}. Use more runs.")
    if seed is not None and seed < 0:
        raise InputError(f"a seed must not be negative; found {seed}.")
    if 2 * n_runs >= MOST_RUNS:
        raise InputError(f"an audit has at most {MOST_RUNS // 2:,} runs; found {n_runs:,}.")
    seed = secrets.randbits(60) if seed is None else seed
    generator = np.random.default_rng(seed)
    start = int(generator.integers(MOST_RUNS))
    target.prepare(start)
    measure = _many if target.n_canaries == 1 else _one
    return measure(target, n_runs, failure_probability, seed, generator, start + PREPARING, progress)


def _many(
    target: Target,
    n_runs: int,
    failure: float,
    seed: int,
    generator: np.random.Generator,
    first: int,
    progress: Progress,
) -> Audit:
    scores: dict[str, tuple[list[float], list[float]]] = {}
    for done in range(2 * n_runs):
        there = done % 2 == 0
        for name, (value,) in target.scores(np.array([there]), first + done).items():
            scores.setdefault(name, ([], []))[0 if there else 1].append(float(value))
        progress(done + 1, 2 * n_runs)
    found = {name: (bounds.checked(np.array(a)), bounds.checked(np.array(b))) for name, (a, b) in scores.items()}
    parts = {name: tuple(bounds.apart(side, bounds.SPLITS["split"]) for side in sides) for name, sides in found.items()}
    tests = {
        name: bounds.promising(
            bounds.candidates(a[0], b[0]), (a[0], b[0]), (len(a[1]), len(b[1])), target.delta, failure
        )
        for name, (a, b) in parts.items()
    }
    name = max(tests, key=lambda each: _plain(tests[each], parts[each], target.delta))
    (_, inside), (_, outside) = parts[name]
    best = bounds.best([tests[name]], inside, outside, target.delta, failure)
    conditional = math.nan
    if family.is_family(target.entries):
        conditional = _by_family(target, parts.get(LIKELIHOOD, parts[name]), failure)
    return Audit.of(
        target,
        lower_bound=best.epsilon,
        by_noise=conditional,
        failure_probability=failure,
        n_runs=2 * n_runs,
        seed=seed,
        score=name,
        inside=found[name][0],
        outside=found[name][1],
        detail=(
            f"{'high' if best.test.above else 'low'} scores ({name}): at least {best.more:.4f} of runs "
            f"{'with' if best.test.above else 'without'} the canary, at most {best.less:.4f} of the others"
        ),
    )


def _plain(test: bounds.Test, parts: Any, delta: float) -> float:
    """What a test would say of the scores that choose, with half of the confidence: to compare scores."""
    (few_in, _), (few_out, _) = parts
    found = bounds.best([test], few_in, few_out, delta, 0.5)
    return bounds.log_ratio(found.more, found.less, delta)


def _by_family(target: Target, parts: Any, failure: float) -> float:
    """By the test that says most about Gaussian noise: the largest distance of the two shares in deviations."""
    from scipy.special import ndtri

    (few_in, inside), (few_out, outside) = parts
    test = bounds.promising(
        bounds.candidates(few_in, few_out),
        (few_in, few_out),
        (len(inside), len(outside)),
        target.delta,
        failure,
        lambda more, less: float(ndtri(more) - ndtri(less)),
    )
    found = bounds.best([test], inside, outside, target.delta, failure)
    return family.least_epsilon(target.entries, target.delta, lambda inverse: found.less < inverse(found.more))


def _one(
    target: Target,
    n_runs: int,
    failure: float,
    seed: int,
    generator: np.random.Generator,
    first: int,
    progress: Progress,
) -> Audit:
    scores: list[FloatArray] = []
    secret: list[BoolArray] = []
    name = ""
    for done in range(n_runs):
        inside = generator.random(target.n_canaries) < 0.5
        found = target.scores(inside, first + done)
        name = LIKELIHOOD if LIKELIHOOD in found else next(iter(found))
        scores.append(found[name])
        secret.append(inside)
        progress(done + 1, n_runs)
    values, truth = np.array(scores), np.array(secret)
    how = _by_shares if n_runs >= ENOUGH_RUNS else _by_guesses
    best, conditional, detail = how(target, values, truth, failure)
    return Audit.of(
        target,
        lower_bound=best,
        by_noise=conditional,
        failure_probability=failure,
        n_runs=n_runs,
        seed=seed,
        score=name,
        inside=values[truth],
        outside=values[~truth],
        detail=f"{detail} ({name})",
    )


def _by_shares(target: Target, values: FloatArray, truth: BoolArray, failure: float) -> tuple[float, float, str]:
    """Runs are independent."""
    from scipy.special import ndtri

    found = many_canaries(values, truth, delta=target.delta, failure_probability=failure)
    conditional = math.nan
    if family.is_family(target.entries):
        wide = many_canaries(
            values,
            truth,
            delta=target.delta,
            failure_probability=failure,
            worth=lambda more, less: float(ndtri(more) - ndtri(less)),
        )
        conditional = family.least_epsilon(
            target.entries, target.delta, lambda inverse: wide.less < inverse(min(wide.more, 1.0))
        )
    detail = (
        f"{values.size:,} canaries, {'high' if found.test.above else 'low'} scores: at least {found.more:.5f} of those "
        f"{'in' if found.test.above else 'out'}, at most {found.less:.5f} of the others"
    )
    return found.epsilon, conditional, detail


def _by_guesses(target: Target, values: FloatArray, truth: BoolArray, failure: float) -> tuple[float, float, str]:
    """As one run with all canaries: nothing but their coins is independent."""
    n = values.size
    tries = [(k, bounds.right_guesses(values.ravel(), truth.ravel(), k)) for k in bounds.n_guesses_candidates(n)]
    each = failure / len(tries)

    def bound(k: int, right: int) -> float:
        return bounds.one_run_by_curve(n, k, right, delta=target.delta, failure_probability=each)

    best, (k, right) = max(((bound(*one), one) for one in tries), key=lambda pair: pair[0])
    conditional = math.nan
    if family.is_family(target.entries):
        conditional = family.least_epsilon(
            target.entries,
            target.delta,
            lambda inverse: any(bounds.one_run_refutes(n, *one, inverse, each) for one in tries),
        )
    return best, conditional, f"of {n:,} canaries {k:,} were guessed, {right:,} rightly"

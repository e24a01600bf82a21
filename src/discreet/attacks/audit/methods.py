"""One row per method that promises something: how an audit runs it, and with which canaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet.attacks.audit.canaries import Canaries
from discreet.attacks.audit.targets import Observed, Target
from discreet.attacks.audit.words import ReplacedWord, Report, SelectedWord

DOCUMENT, USER = "document", "user"

SEVERAL = 64
"""Canaries in a run, where contributions lie in cells of words: a run with so many takes little longer than one."""

ROUNDS: dict[str, Any] = {"n_rounds": 6, "sampling_rate": 0.5, "local_sweeps": 1, "clip": 2.0, "n_threads": 1}
"""A short fit of the models that work in rounds. One local sweep: with one topic there is nothing to find."""


def make(
    method: str,
    *,
    unit: str | None = None,
    epsilon: float,
    delta: float,
    n_canaries: int | None = None,
    black_box: bool = False,
    **options: Any,
) -> Target:
    """What to audit, by its name for ``--method``."""
    if method not in METHODS:
        raise InputError(f"there is no audit of {method!r}; there are {', '.join(sorted(METHODS))}.")
    units, usual, build = METHODS[method]
    unit = unit or units[0]
    if unit not in units:
        raise InputError(f"{method} protects {' or '.join(units)}; found unit {unit!r}.")
    if not 0 < epsilon < math.inf:
        raise InputError(f"epsilon must be positive and finite; found {epsilon:g}.")
    if not 0 < delta < 1:
        raise InputError(f"delta must lie between 0 and 1; found {delta:g}.")
    if n_canaries is not None and n_canaries < 1:
        raise InputError(f"an audit needs at least one canary; found {n_canaries}.")
    if usual == 1 and n_canaries not in (None, 1):
        raise InputError(f"an audit of {method} has one canary in a run; found {n_canaries}. Use more runs.")
    return build(
        method=method,
        unit=unit,
        epsilon=float(epsilon),
        delta=float(delta),
        n_canaries=usual if n_canaries is None else n_canaries,
        black_box=black_box,
        **options,
    )


def canaries_of(unit: str, n_canaries: int, **more: Any) -> Canaries:
    """One word, repeated; users spread it over four documents."""
    users = unit == USER
    return Canaries(n_canaries, documents=4 if users else 1, users=users, **more)


def _rounds(
    home: str,
    name: str,
    *,
    method: str,
    unit: str,
    epsilon: float,
    delta: float,
    n_canaries: int,
    black_box: bool,
    n_topics: int = 1,
    words: int = 1,
    **options: Any,
) -> Observed:
    """Models of documents or users that draw their noise through releases."""
    from importlib import import_module

    model = getattr(import_module(home), name)
    settings = {**ROUNDS, **options}

    def fit(corpus: Any, seed: int) -> Any:
        return model(n_topics, epsilon=epsilon, delta=delta, random_state=seed, **settings).fit(corpus)

    note = (
        f"; {settings['n_rounds']} rounds at rate {settings['sampling_rate']:g}, {n_topics} topic{'s'[: n_topics > 1]}"
    )
    canaries = canaries_of(unit, n_canaries, words=words)
    return Observed(method, unit, fit, canaries, delta, black_box=black_box, note=note)


def _private(**given: Any) -> Observed:
    return _rounds("discreet.models.private.model", "PrivateLDA", **given)


def _variational(**given: Any) -> Observed:
    return _rounds("discreet.models.variational.model", "VariationalLDA", **given)


def _subsampled(**given: Any) -> Observed:
    return _rounds("discreet.models.subsampled.model", "SubsampledLDA", **given)


def _private_cross(
    *, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool, **options: Any
) -> Observed:
    """All units are in the first of two collections."""
    from discreet.models.cross.private import PrivateCrossLDA

    settings = {**ROUNDS, "collection_names": ["here", "there"], **options}

    def fit(corpus: Any, seed: int) -> Any:
        model = PrivateCrossLDA(1, epsilon=epsilon, delta=delta, random_state=seed, **settings)
        return model.fit(corpus, collections=["here"] * corpus.n_documents)

    canaries = canaries_of(unit, n_canaries)
    return Observed(method, unit, fit, canaries, delta, black_box=black_box, note="; 6 rounds at rate 0.5, 1 topic")


def _adapted(
    *, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool, **options: Any
) -> Observed:
    """The public topics are those of a plain model of the same made-up words."""
    from discreet.models.adapted.model import AdaptedLDA
    from discreet.models.lda import LDA

    canaries = canaries_of(unit, n_canaries)
    plain = Canaries(n_canaries).corpus(np.ones(n_canaries, bool))
    public = LDA(1, n_sweeps=1, evaluate_every=0, algorithm="sampled", random_state=0, n_threads=1).fit(plain).release()

    def fit(corpus: Any, seed: int) -> Any:
        model = AdaptedLDA(
            1, public=public, epsilon=epsilon, delta=delta, clip=2.0, n_threads=1, random_state=seed, **options
        )
        return model.fit(corpus)

    return Observed(method, unit, fit, canaries, delta, black_box=black_box, note="; 1 public topic")


def _spectral(
    *, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool, **options: Any
) -> Observed:
    from discreet.models.spectral.model import SpectralLDA

    def fit(corpus: Any, seed: int) -> Any:
        return SpectralLDA(1, epsilon=epsilon, delta=delta, n_threads=1, random_state=seed, **options).fit(corpus)

    return Observed(method, unit, fit, canaries_of(unit, 1), delta, black_box=black_box, note="; 1 topic")


def _hybrid(
    *, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool, **options: Any
) -> ReplacedWord:
    """Ten releases of the counts; the draws of one topic give nothing away, whatever they were charged."""
    from discreet.models.hybrid.model import HybridLDA

    settings = {"n_sweeps": 9, "n_threads": 1, **options}

    def fit(corpus: Any, seed: int) -> Any:
        return HybridLDA(1, epsilon=epsilon, delta=delta, random_state=seed, **settings).fit(corpus)

    return ReplacedWord(method, fit, epsilon, delta)


def _laplace(
    *, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool, **options: Any
) -> ReplacedWord:
    """CDP-LDA as published: one sweep, and the topics alone are seen. Its claim has no δ."""
    from discreet.models.laplace import LaplaceLDA

    settings = {"n_sweeps": 1, **options}

    def fit(corpus: Any, seed: int) -> Any:
        return LaplaceLDA(1, epsilon=epsilon, as_published=True, random_state=seed, **settings).fit(corpus)

    return ReplacedWord(method, fit, epsilon, 0.0, scale=1 / epsilon)


def _local(*, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool) -> Report:
    return Report(method, unit, epsilon, 1 if unit == "bit" else 4, n_canaries)


def _vocabulary(*, method: str, unit: str, epsilon: float, delta: float, n_canaries: int, black_box: bool) -> Target:
    return SelectedWord(epsilon, delta)


METHODS: dict[str, tuple[tuple[str, ...], int, Callable[..., Target]]] = {
    "private": ((DOCUMENT, USER), SEVERAL, _private),
    "private-cross": ((DOCUMENT, USER), SEVERAL, _private_cross),
    "adapted": ((DOCUMENT, USER), SEVERAL, _adapted),
    "variational": ((DOCUMENT, USER), SEVERAL, _variational),
    "subsampled": ((DOCUMENT, USER), SEVERAL, _subsampled),
    "spectral": ((DOCUMENT, USER), 1, _spectral),
    "hybrid": (("word",), 1, _hybrid),
    "laplace": (("word",), 1, _laplace),
    "local": (("bit", "report"), SEVERAL, _local),
    "vocabulary": ((DOCUMENT,), 1, _vocabulary),
}
"""Units, of which the first is usual; canaries in a run; and how it is built."""

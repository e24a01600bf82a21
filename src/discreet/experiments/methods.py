"""Methods that are compared on more than one page: the name on the page, and the model behind it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.corpus import Corpus
from discreet.experiments.data import unigram
from discreet.experiments.experiment import Setting

SOUND, PARK, PRIVATE, VARIATIONAL = "SpectralLDA, sound", "VI of Park et al.", "PrivateLDA", "VariationalLDA"
CONFIGURATIONS: Final[dict[str, Literal[1, 2, 3, 4]]] = {
    "config. 1, as published": 1,
    "config. 2, as published": 2,
    "config. 3, as published": 3,
    "config. 4, as published": 4,
}
UNNOISED, VI_U, GIBBS, UNIGRAM = "SpectralLDA, no noise", "VariationalLDA, no noise", "LDA", "word frequencies only"

WITH_NOISE = (SOUND, PARK, PRIVATE, VARIATIONAL, *CONFIGURATIONS)
PLAIN = (UNNOISED, VI_U, GIBBS, UNIGRAM)
"""In this order: a figure has eight colours, so a kind of method has the same one with noise and (dashed) without."""

CLIPPED = 0.1
"""The clip of Park et al., as a share of the most tokens of a document."""


class Fitted(NamedTuple):
    """The result of a method, and how long it took."""

    topics: FloatArray
    weights: FloatArray
    """Weights of the topics, up to a common factor."""
    seconds: float


def settings_of(
    common: Setting, epsilons: Iterable[float], noisy: Iterable[str] = WITH_NOISE, plain: Iterable[str] = PLAIN
) -> Iterator[Setting]:
    """Methods with an ε once per ε; the others once. In the order of colours."""
    epsilons = list(epsilons)
    yield from ({**common, "method": method, "epsilon": epsilon} for method in noisy for epsilon in epsilons)
    yield from ({**common, "method": method, "epsilon": None} for method in plain)


def fitted(setting: Setting, corpus: Corpus, seed: int) -> Fitted:
    """Train what ``setting`` names. The time is processor time of ``fit`` alone, so that other work on the machine
    matters little."""
    if setting["method"] == UNIGRAM:
        return Fitted(unigram(corpus), np.ones(1), 0.0)
    model = model_of(setting, corpus.n_documents, seed)
    started = time.process_time()
    quietly(model.fit, corpus)
    seconds = time.process_time() - started
    topics = model.components_
    return Fitted(topics, np.broadcast_to(np.asarray(model.alpha_, float), len(topics)), seconds)


def model_of(setting: Setting, n_documents: int, seed: int) -> Any:
    """``alpha0`` is for the spectral methods, ``alpha`` and ``beta`` (one number each) for the others.

    ``effort`` is None for the default of the model; quick runs give a number of rounds or sweeps. ``cap`` is for Park
    et al.: the most tokens of a document, which they take as known, as they do N.
    """
    from discreet.models.lda import LDA
    from discreet.models.private.model import PrivateLDA
    from discreet.models.spectral.model import SpectralLDA
    from discreet.models.variational.model import VariationalLDA

    k, method, effort = setting["n_topics"], setting["method"], setting["effort"]
    budget = {"epsilon": setting["epsilon"], "delta": setting["delta"]}
    rounds = {} if effort is None else {"n_rounds": effort}
    if method in (SOUND, UNNOISED):
        return SpectralLDA(k, alpha0=setting["alpha0"], **budget, random_state=seed)
    if method in CONFIGURATIONS:
        number = CONFIGURATIONS[method]
        prior = {"alpha0": setting["alpha0"]}
        return SpectralLDA(k, configuration=number, as_published=True, **prior, **budget, random_state=seed)
    if method == PARK:
        size = {"max_tokens": setting["cap"], "clip": CLIPPED * setting["cap"], "n_units": n_documents}
        return VariationalLDA.paper_settings(n_topics=k, alpha=setting["alpha"], **budget, **size, random_state=seed)
    if method in (VARIATIONAL, VI_U):
        return VariationalLDA(k, alpha=setting["alpha"], **budget, **rounds, random_state=seed)
    if method == PRIVATE:
        return PrivateLDA(k, alpha=setting["alpha"], **budget, **rounds, random_state=seed)
    prior = {"alpha": setting["alpha"], "beta": setting["beta"]}
    return LDA(k, **prior, n_sweeps=effort or 150, evaluate_every=0, algorithm="sampled", random_state=seed)


def quietly(work: Any, *arguments: Any, **options: Any) -> Any:
    """Without the warning that noise may hide the topics: the page shows whether it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return work(*arguments, **options)

"""``SpectralLDA(configuration=…)``: which form runs, and what its ε means."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from discreet._errors import InputError
from discreet._random import Key
from discreet.corpus.corpus import Corpus
from discreet.models.published import claimed
from discreet.models.spectral.moments import smoothed
from discreet.models.spectral.private import check_words
from discreet.models.spectral.published.choice import Candidate, choose_configuration
from discreet.models.spectral.published.edges import Account, Configured, Edge, shares
from discreet.models.spectral.published.mirrored import check_cubed, check_mirrored
from discreet.models.spectral.published.replaced import fit_replaced
from discreet.models.spectral.tensor import UNSETTLED
from discreet.models.spectral.unbiased import LdaMoments, sensitivities, sensitivities_in_cells
from discreet.privacy.accounting import epsilon as epsilon_of
from discreet.privacy.events import Entry, GaussianRelease, PureRelease
from discreet.privacy.guarantee import Observer, Unit

if TYPE_CHECKING:
    from discreet.models.spectral.model import SpectralLDA

FLOATS = "noise is added to floating-point numbers, which no proof of its mechanism covers"
WHITENED = (
    "Theorem 5 bounds M̂₃(Ŵ,Ŵ,Ŵ) − M̂₃(Ŵ′,Ŵ′,Ŵ′) by M̂₃(Ŵ−Ŵ′,Ŵ−Ŵ′,Ŵ−Ŵ′), which is no inequality, and rests on Lemma 28, "
    "which is false: where singular values of M̂₂ are close, one document turns Ŵ by any angle",
)
GAP = (
    "Lemma 9 lets γ_s move by 2/N, but whitening multiplies what a document does by σ_k(M̂₂)^-3/2",
    "the noise on μ̄ᵢ and ᾱᵢ is for one of them, and all k leave",
)
SCALE = "the noise's size is computed from σ₁(M̂₂) and σ₁(T̂), which are not released"


class Published:
    """The attributes that a published form sets on the model."""

    configuration_: int
    edge_split_: tuple[float, ...]
    edges_: tuple[Edge, ...]
    choice_: tuple[Candidate, ...]


def check_configuration(model: SpectralLDA, groups: Any) -> None:
    """Refuse what can be refused before the documents are read."""
    name, claims = f"configuration={model.configuration!r}", model.as_published
    if model.configuration is None:
        raise InputError("as_published=True needs configuration=1 to 4 or 'choose': the paper has four. Give one.")
    if model.epsilon is None:
        raise InputError(f"{name} adds noise for an epsilon, and none was given. Give epsilon, or no configuration.")
    if model.configuration != 1 and not claims:
        raise InputError(
            f"{name} has no form that is proved: its epsilon is only claimed. Add as_published=True to reproduce the "
            "paper, or use configuration=1 or none."
        )
    if model.ledger is not None and claims:
        raise InputError(
            f"{name} as published gives an epsilon that is only claimed, so no ledger can account for it. Leave ledger "
            "or as_published out."
        )
    if groups is not None:
        raise InputError(f"{name} protects one document, never all of a user. Leave groups or configuration out.")
    if model.configuration == "choose":
        if model.edge_split is not None:
            raise InputError("configuration='choose' also chooses the split. Leave edge_split or 'choose' out.")
    elif claims:
        shares(int(model.configuration), model.edge_split, 1.0, 1e-6)
        if model.configuration == 1:
            check_mirrored(int(model.n_topics))


def fit_configuration(model: SpectralLDA, corpus: Corpus, smoothing: float) -> None:
    """Set the attributes that ``fit`` sets."""
    if corpus.groups is not None:
        raise InputError(
            f"configuration={model.configuration!r} protects one document, and this corpus has users. Leave its groups "
            "or configuration out."
        )
    if model.n_topics > corpus.n_words:
        raise InputError(
            f"{model.n_topics} topics cannot be distinguished by {corpus.n_words} words. Ask for fewer topics."
        )
    if not model.as_published:
        fit_replaced(model, corpus, smoothing)
        return
    check_words(corpus.n_words)
    if model.delta == 0:
        check_cubed(corpus.n_words)
    assert model.epsilon is not None
    epsilon, delta = float(model.epsilon), float(model.delta)
    key = Key.open(model.random_state)
    moments = LdaMoments(corpus, model.alpha0, n_threads=model.n_threads)
    run = Configured(moments, model.n_topics, key, constants=model.constants, decomposition=model.decomposition)
    reasons: list[str] = []
    first: tuple[Edge, ...] = ()
    if model.configuration == "choose":
        choice = choose_configuration(run, corpus, epsilon, delta, float(model.choice_share), smoothing)
        model.configuration_, model.edge_split_, account = *choice.best[:2], choice.account
        model.choice_, outcome, first = choice.candidates, choice.outcome, (choice.likelihood,)
        reasons += _about_choice(len(choice.candidates), account, float(model.choice_share))
    else:
        assert model.configuration is not None
        account = Account(shares(int(model.configuration), model.edge_split, epsilon, delta))
        outcome = run.run(int(model.configuration), account)
        model.configuration_ = int(model.configuration)
        model.edge_split_ = tuple(part.epsilon / account.epsilon for part in account.parts)
    moments.close()
    uniform = np.full(corpus.n_words, 1 / corpus.n_words)
    model.components_, model.alpha_ = smoothed(outcome.topics, uniform, smoothing), outcome.alpha
    model.eigenvalues_, model.n_topics_ = outcome.values, len(outcome.alpha)
    model.edges_ = (*first, *outcome.edges)
    _warn(outcome.unbounded, outcome.settled)
    reasons = [*_why_claimed(model, moments, outcome.edges), *reasons]
    if corpus.vocabulary.origin == "private-selection":
        reasons.append("what the private selection of the words cost is not part of these numbers")
    model.guarantee_ = claimed(
        account.epsilon, Observer.STATISTICS, key, corpus, *reasons, unit=Unit.DOCUMENT, delta=account.delta
    )


def _why_claimed(model: SpectralLDA, moments: LdaMoments, edges: list[Edge]) -> list[str]:
    """Why the printed ε of this run is not proved."""
    configuration = model.configuration_
    pure = model.delta == 0
    two, three = (sensitivities_in_cells if pure else sensitivities)(moments.alpha0)
    found: list[str] = []
    if configuration > 1:
        found += [
            *WHITENED,
            f"Procedure 1 adds Lap(1/Nε₁) to σ_k, which Lemma 9 lets move by 2/N and which M̂₂ bounds by {two:.3g}/N",
        ]
    if configuration > 2:
        found += GAP
    if configuration == 4:
        found.append(SCALE)
    if model.constants == "text":
        found.append(
            f"the noise is for moments that move by 1/N, but M̂₂ can move by {two:.3g}/N and M̂₃ by {three:.3g}/N"
        )
    if configuration == 1:
        worth = [(e, e.scale * moments.n / (three if e.name == "e3" else two)) for e in edges]  # noise over what moves
        plan = [Entry(PureRelease(epsilon=1 / w) if pure else GaussianRelease(sigma=w), 1, e.name) for e, w in worth]
        delta = sum(edge.delta for edge in edges)
        found += [
            f"in exact arithmetic the noise on e3, e4 and e8 would give ε = {epsilon_of(plan, delta):.4g} at "
            f"δ = {delta:g} (without as_published it is proven)",
            FLOATS,
        ]
    large = max(edge.epsilon for edge in edges)
    if large > 1 and not pure:
        found.append(f"Proposition 18 holds for an ε of at most 1, and one edge has {large:.3g}")
    return found


def _about_choice(n: int, account: Account, share: float) -> list[str]:
    each = (1 - share) * account.epsilon
    return [
        f"{n} candidates were run on the documents and only the best is charged: with all of them it would be ε = "
        f"{account.epsilon + (n - 1) * each:.4g}",
        "the likelihood's statistics depend on topics without noise, so that no entry's sensitivity is d/N",
    ]


def _warn(unbounded: list[str], settled: bool) -> None:
    if unbounded:
        warnings.warn(
            f"the private lower bound of {' and '.join(unbounded)} is 0, so the published noise is unbounded and the "
            "topics are noise. More documents, fewer topics or a larger epsilon would help.",
            stacklevel=4,
        )
    if not settled:
        warnings.warn(UNSETTLED, ConvergenceWarning, stacklevel=4)

"""Config. 1 with right constants, proven: ``SpectralLDA(configuration=1)``.

The edges of the paper's Config. 1 are a cut: M̂₃ (e3) and M̂₂ (e4, e8). Here both get discrete Gaussian noise that is
calibrated to how far replacing one document can move them (`sensitivities`), within one ledger. Proof:
``models/spectral/proof.md``, last section. Different from the paper's Config. 1:

1. M̂₂ is released once, for Ŵ and Ŵ† alike; the paper does it twice and gets two bases that do not belong together.
2. Ŵ first, then M̂₃(Û, Û, Û) in k(k+1)(k+2)/6 cells: noise in d³ cells would give the same, and more of it.
3. An entry that stands for m mirrored ones is released √m times larger: noise then is in the metric of the
   sensitivities, and is up to √6 times smaller than mirrored noise.
4. Eigenvalues are corrected for the known noise, and topics that noise hides are left out, as in the sound form.
5. Whole numbers, (ε, δ) by composition of Gaussians, not by sums; any ε.

With ``delta=0`` the noise is discrete Laplace and ε is pure (the paper's section 6.1): M̂₂ in cells u ≤ v, as large as
they are, whose ℓ₁ norm moves by what `sensitivities_in_cells` says; M̂₃(Û, Û, Û) as above, whose ℓ₁ norm is at most
√cells times its ℓ₂ norm. The two ε are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.kernels.sums.moments import n_triples
from discreet.mechanisms.release import Releases
from discreet.models.base import numbers
from discreet.models.spectral.moments import smoothed, to_simplex
from discreet.models.spectral.private import FINE, check_words, clear_of_noise, symmetric
from discreet.models.spectral.published.mirrored import on_each_side
from discreet.models.spectral.tensor import decompose, from_unique, unique_places
from discreet.models.spectral.unbiased import LdaMoments, sensitivities, sensitivities_in_cells
from discreet.privacy import accounting
from discreet.privacy.calibrate import gaussian, on_grid
from discreet.privacy.events import DiscreteGaussianRelease, DiscreteLaplaceRelease, Entry
from discreet.privacy.guarantee import Relation, Unit
from discreet.privacy.ledger import Budget
from discreet.training.private_fit import PrivateFit

if TYPE_CHECKING:
    from discreet.models.spectral.model import SpectralLDA

USUAL_SPLIT = (0.3, 0.7)
"""Of the budget, as precision, for M̂₃ (e3) and M̂₂ (e4 and e8)."""

SMALLEST = 2.0**-53
"""Relative error of one operation in float64."""

PUBLIC = "the number of documents is public"

Noise: TypeAlias = DiscreteGaussianRelease | DiscreteLaplaceRelease


@dataclass(frozen=True)
class ReplacePlan:
    """Two releases, decided before the documents are read."""

    second: Noise
    third: Noise
    epsilon: float

    @property
    def pure(self) -> bool:
        """Laplace noise, δ = 0."""
        return isinstance(self.second, DiscreteLaplaceRelease)

    @classmethod
    def make(cls, model: SpectralLDA, n_words: int) -> ReplacePlan:
        given = numbers(USUAL_SPLIT if model.edge_split is None else model.edge_split, "edge_split")
        if given.shape != (2,) or not (np.isfinite(given) & (given > 0)).all():
            raise InputError(
                "edge_split must be 2 positive numbers for configuration=1, the shares of e3 "
                f"and e4; found {model.edge_split!r}."
            )
        assert model.epsilon is not None
        budget = Budget(float(model.epsilon), float(model.delta))
        share = float(given[1] / given.sum())
        cells = n_words * (n_words + 1) // 2
        if budget.delta == 0:
            return cls.make_pure(budget.epsilon, share, cells, n_triples(int(model.n_topics)))
        values = cells + n_triples(int(model.n_topics))
        whole = gaussian(budget, cells=values, scale=FINE).noise  # the multiplier if all were spent on one release
        second = on_grid(whole / math.sqrt(share), cells, scale=FINE)
        rest = gaussian(
            budget, cells=n_triples(int(model.n_topics)), scale=FINE, alongside=(Entry(second, 1, "e4"),), label="e3"
        )
        (entry,) = rest.plan
        assert isinstance(entry.event, DiscreteGaussianRelease)
        return cls(second, entry.event, rest.epsilon)

    @classmethod
    def make_pure(cls, epsilon: float, share: float, *cells: int) -> ReplacePlan:
        """``share`` of ε for the first release; sums."""
        each = (share * epsilon, (1 - share) * epsilon)
        second, third = (
            DiscreteLaplaceRelease(scale=FINE, sensitivity=FINE * part * (1 - 1e-9), cells=n)
            for part, n in zip(each, cells, strict=True)
        )
        return cls(second, third, accounting.epsilon((Entry(second), Entry(third)), 0.0))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """In the order of their release."""
        return Entry(self.second, 1, "second moment (e4, e8)"), Entry(self.third, 1, "third moment (e3)")


def steps_of(event: Noise, sensitivity: float, error: float) -> float:
    """Grid steps in 1 such that whole numbers, of values computed within ``error``, move by at most what was charged.

    Rounding adds at most 1 per cell to a difference, and computing adds 2·error: ‖·‖ ≤ steps·(sensitivity +
    2·error·√cells) + √cells in ℓ₂, and with cells in place of √cells in ℓ₁.
    """
    slack = event.cells if isinstance(event, DiscreteLaplaceRelease) else math.sqrt(event.cells)
    steps = (event.sensitivity - slack) / (sensitivity + 2 * error * slack)  # [steps]
    if not event.sensitivity > 2 * slack:
        raise InputError(
            f"with {event.cells:,} cells and this epsilon, rounding would cost more than half of the noise. Use fewer "
            "words or a larger epsilon."
        )
    return steps * (1 - 1e-9)


class ReplacedMoments:
    """One run: M̂₂, then M̂₃ in the basis given by the release of M̂₂. ``moments`` is private, all else released or
    public."""

    def __init__(self, moments: LdaMoments, plan: ReplacePlan, fit: PrivateFit) -> None:
        self.moments, self.plan = moments, plan
        n = moments.n
        two, three = sensitivities(moments.alpha0)
        if plan.pure:
            two, _ = sensitivities_in_cells(moments.alpha0)
            three *= math.sqrt(plan.third.cells)  # [one-by-two]
        self.steps_two = steps_of(plan.second, two / n, 12 * (n + 16) * SMALLEST)  # [computed]
        self.steps_three = steps_of(plan.third, three / n, 500 * (n + moments.n_words + 16) * SMALLEST)
        reservation = fit.reserve(plan.entries)  # [reserve-replaced] before any noise is drawn
        self.releases = Releases(reservation, fit.key)

    def second(self) -> tuple[FloatArray, float]:
        """M̂₂ with noise, and the deviation of the noise beside its diagonal."""
        d = self.moments.n_words
        high, low = np.tril_indices(d)
        beside = 1.0 if self.plan.pure else math.sqrt(2)
        times = np.where(high == low, 1.0, beside) * self.steps_two
        cells = np.rint(self.moments.second()[high, low] * times).astype(np.int64)  # [whole]
        noisy = self.releases.release(cells, self.plan.second)
        found = symmetric(noisy, d) / (beside * self.steps_two)
        found[np.diag_indices(d)] *= beside
        return found, self._deviation(self.plan.second) / (beside * self.steps_two)

    def third(self, basis: FloatArray, n_topics: int) -> tuple[FloatArray, float]:
        """M̂₃(Q, Q, Q) with noise for an orthonormal ``basis``; the deviation of the noise in a direction v⊗v⊗v."""
        k = basis.shape[1]
        i, j, h = unique_places(k)
        times = np.sqrt(np.array([6.0, 3.0, 1.0])[(i == j).astype(int) + (j == h)]) * self.steps_three
        cells = np.zeros(n_triples(n_topics), np.int64)
        cells[: len(i)] = np.rint(self.moments.third(basis)[i, j, h] * times).astype(np.int64)
        noisy = self.releases.release(cells, self.plan.third)
        return from_unique(noisy[: len(i)] / times, k), self._deviation(self.plan.third) / self.steps_three

    def _deviation(self, event: Noise) -> float:
        return event.scale * (math.sqrt(2) if self.plan.pure else 1.0)


def fit_replaced(model: SpectralLDA, corpus: Corpus, smoothing: float) -> None:
    """Set the attributes that ``fit`` sets."""
    fit = PrivateFit(model, corpus, unit=Unit.DOCUMENT, relation=Relation.REPLACE)
    check_words(corpus.n_words)
    plan = ReplacePlan.make(model, corpus.n_words)
    moments = LdaMoments(corpus, model.alpha0, n_threads=model.n_threads)
    run = ReplacedMoments(moments, plan, fit)
    second, deviation = run.second()
    frequencies = np.maximum(second.sum(axis=1) * (model.alpha0 + 1), 1e-3 / corpus.n_words)  # M̂₂·1 = M₁/(α₀+1)
    frequencies /= frequencies.sum()
    whitening, _ = clear_of_noise(second, deviation, np.ones(corpus.n_words), model.n_topics)
    clear = 0
    if len(whitening.values):
        raw, spread = run.third(whitening.vectors, model.n_topics)
        parts = decompose(on_each_side(raw, whitening.values**-0.5), method=model.decomposition)
        found = whitening.recover(parts, model.alpha0)
        sizes = np.linalg.norm(parts.vectors / np.sqrt(whitening.values)[:, None], axis=0)
        kept = parts.values > math.sqrt(len(sizes)) * spread * sizes**3
        clear = int(kept.sum())
    moments.close()
    if clear:
        model.components_ = smoothed(to_simplex(found.topics[kept]), frequencies, smoothing)
        model.alpha_ = model.alpha0 * found.alpha[kept] / float(found.alpha[kept].sum())
    else:
        model.components_, model.alpha_ = frequencies[None, :], np.array([float(model.alpha0)])
    model.eigenvalues_, model.n_topics_ = whitening.values, len(model.alpha_)
    model._warn_of_noise(float(moments.n), clear, public=True)
    model.configuration_ = 1
    fit.end(plan.entries, plan.epsilon, PUBLIC)

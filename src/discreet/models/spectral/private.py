"""The moments of SpectralLDA under differential privacy: what is released, in which order, at what cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import FloatArray, IntArray
from discreet.engines.interface import MomentEngine
from discreet.kernels.sums.moments import n_triples
from discreet.mechanisms.release import Releases
from discreet.models.spectral.exact import Whitened
from discreet.models.spectral.moments import Whitening
from discreet.privacy.calibrate import gaussian, on_grid
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.privacy.ledger import Budget, Reservation

if TYPE_CHECKING:
    from discreet.models.spectral.model import SpectralLDA

MOST_WORDS = 10_000
"""The noisy second moment has a cell for each pair of words."""

COARSE, FINE = 4096.0, 65536.0
"""The noise, in grid steps. A moment is spread over many cells, which are truncated, so its grid must be fine."""

BINS, FIRST_BIN = 128, -80
"""Bins of the histograms of norms: bin b starts at 2^((b + FIRST_BIN)/4)."""

SMALL_SHARES = {"frequencies": 0.02, "norms": 0.004, "sizes": 0.004}
"""Shares of the budget (as precision) for numbers that must not be read from the data directly; the moments share the
rest."""

CLIP_ONE, CLIP_THREE = 1.0, 10.0
"""Clips as multiples of the median norm of the units; the first may be longer. The third is generous: its noise is
small because it has few cells, and what it cuts off would be missing when corrections from the other two moments are
subtracted."""

HALF = math.sqrt(2) + math.sqrt(0.5)
"""An eigenvalue beyond this many σ√d of noise has a vector of which at least half (squared) is signal. The noise alone
ends at 2σ√d."""


@dataclass(frozen=True)
class SpectralPlan:
    """Six releases, decided with their noise before the data are read."""

    frequencies: DiscreteGaussianRelease
    norms: DiscreteGaussianRelease
    first: DiscreteGaussianRelease
    second: DiscreteGaussianRelease
    sizes: DiscreteGaussianRelease
    third: DiscreteGaussianRelease
    epsilon: float

    @classmethod
    def make(cls, model: SpectralLDA, n_words: int, vocabulary_entries: tuple[Entry, ...] = ()) -> SpectralPlan:
        """``vocabulary_entries``: what the words have cost. It comes out of the same budget."""
        assert model.epsilon is not None
        budget = Budget(float(model.epsilon), float(model.delta))
        values = n_words * (n_words + 5) // 2 + 3 * BINS + n_triples(int(model.n_topics))
        # the multiplier if all were spent on one release of them all
        whole = gaussian(budget, cells=values, scale=FINE, alongside=vocabulary_entries).noise
        left = 1 - sum(SMALL_SHARES.values())
        one, two, _ = (left * share / sum(model.split) for share in model.split)
        cells = {"frequencies": n_words, "norms": 2 * BINS, "sizes": BINS}
        found = {name: _event(whole, share, cells[name]) for name, share in SMALL_SHARES.items()}
        found["first"] = _event(whole, one, n_words)
        found["second"] = _event(whole, two, n_words * (n_words + 1) // 2)
        alongside = tuple(Entry(event, 1, name) for name, event in found.items())
        last = gaussian(
            budget,
            cells=n_triples(int(model.n_topics)),
            scale=FINE,
            alongside=(*alongside, *vocabulary_entries),
            label="third",
        )
        (entry,) = last.plan
        assert isinstance(entry.event, DiscreteGaussianRelease)
        if min(event.sensitivity for event in (*found.values(), entry.event)) < 2:  # a histogram needs √2
            raise InputError(
                f"epsilon={model.epsilon:g} is so small that the result would be only noise. Use a larger one."
            )
        return cls(**found, third=entry.event, epsilon=last.epsilon)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """In the order of their release."""
        return (
            Entry(self.frequencies, 1, "word frequencies"),
            Entry(self.norms, 1, "histograms of norms"),
            Entry(self.first, 1, "first moment"),
            Entry(self.second, 1, "second moment"),
            Entry(self.sizes, 1, "histogram of whitened norms"),
            Entry(self.third, 1, "whitened third moment"),
        )


def _event(whole: float, share: float, cells: int) -> DiscreteGaussianRelease:
    """A release that takes ``share`` of the budget."""
    return on_grid(whole / math.sqrt(share), cells, scale=FINE)


class Found(NamedTuple):
    """Functions of what was released."""

    whitened: Whitened
    n_units: float
    n_above: int
    """Eigenvalues of M₂ that stand clear of the noise, of those asked for."""
    noise: FloatArray
    """The share of noise (squared) in each whitening vector."""
    deviation: float
    """Of the noise in an entry of E₃(W, W, W)."""

    @property
    def least(self) -> float:
        """The bound that a λ must exceed. The noise in T(v, v, v) is up to √6 deviations for one v, and v is one of
        k."""
        return self.deviation * math.sqrt(6 * max(self.n_above, 1))


class PrivateMoments:
    """One run. The engine is private; every other field is a function of what was released."""

    def __init__(self, engine: MomentEngine, plan: SpectralPlan, reservation: Reservation, key: Key) -> None:
        self.engine, self.plan = engine, plan
        self.releases = Releases(reservation, key, engine.n_threads)

    def run(self, n_topics: int, alpha0: float, word_power: float, clip: float) -> Found:
        """The six releases, one after the other. ``clip`` is a share of the units' median norm."""
        weights = self._word_weights(word_power)
        clips = self._clips(weights, clip)
        first, second, deviation, unit_weights, total = self._two_moments(weights, clips)
        mean = weights * first
        for u, row in enumerate(second):  # row by row: the matrix may be large
            row -= alpha0 / (alpha0 + 1) * mean[u] * mean
        whitening, noise = clear_of_noise(second, deviation, weights, n_topics)
        if not len(noise):  # nothing stands clear of the noise: there is nothing to whiten
            return Found(Whitened(whitening, first, np.zeros(0)), self.n_units, 0, noise, 0.0)
        triples, spread = self._third_moment(whitening, unit_weights, n_topics)
        whitened = Whitened(whitening, first, triples / total)
        return Found(whitened, self.n_units, len(noise), noise, spread / total)

    def _word_weights(self, word_power: float) -> FloatArray:
        """g: a word of frequency u gets u^word_power."""
        event = self.plan.frequencies
        directions = self.engine.directions(event.sensitivity)  # [directions]
        noisy = self.releases.release(directions, event).astype(np.float64)
        positive = np.maximum(noisy, event.scale / 2)  # a word without a clear count is taken as rare, not as absent
        self.frequencies = positive / positive.sum()
        return np.asarray((self.frequencies * self.engine.n_words) ** word_power)

    def _clips(self, weights: FloatArray, clip: float) -> tuple[float, float]:
        """How long a unit's moments may be, from histograms in which each unit counts once."""
        event = self.plan.norms
        step = math.floor(event.sensitivity / math.sqrt(2))  # [norms] a unit is in one bin of each of two histograms
        norms = self.engine.norms(weights)
        cells = np.concatenate([_histogram(norms[:, 0]), _histogram(norms[:, 1])]) * step
        noisy = self.releases.release(cells, event) / step
        deviation = event.scale / step
        self.n_units = max(float(noisy[:BINS].sum()), 1.0)
        one, two = _median(noisy[:BINS], deviation), _median(noisy[BINS:], deviation)
        return max(CLIP_ONE, clip) * one, clip * two

    def _two_moments(
        self, weights: FloatArray, clips: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray, float, FloatArray, float]:
        """M₁, GE₂G, the deviation of the noise in a cell of it, each unit's weight (private) and their sum (not)."""
        one, two = self.plan.first, self.plan.second
        steps = one.sensitivity / clips[0], two.sensitivity / clips[1]
        singles, pairs, unit_weights = self.engine.moments(  # [clips] what was charged
            weights, steps, (one.sensitivity, two.sensitivity)
        )
        first = self.releases.release(singles, one) / (steps[0] * weights)
        total = max(float(first.sum()), 1.0)  # [total] Σ w, from what was released
        noisy = self.releases.release(pairs, two)
        second = symmetric(noisy, self.engine.n_words)
        second /= steps[1] * total
        return first / total, second, two.scale / (steps[1] * total), unit_weights, total

    def _third_moment(self, whitening: Whitening, unit_weights: FloatArray, n_topics: int) -> tuple[FloatArray, float]:
        """Σ w·M₃(W, W, W) and the deviation of its noise."""
        k, event = len(whitening.values), self.plan.sizes
        step = math.floor(event.sensitivity)  # [sizes] a unit is in one bin
        sizes = self.engine.triple_sizes(whitening.table, unit_weights)
        noisy = self.releases.release(_histogram(sizes) * step, event) / step
        clip = CLIP_THREE * _median(noisy, event.scale / step)
        event = self.plan.third
        steps = event.sensitivity / clip
        cells = np.zeros(n_triples(n_topics), np.int64)
        cells[: n_triples(k)] = self.engine.triples(
            whitening.table, unit_weights, steps, event.sensitivity
        )  # [clip-third]
        released = self.releases.release(cells, event)  # with fewer topics the other cells hold noise alone
        return released[: n_triples(k)] / steps, event.scale / steps


def clear_of_noise(
    second: FloatArray, deviation: float, weights: FloatArray, n_topics: int
) -> tuple[Whitening, FloatArray]:
    """Up to ``n_topics`` leading eigenvectors that are more signal than noise, and the share of noise in each.

    A matrix of signal θuuᵀ with θ > σ√d, plus symmetric noise of deviation σ, has the eigenvalue λ = θ + σ²d/θ, and its
    vector û has (û·u)² = 1 − σ²d/θ² (Péché 2006; Benaych-Georges and Nadakuditi 2011). So θ follows from λ, and
    ûᵀM₂û = θ − σ²d/θ is what W must whiten with: λ itself is inflated by the noise twice over.
    """
    d = len(weights)
    values, vectors = leading_of_noisy(second, n_topics)
    edge = deviation * math.sqrt(d)
    kept = values > HALF * edge
    values, vectors = values[kept], vectors[:, kept]
    theta = (values + np.sqrt(values**2 - 4 * edge**2)) / 2
    return Whitening(vectors, theta - edge**2 / theta, weights), edge**2 / theta**2


def leading_of_noisy(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The up to ``k`` largest eigenvalues of a dense symmetric matrix, and their vectors, by a block Krylov space.

    float32 and 15 steps are enough for values beyond the noise. Those in its bulk lie so close together that separating
    them would take long, and they are not used.
    """
    d = len(matrix)
    width = k + 10
    if d <= 20 * width:
        values, vectors = np.linalg.eigh(matrix)
        return values[::-1][:k], np.ascontiguousarray(vectors[:, ::-1][:, :k])
    single = matrix.astype(np.float32)
    block = np.random.default_rng(0).standard_normal((d, width), dtype=np.float32)
    basis, images = np.zeros((d, 0), np.float32), np.zeros((d, 0), np.float32)
    for _ in range(15):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]  # once more: float32 loses orthogonality
        image = single @ block
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        block = image
    small = (basis.T @ images).astype(np.float64)
    values, inner = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:k], np.linalg.qr(basis.astype(np.float64) @ inner[:, ::-1][:, :k])[0]


def symmetric(cells: IntArray, d: int) -> FloatArray:
    """The d×d matrix of which ``cells`` holds each pair once."""
    matrix = np.empty((d, d))
    for high in range(d):
        row = cells[high * (high + 1) // 2 : (high + 1) * (high + 2) // 2]
        matrix[high, : high + 1] = row
        matrix[: high + 1, high] = row
    return matrix


def _histogram(norms: FloatArray) -> IntArray:
    """Units by their norm; units with norm 0 are in no bin."""
    norms = norms[norms > 0]
    bins = np.clip(np.floor(4 * np.log2(norms)) - FIRST_BIN, 0, BINS - 1).astype(np.int64)
    return np.bincount(bins, minlength=BINS).astype(np.int64)


def _median(noisy: FloatArray, deviation: float) -> float:
    """The middle norm of a noisy histogram."""
    kept = np.where(noisy > 3 * deviation, noisy, 0.0)  # bins that stand above the noise
    if not kept.sum() > 0:
        kept = np.maximum(noisy, 1.0)
    middle = int(np.searchsorted(np.cumsum(kept), kept.sum() / 2))
    return float(2.0 ** ((middle + 0.5 + FIRST_BIN) / 4))


def check_words(n_words: int) -> None:
    if n_words > MOST_WORDS:
        raise InputError(
            f"the private second moment has a cell for each pair of words, and {n_words:,} words are too many for "
            f"memory. Restrict the corpus to at most {MOST_WORDS:,} public words."
        )

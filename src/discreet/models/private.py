"""PrivateLDA: topics of documents or people, proved to protect each of them whole. The one we recommend."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import FloatArray, IntArray
from discreet.engines.rounds import RoundEngine
from discreet.engines.threads import MAX_TOPICS
from discreet.kernels.slots import aligned
from discreet.mechanisms.release import release_sum
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.loop import Callback, Measures, run_sweeps
from discreet.models.private_input import check_groups, check_vocabulary
from discreet.models.shrink import Average, topics_from
from discreet.privacy import Guarantee
from discreet.privacy.calibrate import gaussian, on_grid, rising
from discreet.privacy.events import DiscreteGaussianRelease, Entry
from discreet.privacy.guarantee import SEEDED, Basis, Observer, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation

SCALE = 4096.0
"""Noise in steps of the grid: the same for every release, so that one table serves all; the grid follows the noise."""

FINEST = 65536.0
"""The same where the budget is so small that a contribution would be lost between the steps of the usual grid."""

STEPS = 32.0
"""A clip of fewer steps than this (in the rounds, which have many cells, four times this) asks for a finer grid."""

SIZES = 64
"""Bins of the histogram of unit sizes: bin b holds norms from 2^(b/4) on, in units of one token."""

SIZE_SHARE, WORD_SHARE = 0.004, 0.02
"""Of the budget (as precision): for the histogram of unit sizes, and for the frequencies of words."""

CLIP = 0.5
"""The clip as a share of the median size of the units: clipping most of them costs less than noise for a longer one."""


class PrivateLDA(TopicModel):
    """Latent Dirichlet allocation under differential privacy for whole documents, or whole users.

    Theorem A of ``docs/guarantees.md``. In each of ``n_rounds`` rounds every unit takes part with probability
    ``sampling_rate``, by a secret coin of its own. A unit that takes part runs a few Gibbs sweeps over its tokens under
    the released topics, starting from the topics its tokens had, and contributes its topic counts, weighted by word,
    clipped to one norm and put on a grid of whole numbers. The sum gets discrete Gaussian noise in every cell and is
    released. Everything else is a function of what was released: averaging over rounds, shrinking words without a clear
    profile, normalising.

    Before the rounds two small releases settle what must not be read off the data: a histogram of the units' sizes
    (their number and the clipping norm) and the frequencies of words (the weights, and what noisy profiles are shrunk
    towards).

    Parameters
    ----------
    n_topics : int
    epsilon, delta : float
        The budget of one fit, all releases together. ``delta`` should be far below one over the number of units.
    alpha : float or array
        Prior weight of each topic in a document.
    n_units : int, optional
        The number of units where it is public. By default it is estimated from the histogram, and thereby charged.
    n_rounds, sampling_rate, n_sweeps, n_samples :
        Rounds; each unit's chance to take part in one; local sweeps in a round; sweeps at its end that are averaged.
    clip : float, optional
        The largest norm of a contribution, in tokens. By default half the median of the units' sizes (histogram).
    word_power : float
        A word of frequency u gets the weight u^word_power: below 0 the norm is spent on topical words, not on common
        ones.
    max_tokens : int
        A public cap on the tokens of one unit, applied before anything else.
    ledger : Ledger, optional
        Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing.

    Attributes
    ----------
    components_, alpha_, guarantee_, ledger_ :
        The topics, and what they promise.
    history_ : dict of lists
        Functions of released statistics only.
    """

    method = "private"

    _parameter_constraints = {
        "n_topics": [Interval(Integral, 1, MAX_TOPICS, closed="both")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "n_units": [Interval(Integral, 1, None, closed="left"), None],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "sampling_rate": [Interval(Real, 0, 1, closed="right")],
        "n_sweeps": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "clip": [Interval(Real, 0, None, closed="neither"), None],
        "word_power": [Interval(Real, -1, 0, closed="both")],
        "max_tokens": [Interval(Integral, 1, None, closed="left")],
        "ledger": [Ledger, None],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
        "progress": ["boolean"],
        "callbacks": [list, tuple, None],
    }

    def __init__(
        self,
        n_topics: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        alpha: Any = 0.1,
        n_units: int | None = None,
        n_rounds: int = 240,
        sampling_rate: float = 0.2,
        n_sweeps: int = 8,
        n_samples: int = 5,
        clip: float | None = None,
        word_power: float = -0.3,
        max_tokens: int = 10_000,
        ledger: Ledger | None = None,
        n_threads: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        callbacks: Iterable[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.n_units = n_units
        self.n_rounds = n_rounds
        self.sampling_rate = sampling_rate
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.clip = clip
        self.word_power = word_power
        self.max_tokens = max_tokens
        self.ledger = ledger
        self.n_threads = n_threads
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Train on documents. ``groups`` holds one user id a document and makes users the unit; ``y`` is ignored."""
        self._check_parameters()
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        corpus = self._read(X, reset=True)
        assumptions = check_vocabulary(corpus) + (() if self.n_units is None else ("n_units is public",))
        groups = check_groups(groups, corpus)
        unit = Unit.DOCUMENT if groups is None else Unit.USER
        ledger = _open_ledger(self, unit)
        key = Key.open(self.random_state)
        plan = Plan.make(self, corpus.n_words)
        engine = RoundEngine(corpus, groups, self.n_topics, key, max_tokens=self.max_tokens, n_threads=self.n_threads)
        reservation = ledger.reserve(plan.entries)  # [reserve] everything is paid for before the first noise is drawn
        training = _Rounds(self, plan, engine, reservation, alpha)
        self.history_ = run_sweeps(
            range(1, self.n_rounds + 1), training.round, callbacks=self.callbacks or (), progress=self.progress
        )
        engine.close()
        self.components_ = np.ascontiguousarray(training.final_topics().T)
        self.alpha_, self.beta_ = alpha, 1.0 / corpus.n_words
        self.ledger_ = ledger
        self.guarantee_ = _guarantee(self, plan, unit, key, assumptions)
        return self


def _open_ledger(model: PrivateLDA, unit: Unit) -> Ledger:
    """The ledger given, which must count the same thing, or a new one."""
    if model.ledger is None:
        return Ledger(Budget(float(model.epsilon), float(model.delta)), unit=unit)
    if (model.ledger.unit, model.ledger.relation) != (unit, Relation.ADD_REMOVE):
        raise InputError(
            f"this fit protects one {unit} ({Relation.ADD_REMOVE}), but the ledger counts per {model.ledger.unit} "
            f"({model.ledger.relation}). Use a ledger of the same unit, or give groups= for users."
        )
    return model.ledger


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before the data are touched: public constants, the noise, and what it costs."""

    sizes: DiscreteGaussianRelease
    frequencies: DiscreteGaussianRelease
    rounds: tuple[Entry, ...]
    threshold: int
    """A unit takes part when 32 random bits are below this."""
    epsilon: float

    @classmethod
    def make(cls, model: PrivateLDA, n_words: int) -> Plan:
        budget = Budget(float(model.epsilon), float(model.delta))
        if model.n_units is not None and model.delta >= 1 / model.n_units:
            raise InputError(
                f"delta={model.delta:g} is not below 1/n_units={1 / model.n_units:g}: it would allow to publish a unit "
                "as it is. Take a delta far below, such as a thousandth of that."
            )
        whole = gaussian(budget).noise  # the multiplier if all were spent on one release
        sizes = _event(whole / math.sqrt(SIZE_SHARE), SIZES)
        frequencies = _event(whole / math.sqrt(WORD_SHARE), n_words)
        alongside = (Entry(sizes, 1, "histogram of unit sizes"), Entry(frequencies, 1, "word frequencies"))
        if sizes.sensitivity < 1 or frequencies.sensitivity < 1:
            raise InputError(
                f"epsilon={model.epsilon:g} is so small that nothing but noise would be left. Take a larger."
            )
        threshold = math.ceil(model.sampling_rate * 2**32)
        for scale in (SCALE, FINEST):
            found = gaussian(
                budget,
                profile=rising(int(model.n_rounds)),
                sampling_rate=threshold / 2**32,
                cells=n_words * int(model.n_topics),
                scale=scale,
                alongside=alongside,
                label="topic counts",
            )
            if min(_sensitivities(found.plan)) >= 4 * STEPS:
                break
        return cls(sizes, frequencies, found.plan, threshold, found.epsilon)

    @property
    def entries(self) -> tuple[Entry, ...]:
        first = (Entry(self.sizes, 1, "histogram of unit sizes"), Entry(self.frequencies, 1, "word frequencies"))
        return (*first, *self.rounds)

    @property
    def round_events(self) -> list[DiscreteGaussianRelease]:
        events = [entry.event for entry in self.rounds for _ in range(entry.count)]
        return [event for event in events if isinstance(event, DiscreteGaussianRelease)]

    @property
    def rate(self) -> float:
        return self.threshold / 2**32


def _event(multiplier: float, cells: int) -> DiscreteGaussianRelease:
    """Noise of this multiplier on a grid so fine that the clip is many steps."""
    usual = on_grid(multiplier, cells, scale=SCALE)
    return usual if usual.sensitivity >= STEPS else on_grid(multiplier, cells, scale=FINEST)


def _sensitivities(plan: tuple[Entry, ...]) -> list[float]:
    return [entry.event.sensitivity for entry in plan if isinstance(entry.event, DiscreteGaussianRelease)]


class _Rounds:
    """One training run. The engine is private; every other field is a function of what was released."""

    def __init__(
        self, model: PrivateLDA, plan: Plan, engine: RoundEngine, reservation: Reservation, alpha: FloatArray
    ) -> None:
        self.model, self.plan, self.engine, self.reservation, self.alpha = model, plan, engine, reservation, alpha
        self.n_releases = 0
        self.events = plan.round_events
        self._learn_sizes()
        self._learn_frequencies()
        # Bits of their own (tokens take those of number 0), never the key itself: whoever guessed the start from what
        # was released would know a part of the key that the noise hangs on.
        seed = engine.key.bits(Purpose.FIRST_TOPICS, 1, 0, 8)  # [start]
        generator = np.random.Generator(np.random.PCG64(seed.tolist()))
        start = self.frequencies[:, None] * generator.gamma(4.0, 0.25, (engine.n_words, model.n_topics))
        self.topics = start / start.sum(axis=0)
        self.running = Average.nothing(engine.n_words, model.n_topics)
        self.final = Average.nothing(engine.n_words, model.n_topics)
        self.final_weight = 0.0
        self.weights = aligned(engine.n_words * engine.width, np.float32)

    def _release(self, cells: IntArray, event: DiscreteGaussianRelease) -> IntArray:
        self.n_releases += 1
        return release_sum(
            cells,
            event,
            self.reservation,
            key=self.engine.key,
            number=self.n_releases,
            n_threads=self.engine.n_threads,
        )

    # --- what must not be read off the data ---------------------------------------------------------------------------

    def _learn_sizes(self) -> None:
        """How many units there are, and how large: each unit counts once, in the bin of its norm."""
        event = self.plan.sizes
        step = math.floor(event.sensitivity)  # [sizes] a unit's whole share of the grid, in one cell
        bins = self.engine.size_bins(SIZES)
        noisy = self._release(np.bincount(bins, minlength=SIZES).astype(np.int64) * step, event) / step
        deviation = event.scale / step
        kept = np.where(noisy > 3 * deviation, noisy, 0.0)  # bins that stand above the noise
        if not kept.sum() > 0:
            kept = np.maximum(noisy, 1.0)
        self.n_units = float(self.model.n_units or max(noisy.sum(), 1.0))
        middle = int(np.searchsorted(np.cumsum(kept), kept.sum() / 2))
        self.clip = float(self.model.clip or CLIP * 2.0 ** ((middle + 0.5) / 4))

    def _learn_frequencies(self) -> None:
        """The share of each word, from all units, clipped like any contribution."""
        engine, event = self.engine, self.plan.frequencies
        grid = self.clip / event.sensitivity
        cells = engine.word_counts(np.full(engine.n_words, 1 / grid, np.float32), event.sensitivity)  # [words]
        noisy = self._release(cells, event) * grid
        deviation = event.scale * grid
        positive = np.maximum(noisy, deviation / 2)  # a word without a clear count is taken as rare, not as absent
        self.frequencies = positive / positive.sum()
        self.word_weights = (self.frequencies * engine.n_words) ** self.model.word_power
        surely = noisy.sum() - 2 * deviation * math.sqrt(
            engine.n_words
        )  # tokens within the clip, less what may be noise
        self._warn_if_hopeless(max(surely, self.clip) / self.n_units)

    def _warn_if_hopeless(self, tokens_per_unit: float) -> None:
        """An honest sentence when the noise in the last rounds' mean may well be larger than what it hides."""
        model, n = self.model, self.model.n_rounds // 3 or 1
        multiplier = self.events[-1].scale / self.events[-1].sensitivity
        noise = multiplier * self.clip / (self.plan.rate * self.n_units * math.sqrt(n))
        signal = tokens_per_unit / (self.engine.n_words * model.n_topics)
        if model.delta * self.n_units >= 1:
            warnings.warn(
                f"delta={model.delta:g} is not below one over the number of units, about {self.n_units:,.0f}: it would "
                "allow to publish one unit as it is. Take a delta far below.",
                stacklevel=5,
            )
        if noise > signal:
            warnings.warn(
                f"this will hardly give useful topics: the noise in an average cell may be {noise / signal:.2g} times "
                f"the count it hides, with about {self.n_units:,.0f} units, {self.engine.n_words:,} words, "
                f"{model.n_topics} topics and epsilon={model.epsilon:g}. More units, fewer words, fewer topics or a "
                "larger epsilon would help.",
                stacklevel=5,
            )

    # --- the rounds ---------------------------------------------------------------------------------------------------

    def round(self, number: int) -> Measures:
        """Sweep, release, average, shrink."""
        model, engine, event = self.model, self.engine, self.events[number - 1]
        table = self.weights.reshape(engine.n_words, engine.width)
        table[:, : model.n_topics] = self.topics * engine.n_words
        grid = self.clip / event.sensitivity
        exact = engine.contributions(
            engine.coins(number, self.plan.threshold),
            self.weights,
            self.alpha,
            n_sweeps=model.n_sweeps,
            n_samples=min(model.n_samples, model.n_sweeps),
            word_weights=(self.word_weights / grid).astype(np.float32),
            clip=event.sensitivity,  # [clip] what was charged
        )
        cells = exact.reshape(engine.n_words, engine.width)[:, : model.n_topics].ravel()
        noisy = self._release(cells, event).reshape(engine.n_words, model.n_topics)
        per_unit = grid / (
            self.word_weights * self.plan.rate * self.n_units
        )  # [divisor] planned, never the batch's size
        mean, variance = noisy * per_unit[:, None], (event.scale * per_unit) ** 2
        self.running.move(mean, variance, number**-0.6)
        if number > model.n_rounds * 2 / 3:
            weight = (event.sensitivity / event.scale) ** 2
            self.final_weight += weight
            self.final.move(mean, variance, weight / self.final_weight)
        self.topics = topics_from(self.running.value, self.running.variance, self.frequencies)
        return {}

    def final_topics(self) -> FloatArray:
        """From the mean over the last third of the rounds, weighted by their precision."""
        best = self.final if self.final_weight else self.running
        return topics_from(best.value, best.variance, self.frequencies)


def _guarantee(model: PrivateLDA, plan: Plan, unit: Unit, key: Key, assumptions: tuple[str, ...]) -> Guarantee:
    if key.seeded:
        return Guarantee.none(SEEDED, f"without the seed it would be epsilon={plan.epsilon:.4g} for one {unit}")
    return Guarantee(
        epsilon=plan.epsilon,
        delta=model.delta,
        unit=unit,
        observer=Observer.STATISTICS,
        relation=Relation.ADD_REMOVE,
        basis=Basis.PROVEN,
        reasons=assumptions,
    )

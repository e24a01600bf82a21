"""The rounds of PrivateLDA: local sweeps, one clipped contribution per unit, noise, and post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._random import Purpose
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.engines.interface import Round, Table, UnitEngine
from discreet.mechanisms.release import Releases
from discreet.models.private import neighbours, shrink
from discreet.models.private.belief import Belief
from discreet.models.private.cells import BACKGROUND_SHARE, of_usual_topics, weigh_cells
from discreet.models.private.evidence import Evidence
from discreet.models.private.plan import SIZES, PrivatePlan
from discreet.models.private.public import NOTHING_KNOWN, Known
from discreet.models.private.shrink import Average
from discreet.models.private.sizes import middle_bin
from discreet.models.private.told import told
from discreet.planning import advice, law
from discreet.planning.law import Facts
from discreet.planning.plan import NORM
from discreet.privacy.events import DiscreteGaussianRelease
from discreet.release.usefulness import Setting, judge
from discreet.training.loop import Measures
from discreet.training.payment import Payment
from discreet.training.private_fit import units_in_words, warn_of_delta

if TYPE_CHECKING:
    from discreet.models.private.model import PrivateLDA

CLIP = 0.25
"""The clip as a share of the median size of the units: clipping most units costs less accuracy than the noise that a
larger clip would need."""

USUAL_WORDS = 2_000
"""With K topics, more than usual, `cells.LEAST` is multiplied by 20/K, and `CLIP` and `shrink.TRUST` by (20/K)^⅓: a
document has few of the many topics, and a word still fewer. On 109,000 abstracts with 50 topics perplexity fell from
819 and 826 to 809 and 815 at ε = 1 (two runs), and from 922 to 898 at ε = 0.5. With 20 topics the same changes gained
nothing.
With V words, more than usual, both are multiplied by (2000/V)^⅓: with V = 5,000 perplexity fell from 1466, 1478 and
1473 to 1460, 1471 and 1470 (20 topics, NeurIPS/CVPR as public text), and from 1470 to 1453 (50 topics, none)."""

STEP = 0.5
"""Round i moves the running average by i^-STEP."""

JUDGED, JUDGED_IF_DOUBTFUL = 0.93, 0.8
"""From this share of the rounds on, rounds work with the topics as they would be released, and judge them
(``belief.py``). More of them where the plan does not expect useful topics: on 1,500 documents with next to no topics
perplexity was 0.0 to 0.5% above that of word frequencies with 0.8, 0.5 to 2.2% with 0.93 (six seeds). Where topics are
good this costs: on abstracts with V = 5,000 1469 in place of 1464 with NeurIPS/CVPR as public text."""

WORDS_LEARNT = 10
"""How often in a run the frequencies of words are estimated anew, from a third of the rounds on."""

START_ROUNDS = 100
"""With public topics to start from, round i moves the running average by (i + START_ROUNDS)^-STEP: otherwise the noise
of the first round would erase them."""

FEW_TOPICS, SWEEPS, MORE_SWEEPS = 32, 8, 16
"""`SWEEPS` local sweeps per round with up to `FEW_TOPICS` topics, `MORE_SWEEPS` with more. The first topics of a round
ignore the other words of the document; with many topics and much noise, 8 sweeps are too few to find the document's own
mixture."""


def usual_sweeps(n_topics: int) -> int:
    """The default of ``local_sweeps``: a function of the number of topics alone, which is public."""
    return SWEEPS if n_topics <= FEW_TOPICS else MORE_SWEEPS


class PrivateRounds:
    """One training run. The engine is private; every other field is a function of what was released."""

    released: tuple[str, ...] = (
        "n_units",
        "clip",
        "frequencies",
        "word_weights",
        "table",
        "cell_weights",
        "size",
        "final_weight",
        "n_tokens",
        "tokens",
        "flat",
        "candidate",
    )
    """Fields that a checkpoint keeps beside the averages, the belief and the evidence."""

    version = 3
    """Of what a checkpoint keeps, and what rounds make of it. Increase it when either changes: a run that was begun
    before cannot be resumed, and must not be charged for an attempt."""

    judges = True
    """Whether the last rounds judge the topics. Not where a round releases other cells than word × topic."""

    def __init__(
        self,
        model: PrivateLDA,
        plan: PrivatePlan,
        engine: UnitEngine,
        payment: Payment,
        alpha: FloatArray,
        saved: Mapping[str, AnyArray],
        word_prior: FloatArray | None = None,
        known: Known = NOTHING_KNOWN,
    ) -> None:
        self.model, self.plan, self.engine, self.payment, self.alpha = model, plan, engine, payment, alpha
        self.word_prior = word_prior
        """Prior weights of seed words, topic × word."""
        self.known = known
        """What is known of the words without the documents."""
        self.local_sweeps = model.local_sweeps or usual_sweeps(model.n_topics)
        self.releases = Releases(payment.reservation, engine.key, engine.n_threads)
        self.events = plan.round_events
        if saved:
            self._resume(saved)
        else:
            self._start()

    def _start(self) -> None:
        model, engine = self.model, self.engine
        self._learn_sizes()
        self._learn_frequencies()
        generator = engine.key.generator(Purpose.FIRST_TOPICS, 1)  # [start] bits of their own: tokens take sweep 0's
        start = generator.exponential(1.0, (engine.n_words, model.n_topics))
        if self.known.start is not None:
            start = model.n_topics * self.known.start
        if self.seeds is not None:
            start = (1 - self.seeds.sum(axis=1, keepdims=True)) * start + model.n_topics * self.seeds
        self.table = self._first_table(start)
        self.cell_weights = self._all_cells(np.repeat(self.word_weights[:, None], model.n_topics, axis=1))
        if self.hopeless:
            self.table = self.frequencies[:, None] * self._first_topic
        if self.known.start is not None or self.hopeless:
            self.cell_weights = self._all_cells(self._weigh_cells(self.table))
        self.size = math.nan  # no round yet
        self.running = Average.nothing(*self.cell_weights.shape)
        self.final = Average.nothing(*self.cell_weights.shape)
        self.final_weight = 0.0
        self.flat = self.candidate = np.zeros((0, 0))  # not judged yet
        self.belief = Belief.full(neighbours.BANDS)

    def _state(self) -> dict[str, Any]:
        """For a checkpoint: functions of what was released, and nothing else."""
        averages = {"running": self.running, "final": self.final}
        return {
            **{name: getattr(self, name) for name in self.released},
            **{f"{name}_{part}": getattr(a, part) for name, a in averages.items() for part in ("value", "variance")},
            "belief_kappa": self.belief.kappa,
            "belief_variance": self.belief.variance,
            "evidence_weighted": self.evidence.weighted,
            "evidence_precision": self.evidence.precision,
        }

    def _resume(self, saved: Mapping[str, AnyArray]) -> None:
        for name in self.released:
            found = saved[name]
            setattr(self, name, found if found.ndim else float(found))
        for name in ("running", "final"):
            setattr(self, name, Average(saved[f"{name}_value"], saved[f"{name}_variance"]))
        self.belief = Belief(saved["belief_kappa"], saved["belief_variance"])
        self.evidence = Evidence(saved["evidence_weighted"], saved["evidence_precision"])

    # --- sizes and frequencies, released before the rounds ------------------------------------------------------------

    def _learn_sizes(self) -> None:
        """Release how many units there are and how large they are: each unit counts once, in the bin of its norm."""
        event = self.plan.sizes
        step = math.floor(event.sensitivity)  # [sizes] a unit's whole share of the grid, in one cell
        noisy = self.releases.release(self.engine.size_histogram(SIZES) * step, event) / step
        self.n_units = float(self.model.n_units or max(noisy.sum(), 1.0))
        norm = 2.0 ** ((middle_bin(noisy, event.scale / step) + 0.5) / 4)
        self.clip = float(self.model.clip or CLIP * self._for_many_cells * norm)
        self.tokens = norm**2 / NORM

    def _learn_frequencies(self) -> None:
        """Release the share of each word in all units, each clipped like any contribution."""
        engine, event = self.engine, self.plan.frequencies
        grid = self.clip / event.sensitivity
        cells = engine.word_counts(np.full(engine.n_words, 1 / grid), event.sensitivity)  # [words]
        noisy = self.releases.release(cells, event).astype(np.float64) * grid
        total = max(float(noisy.sum()), 1.0)
        self.evidence = Evidence.none(engine.n_words)
        self.evidence.add(noisy / total, (event.scale * grid / total) ** 2)
        self.frequencies: FloatArray = self.evidence.frequencies(self.known.knowledge)
        self.word_weights: FloatArray = (self.frequencies * engine.n_words) ** self.model.word_power
        self.n_tokens = total
        units = units_in_words(self.n_units, public=self.model.n_units is not None)
        warn_of_delta(self.model.delta, self.n_units, units)

    @property
    def seeds(self) -> FloatArray | None:
        """Where seed words are expected: a function of a public prior and of what was released."""
        if self.word_prior is None:
            return None
        return shrink.seeded(self.word_prior.T, self.frequencies * self.n_tokens)

    # --- the rounds ---------------------------------------------------------------------------------------------------

    def round(self, number: int) -> Measures:
        """Sweep, release, average, shrink."""
        self.payment.open_round(number, self._state)
        model, engine, event = self.model, self.engine, self.events[number - 1]
        background = BACKGROUND_SHARE * shrink.profiles(self.table)
        grid = self._grid(event)
        exact = engine.residuals(
            Round(number, self.plan.threshold, self._weights(), self.alpha, self.local_sweeps),
            cell_weights=self.cell_weights / grid,
            background=background,
            clip=event.sensitivity,  # [clip] what was charged
        )
        noisy = self.releases.release(exact.ravel(), event).reshape(exact.shape)
        per_unit = grid / (self.cell_weights * self.plan.rate * self.n_units)  # [divisor] planned, not the batch's
        beyond, variance = noisy * per_unit, (event.scale * per_unit) ** 2
        step = self._step(number)
        by_word = self._heard(beyond)
        size = float(by_word.sum()) / (1 - BACKGROUND_SHARE)  # of a clipped unit, in weighted tokens
        first = math.isnan(self.size)
        self.size = size if first else self.size + max(step, 0.05) * (size - self.size)
        self._learn_more_of_words(number, by_word, self._heard(variance))
        mean = beyond + self._subtracted(background)
        if first and self.known.start is not None:
            self.running.value = self._subtracted(shrink.profiles(self.table))
        if self.candidate.size:
            self.belief.learn(mean, variance, self.table, self.candidate - self.flat, self.band)
        self.running.move(mean, variance, step)
        if self.hopeless or number > model.n_rounds * 2 / 3:
            weight = (event.sensitivity / event.scale) ** 2
            self.final_weight += weight
            self.final.move(mean, variance, weight / self.final_weight)
        if self.hopeless:
            return {}
        if self.judges and number >= self.judged_from * model.n_rounds:
            self.table = self._judged(self.best)
        else:
            trust = shrink.TRUST * self._for_many_cells
            self.table = self._shrunk(shrink.shrunk, self.running.value, trust * self.running.variance)
        self.cell_weights = self._all_cells(self._weigh_cells(self.table))
        return {}

    def _learn_more_of_words(self, number: int, by_word: FloatArray, variance: FloatArray) -> None:
        """What a round says of the frequencies of words; from a third of the rounds on they are estimated anew."""
        rest = (1 - BACKGROUND_SHARE) * self.size  # that units have not left out
        if rest > 0:
            self.evidence.add(by_word / rest, variance / rest**2)
        often = max(self.model.n_rounds // WORDS_LEARNT, 1)
        if 3 * number >= self.model.n_rounds and number % often == 0:
            self.frequencies = self.evidence.frequencies(self.known.knowledge)

    def _heard(self, cells: FloatArray) -> FloatArray:
        """All that a round says of each word: if it counts words, the cells beyond the first topic are noise."""
        return cells[:, 0] if self.hopeless else self._by_word(cells)

    @property
    def hopeless(self) -> bool:
        """Whether topics would be only noise, by the law of the plan, from public and released numbers: then the rounds
        count words, and the budget goes to their frequencies. Public topics, if there are any, get these words."""
        if not self.judges or self.model.n_topics == 1:
            return False
        return advice.hopeless(self._facts, known_lengths=True)

    @property
    def _first_topic(self) -> FloatArray:
        """Profiles of words that are all in the first topic."""
        return np.eye(1, int(self.model.n_topics)).repeat(self.engine.n_words, axis=0)

    @property
    def judged_from(self) -> float:
        """From which share of the rounds on topics are judged, by the same law and numbers."""
        return JUDGED if law.at(law.strength(self._facts)) >= law.USEFUL else JUDGED_IF_DOUBTFUL

    @property
    def _facts(self) -> Facts:
        return Facts(
            n_units=self.n_units,
            n_words=self.engine.n_words,
            n_topics=self.model.n_topics,
            epsilon=float(self.model.epsilon),
            delta=float(self.model.delta),
            tokens=self.tokens,
        )

    def _judged(self, best: Average) -> FloatArray:
        """The topics as they would be released after this round; the same ones in all rounds that judge them."""
        if not self.candidate.size:
            self.flat = shrink.without_topics(best.value, self.frequencies, self.seeds)
            self.candidate = self._believed(best)
        return self.belief.mixed(self.flat, self.candidate, self.band)

    @property
    def band(self) -> IntArray:
        """The band of each word, by released frequency."""
        return neighbours.bands(self.frequencies)

    # A subclass whose rounds release other cells than word × topic says here what its cells are.

    def _first_table(self, start: FloatArray) -> FloatArray:
        """The table of the first round, from first profiles of the words over topics."""
        return self.frequencies[:, None] * start

    def _all_cells(self, cell_weights: FloatArray) -> FloatArray:
        """The weights of all cells that a round releases, from those of word × topic."""
        return cell_weights

    def _grid(self, event: DiscreteGaussianRelease) -> float:
        """One step of the grid, in tokens."""
        return self.clip / event.sensitivity

    def _by_word(self, cells: FloatArray) -> FloatArray:
        """All that the cells say of each word, each token counted once."""
        return np.asarray(cells.sum(axis=1))

    def _subtracted(self, background: Table) -> FloatArray:
        """What the units left out of each cell because the background says it."""
        return self.size * self.frequencies[:, None] * background

    def _shrunk(self, rule: shrink.Rule, noisy: FloatArray, variance: FloatArray) -> FloatArray:
        """The table that ``rule`` makes of the noisy cells."""
        flat = shrink.without_topics(noisy, self.frequencies, self.seeds)
        return rule(noisy, variance, self._target(noisy, variance, flat))

    def _target(
        self, noisy: FloatArray, variance: FloatArray, flat: FloatArray, heard: FloatArray | None = None
    ) -> FloatArray:
        """What the table is pulled towards: ``flat``, or what the neighbours of words say, and public documents if
        ``heard`` is what they `told`."""
        says = [neighbours.expected(links, noisy, flat) for links in self.known.links]
        if heard is not None:
            says.append(flat * (heard - 1))
        return neighbours.fitted(noisy, variance, flat, says, self.band)[0] if says else flat

    def _believed(self, best: Average) -> FloatArray:
        """The topics that the rounds have found, if they are believed. Each word is as frequent as all releases say: in
        ``best`` most of a word's count is what was left out of contributions, by older estimates."""
        table = self._shrunk(shrink.posterior, best.value, best.variance)
        if self.known.text is not None:
            heard = told(self.known.text, shrink.topics(table), self.alpha, self.model.n_threads)
            flat = shrink.without_topics(best.value, self.frequencies, self.seeds)
            target = self._target(best.value, best.variance, flat, heard)
            table = shrink.posterior(best.value, best.variance, target)
        return shrink.as_frequent(table, self.frequencies)

    def _weights(self) -> FloatArray:
        """The topic weights of local steps: φ̃ times the number of words."""
        if self.hopeless:
            return self._first_topic
        return shrink.topics(self.table) * self.engine.n_words

    @property
    def _for_many_cells(self) -> float:
        """What the clip and the trust in the noise are multiplied by where the cells are many."""
        return float((of_usual_topics(self.model.n_topics) * min(1.0, USUAL_WORDS / self.engine.n_words)) ** (1 / 3))

    def _step(self, number: int) -> float:
        return float((number + (START_ROUNDS if self.known.start is not None else 0)) ** -STEP)

    def _weigh_cells(self, table: FloatArray) -> FloatArray:
        return weigh_cells(self.frequencies, shrink.profiles(table), self.word_weights)

    @property
    def best(self) -> Average:
        """The mean over the last third of the rounds, weighted by their precision."""
        return self.final if self.final_weight else self.running

    def final_table(self) -> FloatArray:
        best = self.best
        self.frequencies = self.evidence.frequencies(self.known.knowledge)
        if self.hopeless:
            total = max(float(best.value.sum()), 1e-300)
            flat = np.repeat(total * self.frequencies[:, None], self.model.n_topics, axis=1)
            # public topics, if there are any, are better than none: only the use of words is private then
            return flat if self.known.start is None else flat * self.known.start
        if not self.judges:
            return self._shrunk(shrink.posterior, best.value, best.variance)
        flat = shrink.without_topics(best.value, self.frequencies, self.seeds)
        return self.belief.mixed(flat, self._believed(best), self.band)

    def finish(self, setting: Setting) -> None:
        """Set the topics of the model, the noise that remains in them, and whether they stand out from it."""
        model, best, table = self.model, self.best, self.final_table()
        model.components_, model.topic_shares_ = np.ascontiguousarray(shrink.topics(table).T), shrink.shares(table)
        model.standard_errors_ = np.ascontiguousarray((np.sqrt(best.variance) / table.sum(axis=0)).T)
        known = replace(setting, n_units=self.n_units)
        model.usefulness_ = judge(best.value, best.variance, model.components_, known)

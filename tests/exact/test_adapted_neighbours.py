"""AdaptedLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

Both runs have the same key, and the second is given what the first released, so both see one history (see
``test_private_neighbours.py``). Everything besides the exact sums must then be the same, to the bit, and the sums
differ by one contribution within the sensitivity that was charged.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import AdaptedLDA
from discreet.corpus import Corpus, lda_corpus
from discreet.engines.threads.proportions import ThreadProportions
from discreet.kernels.sums import clipped
from discreet.models.adapted import adapting, model
from discreet.models.adapted.adapting import Adapting
from discreet.models.knowledge import public_knowledge
from discreet.privacy import Unit
from discreet.training import self_test
from tests.support.neighbours import (
    N_WORDS,
    ExactAnswers,
    KeptCells,
    Run,
    faults_of_flow,
    is_too_long,
    levels,
    opened_anew,
    people,
    recorded,
    used,
    watched,
)

RELEASES = 4
ATTRIBUTES = ("share_errors_", "word_frequencies_", "frequency_errors_", "public_frequencies_")


@pytest.fixture(scope="module")
def known():
    text = lda_corpus(60, N_WORDS, 3, mean_length=25, seed=8).corpus
    return public_knowledge(text, people("document")[0].vocabulary, n_topics=4)


def fit(corpus: Corpus, known: Any, answers: list[np.ndarray] | None = None, training: type = Adapting) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run, real = Run(), (ThreadProportions.root_counts, ThreadProportions.proportions)
    self_test.check(AdaptedLDA._self_tests)  # once per process, and not on record

    def root_counts(self, word_weights, clip):
        run.inputs.append((word_weights.copy(), np.array(clip)))
        return real[0](self, word_weights, clip)

    def proportions(self, topics, alpha, **grid):
        run.inputs.append((topics.copy(), alpha.copy(), np.array(sorted(grid.values()))))
        return real[1](self, topics, alpha, **grid)

    with (
        watched(run, ThreadProportions, "residuals"),
        recorded(run, answers),
        patch.object(model, "Adapting", training),
        patch.object(ThreadProportions, "root_counts", root_counts),
        patch.object(ThreadProportions, "proportions", proportions),
    ):
        run.train(AdaptedLDA(public=known, epsilon=2.0, clip=2.0, n_threads=1, random_state=5), corpus)
    return run


def compared(level: str, known: Any, training: type = Adapting) -> tuple[Run, Run, set[str]]:
    d, d1, _, _ = people(level)
    with_unit = fit(d, known, training=training)
    without = fit(d1, known, with_unit.noisy, training)
    found = faults_of_flow(with_unit, without)
    if not all(np.array_equal(getattr(with_unit.model, n), getattr(without.model, n)) for n in ATTRIBUTES):
        found.add("the model reads private data")
    sums = zip(with_unit.events, with_unit.exact, without.exact, strict=True)
    if any(is_too_long(event, a - b) for event, a, b in sums):
        found.add("sensitivity")
    return with_unit, without, found


@levels
def test_neighbours_differ_by_one_clipped_contribution(level, known):
    d, d1, found = compared(level, known)
    assert found == set()
    assert len(d.exact) == RELEASES == d.charged_for
    assert len(d.inputs) == 3
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    lengths = used(d, d1)
    assert min(lengths) > 0.9  # the comparison did see the unit, and it was clipped: the bound is reached


@levels
def test_the_last_of_all_units_may_go(level, known):
    d = people(level)[0]
    alone = d[[-1]] if level == "document" else d[np.flatnonzero(d.groups == "zoe")]
    with_unit = fit(alone, known)
    without = fit(alone[[]], known, with_unit.noisy)
    assert faults_of_flow(with_unit, without) == set()
    assert not any(exact.any() for exact in without.exact)


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


class ExactNumbers(Adapting):
    """Releases noisy sums and works with exact ones."""

    def _learn_sizes(self):
        self.releases = ExactAnswers(self.releases._reservation, self.engine.key)
        super()._learn_sizes()


class ExactFrequencies(Adapting):
    """Adapts the topics to exact word frequencies in the end."""

    def _learn_words(self):
        self.releases = KeptCells(self.releases._reservation, self.engine.key)
        self.releases._number = 1
        super()._learn_words()
        self.use = self.use._replace(frequencies=(self.releases.exact + 1.0) / (self.releases.exact + 1.0).sum())


class ExactOrder(Adapting):
    """Shares that hang on how many units there are."""

    def finish(self):
        self.prevalence = self.prevalence * (1 + np.arange(len(self.prevalence)) / self.engine.n_units)
        super().finish()


BROKEN = {
    ExactNumbers: "a step reads private data",
    ExactFrequencies: "the model reads private data",
    ExactOrder: "the model reads private data",
    opened_anew(Adapting, "_learn_senses"): "noise used twice",
    opened_anew(Adapting, "_learn_prevalence"): "noise used twice",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training, known):
    assert BROKEN[training] in compared(level, known, training)[2]


@levels
@pytest.mark.parametrize("sums", ["root_counts", "residuals", "proportions"])
def test_a_missing_clip_is_caught(level, sums, known):
    real = getattr(ThreadProportions, sums)

    def unclipped(self, *arguments, **grid):
        if grid:
            return 3 * real(self, *arguments, **grid)
        return real(self, arguments[0], 100 * arguments[1])

    with patch.object(ThreadProportions, sums, unclipped):
        assert "sensitivity" in compared(level, known)[2]


@pytest.mark.parametrize("sums", ["root_counts", "residuals", "proportions"])
def test_clipping_documents_instead_of_users_is_caught(sums, known):
    real = getattr(ThreadProportions, sums)

    def by_document(self, *arguments, **grid):
        self.first_document, self.n_units = np.arange(len(self.offsets)), len(self.offsets) - 1
        return real(self, *arguments, **grid)

    with patch.object(ThreadProportions, sums, by_document):
        assert "sensitivity" in compared("user", known)[2]


def test_the_check_in_whole_numbers_holds_for_any_values():
    """Random vectors on coarse and fine grids, and hostile ones: no result is longer than the clip, and the compiled
    kernel gives what its Python body gives."""
    generator = np.random.default_rng(1)
    for n in range(1, 400):
        clip = float(generator.uniform(0.5, 3000))
        values = generator.exponential(clip, n % 40 + 1)
        cells, out, plain = np.arange(len(values)), np.zeros(40, np.int64), np.zeros(40, np.int64)
        clipped.add_clipped(values, cells, len(values), clip, out)
        clipped.add_clipped.py_func(values, cells, len(values), clip, plain)
        assert int(out @ out) <= int(clip * clip)
        assert np.array_equal(out, plain)
    for values, clip in (([np.nan, 1.0], 9.0), ([np.inf], 9.0), ([-3.0, 1.0], 9.0), ([1.0], np.nan), ([1.0], 2.0**31)):
        out = np.zeros(2, np.int64)
        clipped.add_clipped(np.array(values), np.arange(len(values)), len(values), clip, out)
        assert not out.any()
    assert adapting.STRETCH >= 1

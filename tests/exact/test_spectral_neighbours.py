"""SpectralLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

The second run is given the noisy sums that the first released, so both see one history. Then everything besides the
exact sums must be the same, to the bit, and the exact sums must differ by one unit's vector within what was charged.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.engines.threads.moments import ThreadMoments
from discreet.kernels.sums.moments import LARGEST_CLIP
from discreet.models.spectral import model as spectral
from discreet.models.spectral.model import SpectralLDA
from discreet.models.spectral.private import PrivateMoments, symmetric
from discreet.privacy import Unit
from tests.support.neighbours import Run, faults_of_flow, is_too_long, levels, opened_anew, recorded, used

N_WORDS, N_TOPICS = 25, 3


def fit(
    corpus: Corpus, answers: list[np.ndarray] | None = None, training: type = PrivateMoments, clip: float = 0.5
) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run, real = Run(), ThreadMoments.triples

    def triples(engine, table, weights, steps, clip):
        run.inputs.append((table.copy(), np.array([steps, clip])))
        return real(engine, table, weights, steps, clip)

    with (
        recorded(run, answers),
        patch.object(spectral, "PrivateMoments", training),
        patch.object(ThreadMoments, "triples", triples),
    ):
        run.train(SpectralLDA(N_TOPICS, epsilon=70.0, clip_factor=clip, n_threads=1, random_state=5), corpus)
    return run


def faults(d: Run, d1: Run) -> set[str]:
    """What the proof forbids and these runs do."""
    found = faults_of_flow(d, d1)
    for event, a, b in zip(d.events, d.exact, d1.exact, strict=False):
        if a.shape == b.shape and is_too_long(event, a - b):
            found.add("sensitivity")
    return found


def people(level: str, seed: int = 3) -> tuple[Corpus, Corpus]:
    """D, and D′ without one unit from the middle, whose documents are long, monotonous or tiny."""
    corpus = lda_corpus(500, N_WORDS, N_TOPICS, mean_length=12, seed=seed).corpus
    rng = np.random.default_rng(seed)
    texts = [corpus.words[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]
    users = [f"user{i // 4}" for i in range(len(texts))]
    odd = [np.full(60, rng.integers(N_WORDS)), np.repeat(rng.integers(0, N_WORDS, 3), 2), rng.integers(0, N_WORDS, 4)]
    for i, words in enumerate(odd if level == "user" else odd[seed % 3 :][:1]):
        texts.insert(50 * (i + 1), words.astype(np.int32))
        users.insert(50 * (i + 1), "zoe")
    offsets = np.cumsum([0, *map(len, texts)])
    groups = np.array(users) if level == "user" else None
    d = Corpus(np.concatenate(texts), offsets, Vocabulary(corpus.vocabulary, "public"), groups)
    return d, d[np.flatnonzero(np.array(users) != "zoe")]


def compared(
    level: str, training: type = PrivateMoments, seed: int = 3, clip: float = 0.5
) -> tuple[Run, Run, set[str]]:
    d, d1 = people(level, seed)
    with_unit = fit(d, training=training, clip=clip)
    without = fit(d1, with_unit.noisy, training, clip)
    return with_unit, without, faults(with_unit, without)


@levels
@pytest.mark.parametrize("clip", [0.5, 4.0])
@pytest.mark.parametrize("seed", range(6))
def test_neighbours_differ_by_one_clipped_vector_in_each_release(level, seed, clip):
    d, d1, found = compared(level, seed=seed, clip=clip)
    assert found == set()
    assert d.model.n_topics_ == N_TOPICS
    assert len(d.exact) == 6 == d.charged_for
    assert d.model.ledger_.unit == Unit(level)
    for a, b in list(zip(d.exact, d1.exact, strict=True))[:5]:
        assert (a != b).any()  # the unit is in each of them; its triples may be 0, if nobody else has its word


@levels
def test_a_unit_that_is_clipped_uses_what_was_charged(level):
    """The bound is not loose: the odd unit's vector is nearly as long as it may be, in M₁ or in M₂."""
    d, d1, _ = compared(level)
    lengths = used(d, d1)
    assert lengths[0] > 0.99
    assert max(lengths[2], lengths[3]) > 0.99


# --- copies that are broken on purpose ------------------------------------------------------------------------------


class ExactWhitening(PrivateMoments):
    """Releases a noisy M₂ and whitens with the exact one."""

    def _two_moments(self, weights, clips):
        seen = []
        release = self.releases.release

        def keep(cells, event):
            seen.append(cells.copy())
            return release(cells, event)

        self.releases.release = keep
        first, _, deviation, unit_weights, total = super()._two_moments(weights, clips)
        self.releases.release = release
        steps = self.plan.second.sensitivity / clips[1]
        return first, symmetric(seen[1], self.engine.n_words) / (steps * total), deviation, unit_weights, total


class ExactTotal(PrivateMoments):
    """Divides by the true sum of weights."""

    def _two_moments(self, weights, clips):
        first, second, deviation, unit_weights, total = super()._two_moments(weights, clips)
        exact = unit_weights.sum()
        return first * total / exact, second * total / exact, deviation, unit_weights, exact


class ExactThird(PrivateMoments):
    """Releases a noisy third moment and decomposes the exact one."""

    def _third_moment(self, whitening, unit_weights, n_topics):
        super()._third_moment(whitening, unit_weights, n_topics)
        steps = 1e4
        return self.engine.triples(whitening.table, unit_weights, steps, LARGEST_CLIP) / steps, 0.0


BROKEN = {
    ExactWhitening: "a step reads private data",
    ExactTotal: "a step reads private data",
    opened_anew(PrivateMoments, "_third_moment"): "noise used twice",
    ExactThird: "the model reads private data",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training):
    assert BROKEN[training] in compared(level, training, seed=4)[2]


@levels
def test_a_missing_clip_is_caught(level):
    real = ThreadMoments.moments

    def unclipped(engine, word_weights, steps, clips):
        return real(engine, word_weights, steps, (LARGEST_CLIP, LARGEST_CLIP))

    with patch.object(ThreadMoments, "moments", unclipped):
        assert compared(level)[2] == {"sensitivity"}


def test_clipping_documents_instead_of_users_is_caught():
    real = ThreadMoments.__init__

    def by_document(engine, corpus, groups=None, **options):
        real(engine, corpus, None, **options)

    with patch.object(ThreadMoments, "__init__", by_document):
        assert "sensitivity" in compared("user")[2]

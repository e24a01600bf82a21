"""The audit finds what is wrong, and does not find what is right.

Each broken copy of ``support/broken.py`` is refuted at 99.9% by the audit that the intact program passes. Seeds are
fixed; an intact program is refuted with probability 0.001 at most in each audit, whatever its scores are, and far less
often in fact: its bound stays below the claim by a wide margin, which each test asserts (*half* of the claim).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.attacks.audit import audit, audit_target
from discreet.attacks.audit.canaries import Canaries
from discreet.attacks.audit.methods import METHODS, make
from discreet.attacks.audit.targets import LIKELIHOOD, Observed
from discreet.models.private.model import PrivateLDA
from discreet.training import self_test
from tests.support import broken

FAILURE = 0.001


@pytest.fixture(autouse=True, scope="module")
def self_tests_have_passed() -> None:
    """Broken copies are to be caught by the audit, not by the self-test."""
    self_test.check(PrivateLDA._self_tests)


def run(n_runs: int, **options):
    return audit("private", n_runs=n_runs, failure_probability=FAILURE, seed=7, **options)


def test_an_intact_program_is_not_refuted():
    """128 canaries in each of 200 runs: the bound says something, and stays below the claim."""
    found = run(200, epsilon=4.0, n_canaries=128)
    assert not found.refuted
    assert 0.05 * found.claimed < found.lower_bound < found.by_noise < found.claimed
    assert found.claimed == pytest.approx(4.0, rel=0.01)


def test_without_a_clip():
    with broken.no_clip():
        found = run(200, n_canaries=8)
    assert found.refuted


def test_with_noise_used_again():
    """The topics and the sum of the releases do not show it; their differences do."""
    with broken.noise_used_again():
        found = run(100, n_canaries=1)
    assert found.refuted
    assert found.score == "repeated noise"
    assert not run(100, n_canaries=1).refuted


def test_with_a_mean_of_the_batch():
    with broken.divided_by_the_batch(planned=50):
        found = run(200, n_canaries=8)
    assert found.refuted


def users(n_canaries: int) -> Observed:
    """Users of 64 documents, one of which is enough to fill the clip; rate 1/20."""
    target = make("private", unit="user", epsilon=1.0, delta=1e-5, n_rounds=10, sampling_rate=0.05)
    return Observed("private", "user", target.fit, Canaries(n_canaries, documents=64, length=64 * 16, users=True), 1e-5)


@pytest.mark.long
def test_with_a_coin_for_each_document():
    with broken.a_coin_for_each_document():
        found = audit_target(users(8), n_runs=200, failure_probability=FAILURE, seed=7)
    assert found.refuted
    assert not audit_target(users(8), n_runs=200, failure_probability=FAILURE, seed=7).refuted


def test_with_words_of_the_private_text():
    whole = make("private", epsilon=1.0, delta=1e-5, n_canaries=1)
    leaky = broken.WordsOfTheText("private", "document", whole.fit, whole.canaries, 1e-5)
    found = audit_target(leaky, n_runs=60, failure_probability=FAILURE, seed=7)
    assert found.refuted
    assert found.score == "topics"


@pytest.mark.long
def test_with_half_of_the_noise():
    """At δ = 0.01, where rare events count less: ε = 2, two rounds in which all take part."""
    options = {"epsilon": 2.0, "delta": 0.01, "n_canaries": 128, "n_rounds": 2, "sampling_rate": 1.0}
    with broken.half_of_the_noise():
        found = run(1500, **options)
    assert found.refuted
    intact = run(1500, **options)
    assert not intact.refuted
    assert intact.lower_bound > 0.5 * intact.claimed


# --- a published claim ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_published_noise_of_cdp_lda_covers_half_of_a_word():
    """Laplace noise of scale 1/ε on counts of which a replaced word moves two: at ε = 1 the topics alone refute 1.
    P(both counts on the side of the canary) is 1/4 with it and e⁻²/4 without: log of the ratio is 2."""
    found = audit("laplace", epsilon=1.0, n_runs=1500, failure_probability=FAILURE, seed=7)
    assert found.refuted
    assert 1.0 < found.lower_bound < 2.0
    assert found.delta == 0


# --- every method -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in METHODS if name != "laplace"])
def test_every_method_runs_through_the_audit(method):
    """Minimal: so that a mistake in the glue shows. A bug that gives noise away would be refuted even here."""
    target = make(method, epsilon=2.0, delta=1e-5)
    n_runs = 20 if target.n_canaries == 1 else 4
    found = audit_target(target, n_runs=n_runs, failure_probability=FAILURE, seed=3)
    assert not found.refuted
    assert found.claimed <= 2.0 + 1e-9
    assert np.isfinite(found.inside).all()
    assert np.isfinite(found.outside).all()


@pytest.mark.parametrize("method", ["private", "private-cross", "adapted", "variational", "subsampled", "spectral"])
def test_contributions_are_as_long_as_was_charged(method):
    """What makes audits tight: the canary of a pair of seeded runs fills the clip in most releases (of spectral, whose
    clips are noisy: half of it on average), and never exceeds it."""
    target = make(method, epsilon=2.0, delta=1e-5, n_canaries=1)
    assert isinstance(target, Observed)
    target.prepare(3)
    seen, _ = target.run(np.array([True]), 5)
    lengths = [
        math.sqrt(float((own**2).sum())) / event.sensitivity
        for (event, _), own in zip(seen, target._contributions, strict=False)
    ]
    assert max(lengths) <= 1 + 1e-9
    assert np.mean(np.array(lengths) > (0.5 if method == "spectral" else 0.9)) >= 0.5


def test_black_box_sees_less():
    whole = audit("private", epsilon=4.0, n_runs=20, n_canaries=16, seed=2)
    topics = audit("private", epsilon=4.0, n_runs=20, n_canaries=16, seed=2, black_box=True)
    assert whole.score == LIKELIHOOD
    assert topics.score == "topics"
    assert not topics.refuted
    assert "the topics" in topics.setting

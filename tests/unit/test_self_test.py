"""Broken kernels: a private fit refuses to start, and nothing is charged."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    HybridLDA,
    Ledger,
    PrivateLDA,
    PrivateVectorizer,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
)
from discreet._errors import SelfTestFailed
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.corpus.builder import CorpusBuilder
from discreet.engines.threads import kept, moments, variational
from discreet.engines.threads import sweeps as threads
from discreet.engines.threads import units as rounds
from discreet.kernels.noise.draws import add_noise
from discreet.kernels.sums import word_weights as vocabulary
from discreet.mechanisms import noise
from discreet.models.fit_text import fit_text
from discreet.training import self_test

TESTS = (
    self_test.gaussian_noise,
    self_test.laplace_noise,
    self_test.residuals,
    self_test.variational_residuals,
    self_test.topic_counts,
    self_test.word_counts,
    self_test.coins,
    self_test.moments,
    self_test.cubes,
    self_test.word_weights,
    self_test.exact_draws,
)


@pytest.fixture(autouse=True)
def nothing_tested_yet():
    """Each test starts like a new process, and leaves no wrong result behind."""
    self_test._run.cache_clear()
    yield
    self_test._run.cache_clear()


def small() -> Corpus:
    corpus = lda_corpus(30, 20, 2, mean_length=20, seed=1).corpus
    return Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"))


def texts() -> Corpus:
    builder = CorpusBuilder()
    for _ in range(500):
        builder.add("rain and wind")
    return builder.build()


# --- wrong versions of kernels: what each does to the arguments of the right one -------------------------------------


def with_arguments(kernel: Any, **changed: Any) -> Any:
    """``kernel`` called with other values at named places."""
    code = getattr(kernel, "py_func", kernel).__code__
    places = {code.co_varnames.index(name): value for name, value in changed.items()}
    return lambda *arguments: kernel(*(places.get(i, one) for i, one in enumerate(arguments)))


def no_noise(*arguments: Any) -> None:
    pass


def half_noise(cells: Any, *others: Any) -> None:
    before = cells.copy()
    add_noise(cells, *others)
    cells += before
    cells //= 2


def even_bits(self: Any, purpose: int, sweep: int, document: int, n: int) -> Any:
    return np.arange(n, dtype=np.uint32) << np.uint32(24)


def with_even_weights(kernel: Any) -> Any:
    at = kernel.py_func.__code__.co_varnames.index("weights")
    return lambda *arguments: kernel(*arguments[:at], np.ones_like(arguments[at]), *arguments[at + 1 :])


WIDE = 6e7
"""A clip that clips nothing."""

PRIVATE = {"epsilon": 2.0, "n_topics": 2, "delta": 1e-4}
ROUNDS = {**PRIVATE, "n_rounds": 2}
MODELS: dict[str, Any] = {
    "private": lambda: PrivateLDA(**ROUNDS),
    "subsampled": lambda: SubsampledLDA(**ROUNDS),
    "variational": lambda: VariationalLDA(**ROUNDS),
    "variational, plain": lambda: VariationalLDA(**ROUNDS, as_published=True, clip=5.0),
    "spectral": lambda: SpectralLDA(**PRIVATE, fewer_topics=True),
    "spectral, replaced": lambda: SpectralLDA(**PRIVATE, configuration=1, fewer_topics=True),
    "hybrid": lambda: HybridLDA(**PRIVATE, n_sweeps=2),
    "words": lambda: PrivateVectorizer(2.0, 1e-4),
}
NOISE = [(name, noise, "add_noise", broken) for name in MODELS for broken in (no_noise, half_noise)]
CLIPS = [
    ("private", rounds, "add_residuals", with_arguments(rounds.add_residuals, clip=WIDE)),
    ("private", rounds, "add_contributions", with_arguments(rounds.add_contributions, clip=WIDE)),
    ("private", Key, "bits", even_bits),
    ("subsampled", kept, "add_contributions", with_arguments(kept.add_contributions, clip=WIDE)),
    ("variational", variational, "add_variational", with_arguments(variational.add_variational, clip=WIDE)),
    ("variational, plain", variational, "add_variational", with_arguments(variational.add_variational, clip=WIDE)),
    ("spectral", moments, "add_directions", with_arguments(moments.add_directions, clip=WIDE)),
    ("spectral", moments, "add_moments", with_arguments(moments.add_moments, clip_one=WIDE)),
    ("spectral", moments, "add_moments", with_arguments(moments.add_moments, clip_two=WIDE)),
    ("spectral", moments, "add_triples", with_arguments(moments.add_triples, clip=WIDE)),
    ("spectral, replaced", moments, "add_word_cubes", no_noise),
    ("hybrid", threads, "sweep_exact", with_even_weights(threads.sweep_exact)),
    ("words", vocabulary, "add_weights", with_arguments(vocabulary.add_weights, max_words=100)),
]


@pytest.mark.parametrize(("name", "where", "what", "broken"), NOISE + CLIPS)
def test_a_broken_kernel_is_refused_and_nothing_is_charged(monkeypatch, name, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    model = MODELS[name]()
    charged: list[Any] = []
    monkeypatch.setattr(Ledger, "reserve", lambda self, entries, **more: charged.append(entries))
    monkeypatch.setattr(Ledger, "charge", lambda self, *entry, **more: charged.append(entry))
    with pytest.raises(SelfTestFailed, match=r"Nothing was charged\. Remove the folder"):
        model.fit(texts() if name == "words" else small())
    assert not charged
    assert not hasattr(model, "guarantee_")


def test_words_and_topics_in_one_step_are_refused_before_the_words_are_charged(monkeypatch):
    broken = with_arguments(rounds.add_residuals, clip=WIDE)
    monkeypatch.setattr(rounds, "add_residuals", broken)
    ledger = Ledger()
    with pytest.raises(SelfTestFailed, match="the clip of contributions after sweeps"):
        fit_text(PrivateLDA(**ROUNDS, ledger=ledger), texts())
    assert not ledger.entries


def test_without_a_cache_folder_the_message_names_another_way(monkeypatch):
    monkeypatch.setattr(noise, "add_noise", no_noise)
    monkeypatch.setattr(self_test, "FOLDER", None)
    with pytest.raises(SelfTestFailed, match="Reinstall"):
        self_test.check([self_test.gaussian_noise])


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_right_kernels_pass_once(monkeypatch, test):
    self_test.check([test])
    monkeypatch.setattr(Corpus, "__init__", None)  # would fail if it ran again
    monkeypatch.setattr(noise, "add_noise", no_noise)
    monkeypatch.setattr(Key, "bits", even_bits)
    self_test.check([test])


def test_answers_about_noise_are_those_of_the_source(monkeypatch):
    """The kernel's Python body, which no compiler has touched, gives the same."""
    monkeypatch.setattr(noise, "add_noise", add_noise.py_func)
    self_test.check([self_test.gaussian_noise, self_test.laplace_noise])


def test_the_self_test_compiles_nothing_that_a_fit_does_not_use():
    """Kernels are compiled for types: the self-test and the fit have the same."""
    used = [rounds.add_residuals, rounds.add_contributions, rounds.sweep_dense, variational.add_variational]
    before = [len(kernel.signatures) for kernel in used]
    with pytest.warns(UserWarning, match="useful"):
        PrivateLDA(**ROUNDS).fit(small())
    after = [len(kernel.signatures) for kernel in used]
    self_test._run.cache_clear()
    self_test.check(PrivateLDA._self_tests)
    assert [len(kernel.signatures) for kernel in used] == after
    assert after[-1] == before[-1]


def test_no_proven_guarantee_is_made_without_the_self_test():
    """Each function that writes ``basis=Basis.PROVEN`` calls ``self_test.check`` before."""
    found = []
    for path in sorted(Path(self_test.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            source = ast.unparse(node) if isinstance(node, ast.FunctionDef) else ""
            if "basis=Basis.PROVEN" in source:
                found.append(path.name)
                assert "self_test.check(" in source, path.name
    assert found == ["promise.py", "private_fit.py"]

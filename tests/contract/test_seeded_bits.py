"""Seeded fits of every estimator give the numbers that were recorded, whatever is moved or renamed around them.

``seeded_bits.json`` holds a digest of the released arrays of each fit. Fits that pass through logarithms or BLAS agree
between machines to rounding only: of those, sums with fixed weights are compared. After a change that is meant to move
the draws, record anew and say so in CHANGELOG.md::

    python tests/contract/test_seeded_bits.py
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    LBLA,
    LDA,
    AdaptedLDA,
    CrossLBLA,
    CrossLDA,
    HybridCrossLBLA,
    HybridLDA,
    LaplaceCrossLBLA,
    LaplaceLDA,
    LocalLDA,
    OnlineLDA,
    OnlineLocalLDA,
    PrivateCrossLDA,
    PrivateLDA,
    PrivateVectorizer,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
)
from discreet.corpus import lda_corpus

RECORD = Path(__file__).with_name("seeded_bits.json")
SEED = {"random_state": 7, "n_threads": 2}
DRAWN = {**SEED, "algorithm": "sampled"}
USERS = np.arange(400) // 3
BY_NOISE = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": 4}


def corpus(**options: Any) -> Any:
    return lda_corpus(400, 50, 3, mean_length=40, seed=5, **options).corpus


def public() -> Any:
    return LDA(5, n_sweeps=20, algorithm="sampled", **SEED).fit(lda_corpus(200, 50, 5, mean_length=40, seed=6).corpus)


def texts() -> list[str]:
    """Three subjects with words of their own, drawn by arithmetic: no generator that could change."""
    words = [[f"{subject}{chr(97 + i)}" for i in range(12)] for subject in ("sea", "law", "tea")]
    return [" ".join(words[(d * d + d) % 3][(d * 7 + i * i * 5) % 12] for i in range(15)) for d in range(300)]


def selected() -> PrivateVectorizer:
    return PrivateVectorizer(epsilon=20.0, max_words_per_unit=20, random_state=7).fit(texts())


MODELS: dict[str, Callable[[], Any]] = {
    "lda": lambda: LDA(3, n_sweeps=20, **DRAWN).fit(corpus()),
    "lda, collapsed": lambda: LDA(3, n_sweeps=20, algorithm="collapsed", **SEED).fit(corpus()),
    "lda, default": lambda: LDA(3, n_sweeps=20, **SEED).fit(corpus()),
    "lda, many topics": lambda: LDA(512, n_sweeps=3, **DRAWN).fit(corpus()),
    "lda, many topics, collapsed": lambda: LDA(512, n_sweeps=3, algorithm="collapsed", **SEED).fit(corpus()),
    "lda, seeded words": lambda: LDA(3, n_sweeps=8, word_prior={0: {"w1": 5.0}}, **DRAWN).fit(named()),
    "lda, learnt priors": lambda: LDA(3, n_sweeps=40, learn_alpha=True, learn_beta=True, **DRAWN).fit(corpus()),
    "lbla": lambda: LBLA(3, alpha_rest=2.0, beta_rest=0.1, n_sweeps=20, lag=2, **DRAWN).fit(corpus()),
    "lbla, collapsed": lambda: LBLA(3, alpha_rest=2.0, beta_rest=0.1, algorithm="collapsed", n_sweeps=20, **SEED).fit(
        corpus()
    ),
    "lbla, many topics": lambda: LBLA(512, alpha_rest=2.0, n_sweeps=3, **DRAWN).fit(corpus()),
    "lbla, public code": lambda: LBLA.public_code_settings(3, 50, n_sweeps=8, **DRAWN).fit(corpus()),
    "cross-lda": lambda: CrossLDA(3, n_sweeps=40, n_average=3, **SEED).fit(corpus(), collections=USERS % 3),
    "cross-lda, collapsed": lambda: CrossLDA(3, n_sweeps=40, n_average=3, algorithm="collapsed", **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "cross-lda, as published": lambda: CrossLDA(3, n_sweeps=20, n_average=3, lag=2, as_published=True, **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "cross-lbla": lambda: CrossLBLA.public_code_settings(3, 50, n_sweeps=40, as_published=False, **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "private": lambda: PrivateLDA(3, epsilon=20.0, n_rounds=12, **SEED).fit(corpus()),
    "private, users": lambda: PrivateLDA(3, epsilon=20.0, n_rounds=12, max_tokens=100, **SEED).fit(
        corpus(), groups=USERS
    ),
    "private, public size": lambda: PrivateLDA(3, epsilon=20.0, n_rounds=6, n_units=400, clip=5.0, **SEED).fit(
        corpus()
    ),
    "private, seeded words": lambda: PrivateLDA(3, epsilon=20.0, n_rounds=6, word_prior=np.eye(3, 50) * 20, **SEED).fit(
        corpus()
    ),
    "private, selected words": lambda: PrivateLDA(3, epsilon=40.0, n_rounds=12, **SEED).fit(
        selected().transform(texts())
    ),
    "adapted": lambda: AdaptedLDA(public=public(), epsilon=20.0, **SEED).fit(corpus()),
    "adapted, users": lambda: AdaptedLDA(public=public(), epsilon=20.0, **SEED).fit(corpus(), groups=USERS),
    "private-cross": lambda: PrivateCrossLDA(3, epsilon=20.0, n_rounds=12, **SEED).fit(corpus(), collections=USERS % 3),
    "private-cross, users": lambda: PrivateCrossLDA(3, epsilon=20.0, n_rounds=12, **SEED).fit(
        corpus(), groups=USERS, collections=np.arange(400) % 2
    ),
    "subsampled": lambda: SubsampledLDA(3, epsilon=20.0, n_rounds=12, **SEED).fit(corpus()),
    "subsampled, adaptive": lambda: SubsampledLDA(3, epsilon=20.0, n_rounds=12, adaptive=True, **SEED).fit(
        corpus(), groups=USERS
    ),
    "subsampled, as published": lambda: SubsampledLDA(3, n_rounds=6, as_published=True, **SEED).fit(corpus()),
    "hybrid": lambda: HybridLDA(3, **BY_NOISE, **SEED).fit(corpus()),
    "hybrid, total": lambda: HybridLDA(3, epsilon=50.0, n_sweeps=4, **SEED).fit(corpus()),
    "hybrid, as published": lambda: HybridLDA(3, as_published=True, **BY_NOISE, **SEED).fit(corpus()),
    "hybrid-cross": lambda: HybridCrossLBLA(3, alpha_rest=0.5, beta_rest=2.0, **BY_NOISE, **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "hybrid-cross, as published": lambda: HybridCrossLBLA(3, alpha_rest=0.5, as_published=True, **BY_NOISE, **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "laplace-cross": lambda: LaplaceCrossLBLA(3, alpha_rest=0.5, n_sweeps=4, as_published=True, **SEED).fit(
        corpus(), collections=USERS % 3
    ),
    "laplace": lambda: LaplaceLDA(3, n_sweeps=4, as_published=True, **SEED).fit(corpus()),
    "laplace-plus": lambda: LaplaceLDA(3, n_sweeps=4, every_sweep=True, as_published=True, **SEED).fit(corpus()),
    "local": lambda: LocalLDA(3, epsilon_bit=2.0, report_words=9, n_sweeps=12, **SEED).fit(corpus()),
    "local, as published": lambda: LocalLDA(3, f=0.25, n_sweeps=4, as_published=True, **SEED).fit(corpus()),
    "online": lambda: OnlineLDA(3, n_sweeps=6, **SEED).fit(corpus()),
    "online-local": lambda: OnlineLocalLDA(3, epsilon_bit=2.0, n_sweeps=6, **SEED).fit(corpus(), prior=corpus()[:50]),
    "online-local, as published": lambda: OnlineLocalLDA(3, epsilon_bit=2.0, n_sweeps=6, as_published=True, **SEED).fit(
        corpus(), prior=corpus()[:50]
    ),
    "variational": lambda: VariationalLDA(3, epsilon=20.0, n_rounds=12, **SEED).fit(corpus()),
    "variational, users": lambda: VariationalLDA(3, epsilon=20.0, n_rounds=6, **SEED).fit(corpus(), groups=USERS),
    "variational, without epsilon": lambda: VariationalLDA(3, n_rounds=6, **SEED).fit(corpus()),
    "variational, published": lambda: VariationalLDA.paper_settings(
        n_topics=3, n_units=400, n_rounds=6, max_tokens=50, clip=5.0, **SEED
    ).fit(corpus()),
    "spectral": lambda: SpectralLDA(3, **SEED).fit(corpus()),
    "spectral, private": lambda: SpectralLDA(3, epsilon=60.0, **SEED).fit(corpus()),
    "spectral, simultaneous": lambda: SpectralLDA(3, decomposition="simultaneous", **SEED).fit(corpus()),
    **{
        f"spectral, configuration {c}": lambda c=c: SpectralLDA(
            3, epsilon=1e5, configuration=c, as_published=True, **SEED
        ).fit(corpus())
        for c in (1, 2, 3, 4)
    },
    "spectral, proven configuration": lambda: SpectralLDA(3, epsilon=1e4, configuration=1, **SEED).fit(
        corpus(lengths="fixed")
    ),
}
ROUNDED = ("lda, learnt priors", "private", "adapted", "variational", "spectral")
"""Names that start so: their numbers depend on logarithms or BLAS."""


def named() -> Any:
    from discreet import Corpus

    plain = corpus()
    return Corpus(plain.words, plain.offsets, [f"w{i}" for i in range(50)])


def released(model: Any) -> list[np.ndarray]:
    names = ("components_", "alpha_", "topic_shares_", "standard_errors_", "collection_components_", "switch_")
    return [np.ascontiguousarray(getattr(model, name)) for name in names if hasattr(model, name)]


def digest(arrays: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def sums(arrays: list[np.ndarray]) -> list[float]:
    """Of each array one sum with weights that no two cells share, so that cells that change places are seen."""
    return [float(array.ravel() @ (1 + np.arange(array.size) / array.size)) for array in arrays]


def record_of(make: Callable[[], Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small corpora: what they warn of is tested elsewhere
        arrays = released(make())
    return {"digest": digest(arrays), "sums": sums(arrays)}


def record_of_words() -> dict[str, Any]:
    words = " ".join(sorted(selected().vocabulary_))
    return {"digest": hashlib.sha256(words.encode()).hexdigest(), "sums": [len(words)]}


@pytest.mark.parametrize("name", MODELS)
def test_a_seeded_fit_gives_the_recorded_numbers(name: str) -> None:
    recorded, found = json.loads(RECORD.read_text())[name], record_of(MODELS[name])
    if name.startswith(ROUNDED):
        np.testing.assert_allclose(found["sums"], recorded["sums"], rtol=1e-9)
    else:
        assert found["digest"] == recorded["digest"]


def test_seeded_words_are_the_recorded_ones() -> None:
    assert record_of_words() == json.loads(RECORD.read_text())["words"]


def test_the_record_sees_one_changed_bit() -> None:
    topics = np.full((2, 3), 1 / 3)
    other = topics.copy()
    other[1, 1] = np.nextafter(other[1, 1], 1)
    assert digest([topics]) != digest([other])
    other[1, 1] *= 1 + 1e-7
    assert not np.allclose(sums([topics]), sums([other]), rtol=1e-9)


if __name__ == "__main__":
    found = {name: record_of(make) for name, make in MODELS.items()} | {"words": record_of_words()}
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
    for name in found:
        print("same   " if known.get(name, {}).get("digest") == found[name]["digest"] else "CHANGED", name)

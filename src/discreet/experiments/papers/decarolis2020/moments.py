"""Figure 3 of DeCarolis et al.: what decides how much noise the configurations of DP spectral LDA need."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.corpus import Synthetic, lda_corpus
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.methods import quietly

SOURCE = (
    'DeCarolis, Ram, Esmaeili, Wang and Huang, "An end-to-end Differentially Private Latent Dirichlet Allocation Using '
    'a Spectral Algorithm", ICML 2020, arXiv:1805.10341'
)

TOPIC_PRIOR = 0.1
"""Prior of the words of a topic: few words have most of its weight, as the paper requires ("a bursty use of a single
word")."""

DELTA = 1e-7
EXACT, SAMPLED, SOUND, PRIVATE = "exact", "from documents", "SpectralLDA, sound, ε = 1", "PrivateLDA, ε = 1"


class Truth(NamedTuple):
    """A corpus whose topics are known, and the prior of their proportions."""

    corpus: Synthetic
    alpha: FloatArray


def draw(setting: Setting, seed: int) -> Truth:
    """α and μ "randomly sampled", as the paper says: the shares of topics in a ratio of at most 1 to 3."""
    k, alpha0 = setting["n_topics"], setting["alpha0"]
    shares = np.asarray(np.random.default_rng([seed, k]).uniform(0.5, 1.5, k))
    alpha = alpha0 * shares / shares.sum()
    sizes = setting["n_documents"], setting["n_words"], k
    length = setting["length"]
    return Truth(lda_corpus(*sizes, alpha=alpha, beta=TOPIC_PRIOR, mean_length=length, seed=seed), alpha)


# --- cells ------------------------------------------------------------------------------------------------------------


def _settings(quick: bool) -> list[Setting]:
    """(a) five topics, α₀ from documents of one topic to documents with all topics alike; (b) an increasing number of
    topics."""
    common: Setting = {"n_documents": 100_000, "n_words": 100, "length": 100}
    alphas, numbers = [0.1, 1.0, 10.0, 100.0, 1000.0], [3, 5, 10, 20, 40]
    if quick:
        common, alphas, numbers = {"n_documents": 500, "n_words": 30, "length": 30}, [0.1, 1.0], [2, 4]
    return [
        *({**common, "part": "a", "n_topics": 5 if not quick else 2, "alpha0": alpha0} for alpha0 in alphas),
        *({**common, "part": "b", "n_topics": k, "alpha0": 1.0} for k in numbers),
    ]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    truth = draw(setting, seed)
    alpha0 = setting["alpha0"]
    yield {"moments": EXACT, **_point(alpha0, *exact_spectrum(truth.corpus.topics, truth.alpha))}
    yield {"moments": SAMPLED, **_point(alpha0, *_measured(truth, alpha0))}
    yield {"moments": SOUND, **quietly(_sound, truth, alpha0, seed)}
    yield {"moments": PRIVATE, **quietly(_private, truth, alpha0, seed)}


def _point(alpha0: float, values: FloatArray, lambdas: FloatArray) -> Point:
    sigma = float(values[-1])
    return {"sigma": sigma, "scaled": alpha0 * (alpha0 + 1) * sigma, "gap": gap_of(lambdas)}


def exact_spectrum(topics: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The k largest singular values of M₂ = Σ pᵢ μᵢ⊗μᵢ and the λᵢ of T = M₃(W, W, W), by their formulas."""
    alpha0 = alpha.sum()
    p = alpha / (alpha0 * (alpha0 + 1))
    roots = np.linalg.svd(np.sqrt(p)[:, None] * topics, compute_uv=False)  # M₂ is the square of this matrix
    return roots**2, np.sort(2 / ((alpha0 + 2) * np.sqrt(p)))[::-1]


def _measured(truth: Truth, alpha0: float) -> tuple[FloatArray, FloatArray]:
    """The same from the documents, without noise and without word weights."""
    from discreet.engines import open_moments
    from discreet.models.spectral.exact import exact_moments
    from discreet.models.spectral.tensor import decompose

    engine = open_moments(truth.corpus.corpus)
    moments = exact_moments(engine, len(truth.alpha), alpha0, word_power=0.0)
    engine.close()
    tensor = moments.whitening.tensor(moments.triples, moments.first, alpha0)
    return moments.whitening.values, decompose(tensor).values


def gap_of(lambdas: FloatArray) -> float:
    """γ_s = minᵢ (σᵢ(T) − σᵢ₊₁(T)) / 4, with 0 after the last, as in Theorem 6."""
    return float((lambdas - np.append(lambdas[1:], 0.0)).min() / 4)


def _sound(truth: Truth, alpha0: float, seed: int) -> Point:
    """M₂ by our private form, if k eigenvalues stand clear of its noise, and T, if k topics do."""
    from discreet.models.spectral.model import SpectralLDA

    k = len(truth.alpha)
    model = SpectralLDA(k, alpha0=alpha0, epsilon=1.0, delta=DELTA, word_power=0.0, random_state=seed)
    model.fit(truth.corpus.corpus)
    clear = len(model.eigenvalues_)
    if clear < k:
        return {"clear": clear}
    _, lambdas = exact_spectrum(model.components_, model.alpha_)
    found = _point(alpha0, model.eigenvalues_, lambdas)
    if model.n_topics_ < k:
        del found["gap"]
    return {"clear": clear, **found}


def _private(truth: Truth, alpha0: float, seed: int) -> Point:
    """M₂ and T computed from PrivateLDA's topics and their shares. It is given α₀ too, and assumes equal α."""
    from discreet.models.private.model import PrivateLDA

    k = len(truth.alpha)
    model = PrivateLDA(k, epsilon=1.0, delta=DELTA, alpha=alpha0 / k, random_state=seed).fit(truth.corpus.corpus)
    return _point(alpha0, *exact_spectrum(model.components_, alpha0 * model.topic_shares_))


# --- findings ---------------------------------------------------------------------------------------------------------


def _rises_with_alpha0(measure: str, moments: str) -> Finding:
    def judge(results: Results) -> Iterator[Check]:
        place = {"part": "a", "moments": moments}
        for low, high in pairwise(results.levels("alpha0", **place)):
            found = results.ratio(measure, {**place, "alpha0": high}, {**place, "alpha0": low})
            yield Check.above(f"σ_k at α₀ = {high:g} over that at {low:g}", found, 1.0)

    if measure == "sigma":
        return Finding("the singular values of M̂₂ are positively correlated with α₀.", judge)
    return Finding(
        "they are for α₀(α₀+1)·M̂₂ = Σ αᵢ μᵢ⊗μᵢ, a matrix that grows with α₀ by its own definition.",
        judge,
        said_by="our reading",
    )


def _gap(moments: str, *, grows: bool) -> Finding:
    def judge(results: Results) -> Iterator[Check]:
        place = {"part": "b", "moments": moments}
        numbers = results.levels("n_topics", **place)
        for low, high in [(min(numbers), max(numbers))] if numbers else []:
            found = results.ratio("gap", {**place, "n_topics": high}, {**place, "n_topics": low})
            check = Check.above if grows else Check.below
            yield check(f"γ_s at k = {high} over that at k = {low}", found, 1.0)

    if grows:
        return Finding("as we increase k, the gap increases.", judge)
    return Finding("the gap of the exact moments falls: of more λᵢ, two lie closer.", judge, said_by="expected")


def _table(part: str, title: str, measure: str) -> Table:
    columns = "alpha0" if part == "a" else "n_topics"
    return Table(title, measure, ("moments",), columns, show=lambda row: row["part"] == part)


def _plot(part: str, title: str, y: str, y_label: str) -> Plot:
    x, x_label = ("alpha0", "α₀") if part == "a" else ("n_topics", "k")
    of_part: Any = {"log_x": True, "log_y": True, "show": lambda row: row["part"] == part}
    return Plot(f"({part}) {title}", x, y, "moments", x_label=x_label, y_label=y_label, **of_part)


FIGURE_3 = Experiment(
    paper="decarolis2020",
    figure="figure3",
    title="Singular values of M̂₂ against α₀, and the gap of T̂ against k",
    source=SOURCE,
    grid=Grid("spectral-figure3", 3, _settings, _cell, measures=("sigma", "scaled", "gap", "clear"), repetitions=5),
    findings=(
        _rises_with_alpha0("sigma", SAMPLED),
        _rises_with_alpha0("scaled", SAMPLED),
        _gap(SAMPLED, grows=True),
        _gap(EXACT, grows=False),
    ),
    tables=(
        _table("a", "σ_k(M₂) as Lemma 3 defines it", "sigma"),
        _table("a", "α₀(α₀+1)·σ_k(M₂)", "scaled"),
        _table("b", "γ_s", "gap"),
        _table("a", "Eigenvalues of M₂ that stand clear of the noise of our sound form at ε = 1 (k = 5)", "clear"),
        _table("b", "The same against k (α₀ = 1)", "clear"),
    ),
    plots=(
        _plot("a", "The kth singular value of M₂, k = 5", "sigma", "σ_k(M₂)"),
        _plot("a", "The same, scaled: α₀(α₀+1)·M₂", "scaled", "α₀(α₀+1)·σ_k(M₂)"),
        _plot("b", "The smallest gap of T, α₀ = 1", "gap", "γ_s"),
    ),
    notes=(
        "N = 100,000 documents, as the paper says. What it does not say: words (100), the length of documents "
        "(Poisson with mean 100), the values along the axes, k in (a) (5) and α₀ in (b) (1), how α and μ are drawn (μ "
        f"from Dirichlet({TOPIC_PRIOR}), α in proportion to numbers uniform between ½ and 1½), and repetitions (5; "
        "ten were planned, and the first run was cut short for time, before its verdicts were read).",
        "*Exact* are the moments of the model that was drawn, by the formulas of Lemma 3; *from documents* their "
        "estimates, with the right coefficients. In Lemma 3, M₂ = Σ αᵢ/(α₀(α₀+1)) μᵢ⊗μᵢ: its singular values are "
        "those of Σ (αᵢ/α₀) μᵢ⊗μᵢ divided by α₀+1, so they must fall. The authors' public code multiplies the third "
        "moment by α₀(α₀+1)(α₀+2)/2, as does eq. (7). If the second is multiplied by α₀(α₀+1) likewise, their figure "
        "shows Σ αᵢ μᵢ⊗μᵢ. One document then changes it by α₀(α₀+1) times as much, so that nothing is gained.",
        "γ_s is the smallest difference of neighbouring λᵢ, divided by 4, the last being compared with 0 (Theorem 6).",
        "The sound form is there without word weights, so that its eigenvalues are those of M₂, and its λᵢ are those "
        "of the α that it finds, of sum α₀; σ_k is the mean of those repetitions in which k eigenvalues stand clear "
        "of its noise, γ_s of those in which k topics do. PrivateLDA has no moments: shown are those that follow from "
        "its topics and their shares by the formulas of Lemma 3, with α₀ as it was drawn.",
    ),
)

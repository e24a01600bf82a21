"""Lemma 25 of DeCarolis et al.: without noise the error of a topic falls like N^-½, and how it depends on σ_k(μ)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from discreet._types import FloatArray
from discreet.corpus import Corpus
from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval
from discreet.experiments.papers.decarolis2020.moments import SOURCE
from discreet.experiments.papers.decarolis2020.utility import distance
from discreet.models.spectral.unbiased import three_orders

N_TOPICS, N_WORDS, LENGTH = 3, 20, 50
ALPHAS = (0.1, 1.0, 10.0)
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
MIXED = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""How far topics stand apart: λ of μᵢ(λ) = λμᵢ + (1 − λ)·mean."""

FEW_WORDS, NEAREST = 10, 100_000
"""Words, and documents at λ = 1, where λ varies; N grows like λ⁻², as the condition of the lemma does."""

BY_SIZE, BY_SIGMA = "N", "σ_k(μ)"
NEAR = 0.1
"""Of a slope."""


def _settings(quick: bool) -> list[Setting]:
    sizes, apart, alphas = (SIZES[:2], MIXED[:2], ALPHAS[1:2]) if quick else (SIZES, MIXED, ALPHAS)
    first = NEAREST // 10 if quick else NEAREST
    documents = {"part": BY_SIZE, "n_topics": N_TOPICS, "n_words": N_WORDS, "length": 10 if quick else LENGTH}
    triples = {"part": BY_SIGMA, "n_topics": N_TOPICS, "n_words": FEW_WORDS, "length": 3, "alpha0": 1.0}
    by_size = [{**documents, "alpha0": alpha0, "n_documents": n, "apart": 1.0} for alpha0 in alphas for n in sizes]
    return by_size + [{**triples, "n_documents": round(first / far**2), "apart": far} for far in apart]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    from discreet.models.spectral.published.printed import lemma_25

    k, n = setting["n_topics"], setting["n_documents"]
    rng = np.random.default_rng([seed, k, setting["n_words"]])
    shares = np.asarray(rng.uniform(0.5, 1.5, k))
    alpha = setting["alpha0"] * shares / shares.sum()
    topics = rng.dirichlet(np.full(setting["n_words"], 0.1), k)
    topics = setting["apart"] * topics + (1 - setting["apart"]) * topics.mean(axis=0)
    found = (_from_documents if setting["part"] == BY_SIZE else _from_triples)(topics, alpha, setting, rng)
    error = distance(topics, found / found.sum(axis=1, keepdims=True)).worst  # μ̂ᵢ ∝ (Ŵ†)⊤μ̄ᵢ, its section 4
    sigma = float(np.linalg.svd(topics, compute_uv=False)[-1])
    bound = lemma_25(setting["alpha0"], k, float(alpha.min() / alpha.sum()), sigma, n)
    yield {"error": error, "sigma": sigma, "bound": bound, "constant": error / bound}


def _from_documents(topics: FloatArray, alpha: FloatArray, setting: Setting, rng: np.random.Generator) -> FloatArray:
    from discreet._random import Key
    from discreet.models.spectral.published.edges import Configured
    from discreet.models.spectral.unbiased import LdaMoments

    theta = rng.dirichlet(alpha, setting["n_documents"])
    corpus = Corpus.from_counts(rng.multinomial(setting["length"], theta @ topics))
    moments = LdaMoments(corpus, setting["alpha0"])
    rows = Configured(moments, setting["n_topics"], Key.from_seed(0)).original_rows
    moments.close()
    return rows


def _from_triples(topics: FloatArray, alpha: FloatArray, setting: Setting, rng: np.random.Generator) -> FloatArray:
    """N documents of three tokens are N draws of a triple of words: one multinomial, whatever N."""
    law = triple_law(topics, alpha)
    counts = rng.multinomial(setting["n_documents"], law.ravel() / law.sum()).reshape(law.shape)
    return topics_of_triples(counts / setting["n_documents"], setting["alpha0"], setting["n_topics"])


def triple_law(topics: FloatArray, alpha: FloatArray) -> FloatArray:
    """E[x₁⊗x₂⊗x₃] = E[θ⊗θ⊗θ](μ, μ, μ) by Lemmas 23 and 24."""
    alpha0, own = alpha.sum(), np.diag(alpha)
    theta = np.einsum("i,j,h->ijh", alpha, alpha, alpha) + three_orders(np.einsum("ij,h->ijh", own, alpha))
    places = np.arange(len(alpha))
    theta[places, places, places] += 2 * alpha
    theta /= alpha0 * (alpha0 + 1) * (alpha0 + 2)
    return np.asarray(np.einsum("ijh,ia,jb,hc->abc", theta, topics, topics, topics, optimize=True))


def topics_of_triples(law: FloatArray, alpha0: float, k: int) -> FloatArray:
    """The method of moments (Lemma 3) on frequencies of triples; topic × word, up to a factor for each topic."""
    from discreet.models.spectral.tensor import decompose
    from discreet.models.spectral.unbiased import Coefficients

    a, b, c = Coefficients.of(alpha0)
    triples = np.mean([law.transpose(order) for order in itertools.permutations(range(3))], axis=0)
    pairs = triples.sum(axis=2)
    first = pairs.sum(axis=1)
    second = pairs - a * np.outer(first, first)
    third = triples + b * three_orders(np.einsum("ab,c->abc", pairs, first))
    third = third + c * np.einsum("a,b,c->abc", first, first, first)
    values, vectors = np.linalg.eigh(second)
    values, vectors = np.maximum(values[-k:], 1e-15), vectors[:, -k:]
    table = vectors / np.sqrt(values)
    tensor = np.einsum("abc,ai,bj,ch->ijh", third, table, table, table, optimize=True)
    return np.asarray(((vectors * np.sqrt(values)) @ decompose(tensor).vectors).T)


# --- findings ---------------------------------------------------------------------------------------------------------


def slope(results: Results, x: str, **where: object) -> Interval:
    """Of log error against log ``x`` (N, or σ_k(μ)), in each repetition."""
    points: dict[int, list[tuple[float, float]]] = {}
    for row in results.rows:
        if "error" in row and all(row.get(key) == value for key, value in where.items()):
            points.setdefault(row["repetition"], []).append((np.log(row[x]), np.log(row["error"])))
    fitted = [np.polyfit([x for x, _ in some], [y for _, y in some], 1) for some in points.values() if len(some) > 1]
    return Interval.of([float(line[0]) for line in fitted])


def _by_size(results: Results) -> Iterator[Check]:
    for alpha0 in results.levels("alpha0", part=BY_SIZE):
        found = slope(results, "n_documents", part=BY_SIZE, alpha0=alpha0)
        yield Check.between(f"α₀ = {alpha0:g}: slope of log error against log N", found, -0.5 - NEAR, -0.5 + NEAR)


def _one_constant(results: Results) -> Iterator[Check]:
    near, far = max(results.levels("apart", part=BY_SIGMA)), min(results.levels("apart", part=BY_SIGMA))
    place = {"part": BY_SIGMA, "apart": far}
    found = results.ratio("constant", place, {**place, "apart": near})
    yield Check.below(f"C₂ needed at λ = {far:g} over that at λ = {near:g}", found, 1.25)


def _steeper(results: Results) -> Iterator[Check]:
    """At N ∝ λ⁻², an error like σ_k^-p/√N has the slope 1 − p against σ_k."""
    found = slope(results, "sigma", part=BY_SIGMA)
    yield Check.between("power of 1/σ_k(μ) in the error at one N", _one_minus(found), 1.5, 3.5)


def _one_minus(found: Interval) -> Interval:
    return Interval(1 - found.mean, 1 - found.high, 1 - found.low, found.n)


LEMMA_25 = Experiment(
    paper="decarolis2020",
    figure="lemma25",
    title="The error of the method of moments without noise, against N and σ_k(μ)",
    source=SOURCE,
    grid=Grid(
        "spectral-lemma25", 1, _settings, _cell, measures=("error", "sigma", "bound", "constant"), repetitions=20
    ),
    findings=(
        Finding("(Lemma 25) the error of a topic falls like N^-½.", _by_size),
        Finding(
            "(Lemma 25) one constant C₂ serves for all μ: the error is at most C₂(α₀+1)²k³/(p_min²σ_k(μ)√N) if N is at "
            "least in proportion to 1/σ_k(μ)².",
            _one_constant,
        ),
        expected("the error grows like a higher power of 1/σ_k(μ), between 1.5 and 3.5.", _steeper),
    ),
    tables=(
        Table(
            "Largest ‖μᵢ − μ̂ᵢ‖₂ against N",
            "error",
            ("alpha0",),
            "n_documents",
            show=lambda row: row["part"] == BY_SIZE,
        ),
        Table(
            "The bound of Lemma 25 with C₂ = 1",
            "bound",
            ("alpha0",),
            "n_documents",
            show=lambda row: row["part"] == BY_SIZE,
        ),
        Table(
            "C₂ that would be needed, against λ (N = 100,000/λ², α₀ = 1, documents of three tokens)",
            "constant",
            ("part",),
            "apart",
            show=lambda row: row["part"] == BY_SIGMA,
        ),
        Table("σ_k(μ) against λ", "sigma", ("part",), "apart", show=lambda row: row["part"] == BY_SIGMA),
        Table("Largest ‖μᵢ − μ̂ᵢ‖₂ against λ", "error", ("part",), "apart", show=lambda row: row["part"] == BY_SIGMA),
    ),
    plots=(
        Plot(
            "Error without noise against N (lines: α₀)",
            "n_documents",
            "error",
            "alpha0",
            x_label="N",
            y_label="largest ‖μᵢ − μ̂ᵢ‖₂",
            log_x=True,
            log_y=True,
            show=lambda row: row["part"] == BY_SIZE,
        ),
    ),
    notes=(
        "The paper cites the lemma and has no experiment. Against N: k = 3, d = 20 words, documents of 50 tokens, "
        "topics from Dirichlet(0.1), α in proportion to numbers uniform between ½ and 1½, N from 1,000 to "
        "100,000; moments of Lemma 21 (`LdaMoments`), without noise. Topics are scaled to sum to 1 and not "
        "clipped. 20 repetitions.",
        "The lemma is printed without a probability: it cannot hold for every sample, and is read for the mean.",
        f"N^-½: a slope of −0.5 within {NEAR:g}, in each repetition by least squares over five sizes.",
        "Against σ_k(μ): d = 10, documents of three tokens, for which the lemma was made. Topics come nearer to each "
        "other by λ, so that σ_k(μ) falls in proportion, and N = 100,000/λ², so that the lemma's condition N > "
        "C₁(α₀+1)/(p_min²σ_k(μ)²) stays as it is. Its bound is then constant. One constant serves if the C₂ that is "
        "needed grows by less than a quarter. The whitened tensor has an error of that of M̂₃ times σ_k(M₂)^-3/2 ∝ "
        "σ_k(μ)⁻³, so that a higher power than the first is to be expected; 1.5 to 3.5 was chosen after a trial of ten "
        "runs.",
    ),
)

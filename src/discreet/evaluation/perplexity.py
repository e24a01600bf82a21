"""Held-out perplexity: one measure for every model, ours and others.

A model is judged by its topics φ and the prior α it was trained with, nothing else: :func:`completion_perplexity` takes
two arrays, so numbers of different models, programs and papers can be compared in one table.

A measure of private documents is itself computed from private data. Only the curator may see it unless its release is
charged to the ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import FloatArray, Int32Array, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import MAX_STEPS, TOLERANCE, each_piece, excess
from discreet.evaluation._top_words import topic_matrix
from discreet.kernels.measures.likelihood import score_documents
from discreet.kernels.sweeps.shuffle import shuffle_documents

MIN_TOKENS = 4
"""Documents with fewer tokens are left out: fewer than two would be observed, or fewer than two scored."""

ROW_SUM_TOLERANCE = 1e-5
"""Tolerance within which topics in single precision count as normalised."""


@dataclass(frozen=True)
class Completion:
    """The result of document completion."""

    perplexity: float
    log_likelihood: float
    """Natural logarithm, summed over the scored tokens."""
    n_tokens: int
    """Scored tokens: the second halves."""
    n_documents: int
    """Documents that were long enough."""
    per_document: FloatArray = field(repr=False)
    """Log-likelihood of each document of the corpus, NaN where it was left out: paired comparisons need these."""


def completion(
    topics: Any,
    corpus: Corpus,
    *,
    alpha: Any,
    alpha_rest: float | None = None,
    random_state: Any = 0,
    n_threads: int | None = None,
) -> Completion:
    """Document completion: half of each document gives θ, the other half is scored.

    1. The tokens of each document are put in a random order, keyed by ``random_state`` and the document's number; the
       first ⌊n/2⌋ are observed. Documents under four tokens are left out.
    2. θ_k ∝ α_k + Σ_i q_ik with q_ik ∝ θ_k φ_kw(i) over the observed tokens, from uniform θ, until Σ|Δθ| < 1e-6 or 500
       steps. This is EM for the mode of θ under a Dirichlet(α + 1) prior, and CVB0 without removing the token itself
       [1]_: the centre of a collapsed sampler with prior α, without its noise.
    3. perplexity = exp(−Σ log Σ_k θ_k φ_kw / number of tokens), over the tokens of the second halves.

    The estimate is "document completion" of [2]_ with a point estimate of θ in place of an average over samples: the
    number is the same on every run, and the perplexity slightly higher. A scored word with probability 0 in every topic
    makes the perplexity infinite.

    ``topics`` is topic × word with rows that sum to 1, ``alpha`` a number or one for each topic, as trained. Splits and
    result are the same for any ``n_threads`` (all cores by default). ``alpha_rest`` is that of a Beta-Liouville prior
    (see :class:`~discreet.LBLA`): θ is then its posterior mean given the counts Σ_i q_ik.

    .. [1] Asuncion, Welling, Smyth and Teh, "On Smoothing and Inference for Topic Models", UAI 2009.
    .. [2] Wallach, Murray, Salakhutdinov and Mimno, "Evaluation Methods for Topic Models", ICML 2009.
    """
    phi = _probabilities(topics, corpus)
    words, half = _halves(corpus, random_state)
    prior = _prior(alpha, alpha_rest, len(phi))
    return _score(phi, corpus, words, prior, half, half, corpus.lengths >= MIN_TOKENS, MIN_TOKENS, n_threads)


def completion_perplexity(
    topics: Any,
    corpus: Corpus,
    *,
    alpha: Any,
    alpha_rest: float | None = None,
    random_state: Any = 0,
    n_threads: int | None = None,
) -> float:
    """The perplexity of :func:`completion`, whose docstring states the protocol. Lower is better."""
    return completion(
        topics, corpus, alpha=alpha, alpha_rest=alpha_rest, random_state=random_state, n_threads=n_threads
    ).perplexity


def unigram_perplexity(corpus: Corpus, *, random_state: Any = 0, n_threads: int | None = None) -> float:
    """The perplexity of word frequencies alone on the tokens that :func:`completion` scores. Topics must be better.

    The frequencies are counted in the observed halves of all documents, with half a token added to each word. So
    neither these frequencies nor a model's θ use the tokens that are scored. It depends on the documents and their
    words only, so models over the same words share it.
    """
    words, half = _halves(corpus, random_state)
    observed = np.arange(len(words)) < np.repeat(corpus.offsets[:-1] + half, corpus.lengths)
    counts = np.bincount(words[observed], minlength=corpus.n_words) + 0.5
    taken = corpus.lengths >= MIN_TOKENS
    phi = (counts / counts.sum())[None, :]
    return _score(phi, corpus, words, (np.ones(1), 0.0), half, half, taken, MIN_TOKENS, n_threads).perplexity


def fold_in_perplexity(
    topics: Any, corpus: Corpus, *, alpha: Any, alpha_rest: float | None = None, n_threads: int | None = None
) -> float:
    """Perplexity as the papers report it: θ from the whole test document, and the same tokens scored.

    ``per(D) = exp(−Σ_m Σ_i log(Σ_k θ_mk φ_kw(i)) / Σ_m |d_m|)``, section VII of [1]_, with θ "inferred from D_test".

    Use :func:`completion_perplexity` to compare models. Here θ has already seen the tokens that it is scored on, so the
    number is too low, and lowest for models with many narrow topics or a small α, whose θ can adapt most to one
    document: fold-in can prefer the worse model. Use it only to compare results with published ones.

    Differences from the papers: θ is the fixed point of the EM steps of :func:`completion` and not a Gibbs sample, so
    there is no sampling noise; and empty documents are left out, which the papers do not mention.

    .. [1] Zhao et al., "Latent Dirichlet Allocation Model Training with Differential Privacy", arXiv:2010.04391. Zhao
       et al., "On Privacy Protection of Latent Dirichlet Allocation Model Training", IJCAI 2019, section 4.2, reports
       "perplexity on test sets" and gives no formula; we take it to be the same.
    """
    phi = _probabilities(topics, corpus)
    lengths, prior = corpus.lengths, _prior(alpha, alpha_rest, len(phi))
    return _score(
        phi, corpus, np.array(corpus.words), prior, lengths, np.zeros_like(lengths), lengths >= 1, 1, n_threads
    ).perplexity


def _halves(corpus: Corpus, random_state: Any) -> tuple[Int32Array, IntArray]:
    """The tokens of each document in a random order, and how many of them are observed."""
    words = np.array(corpus.words)
    key = Key.open(random_state)
    shuffle_documents(words, corpus.offsets, key.words, np.uint32(Purpose.COMPLETION_SPLIT), np.uint32(0))
    return words, corpus.lengths // 2


def _score(
    phi: FloatArray,
    corpus: Corpus,
    words: Int32Array,
    prior: tuple[FloatArray, float],
    observed: IntArray,
    scored_from: IntArray,
    taken: Any,
    min_tokens: int,
    n_threads: int | None,
) -> Completion:
    """Score the documents ``taken``. Each document writes its own cell and the sum is exact, so threads cannot change
    the result."""
    if not taken.any():
        raise InputError(
            f"no document has {min_tokens} tokens or more, among {corpus.n_documents:,}. "
            "Do corpus and topics share a vocabulary?"
        )
    word_topics = np.ascontiguousarray(phi.T)
    per_document = np.empty(corpus.n_documents)

    documents = (words, corpus.offsets, observed, scored_from)

    def score(first: int, last: int) -> None:
        score_documents(word_topics, *documents, first, last, *prior, TOLERANCE, MAX_STEPS, per_document)

    each_piece(corpus.n_documents, score, n_threads)
    per_document[~taken] = np.nan
    log_likelihood = math.fsum(per_document[taken])
    n_tokens = int((corpus.lengths - scored_from)[taken].sum())
    with np.errstate(over="ignore"):
        perplexity = float(np.exp(-log_likelihood / n_tokens))
    return Completion(perplexity, log_likelihood, n_tokens, int(taken.sum()), per_document)


def _probabilities(topics: Any, corpus: Corpus) -> FloatArray:
    phi = topic_matrix(topics)
    if phi.shape[1] != corpus.n_words:
        raise InputError(
            f"topics have {phi.shape[1]:,} words but the corpus {corpus.n_words:,}. "
            "Use Corpus.restrict to give the corpus the vocabulary of the model."
        )
    if (phi < 0).any():
        raise InputError(f"topics must not be negative; found {phi.min():.3g}. Pass probabilities, not noisy counts.")
    sums = phi.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise InputError(
            f"each topic must sum to 1; topic {worst} sums to {sums[worst]:.6g}. "
            "Divide each row of counts by its sum first."
        )
    return phi


def _prior(alpha: Any, alpha_rest: Any, n_topics: int) -> tuple[FloatArray, float]:
    """α as one positive number for each topic, and how far ``alpha_rest`` is from their sum without the last."""
    try:
        given = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"alpha must be a number or one for each topic; found {alpha!r}.") from None
    if given.shape not in ((), (n_topics,)):
        raise InputError(f"alpha must be a number or one for each of {n_topics} topics; found shape {given.shape}.")
    if not (np.isfinite(given) & (given > 0)).all():
        raise InputError(
            f"alpha must be positive and finite; found {given.min():.3g}. Pass the alpha used in training."
        )
    if alpha_rest is not None and not (
        isinstance(alpha_rest, int | float | np.floating) and 0 < alpha_rest < math.inf and n_topics > 1
    ):
        raise InputError(
            f"alpha_rest must be a positive number, and needs two topics or more; found {alpha_rest!r} for {n_topics}. "
            "Leave it out for a Dirichlet prior."
        )
    prior = np.array(np.broadcast_to(given, n_topics))
    return prior, excess(prior, None if alpha_rest is None else float(alpha_rest))

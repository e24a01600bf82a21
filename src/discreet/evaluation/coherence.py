"""Topic coherence: do the top words of a topic occur together in real text?

The pipeline of Röder, Both and Hinneburg, "Exploring the Space of Topic Coherence Measures" (WSDM 2015): pairs of top
words (segmentation), how often they occur together in a reference corpus (probability estimation), how strongly that
supports the pair (confirmation), and the mean. The three measures agree with ``gensim.models.CoherenceModel`` on the
same texts:

=======  ===================  =======================================  =============================
measure  together means       pairs                                    confirmation
=======  ===================  =======================================  =============================
u_mass   the same document    each word with every better-ranked one   log((p(w, v) + ε) / p(v))
c_npmi   10 tokens in a row   each word with every other               NPMI(w, v)
c_v      110 tokens in a row  each word with the whole topic           cosine of their NPMI vectors
=======  ===================  =======================================  =============================

with NPMI(w, v) = log((p(w, v) + ε) / (p(w) p(v))) / −log(p(w, v) + ε) and ε = 1e-12. Two things to know:

* Sliding windows need the order of the tokens. A corpus made from a count matrix has none (its tokens come column by
  column), so its ``c_v`` and ``c_npmi`` can be compared only with those of other such corpora; ``u_mass`` does not read
  the order.
* gensim drops a word from its window as soon as *one* occurrence leaves, although another is still inside. With
  ``repeats="gensim"``, the default, we do the same, so that numbers can be compared with published ones;
  ``repeats="exact"`` counts what the paper describes.

One difference from gensim, for a top word that never occurs in the reference corpus: gensim then gives infinity or NaN
in ``c_npmi`` and ``c_v``. Here such a word never occurs together with another (NPMI −1) and is similar to none (cosine
0). In ``u_mass`` a pair whose better-ranked word never occurs counts 0, as in gensim.

Coherence on private documents is computed from private data: only the curator may see it unless it is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.evaluation._top_words import top_words
from discreet.kernels.measures.windows import count_windows

Measure = Literal["c_v", "c_npmi", "u_mass"]

EPSILON = 1e-12
"""Keeps the logarithm finite for a pair that never occurs together; the value of the paper and of gensim."""

WINDOWS: dict[str, int | None] = {"c_v": 110, "c_npmi": 10, "u_mass": None}
"""Tokens in a window, by default; None is the whole document."""

WORDS_PER_PASS = 2048
"""Words counted together in one pass over the corpus: their table of pairs then takes at most 32 MiB."""


class Coherence(NamedTuple):
    """Higher is better."""

    mean: float
    """The coherence of the model: the mean over its topics."""
    per_topic: FloatArray


def coherence(
    topics: Any,
    corpus: Corpus,
    measure: Measure = "c_v",
    *,
    top_n: int = 10,
    window: int | None = None,
    repeats: Literal["gensim", "exact"] = "gensim",
) -> Coherence:
    """Coherence of the ``top_n`` best words of each topic, measured on ``corpus``.

    ``topics`` is a topic × word matrix over the vocabulary of the corpus, or a list of word lists, best word first.
    ``window`` overrides the width of the sliding window (``u_mass`` has none). gensim uses 20 words if a list has them;
    the default here is 10, as in the paper.
    """
    _check(corpus, measure, top_n, window, repeats)
    return _judged(_word_lists(topics, corpus, top_n), corpus, measure, window, repeats)


def mixed_coherence(
    topics: Any,
    collection_topics: Any,
    corpus: Corpus,
    measure: Measure = "c_v",
    *,
    top_n: int = 10,
    window: int | None = None,
    repeats: Literal["gensim", "exact"] = "gensim",
) -> Coherence:
    """Mixed topic coherence of a cross-collection model, measured on ``corpus``; other arguments as in `coherence`.

    Luo et al. 2023, section 4.2.3, after Risch and Krestel (JCDL 2018): a topic stands for the union of its common
    words and of the words of every collection, and the coherence of that union is its own. It is high only if the
    collections speak of one thing under one topic. ``topics`` are topic × word and ``collection_topics`` collection ×
    topic × word; the union holds the ``top_n`` best words of each, every word once.

    Differences: the reference is ``corpus``, and the paper's (Palmetto's) is external; the paper does not say how many
    words it takes, and 10 is what its Tables 7 and 8 print. With ``u_mass``, whose pairs depend on the order, common
    words come first and then those of each collection in turn.
    """
    _check(corpus, measure, top_n, window, repeats)
    common = _word_lists(topics, corpus, top_n)
    own = np.asarray(collection_topics)
    if own.ndim != 3 or own.shape[1:] != np.shape(topics):
        raise InputError(
            f"collection_topics must be collection × topic × word, with the topics and words of topics "
            f"{np.shape(topics)}; found shape {own.shape}."
        )
    lists = [common, *(_word_lists(one, corpus, top_n) for one in own)]
    unions = [np.array(list(dict.fromkeys(np.concatenate(words).tolist()))) for words in zip(*lists, strict=True)]
    return _judged(unions, corpus, measure, window, repeats)


def _check(corpus: Corpus, measure: str, top_n: int, window: int | None, repeats: str) -> None:
    if measure not in WINDOWS:
        raise InputError(f"measure must be one of {', '.join(WINDOWS)}; found {measure!r}.")
    if repeats not in ("gensim", "exact"):
        raise InputError(f"repeats must be 'gensim' or 'exact'; found {repeats!r}.")
    if measure == "u_mass" and window is not None:
        raise InputError(f"u_mass counts whole documents and takes no window; found {window}. Leave it out.")
    if window is not None and window < 1:
        raise InputError(f"window must hold at least one token; found {window}.")
    if top_n < 2:
        raise InputError(f"top_n must be at least 2, because coherence compares pairs; found {top_n}.")
    if corpus.n_documents == 0:
        raise InputError("the reference corpus has no documents. Coherence needs text to look words up in.")


def _judged(
    chosen: Sequence[IntArray], corpus: Corpus, measure: Measure, window: int | None, repeats: str
) -> Coherence:
    """Of the words of each topic, as indices, best first."""
    width = window or WINDOWS[measure] or max(1, int(corpus.lengths.max()))
    confirm = _CONFIRMATIONS[measure]

    values: list[float] = []
    topics_per_pass = max(1, WORDS_PER_PASS // max(map(len, chosen)))
    for first in range(0, len(chosen), topics_per_pass):
        batch = chosen[first : first + topics_per_pass]
        together, slot, n_windows = _count(corpus, batch, width, forgetful=repeats == "gensim")
        values.extend(confirm(together[np.ix_(slot[words], slot[words])] / n_windows) for words in batch)
    per_topic = np.array(values)
    return Coherence(float(per_topic.mean()), per_topic)


def _count(corpus: Corpus, batch: Sequence[IntArray], width: int, *, forgetful: bool) -> tuple[IntArray, Any, int]:
    """How often words of some topics occur together, the row of each word in that table, and the number of windows."""
    relevant = np.unique(np.concatenate(batch))
    slot = np.full(corpus.n_words, -1, dtype=np.int32)
    slot[relevant] = np.arange(len(relevant))
    together = np.zeros((len(relevant), len(relevant)), dtype=np.int64)
    return together, slot, count_windows(corpus.words, corpus.offsets, slot, width, forgetful, together)


# --- confirmation: from the probabilities of the words of one topic, best first, to its coherence ---------------------


def _u_mass(joint: FloatArray) -> float:
    single = joint.diagonal()
    with np.errstate(divide="ignore"):
        confirmation = np.log((joint + EPSILON) / single)  # row: the later word; column: the earlier, better-ranked
    confirmation[:, single == 0] = 0.0
    return float(confirmation[np.tril_indices_from(confirmation, -1)].mean())


def _c_npmi(joint: FloatArray) -> float:
    others = ~np.eye(len(joint), dtype=bool)
    return float(_npmi(joint, absent=-1.0)[others].mean())


def _c_v(joint: FloatArray) -> float:
    vectors = _npmi(joint, absent=0.0)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return float(np.divide(vectors @ whole, lengths, out=np.zeros(len(joint)), where=lengths > 0).mean())


_CONFIRMATIONS: dict[str, Callable[[FloatArray], float]] = {"c_v": _c_v, "c_npmi": _c_npmi, "u_mass": _u_mass}


def _npmi(joint: FloatArray, absent: float) -> FloatArray:
    """Normalised pointwise mutual information of each pair; ``absent`` where one of the two words never occurs."""
    single = joint.diagonal()
    independent = np.outer(single, single)
    known = independent > 0
    smoothed = joint + EPSILON
    ratio = np.divide(smoothed, independent, out=np.ones_like(joint), where=known)
    return np.where(known, np.log(ratio) / -np.log(smoothed), absent)


# --- input -----------------------------------------------------------------------------------------------------------


def _word_lists(topics: Any, corpus: Corpus, top_n: int) -> list[IntArray]:
    """The word indices of each topic, best first, from a matrix or from lists of words."""
    if isinstance(topics, Sequence) and len(topics) and isinstance(topics[0], Sequence) and _has_words(topics[0]):
        return [_indices(words[:top_n], corpus.vocabulary.columns, k) for k, words in enumerate(topics)]
    chosen = top_words(topics, top_n)
    if np.shape(topics)[1] != corpus.n_words:
        raise InputError(
            f"topics have {np.shape(topics)[1]:,} words but the corpus {corpus.n_words:,}. "
            "Use Corpus.restrict to give the corpus the vocabulary of the model, or pass lists of words."
        )
    return list(chosen)


def _has_words(row: Sequence[Any]) -> bool:
    return not isinstance(row, str) and len(row) > 0 and isinstance(row[0], str)


def _indices(words: Sequence[str], column: dict[str, int], topic: int) -> IntArray:
    unknown = [word for word in words if word not in column]
    if unknown:
        raise InputError(
            f"topic {topic} holds {unknown[0]!r}, which is not in the vocabulary of the corpus. "
            "Use a reference corpus with the vocabulary of the model."
        )
    if len(set(words)) != len(words) or len(words) < 2:
        raise InputError(f"topic {topic} must list at least two words, each once; found {list(words)!r}.")
    return np.array([column[word] for word in words], dtype=np.int64)

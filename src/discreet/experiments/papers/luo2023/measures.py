"""What Luo et al. 2023 measure of a fitted model, on documents that it has not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from discreet._types import AnyArray, FloatArray
from discreet.corpus import Corpus
from discreet.corpus.collections import collection_labels
from discreet.experiments.data import Split
from discreet.experiments.experiment import Point

N_BEST = 10
"""Words of a topic, as in Tables 7 and 8."""

ALL = "all collections"


def perplexities(model: Any, test: Corpus) -> Point:
    """By fold-in, as the paper says, and by completion."""
    release = model.release(test.vocabulary)
    return {"perplexity": release.fold_in_perplexity(test), "completion": release.completion(test).perplexity}


# --- prediction -------------------------------------------------------------------------------------------------------


def accuracies(model: Any, test: Corpus) -> Point:
    """Of predicted collections: without P(c), eq. (24), and with the training documents' shares as P(c), eq. (23)."""
    chances = model.predict_proba(test)
    labels = model.collections_
    return {
        "accuracy": accuracy(labels[chances.argmax(axis=1)], test),
        "accuracy_prior": accuracy(labels[(chances * model.collection_shares_).argmax(axis=1)], test),
    }


def accuracy(predicted: AnyArray, test: Corpus) -> float:
    return float((predicted == test.collections).mean())


# --- words ------------------------------------------------------------------------------------------------------------


class Frequencies(NamedTuple):
    """Words in documents of each collection."""

    labels: list[Any]
    counts: AnyArray
    """Collection × word."""

    @classmethod
    def of(cls, corpus: Corpus) -> Frequencies:
        labels, numbers = np.unique(collection_labels(corpus), return_inverse=True)
        counts = np.zeros((len(labels), corpus.n_words), np.int64)
        np.add.at(counts, (np.repeat(numbers, corpus.lengths), corpus.words), 1)
        return cls(labels.tolist(), counts)

    def log_ratio(self, words: Any, label: Any) -> float:
        """How much more often some words are met in one collection than in the others: the logarithm of the ratio of
        their shares of all tokens, half a token being added to each."""
        row = self.labels.index(label)
        inside, everywhere = self.counts[row], self.counts.sum(axis=0)
        outside = everywhere - inside
        shares = [(counts[words].sum() + 0.5) / (counts.sum() + 1) for counts in (inside, outside)]
        return float(np.log(shares[0] / shares[1]))


def best_words(weights: FloatArray, n: int = N_BEST) -> AnyArray:
    return np.argsort(-weights, kind="stable")[:n]


def separation(model: Any, test: Corpus) -> float:
    """Whether a collection's own words are its own: the mean over topics and collections of the log ratio of the ten
    best words, each topic weighing as much as the collection has of it in its own words."""
    met = Frequencies.of(test)
    ratios, weights = [], []
    for label, topics, shares in zip(model.collections_, model.collection_components_, model.switch_.T, strict=True):
        ratios += [met.log_ratio(best_words(topic), label) for topic in topics]
        weights += [*shares]
    return float(np.average(ratios, weights=weights))


class Summary(NamedTuple):
    """Figure 1: what all collections say, and what each of them says, all topics together."""

    common: FloatArray
    own: FloatArray
    """Collection × word. With ``common``, each collection's words sum to the tokens that the model expects there."""

    @classmethod
    def of(cls, model: Any, train: Corpus) -> Summary:
        tokens = topic_tokens(model, train)
        common = np.einsum("kc,kw->w", tokens * (1 - model.switch_), model.components_)
        own = np.einsum("kc,ckw->cw", tokens * model.switch_, model.collection_components_)
        return cls(common, own)


def topic_tokens(model: Any, corpus: Corpus) -> FloatArray:
    """Topic × collection: about how many tokens there are."""
    found = model.transform(corpus) * corpus.lengths[:, None]
    return np.stack([found[corpus.collections == label].sum(axis=0) for label in model.collections_], axis=1)


def summary_points(model: Any, split: Split, *, with_words: bool) -> Iterator[Point]:
    """Figure 1. Of what collections share, and of each: how much of the text it is, and how much more often its best
    words are met in held-out documents of the collection (of shared words: in some collection, without the sign)."""
    summary, met = Summary.of(model, split.train), Frequencies.of(split.test)
    labels, total = model.collections_.tolist(), summary.common.sum() + summary.own.sum()
    ratios = [abs(met.log_ratio(best_words(summary.common), label)) for label in labels]
    apart = [float(np.mean(ratios))]
    apart += [met.log_ratio(best_words(own), label) for label, own in zip(labels, summary.own, strict=True)]
    for name, weights, ratio in zip([ALL, *map(str, labels)], [summary.common, *summary.own], apart, strict=True):
        share = float(weights.sum() / total)
        yield {"words_of": name, "share": share, "apart": ratio}
        if with_words:
            yield {"words_of": name, "best_words": _text(split.train, weights), "shown_share": share}


def topic_points(model: Any, train: Corpus, topics: Iterable[int]) -> Iterator[Point]:
    """Tables 7 and 8: the best words that collections share for a topic, and each one's own, with its part of the
    topic's text."""
    tokens = topic_tokens(model, train)
    for k in topics:
        own = tokens[k] * model.switch_[k] / tokens[k].sum()
        rows = [(ALL, 1 - own.sum(), model.components_[k])]
        rows += zip(map(str, model.collections_), own, model.collection_components_[:, k], strict=True)
        for name, share, weights in rows:
            point = {"topic": int(k), "words_of": name, "best_words": _text(train, weights)}
            yield {**point, "topic_share": float(share)}


def topic_about(model: Any, word: str, train: Corpus) -> int:
    """The topic in whose common words a word weighs most; the first where it is unknown."""
    column = train.vocabulary.columns.get(word)
    return 0 if column is None else int(model.components_[:, column].argmax())


def _text(corpus: Corpus, weights: FloatArray) -> str:
    return " ".join(corpus.vocabulary[word] for word in best_words(weights))

"""The two sets of text that stand in for those of Luo et al. 2023, and ten folds of each."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from discreet._types import IntArray
from discreet.corpus import Corpus, Tokenizer, datasets, load, read_table
from discreet.corpus.collections import collection_labels
from discreet.experiments.data import Split
from discreet.experiments.experiment import Setting

SOURCE = (
    'Luo, Amayri, Fan and Bouguila, "Cross-collection latent Beta-Liouville allocation model training with privacy '
    'protection and applications", Applied Intelligence 53, 2023'
)

ABSTRACTS, MAILS = "abstracts", "e-mail"
DATASETS = {ABSTRACTS: "neurips-cvpr", MAILS: "enron"}

YEARS = {"NeurIPS": "2018", "CVPR": "2019"}
"""Of the paper's Academic Papers, NeurIPS 2019 and CVPR 2019, our copy has one half; this is the year before it."""

N_MAILS = 3000
"""About as many documents as the paper's COVID-19 Newspapers (2,731), Academic Papers (2,787) and Traveler Forum."""

N_FOLDS = 10

STAND_INS = (
    "The paper's data are not ours. COVID-19 Newspapers, NYT Comments and Traveler Forum could not be had. `abstracts` "
    "is the nearest to its Academic Papers (NeurIPS 2019 and CVPR 2019): NeurIPS 2018 and CVPR 2019. `e-mail` is not "
    f"in the paper: {N_MAILS:,} e-mails of Enron, drawn once at random, six collections by mailbox.",
    "Documents with the same words in the same order are kept once, for copies must not stand in training and test "
    "documents both.",
)


def size(documents: str, *, n_documents: int | None = None, n_words: int = 3000) -> Setting:
    """What names a set of documents in a setting. ``n_documents`` keeps so many, for quick runs."""
    return {"documents": documents, "dataset": DATASETS[documents], "n_documents": n_documents, "n_words": n_words}


@cache
def collected(documents: str, n_words: int, n_documents: int | None = None) -> Corpus:
    """Documents with their collections, in a random order that is always the same, over their most frequent words."""
    corpus = abstracts() if documents == ABSTRACTS else mails()
    corpus = corpus.most_frequent(n_words)
    corpus = corpus[first_copies(corpus)]
    n_kept = n_documents or (N_MAILS if documents == MAILS else corpus.n_documents)
    return corpus[np.random.default_rng(0).permutation(corpus.n_documents)[:n_kept]]


def fold(setting: Setting, number: int) -> Split:
    """Every tenth document is for testing, from that number on."""
    corpus = collected(setting["documents"], setting["n_words"], setting["n_documents"])
    out = np.arange(corpus.n_documents) % N_FOLDS == number % N_FOLDS
    return Split(corpus[~out], corpus[out])


@cache
def abstracts() -> Corpus:
    """CVPR 2019 and NeurIPS 2018."""
    where = {known.name: known.where for known in datasets.available()}
    path = Path(where[DATASETS[ABSTRACTS]])
    corpus = read_table(path, collection="collection", label="year", tokenizer=tokenizer())
    year = np.array([YEARS[collection] for collection in collection_labels(corpus)])
    return corpus[np.asarray(corpus.labels).astype(str) == year]


@cache
def mails() -> Corpus:
    """All e-mails, a collection for each mailbox."""
    corpus = load(DATASETS[MAILS], tokenizer=tokenizer())
    return replace(corpus, collections=corpus.groups)


def tokenizer() -> Tokenizer:
    """Lemmas, as in the paper."""
    return Tokenizer(datasets.TOKEN_PATTERN, lemmas="en")


def first_copies(corpus: Corpus) -> IntArray:
    """Documents that are not empty, each text once."""
    seen: dict[bytes, int] = {}
    for i, (start, end) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)):
        if end > start:
            seen.setdefault(corpus.words[start:end].tobytes(), i)
    return np.array(sorted(seen.values()), np.int64)

"""The shadow-model attack on an LDA-based classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet._errors import InputError
from discreet.attacks.membership.classifier import Classified, attack_classifier
from discreet.corpus import Corpus


class Memory:
    """Not a topic model: its proportions are pure noise, except for documents that it was trained on, if it remembers.

    A word of its own numbers each document."""

    def __init__(self, train: Corpus, remembers: bool) -> None:
        self.known = set(train.words.tolist()) if remembers else set()

    def transform(self, documents: Corpus) -> np.ndarray:
        rows = []
        for d in range(documents.n_documents):
            word = int(documents.words[documents.offsets[d]])
            noise = np.random.default_rng(word).random(2)
            label = word % 2
            rows.append([label * 10.0, 0.0] if word in self.known else [label + noise[0] * 2, noise[1]])
        return np.array(rows)


def attacked(remembers: bool, seed: int) -> Classified:
    documents = Corpus.from_counts(np.eye(400, dtype=int))
    labels = np.arange(400) % 2

    def train(members: Corpus, seed: int) -> Any:
        return Memory(members, remembers)

    return attack_classifier(train, documents, labels, n_shadows=2, seed=seed)


def test_a_model_that_remembers_is_caught_and_one_that_does_not_is_not() -> None:
    """Of 200 decisions, half about members, 100 ± 7 are right by chance; 0.5 ± 0.18 is five standard deviations of
    0.035, exceeded with probability 6e-7. The memory's answers are the same for all members, so all are right."""
    assert attacked(remembers=True, seed=0).attack > 0.95
    assert abs(attacked(remembers=False, seed=0).attack - 0.5) < 0.18


def test_the_target_is_judged_on_documents_that_it_has_not_seen() -> None:
    """Without memory the features are noise around the label: far from perfect, and better than a guess."""
    found = attacked(remembers=False, seed=1)
    assert 0.5 < found.accuracy < 0.95
    assert 0.5 < found.f1 < 0.95


def test_labels_are_checked() -> None:
    with pytest.raises(InputError, match="0 and 1"):
        attack_classifier(lambda *_: None, Corpus.from_counts(np.eye(4, dtype=int)), np.array([1, 1, 1, 1]))

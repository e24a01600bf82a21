"""A bank of shadow models: trained side by side, each on a random half of the documents, kept as their statistics."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np

from discreet._errors import InputError, counted
from discreet._types import BoolArray, FloatArray, IntArray
from discreet.attacks.membership.recipe import Recipe, published_topics
from discreet.attacks.membership.statistics import NAMES, statistics_of
from discreet.corpus import Corpus, Vocabulary
from discreet.corpus.collections import collection_labels
from discreet.corpus.unquoted import name_or_kind

VERSION = 3
"""Increase it when a stored model would have other statistics."""

FEWEST_MODELS = 8

Words = Literal["public", "target"]


@dataclass(frozen=True)
class Plan:
    """Everything that decides a bank, the number of its models apart: a larger one begins with the same models."""

    recipe: Recipe
    words: Words = "public"
    """*public*: all words of the documents, known to everybody. *target*: those of the target's documents, as in the
    published attack. A word that only one document has then says whether it is in the training set; the first model is
    the target, and the only one, because its words decide the training of all others."""
    seed: int = 0

    def members(self, model: int, n_documents: int) -> BoolArray:
        """Who is in the training set of a model: a fair coin for each document, independent of all others. With an
        exact half, the others would give a document away."""
        return np.random.default_rng([self.seed, model, 0]).random(n_documents) < 0.5

    def model_seed(self, model: int) -> int:
        return int(np.random.default_rng([self.seed, model, 1]).integers(2**31))

    def corpus(self, documents: Corpus) -> Corpus:
        """The documents over the words of the attack, taken as public as the models require it."""
        vocabulary = np.asarray(documents.vocabulary)
        if self.words == "target":
            members = documents[np.flatnonzero(self.members(0, documents.n_documents))]
            vocabulary = vocabulary[members.word_counts > 0]
        return documents.restrict(Vocabulary([str(word) for word in vocabulary], "public"))

    def stamp(self, documents: Corpus) -> str:
        """A name for the folder of this plan and these documents."""
        digest = hashlib.sha256(np.ascontiguousarray(documents.words).tobytes())
        digest.update(np.ascontiguousarray(documents.offsets).tobytes())
        digest.update("\n".join(documents.vocabulary).encode())
        if self.recipe.compares_collections:  # other methods do not read them
            digest.update(json.dumps(collection_labels(documents).tolist()).encode())
        told = [VERSION, self.recipe.to_json(), self.words, self.seed, digest.hexdigest()]
        try:
            text = json.dumps(told, sort_keys=True)
        except TypeError:
            raise InputError(f"parameters of a recipe must be plain values; found {self.recipe.parameters}.") from None
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Cost:
    """What is still to be done, estimated from models that are done."""

    n_missing: int
    n_models: int
    seconds_per_model: float
    n_processes: int

    @property
    def core_minutes(self) -> float:
        return self.n_missing * self.seconds_per_model / 60

    def __str__(self) -> str:
        minutes = self.core_minutes / max(1, min(self.n_processes, self.n_missing))
        processes = "1 process" if self.n_processes == 1 else f"{self.n_processes} processes"
        return (
            f"{self.n_missing:,} of {self.n_models:,} models to train, {self.seconds_per_model:.2g} s each: "
            f"{self.core_minutes:.2g} core-minutes, about {minutes:.2g} min with {processes}"
        )


@dataclass(frozen=True)
class Bank:
    """The statistics of all models, and who was in their training sets."""

    plan: Plan
    statistics: FloatArray
    """model × statistic × document."""
    members: BoolArray
    """model × document."""
    lengths: IntArray
    """Tokens of each document, over the words of the attack."""
    seconds: FloatArray
    """What each model took: training, and statistics."""

    @property
    def n_models(self) -> int:
        return len(self.statistics)


def open_bank(
    documents: Corpus,
    plan: Plan,
    n_models: int,
    *,
    folder: Path | None = None,
    n_processes: int | None = None,
    tell_cost: Callable[[Cost], None] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Bank:
    """Train the models that are missing and return the bank.

    With a ``folder``, each finished model is stored there at once, and the same call continues after an interruption.
    ``tell_cost`` is called once, before the bulk of the work: after the first model, if none was stored. ``report`` is
    called with the number of finished models and of all.
    """
    if n_models < FEWEST_MODELS:
        raise InputError(f"a bank needs {FEWEST_MODELS} models or more; found {n_models}. Ask for more shadows.")
    corpus = plan.corpus(documents)
    members = np.stack([plan.members(i, corpus.n_documents) for i in range(n_models)])
    if not (members.any(axis=1) & ~members.all(axis=1)).all():
        raise InputError(f"{counted(corpus.n_documents, 'document')} cannot be split in halves. Give more documents.")
    if plan.recipe.compares_collections:
        _check_collections(corpus, members)
    place = None if folder is None else folder / plan.stamp(documents)
    found = _stored(place, n_models, corpus.n_documents)
    missing = [i for i in range(n_models) if i not in found]
    workers = n_processes or os.cpu_count() or 1
    if missing and not found:
        found[missing[0]] = _keep(place, missing[0], _train(plan, corpus, missing[0]))
        missing = missing[1:]
    if tell_cost is not None:
        pace = float(np.median([seconds for _, seconds in found.values()]))
        tell_cost(Cost(len(missing), n_models, pace, workers))
    for i, row in _train_all(plan, corpus, missing, workers):
        found[i] = _keep(place, i, row)
        if report is not None:
            report(len(found), n_models)
    rows = [found[i] for i in range(n_models)]
    return Bank(
        plan,
        np.stack([statistics for statistics, _ in rows]),
        members,
        np.asarray(corpus.lengths),
        np.array([seconds for _, seconds in rows]),
    )


def _check_collections(corpus: Corpus, members: BoolArray) -> None:
    """A model without a document of some collection has no table for the documents of that collection."""
    labels, numbers = np.unique(collection_labels(corpus), return_inverse=True)
    present = np.stack([np.bincount(numbers[row], minlength=len(labels)) > 0 for row in members])
    if not present.all():
        label = labels.tolist()[int(np.argmin(present.all(axis=0)))]
        raise InputError(
            f"some random half of the documents has none of the collection {name_or_kind(label)}, and its model could "
            "not read that collection. Leave out collections of few documents, or join them."
        )


Row = tuple[FloatArray, float]
"""Statistics (statistic × document), and seconds."""


def _train(plan: Plan, corpus: Corpus, i: int) -> Row:
    started = time.process_time()
    members = np.flatnonzero(plan.members(i, corpus.n_documents))
    model = plan.recipe.fit(corpus[members], plan.model_seed(i))
    statistics = statistics_of(published_topics(model, corpus), corpus)
    return statistics, time.process_time() - started


_shared: tuple[Plan, Corpus] | None = None
"""Of a worker process: sent once, not with every model."""


def _begin(plan: Plan, corpus: Corpus) -> None:
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process: the first one decides
    _shared = plan, corpus


def _train_here(i: int) -> tuple[int, Row]:
    assert _shared is not None
    return i, _train(*_shared, i)


def _train_all(plan: Plan, corpus: Corpus, missing: Sequence[int], workers: int) -> Iterator[tuple[int, Row]]:
    """In order of completion. Processes and not threads, because most of a fit may hold Python's lock."""
    if workers == 1 or len(missing) < 2:
        yield from ((i, _train(plan, corpus, i)) for i in missing)
        return
    processes, context = min(workers, len(missing)), get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(plan, corpus)) as pool:
        todo = {pool.submit(_train_here, i) for i in missing}
        try:
            while todo:
                done, todo = wait(todo, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _path(place: Path, i: int) -> Path:
    return place / f"model-{i:05d}.npz"


def _keep(place: Path | None, i: int, row: Row) -> Row:
    """On disk, complete or not there."""
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        path = _path(place, i)
        part = path.with_suffix(f".{os.getpid()}.part")
        with open(part, "wb") as file:
            np.savez(file, statistics=row[0], seconds=row[1])
        os.replace(part, path)
    return row


def _stored(place: Path | None, n_models: int, n_documents: int) -> dict[int, Row]:
    """Models that are on disk; a damaged file is trained again."""
    found: dict[int, Row] = {}
    if place is None or not place.is_dir():
        return found
    for i in range(n_models):
        try:
            with open(_path(place, i), "rb") as opened, np.load(opened) as file:
                row = np.asarray(file["statistics"], np.float64), float(file["seconds"])
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            continue
        if row[0].shape == (len(NAMES), n_documents):
            found[i] = row
    return found

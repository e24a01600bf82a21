"""Private text to private topics in one step: words are selected and topics trained from one budget."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet._errors import DiscreetError, InputError
from discreet._random import Key
from discreet.corpus.corpus import Corpus
from discreet.evaluation.usefulness import FEWEST_FOR_TWO, WORDS_PER_TOPIC
from discreet.models.vectorizer import PrivateVectorizer, selected_with
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import RESUMED, Basis, Guarantee, Unit, rounded_up
from discreet.privacy.ledger import Ledger
from discreet.training import self_test
from discreet.training.checkpoint import Checkpoint, kept_until_safe, open_checkpoint
from discreet.training.inputs import VocabularyCost, check_groups, digest_of_units
from discreet.training.pause import Paused, finishing
from discreet.training.private_fit import open_ledger

SHARE = 0.05
"""Of the budget, as precision (1/σ²), for the words. The noise on the topics grows by 2.6%. On arXiv at ε = 1 it finds
3,300 words, 81% of all tokens; 0.02 finds 2,200 (74%), 0.1 finds 4,200 (85%). Small corpora need it more."""

MANY_WORDS = 1_000_000
"""For the question whether the budget will do, asked before it is known how many words there will be: the number of
cells hardly enters the cost, and never lowers it. Fewer where a model cannot take so many (``most_words``)."""

WORDS, TOPICS = "words.json", "topics"
"""In the folder of a checkpoint: the words, once they are selected, and the checkpoint of the rounds."""


class _Planned(Protocol):
    @property
    def entries(self) -> tuple[Entry, ...]: ...


class Planning(Protocol):
    """A private model that says what it will release over words that are not known yet: `PrivateLDA`, `SubsampledLDA`,
    `SpectralLDA` and `VariationalLDA` in their sound forms."""

    n_topics: Any
    epsilon: Any
    delta: float
    random_state: Any
    ledger: Ledger | None
    guarantee_: Guarantee

    @property
    def _self_tests(self) -> tuple[self_test.Test, ...]: ...
    def _check_parameters(self) -> None: ...
    def _plan(self, n_words: int, before: tuple[Entry, ...]) -> _Planned: ...
    def fit(self, X: Any) -> Any: ...


Model = TypeVar("Model", bound=Planning)


def fit_text(
    model: Model,
    corpus: Corpus,
    *,
    max_words: int | None = None,
    share: float = SHARE,
    told: Callable[[int], object] | None = None,
) -> Model:
    """Train ``model`` on a corpus that holds all words of its text, over words selected from it.

    ``model.epsilon`` and ``model.delta`` cover both, in one composition. The unit is the user where the corpus has
    groups, otherwise the document. The ledger is charged twice: for the words, and, when their number is known, for the
    topics. Both charges are checked before the first noise is drawn. Should somebody else spend the same budget in
    between, the second is refused, and the first stays. ``told`` is called with the number of words.

    Where fewer than five words for each topic were selected, ``model.n_topics`` is lowered to as many as they can make
    (at least two), and a warning says so. Fewer than six words are refused: they stay charged, the topics are not.
    Where ``model.n_units`` is public and too small for any word, the fit is refused before anything is charged.

    With ``model.checkpoint`` the selection is a stage of its own: charged, noted, drawn, and its words kept. A run that
    was killed in it selects anew, under a fresh key, and is charged again; the topics get what is then left of
    ``epsilon``. A run that was killed later reuses the words, which are released, at no further cost.
    """
    model._check_parameters()
    if not isinstance(getattr(model, "word_prior", None), Mapping | None):
        raise InputError(
            "word_prior must be a dictionary, {topic: {word: weight}}, where words are selected from the text: nobody "
            "knows yet which column a word will have."
        )
    ledger = open_ledger(model, Unit.DOCUMENT if corpus.groups is None else Unit.USER)
    if max_words is not None and max_words < FEWEST_FOR_TWO and int(model.n_topics) > 1:
        raise InputError(
            f"max_words={max_words} is too few for any topics: two need at least {FEWEST_FOR_TWO} words. Nothing was "
            "charged. Use a larger max_words."
        )
    most = getattr(model, "most_words", MANY_WORDS)
    vectorizer = PrivateVectorizer(
        model.epsilon,
        model.delta,
        share=share,
        max_words=min(max_words or most, most),
        n_units=getattr(model, "n_units", None),
        output="corpus",
        ledger=ledger,
        random_state=model.random_state,
        progress=bool(getattr(model, "progress", False)),
    )
    facts = {"stage": "words", "share": share, "max_words": max_words}
    checkpoint, words = None, vectorizer.plan().entries
    if getattr(model, "checkpoint", None) is not None:
        resumable: Any = model
        checkpoint = open_checkpoint(resumable, corpus, check_groups(None, corpus), words, **facts)
    if checkpoint is None:
        selected = _selected(model, corpus, vectorizer, ())
    else:
        selected = _selected_or_kept(model, corpus, vectorizer, checkpoint)
    if told is not None:
        told(selected.n_words)
    try:
        n_topics = _affordable_topics(model, selected.n_words, vectorizer.plan().epsilon)
    except InputError:
        if checkpoint is not None:  # this run is over: the same words would be refused again
            checkpoint.remove()
        raise
    if checkpoint is None:
        with _set(model, ledger=ledger, n_topics=n_topics):
            model.fit(selected)
    else:  # a ledger in memory is not handed on: the rounds' checkpoint keeps the count, the words' cost included
        with kept_until_safe():
            with _set(model, checkpoint=checkpoint.folder / TOPICS, n_topics=n_topics):
                model.fit(selected)
            _finish(model, checkpoint, len(words))
    model.n_topics = n_topics
    return model


def _affordable_topics(model: Planning, n_words: int, epsilon: float) -> int:
    """As many as were asked for, or as many as the words can make. The words have been charged ``epsilon``."""
    wanted, most = int(model.n_topics), max(n_words // WORDS_PER_TOPIC, 2)
    if wanted == 1 or (wanted <= most and n_words >= FEWEST_FOR_TWO):
        return wanted
    words = "only 1 word was" if n_words == 1 else f"only {n_words} words were"
    found = f"{words} selected from the text, and a topic needs {WORDS_PER_TOPIC}"
    # a prior weight, or seed words, for each of the topics asked for
    fixed = np.ndim(getattr(model, "alpha", 0.0)) > 0 or getattr(model, "word_prior", None) is not None
    none = n_words < FEWEST_FOR_TWO
    if none or fixed:
        instead = "Use more units, a larger epsilon or a public word list" if none else f"Ask for {most} topics"
        raise InputError(
            f"{found}: too few for {'any' if none else wanted} topics. The words have been charged "
            f"ε = {rounded_up(epsilon, 3)}, the topics nothing. {instead}."
        )
    warnings.warn(f"{found}: {most} topics are trained instead of {wanted}", stacklevel=3)
    return most


@contextmanager
def _set(model: Any, **parameters: Any) -> Iterator[None]:
    """For the time of a fit, other values of parameters."""
    before = {name: getattr(model, name) for name in parameters}
    vars(model).update(parameters)
    try:
        yield
    finally:
        vars(model).update(before)


def _selected(
    model: Planning,
    corpus: Corpus,
    vectorizer: PrivateVectorizer,
    before: tuple[Entry, ...],
    **stage: Any,
) -> Corpus:
    """Charge and draw, if words and topics both fit. ``before`` is what lost selections have cost."""
    words, ledger = vectorizer.plan().entries, vectorizer.ledger
    assert ledger is not None
    most = vectorizer.max_words or MANY_WORDS
    ledger.would_take((*words, *model._plan(most, (*before, *words)).entries))
    vectorizer._fit(corpus, None, **stage)
    cost = replace(vectorizer._cost, entries=(*before, *words))
    return selected_with(cost, corpus.restrict(vectorizer.vocabulary_))


def _selected_or_kept(model: Planning, corpus: Corpus, vectorizer: PrivateVectorizer, checkpoint: Checkpoint) -> Corpus:
    """The words of an earlier process if it came that far, otherwise new ones."""
    key, ledger, before = Key.open(model.random_state), vectorizer.ledger, checkpoint.spent
    assert ledger is not None
    if before:
        key = key.renewed(len(checkpoint.charges))
        if ledger.file is None:
            ledger.reserve(before, run=checkpoint.id)  # by the process that is gone
    kept = checkpoint.folder / WORDS
    if kept.exists():
        found = json.loads(kept.read_bytes())
        checkpoint.check_stands_on(found["stands_on"])
        units = digest_of_units(corpus.n_documents, check_groups(None, corpus))
        return selected_with(VocabularyCost(before, ledger, key.seeded, units), corpus.restrict(found["words"]))
    with finishing("selection of words") as asked:
        try:
            selected = _selected(model, corpus, vectorizer, before, key=key, noted=checkpoint.note, run=checkpoint.id)
        except DiscreetError:
            if not before or checkpoint.spent != before:  # nothing was spent, or no word stood out: this run is over
                checkpoint.remove()
            raise
        found = {"words": selected.vocabulary, "stands_on": checkpoint.stands_on()}
        checkpoint.write(WORDS, json.dumps(found).encode())
        if asked():
            raise Paused
    return selected


def _finish(model: Planning, checkpoint: Checkpoint, one: int) -> None:
    times = len(checkpoint.spent) // one
    if times > 1 and model.guarantee_.basis == Basis.PROVEN:
        again = f"{RESUMED}the selection of words was charged {times} times"
        model.guarantee_ = replace(model.guarantee_, reasons=(*model.guarantee_.reasons, again))
    checkpoint.done()

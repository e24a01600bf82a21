"""Text to topics in one call: a private model selects its words and trains its topics from one budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet._errors import DiscreetError, InputError, WouldLeak, warn_caller
from discreet._random import Key
from discreet.corpus.builder import AnyTokenizer
from discreet.corpus.collections import collection_labels
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike
from discreet.corpus.readers.matrices import keep_words
from discreet.corpus.stored import StoredCorpus, removed_after
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary, VocabularyCost, checked_max_words
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import RESUMED, Basis, Unit, rounded_up
from discreet.release.usefulness import FEWEST_FOR_TWO, WORDS_PER_TOPIC
from discreet.training.checkpoint import Checkpoint, kept_until_safe, open_checkpoint
from discreet.training.inputs import checked_ids, is_by_user, units_of
from discreet.training.pause import Paused, finishing

if TYPE_CHECKING:  # loaded when words are selected: other fits need not wait for it
    from discreet.mechanisms.vocabulary import VocabularyPlan
    from discreet.models.vectorizer import PrivateVectorizer

MANY_WORDS = 1_000_000
"""The number of words with which the budget is checked before the real number is known: the number of cells hardly
changes the cost, and more cells never lower it. Fewer if a model cannot take so many (``most_words``)."""

WORDS, TOPICS = "words.json", "topics"
"""In the folder of a checkpoint: the words, once they are selected, and the checkpoint of the rounds."""

Model = TypeVar("Model", bound=TopicModel)


def fit_text(
    model: Model,
    X: Any,
    *,
    groups: Any = None,
    collections: Any = None,
    vocabulary: Vocabulary | PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    phrases: int | PathLike | Iterable[str] | None = None,
    max_words: int | None = None,
    share: float | None = None,
    after_selection: Callable[[int], object] | None = None,
) -> Model:
    """Train a copy of ``model`` on text, and return the copy. The parameters of ``model`` itself do not change.

    With a public ``vocabulary`` this is reading and ``fit``; the words of ``AdaptedLDA`` are by default the most
    frequent of its public text. Without public words, a private model selects its words from the text:
    ``model.epsilon`` and ``model.delta`` cover words and topics in one composition. The ledger is charged twice: for
    the words and, when their number is known, for the topics. Both charges are checked before the first noise is drawn.
    If another run spends the same budget in between, the second is refused and the first stays. Other models read their
    words from the text, and those that protect it refuse such words.

    If fewer than five words per topic were selected, the copy has as many topics as the words allow (at least two), and
    a warning says so. Fewer than six words are refused: the words stay charged, the topics are not. If
    ``model.n_units`` is public and too small for any word, the fit is refused before anything is charged.

    With ``model.checkpoint`` the selection is a stage of its own: it is charged, recorded, drawn, and its words are
    saved. A run that was killed during it selects again, under a fresh key, and is charged again; the topics get what
    is then left of ``epsilon``. A run that was killed later reuses the words, which are released, at no further cost.

    Parameters
    ----------
    model : estimator
        Any topic model. ``PrivateLDA``, ``PrivateCrossLDA``, ``SubsampledLDA``, ``VariationalLDA`` and ``SpectralLDA``
        can select words, in the forms that are proved.
    X : list of str, list of lists of words, Corpus, or documents that ``engine.read`` gave
        The documents. Words are selected only from a corpus that holds all words of its text.
    groups : array-like, optional
        One user id per document, which makes users the unit; by default those of the corpus.
    collections : array-like, optional
        The collection of each document, for models that compare collections; by default those of the corpus.
    vocabulary : list of words, file or Vocabulary, optional
        Public words. Other words are dropped.
    tokenizer : Tokenizer or function, optional
        How text becomes words.
    phrases : int, list of phrases or file, optional
        2 to 5: phrases of up to so many words are selected like words. Or a public list of phrases.
    max_words : int, optional
        The largest number of words: of the selected ones the best, otherwise the most frequent.
    share : float, optional
        Share of the budget, as precision (1/σ²), for the selection of words. By default the plan chooses it if
        ``model.n_units`` is public: 3 to 20%, so that the whole text gains most. Otherwise 5%, with which the noise on
        the topics grows by 2.6%; on arXiv at ε = 1 it finds 3,300 words, 81% of all tokens.
    after_selection : function, optional
        Called with the number of words when they are selected.
    """
    with_all = not isinstance(X, Corpus | StoredCorpus) or X.vocabulary.complete  # none has been left out yet
    if vocabulary is None and with_all and (public_words := getattr(model, "public_words", None)) is not None:
        if isinstance(X, StoredCorpus):
            with removed_after(X.restrict(public_words(max_words))) as chosen:
                return fit_text(model, chosen, groups=groups, collections=collections, tokenizer=tokenizer)
        vocabulary, tokenizer = public_words(max_words), tokenizer or _public_tokenizer(model, X)
        max_words = None
    selecting = vocabulary is None and selects_words(model)
    if phrases is not None:
        if isinstance(X, Corpus | StoredCorpus):
            raise InputError("the words of a Corpus have been found already. Pass the texts, or leave phrases= out.")
        tokenizer = replace(Tokenizer.of(tokenizer), phrases=phrases)  # type: ignore[arg-type]  # it reads a file
    if selecting and not isinstance(X, Corpus | StoredCorpus):
        from discreet.models.vectorizer import all_words

        X, tokenizer = all_words(X, Tokenizer.of(tokenizer)), None
    corpus = _read(model, X, groups, vocabulary, tokenizer, None if selecting else max_words)
    if "collections" in signature(model.fit).parameters:  # missing labels are found before words are charged
        corpus = replace(corpus, collections=collection_labels(corpus, collections))
    elif collections is not None:
        raise InputError(f"{type(model).__name__} does not compare collections. Leave collections= out.")
    if selecting and corpus.vocabulary.complete:
        model, share = _planned(model, share)
        fitted: Model = _fit_selected(model, corpus, max_words, share, after_selection)
        return fitted
    if selecting and max_words is not None:
        raise WouldLeak(
            "the most frequent words of a matrix are a fact about the private documents, and a word that one person "
            "used can identify that person. Leave max_words out."
        )
    return _copy(model).fit(corpus)


def _public_tokenizer(model: Any, X: Any) -> Tokenizer | None:
    """How public text became words, for texts that are to be read in the same way."""
    return None if isinstance(X, Corpus) else getattr(model.public, "tokenizer", None)


def _planned(model: Model, share: float | None) -> tuple[Model, float]:
    """The number of topics and the share of the budget for words, where the plan decides: from public facts."""
    from discreet.planning import choices

    model._check_parameters()
    known: dict[str, Any] = {name: float(getattr(model, name)) for name in ("epsilon", "delta")}
    known["n_units"] = getattr(model, "n_units", None)
    if getattr(model, "n_topics", None) == choices.AUTO:
        model = _copy(model, n_topics=choices.topics(**known))
    if share is None:
        n_topics = model.n_topics if isinstance(getattr(model, "n_topics", None), int) else 20
        share = choices.words_share(**known, n_topics=n_topics)
    return model, share


def selects_words(model: TopicModel) -> bool:
    """Whether ``model`` can be trained on words that were selected privately within its own budget."""
    other_forms = getattr(model, "as_published", False) or getattr(model, "configuration", None) is not None
    return hasattr(model, "_plan") and getattr(model, "epsilon", None) is not None and not other_forms


def _read(
    model: TopicModel, X: Any, groups: Any, vocabulary: Any, tokenizer: AnyTokenizer, max_words: int | None
) -> Any:
    if isinstance(X, StoredCorpus):
        if any(option is not None for option in (groups, vocabulary, tokenizer, max_words)):
            raise InputError("an engine has read these documents. Give groups=, vocabulary= and tokenizer= there.")
        return X
    if not isinstance(X, Corpus):
        corpus = Corpus.from_texts(X, vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    elif tokenizer is not None:
        raise InputError("the words of a Corpus have been found already, so it takes no tokenizer. Leave it out.")
    else:
        corpus = keep_words(X, vocabulary, checked_max_words(max_words))
    if groups is None:
        return corpus
    if "groups" not in signature(model.fit).parameters:
        raise InputError(f"{type(model).__name__} does not protect users. Leave groups= out.")
    return replace(corpus, groups=checked_ids(groups, corpus))


def _copy(model: Model, **changes: Any) -> Model:
    """The same estimator, not fitted, with the same callbacks, ledger and generator: these must not be cloned."""
    return type(model)(**{**model.get_params(deep=False), **changes})


def _fit_selected(
    model: Any, corpus: Corpus, max_words: int | None, share: float, after_selection: Callable[[int], object] | None
) -> Any:
    from discreet.models.vectorizer import PrivateVectorizer
    from discreet.training.private_fit import open_ledger

    model._check_parameters()
    model._check_together()
    model._check_documents(corpus)
    broadcast_alpha(getattr(model, "alpha", 1.0), int(model.n_topics))
    if not isinstance(getattr(model, "word_prior", None), Mapping | None):
        raise InputError(
            "word_prior must be a dictionary, {topic: {word: weight}}, where words are selected from the text: the "
            "column of a word is not known yet."
        )
    ledger = open_ledger(model, Unit.USER if is_by_user(corpus, corpus.groups) else Unit.DOCUMENT)
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
    plan, checkpoint = vectorizer.plan(), None
    if getattr(model, "checkpoint", None) is not None:
        facts = {"stage": "words", "share": share, "max_words": max_words}
        checkpoint = open_checkpoint(model, corpus, corpus.users, plan.entries, **facts)
    if checkpoint is None:
        selected = _selected(model, corpus, vectorizer, plan, same_run=True)
    else:
        selected = _selected_or_kept(model, corpus, vectorizer, plan, checkpoint)
    with removed_after(selected):
        return _fit_topics(model, selected, plan, checkpoint, after_selection)


def _fit_topics(
    model: Any,
    selected: Any,
    plan: VocabularyPlan,
    checkpoint: Checkpoint | None,
    after_selection: Callable[[int], object] | None,
) -> Any:
    """The second half of the budget: topics over the selected words."""
    if after_selection is not None:
        after_selection(selected.n_words)
    try:
        n_topics = _affordable_topics(model, selected.n_words, plan.epsilon)
    except InputError:
        if checkpoint is not None:  # this run is over: the same words would be refused again
            checkpoint.remove()
        raise
    if checkpoint is None:
        return _copy(model, n_topics=n_topics).fit(selected)
    with kept_until_safe():  # a ledger in memory is not passed on: the rounds' checkpoint counts the words' cost too
        fitted = _copy(model, n_topics=n_topics, checkpoint=checkpoint.folder / TOPICS).fit(selected)
        _finish(fitted, checkpoint, len(plan.entries))
    fitted.checkpoint = model.checkpoint
    return fitted


def _affordable_topics(model: Any, n_words: int, epsilon: float) -> int:
    """The number of topics asked for, or as many as the words allow. The words have been charged ``epsilon``."""
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
    warn_caller(f"{found}: {most} topics are trained instead of {wanted}")
    return most


def _selected(
    model: Any,
    corpus: Corpus,
    vectorizer: PrivateVectorizer,
    plan: VocabularyPlan,
    before: tuple[Entry, ...] = (),
    *,
    same_run: bool = False,
    **stage: Any,
) -> Corpus:
    """Charge and draw, if words and topics both fit. ``before`` is what lost selections have cost."""
    spent = (*before, *plan.entries)
    assert vectorizer.ledger is not None
    most = vectorizer.max_words or MANY_WORDS
    vectorizer.ledger.would_take((*plan.entries, *model._plan(most, spent).entries))
    vectorizer._fit(corpus, None, plan, **stage)
    found = vectorizer._selected
    assert found.cost is not None
    return corpus.restrict(replace(found, cost=replace(found.cost, entries=spent, same_run=same_run)))


def _selected_or_kept(
    model: Any, corpus: Corpus, vectorizer: PrivateVectorizer, plan: VocabularyPlan, checkpoint: Checkpoint
) -> Corpus:
    """The words of an earlier process if it has saved them, otherwise new ones."""
    key, ledger, before = Key.open(model.random_state), vectorizer.ledger, checkpoint.spent
    assert ledger is not None
    if before:
        key = key.renewed(len(checkpoint.charges))
        if ledger.file is None:
            ledger.reserve(before, run=checkpoint.id)  # spent by the earlier process
    kept = checkpoint.folder / WORDS
    if kept.exists():
        found = json.loads(kept.read_bytes())
        checkpoint.check_stands_on(found["stands_on"])
        units = units_of(corpus, corpus.users)
        cost = VocabularyCost(before, ledger, key.seeded, units)
        return corpus.restrict(Vocabulary(found["words"], "private-selection", cost=cost))
    with finishing("selection of words") as asked:
        try:
            selected = _selected(
                model, corpus, vectorizer, plan, before, key=key, noted=checkpoint.note, run=checkpoint.id
            )
        except DiscreetError:
            if not before or checkpoint.spent != before:  # nothing was spent, or no word stood out: this run is over
                checkpoint.remove()
            raise
        found = {"words": selected.vocabulary.words, "stands_on": checkpoint.stands_on()}
        checkpoint.write(WORDS, json.dumps(found).encode())
        if asked():
            raise Paused
    return selected


def _finish(model: Any, checkpoint: Checkpoint, one: int) -> None:
    times = len(checkpoint.spent) // one
    if times > 1 and model.guarantee_.basis == Basis.PROVEN:
        again = f"{RESUMED}the selection of words was charged {times} times"
        model.guarantee_ = replace(model.guarantee_, reasons=(*model.guarantee_.reasons, again))
    checkpoint.done()

"""Private text to private topics in one step: words are selected and topics trained from one budget."""

from __future__ import annotations

from collections.abc import Callable

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.models.private import PrivateLDA
from discreet.models.private_plan import Plan
from discreet.models.promise import open_ledger
from discreet.models.vectorizer import PrivateVectorizer
from discreet.privacy.guarantee import Unit

SHARE = 0.05
"""Of the budget, as precision (1/σ²), for the words. The noise on the topics grows by 2.6%. On arXiv at ε = 1 it finds
3,300 words, 81% of all tokens; 0.02 finds 2,200 (74%), 0.1 finds 4,200 (85%). Small corpora need it more."""

MANY_WORDS = 1_000_000
"""For the question whether the budget will do, asked before it is known how many words there will be: the number of
cells hardly enters the cost, and never lowers it."""


def fit_text(
    model: PrivateLDA,
    corpus: Corpus,
    *,
    max_words: int | None = None,
    share: float = SHARE,
    told: Callable[[int], object] | None = None,
) -> PrivateLDA:
    """Train ``model`` on a corpus that holds all words of its text, over words selected from it.

    ``model.epsilon`` and ``model.delta`` cover both, in one composition. The unit is the user where the corpus has
    groups, otherwise the document. The ledger is charged twice: for the words, and, when their number is known, for the
    topics. Both charges are checked before the first noise is drawn. Should somebody else spend the same budget in
    between, the second is refused, and the first stays. ``told`` is called with the number of words.
    """
    model._check_parameters()
    if model.checkpoint is not None:
        raise InputError(
            "a run that selects its words cannot be resumed: it would select them anew. Leave the checkpoint out, or "
            "select the words first (PrivateVectorizer), or give public ones."
        )
    ledger = open_ledger(model, Unit.DOCUMENT if corpus.groups is None else Unit.USER)
    vectorizer = PrivateVectorizer(
        model.epsilon,
        model.delta,
        share=share,
        max_words=max_words,
        output="corpus",
        ledger=ledger,
        random_state=model.random_state,
    )
    words = vectorizer.plan().entries
    ledger.would_take((*words, *Plan.make(model, MANY_WORDS, words).entries))
    selected = vectorizer.fit_transform(corpus)
    if told is not None:
        told(selected.n_words)
    given, model.ledger = model.ledger, ledger
    try:
        return model.fit(selected)
    finally:
        model.ledger = given

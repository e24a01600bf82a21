"""Checks before a private fit reads documents: the word list reveals nothing, and each document has one user."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from discreet._errors import InputError, WouldLeak
from discreet._types import AnyArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.ids import numbered, user_ids
from discreet.corpus.stored import StoredCorpus
from discreet.corpus.vocabulary import VocabularyCost
from discreet.privacy.guarantee import Unit
from discreet.privacy.ledger import Ledger

PUBLIC_WORDS = "the word list is public"
UNKNOWN_WORDS = "the word list is public (where it comes from is not known)"
"""Conditions of a guarantee: only the owner of a list can know that it is public."""
PUBLIC_PHRASES = "the list of phrases is public"
"""Condition if documents were read by a list of phrases."""
SAME_UNITS = "each {unit} of this fit was one {unit}, or none, when the words were selected"
"""Condition if the words were selected on other documents, or for other users: the units may have been sentences
then."""
_SECRET = os.urandom(32)
"""Secret of this process. A pickled vectorizer may be published: its digest must not reveal the number of documents."""


NOTHING = VocabularyCost((), Ledger(), seeded=False)
"""The cost of words that were not selected privately."""


def vocabulary_cost(corpus: Corpus | StoredCorpus, unit: Unit) -> VocabularyCost:
    """The cost already paid for the words. It is part of the cost of a model trained on them."""
    cost = corpus.vocabulary.cost
    if cost is None:
        return NOTHING
    if cost.ledger.unit != unit:  # [same-unit]
        instead = "Use public words (vocabulary=)" if unit is Unit.WORD else "Give groups= to both, or to neither"
        raise InputError(
            f"the vocabulary was selected to protect one {cost.ledger.unit}, but this fit protects one {unit}: their "
            f"costs cannot be added. {instead}."
        )
    return cost


def is_by_user(corpus: Corpus | StoredCorpus, groups: IntArray | None) -> bool:
    """Whether a unit is a user; ``groups`` are those of `check_groups`."""
    return corpus.by_user if isinstance(corpus, StoredCorpus) else groups is not None


def digest_of_units(n_documents: int, groups: IntArray | None) -> str:
    """Equal for two fits of one process if they have the same units: documents, or users as `check_groups` numbers
    them."""
    users = b"" if groups is None else groups.tobytes()
    return hashlib.blake2b(f"{n_documents} {groups is None} ".encode() + users, key=_SECRET).hexdigest()


def units_of(corpus: Corpus | StoredCorpus, groups: IntArray | None) -> str:
    """`digest_of_units`, also for documents that an engine keeps."""
    return corpus.source if isinstance(corpus, StoredCorpus) else digest_of_units(corpus.n_documents, groups)


def check_vocabulary(corpus: Corpus | StoredCorpus, groups: Any = None) -> tuple[str, ...]:
    """Refuse words that were read from the private text. Returns what must be assumed about the others.

    ``groups`` are those of the fit; by default the corpus's own.
    """
    vocabulary = corpus.vocabulary
    if isinstance(corpus, Corpus) and corpus.codebook is not None and not corpus.codebook.public:
        raise WouldLeak(
            "the visual words were learnt from the private pictures, or from some of them: the centre of a rare word "
            "is a mean of a few patches. Instead, learn the codebook from other pictures, which are public (codebook=)."
        )
    if vocabulary.origin == "text":  # [public]
        instead = "read the text with a public word list (vocabulary=), or select words privately (PrivateVectorizer)"
        if vocabulary.complete:
            instead += ', or restrict the corpus to a public list (Corpus.restrict(Vocabulary(words, "public")))'
        raise WouldLeak(
            "the vocabulary was read from the private text, and a word that only one person used would reveal that "
            f"person. Instead, {instead}."
        )
    if vocabulary.origin == "public":
        return (f"{PUBLIC_WORDS} ({vocabulary.source})" if vocabulary.source else PUBLIC_WORDS,)
    other_units = _other_units(corpus, groups)
    if vocabulary.origin == "unknown":
        return (UNKNOWN_WORDS, *other_units)
    if vocabulary.origin == "private-selection" and vocabulary.cost is None:
        return ("the vocabulary was selected privately, and what that cost is not part of these numbers",)
    return other_units


def check_phrases(corpus: Corpus | StoredCorpus) -> tuple[str, ...]:
    """What must be assumed about phrases. Those of a list are public; others were selected as words are."""
    listed = corpus.tokenizer is not None and isinstance(corpus.tokenizer.phrases, frozenset)
    return (PUBLIC_PHRASES,) if listed else ()


def _other_units(corpus: Corpus | StoredCorpus, given: Any) -> tuple[str, ...]:
    """The condition that [same-unit] needs if the words were not selected on the units of this fit."""
    cost = corpus.vocabulary.cost
    if cost is None:
        return ()
    groups = check_groups(given, corpus)
    if cost.units == units_of(corpus, groups):
        return ()
    return (SAME_UNITS.format(unit=Unit.USER if is_by_user(corpus, groups) else Unit.DOCUMENT),)


def check_groups(given: Any, corpus: Corpus | StoredCorpus) -> IntArray | None:
    """A number for the user of each document, or None."""
    if isinstance(corpus, StoredCorpus):
        if given is not None:
            raise InputError("an engine groups documents by user when it reads them. Give groups= there.")
        return None
    return corpus.users if given is None else numbered(checked_ids(given, corpus))


def checked_ids(given: Any, corpus: Corpus) -> AnyArray | None:
    """The user of each document, or None. Messages must not contain the number of documents: logs may keep them."""
    ids = corpus.groups if given is None else user_ids(given)  # [id] a corpus has read its own in the same way
    if ids is not None and ids.shape != (corpus.n_documents,):
        raise InputError(
            "groups must hold exactly one user id for each document. Pass one value for each row of X, in order."
        )
    return ids

"""Words of a fit: which are refused, and what a user may not expect of how they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet._catalogue import METHODS
from discreet._errors import InputError, WouldLeak, counted
from discreet.cli import show

if TYPE_CHECKING:
    from discreet.cli.methods import Chosen
    from discreet.corpus import Corpus
    from discreet.corpus.stored import StoredCorpus


def check_phrases(phrases: str | None, *, method: str, selecting: bool, chosen: bool) -> None:
    """Refuse phrases that nothing chooses among, before anything is read. ``chosen``: by --max-words or a list."""
    from discreet.corpus.phrases import LONGEST

    if phrases is not None and phrases.isdecimal() and 1 < int(phrases) <= LONGEST and not selecting and not chosen:
        raise InputError(
            f"--phrases {phrases} makes each phrase of the text a word, and {method} does not select words. Say how "
            "many of the most frequent to keep (--max-words), or name a list of phrases (--phrases FILE)."
        )


def check_words(corpus: Corpus | StoredCorpus, name: str, row: Chosen, *, selecting: bool) -> None:
    """Refuse what private models refuse, in terms of the command line. All words of a text, public words and matrices
    pass."""
    codebook = getattr(corpus, "codebook", None)
    if codebook is not None and not codebook.public:
        raise WouldLeak(
            "the visual words were learnt from the private pictures, or from some of them: the centre of a rare word "
            "is a mean of a few patches. Name a folder of other pictures, which are public, with --codebook."
        )
    if corpus.vocabulary.origin == "text" and not (selecting and corpus.vocabulary.complete):
        able = ", ".join(method for method, other in METHODS.items() if other.selects_words)
        why = (
            "Words can be selected privately from text, but not from counts, whose list of words was made by looking "
            "at all documents."
            if row.selects_words
            else f"{name} in this form cannot select words privately; {able} can."
        )
        raise WouldLeak(
            "the words were read from the private text, and a word that one person used can identify that person. Name "
            f"a public word list with --vocabulary, and leave --max-words out. ({why})"
        )


def note_reading(corpus: Corpus, *, vocabulary: str | None, lemmas: str | None, stop_words: str | None) -> None:
    """Say where a word list comes from, which of its words text cannot hold, and whose stop words are used."""
    from discreet.corpus.stop_words import known_language

    if lemmas is not None and stop_words is None and vocabulary is None and known_language(lemmas) is None:
        show.note(f"note: the stop words are English; give those of the language {lemmas} with --stop-words FILE")
    if corpus.vocabulary.source:
        show.note(f"the words are {corpus.vocabulary.source}, stop words apart")
    elif vocabulary is not None:
        _note_lost_words(vocabulary, corpus)


def _note_lost_words(vocabulary: str, corpus: Corpus) -> None:
    """Name words of the list that the tokenizer never finds: they would be lost silently. (No document is read.)"""
    if corpus.tokenizer is None:
        return
    words_of, lemmas = corpus.tokenizer.words_of, corpus.tokenizer.lemmas
    phrases = set(corpus.tokenizer.for_vocabulary(corpus.vocabulary).phrase_names)
    words = (word for word in corpus.vocabulary if word not in phrases)
    lost = [word for word in words if word not in words_of(f"{word} {word.capitalize()}")]
    if lost and lemmas is not None:
        show.note(
            f"note: {len(lost):,} of {counted(corpus.n_words, 'word')} of {vocabulary} have another word as their "
            f"lemma, for instance {lost[0]!r}; text is read by its lemmas, so most of them are never found"
        )
    elif lost:
        show.note(
            f"note: {len(lost):,} of {counted(corpus.n_words, 'word')} of {vocabulary} cannot be found in any text, "
            f"for instance {lost[0]!r}: --token-pattern says what a word is"
        )

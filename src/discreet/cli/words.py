"""Remarks on how words were read: what a user may not expect, known without looking at any document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet._errors import InputError, counted
from discreet.cli import show

if TYPE_CHECKING:
    from discreet.corpus import Corpus


def check_phrases(phrases: str | None, *, method: str, selecting: bool, chosen: bool) -> None:
    """Refuse phrases that nothing chooses among, before anything is read. ``chosen``: by --max-words or a list."""
    from discreet.corpus.phrases import LONGEST

    if phrases is not None and phrases.isdecimal() and 1 < int(phrases) <= LONGEST and not selecting and not chosen:
        raise InputError(
            f"--phrases {phrases} makes each phrase of the text a word, and {method} does not select words. Say how "
            "many of the most frequent to keep (--max-words), or name a list of phrases (--phrases FILE)."
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

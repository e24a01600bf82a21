"""Documents for the explorer: their words for the model, their text for people, and how much of it the model sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from discreet._errors import InputError
from discreet.corpus.builder import CorpusBuilder, Document, heard_by
from discreet.corpus.corpus import Corpus
from discreet.evaluation import coverage
from discreet.explore.spool import Texts
from discreet.release.measured import ignored_words
from discreet.release.release import Release


@dataclass(frozen=True, eq=False)
class Documents:
    """What was read, once."""

    corpus: Corpus
    """Over the vocabulary of the model."""
    texts: Texts | None
    """None where documents come as counts or pictures."""
    covered: float
    """The share of the tokens, stop words apart, that are words of the model."""
    everything: Corpus | None = None
    """Counts and pictures before they were restricted to the words of the model, for another model."""

    def for_model(self, release: Release) -> tuple[Corpus, float]:
        """The same documents over the vocabulary of another model, and how much of them it sees. Reads all texts."""
        if self.texts is None:
            assert self.everything is not None
            return _restricted(self.everything, release)
        seen = _Seen(release.vocabulary, ignored_words(release.tokenizer))
        builder = CorpusBuilder(vocabulary=release.vocabulary, tokenizer=release.tokenizer)
        with heard_by(seen):
            for text in self.texts:
                builder.add(text)
        corpus = builder.build()
        return corpus, seen.share(corpus)


class _Seen:
    """Hears every document, keeps its text if asked, and counts the tokens that a model could have seen."""

    def __init__(self, vocabulary: Iterable[str], ignored: Collection[str], texts: Texts | None = None) -> None:
        self._left_out = frozenset(ignored) - set(vocabulary)
        self._texts, self._n_tokens = texts, 0

    def __call__(self, text: Document, words: list[str]) -> None:
        if self._texts is not None:
            self._texts.add(text)
        self._n_tokens += len(words) - sum(map(self._left_out.__contains__, words))

    def share(self, corpus: Corpus) -> float:
        """As `discreet.evaluation.coverage` has it."""
        return corpus.n_tokens / self._n_tokens if self._n_tokens else 0.0


def read_documents(release: Release, read: Callable[[], Corpus], model: str) -> Documents:
    """``read`` returns text over the vocabulary of the model, or counts over all of their words."""
    with ExitStack() as on_error:
        texts = on_error.enter_context(closing(Texts()))
        seen = _Seen(release.vocabulary, ignored_words(release.tokenizer), texts)
        with heard_by(seen):
            corpus = read()
        if not len(texts):
            known, covered = _restricted(corpus, release)
            found = Documents(known, None, covered, corpus)
        else:
            found = Documents(corpus, texts, seen.share(corpus))
        if found.corpus.n_tokens == 0:
            raise InputError(f"no document holds a word of {model}. Are they of the same kind and language?")
        if found.texts is not None:
            on_error.pop_all()
    return found


def _restricted(everything: Corpus, release: Release) -> tuple[Corpus, float]:
    seen = coverage(everything, release.vocabulary, ignored=ignored_words(release.tokenizer))
    return everything.restrict(release.vocabulary), seen

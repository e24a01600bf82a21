"""What ``fit`` says while it runs: nothing about private documents that is not released."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet._errors import counted
from discreet.cli import show
from discreet.cli.wording import in_options

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.training.loop import SweepInfo


def note_corpus(corpus: Corpus, info: SweepInfo) -> None:
    """Print the size of the corpus, once the first sweep has shown that it can be used."""
    if info.sweep == 1:
        empty = f" ({corpus.n_empty:,} of them empty)" if corpus.n_empty else ""
        n_documents, n_words = counted(corpus.n_documents, "document"), counted(corpus.n_words, "word")
        show.note(f"{n_documents}{empty}, {n_words}, {counted(corpus.n_tokens, 'token')}")


def note_words(budget: Path | None, n_words: int) -> None:
    """Print how many words were selected; this number is released with them."""
    charged = "" if budget is None else f"; {budget} has been charged for them"
    show.note(f"selected privately: {counted(n_words, 'word')}{charged}")


def note_charge(budget: Path, what: str, info: SweepInfo) -> None:
    """Print what was charged before the user may stop the run: stopping does not restore the budget."""
    if info.sweep == 1:
        show.note(f"{budget} has been charged for {what}, even if it is interrupted")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings of the library, each as one line for the user at the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: show.note(f"warning: {in_options(str(message))}")
        yield


@contextmanager
def no_names_of_pictures() -> Iterator[None]:
    """Of private pictures neither the names nor the number of those that are left out is printed."""
    from discreet.corpus.readers.images import PicturesLeftOut

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PicturesLeftOut)
        yield
    if any(issubclass(one.category, PicturesLeftOut) for one in caught):
        show.note("warning: some pictures cannot be read, or are smaller than a patch, and were left out")
    for one in caught:
        if not issubclass(one.category, PicturesLeftOut):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)

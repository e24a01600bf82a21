"""Documents as immutable arrays, and the ways to get them.

Names are resolved on first use, so importing this is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.corpus.builder import CorpusBuilder
    from discreet.corpus.codebook import Codebook, Grid, Patches
    from discreet.corpus.corpus import Corpus
    from discreet.corpus.datasets import DataSet, available, load
    from discreet.corpus.installed import docstrings
    from discreet.corpus.readers.folders import read_folder, read_lines
    from discreet.corpus.readers.images import image_patches, read_images
    from discreet.corpus.readers.matrices import read_matrix
    from discreet.corpus.readers.read import read
    from discreet.corpus.readers.tables import read_table
    from discreet.corpus.readers.uci import read_uci
    from discreet.corpus.stop_words import english_stop_words, stop_words_of
    from discreet.corpus.synthetic import Synthetic, lda_corpus
    from discreet.corpus.tokenizer import Tokenizer
    from discreet.corpus.vocabulary import Origin, Vocabulary, public_vocabulary
    from discreet.corpus.word_lists import word_list

__all__ = [
    "Codebook",
    "Corpus",
    "CorpusBuilder",
    "DataSet",
    "Grid",
    "Origin",
    "Patches",
    "Synthetic",
    "Tokenizer",
    "Vocabulary",
    "available",
    "docstrings",
    "english_stop_words",
    "image_patches",
    "lda_corpus",
    "load",
    "public_vocabulary",
    "read",
    "read_folder",
    "read_images",
    "read_lines",
    "read_matrix",
    "read_table",
    "read_uci",
    "stop_words_of",
    "word_list",
]

_HOME = {
    "codebook": ("Codebook", "Grid", "Patches"),
    "corpus": ("Corpus",),
    "datasets": ("DataSet", "available", "load"),
    "installed": ("docstrings",),
    "readers.folders": ("read_folder", "read_lines"),
    "readers.images": ("image_patches", "read_images"),
    "readers.matrices": ("read_matrix",),
    "readers.read": ("read",),
    "synthetic": ("Synthetic", "lda_corpus"),
    "readers.tables": ("read_table",),
    "builder": ("CorpusBuilder",),
    "stop_words": ("english_stop_words", "stop_words_of"),
    "tokenizer": ("Tokenizer",),
    "readers.uci": ("read_uci",),
    "vocabulary": ("Origin", "Vocabulary", "public_vocabulary"),
    "word_lists": ("word_list",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

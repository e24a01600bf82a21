"""Document-term counts from matrix files, and the choice of the words to keep."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike, existing, inner_suffix, shown, text_lines
from discreet.corpus.vocabulary import Origin, Vocabulary, given_vocabulary

MATRICES = (".npz", ".npy", ".mtx")


def read_matrix(
    path: PathLike,
    vocab: PathLike | Iterable[str] | None = None,
    *,
    origin: Origin | None = None,
    max_tokens: int | None = None,
) -> Corpus:
    """Read document-term counts: .npz of scipy.sparse, .npy, or MatrixMarket .mtx (also .mtx.gz).

    ``vocab`` names the columns (a file with one name per line, or a list). A matrix does not say where its columns come
    from, so their ``origin`` is ``unknown`` unless you state it, here or with ``vocab=Vocabulary(words, "public")``.
    ``max_tokens`` as in ``Corpus.from_counts``.
    """
    source = existing(path)
    if source.is_dir():
        raise InputError(f"{shown(source)} is a folder, not a matrix. Use read() for folders.")
    suffix = inner_suffix(source)
    try:
        counts = _load_matrix(source, suffix)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError, StopIteration):
        raise InputError(
            f"{shown(source)} holds no matrix. Write it with "
            f"{'scipy.io.mmwrite' if '.mtx' in source.suffixes else 'scipy.sparse.save_npz or numpy.save'}."
        ) from None
    names = [line.strip() for line in text_lines(existing(vocab))] if isinstance(vocab, str | os.PathLike) else vocab
    try:
        corpus = Corpus.from_counts(counts, names, max_tokens=max_tokens)
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None
    return corpus if origin is None else replace(corpus, vocabulary=Vocabulary(corpus.vocabulary, origin))


def _load_matrix(source: Path, suffix: str) -> Any:
    import numpy as np
    import scipy.sparse as sp

    if suffix == ".npz":
        return sp.load_npz(source)
    if suffix == ".npy":
        return np.load(source, allow_pickle=False)
    if suffix == ".mtx":
        from scipy.io import mmread

        return mmread(source, spmatrix=True)
    raise InputError(f"{shown(source)} is not a kind of matrix that can be read. Give {', '.join(MATRICES)}.")


def keep_words(corpus: Corpus, vocabulary: PathLike | Iterable[str] | None, max_words: int | None) -> Corpus:
    """A counted corpus with a public vocabulary, or with its most frequent words, or unchanged."""
    chosen = given_vocabulary(vocabulary, max_words)
    if chosen is not None:
        return corpus.restrict(chosen)
    return corpus if max_words is None else corpus.most_frequent(max_words)

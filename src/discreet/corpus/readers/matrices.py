"""Document-term counts from matrix files, and the words to keep of counts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.corpus.builder import public_vocabulary
from discreet.corpus.corpus import Corpus, Provenance
from discreet.corpus.lines import PathLike, existing, inner_suffix, shown, text_lines

MATRICES = (".npz", ".npy", ".mtx")


def read_matrix(
    path: PathLike,
    vocab: PathLike | Iterable[str] | None = None,
    *,
    vocabulary_from: Provenance = "unknown",
    max_tokens: int | None = None,
) -> Corpus:
    """Read document-term counts: .npz of scipy.sparse, .npy, or MatrixMarket .mtx (also .mtx.gz).

    ``vocab`` names the columns (a file with one name a line, or a list). A matrix does not say where its columns come
    from, so ``vocabulary_from`` is ``unknown`` unless you know better. ``max_tokens`` as in ``Corpus.from_counts``.
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
        return Corpus.from_counts(counts, names, vocabulary_from=vocabulary_from, max_tokens=max_tokens)
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None


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
    raise InputError(f"{shown(source)} is no kind of matrix that can be read. Give {', '.join(MATRICES)}.")


def keep_words(corpus: Corpus, vocabulary: PathLike | Iterable[str] | None, max_words: int | None) -> Corpus:
    """A counted corpus with a public vocabulary, or with its most frequent words, or as it is."""
    if vocabulary is not None and max_words is not None:
        raise InputError(
            "vocabulary and max_words were both given. A given vocabulary is used whole; leave one of them out."
        )
    if vocabulary is not None:
        return corpus.restrict(public_vocabulary(vocabulary), vocabulary_from="public")
    return corpus if max_words is None else corpus.most_frequent(max_words)

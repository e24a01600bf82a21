"""Codebook: the visual words that local features of pictures are counted as, learnt once by k-means.

A word is the centre of a cluster of SIFT descriptors, and a picture is the bag of the words nearest to its own. Learn a
codebook from training pictures only: centres are means of what it was learnt from, so test pictures that took part
would be judged by words made for them; and a private model may use only one that was learnt from public pictures. A
codebook that was called public keeps digests of its pictures, and is not public for a corpus that has one of them.
"""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.kmeans import LONGEST, k_means, nearest
from discreet.corpus.lines import PathLike, existing, first_line, report_read, shown
from discreet.corpus.vocabulary import Vocabulary

N_WORDS = 700
"""Of a codebook, by default: Luo et al. 2023 (section 4.3) found this number best for 15 scenes."""

PER_WORD = 128
"""Descriptors for each word, of those a codebook is learnt from: a sample, evenly from all training pictures."""

MOST_WORDS = 65_536

DIGEST = 32
"""Bytes of the digest of a picture (SHA-256)."""

FORMAT = "discreet codebook 1"

LARGEST_FILE = 1 << 26
"""Bytes of a codebook's file, unpacked: the centres, and 32 for each picture."""


class Grid(NamedTuple):
    """Where descriptors are taken: on a grid of square patches, every one upright."""

    step: int = 8
    """Pixels from one patch to the next, in both directions."""
    patch: int = 32
    """Pixels of a side of a patch."""
    max_side: int = 256
    """A picture whose longer side has more pixels is made smaller first."""

    @classmethod
    def checked(cls, step: Any, patch: Any, max_side: Any) -> Grid:
        """Whole numbers, within what pictures have."""
        for name, value, least in (("step", step, 1), ("patch", patch, 4), ("max_side", max_side, 16)):
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= 2**14:
                raise InputError(
                    f"{name} must be a whole number of pixels from {least} to {2**14:,}; found {shown(value)}."
                )
        return cls(int(step), int(patch), int(max_side))

    @classmethod
    def from_json(cls, value: Any) -> Grid:
        """What ``_asdict`` gave, checked."""
        if not isinstance(value, dict) or set(value) != set(cls._fields):
            raise InputError(f"the grid must have {', '.join(cls._fields)}; found {shown(value)}.")
        return cls.checked(**value)


@dataclass(frozen=True, eq=False)
class Patches:
    """SIFT descriptors of pictures. Those of picture ``d`` are ``values[offsets[d]:offsets[d + 1]]``."""

    values: AnyArray = field(repr=False)
    """Descriptor × 128, uint8. A picture of 192 × 192 pixels has 441 by default, 55 KiB."""
    offsets: IntArray = field(repr=False)
    names: AnyArray
    """The file of each picture."""
    collections: AnyArray | None
    """The category of each picture: its folder; None where they lie in no folders."""
    groups: IntArray = field(repr=False)
    """A number for each picture, the same for identical ones (equal pixels). Keep a group on one side of a split, for
    example with scikit-learn's ``GroupShuffleSplit``."""
    grid: Grid
    digests: AnyArray = field(repr=False)
    """Of the pixels of each picture: picture × 32, uint8."""

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, which: Any) -> Patches:
        """Some of the pictures: a slice, a mask or indices."""
        chosen = np.atleast_1d(np.arange(len(self))[which])
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        collections = None if self.collections is None else self.collections[chosen]
        return Patches(
            self.values[rows],
            offsets,
            self.names[chosen],
            collections,
            self.groups[chosen],
            self.grid,
            self.digests[chosen],
        )


@dataclass(frozen=True, eq=False)
class Codebook:
    """The centres of visual words, and the grid of patches that they were learnt on.

    Equal if the centres and the grid are.
    """

    centres: AnyArray = field(repr=False)
    """Word × 128, uint8."""
    grid: Grid
    public: bool = False
    """Whether it was learnt from public pictures. Somebody has to say so: no private model takes another."""
    learnt_from: frozenset[bytes] = field(default=frozenset(), repr=False)
    """Digests of the pictures that it was learnt from; of a public codebook only."""

    def __post_init__(self) -> None:
        given = np.asarray(self.centres)
        good = given.ndim == 2 and given.dtype.kind in "uif" and 1 <= len(given) <= MOST_WORDS
        if not good or not 1 <= given.shape[1] <= LONGEST:
            raise InputError(
                f"centres must be a matrix of at most {MOST_WORDS:,} words × {LONGEST}; found {given.dtype} of shape "
                f"{given.shape}."
            )
        if not ((given >= 0) & (given <= 255) & (given == np.floor(given))).all():
            raise InputError("centres must be whole numbers from 0 to 255. Load what Codebook.save wrote.")
        centres = np.ascontiguousarray(given, dtype=np.uint8)
        centres.setflags(write=False)
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "grid", Grid.checked(*self.grid))
        if not isinstance(self.public, bool):
            raise InputError(f"public must be True or False; found {shown(self.public)}.")

    @classmethod
    def learn(
        cls, patches: Patches, n_words: int | None = None, *, public: bool = False, random_state: int = 0
    ) -> Codebook:
        """k-means of at most 128 descriptors for each word, drawn from all of ``patches``: training pictures only.

        ``n_words`` is 700 by default.
        ``public`` says that these pictures are. The same ``random_state`` gives the same codebook, bit for bit
        (``kmeans.py``). Fewer words come out where there are not as many different descriptors.
        """
        n_words = N_WORDS if n_words is None else n_words
        if isinstance(n_words, bool) or not isinstance(n_words, Integral) or not 1 <= int(n_words) <= MOST_WORDS:
            raise InputError(f"n_words must be a whole number from 1 to {MOST_WORDS:,}; found {shown(n_words)}.")
        if not len(patches.values):
            raise InputError("there is no picture to learn visual words from. Give at least one.")
        generator = np.random.default_rng(random_state)
        size = min(len(patches.values), PER_WORD * int(n_words))
        sample = patches.values[np.sort(generator.choice(len(patches.values), size, replace=False))]
        different = len(np.unique(sample, axis=0)) if size < PER_WORD * int(n_words) else size
        centres = k_means(
            sample,
            min(int(n_words), different),
            generator,
            lambda done, total: report_read(done, total, "learning visual words"),
        )
        pictures = frozenset(map(bytes, patches.digests)) if public else frozenset()
        return cls(np.unique(centres, axis=0), patches.grid, public, pictures)

    def __len__(self) -> int:
        return len(self.centres)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codebook):
            return NotImplemented
        return self.grid == other.grid and np.array_equal(self.centres, other.centres)

    def __hash__(self) -> int:
        return hash((self.grid, self.centres.tobytes()))

    @property
    def vocabulary(self) -> Vocabulary:
        """``v000``, ``v001``, …: the names say nothing, but what they stand for was learnt from pictures."""
        width = len(str(len(self) - 1))
        return Vocabulary((f"v{i:0{width}}" for i in range(len(self))), "public" if self.public else "text")

    def corpus(self, patches: Patches) -> Corpus:
        """Pictures as documents of visual words. Their labels are the files' names.

        If the codebook was learnt from one of these pictures (equal pixels), the corpus's codebook is not public.
        """
        if patches.grid != self.grid:
            raise InputError(
                f"the patches were taken with {patches.grid}, and the codebook was learnt with {self.grid}. Take both "
                "with the same."
            )
        # centres are released without noise, so no picture that is to be protected may have taken part in their means
        learnt_from_these = not self.learnt_from.isdisjoint(map(bytes, patches.digests))
        book = replace(self, public=False, learnt_from=frozenset()) if learnt_from_these else self
        words, _ = nearest(patches.values, self.centres)
        return Corpus(
            words.astype(np.int32),
            patches.offsets,
            book.vocabulary,
            collections=patches.collections,
            labels=patches.names,
            codebook=book,
        )

    # --- files ------------------------------------------------------------------------------------------------------

    def save(self, path: PathLike, *, overwrite: bool = False) -> Path:
        """Write a .npz file of plain arrays. An earlier file is replaced only with ``overwrite=True``."""
        target = Path(path)
        if target.suffix != ".npz":
            raise InputError(f"a codebook is a .npz file; found {shown(target)}. Name it so.")
        if target.exists() and not overwrite:
            raise InputError(f"{shown(target)} exists already. Choose another name, or pass overwrite=True.")
        packed = io.BytesIO()
        np.savez(
            packed,
            format=np.array(FORMAT),
            centres=self.centres,
            grid=np.array(self.grid, np.int64),
            public=np.array(self.public),
            learnt_from=np.frombuffer(b"".join(sorted(self.learnt_from)), np.uint8).reshape(-1, DIGEST),
        )
        partial = target.with_name(f".{target.name}.partial")
        partial.write_bytes(packed.getvalue())
        os.replace(partial, target)
        return target

    @classmethod
    def load(cls, path: PathLike) -> Codebook:
        """Read a file that `save` wrote. It is checked, and nothing in it is run."""
        source = existing(path)
        try:
            with zipfile.ZipFile(source) as file:  # before memory is taken for what its header claims
                too_large = sum(part.file_size for part in file.infolist()) > LARGEST_FILE
            with np.load(source, allow_pickle=False) as arrays:
                if too_large or str(arrays["format"]) != FORMAT:
                    raise ValueError("it was written by something else")
                centres, grid, public = arrays["centres"], arrays["grid"].tolist(), arrays["public"].item()
                pictures = arrays["learnt_from"]
            if pictures.dtype != np.uint8 or pictures.shape != (len(pictures), DIGEST):
                raise ValueError("it does not say which pictures it was learnt from")
            return cls(centres, Grid.checked(*grid), public, frozenset(map(bytes, pictures)))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{shown(source)} is no codebook: {first_line(error)}. Give a file that Codebook.save wrote."
            ) from None


def check_codebook(found: Codebook | None, wanted: Codebook | None) -> None:
    """Visual words of another codebook have the same names and mean something else."""
    if found is not None and wanted is not None and found != wanted:
        raise InputError(
            "these pictures were read with another codebook than the model's. Read them with the model's own "
            "(release.codebook)."
        )

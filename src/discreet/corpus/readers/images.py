"""Pictures as documents: SIFT descriptors on a grid, counted as the visual words of a codebook.

Luo et al. 2023, section 4.3: "we use the Scale Invariant Feature Transform (SIFT) algorithm to extract the local
features from local patches", "the K-means algorithm clusters the set of training image descriptors", and a picture is a
vector of counts of the nearest centres. The paper leaves open how patches are chosen, their size, how many
descriptors are clustered and from where k-means starts. Here they are:

* upright patches of 32 × 32 pixels on a grid, 8 pixels apart, and not the points that SIFT's own detector finds. A grid
  is what the bag-of-features work on the same scenes uses (Lazebnik, Schmid and Ponce, CVPR 2006: every 8 pixels,
  patches of 16); docs/design.md says why patches are larger here;
* a picture whose longer side has more than 256 pixels is made smaller first, so that patches show about as much;
* at most 128 descriptors per word, evenly from all training pictures, and k-means++ (``kmeans.py``).

Descriptors are OpenCV's, whole numbers from 0 to 255. They are the same for any number of threads; another version of
OpenCV, or another processor, may round a few of them differently.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet._errors import DataNotFound, InputError, counted
from discreet._types import AnyArray
from discreet.corpus.codebook import DIGEST, Codebook, Grid, Patches
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike, existing, report_read, shown

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")

PATCH_PER_SIZE = 6
"""Pixels of a patch for each unit of an OpenCV key point's size: 4 × 4 cells, each 3 times the scale, half the size."""

UNREADABLE, TOO_SMALL = "cannot be read as a picture", "has no room for a patch of {} pixels"
"""Why a picture is left out."""


class PicturesLeftOut(UserWarning):
    """Some pictures cannot be used. The message names files, so the command line does not print it of private ones."""


class Picture(NamedTuple):
    """A picture that has not been read yet."""

    name: str
    collection: str | None
    size: int
    """Bytes."""
    read: Callable[[], bytes]


def read_images(
    path: PathLike,
    *,
    codebook: Codebook | PathLike | None = None,
    max_words: int | None = None,
    grid: Grid | None = None,
    random_state: int = 0,
) -> Corpus:
    """Read a folder of pictures as a corpus of visual words, a collection for each of its sub-folders.

    Without ``codebook`` the words are learnt from these pictures themselves (``max_words`` of them, 700 by default):
    they must then be training pictures, and no private model takes the corpus. A codebook is one that was saved or
    learnt before, or a folder of pictures to learn it from, which must be public. No private model takes the corpus if
    one of those pictures is among these.

    A picture that cannot be used is left out, and a warning names it. The labels of the corpus are the files' names. To
    split pictures before words are learnt, or to keep identical ones together, use ``image_patches`` and ``Codebook``.
    """
    book = given_codebook(codebook, max_words, grid, random_state)
    if book is None:
        patches = image_patches(path, grid)
        book = Codebook.learn(patches, max_words, random_state=random_state)
    else:
        patches = image_patches(path, book.grid)
    return book.corpus(patches)


def given_codebook(
    given: Codebook | PathLike | None, max_words: int | None, grid: Grid | None, random_state: int = 0
) -> Codebook | None:
    """What a reader was given as ``codebook``. A folder of pictures is public: whoever names it here says so. (What
    `Codebook.corpus` finds among the pictures to protect is not.)"""
    if given is None:
        return None
    if not isinstance(given, Codebook):
        source = existing(given)
        if source.is_dir():
            patches = image_patches(source, grid)
            return Codebook.learn(patches, max_words, public=True, random_state=random_state)
        given = Codebook.load(source)
    if max_words is not None:
        raise InputError(
            f"codebook and max_words were both given. This codebook has {counted(len(given), 'word')}, and all of them "
            "are used; leave max_words out."
        )
    if grid is not None and grid != given.grid:
        raise InputError(f"codebook and grid were both given, and the codebook has {given.grid}. Leave grid out.")
    return given


def image_patches(path: PathLike, grid: Grid | None = None) -> Patches:
    """SIFT descriptors of all pictures of a folder, in the order of their names."""
    return described(pictures_of(existing(path)), grid)


def holds_pictures(folder: Path) -> bool:
    """Whether a folder is one of pictures: it has more of them than text files. (A README may lie beside them.)"""
    suffixes = [file.suffix.lower() for file in folder.rglob("*")]
    return sum(suffix in SUFFIXES for suffix in suffixes) > suffixes.count(".txt")


def pictures_of(folder: Path) -> list[Picture]:
    """Every picture of a folder. The first sub-folder of a file is its collection."""
    if not folder.is_dir():
        raise InputError(f"{shown(folder)} is a file, not a folder. Give a folder of pictures.")
    files = (p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    names = sorted((p.relative_to(folder) for p in files), key=lambda p: p.parts)
    if not names:
        raise DataNotFound(f"no picture was found in {shown(folder)}. Give a folder of {', '.join(SUFFIXES)} files.")
    placed = [len(name.parts) > 1 for name in names]
    if any(placed) and not all(placed):
        raise InputError(
            f"{shown(folder)}: {shown(str(names[placed.index(False)]))} lies in no sub-folder, and others do. A "
            "sub-folder is a collection: put every picture into one, or none."
        )
    return [
        Picture(name.as_posix(), name.parts[0] if placed[0] else None, path.stat().st_size, path.read_bytes)
        for name, path in ((name, folder / name) for name in names)
    ]


def described(pictures: Sequence[Picture], grid: Grid | None = None) -> Patches:
    """SIFT descriptors of pictures. Those that cannot be used are left out, and a warning says which."""
    sift, grid = _sift(), Grid.checked(*(grid or Grid()))
    total, done, offsets, values = sum(one.size for one in pictures), 0, [0], bytearray()
    used: list[Picture] = []
    lost: dict[str, list[str]] = {}
    digests: list[bytes] = []
    first: dict[bytes, int] = {}
    groups: list[int] = []
    with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="discreet-sift") as pool:
        try:
            for one, found in zip(pictures, pool.map(partial(_described, sift, grid), pictures), strict=True):
                done += one.size
                report_read(done, total)
                if isinstance(found, str):
                    lost.setdefault(found, []).append(one.name)
                    continue
                digest, descriptors = found
                digests.append(digest)
                values += descriptors.tobytes()
                offsets.append(offsets[-1] + len(descriptors))
                groups.append(first.setdefault(digest, len(first)))
                used.append(one)
        except BaseException:  # Ctrl-C: those that wait need not be read
            pool.shutdown(cancel_futures=True)
            raise
    if not used:
        reasons = " or ".join(reason.format(grid.patch) for reason in lost)
        raise InputError(f"none of the files can be used: each {reasons}. Give pictures that are complete and larger.")
    for reason, names in lost.items():
        named = ", ".join(map(shown, names[:3])) + (", …" if len(names) > 3 else "")
        warnings.warn(
            PicturesLeftOut(f"{counted(len(names), 'picture')} left out ({reason.format(grid.patch)}): {named}"),
            stacklevel=2,
        )
    return Patches(
        np.frombuffer(values, np.uint8).reshape(-1, 128),
        np.array(offsets, np.int64),
        np.array([one.name for one in used]),
        None if used[0].collection is None else np.array([one.collection for one in used]),
        np.array(groups, np.int64),
        grid,
        np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST),
    )


def _described(sift: Any, grid: Grid, picture: Picture) -> tuple[bytes, AnyArray] | str:
    """A digest of the pixels, and the descriptors; or why the picture cannot be used."""
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(picture.read(), np.uint8), cv2.IMREAD_GRAYSCALE)
    except (OSError, cv2.error):
        return UNREADABLE
    if pixels is None:
        return UNREADABLE
    digest = hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).digest()
    height, width = pixels.shape
    if max(height, width) > grid.max_side:
        scale = grid.max_side / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
        height, width = pixels.shape
    middle = (grid.patch - 1) / 2
    points = [
        cv2.KeyPoint(x + middle, y + middle, grid.patch / PATCH_PER_SIZE, 0.0)
        for y in range(0, height - grid.patch + 1, grid.step)
        for x in range(0, width - grid.patch + 1, grid.step)
    ]
    if not points:
        return TOO_SMALL
    _, descriptors = sift().compute(pixels, points)
    return digest, descriptors.astype(np.uint8)


def _sift() -> Callable[[], Any]:
    """Makes OpenCV's SIFT; one of it serves one thread at a time."""
    try:
        import cv2
    except ImportError:
        raise InputError(
            "reading pictures needs the package opencv-python-headless, which is not installed. Install it with "
            "pip install 'discreet[images]'."
        ) from None
    create: Callable[[], Any] = cv2.SIFT_create
    return create

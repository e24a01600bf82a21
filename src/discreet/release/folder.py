"""The files of a Release: a few plain files, written completely or not at all.

    topics.npy            topic × word, float64
    alpha.npy             topics, float64
    topic_shares.npy      topics, float64 (only if the model has them)
    standard_errors.npy   topic × word, float64 (only if the noise of each cell is known)
    collection_topics.npy collection × topic × word, float64 (only for cross-collection models)
    switch.npy            topic × collection, float64 (only for cross-collection models)
    share_errors.npy      topics, float64 (only for models that release the prevalence of topics)
    word_frequencies.npy  words, float64; so are frequency_errors.npy and public_frequencies.npy (only for models that
                          adapt public topics)
    codebook.npy          visual word × 128, float64 (only for models of pictures)
    vocabulary.txt        UTF-8, one word per line; backslash, line feed and carriage return are \\\\, \\n, \\r
    release.json          format, version, everything else, and the SHA-256 of every file (its own without these sums)

A new folder is written beside its final place and then renamed, so a reader never sees part of a release.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from discreet._errors import InputError, ReleaseError
from discreet._files import sync_folder
from discreet._types import FloatArray

FORMAT = "discreet release"
FORMAT_VERSION = 4
"""2: optional arrays, and how useful the topics are. 3: collections, alpha_rest, lemmas and codebooks. 4: errors of
topic shares, and word frequencies. Folders of earlier versions are read as before."""
ARRAYS = ("topics", "alpha")
WORD_USE = ("word_frequencies", "frequency_errors", "public_frequencies")
OPTIONAL = ("topic_shares", "standard_errors", "share_errors", *WORD_USE, "collection_topics", "switch", "codebook")
ALL_ARRAYS = (*ARRAYS, *OPTIONAL)
ABOUT = ("method", "beta", "parameters", "guarantee", "ledger", "history", "versions")
LATER = ("tokenizer", "usefulness", "collections", "alpha_rest", "grid")
"""Fields that folders of earlier versions do not have."""
HASHED = (*(f"{name}.npy" for name in ARRAYS), "vocabulary.txt")
FILES = (*HASHED, "release.json")
"""In every release."""
KNOWN = (*FILES, *(f"{name}.npy" for name in OPTIONAL))


def versions() -> dict[str, str]:
    """What is installed here, read without importing it."""
    found = {"python": platform.python_version()}
    for package in ("discreet", "numba", "numpy", "scikit-learn", "scipy", "simplemma"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


# --- writing ---------------------------------------------------------------------------------------------------------


def check_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Where a release would be written, or an error. Call it before hours of training, not after."""
    target = Path(os.path.realpath(path))
    if target.is_dir() and overwrite:
        strange = sorted(set(os.listdir(target)) - set(KNOWN))
        if not is_release(target) or strange:
            found = f"it holds {strange[0]!r}" if strange else "it has no release.json of discreet"
            raise ReleaseError(
                f"{path} is not a model folder ({found}), so it is not overwritten. Choose another place."
            )
    elif target.exists():
        hint = ", or pass overwrite=True" if is_release(target) else ""
        raise ReleaseError(f"{path} exists already. Choose another place{hint}.")
    if not target.parent.is_dir():
        raise ReleaseError(f"{path} cannot be written: the folder {target.parent} does not exist. Create it first.")
    probe = _sibling(target, "partial")
    try:  # checking permissions is not enough: a disk may be read-only
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise ReleaseError(
            f"{path} cannot be written: {target.parent} permits no new folder ({error.strerror}). Choose another place."
        ) from None
    return target


def is_release(path: Path) -> bool:
    """Whether this folder claims to be a release. (It may still be damaged.)"""
    try:
        about = json.loads((path / "release.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


def write(
    path: str | os.PathLike[str],
    arrays: Mapping[str, FloatArray],
    vocabulary: Sequence[str],
    about: Mapping[str, Any],
    *,
    overwrite: bool,
) -> Path:
    """Write the files into a sibling of ``path``, then rename it. Whatever goes wrong, the sibling is removed."""
    target = check_target(path, overwrite=overwrite)
    partial = _sibling(target, "partial")
    try:
        partial.mkdir()
        for name, array in arrays.items():
            with open(partial / f"{name}.npy", "xb") as file:
                np.lib.format.write_array(file, array.astype("<f8", copy=False), allow_pickle=False)
                _sync(file)
        _write_text(partial / "vocabulary.txt", "".join(f"{_escape(word)}\n" for word in vocabulary))
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, **about}
        hashed = [*(f"{name}.npy" for name in arrays), "vocabulary.txt"]
        head["sha256"] = {**{name: _digest(partial / name) for name in hashed}, "release.json": digest_of_head(head)}
        _write_text(partial / "release.json", json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        sync_folder(partial)
        _move_into_place(partial, target)
    except OSError as error:  # name the caller's path, not the temporary folder
        shutil.rmtree(partial, ignore_errors=True)
        raise ReleaseError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from None
    except BaseException:  # Ctrl-C included
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_folder(target.parent)
    return target


def _move_into_place(partial: Path, target: Path) -> None:
    """Rename. An old release is moved aside first, and moved back if the new one cannot be renamed."""
    if not target.exists():
        partial.rename(target)
        return
    old = _sibling(target, "old")
    try:
        target.rename(old)
        partial.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sibling(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{ending}")


def _write_text(path: Path, text: str) -> None:
    with open(path, "xb") as file:
        file.write(text.encode("utf-8"))
        _sync(file)


def _sync(file: Any) -> None:
    """Flush and fsync, so that the bytes are on the disk before the rename."""
    file.flush()
    os.fsync(file.fileno())


# --- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, FloatArray], tuple[str, ...], dict[str, Any]]]:
    """The arrays, vocabulary and other fields of a folder. Any fault in them is raised as one ReleaseError."""
    try:
        yield _read(Path(path))
    except ReleaseError:
        raise
    except InputError as error:
        raise ReleaseError(f"{path} is a damaged release: {error}") from None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read(path: Path) -> tuple[dict[str, FloatArray], tuple[str, ...], dict[str, Any]]:
    if not path.exists():
        raise ReleaseError(f"{path} does not exist. Train a model first: discreet fit FILE -o {path.name}.")
    head = _read_head(path)
    sums = head["sha256"]
    if not isinstance(sums, dict) or not set(FILES) <= set(sums) <= set(KNOWN):
        raise ReleaseError(f"{path} is a damaged release: release.json does not list the checksums of its files.")
    for name in sums:
        if not (path / name).is_file():
            raise ReleaseError(f"{path} is a damaged release: {name} is missing. Get a fresh copy.")
        if (digest_of_head(head) if name == "release.json" else _digest(path / name)) != sums[name]:
            raise ReleaseError(f"{path} is a damaged release: {name} has changed since it was saved. Get a fresh copy.")
    arrays = {name: _read_array(path, f"{name}.npy") for name in ALL_ARRAYS if f"{name}.npy" in sums}
    return arrays, _read_vocabulary(path), {name: head.get(name) for name in (*ABOUT, *LATER)}


def _read_head(path: Path) -> dict[str, Any]:
    """release.json, if this code can understand it."""
    if not (path / "release.json").is_file():
        raise ReleaseError(
            f"{path} is not a model folder: it has no release.json. Name a folder that `discreet fit` made."
        )
    try:
        head = json.loads((path / "release.json").read_text("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{path} is a damaged release: release.json is not valid JSON ({error}).") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ReleaseError(f"{path} is not a model folder: its release.json was written by something else.")
    found = head.get("format_version")
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ReleaseError(f"{path} is a damaged release: release.json has no format version.")
    if found > FORMAT_VERSION:
        raise ReleaseError(
            f"{path} has format version {found}, and this discreet reads up to {FORMAT_VERSION}. Upgrade discreet."
        )
    missing = sorted({*ABOUT, "sha256"} - set(head))
    if missing:
        raise ReleaseError(f"{path} is a damaged release: release.json has no {missing[0]!r}.")
    return head


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _read_array(path: Path, name: str) -> FloatArray:
    """Memory-mapped first: a header that claims more than the file holds is refused before memory is allocated."""
    try:
        mapped = np.lib.format.open_memmap(path / name, mode="r")
    except (ValueError, OSError, EOFError, OverflowError):
        raise ReleaseError(f"{path} is a damaged release: {name} is not a plain array of numbers.") from None
    if mapped.dtype != np.float64:
        raise ReleaseError(f"{path} is a damaged release: {name} must be float64; found {mapped.dtype}.")
    return np.array(mapped, dtype=np.float64)


def _read_vocabulary(path: Path) -> tuple[str, ...]:
    try:
        text = (path / "vocabulary.txt").read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ReleaseError(f"{path} is a damaged release: vocabulary.txt is not UTF-8.") from None
    return tuple(_unescape(line) for line in text.removesuffix("\n").split("\n"))


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_head(head: Mapping[str, Any]) -> str:
    """The digest of the content of release.json, without the checksums in it."""
    said = {name: value for name, value in head.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _escape(word: str) -> str:
    return word.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _unescape(line: str) -> str:
    return re.sub(r"\\([\\nr])", lambda match: {"\\": "\\", "n": "\n", "r": "\r"}[match[1]], line)

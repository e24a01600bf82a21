"""The cache of compiled kernels between processes. No cached kernel is older than its sources.

numba stamps a cached kernel with the contents of its own file only. The machine code also contains the parts that it
calls and the constants that it imports, which are in other files: after a fix in such a file the old code would still
run. So the folder is named after a digest of all kernel sources, the versions of the compiler and the processor. When
any of them changes, everything is compiled again.

numba reads the folder from ``numba.config.CACHE_DIR`` at the moment when a function is decorated; `folder_for_numba`
sets it for that moment only. `is_kept_in` checks that it took effect, since numba may change.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

SOURCES = Path(__file__).parent

PREFIX = "discreet-kernels-"

KEPT = 4
"""The number of folders of other digests that are kept, those used last: two checkouts or machines may share a
place."""

State: TypeAlias = tuple[tuple[str, int, int], ...]


def sources(folder: str | None = None) -> Iterator[os.DirEntry[str]]:
    """Every kernel source, in folders too (called at each decorator, so it skips compiled files)."""
    for entry in os.scandir(folder or SOURCES):
        if entry.name.endswith(".py"):
            yield entry
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from sources(entry.path)


def state_of_sources() -> State:
    """Name, time and size of each kernel source: differs when a file was written since."""
    found = [(entry.path, entry.stat()) for entry in sources()]
    return tuple(sorted((path, its.st_mtime_ns, its.st_size) for path, its in found))


def digest_of_sources() -> str:
    """Digest of everything that compiled kernels depend on: their sources, the compiler, the processor."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # unknown for this processor; numba then has none either
        features = ""
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((*versions, llvm.get_host_cpu_name(), features)).encode())
    for path in sorted(Path(entry.path) for entry in sources()):
        source = path.read_bytes()
        digest.update(f"\n{path.relative_to(SOURCES).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:32]


# --- a place that can be written ------------------------------------------------------------------------------------


def choose_folder(digest: str) -> Path | None:
    """The folder of ``digest`` in the first place that can be written; None: kernels are kept in memory only."""
    if not SOURCES.joinpath("cache.py").exists():  # no sources on disk, so no digest of them
        return None
    usual = [SOURCES / "__pycache__", Path(os.path.expanduser("~/.cache/discreet"))]
    if numba.config.CACHE_DIR:  # the variable NUMBA_CACHE_DIR
        usual.insert(0, Path(numba.config.CACHE_DIR))
    for place in usual:
        if place.is_absolute() and (found := _opened(place, digest)) is not None:
            return found
    temporary = own_temporary_folder()
    found = None if temporary is None else _opened(temporary, digest)
    instead = "this process compiles its own" if found is None else f"{temporary} is used instead"
    warnings.warn(
        f"compiled kernels cannot be kept in {' or '.join(map(str, usual))}: {instead}. Set NUMBA_CACHE_DIR to a "
        "folder that can be written.",
        stacklevel=2,
    )
    return found


def _opened(place: Path, digest: str) -> Path | None:
    """The folder of ``digest`` in ``place``, if it can be written. Removes old folders of other digests there."""
    folder = place / f"{PREFIX}{digest}"
    try:
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # permissions are not enough: the disk may be read-only
        os.utime(folder)  # used now
    except OSError:
        return None
    if new:
        _remove_oldest(place, but=folder)
    return folder


def _remove_oldest(place: Path, but: Path) -> None:
    others = [path for path in place.iterdir() if re.fullmatch(PREFIX + "[0-9a-f]{32}", path.name) and path != but]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def own_temporary_folder() -> Path | None:
    """A folder that only this user can write: anybody else who could write there could run code in this process."""
    user = getattr(os, "getuid", int)()  # 0 on systems without user numbers, as in st_uid
    try:
        folder = Path(tempfile.gettempdir()) / f"discreet-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()  # for a link, of the link itself
    except OSError:
        return None
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    return folder if own else None


# --- for the decorators ---------------------------------------------------------------------------------------------


STATE, FOLDER = state_of_sources(), choose_folder(digest_of_sources())


@contextmanager
def folder_for_numba() -> Iterator[Path | None]:
    """Let numba cache what is decorated inside this block in our folder. None: do not cache.

    Nothing is cached if a source was written since the digest was made: the modules of this process may be of two
    versions.
    """
    if FOLDER is None or state_of_sources() != STATE:
        yield None
        return
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(FOLDER)
    try:
        yield FOLDER
    finally:
        numba.config.CACHE_DIR = before


def is_kept_in(compiled: Any, folder: Path) -> bool:
    """Whether numba will keep ``compiled`` in ``folder``: false if other settings of numba take precedence."""
    path = getattr(getattr(compiled, "stats", None), "cache_path", None)
    return path is not None and folder in Path(path).parents

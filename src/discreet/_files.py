"""Files that survive a crash: file locks released on process exit; fsynced lines and directory entries."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BINARY = getattr(os, "O_BINARY", 0)

_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


def lock(descriptor: int, *, alone: bool = True) -> None:
    """Wait for the lock on the open file and take it: an exclusive lock, or a shared one if not ``alone``.

    This is the operating system's lock (flock on POSIX, a byte range on Windows), which is released when the process
    exits for any reason. A lock *file* would remain after a killed run, and nobody could tell whether it is stale.
    """
    if sys.platform == "win32":
        while not try_lock(descriptor):
            pass  # LK_LOCK gives up after ten seconds; the holder may need longer
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock on the open file if it is free. Returns whether it was."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # a byte that never holds text: others may still read the file
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _BUSY:
            raise
        return False
    return True


def read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    blocks = []
    while block := os.read(descriptor, 1 << 20):
        blocks.append(block)
    return b"".join(blocks)


def append_line(descriptor: int, line: Mapping[str, Any]) -> bytes:
    """Append JSON in one write, then fsync: when this returns, the line is on disk. A short write leaves a torn line,
    which readers detect."""
    data = json.dumps(line, allow_nan=False).encode() + b"\n"
    os.lseek(descriptor, 0, os.SEEK_END)
    written = os.write(descriptor, data)
    if written != len(data):
        raise OSError(f"only {written} of {len(data)} bytes could be written: the disk may be full")
    os.fsync(descriptor)
    return data


def sync_folder(folder: Path) -> None:
    """Fsync a folder, so that the name of a new file survives a power loss too."""
    with suppress(OSError):  # some file systems (and Windows) cannot sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

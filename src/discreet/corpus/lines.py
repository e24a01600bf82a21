"""Files as blocks and lines, plain or compressed, with errors that name the file and the line.

A file is never in memory as a whole. bz2, which is slow, is unpacked in a second thread (it releases the interpreter
lock), so that unpacking and tokenising run at the same time.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeAlias

from discreet._errors import DataNotFound, InputError

PathLike: TypeAlias = str | os.PathLike[str]

BLOCK = 1 << 20
LONGEST_LINE = 1 << 26
"""A longer line (64 MiB) is a file without line ends, not a document; it is refused before it fills the memory."""

COMPRESSED = (".gz", ".bz2")

STDIN = Path("-")
"""Standard input, which is read once, from its start to its end."""


Watcher: TypeAlias = Callable[[int, int | None, str], object]
"""Called with the number of bytes read so far, the size of the file (None for standard input, whose size is unknown),
and what is done. If that is not `READING`, the numbers are steps."""

READING = "reading"

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Report whatever is read in this block to ``watcher``, about once per MiB."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def report_read(done: int, total: int | None, what: str = READING) -> None:
    watcher = _watcher.get()
    if watcher is not None:
        watcher(done, total, what)


def shown(value: Any, width: int = 60) -> str:
    """A value formatted for a message: on one line, and short."""
    text = repr(value) if not isinstance(value, Path) else "standard input" if value == STDIN else value
    line = " ".join(str(text).split())
    return line if isinstance(value, Path) or len(line) <= width else line[: width - 1] + "…"


def first_line(error: BaseException) -> str:
    """The message of another library's error, cut to its first line."""
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split())[:160].rstrip(".") if lines else type(error).__name__


def close_match(word: str, known: list[str]) -> str:
    """``" Did you mean 'text'?"``, or nothing."""
    near = difflib.get_close_matches(word, known, n=1)
    if not near and word.lower() in (folded := {k.lower(): k for k in known}):
        near = [folded[word.lower()]]
    return f" Did you mean {near[0]!r}?" if near else ""


def existing(path: PathLike) -> Path:
    """The path, if something is there; otherwise an error that suggests a similar name. "-" always exists."""
    if os.fspath(path) == str(STDIN):
        return STDIN
    found = Path(path).expanduser()
    if found == STDIN:  # "./-", a file
        return found.absolute()
    try:
        if found.exists():
            return found
        siblings = [p.name for p in found.parent.iterdir()] if found.parent.is_dir() else []
    except OSError as error:
        raise InputError(f"{shown(found)} cannot be looked up: {first_line(error)}. Check the path.") from None
    alike = [name for name in sorted(siblings) if difflib.get_close_matches(_stem(found.name), [_stem(name)])]
    hint = close_match(found.name, alike) or (f" Did you mean {alike[0]!r}?" if alike else " Check the path.")
    raise DataNotFound(f"there is no file or folder {shown(found)}.{hint}")


def _stem(name: str) -> str:
    """What makes a file's name: that both end in ``.jsonl`` does not make two alike."""
    return name.partition(".")[0].lower()


def inner_suffix(path: Path) -> str:
    """``.jsonl`` for ``a.jsonl`` and for ``a.jsonl.gz``."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


def blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked, about a MiB at a time."""
    try:
        with _opened(path) as file:
            total = None if path == STDIN else path.stat().st_size
            done = 0
            for block in _pieces(file, path.suffix.lower()):
                done = done + len(block) if total is None else file.tell()
                report_read(done, total)
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{shown(path)} cannot be unpacked: {first_line(error)}. Is the download complete, and is it {path.suffix}?"
        ) from None
    except OSError as error:
        raise InputError(
            f"{shown(path)} cannot be read: {first_line(error)}. Check the file and its permissions."
        ) from None


def head(path: Path) -> str:
    """The first characters that are not blank, to see what a file holds. On standard input they are not consumed."""
    start = b""
    for block in blocks(path) if path != STDIN else [_standard_input().peek(BLOCK)]:
        start += block
        if len(start) >= 1024:
            break
    return start[:1024].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def _standard_input() -> Any:
    if sys.stdin is None:
        raise InputError("standard input is closed. Name a file, or send the documents through a pipe.")
    return sys.stdin.buffer


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(_standard_input()) if path == STDIN else path.open("rb")


def _pieces(file: IO[bytes], suffix: str) -> Iterator[bytes]:
    if suffix == ".bz2":
        return _ahead(_unpacked(file))
    whole = gzip.GzipFile(fileobj=file) if suffix == ".gz" else file
    return iter(lambda: whole.read(BLOCK), b"")


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    """bz2, in a few large calls: bz2.open makes one per 8 KiB, and would wait for the interpreter lock each time."""
    decoder = bz2.BZ2Decompressor()
    while packed := file.read(BLOCK >> 2):
        while packed or not (decoder.needs_input or decoder.eof):
            if decoder.eof:  # several streams in a row make one file
                decoder = bz2.BZ2Decompressor()
            yield decoder.decompress(packed, 4 * BLOCK)
            packed = decoder.unused_data
    if not decoder.eof:
        raise EOFError("it ends in the middle")


def _ahead(source: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, each produced in a second thread while the caller uses the one before it."""
    with ThreadPoolExecutor(1, thread_name_prefix="discreet-unpack") as pool:
        ahead = pool.submit(next, source, None)
        while (block := ahead.result()) is not None:
            ahead = pool.submit(next, source, None)
            yield block


def line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Blocks cut at line ends, each with the number of its first line (from 1). The last may lack its line end."""
    number, rest = 1, b""
    for block in blocks(path):
        whole, end, tail = block.rpartition(b"\n")
        if end:
            piece = rest + whole + end
            yield number, piece
            number += piece.count(b"\n")
            rest = tail
        else:
            rest += tail
        if len(rest) > LONGEST_LINE:
            raise InputError(
                f"{shown(path)}: line {number:,} is longer than {LONGEST_LINE >> 20} MiB. Write one document per line."
            )
    if rest:
        yield number, rest


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends. A file with nothing in it but white space is refused."""
    blank = True
    for number, block in line_blocks(path):
        if number == 1:
            block = block.removeprefix(b"\xef\xbb\xbf")
        text = decoded(block, path, number)
        blank = blank and not text.strip()
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        yield from lines
    if blank:
        raise InputError(f"{shown(path)} is empty. Give a file with something in it.")


def text_blocks(path: Path) -> Iterator[str]:
    """A UTF-8 file in pieces that need not end at a line end."""
    number, rest = 1, b""
    for block in blocks(path):
        block = rest + block
        whole = len(block) - _unfinished(block)
        yield decoded(block[:whole].removeprefix(b"\xef\xbb\xbf" if number == 1 else b""), path, number)
        number, rest = number + block.count(b"\n", 0, whole), block[whole:]
    if rest:
        yield decoded(rest, path, number)


def _unfinished(block: bytes) -> int:
    """Bytes at the end that start a character without ending it."""
    for back in range(1, min(4, len(block) + 1)):
        byte = block[-back]
        if byte >= 0xC0:  # the first of two, three or four
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            break
    return 0


def decoded(block: bytes, path: Path, number: int = 1) -> str:
    """UTF-8 text, or an error that names the first line and byte that are not UTF-8."""
    zero = block.find(b"\0")
    if zero >= 0:
        line = number + block.count(b"\n", 0, zero)
        way_out = "send it through zcat" if path == STDIN else "name it .gz"
        gzipped = number == 1 and block.startswith(b"\x1f\x8b")
        packed = f" It is gzip-compressed: {way_out}." if gzipped else ""
        raise InputError(
            f"{shown(path)}: line {line:,} holds a zero byte, so this is not UTF-8 text."
            + (packed or " Convert UTF-16 to UTF-8; other binary files cannot be read.")
        )
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = number + block.count(b"\n", 0, error.start)
        byte = error.start - block.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{shown(path)}: line {line:,}, byte {byte:,} (0x{block[error.start]:02x}) is not UTF-8. "
            "Convert the file to UTF-8, for instance with iconv."
        ) from None

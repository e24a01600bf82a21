"""Plain text: a folder with one document per file, or one file with one document per line."""

from __future__ import annotations

from collections.abc import Iterable

from discreet._errors import DataNotFound, InputError
from discreet.corpus.builder import AnyTokenizer, CorpusBuilder
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike, decoded, existing, first_line, report_read, shown, text_lines


def read_folder(
    path: PathLike,
    pattern: str = "*.txt",
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    max_words: int | None = None,
) -> Corpus:
    """Read a folder of UTF-8 text files, one document each, in the order of their names.

    If files are in sub-folders, the name of the first sub-folder is the document's label ('' for files at the top).
    """
    folder = existing(path)
    if not folder.is_dir():
        raise InputError(f"{shown(folder)} is a file, not a folder. Use read() or read_table() for files.")
    try:
        files = sorted((p.relative_to(folder) for p in folder.rglob(pattern) if p.is_file()), key=lambda p: p.parts)
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(f"{shown(pattern)} is not a file pattern: {first_line(error)}. Try '*.txt'.") from None
    if not files:
        some = sorted(p.name for p in folder.iterdir())[:3]
        raise DataNotFound(
            f"no file in {shown(folder)} matches {shown(pattern)}; found {', '.join(some) or 'nothing'}. "
            "Give a folder of such files, one text per file (in Python, pattern= reads others, for instance '*.md'), "
            "or of pictures."
        )
    labelled = any(len(file.parts) > 1 for file in files)
    builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    total, done = sum((folder / file).stat().st_size for file in files), 0
    for file in files:
        try:
            raw = (folder / file).read_bytes()
        except OSError as error:
            raise InputError(
                f"{shown(folder / file)} cannot be read: {first_line(error)}. Check its permissions."
            ) from None
        done += len(raw)
        report_read(done, total)
        text = decoded(raw.removeprefix(b"\xef\xbb\xbf"), folder / file)
        builder.add(text, label=(file.parts[0] if len(file.parts) > 1 else "") if labelled else None)
    return builder.build()


def read_lines(
    path: PathLike,
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    max_words: int | None = None,
) -> Corpus:
    """Read a UTF-8 text file, one document per line (also .gz or .bz2), or "-", standard input.

    A blank line is an empty document: document n is line n.
    """
    source = existing(path)
    if source.is_dir():
        raise InputError(f"{shown(source)} is a folder, not a file. Use read_folder() or read() for folders.")
    builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    for line in text_lines(source):
        builder.add(line.rstrip("\r"))
    try:
        return builder.build()
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None

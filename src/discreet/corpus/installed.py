"""Real text on every machine: the docstrings of installed Python packages.

Modules are parsed, never imported, so none of their code runs. Docstrings defined in C (numpy's ufuncs) are not found.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet._errors import DataNotFound
from discreet.corpus.builder import CorpusBuilder
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike
from discreet.corpus.tokenizer import LETTERS_A_TO_Z, Tokenizer

PACKAGES = ("numpy", "scipy", "sklearn")
MIN_WORDS = 8
"""Shorter docstrings ("Return self.") say nothing about a topic.

Counted in words of three letters a–z or more, stop words included.
"""

_SKIPPED = frozenset(
    {"test", "tests", "testing", "site-packages", "dist-packages", "__pycache__"}
    | {"idlelib", "lib2to3", "turtledemo", "pydoc_data", "encodings"}
)
_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    max_words: int | None = None,
    tokenizer: Tokenizer | None = None,
    min_words: int = MIN_WORDS,
) -> Corpus:
    """The docstrings of the standard library, numpy, scipy and scikit-learn: one document per docstring, one group per
    module.

    The label of a document is its package. Order: by package, then by path, then by position in the file; so the same
    versions of Python and packages give the same corpus. Tests and a few folders without prose are left out.
    """
    tokenizer = tokenizer or Tokenizer(LETTERS_A_TO_Z)  # what was measured on this set was measured with these words
    builder = CorpusBuilder(vocabulary=vocabulary, max_words=max_words, tokenizer=tokenizer)
    words = re.compile(LETTERS_A_TO_Z).findall
    with _parsing():
        for package, module, path in _modules():
            for text in _docstrings_of(path):
                if len(words(text.lower())) >= min_words:
                    builder.add(text, group=module, label=package)
    if not len(builder):
        raise DataNotFound(
            "no docstring was found: the Python source files are not on this machine. Install Python with its "
            "sources, or give a corpus of your own."
        )
    return builder.build()


def _modules() -> Iterator[tuple[str, str, Path]]:
    """Package, module name and source file of everything to be read, in a fixed order."""
    roots = [("python", "", Path(sysconfig.get_path("stdlib")))]
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            roots.append((package, package, Path(location)))
    for package, prefix, root in roots:
        for path in _sources(root):
            parts = [prefix, *path.relative_to(root).with_suffix("").parts]
            yield package, ".".join(p for p in parts if p and p != "__init__") or package, path


def _sources(root: Path) -> Iterator[Path]:
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(".py") and name != "conftest.py":
                yield Path(folder, name)


@contextmanager
def _parsing() -> Iterator[None]:
    """Without warnings about other people's syntax, and without garbage collection: it takes a third of the time, for
    no cycles."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if collecting:
            gc.enable()


def _docstrings_of(path: Path) -> list[str]:
    try:
        source = path.read_bytes()
        if b'"""' not in source and b"'''" not in source:  # long docstrings have three quotes
            return []
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []  # skip a broken file of the installation
    found: list[tuple[int, str]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        first = body[0] if body and isinstance(node, _DEFINITIONS) else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            found.append((first.lineno, first.value.value))
        # definitions are statements: expressions are not walked
        for branch in ("body", "orelse", "handlers", "finalbody"):
            waiting.extend(getattr(node, branch, ()))
    found.sort(key=lambda place: place[0])
    return [text for _, text in found]

"""Named real data sets.

Files are searched in the folder that the environment variable ``DISCREET_DATA`` names, under the paths below. ``kos``
and ``nips`` are downloaded from UCI if they are not there, checked against their SHA-256, and kept in the user's cache.
The others are copies in our own format (JSON lines), so no public address serves exactly these bytes.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from discreet._errors import DataNotFound, InputError
from discreet.corpus.builder import CorpusBuilder
from discreet.corpus.codebook import Codebook, Grid, Patches
from discreet.corpus.corpus import Corpus
from discreet.corpus.installed import docstrings
from discreet.corpus.lines import PathLike, close_match, first_line, shown
from discreet.corpus.readers.images import Picture, described, given_codebook
from discreet.corpus.readers.matrices import keep_words
from discreet.corpus.readers.tables import read_table, rows
from discreet.corpus.readers.uci import read_uci
from discreet.corpus.readers.usenet import own_words, sender
from discreet.corpus.tokenizer import LETTERS_A_TO_Z, Tokenizer
from discreet.corpus.vocabulary import checked_max_words

__all__ = ["NAMES", "PICTURES", "DataSet", "available", "docstrings", "load", "patches"]

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"


class DataSet(NamedTuple):
    """One line of ``discreet data ls``."""

    name: str
    present: bool
    description: str
    where: str
    """The file, if it is here; otherwise where to get it."""


@dataclass(frozen=True)
class _Set:
    description: str
    files: tuple[str, ...]
    """Paths under DISCREET_DATA; the first is read."""
    source: str
    """Where to get the set by hand."""
    columns: tuple[tuple[str, str], ...] = ()
    """Roles of columns, for ``read_table``."""
    sha256: tuple[str, ...] = ()
    """SHA-256 of each file, if a public address serves exactly these bytes."""


_SETS = {
    "kos": _Set(
        "UCI bag of words: 3,430 blog entries of dailykos.com",
        ("uci_kos/docword.kos.txt.gz", "uci_kos/vocab.kos.txt"),
        UCI,
        sha256=(
            "764990739b52b95c8232fbdca4dd15ec9ac812e0a89e2623a2a869530ef8b3fe",
            "653fe50010fa64a2431febcb813728f0ead7cdd9fb400511be4719e1895b993b",
        ),
    ),
    "nips": _Set(
        "UCI bag of words: 1,500 papers of NIPS",
        ("uci_nips/docword.nips.txt.gz", "uci_nips/vocab.nips.txt"),
        UCI,
        sha256=(
            "d45f9f7ceeadf118117e14346f018273007b765593a4dbe02915d37a1faa58b7",
            "be3f6337e3406ddc24837118e203da57c4c898ad5f6c9280908cd08a2609cf91",
        ),
    ),
    "20newsgroups": _Set(
        "18,846 Usenet posts in 20 groups, by-date split; groups are senders, labels are newsgroups",
        ("20newsgroups/20news-bydate.jsonl.gz",),
        "http://qwone.com/~jason/20Newsgroups/ (JSON lines with split, label, id, text)",
    ),
    "arxiv": _Set(
        "120,000 abstracts of arXiv, 1991–2019; labels are primary categories",
        ("arxiv/arxiv_abstracts_120k.jsonl.bz2",),
        "https://arxiv.org/help/bulk_data (JSON lines with label, text)",
        columns=(("label", "label"),),
    ),
    "neurips-cvpr": _Set(
        "8,726 abstracts of NeurIPS and CVPR, two collections",
        ("neurips_cvpr/abstracts.jsonl.gz",),
        "https://papers.nips.cc and https://openaccess.thecvf.com (JSON lines with collection, text)",
        columns=(("collection", "collection"),),
    ),
    "enron": _Set(
        "16,545 e-mails of six Enron mailboxes; groups are users; stands in for UCI's Enron",
        ("enron_ham_emails/enron_ham.jsonl.bz2",),
        "https://www2.aueb.gr/users/ion/data/enron-spam/ (its ham, as JSON lines with user, text)",
    ),
    "novels": _Set(
        "4,374 fragments of English novels by 25 authors; labels are authors; stands in for FVENA",
        ("english_novels_fragments/fragments.jsonl.bz2",),
        "https://github.com/computationalstylistics/100_english_novels (fragments, as JSON lines with label, text)",
        columns=(("label", "label"),),
    ),
    "arxiv-titles": _Set(
        "the titles of the same 120,000 abstracts: short text, of nine words; labels are primary categories",
        ("arxiv/arxiv_abstracts_120k.jsonl.bz2",),
        "https://arxiv.org/help/bulk_data (JSON lines with label, title)",
        columns=(("text", "title"), ("label", "label")),
    ),
    "scenes": _Set(
        "4,485 grey pictures of 15 natural scenes, a collection each, read as visual words",
        ("scene15/index.csv", "scene15/scene15_small.tar.gz"),
        "the authors of the 15-Scene set: Lazebnik, Schmid and Ponce, CVPR 2006",
    ),
}

DOCSTRINGS = "docstrings"
NAMES = (*_SETS, DOCSTRINGS)
PICTURES = ("scenes",)
"""Sets that come as pictures."""

TOKEN_PATTERN = LETTERS_A_TO_Z
"""What a word is in the named sets of text, which are English: what is published about them was measured with these
words. Text of your own is read by other rules (``letters.py``); ``tokenizer=Tokenizer()`` reads a named set by them."""


def available() -> list[DataSet]:
    """Every named set, whether it is on this machine, and where it is or where to get it. Fetches nothing."""
    found = []
    for name, known in _SETS.items():
        here = _local(known) or _cached(known)
        found.append(DataSet(name, here is not None, known.description, str(here[0]) if here else known.source))
    found.append(
        DataSet(
            DOCSTRINGS, True, "docstrings of installed Python packages; groups are modules", "this Python installation"
        )
    )
    return found


def load(
    name: str,
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    max_words: int | None = None,
    tokenizer: Tokenizer | None = None,
    split: str | None = None,
    codebook: Codebook | PathLike | None = None,
) -> Corpus:
    """A named data set as a corpus; ``available()`` lists them.

    ``vocabulary`` (a public list, or a file) or ``max_words`` (the most frequent words) choose the words. Without a
    given vocabulary the origin is ``text``, also for ``kos`` and ``nips``, whose words UCI took from the documents. To
    assume that such a list is public, state it: ``corpus.restrict(Vocabulary(corpus.vocabulary, "public"))``. A
    guarantee then names the assumption.

    Words are runs of three letters a–z or more (``TOKEN_PATTERN``), unless a ``tokenizer`` says otherwise.

    ``split`` is for ``20newsgroups``: ``"train"``, ``"test"``, or None for both. Its posts come without headers, quotes
    and signatures. Senders are identified by e-mail address, of which there are 8,480; the 8,609 different ``From:``
    lines would count a person who changed the spelling of the name as two, and protect only half of what they wrote.

    ``codebook`` is for ``scenes``, whose ``max_words`` visual words (700 by default) are otherwise learnt from all of
    its pictures, test pictures too: to split them first, use ``patches`` and ``Codebook.learn``.
    """
    if name not in NAMES:
        raise DataNotFound(
            f"there is no data set {shown(name)}; there are {', '.join(NAMES)}.{close_match(str(name), list(NAMES))}"
        )
    if split is not None and name != "20newsgroups":
        raise InputError(
            f"data set {name!r} has no split; only '20newsgroups' has one. Leave split out and divide the corpus."
        )
    if name in PICTURES:
        if vocabulary is not None or tokenizer is not None:
            option = "tokenizer" if vocabulary is None else "vocabulary"
            raise InputError(f"data set {name!r} holds pictures, so it takes no {option}. Leave it out.")
        book = given_codebook(codebook, checked_max_words(max_words), None)
        found = patches(name, None if book is None else book.grid)
        return (book or Codebook.learn(found, max_words)).corpus(found)
    if codebook is not None:
        raise InputError(f"data set {name!r} holds text, so it takes no codebook. Leave it out.")
    if name == DOCSTRINGS:
        return docstrings(vocabulary=vocabulary, max_words=max_words, tokenizer=tokenizer)
    known = _SETS[name]
    if known.sha256:
        if tokenizer is not None:
            raise InputError(f"data set {name!r} holds counted words, so it takes no tokenizer. Leave it out.")
        checked_max_words(max_words)
        docword, vocab = _local(known) or _fetched(name, known)
        return keep_words(read_uci(docword, vocab, origin="text"), vocabulary, max_words)
    path = (_local(known) or _not_here(name, known))[0]
    tokenizer = tokenizer or Tokenizer(TOKEN_PATTERN)
    if name in ("20newsgroups", "enron"):
        builder = CorpusBuilder(vocabulary=vocabulary, max_words=max_words, tokenizer=tokenizer)
        return _enron(path, builder) if name == "enron" else _newsgroups(path, split, builder)
    columns: dict[str, Any] = dict(known.columns)
    return read_table(path, **columns, vocabulary=vocabulary, max_words=max_words, tokenizer=tokenizer)


def patches(name: str, grid: Grid | None = None) -> Patches:
    """The descriptors of a set of pictures: ``scenes``. Its own split is ignored: it has 100 *training* pictures of
    each scene, where the papers test on 100 or on the rest.

    18 pairs of its pictures are identical, one of them under two scenes: ``groups`` tells which.
    """
    if name not in PICTURES:
        raise InputError(f"data set {shown(name)} holds no pictures; {', '.join(PICTURES)} does.")
    index, packed = _local(_SETS[name]) or _not_here(name, _SETS[name])
    scenes = {file: scene for _, (file, scene) in rows(index, ["file", "category"])}
    with tarfile.open(packed) as archive:
        parts = ((part.name, archive.extractfile(part)) for part in archive if part.name in scenes)
        found = {file: part.read() for file, part in parts if part is not None}
    missing = next((file for file in scenes if file not in found), None)
    if missing is not None:
        raise InputError(f"{shown(packed)} lacks {missing}, which {shown(index)} lists. Get both files again.")
    return described(
        [
            Picture(file, scene, len(found[file]), partial(found.__getitem__, file))
            for file, scene in sorted(scenes.items(), key=lambda entry: entry[::-1])
        ],
        grid,
    )


def _newsgroups(path: Path, split: str | None, builder: CorpusBuilder) -> Corpus:
    if split not in (None, "train", "test"):
        raise InputError(f"split must be 'train', 'test' or None; found {shown(split)}.")
    for _, (part, label, post) in rows(path, ["split", "label", "text"]):
        if split in (None, part):
            builder.add(own_words(post), group=sender(post), label=label)
    return builder.build()


def _enron(path: Path, builder: CorpusBuilder) -> Corpus:
    for _, (user, mail) in rows(path, ["user", "text"]):
        builder.add(mail.removeprefix("Subject:"), group=user)  # the word is in every mail, the subject is not
    return builder.build()


def _local(known: _Set) -> list[Path] | None:
    """The files in the folder of data sets, if all are there."""
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        return None
    paths = [Path(folder).expanduser() / file for file in known.files]
    return paths if all(path.is_file() for path in paths) else None


def _cached(known: _Set) -> list[Path] | None:
    """The files that an earlier call fetched, if all are there."""
    paths = [_cache() / Path(file).name for file in known.files] if known.sha256 else []
    return paths if paths and all(path.is_file() for path in paths) else None


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("discreet"))


def _fetched(name: str, known: _Set) -> list[Path]:
    """The files from UCI, through the user's cache; every file is checked, also one that was already there."""
    import pooch

    paths = []
    for file, sha256 in zip(known.files, known.sha256, strict=True):
        bare = Path(file).name
        try:
            paths.append(Path(pooch.retrieve(UCI + bare, f"sha256:{sha256}", fname=bare, path=_cache())))
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            raise DataNotFound(
                f"data set {name!r} is not here, and {UCI + bare} could not be fetched: {first_line(error)}. "
                f"Go online, or point DISCREET_DATA at a folder that holds {file}."
            ) from None
    return paths


def _not_here(name: str, known: _Set) -> list[Path]:
    folder = os.environ.get("DISCREET_DATA")
    looked = f"{shown(Path(folder))} (DISCREET_DATA) lacks {known.files[0]}" if folder else "DISCREET_DATA is not set"
    raise DataNotFound(
        f"data set {name!r} is not here: {looked}. Get it from {known.source} and point DISCREET_DATA at the folder "
        f"that holds {known.files[0]}."
    )

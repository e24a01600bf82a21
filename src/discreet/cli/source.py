"""Where documents come from: a file, a folder, or a named data set; and the options that say how to read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import DataNotFound, InputError
from discreet.cli.progress import reading

if TYPE_CHECKING:
    from discreet.corpus import Codebook, Corpus, Tokenizer, Vocabulary

PREFIX = "dataset:"

COUNTED_SETS = ("kos", "nips")
"""Named sets that come as word counts: without order, and with stop words dropped after reading."""

FileArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="JSON, CSV, Parquet, .txt (a document per line), counts, a folder (texts or pictures), - or dataset:NAME.",
        show_default=False,
    ),
]
DatasetOption = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="A named data set instead of FILE; see `discreet data ls`."),
]
TextOption = Annotated[str | None, typer.Option("--text", metavar="COLUMN", help="The column that holds the text.")]
GroupOption = Annotated[str | None, typer.Option("--group", metavar="COLUMN", help="The column with user ids.")]
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection", metavar="COLUMN", help="The column with collection names, for methods with cross in their name."
    ),
]
CollectionsOption = Annotated[
    str | None,
    typer.Option(
        "--collections",
        metavar="NAMES",
        help="private-cross: all collections, such as a,b,c, if the list is public; else it is read from the text.",
    ),
]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="The column with class labels.")]
IdOption = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="A column to copy into the result, to identify documents.")
]
VocabularyOption = Annotated[
    str | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE|LANGUAGE",
        help="A public word list, one word per line, or that of a language: english, de, …; other words are dropped.",
    ),
]
MaxWordsOption = Annotated[
    int | None,
    typer.Option(
        "--max-words",
        metavar="N",
        min=1,
        help="Keep the N most frequent words (private models: of the selected words, or of a language).",
    ),
]
StopWordsOption = Annotated[
    str | None,
    typer.Option(
        "--stop-words",
        metavar="LANGUAGE|none|FILE",
        help="Words to leave out of text: english (the default), de, fr, …, none, or a file of them.",
    ),
]
TokenPatternOption = Annotated[
    str | None,
    typer.Option(
        "--token-pattern",
        metavar="REGEX",
        help="What a word is, on lower-cased text; by default three letters or more of any alphabet, no addresses.",
    ),
]
PhrasesOption = Annotated[
    str | None,
    typer.Option(
        "--phrases",
        metavar="FILE|N",
        help="Count phrases as words: those of a public list, one per line, or selected ones of up to N words (2…5).",
    ),
]
LemmasOption = Annotated[
    str | None,
    typer.Option("--lemmas", metavar="LANGUAGE", help="Count words as their lemmas: en (English), de, …"),
]
CodebookOption = Annotated[
    Path | None,
    typer.Option(
        "--codebook", metavar="FOLDER", help="Public pictures to learn visual words from, or a saved codebook (.npz)."
    ),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, max=256, help="All cores by default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result of the same kind.")]


def named_set(file: str | None, dataset: str | None) -> str | None:
    """The name of the data set asked for, or None for a file."""
    if file is not None and dataset is not None:
        raise InputError(f"both FILE ({file}) and --dataset ({dataset}) were given. Leave one of them out.")
    if file is None and dataset is None:
        raise InputError("no documents were given. Name a FILE, or a data set with --dataset (see `discreet data ls`).")
    if file is not None and file.startswith(PREFIX):
        return file.removeprefix(PREFIX)
    return dataset


def open_corpus(
    file: str | None,
    dataset: str | None,
    *,
    text: str | None = None,
    group: str | None = None,
    collection: str | None = None,
    label: str | None = None,
    id_column: str | None = None,
    vocabulary: str | Sequence[str] | None = None,
    max_words: int | None = None,
    stop_words: str | None = None,
    token_pattern: str | None = None,
    lemmas: str | None = None,
    phrases: str | None = None,
    codebook: Path | Codebook | None = None,
    tokenizer: Tokenizer | None = None,
    max_tokens: int | None = None,
    label_as: Callable[[Any], str] | None = None,
    quiet: bool = False,
) -> Corpus:
    """Read what was asked for. Only options that were given are passed on: a reader refuses what it cannot use.

    ``tokenizer`` is that of a model, for text that has not been counted yet, and ``codebook`` may be that of a model of
    pictures; ``max_tokens`` limits the tokens of a row of counts. What ``id_column`` holds becomes the labels of the
    corpus; ``label_as`` is that of ``read_table``. Unless ``quiet``, a bar shows what has been read.
    """
    from discreet.cli.startup import load_sklearn

    if file == "":
        raise InputError("the name of the file is empty. Name a file or a folder with documents.")
    load_sklearn()
    from discreet.corpus import Tokenizer, datasets, read
    from discreet.corpus.lines import inner_suffix
    from discreet.corpus.readers.tables import SUFFIXES
    from discreet.corpus.word_lists import usual_tokenizer, word_list

    stop = stop_list(stop_words)
    language = list_language(vocabulary)
    if language is not None and stop is None:
        stop = usual_tokenizer(language).stop_words or frozenset()
    columns = {"text": text, "group": group, "collection": collection, "label": label, "id": id_column}
    columns = {option: column for option, column in columns.items() if column is not None}
    options: dict[str, Any] = {"vocabulary": vocabulary, "max_words": max_words}
    options = {option: value for option, value in options.items() if value is not None}
    name = named_set(file, dataset)
    load: Callable[..., Corpus]
    if name is not None:
        if columns:
            raise InputError(f"the data set {name!r} has fixed columns. Leave --{next(iter(columns))} out.")
        load = partial(datasets.load, name)
    else:
        if not Path(str(file)).exists() and str(file) in datasets.NAMES:
            raise DataNotFound(
                f"there is no file or folder {file}. For the data set of that name, write {PREFIX}{file}."
            )
        if "id" in columns:
            columns["label"] = columns.pop("id")
            if file != "-" and inner_suffix(Path(str(file))) not in SUFFIXES:
                raise InputError(f"--id names a column, and {file} has none. Leave it out: rows are numbered in order.")
        load = partial(read, str(file), **columns)
        if label_as is not None:
            load = partial(load, label_as=label_as)
    if holds_pictures(file, dataset):
        told: dict[str, Any] = {"vocabulary": vocabulary, "stop-words": stop_words, "token-pattern": token_pattern}
        for option, value in {**told, "lemmas": lemmas, "phrases": phrases}.items():
            if value is not None:
                raise InputError(f"these documents are pictures, not text. Leave --{option} out.")
        with reading(quiet):
            return load(**options) if codebook is None else load(**options, codebook=codebook)
    if codebook is not None:
        raise InputError("these documents are no pictures, so there is no use for a codebook. Leave --codebook out.")
    if holds_counts(file, dataset):
        if max_tokens is not None and name is None:
            load = partial(load, max_tokens=max_tokens)
        for option, value in (("token-pattern", token_pattern), ("lemmas", lemmas), ("phrases", phrases)):
            if value is not None:
                raise InputError(f"these documents are already word counts. Leave --{option} out.")
        if language is not None:
            options = {"vocabulary": word_list(language, max_words, tokenizer=Tokenizer(stop_words=stop))}
        with reading(quiet):
            return load(**options) if stop is None else _counts_without(stop, load, options)
    if any(given is not None for given in (token_pattern, stop, lemmas, phrases)):
        if token_pattern is None and name is not None:
            token_pattern = datasets.TOKEN_PATTERN
        counted_as_one: Any = int(phrases) if phrases is not None and phrases.isdecimal() else phrases
        stop = "auto" if stop is None else stop
        tokenizer = Tokenizer(token_pattern, stop_words=stop, lemmas=lemmas, phrases=counted_as_one)
    if language is not None:
        options = {"vocabulary": word_list(language, max_words, tokenizer=tokenizer)}
    if phrases is not None and tokenizer is not None and vocabulary is not None:
        options["vocabulary"] = with_phrases(options["vocabulary"], tokenizer)
    with reading(quiet):
        return load(**options) if tokenizer is None else load(**options, tokenizer=tokenizer)


def named_collections(given: str | None) -> list[str] | None:
    """The names in ``--collections``, between commas."""
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(
            f"--collections must name each collection once, with a comma between two names; found {given!r}. For "
            "example: --collections east,west"
        )
    return names


def open_compared(who: str, file: str | None, dataset: str | None, *, collection: str | None, **how: Any) -> Corpus:
    """`open_corpus` for a model that compares collections, ``who`` in messages: an error if they are not known."""
    from discreet.corpus.lines import inner_suffix
    from discreet.corpus.readers.tables import SUFFIXES

    name, pictures = named_set(file, dataset), holds_pictures(file, dataset)
    if name is None and not pictures and collection is None:
        has_columns = file == "-" or inner_suffix(Path(str(file))) in SUFFIXES
        raise InputError(
            f"{who} needs --collection COLUMN, the column that names the collection of each document"
            + ("." if has_columns else f"; {file} has no columns. Give CSV or JSON lines.")
        )
    corpus = open_corpus(file, dataset, collection=collection, **how)
    if corpus.collections is None:
        raise InputError(
            f"{who} compares collections, and the pictures of {file} are in no sub-folders. Put those of each "
            "collection in a sub-folder of its own."
            if name is None
            else f"{who} compares collections, and the data set {name!r} has none. Use neurips-cvpr, or a file that "
            "has a column for --collection."
        )
    return corpus


def with_phrases(vocabulary: Any, tokenizer: Tokenizer) -> Vocabulary:
    """A public word list and the phrases of a public list, which would be lost otherwise."""
    from discreet.corpus import Vocabulary, public_vocabulary

    words = vocabulary if isinstance(vocabulary, Vocabulary) else public_vocabulary(vocabulary)
    new = [phrase for phrase in tokenizer.phrase_names if phrase not in words]
    if isinstance(tokenizer.phrases, int) and not any(tokenizer.for_vocabulary(words).phrase_names):
        raise InputError(
            "phrases are selected only where words are, and --vocabulary names them. Leave it out, or name a list of "
            "phrases with --phrases FILE."
        )
    source = f"{words.source}, and a list of phrases" if words.source and new else words.source
    return Vocabulary([*words, *new], words.origin, source=source)


def list_language(vocabulary: object) -> str | None:
    """The code of the language whose word list is meant, or None for a file or for words."""
    if not isinstance(vocabulary, str):
        return None
    from discreet.corpus.lines import close_match
    from discreet.corpus.word_lists import NAMES, language_with_list

    found = language_with_list(vocabulary)
    if found is None and not Path(vocabulary).expanduser().exists():
        known = ", ".join(NAMES)
        raise DataNotFound(
            f"there is no file or folder {vocabulary}, and no such language with a word list (there are {known})."
            f"{close_match(vocabulary, [*NAMES.values(), *NAMES])}"
        )
    return found


def stop_list(name: str | None) -> str | frozenset[str] | None:
    """The words to leave out, or the language that has them; None leaves the choice to the reader."""
    if name is None:
        return None
    if name == "none":
        return frozenset()
    from discreet.corpus import public_vocabulary
    from discreet.corpus.lines import close_match
    from discreet.corpus.stop_words import known_language, languages, names

    language = known_language(name)
    if language is not None:
        return language
    if not Path(name).expanduser().exists():
        raise DataNotFound(
            f"there is no file or folder {name}, and no such language with stop words (there are "
            f"{', '.join(languages())}).{close_match(name, names())}"
        )
    return frozenset(public_vocabulary(Path(name)))


def _counts_without(stop: str | frozenset[str], load: Callable[..., Corpus], options: dict[str, Any]) -> Corpus:
    """Counts do not pass through a tokenizer, so stop words are dropped here, before the most frequent words are
    kept."""
    from discreet.corpus import Vocabulary, stop_words_of

    stop = stop_words_of(stop) if isinstance(stop, str) else stop
    corpus = load(**{option: value for option, value in options.items() if option != "max_words"})
    kept = [word for word in corpus.vocabulary if word not in stop]
    corpus = corpus.restrict(Vocabulary(kept, corpus.vocabulary.origin))
    return corpus.most_frequent(options["max_words"]) if "max_words" in options else corpus


def holds_counts(file: str | None, dataset: str | None) -> bool:
    """Whether the documents come as word counts, which have no order."""
    name = named_set(file, dataset)
    if name is not None:
        return name in COUNTED_SETS
    from discreet.corpus.readers.matrices import MATRICES

    path = Path(str(file))
    if path.is_dir():
        return any(path.glob("docword*.txt*"))
    return path.name.startswith("docword") or any(ending in MATRICES for ending in path.suffixes[-2:])


def holds_pictures(file: str | None, dataset: str | None) -> bool:
    """Whether the documents are pictures."""
    name = named_set(file, dataset)
    if name is not None:
        from discreet.corpus import datasets

        return name in datasets.PICTURES
    from discreet.corpus.readers.images import holds_pictures

    path = Path(str(file))
    return path.is_dir() and holds_pictures(path) and not any(path.glob("docword*.txt*"))

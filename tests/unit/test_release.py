"""A Release survives the disk exactly, is written completely or not at all, and refuses folders that are not one."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet._errors import DiscreetError, InputError, ReleaseError
from discreet.corpus.codebook import Codebook, Grid
from discreet.corpus.corpus import Corpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.release import folder as release_folder
from discreet.release.folder import FILES, check_target
from discreet.release.release import Release
from discreet.release.usefulness import Usefulness

WORDS = ("alpha", "beta", "gamma", "delta")
USEFUL = Usefulness(True, 0.4, 2, 2, 4, "all is well", "")
CROSS: dict[str, Any] = {
    "collections": ("east", "west"),
    "collection_topics": np.array([[[0, 1, 0, 0], [1, 0, 0, 0]], [[0, 0, 1, 0], [0, 0.5, 0.5, 0]]], float),
    "switch": np.array([[0.5, 0.25], [0.0, 1.0]]),
}
NONE = Guarantee.none(EXACT_COUNTS)


def make(**changes: Any) -> Release:
    fields: dict[str, Any] = {
        "topics": np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.2, 0.5]]),
        "vocabulary": WORDS,
        "alpha": np.array([0.1, 0.3]),
        "beta": 0.01,
        "method": "lda",
        "parameters": {"n_topics": 2, "n_sweeps": np.int64(200), "alpha": 0.1, "random_state": None},
        "guarantee": NONE,
        "history": {"change": [0.5, 0.25]},
    }
    return Release(**{**fields, **changes})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return make().save(tmp_path / "model")


def everything_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


# --- the object ------------------------------------------------------------------------------------------------------


def test_words_and_sizes() -> None:
    release = make()
    assert release.n_topics == 2
    assert release.n_words == 4
    assert release.top_words(2) == [["alpha", "beta"], ["delta", "beta"]]
    assert [len(words) for words in release.top_words(99)] == [4, 4]
    assert repr(release) == "<Release: lda, 2 topics, 4 words, guarantee none>"
    assert release.versions["numpy"] == np.__version__
    with pytest.raises(InputError, match="at least 1"):
        release.top_words(0)


def test_it_keeps_its_own_unchangeable_arrays() -> None:
    topics = np.full((1, 4), 0.25)
    parameters = {"sweeps": [1]}
    release = make(topics=topics, alpha=[0.1], parameters=parameters)
    topics[0, 0] = 9
    parameters["sweeps"].append(2)
    assert release.topics[0, 0] == 0.25
    assert release.parameters == {"sweeps": [1]}
    assert release.topics.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        release.topics[0, 0] = 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topics": np.full((2, 4), 0.3)}, "each topic must sum to 1; topic 0 sums to 1.2"),
        ({"topics": np.array([[1.5, -0.5, 0, 0]]), "alpha": [1]}, r"must not be negative; found -0.5 at \(0, 1\)"),
        ({"topics": np.full((2, 4), np.nan)}, "topics must be finite"),
        ({"topics": np.full(4, 0.25)}, "2 dimensions"),
        ({"topics": np.empty((0, 4))}, "not be empty"),
        ({"topics": "many"}, "topics must be numbers"),
        ({"vocabulary": WORDS[:3]}, "vocabulary has 3 words but the topics 4 columns"),
        ({"vocabulary": "abcd"}, "vocabulary has 1 words"),
        ({"vocabulary": ("a", "b", "c", "a")}, "'a' more than once"),
        ({"vocabulary": ("a", "b", "c", 4)}, "must hold words; found 4"),
        ({"vocabulary": ("a", "b", "c", "\ud800")}, "cannot be written as UTF-8"),
        ({"alpha": [0.1]}, "one positive number for each of 2 topics"),
        ({"alpha": [0.1, 0.0]}, "smallest 0"),
        ({"beta": 0.0}, "beta must be a positive number"),
        ({"beta": np.inf}, "beta must be a positive number"),
        ({"beta": "0.1"}, "beta must be a positive number"),
        ({"alpha_rest": 0.0}, "alpha_rest must be a positive number"),
        ({"alpha_rest": "much"}, "alpha_rest must be a positive number"),
        ({"alpha_rest": 1.0, "topics": np.full((1, 4), 0.25), "alpha": [0.1]}, "two topics or more"),
        ({"method": ""}, "method must be a name"),
        ({"guarantee": "none"}, "must be a Guarantee"),
        ({"parameters": {"f": print}}, "parameters must hold JSON values only"),
        ({"parameters": {"f": np.nan}}, "parameters must hold JSON values only"),
        ({"parameters": None}, "parameters must be a dict"),
        ({"history": {"change": 1.0}}, "must be a list of numbers"),
        ({"history": {"change": ["x"]}}, "must be a list of numbers"),
        ({"ledger": [1]}, "entry of the ledger"),
        ({"versions": {"numpy": 2}}, "versions must be texts"),
        ({"topic_shares": [0.5]}, r"topic_shares must be of shape \(2,\)"),
        ({"topic_shares": [1.5, -0.5]}, "not negative"),
        ({"standard_errors": np.zeros((2, 3))}, r"standard_errors must be of shape \(2, 4\)"),
        ({"usefulness": "very"}, "must be a Usefulness"),
        ({"switch": CROSS["switch"]}, "go together"),
        ({**CROSS, "collections": ("east", "east")}, "label of its own"),
        ({**CROSS, "collections": ("east", 1)}, "all strings or all whole numbers"),
        ({**CROSS, "switch": 2 * CROSS["switch"]}, "must hold probabilities"),
        ({**CROSS, "switch": CROSS["switch"][:1]}, r"switch must be of shape \(2, 2\)"),
        ({**CROSS, "collection_topics": 2 * CROSS["collection_topics"]}, "must sum to 1"),
    ],
)
def test_a_release_cannot_be_built_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**changes)


def test_html_escapes_words() -> None:
    html = make(vocabulary=("<script>", "b&c", "gamma", "delta"))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "b&amp;c" in html
    assert "guarantee: none" in html


# --- transform -------------------------------------------------------------------------------------------------------


def test_transform_finds_the_topics_of_documents() -> None:
    release = make(topics=[[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], alpha=[0.1, 0.3])
    counts = np.array([[4, 4, 0, 0], [0, 0, 5, 5], [0, 0, 0, 0]])
    theta = release.transform(counts)
    np.testing.assert_allclose(theta, [[8.1 / 8.4, 0.3 / 8.4], [0.1 / 10.4, 10.3 / 10.4], [0.25, 0.75]], atol=1e-6)
    np.testing.assert_array_equal(release.transform(sp.csr_array(counts)), theta)
    np.testing.assert_array_equal(release.transform(Corpus.from_counts(counts, WORDS)), theta)
    np.testing.assert_array_equal(release.transform(counts, n_threads=1), theta)


def test_transform_reads_a_document_by_the_topics_of_its_collection() -> None:
    release, counts = make(**CROSS), np.array([[3, 2, 1, 0], [3, 2, 1, 0]])
    found = release.transform(counts, collections=["west", "east"])
    for row, c in enumerate((1, 0)):
        chance = CROSS["switch"][:, c, None]
        mixed = make(topics=(1 - chance) * release.topics + chance * CROSS["collection_topics"][c])
        np.testing.assert_array_equal(found[row], mixed.transform(counts[row : row + 1])[0])
    labelled = Corpus.from_counts(counts, WORDS, collections=["west", "east"])
    np.testing.assert_array_equal(release.transform(labelled), found)
    for wrong, message in ((None, "not known"), (["west", "north"], "has no collection 'north'")):
        with pytest.raises(InputError, match=message):
            release.transform(counts, collections=wrong)
    with pytest.raises(InputError, match="so it predicts none"):
        make().predict_proba(counts)
    with pytest.raises(InputError, match="has no collections"):
        make().transform(counts, collections=["west", "east"])
    assert release.collection_top_words(1) == {"east": [["beta"], ["alpha"]], "west": [["gamma"], ["beta"]]}
    assert make().collection_top_words() == {}


def test_a_beta_liouville_prior_is_kept_and_used(tmp_path: Path) -> None:
    """After the disk too: in fold-in, completion and prediction."""
    counts = np.array([[3, 0, 1, 1], [0, 2, 2, 0]])
    for parts in ({}, CROSS):
        labels = {"collections": ["west", "east"]} if parts else {}
        plain, same, other = (make(**parts, alpha_rest=rest) for rest in (None, 0.1, 7.0))
        path = other.save(tmp_path / f"model{len(parts)}")
        again = Release.load(path)
        assert again.alpha_rest == 7.0
        assert Release.load(same.save(path, overwrite=True)).alpha_rest == 0.1
        found = [release.transform(counts, **labels) for release in (plain, same, other, again)]
        np.testing.assert_array_equal(found[0], found[1])  # 0.1 is the sum of all alphas but the last
        np.testing.assert_array_equal(found[2], found[3])
        assert (found[2][:, 0] > found[0][:, 0] + 0.01).all()  # more weight on all topics but the last
        scores = [release.completion(counts, **labels).perplexity for release in (plain, same, other, again)]
        assert scores[0] == scores[1] != scores[2] == scores[3]
    chances = [make(**CROSS, alpha_rest=rest).predict_proba(counts) for rest in (None, 0.1, 7.0)]
    np.testing.assert_array_equal(chances[0], chances[1])
    assert np.abs(chances[0] - chances[2]).max() > 0.01


def test_transform_takes_a_corpus_with_other_words() -> None:
    release = make()
    other = Corpus.from_counts([[3, 1, 2], [0, 0, 4]], ("delta", "unknown", "alpha"))
    expected = release.transform([[2, 0, 0, 3], [4, 0, 0, 0]])
    np.testing.assert_array_equal(release.transform(other), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1)


def test_transform_of_many_documents_crosses_chunks() -> None:
    release = make()
    row = np.array([[1, 2, 0, 3]])
    np.testing.assert_array_equal(
        release.transform(np.repeat(row, 150, axis=0)), np.repeat(release.transform(row), 150, axis=0)
    )


def test_transform_refuses_a_matrix_of_another_width() -> None:
    with pytest.raises(InputError, match="3 columns"):
        make().transform(np.ones((2, 3), dtype=int))


# --- the folder ------------------------------------------------------------------------------------------------------


def test_round_trip_is_exact(saved: Path) -> None:
    release, again = make(), Release.load(saved)
    np.testing.assert_array_equal(again.topics, release.topics)
    np.testing.assert_array_equal(again.alpha, release.alpha)
    for name in ("vocabulary", "beta", "method", "parameters", "guarantee", "ledger", "history", "versions"):
        assert getattr(again, name) == getattr(release, name), name
    assert everything_in(saved) == sorted(FILES)
    assert everything_in(saved.parent) == sorted(["model", *(f"model/{name}" for name in FILES)])


@settings(max_examples=25, deadline=None)
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=8, unique=True))
def test_any_word_survives(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Line breaks of every kind, backslashes, the empty word."""
    path = tmp_path_factory.mktemp("words") / "model"
    topics = np.full((1, len(words)), 1 / len(words))
    make(topics=topics, alpha=[1.0], vocabulary=words).save(path)
    assert Release.load(path).vocabulary == tuple(words)


def test_line_breaks_are_escaped(tmp_path: Path) -> None:
    make(vocabulary=("a\nb", "c\\n", "d\r", "é")).save(tmp_path / "model")
    assert (tmp_path / "model" / "vocabulary.txt").read_bytes() == "a\\nb\nc\\\\n\nd\\r\né\n".encode()
    assert Release.load(tmp_path / "model").vocabulary == ("a\nb", "c\\n", "d\r", "é")


def test_it_can_be_shared_with_others(saved: Path) -> None:
    """A release is for giving away: its mode follows the umask like any other folder's."""
    plain = saved.parent / "plain"
    plain.mkdir()
    assert saved.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("what", ["file", "empty folder", "folder"])
def test_nothing_else_is_overwritten(tmp_path: Path, what: str, overwrite: bool) -> None:
    path = tmp_path / "model"
    if what == "file":
        path.write_text("precious")
    else:
        path.mkdir()
        if what == "folder":
            (path / "release.json").write_text('{"format": "of somebody else"}')
    before = everything_in(tmp_path)
    with pytest.raises(ReleaseError, match=r"exists already|is not a model folder"):
        make().save(path, overwrite=overwrite)
    assert everything_in(tmp_path) == before


def test_a_release_is_overwritten_only_when_asked(saved: Path) -> None:
    with pytest.raises(ReleaseError, match="exists already"):
        make(beta=0.5).save(saved)
    make(beta=0.5).save(saved, overwrite=True)
    assert Release.load(saved).beta == 0.5
    assert len(everything_in(saved.parent)) == 1 + len(FILES)


def test_a_release_with_somebodys_notes_is_not_overwritten(saved: Path) -> None:
    (saved / "notes.txt").write_text("precious")
    with pytest.raises(ReleaseError, match=r"it holds 'notes\.txt'"):
        make().save(saved, overwrite=True)
    assert (saved / "notes.txt").read_text() == "precious"


def test_a_place_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"does not exist\. Create it first"):
        check_target(tmp_path / "no" / "such" / "model")


def test_a_place_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object) -> None:  # the superuser of a container may write anywhere
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ReleaseError, match="permits no new folder"):
        make().save(tmp_path / "model")
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device"), MemoryError()])
@pytest.mark.parametrize("where", ["_write_text", "_sync", "_digest", "sync_folder", "_move_into_place"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failed_save_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, where: str, overwrite: bool
) -> None:
    path = tmp_path / "model"
    if overwrite:
        make(beta=0.5).save(path)
    before = everything_in(tmp_path)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(release_folder, where, fail)
    with pytest.raises(ReleaseError if isinstance(error, OSError) else type(error)) as caught:
        make().save(path, overwrite=overwrite)
    if isinstance(error, OSError):
        assert str(caught.value) == f"{path} cannot be written: No space left on device. Choose another place."
    monkeypatch.undo()
    assert everything_in(tmp_path) == before
    if overwrite:
        assert Release.load(path).beta == 0.5


def test_an_old_release_comes_back_when_the_new_one_cannot_take_its_place(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        make(beta=0.5).save(saved, overwrite=True)
    assert Release.load(saved).beta == 0.01
    assert len(everything_in(saved.parent)) == 1 + len(FILES)


def test_the_tokenizer_goes_along_without_its_stop_words(tmp_path: Path) -> None:
    release = make(tokenizer=Tokenizer(r"\w{2,}", lowercase=False, stop_words=frozenset({"secret"})))
    path = release.save(tmp_path / "model")
    assert Release.load(path).tokenizer == release.tokenizer == Tokenizer(r"\w{2,}", lowercase=False, stop_words=None)
    assert "secret" not in (path / "release.json").read_text()
    with pytest.raises(InputError, match="tokenizer must be a Tokenizer; found str"):
        make(tokenizer=r"\w+")


def test_a_release_from_before_tokenizers_were_kept(saved: Path) -> None:
    edit_head(saved, tokenizer=...)
    assert Release.load(saved).tokenizer is None


# --- damage ----------------------------------------------------------------------------------------------------------


def edit_head(path: Path, *, careless: bool = False, **changes: Any) -> None:
    """Another head, with its checksum, unless whoever edits is ``careless``."""
    head = json.loads((path / "release.json").read_text())
    head = {k: v for k, v in {**head, **changes}.items() if v is not ...}
    if not careless and head["sha256"]:
        head["sha256"]["release.json"] = release_folder.digest_of_head(head)
    (path / "release.json").write_text(json.dumps(head))


def rewrite(name: str, content: Callable[[Path], object]) -> Callable[[Path], None]:
    """Damage that knows about checksums: a new file, and its checksum with it."""

    def damage(path: Path) -> None:
        content(path / name)
        head = json.loads((path / "release.json").read_text())
        edit_head(path, sha256={**head["sha256"], name: release_folder._digest(path / name)})

    return damage


def array(values: Any) -> Callable[[Path], object]:
    return lambda path: np.save(path, values, allow_pickle=True)


def huge_header(path: Path) -> None:
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})


def emptied(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()


class Bomb:
    """An object whose unpickling would be noticed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


def test_optional_arrays_are_kept_and_checked(tmp_path: Path) -> None:
    book = Codebook(np.arange(4 * 128).reshape(4, 128) % 256, Grid(4, 12, 99))
    known: dict[str, Any] = {"topic_shares": [0.25, 0.75], "usefulness": USEFUL, "codebook": book, **CROSS}
    known["share_errors"] = [0.1, 0.2]
    known |= {name: np.arange(4) / 6 for name in release_folder.WORD_USE}
    full = make(standard_errors=np.full((2, 4), 0.01), **known)
    folder = full.save(tmp_path / "full")
    again = Release.load(folder)
    np.testing.assert_array_equal(again.topic_shares, [0.25, 0.75])
    np.testing.assert_array_equal(again.standard_errors, np.full((2, 4), 0.01))
    assert again.usefulness == USEFUL
    assert again.collections == ("east", "west")
    np.testing.assert_array_equal(again.collection_topics, CROSS["collection_topics"])
    np.testing.assert_array_equal(again.switch, CROSS["switch"])
    assert again.codebook == book
    for name in ("share_errors", *release_folder.WORD_USE):
        np.testing.assert_array_equal(getattr(again, name), known[name])
    assert again.present.tolist() == [True, True]
    assert [word for word, _, _ in again.unknown_words()] == ["alpha"]
    assert not again.standard_errors.flags.writeable
    assert {p.name for p in folder.iterdir()} == set(release_folder.KNOWN)
    full.save(folder, overwrite=True)
    (folder / "standard_errors.npy").unlink()
    with pytest.raises(ReleaseError, match=r"standard_errors\.npy is missing"):
        Release.load(folder)


@pytest.mark.parametrize(
    ("version", "gone"),
    [
        (1, ("usefulness", "collections", "alpha_rest", "grid")),
        (2, ("collections", "alpha_rest", "grid")),
        (3, ("alpha_rest", "grid")),
    ],
)
def test_folders_of_earlier_versions_are_read(saved: Path, version: int, gone: tuple[str, ...]) -> None:
    """Those of version 1 have no optional array and no word of usefulness, those of version 2 no collections."""
    assert {p.name for p in saved.iterdir()} == set(FILES)
    edit_head(saved, format_version=version, **dict.fromkeys(gone, ...))
    old = Release.load(saved)
    assert old.topic_shares is old.standard_errors is old.usefulness is old.share_errors is None
    assert old.word_frequencies is None
    assert old.collections is old.collection_topics is old.switch is old.alpha_rest is old.codebook is None
    assert old.top_words(1) == [["alpha"], ["delta"]]


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (shutil.rmtree, "does not exist"),
    "empty": (emptied, "not a model folder: it has no release.json"),
    "no head": (lambda p: (p / "release.json").unlink(), "not a model folder: it has no release.json"),
    "no topics": (lambda p: (p / "topics.npy").unlink(), "topics.npy is missing"),
    "no words": (lambda p: (p / "vocabulary.txt").unlink(), "vocabulary.txt is missing"),
    "head cut": (lambda p: os.truncate(p / "release.json", 40), "not valid JSON"),
    "head binary": (lambda p: (p / "release.json").write_bytes(b"\xff\xfe\x00"), "not valid JSON"),
    "head deep": (lambda p: (p / "release.json").write_text("[" * 200_000), "not valid JSON"),
    "head list": (lambda p: (p / "release.json").write_text("[]"), "written by something else"),
    "foreign": (lambda p: edit_head(p, format="pickle"), "written by something else"),
    "newer": (lambda p: edit_head(p, format_version=5), "format version 5, .* Upgrade discreet"),
    "version": (lambda p: edit_head(p, format_version="1"), "no format version"),
    "no method": (lambda p: edit_head(p, method=...), "has no 'method'"),
    "no sums": (lambda p: edit_head(p, sha256={}), "does not list the checksums"),
    "nan": (lambda p: edit_head(p, beta=float("nan")), "NaN is not a JSON number"),
    "beta": (lambda p: edit_head(p, beta=-1), "beta must be a positive number"),
    "guarantee": (lambda p: edit_head(p, guarantee={"epsilon": 0.1}), "guarantee must have exactly the fields"),
    "claims": (
        lambda p: edit_head(p, guarantee={**NONE.to_json(), "basis": "proven"}),
        "basis 'proven' needs a finite epsilon",
    ),
    "edited": (lambda p: edit_head(p, careless=True, beta=0.5), "release.json has changed since it was saved"),
    "ledger": (lambda p: edit_head(p, ledger={}), "ledger must be a list"),
    "codebook": (lambda p: edit_head(p, grid={"step": 8}), "the grid must have step, patch, max_side"),
    "codebook gone": (
        lambda p: edit_head(p, grid={"step": 8, "patch": 16, "max_side": 99}),
        "centres must be a matrix",
    ),
    "tokenizer": (
        lambda p: edit_head(p, tokenizer={"pattern": "a+"}),
        "the tokenizer must be a pattern or the name of rules, whether",
    ),
    "pattern": (lambda p: edit_head(p, tokenizer={"pattern": "[", "lowercase": True}), "not a regular expression"),
    "history": (lambda p: edit_head(p, history={"x": "y"}), "must be a list of numbers"),
    "usefulness": (lambda p: edit_head(p, usefulness={"useful": True}), "usefulness must have exactly the fields"),
    "topics cut": (lambda p: os.truncate(p / "topics.npy", 150), "topics.npy has changed"),
    "word changed": (lambda p: (p / "vocabulary.txt").write_text("a\nb\nc\nd\n"), "vocabulary.txt has changed"),
    "not npy": (rewrite("topics.npy", lambda p: p.write_bytes(b"junk" * 50)), "not a plain array"),
    "empty npy": (rewrite("topics.npy", lambda p: p.write_bytes(b"")), "not a plain array"),
    "huge npy": (rewrite("topics.npy", huge_header), "not a plain array"),
    "pickle": (rewrite("topics.npy", lambda p: p.write_bytes(pickle.dumps(Bomb()))), "not a plain array"),
    "objects": (rewrite("topics.npy", array(np.array([Bomb()]))), "not a plain array"),
    "float32": (rewrite("topics.npy", array(np.full((2, 4), 0.25, np.float32))), "must be float64; found float32"),
    "infinite": (rewrite("topics.npy", array(np.full((2, 4), np.inf))), "topics must be finite"),
    "sums": (rewrite("topics.npy", array(np.full((2, 4), 0.2))), "each topic must sum to 1"),
    "width": (rewrite("topics.npy", array(np.full((2, 5), 0.2))), "4 words but the topics 5 columns"),
    "alpha": (rewrite("alpha.npy", array(np.ones(3))), "one positive number for each of 2 topics"),
    "utf-8": (rewrite("vocabulary.txt", lambda p: p.write_bytes(b"a\nb\n\xff\nd\n")), "not UTF-8"),
    "twice": (rewrite("vocabulary.txt", lambda p: p.write_bytes(b"a\na\nc\nd\n")), "more than once"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_clear_line(saved: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(saved.parent)
    damage, message = DAMAGE[name]
    damage(saved)
    with pytest.raises(ReleaseError, match=message) as caught:
        Release.load(saved)
    assert isinstance(caught.value, DiscreetError)
    assert "\n" not in str(caught.value)
    assert str(saved) in str(caught.value)
    assert not Path("exploded").exists()


def test_a_file_is_not_a_release(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("hello")
    with pytest.raises(ReleaseError, match="is not a model folder"):
        Release.load(tmp_path / "model")

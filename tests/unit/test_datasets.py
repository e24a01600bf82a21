"""Named data sets: where they are looked for, what comes out, and the counts that are published for them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import os
import tarfile
import warnings

import numpy as np
import pytest

from discreet._errors import DataNotFound, InputError
from discreet.corpus import Codebook, Grid, Tokenizer, available, datasets, docstrings, installed, load
from discreet.corpus.readers.usenet import own_words, sender

real = pytest.mark.skipif(
    not os.environ.get("DISCREET_DATA"), reason="DISCREET_DATA does not point at a folder of data sets"
)

POST = """From: Ann Lee <Ann.Lee@Some.Where>
Subject: Re: cats
Lines: 9

In article <1993@other.host> bob@other.host (Bob) writes:
>quoted zebra
AL> quoted again
| quoted by a bar
Bob Ray wrote:

My cat says: hello there.

--
Ann Lee, signature, ann.lee@some.where
"""


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    """A machine without data sets, cache or network."""
    import pooch

    def offline(url, *_, **__):
        raise ConnectionError(f"cannot reach\n{url}")

    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    monkeypatch.setattr(pooch, "retrieve", offline)
    return tmp_path


def put(folder, file: str, rows: list[dict[str, object]]) -> None:
    pack = bz2.compress if file.endswith(".bz2") else gzip.compress
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(pack("\n".join(map(json.dumps, rows)).encode()))


# --- without data -----------------------------------------------------------------------------------------------------


def test_every_set_is_listed(nothing_here):
    sets = {found.name: found for found in available()}
    assert tuple(sets) == datasets.NAMES
    assert {"kos", "nips", "20newsgroups", "arxiv", "neurips-cvpr", "enron", "novels", "scenes"} < set(sets)
    assert [name for name, found in sets.items() if found.present] == ["docstrings"]
    assert all(found.where and found.description for found in sets.values())
    assert "stands in" in sets["enron"].description


@pytest.mark.parametrize("name", ["20newsgroups", "arxiv", "neurips-cvpr", "enron", "novels", "arxiv-titles"])
def test_a_missing_set_says_where_to_get_it(name, nothing_here, monkeypatch):
    with pytest.raises(
        DataNotFound, match=r"DISCREET_DATA is not set. Get it from http.* and point DISCREET_DATA"
    ) as caught:
        load(name)
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("DISCREET_DATA", str(nothing_here))
    with pytest.raises(DataNotFound, match=r"\(DISCREET_DATA\) lacks ") as caught:
        load(name)
    assert "\n" not in str(caught.value)


def test_no_network_is_one_clear_line(nothing_here):
    with pytest.raises(
        DataNotFound, match=r"docword.kos.txt.gz could not be fetched: cannot reach. Go online"
    ) as caught:
        load("kos")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kso", {}, "Did you mean 'kos'"),
        ("scenes", {}, "DISCREET_DATA is not set"),
        ("scenes", {"tokenizer": Tokenizer()}, "holds pictures, so it takes no tokenizer"),
        ("scenes", {"vocabulary": ["a"]}, "holds pictures, so it takes no vocabulary"),
        ("arxiv", {"codebook": "book.npz"}, "holds text, so it takes no codebook"),
        ("kos", {"split": "train"}, "has no split"),
        ("kos", {"tokenizer": Tokenizer()}, "takes no tokenizer"),
        ("kos", {"max_words": 0}, "max_words must be"),
    ],
)
def test_bad_requests(name, options, message, nothing_here):
    with pytest.raises(InputError, match=message) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)


def test_uci_sets_are_fetched_checked_and_kept(monkeypatch, tmp_path):
    """The true pooch, with a folder in place of UCI."""
    import pooch

    public = tmp_path / "public"
    public.mkdir()
    (public / "docword.kos.txt.gz").write_bytes(gzip.compress(b"1\n2\n2\n1 1 3\n1 2 1\n"))
    (public / "vocab.kos.txt").write_bytes(b"ant\nbee\n")
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(public.iterdir())]
    copies = []

    def copy(url, output_file, _pooch):
        copies.append(url)
        with open(output_file, "wb") as out:
            out.write((public / url.rpartition("/")[2]).read_bytes())

    fetch = pooch.retrieve
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    monkeypatch.setattr(pooch, "retrieve", lambda *a, **k: fetch(*a, **k, downloader=copy))
    known = datasets._SETS["kos"]
    monkeypatch.setitem(
        datasets._SETS, "kos", datasets._Set(known.description, known.files, known.source, sha256=tuple(sums))
    )
    assert load("kos").n_tokens == 4
    assert load("kos", max_words=1).vocabulary == ("ant",)
    assert len(copies) == 2
    assert copies[0].startswith("https://archive.ics.uci.edu/")
    assert available()[0].present

    (tmp_path / "cache" / "vocab.kos.txt").write_bytes(b"changed\n")
    (public / "vocab.kos.txt").write_bytes(b"cat\nbee\n")
    with pytest.raises(DataNotFound, match="does not match the known hash") as caught:
        load("kos")
    assert "\n" not in str(caught.value)


def test_fields_of_the_text_sets(nothing_here, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", str(nothing_here))
    put(nothing_here, "arxiv/arxiv_abstracts_120k.jsonl.bz2", [{"label": "cs", "title": "zebra", "text": "cat"}])
    put(nothing_here, "neurips_cvpr/abstracts.jsonl.gz", [{"collection": "CVPR", "title": "zebra", "text": "cat"}])
    put(nothing_here, "enron_ham_emails/enron_ham.jsonl.bz2", [{"user": "ann", "text": "Subject: cat\ndog"}])
    put(nothing_here, "english_novels_fragments/fragments.jsonl.bz2", [{"label": "Eliot", "text": "cat"}])
    assert [found.name for found in available() if found.present][:4] == ["arxiv", "neurips-cvpr", "enron", "novels"]
    assert load("arxiv").labels.tolist() == ["cs"]
    assert load("arxiv").vocabulary == ("cat",)
    assert load("arxiv-titles").vocabulary == ("zebra",)
    assert load("arxiv-titles").labels.tolist() == ["cs"]
    assert load("arxiv", vocabulary=["cat", "dog"]).vocabulary.origin == "public"
    assert load("neurips-cvpr").collections.tolist() == ["CVPR"]
    assert load("enron").groups.tolist() == ["ann"]
    assert load("enron").vocabulary == ("cat", "dog")
    assert load("enron", max_words=1).n_words == 1
    assert load("novels").labels.tolist() == ["Eliot"]


def test_newsgroups_have_senders_labels_and_splits(nothing_here, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", str(nothing_here))
    rows = [
        {"split": split, "label": label, "id": "1", "text": POST}
        for split, label in (("train", "pets"), ("test", "sci"))
    ]
    put(nothing_here, "20newsgroups/20news-bydate.jsonl.gz", rows)
    corpus = load("20newsgroups")
    assert corpus.vocabulary == ("cat", "hello", "says")
    assert corpus.groups.tolist() == ["ann.lee@some.where"] * 2
    assert load("20newsgroups", split="train").labels.tolist() == ["pets"]
    assert load("20newsgroups", split="test").labels.tolist() == ["sci"]
    with pytest.raises(InputError, match="split must be"):
        load("20newsgroups", split="both")


@pytest.fixture
def two_scenes(nothing_here, monkeypatch):
    """Four pictures in two scenes; one lies in both."""
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'discreet[images]'")
    monkeypatch.setenv("DISCREET_DATA", str(nothing_here))
    (nothing_here / "scene15").mkdir()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (3, 40, 40), dtype=np.uint8)
    rows = [("test/b/1.png", "b", 0), ("train/a/2.png", "a", 1), ("test/a/1.png", "a", 2), ("train/b/2.png", "b", 2)]
    with tarfile.open(nothing_here / "scene15" / "scene15_small.tar.gz", "w:gz") as archive:
        for name, _, number in rows:
            data = cv2.imencode(".png", pixels[number])[1].tobytes()
            entry = tarfile.TarInfo(f"scene15/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    lines = ["file,split,category,width,height", *(f"scene15/{name},x,{scene},40,40" for name, scene, _ in rows)]
    (nothing_here / "scene15" / "index.csv").write_text("\n".join(lines) + "\n")
    return nothing_here / "scene15"


def test_scenes_are_read_as_visual_words(two_scenes):
    corpus = load("scenes", max_words=6)
    assert corpus.labels.tolist() == [
        f"scene15/{name}.png" for name in ("test/a/1", "train/a/2", "test/b/1", "train/b/2")
    ]
    assert corpus.collections.tolist() == ["a", "a", "b", "b"]
    assert (corpus.n_words, corpus.lengths.tolist()) == (6, [4] * 4)
    assert corpus.vocabulary.origin == "text"
    found = datasets.patches("scenes")
    assert found.groups.tolist() == [0, 1, 2, 0]
    book = Codebook.learn(found[:2], 5, public=True)
    assert load("scenes", codebook=book).vocabulary.origin == "text"  # it was learnt from some of them
    other = Codebook(book.centres, book.grid, public=True)
    assert load("scenes", codebook=other).vocabulary.origin == "public"
    with pytest.raises(InputError, match="holds no pictures; scenes does"):
        datasets.patches("kos")


def test_a_picture_that_is_not_in_the_archive(two_scenes):
    index = two_scenes / "index.csv"
    index.write_text(index.read_text() + "scene15/gone.png,x,a,40,40\n")
    with pytest.raises(InputError, match=r"lacks scene15/gone\.png, which .* lists"):
        load("scenes")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("From: Ann Lee <Ann@Host.edu>", "ann@host.edu"),
        ("From: ANN@host.edu (Ann Lee)", "ann@host.edu"),
        ("from:ann@host.edu", "ann@host.edu"),
        ("From: raptor!rlove (Robert Love)", "raptor!rlove (robert love)"),
        ("Subject: nobody", ""),
    ],
)
def test_senders(line, expected):
    assert sender(f"Path: x\n{line}\n\nFrom: other@host") == expected


def test_own_words():
    assert own_words(POST) == "My cat says: hello there."
    assert own_words("From: a@b") == ""
    long = "\n".join(["From: a@b", "", "start", "-----", *["middle"] * 20])
    assert "start" in own_words(long)
    framed = "From: a@b\n\ntext\n=====\nAnn\n=====\n"
    assert own_words(framed) == "text"


# --- docstrings -------------------------------------------------------------------------------------------------------


@pytest.fixture
def source_tree(monkeypatch, tmp_path):
    """A small installation in place of the real one."""
    eight = "alpha beta gamma delta epsilon zeta eta theta"
    files = {
        "one.py": f'"""{eight}"""\ndef f():\n    """short one"""\n    def g():\n        """{eight} inner"""\n',
        "pkg/__init__.py": f'if True:\n    class A:\n        """{eight} branch"""\nX = """{eight} value"""\n',
        "pkg/bad.py": '"""' + eight,
        "pkg/odd.py": f'"""{eight} \\d odd"""\nx = 1 is 1\n',
        "pkg/tests/test_x.py": f'"""{eight} hidden"""',
        "site-packages/other.py": f'"""{eight} hidden"""',
    }
    for name, source in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.setattr(installed, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(installed.sysconfig, "get_path", lambda _: str(tmp_path))
    return tmp_path


def test_docstrings_are_found_without_importing(source_tree):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = docstrings(tokenizer=Tokenizer(stop_words=None))
    assert corpus.groups.tolist() == ["one", "one", "pkg", "pkg.odd"]
    assert set(corpus.labels) == {"python"}
    assert corpus.vocabulary.origin == "text"
    assert {"inner", "branch", "odd"} < set(corpus.vocabulary)
    assert not {"hidden", "value", "short"} & set(corpus.vocabulary)


def test_options_of_docstrings(source_tree):
    assert docstrings(max_words=3).n_words == 3
    assert docstrings(vocabulary=["alpha", "absent"]).vocabulary.origin == "public"
    assert docstrings(min_words=2).n_documents == 5
    assert load("docstrings", max_words=3).n_documents == 4


def test_no_sources_at_all(source_tree, monkeypatch):
    monkeypatch.setattr(installed.sysconfig, "get_path", lambda _: str(source_tree / "nowhere"))
    with pytest.raises(DataNotFound, match="no docstring was found"):
        docstrings()


@pytest.mark.long
def test_docstrings_of_this_machine():
    corpus = docstrings(max_words=2_000)
    assert corpus.n_documents > 10_000
    assert set(corpus.labels) == {"python", "numpy", "scipy", "sklearn"}
    assert len(set(corpus.groups)) > 800


# --- the real sets ----------------------------------------------------------------------------------------------------


@real
@pytest.mark.parametrize(("name", "sizes"), [("kos", (3_430, 6_906, 467_714)), ("nips", (1_500, 12_419, 1_932_365))])
def test_uci_counts(name, sizes):
    corpus = load(name)
    assert (corpus.n_documents, corpus.n_words, corpus.n_tokens) == sizes
    assert corpus.to_counts().nnz == {"kos": 353_160, "nips": 746_316}[name]
    assert corpus.vocabulary.origin == "text"


@real
def test_uci_bytes_are_the_public_ones():
    for name in ("kos", "nips"):
        known = datasets._SETS[name]
        for path, sha256 in zip(datasets._local(known), known.sha256, strict=True):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256


@real
def test_newsgroups_counts():
    """8,609 is the number of different From: lines; by address there are fewer people, and those are the groups."""
    corpus = load("20newsgroups", vocabulary=["god", "space", "windows"])
    assert corpus.n_documents == 18_846
    assert len(set(corpus.labels)) == 20
    assert len(set(corpus.groups)) == 8_480
    path = datasets._local(datasets._SETS["20newsgroups"])[0]
    lines = {post.split("From:", 1)[1].split("\n", 1)[0] for _, (post,) in datasets.rows(path, ["text"])}
    assert len(lines) == 8_609


@real
def test_neurips_cvpr_counts():
    corpus = load("neurips-cvpr", vocabulary=["learning"])
    assert (corpus.collections == "NeurIPS").sum() == 3_414
    assert (corpus.collections == "CVPR").sum() == 5_312


@real
def test_scenes_hold_eighteen_pairs():
    pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'discreet[images]'")
    found = datasets.patches("scenes", Grid(32, 16, 64))  # a few patches each, of small pictures
    assert len(found) == 4_485
    assert len(set(found.collections)) == 15
    sizes = np.bincount(found.groups)
    assert ((sizes == 2).sum(), sizes.max()) == (18, 2)
    scenes = [set(found.collections[found.groups == group]) for group in np.flatnonzero(sizes == 2)]
    assert sum(len(scene) > 1 for scene in scenes) == 1


@real
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "n_documents", "column", "n_values"),
    [("arxiv", 120_000, "labels", 155), ("enron", 16_545, "groups", 6), ("novels", 4_374, "labels", 25)],
)
def test_counts_of_large_sets(name, n_documents, column, n_values):
    corpus = load(name, max_words=2_000)
    assert (corpus.n_documents, corpus.n_words) == (n_documents, 2_000)
    assert len(set(getattr(corpus, column))) == n_values

"""Every reader: what it reads, and that every bad file gets one clear line."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from discreet import LDA
from discreet._errors import DataNotFound, InputError
from discreet.corpus import Tokenizer, read, read_folder, read_matrix, read_table, read_uci
from discreet.corpus import lines as _files
from discreet.corpus.collections import collection_numbers
from discreet.corpus.readers import tables

ROWS = [
    {"text": "The cat saw a bee", "who": "ann", "venue": "x", "kind": 1},
    {"text": "", "who": "bob", "venue": "y", "kind": 2},
    {"text": 'zebra, "zebra"\nbee', "who": "ann", "venue": "y", "kind": 1},
]
COLUMNS = {"group": "who", "collection": "venue", "label": "kind"}
WORDS = ("bee", "cat", "saw", "zebra")
EXPECTED = [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 2]]
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


def refused(function, *arguments, **options) -> str:
    """The message of the InputError that a call must raise: one line, a full sentence."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message[-1] in ".?)"
    assert "Error(" not in message
    return message


def delimited(delimiter: str) -> bytes:
    import io

    out = io.StringIO()
    writer = csv.DictWriter(out, ROWS[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode()


def json_lines() -> bytes:
    return "\n".join(json.dumps(row) for row in ROWS).encode()


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json", ".csv", ".tsv"])
def test_tables(tmp_path, suffix, packed):
    content = json_lines() if "js" in suffix else delimited("," if suffix == ".csv" else "\t")
    path = tmp_path / f"table{suffix}{packed}"
    path.write_bytes(PACK[packed](content))
    corpus = read_table(path, **COLUMNS)
    assert corpus.vocabulary == WORDS
    assert_array_equal(corpus.to_counts().toarray(), EXPECTED)
    assert corpus.groups.tolist() == ["ann", "bob", "ann"]
    assert corpus.collections.tolist() == ["x", "y", "y"]
    assert list(map(int, corpus.labels)) == [1, 2, 1]
    assert corpus.n_empty == 1
    assert_array_equal(read(path, **COLUMNS).words, corpus.words)


def test_parquet_in_batches(tmp_path, monkeypatch):
    import polars as pl

    monkeypatch.setattr(tables, "_BATCH", 2)
    path = tmp_path / "table.parquet"
    pl.DataFrame([*ROWS, {**ROWS[1], "text": None}]).write_parquet(path)
    corpus = read(path, text="text", label="who", group="who", collection="kind")
    assert_array_equal(corpus.to_counts().toarray(), [*EXPECTED, [0] * 4])
    assert corpus.labels.tolist() == ["ann", "bob", "ann", "bob"]
    assert corpus.collections.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("block", [4, 7, 64, 1 << 20])
@pytest.mark.parametrize("packed", PACK)
def test_a_json_array(tmp_path, monkeypatch, packed, block):
    """Wherever blocks are cut, also within a character."""
    monkeypatch.setattr(_files, "BLOCK", block)
    rows = [
        {"text": 'café "cat" [1, 2] {x}', "who": "ann"},
        {"text": None, "who": "bob"},
        {"text": "dog €", "who": "é"},
    ]
    for content in (json.dumps(rows, ensure_ascii=False), json.dumps(rows, indent=2), "\ufeff " + json.dumps(rows)):
        path = tmp_path / f"table.json{packed}"
        path.write_bytes(PACK[packed](content.encode()))
        corpus = read(path, group="who", tokenizer=Tokenizer(pattern=r"\w+|€"))
        assert corpus.vocabulary == ("1", "2", "café", "cat", "dog", "x", "€")
        assert corpus.lengths.tolist() == [5, 0, 2]
        assert corpus.groups.tolist() == ["ann", "bob", "é"]


def test_a_json_array_of_texts(tmp_path):
    path = tmp_path / "texts.json"
    path.write_text('["the cat", ["cat", "dog"], ""]')
    assert read(path).lengths.tolist() == [1, 2, 0]
    assert "item 1 is not a JSON object" in refused(read, path, group="who")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_delimiters_are_seen_in_the_header(tmp_path, suffix, delimiter):
    path = tmp_path / f"table{suffix}"
    path.write_text(f'\nid{delimiter}who{delimiter}"text"\n1{delimiter}ann{delimiter}"cat, dog; eel\tfly"\n')
    corpus = read(path, group="who")
    assert corpus.vocabulary == ("cat", "dog", "eel", "fly")
    assert corpus.groups.tolist() == ["ann"]


@pytest.mark.parametrize("packed", PACK)
def test_one_document_a_line(tmp_path, packed):
    path = tmp_path / f"lines.txt{packed}"
    path.write_bytes(PACK[packed](b"the cat\r\n\n{dog} eel\n"))
    corpus = read(path)
    assert corpus.vocabulary == ("cat", "dog", "eel")
    assert corpus.lengths.tolist() == [1, 0, 2]  # a blank line is an empty document: document n is line n
    assert read(path, max_words=1).vocabulary == ("cat",)
    assert "has no columns, so text='body' cannot be used" in refused(read, path, text="body")


STANDARD_INPUT = {
    "json lines": (b'\n {"text": "cat", "who": "ann"}\n{"text": "dog", "who": "bob"}\n', {"group": "who"}),
    "array": (b'[{"text": "cat", "who": "ann"}, {"text": "dog", "who": "bob"}]', {"group": "who"}),
    "csv": (b"text,who\ncat,ann\ndog,bob\n", {"group": "who"}),
    "semicolons": (b"text;who\ncat;ann\ndog;bob\n", {"text": "text"}),
    "lines": (b"cat\ndog\n", {}),
}


def piped(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


@pytest.mark.parametrize("form", STANDARD_INPUT)
def test_standard_input(monkeypatch, form):
    content, options = STANDARD_INPUT[form]
    piped(monkeypatch, content)
    corpus = read("-", **options)
    assert corpus.vocabulary == ("cat", "dog")
    assert corpus.lengths.tolist() == [1, 1]
    assert corpus.groups is None or corpus.groups.tolist() == ["ann", "bob"]


def test_standard_input_that_cannot_be_used(monkeypatch, tmp_path):
    for content, options, message in (
        (b"", {}, "standard input is empty"),
        (b'{"text": "cat"}\n{"txt": 1}', {}, "standard input: line 2 has no column 'text'"),
        (b"text,who\ncat,\n", {"group": "who"}, "standard input: line 2: column 'who': the user id is missing"),
        (gzip.compress(b"cat" * 99), {}, "It is gzip-compressed: send it through zcat."),
    ):
        piped(monkeypatch, content)
        assert message in refused(read, "-", **options)
    monkeypatch.setattr("sys.stdin", None)
    assert "standard input is closed" in refused(read, "-")
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("x")
    assert "is not a kind of file" in refused(read, "./-")


def test_options_of_tables(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_bytes(json_lines())
    assert read_table(path, vocabulary=["zebra", "ant"]).vocabulary.origin == "public"
    assert read_table(path, max_words=1).vocabulary == ("bee",)
    assert "the" in read_table(path, tokenizer=Tokenizer(stop_words=None)).vocabulary
    assert read_table(path, "who").vocabulary == ("ann", "bob")
    assert read_table(path).groups is None


def test_null_text_is_an_empty_document_and_null_label_an_empty_label(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"text": null, "label": "a"}\n\n{"text": "cat", "label": null}\r\n')
    corpus = read_table(path, label="label")
    assert corpus.lengths.tolist() == [0, 1]
    assert corpus.labels.tolist() == ["a", ""]


def test_blocks_are_invisible(tmp_path, monkeypatch):
    """Lines and characters of several bytes may lie across blocks; compressed files may be several in a row."""
    lines = [json.dumps({"text": "café " * (i % 7) + "cat"}, ensure_ascii=False) + "\n" for i in range(50)]
    half = "".join(lines[:20]).encode(), "".join(lines[20:]).encode()
    monkeypatch.setattr(_files, "BLOCK", 8)
    for packed, pack in PACK.items():
        path = tmp_path / f"table.jsonl{packed}"
        path.write_bytes(pack(half[0]) + pack(half[1]))
        corpus = read_table(path, tokenizer=Tokenizer(pattern=r"\w+"))
        assert corpus.vocabulary == ("café", "cat")
        assert corpus.lengths.tolist() == [i % 7 + 1 for i in range(50)]


BAD_TABLES = {
    "empty.jsonl": (b"", "is empty"),
    "blank.jsonl": (b"\n \n", "is empty"),
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"id,text\n", "no rows"),
    "column.jsonl": (
        b'{"Text": "a", "id": 1}',
        "line 1 has no column 'text'; its columns are 'Text', 'id'. Did you mean 'Text'",
    ),
    "later.jsonl": (b'{"text": "a"}\n{"txt": "b"}', "line 2 has no column 'text'; its columns are 'txt'. Did you mean"),
    "column.csv": (b"id,body\n1,cat\n", "has no column 'text'; its columns are 'id', 'body'. Name one"),
    "semicolon.csv": (b"id;body\n1;cat\n", "its columns are 'id;body'"),
    "ragged semicolons.csv": (b"id;text\n1;cat;dog\n", "the header has 2. Put quotes around text that holds ';'"),
    "twice.csv": (b"text,text\na,b\n", "more than one column 'text'"),
    "broken.jsonl": (
        b'{"text": "cat"}\n' * 16 + b'{"text": "cat}\n',
        "line 17 is not JSON: Unterminated string at character 10 of 14. Write",
    ),
    "deep.jsonl": (b"[" * 100_000, "not a JSON object"),
    "list.jsonl": (b'[{"text": "cat"}]', "line 1 is not a JSON object but a list, or the beginning of one. Write"),
    "cut.json": (b'[{"text": "cat"}, {"text": "dog"}', "ends in the middle of its array, after item 2"),
    "in an item.json": (b'[{"text": "cat"}, {"text": "do', "item 2 is not JSON: Unterminated string"),
    "comma.json": (b'[{"text": "cat"} {"text": "dog"}]', "item 2 is not JSON: no ',' or ']' follows item 1. Write"),
    "two.json": (b'[{"text": "cat"}][]', "item 2 is not JSON: text follows the end of the array. Write"),
    "deep.json": (b"[" * 100_000, "item 1 is not JSON"),
    "numbers.json": (b"[1, 2]", "item 1 is not a JSON object but a whole number. Write"),
    "no text.json": (b'[{"text": "cat"}, {"txt": "dog"}]', "item 2 has no column 'text'; its columns are 'txt'"),
    "empty array.json": (b"[ ]", "no rows"),
    "latin.json": (b'[{"text": "cat"},\n{"text": "caf\xe9"}]', "line 2, byte 14 (0xe9) is not UTF-8"),
    "number.jsonl": (b'{"text": "cat"}\n{"text": 7}', "line 2: the text is not a string but a whole number. Name"),
    "nested.jsonl": (
        b'{"text": ["cat", ["dog"]]}',
        "line 1: the tokens of a document must be strings; not all of a list of 2 items are. Name",
    ),
    "latin.jsonl": (
        b'{"text": "cat"}\n{"text": "caf\xe9"}',
        "line 2, byte 14 (0xe9) is not UTF-8. Convert the file to UTF-8",
    ),
    "latin.csv": (b"text\ncat\ncaf\xe9\n", "line 3, byte 4 (0xe9) is not UTF-8"),
    "wide.csv": ("text\ncat\n".encode("utf-16"), "zero byte, so this is not UTF-8 text. Convert UTF-16"),
    "junk.jsonl": (bytes(range(256)) * 50, "zero byte"),
    "packed.jsonl": (gzip.compress(b'{"text": "cat"}'), "It is gzip-compressed: name it .gz"),
    "open.csv": (b'text\n"cat\ndog\n', "is not valid CSV: unexpected end of data"),
    "quote.csv": (b'text\n"cat"dog\n', "line 2 is not valid CSV"),
    "ragged.csv": (b"id,text\n1,cat\n2,cat,dog\n", "line 3 ends a row of 3 fields, but the header has 2"),
    "mac.csv": (b"text\rcat\rdog", "CSV"),
    "stops.jsonl": (b'{"text": "of the and"}', "no word was found"),
    "junk.parquet": (b"PAR1 not really", "is not a whole Parquet file"),
    "table.parquet.gz": (b"x", "is not a kind of table"),
    "table.xlsx": (b"x", "is not a kind of table"),
    "false.jsonl.gz": (b'{"text": "cat"}', "cannot be unpacked"),
    "cut.jsonl.gz": (gzip.compress(json_lines() * 9)[:-20], "cannot be unpacked"),
    "false.jsonl.bz2": (b'{"text": "cat"}', "cannot be read: Invalid data stream"),
    "cut.jsonl.bz2": (bz2.compress(json_lines() * 9)[:-20], "cannot be unpacked: it ends in the middle"),
}


SECRET = "Ann-Kathrin has been ill since the third of March, and nobody at work knows of it"
QUOTING = {
    "text.jsonl": f"{SECRET}\n",
    "cut.jsonl": f'{{"text": "{SECRET}\n',
    "string.jsonl": f'"{SECRET}"\n',
    "list.jsonl": f'["{SECRET}"]\n["{SECRET}"]\n',
    "nested.jsonl": f'{{"text": ["{SECRET}", ["{SECRET}"]]}}\n',
    "object.jsonl": f'{{"text": {{"{SECRET}": "{SECRET}"}}}}\n',
    "key.jsonl": f'{{"{SECRET}": 1}}\n',
    "cut.json": f'[{{"text": "{SECRET}"}}, {{"text": "{SECRET}',
    "comma.json": f'[{{"text": "a"}} {{"text": "{SECRET}"}}]',
    "text.json": f"[{SECRET}]",
    "mixed.json": f'[{{"text": "a"}}, {{"{SECRET}": 1}}]',
    "header.csv": f'"{SECRET}"\n"{SECRET}"\n',
    "quote.csv": f'text\n"{SECRET}" {SECRET}\n',
    "ragged.csv": f"text\n{SECRET}\n",
    "docword.x.txt": f"{SECRET}\n",
    "docword.y.txt": f"1\n{SECRET}\n",
    "docword.z.txt": f"1\n1\n1\n{SECRET}\n",
    "docword.w.txt": f"1\n1\n1\n1 1 {SECRET.split()[0]}\n",
}


@pytest.mark.parametrize("name", QUOTING)
def test_no_message_quotes_a_text(tmp_path, name):
    """Messages end up in logs, where nobody expects private text."""
    path = tmp_path / name
    path.write_text(QUOTING[name])
    for suffix in "xyzw":
        (tmp_path / f"vocab.{suffix}.txt").write_text("rain\n")
    message = refused(read, path, **({} if name.startswith("docword") else {"text": "text"}))
    assert name in message
    for word in re.findall(r"\w{4,}", SECRET):
        assert word not in message


@pytest.mark.parametrize("who", ["Ann Smith", "ann@example.org", "1975-03-12", "4711-0815"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_no_message_quotes_what_lies_beside_a_text(tmp_path, form, who):
    """Names, addresses and dates are as short as names of columns, and stand in the first row of a file without
    a header."""
    path = tmp_path / f"text.{form}"
    path.write_text(f'{who},"{SECRET}"\n' if form == "csv" else json.dumps({who: 1, SECRET: 2}))
    for column in ("text", who[:-1]):  # a guess must not be corrected either
        message = refused(read, path, text=column)
        assert "its columns are 2 with text in place of names. Name one" in message
        assert who not in message


def test_a_column_of_addresses_or_dates_is_no_name(tmp_path):
    path = tmp_path / "text.csv"
    path.write_text("ann@example.org,ill\n")
    assert "its columns are 2 with text" in refused(read, path, text="text")
    path.write_text("id,2015,Name (short),a/b\n")
    assert "its columns are 2 with" not in refused(read, path, text="text")


def test_no_message_quotes_a_text_in_place_of_a_collection():
    with pytest.raises(InputError, match=r"no collection a string of \d+ characters; it was") as error:
        collection_numbers(np.array([SECRET]), ["east", "west"])
    assert "Ann" not in str(error.value)
    with pytest.raises(InputError, match="no collection 'north'; it was"):
        collection_numbers(np.array(["north"]), ["east", "west"])


def test_no_message_quotes_a_label_or_an_id(tmp_path):
    path = tmp_path / "ids.jsonl"
    for value in (f'"{SECRET * 20}"', f'["{SECRET}"]', f'{{"{SECRET}": 1}}'):
        path.write_text(f'{{"text": "rain", "who": {value}}}\n')
        for column in ("group", "label", "collection"):
            message = refused(read, path, **{column: "who"})
            assert "line 1" in message
            assert "Ann" not in message


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(tmp_path, name):
    content, expected = BAD_TABLES[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = refused(read_table, path)
    assert expected in message
    assert name in message
    assert csv.field_size_limit() == 131072  # a reader puts back what it changed


@pytest.mark.parametrize(
    ("row", "options", "expected"),
    [
        ('"who": null', {"group": "who"}, "line 2: column 'who': the user id is missing (found None)"),
        ('"who": ""', {"collection": "who"}, "line 2: the collection (column 'who') is missing"),
        ('"who": 1.5', {"group": "who"}, "line 2: column 'who': a user id (group) must be a string or a whole"),
        ('"who": [1]', {"label": "who"}, "line 2: a label must be a string or a whole number"),
        ('"who": "b"', {"group": "whom"}, "no column 'whom'; its columns are 'text', 'who'. Did you mean 'who'"),
    ],
)
def test_bad_columns_of_ids(tmp_path, row, options, expected):
    path = tmp_path / "table.jsonl"
    path.write_text(f'{{"text": "cat", "who": "a"}}\n{{"text": "dog", {row}}}\n')
    assert expected in refused(read_table, path, **options)


def test_parquet_columns(tmp_path):
    import polars as pl

    path = tmp_path / "table.parquet"
    pl.DataFrame({"txt": ["cat"], "n": [1]}).write_parquet(path)
    assert "has no column 'text'; its columns are 'txt', 'n'. Did you mean 'txt'?" in refused(read_table, path)
    assert "row 1: the text is not a string but a whole number. Name" in refused(read_table, path, "n")


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "table.jsonl"
    path.write_bytes(b'{"text": "cat"}\n{"text": "' + b"cat " * 1_000_000)
    assert "line 2 is longer than 1 MiB" in refused(read_table, path)


def test_streaming_keeps_tokens_and_not_text(tmp_path):
    """40 MB of JSON lines (6 million tokens) may not raise the peak of memory by the size of the file.

    As Python strings the tokens alone would take 300 MB; as arrays they take 24.
    """
    path, tiny = tmp_path / "large.jsonl", tmp_path / "tiny.jsonl"
    line = json.dumps({"text": " ".join(f"{a}{b}words" for a in "abcdefghij" for b in "abcdefghij") * 5, "who": "ann"})
    tiny.write_text(line)
    with path.open("w") as file:
        for _ in range(10_000):
            file.write(line + "\n")
    code = (
        "import resource, sys; from discreet.corpus import Tokenizer, read_table; plain = Tokenizer(stop_words=None)\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "read_table(sys.argv[1], group='who', tokenizer=plain); before = peak()\n"
        "corpus = read_table(sys.argv[2], group='who', tokenizer=plain); print(peak() - before, corpus.n_tokens)"
    )
    done = subprocess.run([sys.executable, "-c", code, tiny, path], capture_output=True, text=True, check=True)
    grown, n_tokens = map(int, done.stdout.split())
    assert n_tokens > 4_000_000
    assert grown < path.stat().st_size


# --- UCI --------------------------------------------------------------------------------------------------------------

BODY = b"1 1 2\n1 3 1\n3 2 5\n"


def write_uci(folder, docword: bytes = b"3\n3\n3\n" + BODY, vocab: str = "ant\nbee\ncat\n", suffix: str = ""):
    (folder / "vocab.toy.txt").write_text(vocab)
    path = folder / f"docword.toy.txt{suffix}"
    path.write_bytes(PACK[suffix](docword))
    return path


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(
    "docword",
    [
        b"3\n3\n3\n" + BODY,
        b"3\r\n3\r\n3\r\n" + BODY.replace(b"\n", b"\r\n"),
        b"3 \n3\n3\n\n1\t1  2\n1 3 1 \n 3 2 5\n\n",
        b"3\n3\n3\n3 2 5\n1 3 1\n1 1 2",
        b"3\n3\n4\n1 1 1\n1 1 1\n1 3 1\n3 2 5\n",
    ],
    ids=["plain", "windows", "loose", "out of order", "repeated"],
)
def test_uci(tmp_path, docword, suffix):
    path = write_uci(tmp_path, docword, suffix=suffix)
    corpus = read_uci(path)
    assert corpus.vocabulary == ("ant", "bee", "cat")
    assert_array_equal(corpus.to_counts().toarray(), [[2, 0, 1], [0, 0, 0], [0, 5, 0]])
    assert corpus.vocabulary.origin == "unknown"
    for found in (read(path), read(tmp_path), read(path, vocab=tmp_path / "vocab.toy.txt")):
        assert_array_equal(found.words, corpus.words)


def test_uci_in_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK", 8)
    assert read_uci(write_uci(tmp_path)).n_tokens == 8
    message = refused(read_uci, write_uci(tmp_path, b"3\n3\n3\n1 1 2\n1 3 1\n3 2 0\n"))
    assert "line 6: the count must be 1 to" in message


def test_choosing_words_of_counts(tmp_path):
    path = write_uci(tmp_path)
    public = read(path, vocabulary=["cat", "dog"])
    assert (public.vocabulary, public.n_tokens) == (("cat", "dog"), 1)
    assert public.vocabulary.origin == "unknown"  # whoever made the counts may have left words out
    frequent = read(path, max_words=1)
    assert (frequent.vocabulary, frequent.vocabulary.origin) == (("bee",), "text")
    assert "both given" in refused(read, path, max_words=1, vocabulary=["cat"])


@pytest.mark.parametrize(
    ("docword", "expected"),
    [
        (b"", "is empty"),
        (b"3\n3\n", "line 3 must be the number of entries; found ''"),
        (b"3\nx\n3\n" + BODY, "line 2 must be the number of words; found text. Is"),
        (b"1 2 3\n" + BODY, "line 1 must be the number of documents; found '1 2 3'"),
        (b"0\n3\n0\n", "line 1 says '0' documents"),
        (b"3\n3\n4\n" + BODY, "the header (line 3) counts 4 entries, but 3 follow"),
        (b"3\n3\n2\n" + BODY, "counts 2 entries, but 3 follow"),
        (b"3\n4\n3\n" + BODY, "counts 4 words, but"),
        (b"2\n3\n3\n" + BODY, "line 6: the document id must be 1 to 2; found '3'"),
        (b"3\n3\n3\n" + BODY.replace(b"1 3", b"1 4"), "line 5: the word id must be 1 to 3; found '4'"),
        (b"3\n3\n3\n" + BODY.replace(b"1 3", b"1 0"), "line 5: the word id must be 1 to 3; found '0'"),
        (b"3\n3\n3\n" + BODY.replace(b"3 1", b"3 -1"), "line 5: the count must be 1 to 2,147,483,647; found '-1'"),
        (b"3\n3\n3\n" + BODY.replace(b"3 1", b"3 0"), "line 5: the count must be"),
        (b"3\n3\n3\n" + BODY.replace(b"3 1", b"3 1" + b"0" * 30), "line 5: the count must be"),
        (b"3\n3\n3\n" + BODY.replace(b"3 1", b"3 1.5"), "line 5 must hold three whole numbers; found '1 3 1.5'"),
        (b"3\n3\n3\n" + BODY.replace(b"3 1", b"3"), "line 5 must hold three whole numbers; found '1 3'"),
        (b"3\n3\n2\n1 1\n3 1 3 2\n", "line 4 must hold three whole numbers; found '1 1'"),
        (b"3\n3\n3\n" + BODY.replace(b"1 3 1", b"\xff\x00 junk"), "line 5 must hold three whole numbers"),
    ],
)
def test_bad_uci(tmp_path, docword, expected):
    path = write_uci(tmp_path, docword)
    message = refused(read_uci, path)
    assert expected in message
    assert path.name in message


def test_bad_uci_vocabularies(tmp_path):
    assert "line 2 is blank" in refused(read_uci, write_uci(tmp_path, vocab="ant\n\ncat\n"))
    assert "'ant' more than once" in refused(read_uci, write_uci(tmp_path, vocab="ant\nant\ncat\n"))
    path = write_uci(tmp_path)
    assert "there is no file" in refused(read_uci, path, tmp_path / "none.txt")
    (tmp_path / "vocab.toy.txt").unlink()
    assert "found none beside it. Put its word list there as vocab" in refused(read_uci, path)
    (tmp_path / "vocab.txt").write_text("ant\nbee\ncat\n")
    assert read_uci(path).n_words == 3
    (tmp_path / "docword.other.txt").write_bytes(b"")
    assert "holds 2 bags of words" in refused(read, tmp_path)
    assert "is a folder" in refused(read_uci, tmp_path)


# --- folders ----------------------------------------------------------------------------------------------------------


def test_folder_of_texts(tmp_path):
    for name, text in {"b.txt": "bee", "a.txt": "\ufeffcat cat", "c.md": "dog", "d.txt": ""}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    corpus = read_folder(tmp_path)
    assert corpus.labels is None
    assert_array_equal(corpus.to_counts().toarray(), [[0, 2], [1, 0], [0, 0]])
    assert read(tmp_path, pattern="*.md").vocabulary == ("dog",)
    assert read(tmp_path, vocabulary=["cat"]).vocabulary.origin == "public"


def test_sub_folders_are_labels(tmp_path):
    for name in ("sport/x.txt", "art/deep/y.txt", "z.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("cat")
    assert read_folder(tmp_path).labels.tolist() == ["art", "sport", ""]


def test_bad_folders(tmp_path):
    assert "found nothing. Give a folder of such files" in refused(read_folder, tmp_path)
    (tmp_path / "a.md").write_text("cat")
    assert "matches '*.txt'; found a.md" in refused(read_folder, tmp_path)
    assert "not a file pattern" in refused(read_folder, tmp_path, pattern="/etc")
    assert "is a file, not a folder" in refused(read_folder, tmp_path / "a.md")
    (tmp_path / "b.txt").write_bytes(b"cat\ncaf\xe9")
    assert "b.txt: line 2, byte 4 (0xe9) is not UTF-8" in refused(read_folder, tmp_path)


# --- matrices ---------------------------------------------------------------------------------------------------------


def test_matrices(tmp_path):
    from scipy.io import mmwrite

    counts = np.array(EXPECTED)
    np.save(tmp_path / "dense.npy", counts)
    sp.save_npz(tmp_path / "sparse.npz", sp.csc_matrix(counts.astype(float)))
    mmwrite(tmp_path / "market.mtx", sp.coo_matrix(counts))
    (tmp_path / "names.txt").write_text("\n".join(WORDS))
    for name in ("dense.npy", "sparse.npz", "market.mtx"):
        for names in (WORDS, tmp_path / "names.txt"):
            corpus = read_matrix(tmp_path / name, names)
            assert corpus.vocabulary == WORDS
            assert corpus.vocabulary.origin == "unknown"
            assert_array_equal(corpus.to_counts().toarray(), EXPECTED)
        assert read(tmp_path / name).vocabulary[0] == "word0"
        assert read(tmp_path / name, vocab=WORDS, max_words=2).vocabulary == ("bee", "zebra")


def test_bad_matrices(tmp_path):
    np.save(tmp_path / "half.npy", [[0.5]])
    assert "half.npy: counts must be whole" in refused(read_matrix, tmp_path / "half.npy")
    np.save(tmp_path / "object.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    assert "holds no matrix" in refused(read_matrix, tmp_path / "object.npy")
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    assert "holds no matrix" in refused(read_matrix, tmp_path / "arrays.npz")
    for name in ("junk.npy", "junk.npz", "junk.mtx"):
        (tmp_path / name).write_bytes(b"not a matrix")
        assert "holds no matrix" in refused(read_matrix, tmp_path / name)
        (tmp_path / name).write_bytes(b"")
        assert "holds no matrix" in refused(read_matrix, tmp_path / name)
    np.save(tmp_path / "good.npy", [[1, 2]])
    assert "good.npy: the vocabulary has 1 words but the matrix 2" in refused(read_matrix, tmp_path / "good.npy", ["a"])
    assert "is not a kind of matrix" in refused(read_matrix, write_uci(tmp_path))
    assert "is a folder" in refused(read_matrix, tmp_path)


# --- read -------------------------------------------------------------------------------------------------------------


def test_paths_that_are_not_there(tmp_path):
    (tmp_path / "corpus.jsonl").write_bytes(json_lines())
    for reader in (read, read_table, read_uci, read_folder, read_matrix):
        with pytest.raises(DataNotFound, match=r"Did you mean 'corpus\.jsonl'"):
            reader(tmp_path / "corpsu.jsonl")
        assert "there is no file or folder" in refused(reader, tmp_path / "x" / "y.csv")
    assert isinstance(DataNotFound("x"), FileNotFoundError)


def test_read_points_to_named_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "use discreet.corpus.load('kos')" in refused(read, "kos")


def test_read_knows_what_it_cannot_read(tmp_path):
    for name in ("a.md", "b.pdf", "c"):
        (tmp_path / name).write_text("cat")
        assert "is not a kind of file that can be read" in refused(read, tmp_path / name)
    assert "Name it .txt if each line is a document" in refused(read, tmp_path / "a.md")


def test_read_names_options_that_a_reader_does_not_take(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_bytes(json_lines())
    message = refused(read, path, groups="who")
    assert "takes no option 'groups'; it takes text, group, collection" in message
    assert "Did you mean 'group'?" in message
    assert "takes no option 'tokenizer'; it takes vocab, origin, max_tokens, vocabulary, max_words" in refused(
        read, write_uci(tmp_path), tokenizer=str.split
    )


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "table.jsonl"
    path.write_bytes(json_lines())

    def locked(*_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(_files, "_opened", locked)
    assert "cannot be read: [Errno 13] Permission denied" in refused(read_table, path)


# --- progress --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["table.csv", "table.jsonl", "table.json", "lines.txt", "table.jsonl.gz", "lines.txt.bz2"]
)
def test_what_was_read_is_told_in_bytes_of_the_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_files, "BLOCK", 1 << 10)
    texts = [" ".join(f"w{i * j % 997:x}" for j in range(20)) for i in range(500)]
    rows = [{"text": text} for text in texts]
    forms = {".csv": ["text", *texts], ".jsonl": map(json.dumps, rows), ".json": [json.dumps(rows)], ".txt": texts}
    path = tmp_path / name
    suffix = _files.inner_suffix(path)
    path.write_bytes(PACK[path.suffix if path.suffix in PACK else ""]("\n".join(forms[suffix]).encode()))
    told = []
    with _files.watched_by(lambda done, total, what: told.append((done, total))):
        read(path, tokenizer=Tokenizer(r"\w+"))
    size = path.stat().st_size
    assert {total for _, total in told} == {size}
    assert told[-1] == (size, size)
    assert len(told) > 10
    assert [done for done, _ in told[2:]] == sorted(done for done, _ in told[2:])  # a first look starts again
    n_told = len(told)
    read(path, tokenizer=Tokenizer(r"\w+"))
    assert len(told) == n_told


def test_other_sources_tell_it_too(tmp_path, monkeypatch):
    import polars as pl

    told = []
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text("cat" * (i + 1))
    monkeypatch.setattr(tables, "_BATCH", 1)
    pl.DataFrame({"text": ["cat", "dog"]}).write_parquet(tmp_path / "table.parquet")
    size = (tmp_path / "table.parquet").stat().st_size
    piped(monkeypatch, b"cat\ndog")
    with _files.watched_by(lambda done, total, what: told.append((done, total))):
        read(tmp_path)
        read(tmp_path / "table.parquet")
        read("-")
    assert told == [(3, 18), (9, 18), (18, 18), (0, size), (size // 2, size), (7, None)]


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize(
    "table",
    [
        {"text": [SECRET]},
        {"text": [SECRET], "n": [1]},
        np.array([[SECRET, 1]], object),
        np.array([[1, 2], [{SECRET: 1}, 2]], object),
        [{"text": SECRET}],
    ],
    ids=["a text", "a text and a number", "objects", "a dict among numbers", "rows"],
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_no_message_quotes_a_text_in_place_of_counts(table, library):
    if isinstance(table, dict):
        table = pytest.importorskip(library).DataFrame(table)
    for use in (LDA(2).fit, LDA(2, n_sweeps=3).fit(np.ones((3, 2), int)).transform):
        with pytest.raises((ValueError, TypeError)) as error:
            use(table)
        assert "Ann" not in str(error.value)


def test_a_table_of_texts_is_named_as_one():
    for table in (np.array([[SECRET]], object), pytest.importorskip("polars").DataFrame({"text": [SECRET]})):
        assert "LDA takes word counts, and this table holds something else" in refused(LDA(2).fit, table)
    assert "Expected 2D array, got 1D array instead. Reshape your data" in refused(LDA(2).fit, [3, 1, 2])

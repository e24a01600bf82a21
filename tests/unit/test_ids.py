"""User ids: what names a user and what does not, the same for every way in."""

from __future__ import annotations

import unicodedata
from math import inf, nan

import numpy as np
import polars as pl
import pytest

from discreet import Corpus, PrivateLDA, PrivateVectorizer
from discreet._errors import InputError
from discreet.corpus import CorpusBuilder, Vocabulary, read_table
from discreet.corpus.ids import user_ids
from discreet.training.inputs import check_groups


class NAType:
    """Stands for pandas.NA, which refuses every comparison."""

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = object.__hash__


class NaTType(NAType):
    """Stands for pandas.NaT."""


MISSING = [None, nan, np.float32(nan), np.ma.masked, NAType(), NaTType(), np.datetime64("NaT")]
MISSING += [
    "",
    "  ",
    "\t",
    "nan",
    "NaN",
    " nan ",
    "None",
    "<NA>",
    "NaT",
    "NA",
    "N/A",
    "#N/A",
    "null",
    "NULL",
    "\\N",
    "nil",
    "#NULL!",
    "#VALUE!",
    "#REF!",
    "[null]",
    "<null>",
    "<nil>",
    "<none>",
    "(none)",
    "(blank)",
    "\u200b",
    "\ufeff",
    " \u2060 ",
    "\u200bnan",
]

BAD = {
    "float of 2^53": (float(2**53), "2^53"),
    "beyond": (-1e300, "2^53"),
    "float32 of 2^24": (np.float32(2**24), "2^24"),
    "a float as Python writes it": ("1.2345678901234568e+18", "written as a float"),
    "as a spreadsheet does": ("1,23457E+18", "written as a float"),
    "as Java does": ("1.2345678901234568E18", "written as a float"),
    "a round one": ("1e+18", "written as a float"),
    "a round one without a sign": ("1e18", "written as a float"),
    "text of 2^53": ("9007199254740992.0", "written as a float"),
    "text beyond": ("-1234567890123456800.00", "written as a float"),
    "infinite": (inf, "whole number"),
    "a fraction": (1.5, "whole number"),
    "true": (True, "bool"),
    "true in numpy": (np.True_, "bool"),
    "bytes": (b"ann", "bytes"),
    "a list": (["ann"], "list"),
    "a long text": ("word " * 500, "2,500 characters"),
}


def corpus_of(groups):
    return Corpus(np.zeros(len(groups), np.int32), np.arange(len(groups) + 1), Vocabulary(("a",), "public"), groups)


def bare(n=3):
    return Corpus(np.zeros(n, np.int32), np.arange(n + 1), Vocabulary(("a",), "public"))


VECTORIZER = PrivateVectorizer(8.0).fit(["cat"] * 300)


def add_all(groups):
    builder = CorpusBuilder()
    for one in groups:
        builder.add("cat", group=one)
    return builder.build().groups


DOORS = {
    "Corpus": corpus_of,
    "from_counts": lambda groups: Corpus.from_counts(np.ones((3, 1)), groups=groups),
    "fit": lambda groups: PrivateLDA(2).fit(bare(), groups=groups),
    "check_groups": lambda groups: check_groups(groups, bare()),
    "vectorizer": lambda groups: PrivateVectorizer().fit(["cat"] * 3, groups=groups),
    "to_corpus": lambda groups: VECTORIZER.to_corpus(["cat"] * 3, groups=groups),
    "builder": add_all,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "missing", MISSING, ids=lambda value: repr(value) if isinstance(value, str | float) else type(value).__name__
)
def test_missing_ids_are_refused_at_every_door(door, missing):
    """Before, ``np.asarray(["ann", nan])`` made the user "nan" of everybody whose id was missing."""
    message = "has no group, but others have" if door == "builder" and missing is None else "user id is missing"
    with pytest.raises(InputError, match=message) as caught:
        DOORS[door](["ann", missing, "bob"])
    assert "\n" not in str(caught.value)
    assert door == "builder" or "row 1" in str(caught.value)


def test_what_numpy_makes_of_a_missing_id_is_refused():
    for made in (np.asarray(["ann", nan, "bob"]), np.asarray([1, nan, 2]), np.array([1, None, 2], object)):
        with pytest.raises(InputError, match=r"row 1 .*missing"):
            corpus_of(made)
        with pytest.raises(InputError, match=r"row 1 .*missing"):
            PrivateLDA(2).fit(bare(), groups=made)


def test_other_columns_with_missing_ids():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    for column in (masked, pl.Series(["ann", None, "bob"]), pl.Series([1.0, nan, 2.0]), pl.Series([1, None, 2])):
        with pytest.raises(InputError, match=r"row 1 .*missing"):
            check_groups(column, bare())


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_ids_that_may_merge_two_users_are_refused(door, name):
    value, message = BAD[name]
    with pytest.raises(InputError) as caught:
        DOORS[door](["ann", value, "bob"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "word word" not in str(caught.value)


def test_floats_of_a_column_have_the_precision_of_the_column():
    """A pandas or polars column gives Python floats, but two ids may have become one when it was made."""

    class Column(list):
        dtype = "Float32"

    either = [np.array([1, 2, 2**24 + 1], order) for order in ("<f4", ">f4")]
    for column in (*either, pl.Series([1, 2, 2**24], dtype=pl.Float32)):
        with pytest.raises(InputError, match=r"row 2 .*2\^24"):
            check_groups(column, bare())
    with pytest.raises(InputError, match=r"row 2 .*2\^24"):
        check_groups(Column([1.0, 2.0, 2.0**24]), bare())
    assert check_groups(np.array([1, 2, 2**24 + 1], np.float64), bare()).tolist() == [0, 1, 2]
    assert check_groups([1.0, 2.0, 2.0**53 - 1], bare()).tolist() == [0, 1, 2]


def test_a_float32_column_of_parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pl.DataFrame({"text": ["cat", "dog"], "who": pl.Series([1, 2**24], dtype=pl.Float32)}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 2: .*2\^24"):
        read_table(path, group="who")


SAME = [
    (["ann", " ann", "ann\t"], 1),
    (["ann", "ann\u200b", "\ufeff ann"], 1),
    (["e\u2060\u0301", "é"], 1),
    (["9007199254740991.0", "9007199254740990.0"], 2),
    (["1234567890123456789", "1234567890123456800"], 2),
    (["12345e67", "1234567e"], 2),
    (["é", unicodedata.normalize("NFD", "é")], 1),
    ([1, 1.0, np.int64(1), np.float32(1)], 1),
    (["Ann", "ann"], 2),
    ([2**53, 2**53 + 1], 2),
    ([2**70, 2**70 + 1], 2),
    (["0.1", "0.10"], 2),
    ([-1, 1], 2),
    (["ann", 7], 2),
]


@pytest.mark.parametrize(("given", "n_users"), SAME, ids=str)
def test_one_person_is_one_user_and_two_are_two(given, n_users):
    for ids in (corpus_of(given).groups, add_all(given), user_ids(given)):
        assert len(set(ids.tolist())) == n_users
    assert len(set(check_groups(given, bare(len(given))).tolist())) == n_users


@pytest.mark.parametrize("given", [[1, "1"], ["1", 1.0], ["7", "7.0"], [2, " 2.0"]], ids=str)
@pytest.mark.parametrize("door", [corpus_of, add_all, user_ids])
def test_one_number_in_two_spellings_is_refused(door, given):
    with pytest.raises(InputError, match="one user or two"):
        door(given)


def test_ids_keep_their_type():
    assert corpus_of(["ann", 7, "ann"]).groups.tolist() == ["ann", 7, "ann"]
    whole = corpus_of(np.array([3, 1, 3], np.uint8)).groups
    assert (whole.tolist(), whole.dtype.kind) == ([3, 1, 3], "u")
    assert corpus_of([3, 2**63, 3]).groups.tolist() == [3, 2**63, 3]
    assert corpus_of(corpus_of(["ann", 7]).groups)[[1]].groups.tolist() == [7]
    with pytest.raises(ValueError, match="read-only"):
        corpus_of(["ann"]).groups[0] = "bob"


@pytest.mark.parametrize(
    "given",
    ["abc", {"a": 1, "b": 2, "c": 3}, {"a", "b", "c"}, 5, np.ones((3, 1)), [1, 2]],
    ids=["text", "dict", "set", "number", "matrix", "too short"],
)
def test_what_is_no_column_of_ids(given):
    with pytest.raises(InputError, match="exactly one user id for each document"):
        check_groups(given, bare())


@pytest.mark.parametrize(("suffix", "line"), [(".csv", 3), (".jsonl", 2)])
@pytest.mark.parametrize("spelled", ["", "nan", "NULL", " "])
def test_readers_name_the_line(tmp_path, suffix, line, spelled):
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        path.write_text(f'text,who\ncat,ann\ndog,"{spelled}"\n')
    else:
        path.write_text(f'{{"text": "cat", "who": "ann"}}\n{{"text": "dog", "who": "{spelled}"}}\n')
    with pytest.raises(InputError, match=rf"line {line}: .*'who'.*user id is missing"):
        read_table(path, group="who")

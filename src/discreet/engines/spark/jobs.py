"""Jobs: a map over the rows of a table, and one sum. Errors of Spark become one line; Ctrl-C leaves no job behind."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from discreet._errors import InputError
from discreet._types import IntArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]

CANCELS, PAUSE = 20, 0.1
"""How often a job that is interrupted is cancelled, and seconds between."""

_OURS = re.compile(r"discreet\._errors\.(?:InputError|DataNotFound|SelfTestFailed): ([^\n]*)")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_ANY = re.compile(r"(?:^|\n)(?:Caused by: )?[\w.$]*(?:Exception|Error): ([^\n]+)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9]*(?:[_.][A-Z0-9]+)+)\]")
_QUOTES = re.compile(r"SQLSTATE: (?:2|3[89]|P0)|MALFORMED_|Traceback \(most recent call last\)")
"""Errors of the data and of its constraints (SQLSTATE 2x), of functions that users wrote (38, 39), of ``raise_error``
(P0) and of Python in a task: their messages repeat values."""
_KIND = re.compile(r"(\w+(?:Exception|Error)): ")
_OF_A_CLUSTER = re.compile(
    r"(?:Spark|SparkConnectGrpc|Analysis|Py4J\w+|IO|EOF|Remote|Permission|AccessDenied|AccessControl|ClosedChannel"
    r"|(?:NoSuch)?File(?:NotFound|AlreadyExists|System)?|(?:Parent)?NotDirectory|DirectoryNotEmpty|UnsupportedFileSystem"
    r"|Connect|Connection|Socket|\w*Timeout|UnknownHost|NoRouteToHost|(?:Metadata)?FetchFailed"
    r"|(?:Spark)?OutOfMemory|StackOverflow|ClassNotFound|NoClassDefFound)(?:Exception|Error)"
)
"""Kinds of errors that speak of machines, files and Spark itself. Of any other kind only the name is told: whoever
wrote the table's source or its functions has put into the message what they liked, values of the table for instance."""


@contextmanager
def job(spark: SparkSession, doing: str, advice: str = "") -> Iterator[None]:
    """Run actions inside the block. Whatever interrupts it, Ctrl-C for one, cancels its jobs, and no others."""
    tag = f"discreet-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise _told(str(error), doing, advice) from None
    except BaseException:
        for _ in range(CANCELS):  # a call that was interrupted may still be on its way to Spark: its job begins later
            with suppress(Exception):
                spark.interruptTag(tag)
            time.sleep(PAUSE)
        raise
    finally:
        with suppress(Exception):  # a cluster that is gone has no tags
            spark.removeTag(tag)


def _told(text: str, doing: str, advice: str) -> InputError:
    """What Spark says, in one line, without what it quotes of the table."""
    if ours := _OURS.search(text):
        return InputError(ours[1])
    if missing := _MISSING.search(text):
        return InputError(
            f"the executors cannot import {missing[1]}. Install the same discreet[spark] on every worker, or send a "
            "packed environment with spark.archives; PYSPARK_PYTHON names the Python that workers start."
        )
    causes = _ANY.findall(text) or [text.strip().partition("\n")[0]]
    cause, kinds = causes[-1], _KIND.findall(text)
    of_data = _QUOTES.search(text)
    if of_data or not all(map(_OF_A_CLUSTER.fullmatch, kinds)):
        found = _CONDITION.search(text)
        name = found[1] if found else kinds[-1] if kinds else "an error"
        cause = f"{name} (the log of Spark has its message, which may repeat values of the table)"
        advice = "" if of_data else advice
    return InputError(" ".join([f"Spark could not {doing}: {cause.strip()[:300]}.", advice]).strip())


class Everywhere(NamedTuple):
    """What a task checks before it reads a document."""

    code: str
    """Of the driver: its kernels decide what a draw is."""
    check: Callable[[], object] | None = None
    """Of the model: its self-test of compiled code."""

    def __call__(self) -> None:
        if self.code != code():
            raise InputError(
                "an executor has another version of discreet than the driver. Install the same one on every worker."
            )
        if self.check is not None:
            self.check()


@cache
def code() -> str:
    """A digest of the code that computes rounds."""
    digest, home = sha256(), files("discreet")
    folders = [home / "kernels", home / "engines"]
    for folder in folders:
        for path in sorted(folder.iterdir(), key=lambda path: path.name):
            if path.is_dir() and not path.name.startswith("__"):
                folders.append(path)
            elif path.name.endswith(".py"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def summed(
    spark: SparkSession, table: DataFrame, task: Callable[[Batches], IntArray], n_shards: int, doing: str
) -> IntArray:
    """The sum of what ``task`` makes of each partition: whole numbers, of the same shape for all of them."""
    with job(spark, doing):
        # [once] the results of an action: Spark takes one of each partition, however often a task ran
        parts = table.mapInArrow(_OneRow(task), "shards long, shape array<long>, cells binary").collect()
    if sum(part["shards"] for part in parts) != n_shards:  # [complete]
        raise InputError(f"Spark could not {doing}: it lost shards, or read some twice. Was their folder changed?")
    if not parts:  # a table without a row has no partition
        return task(iter(()))
    total = np.zeros(parts[0]["shape"], np.int64)
    for part in parts:
        total += np.frombuffer(part["cells"], "<i8").reshape(part["shape"])
    return total


class _OneRow(NamedTuple):
    """A partition gives one row of a fixed size."""

    task: Callable[[Batches], IntArray]

    def __call__(self, batches: Batches) -> Batches:
        shards = 0

        def counted() -> Batches:
            nonlocal shards
            for batch in batches:
                shards += batch.num_rows
                yield batch

        cells = self.task(counted())
        row: dict[str, Any] = {"shards": [shards], "shape": [cells.shape], "cells": [cells.astype("<i8").tobytes()]}
        types = pa.schema([("shards", pa.int64()), ("shape", pa.list_(pa.int64())), ("cells", pa.binary())])
        yield pa.RecordBatch.from_pydict(row, schema=types)  # [one-row] no count of rows depends on who takes part

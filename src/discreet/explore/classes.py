"""Documents by group, label or collection: who is in which class, the largest class first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet._types import AnyArray, Int32Array, IntArray
from discreet.corpus.corpus import Corpus


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one column. Pages name a class by its number: a label may be private, and addresses are kept by
    browsers."""

    kind: str
    """What the column is: label, group or collection."""
    names: list[str]
    sizes: IntArray
    codes: Int32Array
    """The class of each document."""

    @classmethod
    def of(cls, kind: str, values: AnyArray) -> Classes:
        numbers: dict[object, int] = {}
        first_seen = np.array([numbers.setdefault(one, len(numbers)) for one in values.tolist()], np.int32)
        sizes = np.bincount(first_seen, minlength=len(numbers))
        order = np.argsort(-sizes, kind="stable")
        new = np.empty(len(order), np.int32)
        new[order] = np.arange(len(order))
        found = list(map(str, numbers))
        return cls(kind, [found[i] for i in order], sizes[order], new[first_seen])

    def __len__(self) -> int:
        return len(self.names)

    def members(self, number: int) -> IntArray:
        """The documents of a class, in order."""
        return np.flatnonzero(self.codes == number)


def classes_of(corpus: Corpus) -> dict[str, Classes]:
    """Every column that the documents have."""
    columns = {"label": corpus.labels, "group": corpus.groups, "collection": corpus.collections}
    return {kind: Classes.of(kind, values) for kind, values in columns.items() if values is not None}

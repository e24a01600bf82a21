"""Sums in 32 bits are emptied before they overflow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet.engines.threads import sums
from discreet.engines.threads.sums import Sums


def added(clip, n_units):
    """So many units that all hold ±clip in every cell, the most that a check lets through, and more than one call."""
    found = Sums(4, clip)
    each = np.array([clip, -clip, 1, 0], np.int64)

    def work(first, last, cells):
        cells += (each * (last - first)).astype(np.uint32)

    found.add(work, 0, n_units // 3)
    found.add(work, n_units // 3, n_units)
    return found.total, each * n_units


@pytest.mark.parametrize("clip", [1, 5000, 2**20 + 1, 2**26])
def test_no_sum_overflows(clip):
    found, wanted = added(clip, 2**33 // clip)
    assert_array_equal(found, wanted)


def test_a_sum_that_is_emptied_too_late_is_caught(monkeypatch):
    monkeypatch.setattr(sums, "LIMIT", 2**33)
    found, wanted = added(5000, 2**33 // 5000)
    assert (found != wanted).any()

"""The observer of releases sees what is released, and nothing else."""

from __future__ import annotations

import numpy as np

from discreet import PrivateLDA, PrivateVectorizer
from discreet.attacks.audit.canaries import Canaries
from discreet.mechanisms.release import Released, observed

CORPUS = Canaries(3).corpus(np.ones(3, bool))


def fit() -> PrivateLDA:
    options = {"epsilon": 2.0, "n_rounds": 2, "sampling_rate": 1.0, "clip": 2.0, "n_threads": 1, "random_state": 1}
    return PrivateLDA(1, **options).fit(CORPUS)


def test_it_sees_every_release_once_and_changes_nothing(recwarn):
    seen: list[Released] = []
    unseen = fit()
    with observed(seen.append):
        watched = fit()
    fit()
    assert np.array_equal(unseen.components_, watched.components_)
    charged = [entry.event for entry in watched.ledger_.entries for _ in range(entry.count)]
    assert [event for event, _ in seen] == charged
    assert [cells.size for _, cells in seen] == [event.cells for event in charged]


def test_it_gets_a_copy(recwarn):
    def spoil(released: Released) -> None:
        released.cells[:] = 0

    with observed(spoil):
        spoilt = fit()
    assert np.array_equal(spoilt.components_, fit().components_)


def test_two_observers_see_the_same_and_an_error_removes_them(recwarn):
    one: list[Released] = []
    two: list[Released] = []
    try:
        with observed(one.append), observed(two.append):
            fit()
            raise RuntimeError
    except RuntimeError:
        pass
    fit()
    assert len(one) == len(two) == 4


def test_weights_of_words_that_were_not_selected_stay_private():
    seen: list[Released] = []
    with observed(seen.append):
        PrivateVectorizer(4.0, 1e-3, random_state=1).fit(["apple pear"] * 200)
    assert seen == []

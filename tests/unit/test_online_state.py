"""`OnlineLocalLDA` hands out its state and goes on from it: as if it had never been interrupted."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from discreet._errors import InputError
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.local.online_local import OnlineLocalLDA
from discreet.models.local.reports import Reports
from discreet.privacy import Basis

K, V = 3, 60
FEW: dict[str, Any] = {"n_sweeps": 6, "n_average": 2, "n_threads": 1}
RESPONSE = RandomisedResponse.for_epsilon(2.0, V, 10)


def planted(n: int = 90, seed: int = 5) -> Corpus:
    corpus = lda_corpus(n, V, K, seed=seed, mean_length=12).corpus
    return Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"))


def stored(state: dict[str, Any]) -> dict[str, Any]:
    """Through a file, without pickle."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("prior", [False, True])
def test_a_restored_model_goes_on_as_if_it_had_not_stopped(published: bool, prior: bool) -> None:
    corpus = planted()
    options: dict[str, Any] = {"random_state": 1, "as_published": published, "correlation": "learn", **FEW}
    batches = [Reports.of_documents(corpus[i : i + 30], RESPONSE, 3) for i in (0, 30, 60)]
    whole, first = OnlineLocalLDA(K, **options), OnlineLocalLDA(K, **options)
    for model in (whole, first):
        if prior:
            model.fit_prior(planted(40, seed=6))
        model.partial_fit(batches[0]).partial_fit(batches[1])
    second = OnlineLocalLDA(K, **options).restore(stored(first.state()), corpus.vocabulary)
    with pytest.raises(NotFittedError):
        second.release()
    for model in (whole, second):
        model.partial_fit(batches[2])
    np.testing.assert_array_equal(second.components_, whole.components_)
    assert second.guarantee_ == whole.guarantee_
    assert second.report_guarantee_ == whole.report_guarantee_
    left, right = second.state(), whole.state()
    assert left.keys() == right.keys()
    for name, value in left.items():
        np.testing.assert_array_equal(value, right[name], err_msg=name)


def test_a_restored_model_remembers_what_its_promise_rests_on() -> None:
    """Seeded reports promise nothing, also those of the process before."""
    corpus = planted()
    model = OnlineLocalLDA(K, **FEW).partial_fit(Reports.of_documents(corpus, RESPONSE, 3))
    assert model.guarantee_.basis == Basis.NONE
    again = OnlineLocalLDA(K, **FEW).restore(model.state(), corpus.vocabulary)
    again.partial_fit(Reports.of_documents(corpus, RESPONSE))
    assert again.guarantee_.basis == Basis.NONE
    other = Reports.of_documents(corpus, RandomisedResponse.for_epsilon(1.0, V))
    with pytest.raises(InputError, match="in another way"):
        again.partial_fit(other)
    packed = Reports.of_documents(corpus, RESPONSE).packed
    with pytest.raises(InputError, match="other words"):
        again.partial_fit(Reports(RESPONSE, packed, Vocabulary([f"w{i}" for i in range(V)], "public")))


def test_a_state_of_something_else_is_refused_and_changes_nothing() -> None:
    corpus = planted()
    model = OnlineLocalLDA(K, **FEW)
    with pytest.raises(InputError, match="before the first batch"):
        model.state()
    state = model.partial_fit(Reports.of_documents(corpus, RESPONSE)).state()
    topics = model.components_
    wrong: tuple[tuple[dict[str, Any], Any, str], ...] = (
        ({}, corpus.vocabulary, "topic_counts_"),
        (state, [f"w{i}" for i in range(V - 1)], "about 60 words"),
        ({**state, "topic_counts_": np.ones((V, K + 1))}, corpus.vocabulary, "another model"),
        ({**state, "estimates_": np.full(V, np.nan)}, corpus.vocabulary, "another model"),
        ({**state, "response": np.array([0, V, 0])}, corpus.vocabulary, "flip threshold"),
    )
    for tables, words, message in wrong:
        with pytest.raises(InputError, match=message):
            model.restore(tables, words)
    assert model.components_ is topics
    with pytest.raises(InputError, match="another model"):
        OnlineLocalLDA(K + 1, **FEW).restore(state, corpus.vocabulary)

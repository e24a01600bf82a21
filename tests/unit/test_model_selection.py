"""Model selection with private estimators: a fit knows that it was not the only one, or is refused."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline

from discreet import (
    Budget,
    BudgetFile,
    HybridLDA,
    Ledger,
    PrivateLDA,
    PrivateVectorizer,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
)
from discreet._errors import InputError
from discreet.corpus import lda_corpus
from discreet.corpus.builder import CorpusBuilder
from discreet.models.fit_text import fit_text
from tests.support.spending import hopeless

pytestmark = [hopeless, *map(pytest.mark.filterwarnings, ("ignore:delta=", "ignore:. of . topics stand clear"))]

ALONE = "only this one of {} private fits"
COUNTS = np.random.default_rng(5).poisson(1.0, (60, 12)) + np.eye(60, 12, dtype=int)


def private(**parameters: Any) -> PrivateLDA:
    return PrivateLDA(n_topics=2, epsilon=4, delta=1e-3, n_rounds=3, n_threads=1, **parameters)


def search(model: Any, **options: Any) -> GridSearchCV:
    """Two candidates on two folds and the best of them once more: five fits."""
    return GridSearchCV(model, {"n_topics": [2, 3]}, cv=2, **options)


def everything_said(model: Any) -> list[str]:
    guarantee = model.guarantee_
    return [guarantee.summary(), str(guarantee), repr(guarantee), json.dumps(guarantee.to_json(), ensure_ascii=False)]


# --- one process ------------------------------------------------------------------------------------------------------


def test_the_best_of_a_search_says_that_it_is_one_of_five(tmp_path: Path) -> None:
    best = search(private()).fit(COUNTS).best_estimator_
    assert best.guarantee_.epsilon < 4
    assert all(ALONE.format(5) in said for said in everything_said(best))
    best.release().save(tmp_path / "m")
    assert ALONE.format(5) in (tmp_path / "m" / "release.json").read_text("utf-8")


@pytest.mark.parametrize("shared", [True, False], ids=["shared ledger", "own ledgers"])
def test_the_best_of_a_search_says_that_scores_chose_it(shared: bool) -> None:
    """Scores on held-out documents are exact, so choosing by them costs what no ledger counts."""
    ledger = Ledger(Budget(100, 0.1), unit="document") if shared else None
    best = search(private(ledger=ledger)).fit(COUNTS).best_estimator_
    said = "chosen without looking at private documents (it was fitted by GridSearchCV)"
    told = everything_said(best)  # one line names the first condition: without a shared ledger, the number of fits
    assert all(said in text for text in (told if shared else (told[1], told[3])))
    assert sum(said in reason for reason in best.guarantee_.reasons) == 1
    assert said not in str(private(ledger=ledger).fit(COUNTS).guarantee_)
    models = cross_validate(private(ledger=ledger), COUNTS, cv=2, return_estimator=True)["estimator"]
    assert all(said not in str(model.guarantee_) for model in models)  # nothing was chosen yet


def test_every_model_of_a_cross_validation_knows_of_all() -> None:
    """The first too: it may be the one that is chosen."""
    models = cross_validate(private(), COUNTS, cv=3, return_estimator=True)["estimator"]
    assert [ALONE.format(3) in model.guarantee_.summary() for model in models] == [True] * 3
    cross_val_score(private(), COUNTS, cv=2)
    assert ALONE.format(5) in models[0].guarantee_.summary()
    assert sum("private fits" in reason for reason in models[0].guarantee_.reasons) == 1


def test_a_single_fit_says_nothing_of_others() -> None:
    assert "private fits" not in str(private().fit(COUNTS).guarantee_)


def test_a_copy_by_pickle_knows_of_later_fits_too() -> None:
    model = private().fit(COUNTS)
    copy = pickle.loads(pickle.dumps(model))
    private().fit(COUNTS)
    assert ALONE.format(2) in model.guarantee_.summary()
    assert ALONE.format(2) in copy.guarantee_.summary()


@pytest.mark.filterwarnings("ignore:the tensor decomposition did not settle")  # noise, on sixty documents
def test_another_kind_of_model_counts_too() -> None:
    """Unrelated documents are possible: then what the condition asks for is true."""
    corpus = lda_corpus(n_documents=60, n_words=12, n_topics=2).corpus  # over words that are public
    models = [
        private().fit(corpus),
        SubsampledLDA(n_topics=2, epsilon=4, delta=1e-3, n_rounds=3).fit(corpus),
        VariationalLDA(n_topics=2, epsilon=4, delta=1e-3, n_rounds=3).fit(corpus),
        SpectralLDA(n_topics=2, epsilon=4, delta=1e-3).fit(corpus),
        SpectralLDA(n_topics=2, epsilon=4, delta=1e-3, configuration=1).fit(corpus),
        HybridLDA(n_topics=2, epsilon=40, delta=1e-3, n_sweeps=3).fit(corpus),
    ]
    assert all(ALONE.format(6) in model.guarantee_.summary() for model in models)


def test_fits_that_share_a_ledger_are_added_up_there() -> None:
    ledger = Ledger(Budget(30, 1e-3))
    best = search(private(ledger=ledger)).fit(COUNTS).best_estimator_
    assert "private fits" not in str(best.guarantee_)
    assert sum(entry.label == "word frequencies" for entry in ledger.entries) == 5
    private().fit(COUNTS)
    assert "private fits" not in str(best.guarantee_)


def test_seeded_fits_promise_nothing_and_do_not_count() -> None:
    for _ in range(2):
        assert private(random_state=1).fit(COUNTS).guarantee_.basis == "none"
    assert "private fits" not in str(private().fit(COUNTS).guarantee_)


def test_a_fit_that_was_refused_does_not_count() -> None:
    with pytest.raises(InputError):
        private().fit(COUNTS, groups=["a"])
    assert "private fits" not in str(private().fit(COUNTS).guarantee_)


def test_words_that_the_model_paid_for_are_part_of_its_fit() -> None:
    texts = ["rain wind storm", "piano violin concert"] * 100
    words = PrivateVectorizer(epsilon=2, delta=1e-4, output="corpus")
    pipeline = Pipeline([("words", words), ("topics", private())])
    fitted = [clone(pipeline).fit(texts)]
    assert "private fits" not in str(fitted[0][-1].guarantee_)
    fitted.append(clone(pipeline).fit(texts))
    assert all(ALONE.format(2) in one[-1].guarantee_.summary() for one in fitted)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_text_to_topics_is_one_fit(tmp_path: Path, checkpoint: bool) -> None:
    builder = CorpusBuilder()
    for i in range(400):
        builder.add("piano violin concert" if i % 2 else "rain wind storm")
    model = private(checkpoint=tmp_path / "kept" if checkpoint else None)
    model = fit_text(model, builder.build(), share=0.3)
    assert "private fits" not in str(model.guarantee_)


def test_what_was_known_travels_with_a_pickle() -> None:
    models = [private().fit(COUNTS) for _ in range(2)]
    again = pickle.loads(pickle.dumps(models[0]))
    assert again.guarantee_ == models[0].guarantee_
    assert ALONE.format(2) in again.guarantee_.summary()


# --- many processes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workers() -> Iterator[None]:
    yield
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@pytest.mark.usefixtures("workers")
def test_workers_share_a_budget_file(tmp_path: Path) -> None:
    file = BudgetFile.create(tmp_path / "b", 30.0, 1e-3)
    best = search(private(ledger=Ledger(file=file)), n_jobs=2, error_score="raise").fit(COUNTS).best_estimator_
    assert len(file.charges()) == 5
    assert best.guarantee_.basis == "proven"


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("ledger", [None, Ledger(Budget(30, 1e-3))], ids=["no ledger", "in memory"])
def test_workers_without_a_budget_file_are_refused(ledger: Ledger | None) -> None:
    for error_score in ("raise", np.nan):
        with pytest.raises(ValueError, match=r"Ledger\(file=BudgetFile\(\.\.\.\)\)"):
            search(private(ledger=ledger), n_jobs=2, error_score=error_score).fit(COUNTS)
    with pytest.raises(InputError, match=r"Ledger\(file=BudgetFile\(\.\.\.\)\)"):
        cross_val_score(private(ledger=ledger), COUNTS, cv=2, n_jobs=2, error_score="raise")
    assert ledger is None or ledger.entries == ()


def test_forked_joblib_workers_are_refused_too() -> None:
    with joblib.parallel_backend("multiprocessing"), pytest.raises(InputError, match="BudgetFile"):
        cross_val_score(private(), COUNTS, cv=2, n_jobs=2, error_score="raise")


def test_threads_know_of_each_other() -> None:
    with joblib.parallel_backend("threading"):
        models = cross_validate(private(), COUNTS, cv=3, n_jobs=3, return_estimator=True)["estimator"]
    assert all(ALONE.format(3) in model.guarantee_.summary() for model in models)


def fit_one(counts: Any) -> str:
    with warnings.catch_warnings(action="ignore"):
        return str(private().fit(counts).guarantee_)


def search_alone(counts: Any) -> str:
    with warnings.catch_warnings(action="ignore"):
        return str(search(private()).fit(counts).best_estimator_.guarantee_)


def test_a_process_of_ones_own_may_fit_and_says_what_it_cannot_know() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        said, searched = pool.apply(fit_one, (COUNTS,)), pool.apply(search_alone, (COUNTS,))
    assert said.startswith("Differential privacy, proven.")
    assert "no fit in another process used these documents" in said
    assert ALONE.format(6) in searched

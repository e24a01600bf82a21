"""SubsampledLDA, VariationalLDA and the hybrids with a checkpoint: what PrivateLDA promises, they promise too."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import numpy as np
import pytest

from discreet import BudgetFile, HybridCrossLBLA, HybridLDA, Ledger, SubsampledLDA, VariationalLDA
from discreet._errors import BudgetExceeded, InputError
from discreet._random import Key
from discreet.corpus import Vocabulary, lda_corpus
from discreet.mechanisms.release import Releases
from discreet.models.cross import hybrid as hybrid_cross
from discreet.models.hybrid import model as hybrid
from discreet.models.private import rounds as private_rounds
from discreet.models.subsampled import rounds as subsampled_rounds
from discreet.privacy import accounting
from tests.support.interrupted import Stop, finished, interrupted_at, killed

pytestmark = pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")

PUBLIC = lda_corpus(40, 40, 3, seed=2).corpus
CORPUS = replace(
    lda_corpus(300, 40, 3, seed=1).corpus.restrict(Vocabulary(PUBLIC.vocabulary, "public")),
    collections=np.arange(300) % 2,
)


def subsampled(folder, **changes):
    given = {"epsilon": 4.0, "n_rounds": 12, "n_threads": 1, "checkpoint": folder, "checkpoint_every": 4}
    return SubsampledLDA(3, **{**given, **changes})


def variational(folder, **changes):
    given = {"epsilon": 4.0, "n_rounds": 12, "n_threads": 1, "checkpoint": folder, "checkpoint_every": 4}
    return VariationalLDA(3, **{**given, **changes})


def hybrid_model(folder, kind=HybridLDA, **changes):
    parts = {"epsilon_laplace": 1.0, "epsilon_inherent": 2.0}
    given = {**parts, "n_sweeps": 12, "n_threads": 1, "checkpoint": folder, "checkpoint_every": 4}
    return kind(3, **{**given, **changes})


def hybrid_cross_model(folder, **changes):
    return hybrid_model(folder, HybridCrossLBLA, **changes)


MODELS = {
    "subsampled": (subsampled, "document", subsampled_rounds),
    "variational": (variational, "document", private_rounds),  # its rounds are PrivateLDA's
    "hybrid": (hybrid_model, "word", hybrid),
    "hybrid-cross": (hybrid_cross_model, "word", hybrid_cross),
}
every_model = pytest.mark.parametrize(("model", "unit", "module"), MODELS.values(), ids=MODELS)
ROUND = ("topic counts", "topic of the word, drawn")


def topics_of(engine):
    return engine.topics.copy() if hasattr(engine, "topics") else None


def rounds(entries):
    return sum(entry.count for entry in entries if entry.label in ROUND)


def charged(budget):
    return [entry for charge in budget.charges() for entry in charge.entries]


@every_model
def test_an_undisturbed_fit_costs_what_it_costs_without_a_checkpoint(tmp_path, model, unit, module):
    with_one, without = model(tmp_path / "c").fit(CORPUS), model(None).fit(CORPUS)
    assert with_one.guarantee_.epsilon == pytest.approx(without.guarantee_.epsilon, rel=1e-9)
    assert with_one.guarantee_.unit == unit
    assert rounds(with_one.ledger_.entries) == rounds(without.ledger_.entries) == 12
    assert "restored from a backup" in " ".join(with_one.guarantee_.reasons)
    assert not (tmp_path / "c").exists()


@every_model
@pytest.mark.parametrize("stop", [1, 4, 6, 11])
def test_a_resumed_fit_charges_the_stage_that_it_repeats_again(tmp_path, model, unit, module, stop):
    folder, budget = tmp_path / "c", BudgetFile.create(tmp_path / "b", 1000.0, 1e-6, unit)
    with pytest.raises(Stop):
        model(folder, ledger=Ledger(file=budget), callbacks=interrupted_at(stop)).fit(CORPUS)
    done = model(folder, ledger=Ledger(file=budget)).fit(CORPUS)
    assert rounds(charged(budget)) == 12 + 4
    assert done.guarantee_.epsilon == pytest.approx(accounting.spent(charged(budget), 1e-6).epsilon)
    assert done.guarantee_.epsilon > model(None).fit(CORPUS).guarantee_.epsilon
    assert "interrupted and resumed" in " ".join(done.guarantee_.reasons)
    assert not folder.exists()


@every_model
def test_without_a_budget_file_the_folder_keeps_the_count(tmp_path, model, unit, module):
    for _ in range(2):
        with pytest.raises(Stop):
            model(tmp_path / "c", callbacks=interrupted_at(6)).fit(CORPUS)
    done = model(tmp_path / "c").fit(CORPUS)
    assert rounds(done.ledger_.entries) == 12 + 2 * 4
    assert done.guarantee_.epsilon == pytest.approx(accounting.spent(done.ledger_.entries, 1e-6).epsilon)


@every_model
@pytest.mark.parametrize("seed", [None, 7])
def test_no_noise_is_drawn_twice(tmp_path, monkeypatch, model, unit, module, seed):
    drawn = []
    real = Releases.release

    def recorded(releases, cells, event):
        before = cells.copy()
        out = real(releases, cells, event)
        drawn.append((out - before).tobytes())
        return out

    monkeypatch.setattr(Releases, "release", recorded)

    def twice():
        with pytest.raises(Stop):
            model(tmp_path / "c", random_state=seed, callbacks=interrupted_at(7)).fit(CORPUS)
        model(tmp_path / "c", random_state=seed).fit(CORPUS)

    twice()
    once = {subsampled_rounds: 0, private_rounds: 2}.get(module, 1)  # releases before the rounds, or after
    assert len(drawn) == 7 + 8 + once
    assert len(set(drawn)) == len(drawn)
    if seed is not None:
        monkeypatch.setattr(Key, "renewed", lambda key, number: key)  # broken: the key goes on
        drawn.clear()
        twice()
        assert len(set(drawn)) < len(drawn)


@every_model
def test_a_resumed_run_goes_on_from_the_saved_state(tmp_path, monkeypatch, model, unit, module):
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(9)).fit(CORPUS)
    with np.load(tmp_path / "c" / "state.npz") as saved:
        kept = dict(saved)
    assert int(kept["round"]) == 8
    seen, engines = [], []
    names = {subsampled_rounds: "SubsampledRounds", private_rounds: "PrivateRounds", hybrid: "Training"}
    kind = getattr(module, names.get(module, "CrossTraining"))
    step = "sweep" if unit == "word" else "round"
    real = getattr(kind, step)

    def first(run, number):
        if not seen:
            engines.append({"slot_words": run.engine.words.copy(), "slot_topics": topics_of(run.engine)})
        seen.append(number)
        return real(run, number)

    monkeypatch.setattr(kind, step, first)
    model(tmp_path / "c").fit(CORPUS)
    assert seen == [9, 10, 11, 12]
    private = {"slot_words", "slot_topics"} & set(kept)
    assert len(private) == (0 if model is variational else 2)  # only models that keep topics save them
    for name in private:
        np.testing.assert_array_equal(engines[0][name], kept[name])


def test_hybrid_averages_over_releases_of_before_and_after(tmp_path, monkeypatch):
    """Counted anew from restored topics, and the last ten releases are those of both runs."""
    released = []
    real = Releases.release
    monkeypatch.setattr(Releases, "release", lambda *a: (released.append(real(*a).copy()), released[-1].copy())[1])
    with pytest.raises(Stop):
        hybrid_model(tmp_path / "c", callbacks=interrupted_at(9)).fit(CORPUS)
    before = released[:8]  # the ninth was lost
    released.clear()
    done = hybrid_model(tmp_path / "c").fit(CORPUS)
    mean = np.maximum(np.mean([*before, *released][-10:], axis=0).T, 0) + 1.0
    np.testing.assert_allclose(done.components_, mean / mean.sum(axis=1, keepdims=True))


@every_model
def test_a_run_that_ends_early_is_charged_for_all_rounds(tmp_path, model, unit, module):
    early = model(tmp_path / "c", callbacks=[lambda info: info.sweep == 2]).fit(CORPUS)
    assert rounds(early.ledger_.entries) == 12
    assert early.guarantee_.epsilon == pytest.approx(model(None).fit(CORPUS).guarantee_.epsilon, rel=1e-9)


def test_convergence_remembers_what_it_heard(tmp_path):
    """A tolerance that every step meets: it ends after patience + 2 rounds, counted over both runs."""
    options = {"tolerance": 1e9, "patience": 4}
    with pytest.raises(Stop):
        subsampled(tmp_path / "c", callbacks=interrupted_at(5), **options).fit(CORPUS, public=PUBLIC)
    with pytest.raises(InputError, match="another run"):
        subsampled(tmp_path / "c", **options).fit(CORPUS, public=PUBLIC[:-1])
    done = subsampled(tmp_path / "c", **options).fit(CORPUS, public=PUBLIC)
    assert len(done.history_["public_perplexity"]) == 6
    assert rounds(done.ledger_.entries) == 12 + 4


@every_model
def test_what_cannot_be_resumed_is_refused(tmp_path, model, unit, module):
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(2)).fit(CORPUS)
    for change in ({"alpha": 0.2}, {"random_state": 1}, {"beta": 0.5}):
        with pytest.raises(InputError, match="another run"):
            model(tmp_path / "c", **change).fit(CORPUS)
    with pytest.raises(InputError, match="is lost when a run is interrupted"):
        model(tmp_path / "d", ledger=Ledger(unit=unit)).fit(CORPUS)
    published = {"as_published": True, "clip": 4.0} if module is private_rounds else {"as_published": True}
    with pytest.raises(InputError, match=r"can(not)? be resumed"):
        model(tmp_path / "d", **published).fit(CORPUS)
    budget = BudgetFile.create(tmp_path / "b", 0.5, 1e-6, unit)
    with pytest.raises(BudgetExceeded):
        model(tmp_path / "d", ledger=Ledger(file=budget)).fit(CORPUS)
    assert budget.charges() == ()
    assert not (tmp_path / "d").exists()


SCRIPT = """
import sys, time
from discreet import BudgetFile, Ledger
from tests.unit.test_checkpoint_models import CORPUS, MODELS, Releases
make, unit, module = MODELS[{name!r}]
real = Releases.release
def slowly(*arguments):
    time.sleep(0.02)
    return real(*arguments)
Releases.release = slowly
rounds = {{"n_sweeps" if unit == "word" else "n_rounds": 80}}
make({folder!r}, checkpoint_every=20, ledger=Ledger(file=BudgetFile({budget!r})), **rounds).fit(CORPUS)
"""


@pytest.mark.parametrize("name", MODELS)
def test_killed_at_any_time_the_budget_file_tells_the_truth(tmp_path, name):
    folder, path = tmp_path / "c", tmp_path / "b"
    budget = BudgetFile.create(path, 10_000.0, 1e-6, MODELS[name][1])
    script = textwrap.dedent(SCRIPT).format(name=name, budget=str(path), folder=str(folder))
    for more, pause in ((1, 0.03), (2, 0.1)):
        killed(script, budget, charges=more, pause=pause)
        assert folder.exists()
    finished(script)
    stages = [rounds(charge.entries) for charge in budget.charges()]
    assert set(stages) <= {0, 20}  # 0: killed between two stages, it went on where it was
    assert 80 < sum(stages) <= 80 + 2 * 20  # a kill between two stages repeats nothing
    assert not folder.exists()

"""Training that ends early: by a callback, which is a condition of the guarantee, or by Ctrl-C, which loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import pytest

from discreet import LDA, BudgetFile, HybridLDA, LaplaceLDA, Ledger, PrivateLDA, SubsampledLDA, VariationalLDA
from discreet.corpus import Vocabulary, lda_corpus
from discreet.corpus.builder import CorpusBuilder
from discreet.mechanisms.release import Releases
from discreet.models import vectorizer
from discreet.models.fit_text import fit_text
from discreet.training.loop import STOPPED, run_sweeps
from discreet.training.pause import Paused, finishing

pytestmark = [
    pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful"),
    pytest.mark.filterwarnings("ignore:only . words were selected"),
]

CORPUS = lda_corpus(300, 40, 3, seed=1).corpus.restrict(
    Vocabulary(lda_corpus(1, 40, 3, seed=1).corpus.vocabulary, "public")
)
ROUNDS = {"n_rounds": 12, "n_threads": 1}
PARTS = {"epsilon_laplace": 1.0, "epsilon_inherent": 2.0, "n_sweeps": 12, "n_threads": 1}
PRIVATE = {
    "private": (lambda **more: PrivateLDA(3, epsilon=4.0, **ROUNDS, **more), "document"),
    "subsampled": (lambda **more: SubsampledLDA(3, epsilon=4.0, **ROUNDS, **more), "document"),
    "variational": (lambda **more: VariationalLDA(3, epsilon=4.0, **ROUNDS, **more), "document"),
    "hybrid": (lambda **more: HybridLDA(3, **PARTS, **more), "word"),
}
PLAIN = {"as_published": True, "clip": 5.0, "noise_multiplier": 1.0}
OTHERS = {
    "variational, plain": lambda **more: VariationalLDA(3, **PLAIN, **ROUNDS, **more),
    "subsampled as published": lambda **more: SubsampledLDA(3, as_published=True, **ROUNDS, **more),
    "hybrid as published": lambda **more: HybridLDA(3, as_published=True, **PARTS, **more),
    "laplace": lambda **more: LaplaceLDA(3, as_published=True, n_sweeps=12, **more),
}
PROMISING = {**{name: make for name, (make, _) in PRIVATE.items()}, **OTHERS}
promising = pytest.mark.parametrize("make", PROMISING.values(), ids=PROMISING)
resumable = pytest.mark.parametrize(("make", "unit"), PRIVATE.values(), ids=PRIVATE)


# --- by a callback ----------------------------------------------------------------------------------------------------


@promising
def test_a_stop_by_a_callback_is_a_condition_of_the_guarantee(make):
    model = make(callbacks=[lambda info: info.sweep == 5]).fit(CORPUS)
    assert STOPPED in model.guarantee_.reasons


@promising
def test_a_callback_that_ends_nothing_adds_nothing(make):
    model = make(callbacks=[lambda info: info.sweep == 12]).fit(CORPUS)  # True after the last: it was at its end
    assert STOPPED not in model.guarantee_.reasons


@promising
def test_callbacks_of_models_that_promise_something_are_not_told_the_time(make):
    told = []
    make(callbacks=[told.append]).fit(CORPUS)
    assert len(told) == 12
    assert {info.seconds for info in told} == {None}


def test_callbacks_of_other_models_are_told_the_time():
    for model in (LDA(3, n_sweeps=3), VariationalLDA(3, n_rounds=3)):
        told = []
        model.set_params(callbacks=[told.append]).fit(CORPUS)
        assert [info.seconds > 0 for info in told] == [True] * 3


def test_a_models_own_rule_is_no_condition():
    """SubsampledLDA stops by the perplexity of public documents, which reads released topics only."""
    model = SubsampledLDA(3, epsilon=4.0, tolerance=1e9, patience=0, **ROUNDS)
    model.fit(CORPUS, public=lda_corpus(40, 40, 3, seed=2).corpus)
    assert 0 < len(model.history_["public_perplexity"]) < 12
    assert STOPPED not in model.guarantee_.reasons
    assert "the documents given as public are public" in model.guarantee_.reasons


# --- by Ctrl-C --------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _python_hears_ctrl_c():
    """Also where the tests run in the background of a shell, whose children ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c_in(number, times=1):
    """Callbacks that press it after this round, so that a clean stop comes after this one."""

    def press(info):
        for _ in range(times if info.sweep == number else 0):
            os.kill(os.getpid(), signal.SIGINT)

    return [press]


def charged(budget):
    return [entry for charge in budget.charges() for entry in charge.entries]


def n_releases(entries):
    return sum(entry.count for entry in entries)


@resumable
@pytest.mark.parametrize("stops", [(1,), (4,), (7,), (12,), (2, 3, 4)], ids=str)
def test_a_clean_stop_repeats_nothing_and_charges_nothing_twice(tmp_path, monkeypatch, make, unit, stops):
    """Stopped after some rounds and resumed, once or several times. Stages are of four rounds."""
    budget = BudgetFile.create(tmp_path / "b", 1000.0, 1e-6, unit)
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 4}
    drawn, real = [], Releases.release

    def recorded(releases, cells, event):
        before = cells.copy()
        noisy = real(releases, cells, event)
        drawn.append((noisy - before).tobytes())
        return noisy

    monkeypatch.setattr(Releases, "release", recorded)
    for stop in stops:
        with pytest.raises(Paused):
            make(**options, ledger=Ledger(file=budget), callbacks=ctrl_c_in(stop)).fit(CORPUS)
    done = make(**options, ledger=Ledger(file=budget)).fit(CORPUS)
    n_drawn = len(drawn)
    undisturbed = make().fit(CORPUS)
    assert n_drawn == len(drawn) - n_drawn  # as many as without any stop
    assert len(set(drawn)) == len(drawn)
    assert n_releases(charged(budget)) == n_releases(undisturbed.ledger_.entries)
    assert done.guarantee_.epsilon == pytest.approx(undisturbed.guarantee_.epsilon)
    assert "charged a second time" not in " ".join(done.guarantee_.reasons)
    assert not (tmp_path / "c").exists()


@resumable
def test_a_clean_stop_fits_the_very_budget_of_the_run(tmp_path, make, unit):
    """A budget that has room for nothing more: what is paid and not drawn must not be asked for again."""
    epsilon = make().fit(CORPUS).guarantee_.epsilon
    budget = BudgetFile.create(tmp_path / "b", epsilon * (1 + 1e-6), 1e-6, unit)
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 4, "ledger": Ledger(file=budget)}
    with pytest.raises(Paused):
        make(**options, callbacks=ctrl_c_in(6)).fit(CORPUS)
    assert make(**options).fit(CORPUS).guarantee_.epsilon <= epsilon * (1 + 1e-6)


@resumable
def test_what_was_paid_is_drawn_once_even_if_the_next_run_is_lost(tmp_path, make, unit):
    """Clean stop after round 1 of a stage of 4; the next run is lost after two more; the third pays for 3 anew."""
    budget = BudgetFile.create(tmp_path / "b", 1000.0, 1e-6, unit)
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 4, "ledger": Ledger(file=budget)}

    def lost(info):
        if info.sweep == 2:
            raise RuntimeError("lost")

    with pytest.raises(Paused):
        make(**options, callbacks=ctrl_c_in(1)).fit(CORPUS)
    with pytest.raises(RuntimeError, match="lost"):
        make(**options, callbacks=[lost]).fit(CORPUS)
    before = n_releases(charged(budget))
    done = make(**options).fit(CORPUS)
    undisturbed = n_releases(make().fit(CORPUS).ledger_.entries)
    assert n_releases(charged(budget)) > before
    assert n_releases(charged(budget)) - undisturbed in (3, 6)  # three rounds; of HybridLDA three draws too
    assert "charged a second time" in " ".join(done.guarantee_.reasons)


def test_a_copied_checkpoint_does_not_draw_twice_what_was_paid_once(tmp_path):
    """The budget file knows that the run went on: its copy pays again."""
    budget = BudgetFile.create(tmp_path / "b", 1000.0, 1e-6)
    make, ledger = PRIVATE["private"][0], Ledger(file=budget)
    with pytest.raises(Paused):
        make(checkpoint=tmp_path / "c", ledger=ledger, callbacks=ctrl_c_in(3)).fit(CORPUS)
    shutil.copytree(tmp_path / "c", tmp_path / "d")
    make(checkpoint=tmp_path / "c", ledger=ledger).fit(CORPUS)
    before = n_releases(charged(budget))
    make(checkpoint=tmp_path / "d", ledger=ledger).fit(CORPUS)
    assert n_releases(charged(budget)) == before + 9


@pytest.mark.parametrize("seed", [None, 7])
def test_no_noise_is_drawn_twice_after_a_clean_stop_and_a_loss(tmp_path, monkeypatch, seed):
    drawn, real = [], Releases.release

    def recorded(releases, cells, event):
        before = cells.copy()
        noisy = real(releases, cells, event)
        drawn.append((noisy - before).tobytes())
        return noisy

    def lost(info):
        raise RuntimeError("lost")

    monkeypatch.setattr(Releases, "release", recorded)
    make, options = PRIVATE["private"][0], {"checkpoint": tmp_path / "c", "random_state": seed}
    with pytest.raises(Paused):
        make(**options, callbacks=ctrl_c_in(3)).fit(CORPUS)
    with pytest.raises(RuntimeError):
        make(**options, callbacks=[lost]).fit(CORPUS)
    make(**options).fit(CORPUS)
    assert len(set(drawn)) == len(drawn) == 2 + 3 + 1 + 9


def test_a_second_ctrl_c_stops_at_once(tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt) as caught:
        PRIVATE["private"][0](checkpoint=tmp_path / "c", callbacks=ctrl_c_in(2, times=2)).fit(CORPUS)
    assert not isinstance(caught.value, Paused)
    assert "stopping after this round; Ctrl-C again stops at once" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_checkpoint_ctrl_c_stops_at_once():
    with pytest.raises(KeyboardInterrupt) as caught:
        PRIVATE["private"][0](callbacks=ctrl_c_in(2)).fit(CORPUS)
    assert not isinstance(caught.value, Paused)


def test_a_handler_of_somebody_else_stays():
    heard = []
    handler = lambda number, frame: heard.append(number)  # noqa: E731
    signal.signal(signal.SIGINT, handler)
    with finishing("round") as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert heard == [signal.SIGINT]
        assert not asked()
        assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_are_left_alone():
    """Python lets the main thread alone set a handler."""
    found = []

    def work():
        found.append(run_sweeps(range(1, 4), lambda number: {}, pause=found.append))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [({}, ())]


def test_words_that_are_being_selected_are_kept(tmp_path, monkeypatch):
    """Ctrl-C within the selection, which is paid for: it ends, and the next run has its words at no further cost."""
    real = vectorizer.select_words

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **options)

    builder = CorpusBuilder()
    for i in range(1500):
        builder.add(("rain wind storm", "piano violin concert")[i % 2] + f" own{i}")
    texts = builder.build()
    budget = BudgetFile.create(tmp_path / "b", 1000.0, 1e-6)
    options = {"checkpoint": tmp_path / "c", "ledger": Ledger(file=budget)}
    monkeypatch.setattr(vectorizer, "select_words", interrupted)
    with pytest.raises(Paused):
        fit_text(PRIVATE["private"][0](**options), texts)
    monkeypatch.setattr(vectorizer, "select_words", real)
    n_charges = len(budget.charges())
    model = fit_text(PRIVATE["private"][0](**options), texts)
    assert n_charges == 1
    assert model.guarantee_.epsilon <= 4.0
    assert "second time" not in " ".join(model.guarantee_.reasons)

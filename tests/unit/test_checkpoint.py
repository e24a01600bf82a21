"""A fit that is killed goes on: no noise twice, all that was drawn is charged, and the private folder is gone."""

from __future__ import annotations

import errno
import json
import shutil
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from discreet import Budget, BudgetFile, Ledger, PrivateLDA, PrivateVectorizer, VariationalLDA, engines
from discreet._errors import BudgetExceeded, InputError
from discreet._random import Key
from discreet.corpus import Vocabulary, lda_corpus
from discreet.engines import open_units
from discreet.mechanisms.release import Releases
from discreet.models.private import rounds as private_rounds
from discreet.privacy import Entry, accounting
from discreet.training.checkpoint import Checkpoint, fingerprint, kept_until_safe
from tests.support.interrupted import Stop, finished, interrupted_at, killed

pytestmark = pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")

CORPUS = lda_corpus(300, 40, 3, seed=1).corpus.restrict(
    Vocabulary(lda_corpus(1, 40, 3, seed=1).corpus.vocabulary, "public")
)


def model(folder, **changes):
    given = {"epsilon": 4.0, "n_rounds": 12, "checkpoint": folder, "checkpoint_every": 4, "n_threads": 1}
    return PrivateLDA(3, **{**given, **changes})


def spent(entries, delta=1e-6):
    return accounting.spent(entries, delta).epsilon


def test_an_undisturbed_fit_costs_what_it_costs_without_a_checkpoint(tmp_path):
    with_one = model(tmp_path / "c").fit(CORPUS)
    without = model(None).fit(CORPUS)
    assert with_one.guarantee_.epsilon == pytest.approx(without.guarantee_.epsilon, rel=1e-9)
    assert "restored from a backup" in " ".join(with_one.guarantee_.reasons)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(("stop", "lost"), [(1, 4), (3, 4), (4, 4), (5, 4), (11, 4)])
def test_a_resumed_fit_charges_the_stage_that_it_repeats_again(tmp_path, stop, lost):
    folder, budget = tmp_path / "c", BudgetFile.create(tmp_path / "b", 100.0, 1e-6)
    with pytest.raises(Stop):
        model(folder, ledger=Ledger(file=budget), callbacks=interrupted_at(stop)).fit(CORPUS)
    done = model(folder, ledger=Ledger(file=budget)).fit(CORPUS)
    entries = [entry for charge in budget.charges() for entry in charge.entries]
    rounds = sum(entry.count for entry in entries if entry.label == "topic counts")
    assert rounds == 12 + lost
    assert done.guarantee_.epsilon == pytest.approx(spent(entries))
    assert done.guarantee_.epsilon > 4.0
    told = [Entry.from_json(entry) for entry in done.release().ledger]
    assert spent(told) == pytest.approx(done.guarantee_.epsilon)  # what was lost is told too
    assert "interrupted and resumed" in " ".join(done.guarantee_.reasons)
    assert not folder.exists()


def test_without_a_budget_file_the_folder_keeps_the_count(tmp_path):
    for _ in range(2):
        with pytest.raises(Stop):
            model(tmp_path / "c", callbacks=interrupted_at(2)).fit(CORPUS)
    done = model(tmp_path / "c").fit(CORPUS)
    rounds = sum(entry.count for entry in done.ledger_.entries if entry.label == "topic counts")
    assert rounds == 12 + 2 * 4
    assert done.guarantee_.epsilon == pytest.approx(spent(done.ledger_.entries))


def test_a_resumed_run_goes_on_from_the_saved_state(tmp_path, monkeypatch):
    starts, runs = [], []
    start, resume = private_rounds.PrivateRounds._start, private_rounds.PrivateRounds._resume
    monkeypatch.setattr(private_rounds.PrivateRounds, "_start", lambda run: (starts.append("start"), start(run))[1])
    monkeypatch.setattr(
        private_rounds.PrivateRounds,
        "_resume",
        lambda run, saved: (starts.append(int(saved["round"])), runs.append(run), resume(run, saved))[2],
    )
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(9)).fit(CORPUS)
    with np.load(tmp_path / "c" / "state.npz") as saved:
        kept = dict(saved)
    seen = []
    model(tmp_path / "c", callbacks=[lambda info: seen.append(info.n_sweeps)]).fit(CORPUS)
    assert starts == ["start", 8]
    assert seen == [4] * 4
    (run,) = runs
    assert (run.clip, run.n_units) == (kept["clip"], kept["n_units"])
    assert (run.evidence.precision > kept["evidence_precision"]).all()  # four rounds more


@pytest.mark.parametrize("stop", [2, 5, 11])
def test_a_state_that_was_saved_goes_on_to_the_bit(tmp_path, monkeypatch, stop):
    """Nothing that later rounds read is missing from it, and nothing is rounded."""
    plain, resumed = private_rounds.PrivateRounds.round, []

    def saved_and_read(run, number):
        measures = plain(run, number)
        if number == stop:
            np.savez(tmp_path / "state.npz", **run._state())
            for name in {*vars(run)} - set(BESIDE):
                delattr(run, name)
            with np.load(tmp_path / "state.npz") as saved:
                run._resume(dict(saved))
            resumed.append(run)
        return measures

    whole = model(None, random_state=1, epsilon=60.0).fit(CORPUS)
    monkeypatch.setattr(private_rounds.PrivateRounds, "round", saved_and_read)
    parts = model(None, random_state=1, epsilon=60.0).fit(CORPUS)
    assert len(resumed) == 1
    for name in ("components_", "topic_shares_", "standard_errors_"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


BESIDE = ("model", "plan", "engine", "payment", "alpha", "word_prior", "known", "local_sweeps", "releases", "events")
"""What `PrivateRounds` is given anew when it resumes."""


@pytest.mark.parametrize("kind", [PrivateLDA, VariationalLDA])
def test_a_state_of_another_version_is_refused_before_it_is_charged(tmp_path, monkeypatch, kind):
    """Also of a model that takes these rounds as they are: its state is theirs."""
    given = {"epsilon": 4.0, "n_rounds": 12, "checkpoint": tmp_path / "c", "checkpoint_every": 4, "n_threads": 1}
    with monkeypatch.context() as earlier:
        earlier.setattr(private_rounds.PrivateRounds, "version", private_rounds.PrivateRounds.version - 1)
        with pytest.raises(Stop):
            kind(3, **given, callbacks=interrupted_at(5)).fit(CORPUS)
    noted = (tmp_path / "c" / "spent.jsonl").read_bytes()
    with pytest.raises(InputError, match="or another version of discreet"):
        kind(3, **given).fit(CORPUS)
    assert (tmp_path / "c" / "spent.jsonl").read_bytes() == noted


def test_the_saved_state_holds_no_document(tmp_path):
    """Only functions of what was released: numbers, word and word × topic tables. No token, no topic of a token."""
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(9)).fit(CORPUS)
    with np.load(tmp_path / "c" / "state.npz") as saved:
        shapes = {name: saved[name].shape for name in saved.files}
    assert shapes.pop("stands_on") == (2,)  # the charges, their number and digest
    bands = {shapes.pop("belief_kappa"), shapes.pop("belief_variance")}
    assert bands == {(10,), (10, 10)}
    assert set(shapes.values()) <= {(), (40,), (40, 3), (0, 0)}


@pytest.mark.parametrize("seed", [None, 7])
def test_no_noise_is_drawn_twice(tmp_path, monkeypatch, seed):
    """What a release adds, in both runs, seeded or not. The same key would give the lost rounds the same noise."""
    drawn = []
    real = Releases.release

    def recorded(releases, cells, event):
        before = cells.copy()
        out = real(releases, cells, event)
        drawn.append((out - before).tobytes())
        return out

    monkeypatch.setattr(Releases, "release", recorded)
    with pytest.raises(Stop):
        model(tmp_path / "c", random_state=seed, callbacks=interrupted_at(7)).fit(CORPUS)
    model(tmp_path / "c", random_state=seed).fit(CORPUS)
    assert len(drawn) == 2 + 7 + 8
    assert len(set(drawn)) == len(drawn)
    monkeypatch.setattr(Key, "renewed", lambda key, number: key)  # broken: the key goes on
    drawn.clear()
    with pytest.raises(Stop):
        model(tmp_path / "c", random_state=7, callbacks=interrupted_at(7)).fit(CORPUS)
    model(tmp_path / "c", random_state=7).fit(CORPUS)
    assert len(set(drawn)) < len(drawn)


def test_charged_before_noted_before_drawn(tmp_path, monkeypatch):
    order = []
    for owner, name in ((Ledger, "reserve"), (Checkpoint, "note"), (Checkpoint, "save")):
        real = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *a, _real=real, _name=name, **k: (order.append(_name), _real(*a, **k))[1]
        )
    real_release = Releases.release
    monkeypatch.setattr(Releases, "release", lambda *a: (order.append("draw"), real_release(*a))[1])
    model(tmp_path / "c", n_rounds=4, checkpoint_every=2).fit(CORPUS)
    stage = ["reserve", "note"]
    assert order == [*stage, *["draw"] * 4, "save", *stage, "draw", "draw"]


def test_a_plan_that_will_not_fit_is_refused_before_anything_is_charged(tmp_path):
    budget = BudgetFile.create(tmp_path / "b", 2.0, 1e-6)
    with pytest.raises(BudgetExceeded):
        model(tmp_path / "c", ledger=Ledger(file=budget)).fit(CORPUS)
    assert budget.charges() == ()
    assert not (tmp_path / "c").exists()


def test_a_run_that_ends_early_is_charged_for_all_rounds(tmp_path):
    budget = BudgetFile.create(tmp_path / "b", 4.0, 1e-6)
    early = model(tmp_path / "c", ledger=Ledger(file=budget), callbacks=[lambda info: info.sweep == 2]).fit(CORPUS)
    whole = model(None).fit(CORPUS)
    assert sum(e.count for charge in budget.charges() for e in charge.entries) == 2 + 12
    assert early.guarantee_.epsilon == pytest.approx(whole.guarantee_.epsilon, rel=1e-9)


def test_what_a_kill_leaves_of_a_folder_that_is_made_or_removed(tmp_path):
    """Nothing was spent in a folder without notes; one that is being removed must not pass for a run."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "new").write_bytes(b'{"not')
    with pytest.raises(Stop):
        model(folder, callbacks=interrupted_at(6)).fit(CORPUS)
    kept = Checkpoint(folder, json.loads((folder / "run.json").read_text())["run"])
    removed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(folder), "unlink", lambda path: removed.append(path.name))
        patch.setattr(type(folder), "rmdir", lambda path: None)
        kept.remove()
    assert removed[0] == "run.json"
    (folder / "run.json").unlink()
    with pytest.raises(InputError, match="not a checkpoint"):
        model(folder).fit(CORPUS)


def test_the_folder_is_for_its_owner_only_and_says_why(tmp_path):
    folder = tmp_path / "c"
    with pytest.raises(Stop):
        model(folder, callbacks=interrupted_at(5)).fit(CORPUS)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"run.json", "spent.jsonl", "state.npz", "lock"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    assert json.loads((folder / "run.json").read_text())["notice"].startswith("private")


@pytest.mark.parametrize(
    "change", [{"epsilon": 3.0}, {"n_rounds": 13}, {"random_state": 3}, {"clip": 2.0}, {"max_tokens": 5}]
)
def test_another_run_is_refused(tmp_path, change):
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(2)).fit(CORPUS)
    with pytest.raises(InputError, match="another run"):
        model(tmp_path / "c", **change).fit(CORPUS)
    with pytest.raises(InputError, match="another run"):
        model(tmp_path / "c").fit(CORPUS[:-1])


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not a checkpoint"):
        model(tmp_path / "c").fit(CORPUS)
    with pytest.raises(InputError, match="Make it first"):
        model(tmp_path / "no" / "c").fit(CORPUS)
    assert (tmp_path / "c" / "letter.txt").read_text() == "dear"


def test_a_ledger_in_memory_is_refused(tmp_path):
    with pytest.raises(InputError, match="is lost when a run is interrupted"):
        model(tmp_path / "c", ledger=Ledger(unit="document")).fit(CORPUS)


def test_a_torn_note_is_one_whose_noise_was_never_drawn(tmp_path):
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(5)).fit(CORPUS)
    with (tmp_path / "c" / "spent.jsonl").open("a") as file:
        file.write('[{"label": "topic c')
    done = model(tmp_path / "c").fit(CORPUS)
    assert sum(e.count for e in done.ledger_.entries if e.label == "topic counts") == 16


def test_fingerprint_tells_documents_apart():
    one = fingerprint(CORPUS, None, a=1)
    assert one == fingerprint(CORPUS, None, a=1)
    assert len({one, fingerprint(CORPUS, None, a=2), fingerprint(CORPUS[:-1], None, a=1)}) == 3
    assert one != fingerprint(CORPUS, np.zeros(len(CORPUS), int), a=1)


SCRIPT = """
import sys
from discreet import BudgetFile, Ledger, PrivateLDA
from tests.unit.test_checkpoint import CORPUS
ledger = Ledger(file=BudgetFile({budget!r}))
plan = dict(epsilon=4.0, n_rounds=160, local_sweeps=150, checkpoint={folder!r}, checkpoint_every=20, ledger=ledger)
PrivateLDA(3, **plan).fit(CORPUS)
"""


def test_killed_at_any_time_the_budget_file_tells_the_truth(tmp_path):
    """kill -9 a few times, at moments that we do not choose; then let it end."""
    folder, path = tmp_path / "c", tmp_path / "b"
    budget = BudgetFile.create(path, 1000.0, 1e-6)
    script = textwrap.dedent(SCRIPT).format(budget=str(path), folder=str(folder))
    for pause in (0.03, 0.15):
        killed(script, budget, charges=2, pause=pause)
        assert folder.exists()
    finished(script)
    rounds = [sum(e.count for e in charge.entries if e.label == "topic counts") for charge in budget.charges()]
    assert set(rounds) <= {0, 20}  # 0: killed between two stages, it went on where it was
    assert 160 <= sum(rounds) <= 160 + 2 * 20  # a kill between two stages repeats nothing
    assert not folder.exists()


# --- a folder that was tampered with, or restored from a backup -------------------------------------------------------


def stopped(folder, stop, budget=None, **changes):
    ledger = None if budget is None else Ledger(file=budget)
    with pytest.raises(Stop):
        model(folder, ledger=ledger, callbacks=interrupted_at(stop), **changes).fit(CORPUS)


def rounds_of(entries):
    return sum(entry.count for entry in entries if entry.label == "topic counts")


@pytest.mark.parametrize("what", ["removed", "shortened", "edited"])
def test_a_state_without_its_charges_is_refused(tmp_path, what):
    """Before, the run went on and told too little: the charges of the lost rounds were forgotten."""
    stopped(tmp_path / "c", 6)
    notes = tmp_path / "c" / "spent.jsonl"
    first, second = notes.read_text().splitlines(keepends=True)
    if what == "removed":
        notes.unlink()
    else:
        notes.write_text("" if what == "shortened" else json.dumps(json.loads(first)[:-1]) + "\n" + second)
    with pytest.raises(InputError, match="no longer noted"):
        model(tmp_path / "c").fit(CORPUS)


def test_with_a_budget_file_an_old_backup_hides_nothing(tmp_path):
    """The folder as it was after four rounds comes back after eleven; the budget file knows of all stages."""
    folder, budget = tmp_path / "c", BudgetFile.create(tmp_path / "b", 100.0, 1e-6)
    stopped(folder, 6, budget)
    shutil.copytree(folder, tmp_path / "backup")
    stopped(folder, 6, budget)  # the run goes on from round 4 and comes to round 10
    for path in folder.iterdir():
        if path.name != "lock":
            path.unlink()
    for path in (tmp_path / "backup").iterdir():
        if path.name != "lock":
            shutil.copy(path, folder / path.name)
    done = model(folder, ledger=Ledger(file=budget)).fit(CORPUS)
    entries = [entry for charge in budget.charges() for entry in charge.entries]
    assert rounds_of(entries) > 12 + 4
    assert done.guarantee_.epsilon == pytest.approx(spent(entries))


# --- a stop that was asked for ----------------------------------------------------------------------------------------


def stopped_after(folder, round_number, budget=None, **changes):
    """As Ctrl-C does: the state is saved when a round is done, and then the run ends."""
    training = []
    real = private_rounds.PrivateRounds.round

    def watched(run, number):
        training.append(run)
        return real(run, number)

    def stop(info):
        if len(training) == round_number:
            training[-1].payment.save(round_number, training[-1]._state)
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_rounds.PrivateRounds, "round", watched)
        ledger = None if budget is None else Ledger(file=budget)
        with pytest.raises(Stop):
            model(folder, ledger=ledger, callbacks=[stop], **changes).fit(CORPUS)


@pytest.mark.parametrize("with_file", [True, False])
@pytest.mark.parametrize("stop", [2, 4, 5, 11])
def test_after_a_stop_that_was_asked_for_nothing_is_repeated(tmp_path, stop, with_file):
    budget = BudgetFile.create(tmp_path / "b", 4.0, 1e-6) if with_file else None  # not one round more than planned
    ledger = Ledger(file=budget) if budget else None
    stopped_after(tmp_path / "c", stop, budget)
    seen = []
    done = model(tmp_path / "c", ledger=ledger, callbacks=[lambda info: seen.append(info.sweep)]).fit(CORPUS)
    assert len(seen) == 12 - stop
    assert done.guarantee_.epsilon == pytest.approx(model(None).fit(CORPUS).guarantee_.epsilon, rel=1e-9)
    assert "interrupted" not in " ".join(done.guarantee_.reasons)


@pytest.mark.parametrize("with_file", [True, False])
def test_what_was_paid_for_and_not_drawn_is_there_only_once(tmp_path, with_file):
    """Resumed after a stop, then killed: the rounds that were left may have been drawn, so they are charged again."""
    budget = BudgetFile.create(tmp_path / "b", 100.0, 1e-6) if with_file else None
    stopped_after(tmp_path / "c", 6, budget)
    stopped(tmp_path / "c", 1, budget)  # draws round 7, which was paid for, and dies
    done = model(tmp_path / "c", ledger=Ledger(file=budget) if budget else None).fit(CORPUS)
    told = [Entry.from_json(entry) for entry in done.release().ledger]
    assert rounds_of(told) == 8 + 4 + 2  # two stages, a whole one from round 7 on, and the rest


@pytest.mark.parametrize("how", ["two threads", "a copied folder"])
def test_two_runs_that_resume_at_once_do_not_share_what_was_paid_for(tmp_path, monkeypatch, how):
    """Both open the folder before either notes that it resumes. Before, both drew the rounds that one had paid for."""
    budget = BudgetFile.create(tmp_path / "b", 100.0, 1e-6)
    stopped_after(tmp_path / "c", 6, budget)
    other = tmp_path / "c"
    if how == "a copied folder":
        other = tmp_path / "copy"
        shutil.copytree(tmp_path / "c", other)
    barrier, drawn, ends = threading.Barrier(2), [], {}

    def open_and_wait(*data, **options):
        engine = open_units(*data, **options)
        barrier.wait()
        return engine

    real = Releases.release
    monkeypatch.setattr(engines, "open_units", open_and_wait)
    monkeypatch.setattr(Releases, "release", lambda *a: (drawn.append(1), real(*a))[1])

    def resume(folder, name):
        try:
            ends[name] = model(folder, ledger=Ledger(file=budget)).fit(CORPUS)
        except InputError as error:
            ends[name] = error

    threads = [threading.Thread(target=resume, args=pair) for pair in ((tmp_path / "c", "one"), (other, "two"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 6  # one of them has the six rounds that were left; the other was refused
    (refused,) = [end for end in ends.values() if isinstance(end, InputError)]
    assert "taken over" in str(refused) or "resumed from a copy" in str(refused)
    entries = [entry for charge in budget.charges() for entry in charge.entries]
    assert rounds_of(entries) == 12


def test_what_the_words_cost_is_not_forgotten_when_the_budget_file_moved(tmp_path):
    texts = [" ".join(f"word{chr(97 + (i * 7 + j * 3) % 20)}" for j in range(8)) for i in range(2000)]
    budget = BudgetFile.create(tmp_path / "b", 10.0, 1e-6)
    selecting = PrivateVectorizer(2.0, 1e-6, share=0.5, output="corpus", ledger=Ledger(file=budget))
    corpus = selecting.fit_transform(texts)
    make = {"epsilon": 2.0, "n_rounds": 12, "checkpoint": tmp_path / "c", "checkpoint_every": 4, "n_threads": 1}
    with pytest.raises(Stop):
        PrivateLDA(2, **make, ledger=Ledger(file=budget), callbacks=interrupted_at(6)).fit(corpus)
    (tmp_path / "b").rename(tmp_path / "moved")
    moved = BudgetFile(tmp_path / "moved")
    done = PrivateLDA(2, **make, ledger=Ledger(file=moved)).fit(corpus)
    entries = [entry for charge in moved.charges() for entry in charge.entries]
    assert done.guarantee_.epsilon == pytest.approx(spent(entries))  # the words included


def test_a_ledger_with_a_budget_of_its_own_beside_its_file_is_refused(tmp_path):
    budget = BudgetFile.create(tmp_path / "b", 10.0, 1e-6)
    with pytest.raises(InputError, match="budget of its own"):
        model(tmp_path / "c", ledger=Ledger(Budget(5.0, 1e-6), file=budget)).fit(CORPUS)
    assert budget.charges() == ()


# --- one process at a time, and nothing lost at the end --------------------------------------------------------------


def test_another_process_is_kept_out(tmp_path):
    """Two runs in one folder would each take the other's rounds for its own, and one would be told too little."""
    folder = tmp_path / "c"
    script = f"""
        from discreet.training.checkpoint import Checkpoint
        held = Checkpoint({str(folder)!r}, "run")
        print("held", flush=True)
        input()
    """
    other = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use by another process"):
            Checkpoint(folder, "run")
    finally:
        other.kill()
        other.communicate()
    Checkpoint(folder, "run").remove()  # the lock ended with its holder
    assert not folder.exists()


def test_a_fit_may_be_begun_again_where_it_failed(tmp_path):
    with pytest.raises(Stop):
        model(tmp_path / "c", callbacks=interrupted_at(5)).fit(CORPUS)
    assert model(tmp_path / "c").fit(CORPUS).guarantee_.epsilon > 4.0


def test_a_folder_that_cannot_be_removed_costs_no_result(tmp_path):
    def leave_something(info):
        (tmp_path / "c" / "mine").mkdir(exist_ok=True)

    with pytest.warns(UserWarning, match="could not be removed"):
        fitted = model(tmp_path / "c", callbacks=[leave_something]).fit(CORPUS)
    assert fitted.release().guarantee.epsilon < 4.0
    assert not (tmp_path / "c" / "run.json").exists()


def test_a_full_disk_is_named_with_its_folder(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InputError, match=r"the checkpoint in .* cannot be written: No space left.*stays charged"):
        model(tmp_path / "c").fit(CORPUS)
    monkeypatch.undo()
    assert model(tmp_path / "c").fit(CORPUS).guarantee_.epsilon > 4.0  # what was charged is known


def test_the_checkpoint_stays_until_the_result_is_safe(tmp_path):
    folder = tmp_path / "c"

    def fit_and_fail():
        with kept_until_safe(), kept_until_safe():
            model(folder).fit(CORPUS)
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fit_and_fail()
    with kept_until_safe():
        again = model(folder).fit(CORPUS)  # repeats the last stage, not the whole
        assert folder.exists()
    assert not folder.exists()
    assert sum(entry["count"] for entry in again.release().ledger if entry["label"] == "topic counts") == 12 + 4

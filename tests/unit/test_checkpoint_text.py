"""A fit that selects its words and is killed: released words are kept, lost selections are charged again."""

from __future__ import annotations

import json
import textwrap

import pytest

from discreet import BudgetFile, Ledger, PrivateLDA
from discreet._errors import BudgetExceeded, InputError
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary
from discreet.corpus.builder import CorpusBuilder
from discreet.mechanisms import vocabulary
from discreet.mechanisms.release import Releases
from discreet.models import fit_text as text
from discreet.models import vectorizer
from discreet.models.fit_text import fit_text
from discreet.privacy import accounting
from discreet.training.checkpoint import Checkpoint
from tests.support.interrupted import Stop, finished, interrupted_at, killed

pytestmark = pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")

KINDS = (
    "rain wind storm cloud sleet hail frost thunder breeze drizzle",
    "piano violin concert music cello flute opera trumpet guitar chorus",
)


def texts(n: int = 1500) -> Corpus:
    builder = CorpusBuilder()
    for i in range(n):
        builder.add(f"{KINDS[i % 2]} own{i}")
    return builder.build()


CORPUS = texts()


def model(folder, **changes):
    given = {"epsilon": 8.0, "n_rounds": 8, "checkpoint": folder, "checkpoint_every": 4, "n_threads": 1}
    return PrivateLDA(2, **{**given, **changes})


def count(entries, label):
    return sum(entry.count for entry in entries if entry.label == label)


def charged(budget):
    return [entry for charge in budget.charges() for entry in charge.entries]


@pytest.fixture
def killed_in_selection(monkeypatch):
    """The first selection draws its noise and dies before anything is kept."""
    real, lost = vectorizer.select_words, []

    def select(*arguments, **options):
        found = real(*arguments, **options)
        if not lost:
            lost.append(found)
            raise Stop
        return found

    monkeypatch.setattr(vectorizer, "select_words", select)
    return lost


def test_kept_words_without_their_charges_are_refused(tmp_path):
    """Before, words whose charge was no longer noted were taken as free, and the topics got the whole budget."""
    with pytest.raises(Stop):
        fit_text(model(tmp_path / "c", callbacks=interrupted_at(2)), CORPUS)
    (tmp_path / "c" / "spent.jsonl").unlink()
    with pytest.raises(InputError, match="no longer noted"):
        fit_text(model(tmp_path / "c"), CORPUS)


def test_an_undisturbed_fit_costs_what_it_costs_without_a_checkpoint(tmp_path):
    with_one, without = fit_text(model(tmp_path / "c"), CORPUS), fit_text(model(None), CORPUS)
    assert with_one.guarantee_.epsilon == pytest.approx(without.guarantee_.epsilon, rel=1e-6)
    assert count(with_one.ledger_.entries, "vocabulary") == 10
    assert not any("resumed" in reason for reason in with_one.guarantee_.reasons)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("on_disk", [True, False])
def test_released_words_are_reused_at_no_cost(tmp_path, monkeypatch, on_disk):
    budget = BudgetFile.create(tmp_path / "b", 100.0, 1e-6)

    def ledger():
        return Ledger(file=budget) if on_disk else None

    with pytest.raises(Stop):
        fit_text(model(tmp_path / "c", ledger=ledger(), callbacks=interrupted_at(5)), CORPUS)
    kept = json.loads((tmp_path / "c" / "words.json").read_text())["words"]
    assert all((path.stat().st_mode & 0o77) == 0 for path in (tmp_path / "c").rglob("*"))

    def never(*_, **__):
        raise AssertionError("words were selected again")

    monkeypatch.setattr(vectorizer, "select_words", never)
    done = fit_text(model(tmp_path / "c", ledger=ledger()), CORPUS)
    assert list(done.release().vocabulary) == kept
    entries = charged(budget) if on_disk else done.ledger_.entries
    assert count(entries, "vocabulary") == 10
    assert count(entries, "topic counts") == 8 + 4
    assert done.guarantee_.epsilon == pytest.approx(accounting.spent(entries, 1e-6).epsilon)
    assert "4 releases were charged a second time" in " ".join(done.guarantee_.reasons)
    assert "when the words were selected" not in " ".join(done.guarantee_.reasons)  # the same documents
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_lost_selection_is_charged_again_and_the_topics_pay(tmp_path, killed_in_selection, on_disk):
    """A budget of exactly epsilon still does: what was lost is part of the whole that the rounds are planned within."""
    budget = BudgetFile.create(tmp_path / "b", 8.0, 1e-6)
    ledger = Ledger(file=budget) if on_disk else None
    with pytest.raises(Stop):
        fit_text(model(tmp_path / "c", ledger=ledger), CORPUS)
    assert killed_in_selection
    assert not (tmp_path / "c" / "words.json").exists()
    assert count(charged(budget), "vocabulary") == (10 if on_disk else 0)
    done = fit_text(model(tmp_path / "c", ledger=ledger), CORPUS)
    entries = charged(budget) if on_disk else done.ledger_.entries
    assert count(entries, "vocabulary") == 20
    assert done.guarantee_.epsilon == pytest.approx(accounting.spent(entries, 1e-6).epsilon)
    assert 7.5 < done.guarantee_.epsilon <= 8
    assert "the selection of words was charged 2 times" in " ".join(done.guarantee_.reasons)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("seed", [None, 3])
def test_no_noise_of_a_selection_is_drawn_twice(tmp_path, monkeypatch, seed, killed_in_selection):
    drawn = []

    class Recorded(Releases):
        def release(self, cells, event):
            before = cells.copy()
            drawn.append((super().release(cells, event) - before).tobytes())
            return cells

    monkeypatch.setattr(vocabulary, "Releases", Recorded)
    with pytest.raises(Stop):
        fit_text(model(tmp_path / "c", random_state=seed), CORPUS)
    fit_text(model(tmp_path / "c", random_state=seed), CORPUS)
    assert len(set(drawn)) == len(drawn) == 20
    if seed is not None:
        monkeypatch.setattr(Key, "renewed", lambda key, number: key)  # broken: the key goes on
        killed_in_selection.clear()
        drawn.clear()
        with pytest.raises(Stop):
            fit_text(model(tmp_path / "c", random_state=seed), CORPUS)
        fit_text(model(tmp_path / "c", random_state=seed), CORPUS)
        assert len(set(drawn)) == 10


def test_charged_before_noted_before_drawn_before_kept(tmp_path, monkeypatch):
    order = []

    def watch(owner, name, word):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (order.append(word), real(*a, **k))[1])

    watch(Ledger, "reserve", "charge")
    watch(Checkpoint, "note", "note")
    watch(vectorizer, "select_words", "draw")
    watch(Checkpoint, "write", "write")
    fit_text(model(tmp_path / "c"), CORPUS)
    assert order[:5] == ["write", "charge", "note", "draw", "write"]


def test_another_run_is_refused(tmp_path):
    with pytest.raises(Stop):
        fit_text(model(tmp_path / "c", callbacks=interrupted_at(5)), CORPUS)
    for changed, corpus, options in (
        ({"epsilon": 7.0}, CORPUS, {}),
        ({}, CORPUS[:-1], {}),
        ({}, CORPUS, {"max_words": 8}),
        ({}, CORPUS, {"share": 0.1}),
    ):
        with pytest.raises(InputError, match="another run"):
            fit_text(model(tmp_path / "c", **changed), corpus, **options)
    words = CORPUS.restrict(Vocabulary(["rain", "piano"], "public"))
    with pytest.raises(InputError, match="another run"):
        model(tmp_path / "c").fit(words)


def test_a_run_that_ends_without_words_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="no word stood out"):
        fit_text(model(tmp_path / "c", epsilon=0.1), CORPUS)
    small = BudgetFile.create(tmp_path / "b", 7.5, 1e-6)
    with pytest.raises(BudgetExceeded):
        fit_text(model(tmp_path / "c", ledger=Ledger(file=small)), CORPUS)
    assert small.charges() == ()
    assert not (tmp_path / "c").exists()


SCRIPT = """
import sys, time
from discreet import BudgetFile, Ledger, PrivateLDA
from tests.unit.test_checkpoint_text import CORPUS
from discreet.mechanisms import vocabulary
from discreet.models.fit_text import fit_text
class Slow(vocabulary.Releases):
    def release(self, cells, event):
        time.sleep(0.1)
        return super().release(cells, event)
vocabulary.Releases = Slow
plan = dict(epsilon=8.0, n_rounds=120, local_sweeps=100, checkpoint={folder!r}, checkpoint_every=20)
fit_text(PrivateLDA(2, **plan, ledger=Ledger(file=BudgetFile({budget!r}))), CORPUS)
"""


def test_killed_at_any_time_the_budget_file_tells_the_truth(tmp_path):
    """kill -9 in the selection (of a second or so), then in the rounds; then let it end."""
    folder, path = tmp_path / "c", tmp_path / "b"
    budget = BudgetFile.create(path, 1000.0, 1e-6)
    script = textwrap.dedent(SCRIPT).format(budget=str(path), folder=str(folder))
    words = []
    for more, pause in ((1, 0.3), (3, 0.05)):  # charges after which to wait, and for how long
        killed(script, budget, charges=more, pause=pause)
        assert folder.exists()
        words.append((folder / text.WORDS).exists())
    assert words == [False, True]
    finished(script)
    entries = charged(budget)
    assert count(entries, "vocabulary") == 20  # once lost, once kept
    rounds = count(entries, "topic counts")
    assert rounds in (120, 140)  # a kill between two stages repeats nothing
    assert not folder.exists()

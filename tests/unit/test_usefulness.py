"""Whether private topics are useful: judged right in both directions, said in words, and foreseen where it can be."""

from __future__ import annotations

import json
import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Budget, Corpus, InputError, Ledger, PrivateLDA, PrivateVectorizer, Release, SubsampledLDA
from discreet.corpus import CorpusBuilder, Vocabulary, lda_corpus
from discreet.models.fit_text import fit_text
from discreet.models.private import model as private
from discreet.models.private.rounds import PrivateRounds
from discreet.privacy.accounting import epsilon
from discreet.release.usefulness import Setting, Usefulness, _advice, few_words, foreseen, judge
from tests.support.spending import check_refusal, drawn, hopeless

FREQUENCIES = 1 / np.arange(1.0, 1001.0)


def table(n_topics: int, noise: float, *, topical: bool, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A noisy table of 1,000 words × topics of total 1, its variance, and the topics of whoever believes all of it."""
    generator = np.random.default_rng(seed)
    profiles = np.full((1000, n_topics), 1 / n_topics)
    if topical:  # every word has a topic of its own
        profiles = 0.1 * profiles + 0.9 * np.eye(n_topics)[np.arange(1000) % n_topics]
    exact = (FREQUENCIES / FREQUENCIES.sum())[:, None] * profiles
    variance = np.full(exact.shape, (noise * exact.mean()) ** 2)
    noisy = exact + np.sqrt(variance) * generator.standard_normal(exact.shape)
    believed = np.maximum(noisy, 1e-9)
    return noisy, variance, (believed / believed.sum(axis=0)).T


# --- the measure -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [2, 5, 20, 100])
@pytest.mark.parametrize("noise", [0.01, 1.0, 10.0, 30.0, 1000.0])
def test_words_without_topics_never_look_useful(n_topics, noise):
    """Whatever the noise (fixed seed). A measure that does not take off what noise adds by chance finds 0.08 at noise
    10 with 100 topics, and one that does not ask whether the sizes of topics are known finds 0.09 at noise 30."""
    found = judge(*table(n_topics, noise, topical=False), Setting(1.0))
    assert found is not None
    assert not found.useful
    assert found.clear_share < 0.04


@pytest.mark.parametrize("n_topics", [2, 5, 20])
def test_topics_look_useful_as_long_as_the_noise_lets_them(n_topics):
    found = judge(*table(n_topics, 0.3, topical=True), Setting(1.0))
    assert found is not None
    assert found.useful
    assert found.clear_topics == n_topics
    assert found.clear_share == pytest.approx(0.9 * (1 - 1 / n_topics), rel=0.2)
    hidden = judge(*table(n_topics, 100.0, topical=True), Setting(1.0))
    assert hidden is not None
    assert not hidden.useful
    assert hidden.reason.startswith("they differ by more than the noise in 0% of the text, and useful ones do so in")


def test_one_topic_is_not_judged():
    assert judge(*table(1, 0.1, topical=False), Setting(1.0)) is None
    assert foreseen(3, 1, Setting(1.0)) == ""


def test_few_words_are_not_useful_however_clear():
    noisy, variance, topics = (part[..., :] for part in table(2, 0.01, topical=True))
    few = noisy[:60], variance[:60], topics[:, :60]
    assert judge(*few, Setting(1.0)).useful  # a public list is its maker's choice
    found = judge(*few, Setting(1.0, n_units=2000, users=True, selected=True))
    assert not found.useful
    assert found.reason == "only 60 words were selected, and so few usually cover little of the text"
    assert found.advice == "Protect documents instead of users, or give a public word list, or use epsilon=3.5."
    fewer = judge(noisy[:9], variance[:9], topics[:, :9], Setting(1.0))
    assert fewer.summary() == (
        "topics are unlikely to be useful: 9 words are too few for 2 topics, which need 5 each. "
        "Use a list of at least 10 words."
    )


def test_the_way_out_is_computed():
    told = foreseen(2000, 20, Setting(1.0, n_units=3000))
    assert "the noise at epsilon=1 hides the topics of 2,000 words. Use at most 120 words, or more documents: " in told
    assert told.endswith("about 28,000.")
    assert foreseen(2000, 20, Setting(1.0, n_units=9000)).endswith("Use at most 500 words, or epsilon=3.5.")
    assert foreseen(2000, 20, Setting(1.0, n_units=30_000)) == ""
    assert foreseen(2000, 20, Setting(1.0)) == ""  # the number of units is not known yet
    assert foreseen(150, 50, Setting(1.0, selected=True)).endswith("Ask for 30 topics or fewer.")


@given(
    st.integers(1, 10**5),
    st.integers(2, 500),
    st.floats(0.01, 50),
    st.floats(1, 1e8) | st.none(),
    st.tuples(*[st.booleans()] * 4),
)
def test_the_way_out_is_never_more_of_the_same(n_words, n_topics, epsilon, n_units, known):
    """A larger epsilon, fewer words than there are, fewer topics, more units: whatever the setting."""
    users, selected, hidden, few = known
    setting = Setting(epsilon, n_units=n_units, users=users, selected=selected)
    few = few and bool(few_words(n_words, n_topics, selected=selected))
    advice = _advice(n_words, n_topics, setting, hidden=hidden, too_few=few)
    assert bool(advice) == (hidden or few)
    told = {name: float(found.replace(",", "")) for name, found in re.findall(r"(\w+)[ =]([\d.,]*\d)", advice)}
    assert told.get("epsilon", math.inf) > epsilon
    assert told.get("most", 0) < max(n_words, n_topics)
    assert told.get("for", 0) < n_topics
    assert told.get("about", math.inf) > (n_units or 0)


def test_it_survives_json():
    found = judge(*table(5, 0.3, topical=True), Setting(1.0))
    assert found is not None
    assert Usefulness.from_json(json.loads(json.dumps(found.to_json()))) == found
    for damage in ({"useful": 1}, {"clear_share": "much"}, {"reason": None}, {"more": 1}):
        with pytest.raises(InputError, match="usefulness"):
            Usefulness.from_json({**found.to_json(), **damage})


# --- of models -------------------------------------------------------------------------------------------------------


class Watched(PrivateRounds):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        Watched.last = self


def test_the_standard_errors_are_those_of_the_noise(monkeypatch):
    """No documents, so the averaged table is noise: its 1,200 squared cells over their variances have mean 1. Right
    code fails with probability 1e-6 (4.9 deviations of √(2/1200), fixed seed); a variance that is twice or half as
    large gives 0.5 or 2. And standard_errors_ are the same deviations on the scale of topics."""
    monkeypatch.setattr(private, "PrivateRounds", Watched)
    nothing = Corpus(np.empty(0, np.int32), [0], Vocabulary(tuple(f"w{i}" for i in range(300)), "public"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = PrivateLDA(4, epsilon=2.0, n_rounds=30, n_units=500, n_threads=1, random_state=3).fit(nothing)
    final = Watched.last.final
    assert abs((final.value**2 / final.variance).mean() - 1) < 4.9 * math.sqrt(2 / 1200)
    ratios = model.standard_errors_.T / np.sqrt(final.variance)
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[0], ratios.shape))  # one factor for each topic
    assert not model.usefulness_.useful


@pytest.mark.parametrize("kind", [PrivateLDA, SubsampledLDA])
def test_what_a_release_tells_is_on_disk_too(kind, tmp_path):
    known = lda_corpus(3000, 200, 4, mean_length=60, seed=4).corpus
    model = kind(4, epsilon=50.0, n_rounds=60, n_threads=2).fit(known)
    assert model.usefulness_.useful
    release = Release.load(model.release().save(tmp_path / "model"))
    for name in ("topic_shares", "standard_errors"):
        np.testing.assert_array_equal(getattr(release, name), getattr(model, f"{name}_"))
    assert release.topic_shares.sum() == pytest.approx(1)
    assert release.usefulness == model.usefulness_
    assert repr(release).endswith("guarantee proven, topics are likely to be useful>")
    html = release._repr_html_()
    assert "proven" in html
    assert release.usefulness.summary() in html


# --- too few words ---------------------------------------------------------------------------------------------------


def texts(n: int, kinds: tuple[str, ...]) -> Corpus:
    builder = CorpusBuilder()
    for i in range(n):
        builder.add(f"{kinds[i % len(kinds)]} own{i}")
    return builder.build()


WEATHER = "rain wind storm cloud sleet hail"


def test_too_few_words_for_any_topic_are_refused_and_the_cost_is_said():
    """One word, twenty times, and exit code 0: that is what a trial found."""
    ledger = Ledger(Budget(8.0, 1e-6))
    model = PrivateLDA(20, epsilon=8.0, n_rounds=5, ledger=ledger, n_threads=1)
    with pytest.raises(InputError, match="only 1 word was selected") as caught:
        fit_text(model, texts(600, ("rain",)))
    words = PrivateVectorizer(8.0, share=0.05).plan()
    assert ledger.entries == words.entries  # and nothing for topics
    cost = epsilon(words.entries, 1e-6)
    assert f"charged ε = {math.ceil(cost * 100) / 100:.3g}" in str(caught.value)
    assert "too few for any topics" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "components_")


def test_a_limit_of_words_that_allows_no_topics_is_refused_free():
    ledger = Ledger(Budget(8.0, 1e-6))
    with pytest.raises(InputError, match=r"max_words=5 is too few.*Nothing was charged"):
        fit_text(PrivateLDA(2, epsilon=8.0, ledger=ledger), texts(600, (WEATHER,)), max_words=5)
    assert ledger.entries == ()


@hopeless
def test_fewer_topics_are_offered():
    model = PrivateLDA(20, epsilon=8.0, n_rounds=5, n_threads=1)
    with pytest.warns(UserWarning, match="only 12 words were selected .*: 2 topics are trained instead of 20"):
        fitted = fit_text(model, texts(1500, (WEATHER, "piano violin concert music cello flute")))
    assert model.n_topics == 20  # as the caller set it
    assert fitted.n_topics == 2 == len(fitted.components_)
    assert fitted.release().parameters["n_topics"] == 2
    assert not fitted.usefulness_.useful
    fixed = PrivateLDA(3, epsilon=8.0, n_rounds=5, alpha=[0.1, 0.2, 0.3], n_threads=1)
    with pytest.raises(InputError, match=r"too few for 3 topics\. The words have been charged .* Ask for 2 topics\."):
        fit_text(fixed, texts(1500, (WEATHER,)))


def test_sixteen_users_are_refused_free():
    """How many units must share a word depends on the plan alone, and sixteen cannot."""
    corpus = texts(16, (WEATHER,))

    def fit(ledger: Ledger) -> object:
        return fit_text(PrivateLDA(2, epsilon=1.0, n_units=16, ledger=ledger), corpus)

    check_refusal(fit, ["16 units are too few to select any word from at epsilon=1"])
    check_refusal(lambda ledger: PrivateVectorizer(1.0, n_units=16, ledger=ledger).fit(corpus), ["Nothing was charged"])


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("n_different", [1, 4, 100])
def test_how_many_units_must_share_a_word(epsilon, n_different):
    """Three deviations of the noise above that number a word is selected, three below it is not: each wrong with
    probability 0.0013, seeds fixed. A number that is off by a factor of 1.5 fails in one of the two."""
    plan = PrivateVectorizer(epsilon).plan()
    wanted = plan.units_for_a_word(n_different)
    one = int(plan.weights[n_different])  # of one unit in one round
    deviations = 3 * 16384 / (one * math.sqrt(plan.rounds))
    for n, found in ((wanted + deviations + 1, True), (wanted - deviations - 1, False)):
        n = int(n)
        builder = CorpusBuilder()
        for i in range(max(n, 1)):
            builder.add("shared " + " ".join(f"own{_letters(i * 100 + j)}" for j in range(n_different - 1)))
        if found:
            assert "shared" in PrivateVectorizer(epsilon, random_state=2).fit(builder.build()).vocabulary_
        elif n_different == 1:  # a unit with other words gets weight back when these are dropped
            with pytest.raises(InputError, match="no word stood out"), drawn():
                PrivateVectorizer(epsilon, random_state=2).fit(builder.build())


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))

"""A second fit that is refused or stops: nothing of the first may stand beside it, words and promise least of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from discreet import (
    LDA,
    AdaptedLDA,
    HybridLDA,
    InputError,
    PrivateLDA,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
    WouldLeak,
)
from discreet.corpus import Vocabulary, lda_corpus
from discreet.privacy import Basis

PUBLIC = lda_corpus(300, 20, 2, mean_length=30, seed=1).corpus
PRIVATE = replace(PUBLIC, vocabulary=Vocabulary((f"secret{i}" for i in range(20)), "text"))

MODELS = [
    PrivateLDA(2, epsilon=5.0, n_rounds=3),
    AdaptedLDA(epsilon=5.0, public=LDA(2, n_sweeps=5, random_state=0).fit(lda_corpus(40, 20, 2, seed=7).corpus)),
    SubsampledLDA(2, epsilon=5.0, n_rounds=3),
    VariationalLDA(2, epsilon=5.0, n_rounds=3),
    SpectralLDA(2, epsilon=500.0),
    HybridLDA(2, epsilon=50.0, n_sweeps=3),
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def assert_unfitted(model):
    for use in (model.release, model.top_words, lambda: model.transform(PUBLIC), lambda: model.perplexity(PUBLIC)):
        with pytest.raises(NotFittedError):
            use()
    assert not {"components_", "guarantee_", "ledger_", "topic_shares_"} & vars(model).keys()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_refused_words_leave_no_model(model):
    """Otherwise the topics of the first fit would be released with the words of the second, as proven."""
    assert model.fit(PUBLIC).release().guarantee.basis is Basis.PROVEN
    with pytest.raises(WouldLeak):
        model.fit(PRIVATE)
    assert_unfitted(model)
    assert model.fit(PUBLIC).release().vocabulary == PUBLIC.vocabulary


@pytest.mark.parametrize("options", [{}, {"configuration": 1}])
def test_topics_that_are_not_enough_have_no_earlier_promise(options):
    """The second fit is paid for, and its topics were found: the small epsilon of the first is not theirs."""
    model = SpectralLDA(1, epsilon=0.5, **options).fit(PUBLIC)
    with pytest.raises(InputError, match="clear of the noise"):
        model.set_params(epsilon=5.0, n_topics=6, fewer_topics=False).fit(PUBLIC)
    with pytest.raises(NotFittedError):
        model.release()


def test_a_published_form_has_no_ledger_of_a_sound_one():
    model = HybridLDA(2, epsilon=50.0, n_sweeps=3).fit(PUBLIC)
    assert model.release().ledger
    model.set_params(as_published=True, epsilon=None, epsilon_inherent=1.0).fit(PUBLIC)
    assert not model.release().ledger


def test_a_fit_that_goes_on_keeps_what_it_has():
    model = LDA(2, n_sweeps=3, warm_start=True, random_state=1).fit(PUBLIC)
    with pytest.raises(InputError, match="warm_start"):
        model.fit(PUBLIC[:100])
    assert model.fit(PUBLIC).n_sweeps_ == 6


@pytest.mark.parametrize("kind", [PrivateLDA, SpectralLDA])
def test_numbers_of_numpy_are_numbers(kind):
    """What a guarantee would refuse in the end must not be found out after the budget is spent."""
    fitted = kind(
        2, epsilon=np.float32(500.0), delta=np.float32(1e-6), **({"n_rounds": 3} if kind is PrivateLDA else {})
    )
    assert type(fitted.fit(PUBLIC).guarantee_.delta) is float

"""What a notebook shows of a model: scikit-learn's diagram, and after a fit what the topics promise."""

from __future__ import annotations

import pytest
import sklearn

from discreet import LDA, PrivateLDA, PrivateVectorizer

COUNTS = [[3, 0, 1], [0, 2, 1], [4, 1, 0]] * 5


def shown(model) -> list[str]:
    return [model._repr_mimebundle_()["text/html"], model._repr_html_()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [LDA(2, n_sweeps=2), PrivateLDA(2, n_rounds=2)], ids=["none", "proven"])
def test_the_guarantee_is_shown_after_a_fit(model):
    for html in shown(model):
        assert "guarantee" not in html
        assert type(model).__name__ in html
    model.fit(COUNTS)
    for html in shown(model):
        assert model.guarantee_._repr_html_() in html
        assert type(model).__name__ in html


def test_the_guarantee_of_a_list_of_words_is_shown():
    vectorizer = PrivateVectorizer(epsilon=4.0).fit(["rain wind storm"] * 2000)
    assert all(vectorizer.guarantee_._repr_html_() in html for html in shown(vectorizer))


def test_as_text_where_the_user_wants_text():
    with sklearn.config_context(display="text"):
        assert list(LDA(2, n_sweeps=1).fit(COUNTS)._repr_mimebundle_()) == ["text/plain"]

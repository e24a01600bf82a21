"""Messages of the library as the command line tells them, and numbers of things."""

from __future__ import annotations

import pytest

from discreet import LDA, HybridLDA, PrivateLDA, SpectralLDA, SubsampledLDA, VariationalLDA
from discreet._errors import InputError, counted, either
from discreet.cli.wording import OPTIONS, bad_value, in_options


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 words"), (1, "1 word"), (2, "2 words"), (1234.4, "1,234 words"), (1.0, "1 word")]
)
def test_numbers_of_things(n, said):
    assert counted(n, "word") == said


def test_choices():
    assert either([".svg"]) == ".svg"
    assert either((".csv", ".npy")) == ".csv or .npy"
    assert either({".html": 1, ".csv": 2, ".json": 3}) == ".html, .csv or .json"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("n_topics=5,000 is more", "--topics 5,000 is more"),
        ("Give groups= to both, or to neither.", "Give --group to both, or to neither."),
        ("a public word list (vocabulary=)", "a public word list (--vocabulary)"),
        ("one over n_units=40: no", "one over --units 40: no"),
        ("epsilon=1 is so small", "--epsilon 1 is so small"),
        ("epsilon=-1 or delta=1e-07", "--epsilon -1 or --delta 1e-07"),
        ("as_published=True cannot be resumed", "--as-published cannot be resumed"),
        ("or fewer n_sweeps.", "or fewer --sweeps."),
        ("a smaller alpha0", "a smaller --alpha times --topics"),
        ("an epsilon, a delta and the vocabulary", "an epsilon, a delta and the vocabulary"),  # words, not parameters
        ("add --epsilon-laplace or --max-words", "add --epsilon-laplace or --max-words"),
        ("the file n_topics.csv=x", "the file --topics.csv=x"),  # rare, and no harm
        ("ε = 1, δ = 1e-06", "ε = 1, δ = 1e-06"),
    ],
)
def test_parameters_become_options(message, said):
    assert in_options(message) == said


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LDA(3, alpha=0.0), "--alpha must be at least 1e-06 and at most 1e+06; found 0."),
        (LDA(0), "--topics must be at least 1 and at most 65,535; found 0."),
        (PrivateLDA(3, n_units=0), "--units must be at least 1 and at most 9,007,199,254,740,992; found 0."),
        (PrivateLDA(3, delta=1.0), "--delta must be at least 1e-30 and below 1; found 1."),
        (SubsampledLDA(3, epsilon=1e-12), "--epsilon must be at least 1e-09 and at most 1e+06; found 1e-12."),
        (HybridLDA(3, epsilon_inherent=0.0), "--epsilon-inherent must be above 0 and at most 64; found 0."),
        (VariationalLDA(3, beta=float("nan")), "--beta must be at least 1e-06 and at most 1e+06; found nan."),
        (SpectralLDA(3, alpha0=1e9), "--alpha times --topics must be at least 1e-06 and at most 1e+06; found 1e+09."),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_ranges_in_the_words_of_scikit_learn_become_ours(model, said):
    with pytest.raises(InputError) as caught:
        model.fit([[1, 2], [2, 1]])
    assert in_options(str(caught.value)) == said


def test_every_option_of_fit_that_sets_a_parameter_is_known():
    from discreet.cli.methods import PARAMETERS

    for option, parameter in PARAMETERS.items():
        assert OPTIONS[parameter] == f"--{option}"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            "Invalid value for '--topics' / '-k': Input should be a valid integer, unable to parse string",
            "Invalid value for --topics: it must be a whole number.",
        ),
        (
            "Invalid value for '--epsilon': Input should be a valid number, unable to parse string as a number",
            "Invalid value for --epsilon: it must be a number.",
        ),
        (
            "Invalid value for '--threads': Input should be greater than or equal to 1",
            "Invalid value for --threads: it must be at least 1.",
        ),
        (
            "Invalid value for '--configuration': Input should be less than or equal to 4.",
            "Invalid value for --configuration: it must be at most 4.",
        ),
        (
            "Invalid value for '-n' / '--words': Input should be greater than or equal to 1",
            "Invalid value for --words: it must be at least 1.",
        ),
        ("Invalid value for '--seed': 'x' is not an integer.", "Invalid value for '--seed': 'x' is not an integer."),
    ],
)
def test_values_that_an_option_does_not_take(theirs, ours):
    assert bad_value(theirs) == ours

"""A guarantee says what it means, survives JSON, and cannot be built half."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet._errors import InputError
from discreet.privacy import EXACT_COUNTS, SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.guarantee import rounded_up

PROVEN = Guarantee(1.0, 1e-6, Unit.DOCUMENT, Observer.STATISTICS, Relation.ADD_REMOVE, Basis.PROVEN)


def any_guarantee() -> st.SearchStrategy[Guarantee]:
    reasons = st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=3).map(tuple)
    some = st.builds(
        Guarantee,
        st.floats(0, 1e6),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(Unit),
        st.sampled_from(Observer),
        st.sampled_from(Relation),
        st.sampled_from([Basis.PROVEN, Basis.CLAIMED, Basis.ESTIMATE]),
        reasons,
    )
    return some | reasons.map(lambda r: Guarantee.none(*r))


@given(any_guarantee())
def test_json_round_trip(guarantee: Guarantee) -> None:
    text = json.dumps(guarantee.to_json(), allow_nan=False)
    assert Guarantee.from_json(json.loads(text)) == guarantee


@given(any_guarantee())
def test_summary_and_paragraph_name_the_basis(guarantee: Guarantee) -> None:
    assert guarantee.summary().startswith("none") == (guarantee.basis is Basis.NONE)
    assert str(guarantee).startswith(
        {
            Basis.PROVEN: "Differential privacy, proven.",
            Basis.CLAIMED: "Differential privacy, claimed but not proven.",
            Basis.ESTIMATE: "An estimate for the curator, not a guarantee.",
            Basis.NONE: "No privacy guarantee.",
        }[guarantee.basis]
    )
    assert all(reason in str(guarantee) for reason in guarantee.reasons)


def test_the_summary_names_a_condition() -> None:
    """A line in a log must not promise more than the whole text does."""
    one, two = (replace(PROVEN, reasons=reasons) for reasons in (("the list is public",), ("a", "b")))
    assert one.summary().endswith("observer: proven, if the list is public")
    assert two.summary().endswith("observer: proven, if a, and 1 more condition")
    assert replace(PROVEN, reasons=("a", "b", "c")).summary().endswith(", if a, and 2 more conditions")


def test_a_repr_is_one_line_and_a_notebook_shows_the_paragraph() -> None:
    """No bare ε: the repr has the condition too. Reasons may hold names of files, so they are escaped."""
    guarantee = replace(PROVEN, reasons=("<script> is public",))
    assert repr(guarantee) == f"<Guarantee: {guarantee.summary()}>"
    assert repr(guarantee).endswith("proven, if <script> is public>")
    shown = guarantee._repr_html_()
    assert "&lt;script&gt; is public" in shown
    assert "<script>" not in shown
    assert "Differential privacy, proven." in shown
    assert repr(Guarantee.none("x")) == "<Guarantee: none: x>"


@given(st.floats(1e-9, 1e6), st.integers(2, 7))
def test_a_printed_epsilon_is_never_less(epsilon: float, digits: int) -> None:
    shown = float(rounded_up(epsilon, digits))
    assert epsilon * (1 - 2e-12) <= shown <= epsilon * (1 + 10 ** (1 - digits))


def test_rounding_up_leaves_round_numbers_alone() -> None:
    assert [rounded_up(x) for x in (1.0, 0.1 * 3, 1.0000004, 0.0, math.inf)] == ["1", "0.3", "1.00001", "0", "inf"]


def test_words_of_an_ordinary_model() -> None:
    guarantee = Guarantee.none(EXACT_COUNTS)
    assert guarantee.summary() == (
        "none: topics are computed from exact counts, so a membership attack can find training documents"
    )
    assert str(guarantee).startswith("No privacy guarantee.")
    assert "membership attack" in str(guarantee)
    assert guarantee.epsilon == math.inf


def test_a_seeded_run_reads_none_seeded() -> None:
    assert Guarantee.none(SEEDED).summary().startswith("none: seeded")


def test_words_of_a_proof() -> None:
    assert PROVEN.summary() == "ε = 1, δ = 1e-06 for one document (add-remove), seen by the statistics observer: proven"
    assert "2.72 times" in str(PROVEN)
    assert "plus 1e-06" in str(PROVEN)
    assert "one document added or removed" in str(PROVEN)
    assert "every statistic released" in str(PROVEN)


@pytest.mark.parametrize(
    ("epsilon", "factor"), [(4.0, "54.6"), (3.99348, "54.3"), (8.0, "2,990"), (20.0, "486,000,000")]
)
def test_a_printed_factor_is_never_less_and_a_plain_number(epsilon: float, factor: str) -> None:
    promise = Guarantee(epsilon, 1e-6, Unit.DOCUMENT, Observer.STATISTICS, Relation.ADD_REMOVE, Basis.PROVEN)
    assert f"at most {factor} times as likely" in str(promise)
    assert float(factor.replace(",", "")) >= math.exp(epsilon)


def test_a_huge_epsilon_is_called_by_its_name() -> None:
    huge = Guarantee(810.0, 1e-6, Unit.WORD, Observer.TRAJECTORY, Relation.REPLACE, Basis.PROVEN)
    assert "protects nothing in practice" in str(huge)


def test_a_word_level_promise_says_that_it_is_not_a_document_level_one() -> None:
    word = Guarantee(1.0, 0.0, Unit.WORD, Observer.TRAJECTORY, Relation.REPLACE, Basis.PROVEN)
    assert "A whole document has less protection" in str(word)


def test_strings_become_members() -> None:
    same = Guarantee(1, 1e-6, "document", "statistics", "add-remove", "proven")  # type: ignore[arg-type]
    assert same == PROVEN
    assert same.unit is Unit.DOCUMENT


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PROVEN.epsilon = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": -1.0}, "epsilon >= 0"),
        ({"epsilon": math.nan}, "epsilon >= 0"),
        ({"epsilon": math.inf}, "finite epsilon"),
        ({"epsilon": "1"}, "must be a number"),
        ({"epsilon": True}, "must be a number"),
        ({"delta": 1.0}, "delta < 1"),
        ({"delta": math.nan}, "delta < 1"),
        ({"unit": None}, "needs a finite epsilon, a unit"),
        ({"unit": "family"}, "unit must be one of word, document"),
        ({"observer": []}, "observer must be one of"),
        ({"relation": None}, "a relation"),
        ({"basis": None}, "basis must be one of"),
        ({"basis": "claimed"}, "must give its reasons"),
        ({"basis": "none", "reasons": ("x",)}, "has no numbers"),
        ({"reasons": "x"}, "must be phrases"),
        ({"reasons": ("",)}, "must be phrases"),
        ({"reasons": (1,)}, "must be phrases"),
    ],
)
def test_a_guarantee_cannot_be_built_half(change: dict[str, Any], message: str) -> None:
    fields = {name: getattr(PROVEN, name) for name in Guarantee.__dataclass_fields__}
    with pytest.raises(InputError, match=message):
        Guarantee(**{**fields, **change})


def test_none_needs_a_reason() -> None:
    with pytest.raises(InputError, match="must give its reasons"):
        Guarantee.none()


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        "none",
        {},
        {**PROVEN.to_json(), "extra": 1},
        {k: v for k, v in PROVEN.to_json().items() if k != "unit"},
        {**PROVEN.to_json(), "epsilon": None},
        {**PROVEN.to_json(), "basis": "certain"},
        {**PROVEN.to_json(), "reasons": "because"},
        {**PROVEN.to_json(), "reasons": [None]},
    ],
)
def test_json_that_is_no_guarantee(broken: Any) -> None:
    with pytest.raises(InputError):
        Guarantee.from_json(broken)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_of_a_pure_promise_has_n_times_the_epsilon() -> None:
    word = Guarantee(0.1, 0.0, Unit.WORD, Observer.TRAJECTORY, Relation.REPLACE, Basis.PROVEN, ("a public vocabulary",))
    group = word.for_group(50)
    assert (group.epsilon, group.delta, group.group) == (pytest.approx(5.0), 0.0, 50)
    assert group.reasons == word.reasons
    assert "a document of 50 words is replaced by another of the same length" in str(group)
    assert "less protection" not in str(group)
    assert "for 50 words together" in group.summary()
    assert word.for_group(10**6).epsilon == pytest.approx(1e5)


def test_a_group_of_an_approximate_promise() -> None:
    """Three steps between neighbours, each (ε, δ): δ + e^ε·(δ + e^ε·δ)."""
    group = PROVEN.for_group(3)
    assert group.epsilon == 3
    assert group.delta == pytest.approx(1e-6 * (1 + math.e + math.e**2))
    assert "3 documents added or removed" in str(group)
    assert PROVEN.for_group(2).for_group(3).group == 6
    assert PROVEN.for_group(1) is PROVEN


@pytest.mark.parametrize("n", [14, 10_000])
def test_a_vacuous_group_is_called_none(n: int) -> None:
    """ε = 1, δ = 1e-6, n = 14: δ′ would be .70."""
    group = PROVEN.for_group(n)
    assert group.basis is Basis.NONE
    assert group.summary().startswith(f"none: for {n} documents together")
    assert n > 14 or "δ = 0.7," in group.summary()


def test_groups_where_there_is_little_to_multiply() -> None:
    nothing = Guarantee.none(EXACT_COUNTS)
    assert nothing.for_group(5) is nothing
    flat = Guarantee(0.0, 1e-6, Unit.USER, Observer.MODEL, Relation.ADD_REMOVE, Basis.CLAIMED, ("x",)).for_group(5)
    assert (flat.epsilon, flat.delta, flat.basis) == (0.0, pytest.approx(5e-6), Basis.CLAIMED)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_a_group_that_is_none(n: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        PROVEN.for_group(n)


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("relation", Relation)
def test_every_group_has_words_and_survives_json(unit: Unit, relation: Relation) -> None:
    group = Guarantee(0.1, 0.0, unit, Observer.MODEL, relation, Basis.PROVEN).for_group(7)
    assert "7" in str(group)
    assert Guarantee.from_json(json.loads(json.dumps(group.to_json()))) == group


def test_json_from_before_groups() -> None:
    assert Guarantee.from_json({k: v for k, v in PROVEN.to_json().items() if k != "group"}) == PROVEN
    with pytest.raises(InputError, match="group"):
        Guarantee.from_json({**PROVEN.to_json(), "group": 0})

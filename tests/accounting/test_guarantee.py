"""Guarantees: readable by people who sign things, exact in JSON, loud when nothing is promised."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.accountant import calibrate
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.errors import BudgetError, ParameterError

PLAN = (Event("gaussian", 11.8, 10, "moments"),)
PERSON = Guarantee(
    epsilon=1.0,
    delta=1e-5,
    unit="person",
    events=PLAN,
    trusts="one curator, who sees all rows",
    reveals=("weights, means and covariances of 3 components",),
    declared=("bounds", "rows per person 1"),
    person="user",
    rows_per_person=1.0,
)
ROW = replace(PERSON, unit="row", person=None, rows_per_person=None)
PLAIN = replace(ROW, epsilon=math.inf, delta=0.0, events=())

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def test_the_words_of_a_guarantee_contain_the_key_facts() -> None:
    words = PERSON.words()
    for fact in (
        "all rows of one person",
        "'user'",
        "one person added or removed",
        "epsilon 1 and delta 1e-05",
        "e^epsilon = 2.72",
        "1 in 100,000",
        "73.2%",
        "one curator, who sees all rows",
        "weights, means and covariances of 3 components",
        "bounds; rows per person 1",
        "10 releases with Gaussian noise",
    ):
        assert fact in words
    assert "not private" not in words
    assert "WARNING" not in words


def test_the_words_about_rows_say_that_persons_are_not_covered() -> None:
    assert "one row of the table" in ROW.words()
    assert "protected for each of them alone" in ROW.words()
    assert "all rows of one person" not in ROW.words()


def test_words_for_rows_that_their_owners_made_noisy() -> None:
    words = replace(ROW, neighbours="change one").words()
    assert "another value in one row" in words
    assert "how many rows there are is not protected" in words
    assert "added or removed" not in words
    assert "(change one)" in replace(ROW, neighbours="change one").summary()


def test_a_plain_run_says_loudly_that_it_is_not_private() -> None:
    assert not PLAIN.private
    assert PLAIN.words().startswith("WARNING: not private (epsilon infinity)")
    assert "What is protected" not in PLAIN.words()
    assert PLAIN.summary().startswith("not private (epsilon infinity)")


def test_a_seeded_run_says_loudly_that_it_is_not_private() -> None:
    seeded = replace(PERSON, seeded=True)
    assert not seeded.private
    assert seeded.words().startswith("WARNING: not private (seeded)")
    assert "What is protected" not in seeded.words()
    assert "not private (seeded)" in replace(PLAIN, seeded=True).words()
    assert "not private (epsilon infinity)" in replace(PLAIN, seeded=True).words()


def test_words_for_delta_zero_and_for_large_epsilon() -> None:
    pure = replace(ROW, delta=0.0, events=(Event("laplace", 10, 10),))
    assert "without exception" in pure.words()
    assert "promises very little" in replace(ROW, epsilon=12.0).words()
    assert "promises very little" not in ROW.words()
    assert "more than 10^300" in replace(ROW, epsilon=1000.0).words()


@pytest.mark.parametrize(
    ("epsilon", "delta", "right"), [(1.0, 0.0, "73.2%"), (0.01, 0.0, "50.3%"), (1.0, 0.1, "75.8%")]
)
def test_the_best_guess_is_the_one_the_guarantee_allows(epsilon: float, delta: float, right: str) -> None:
    """(e**epsilon + delta) / (e**epsilon + 1), rounded up."""
    assert f"at most {right} of the time" in replace(ROW, epsilon=epsilon, delta=delta).words()


@given(
    st.floats(1e-6, 1e6) | st.just(math.inf),
    st.floats(0, 0.9),
    st.sampled_from(["row", "person"]),
    st.booleans(),
    TEXTS,
    st.lists(TEXTS, max_size=3),
)
@settings(deadline=None)
def test_a_guarantee_survives_json_exactly(
    epsilon: float, delta: float, unit: Any, seeded: bool, trusts: str, texts: list[str]
) -> None:
    person = (texts[0], 2.5) if unit == "person" and texts else (None, None)
    events = () if math.isinf(epsilon) else PLAN
    before = Guarantee(epsilon, delta, unit, events, trusts, tuple(texts), tuple(texts[1:]), seeded, *person)
    after = Guarantee.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False)))
    assert after == before
    assert after.words() == before.words()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"delta": 1.0},
        {"unit": "household"},
        {"neighbours": "replace one"},
        {"unit": "row"},
        {"epsilon": math.inf},
        {"rows_per_person": 0.0},
        {"rows_per_person": math.inf},
        {"rows_per_person": "2"},
        {"trusts": 7},
        {"reveals": (None,)},
        {"declared": ([],)},
    ],
)
def test_a_guarantee_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        replace(PERSON, **change)


def test_other_data_is_not_read_as_a_guarantee() -> None:
    with pytest.raises(ParameterError, match="not a guarantee"):
        Guarantee.from_dict({"epsilon": 1.0})


def test_a_guarantee_may_not_claim_less_than_its_plan_costs() -> None:
    factor = calibrate([Event("gaussian", 1, 10)], 1.0, 1e-5)
    replace(PERSON, events=(Event("gaussian", factor, 10),)).check()
    with pytest.raises(BudgetError, match="cost more than the guarantee claims"):
        replace(PERSON, events=(Event("gaussian", factor * 0.999, 10),)).check()
    with pytest.raises(BudgetError, match="cost more"):
        replace(PERSON, delta=0.0).check()
    PLAIN.check()

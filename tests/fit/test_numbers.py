"""Numbers of a request: what passes comes back as a number, what does not is refused with a remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.fit.numbers import check_choice, check_delta, check_epsilon, check_number, check_whole


def test_budgets_come_back_as_numbers() -> None:
    assert check_epsilon(np.float32(0.5)) == 0.5 and math.isinf(check_epsilon(math.inf))
    assert check_delta(None, math.inf) == check_delta("never looked at", math.inf) == 0.0
    assert check_delta(None, 1.0, pure=True) == check_delta(0, 1.0, pure=True) == 0.0
    assert check_delta(1e-6, 1.0) == check_delta(1e-6, 1.0, pure=True) == 1e-6


@pytest.mark.parametrize("value", [0, -1, True, "1", None, math.nan, 1e-7])
def test_what_is_no_epsilon_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="privacy budget"):
        check_epsilon(value)


@pytest.mark.parametrize("value", [1, -1e-9, True, "1", math.nan])
def test_what_is_no_delta_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="not a probability"):
        check_delta(value, 1.0, pure=True)


def test_the_remedy_for_a_missing_delta_names_a_noise_that_there_is() -> None:
    for pure, told in ((None, False), (False, True)):
        for value in (None, 0):
            with pytest.raises(ParameterError) as refused:
                check_delta(value, 1.0, pure=pure)
            assert ("laplace" in str(refused.value)) == told


def test_whole_numbers_ranges_and_choices() -> None:
    check_whole("n", np.int64(3), 3, 3)
    check_number("x", 0, low=0)
    check_choice("way", None, (None, "up"))
    for call, told in (
        (lambda: check_whole("n", 2, 3), "3 or more"),
        (lambda: check_whole("n", 4, 3, 3), "n is too large"),
        (lambda: check_whole("n", 3.0, 3), "not a whole number"),
        (lambda: check_whole("n", True, 0), "not a whole number"),
        (lambda: check_number("x", math.nan, low=0), "from 0"),
        (lambda: check_number("x", True, low=0), "out of range"),
        (lambda: check_number("x", 2, low=0, high=1, remedy="Take less."), "Take less"),
        (lambda: check_choice("way", "left", (None, "up")), "None or up"),
    ):
        with pytest.raises(ParameterError, match=told):
            call()

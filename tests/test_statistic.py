"""Sums are exact in any order; bounds survive a coarser grid; nothing of a total is ever shown."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.statistic import EXACT, Statistic, Totals

INT64 = st.integers(-(2**63), 2**63 - 1)
HUGE = st.integers(-(2**200), 2**200)


def objects(values: list[int]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def statistic(total: list[int], **changes: Any) -> Statistic:
    return Statistic(**{"total": objects(total), "grid": 1.0, "l1": 8.0, "l2": 8.0, "label": "x", **changes})


@given(st.lists(st.lists(INT64, min_size=3, max_size=3), min_size=1, max_size=40), st.randoms())
def test_totals_are_exact_and_do_not_depend_on_the_order(chunks: list[list[int]], random: Any) -> None:
    wanted = [sum(column) for column in zip(*chunks, strict=True)]
    for _ in range(2):
        totals = Totals()
        for chunk in chunks:
            totals.add({"sums": np.array(chunk, dtype=np.int64)})
        assert list(totals.result()["sums"]) == wanted
        assert all(type(value) is int for value in totals.result()["sums"])
        random.shuffle(chunks)


def test_totals_pass_the_ends_of_int64_without_wrapping() -> None:
    most, least = 2**63 - 1, -(2**63)
    totals = Totals()
    for _ in range(1000):
        totals.add({"sums": np.array([most, least, most], dtype=np.int64)})
        totals.add({"sums": np.array([1, -1, least], dtype=np.int64)})
    assert list(totals.result()["sums"]) == [1000 * 2**63, -1000 * (2**63 + 1), -1000]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(INT64, min_size=2, max_size=2)), min_size=1, max_size=30)
)
def test_totals_of_workers_add_up_as_if_one_had_done_it_all(work: list[tuple[int, list[int]]]) -> None:
    workers = [Totals() for _ in range(4)]
    for worker, chunk in work:
        workers[worker].add({"sums": np.array(chunk, dtype=np.int64)})
    together = Totals()
    for one in workers:
        together.add(one.result())
    assert list(together.result()["sums"]) == [sum(chunk[i] for _, chunk in work) for i in (0, 1)]


def test_a_result_may_be_read_in_between_and_a_chunk_changed_afterwards() -> None:
    totals, chunk = Totals(), np.array([5, 7], dtype=np.int64)
    totals.add({"sums": chunk})
    chunk[:] = -1
    assert list(totals.result()["sums"]) == [5, 7]
    totals.add({"sums": np.array([2**62, 1], dtype=np.int64), "more": np.array([0.5])})
    totals.add({"more": np.array([0.25])})
    assert list(totals.result()["sums"]) == [5 + 2**62, 8]
    assert totals.result()["more"][0] == 0.75


@settings(max_examples=300)
@given(
    st.lists(st.tuples(HUGE, st.integers(-(2**40), 2**40)), min_size=1, max_size=6),
    st.integers(1, 2**70),
)
def test_coarsening_keeps_the_bound_whatever_the_total(pairs: list[tuple[int, int]], units: int) -> None:
    """Any total s and any change q within the bounds: also after rounding, they differ within the bounds."""
    total, change = [s for s, _ in pairs], [q for _, q in pairs]
    l1 = math.nextafter(float(sum(map(abs, change)) + 1), math.inf)
    l2 = math.nextafter(math.sqrt(sum(q * q for q in change)) + 1, math.inf)
    check_coarse(total, change, units, l1, l2)


@given(st.integers(2, 2**40), st.integers(1, 6), st.integers(-5, 5))
def test_coarsening_keeps_the_bound_where_rounding_hurts_most(units: int, size: int, turns: int) -> None:
    """Totals just below the middle between two units: a change of one moves each coordinate by a unit."""
    middle = turns * units + (units - 1) // 2
    coarse = check_coarse([middle] * size, [1] * size, units, float(size), math.sqrt(size))
    if units % 2 == 0:
        without = statistic([middle] * size, l1=1.0, l2=1.0).coarsen(units).total
        moved = statistic([middle + 1] * size, l1=1.0, l2=1.0).coarsen(units).total - without
        assert list(moved) == [1] * size
        assert coarse.l2 < math.sqrt(size) * (1 + 1 / units) * 1.01  # nothing is wasted either


def check_coarse(total: list[int], change: list[int], units: int, l1: float, l2: float) -> Statistic:
    without = statistic(total, l1=l1, l2=l2).coarsen(units)
    joined = statistic([s + q for s, q in zip(total, change, strict=True)], l1=l1, l2=l2).coarsen(units)
    moved = [int(value) for value in joined.total - without.total]
    assert sum(map(abs, moved)) <= Fraction(without.l1)
    assert sum(value * value for value in moved) <= Fraction(without.l2) ** 2
    return without


@given(st.lists(HUGE, min_size=1, max_size=5), st.integers(2, 2**70))
def test_coarsening_rounds_to_the_nearest_unit(total: list[int], units: int) -> None:
    coarse = statistic(total, grid=2.0**-36).coarsen(units)
    for fine, rounded in zip(total, coarse.total, strict=True):
        assert abs(2 * (fine - int(rounded) * units)) <= units
    assert coarse.grid == 2.0**-36 * units


def test_coarsening_by_one_unit_or_less_changes_nothing() -> None:
    one = statistic([3, -4])
    assert one.coarsen(1) is one
    assert one.coarsen(0) is one


@pytest.mark.parametrize("name", ["l1", "l2", "grid"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_statistic_without_a_bound_is_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match="must be a length"):
        statistic([1], **{name: value})


def test_neither_repr_nor_errors_show_a_total() -> None:
    one = statistic([123456789])
    assert "123456789" not in repr(one)
    with pytest.raises(ParameterError) as caught:
        statistic([123456789], l1=0.0)
    assert "123456789" not in str(caught.value)


def test_float64_is_exact_up_to_the_stated_size_and_not_beyond() -> None:
    assert EXACT - 1 + 1 == EXACT
    assert EXACT + 1 == EXACT

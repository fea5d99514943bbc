"""Picking and ordering on shares equal plain arithmetic; only the answer is opened, as the plan says."""

import numpy as np
import pytest
from circuit_shares import is_uniform, joined, refused_at_once, seen, split
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protocols import order, pick
from discreet.protocols.order import Order
from discreet.protocols.pick import Pick
from discreet.protocols.step import run_pair
from discreet.randomness import secure


def scores(width, shape, seed=0):
    """Words at the ends of the range, equal ones, and random ones."""
    random = np.random.default_rng(seed)
    low, high = -(2 ** (width - 1)), 2 ** (width - 1)
    few = np.array([low, high - 1, 0, -1], dtype=np.int64)
    mixed = np.where(
        random.random(shape) < 0.6, few[random.integers(0, 4, shape)], random.integers(low, high, shape)
    )
    return mixed.astype(np.int64)


def picked(plan, values, thresholds=None, seed=0):
    first, second = split(values, plan.width, seed)
    return run_pair(
        pick.hold_model(plan, first, secure(), thresholds), pick.hold_scores(plan, second, secure())
    )


@pytest.mark.parametrize("width", [1, 2, 8, 24, 33, 62])
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_the_largest_is_picked(width, count):
    values = scores(width, (25, count), width)
    told, found, _ = picked(Pick("argmax", count, width, 25), values)
    assert told is None
    assert np.array_equal(found[:, 0], values.argmax(axis=1))


@pytest.mark.parametrize("width", [1, 8, 24, 62])
def test_the_largest_is_accepted_only_at_or_above_the_threshold(width):
    values, thresholds = scores(width, (40, 3), 1), scores(width, (40, 1), 2)
    told, found, _ = picked(Pick("accept", 3, width, 40, "both"), values, thresholds)
    wanted = np.where(values.max(axis=1) >= thresholds[:, 0], values.argmax(axis=1), 3)
    assert np.array_equal(found[:, 0], wanted)
    assert np.array_equal(told, found)


def test_each_score_is_compared_with_its_threshold():
    values, thresholds = scores(24, (30, 5), 3), scores(24, (30, 5), 4)
    told, found, _ = picked(Pick("above", 5, 24, 30, "garbler"), values, thresholds)
    assert found is None
    assert np.array_equal(told, values >= thresholds)


def test_with_shares_nobody_learns_and_shares_are_uniform():
    values = np.full((4000, 4), 5, dtype=np.int64)
    first, second, transcript = picked(Pick("argmax", 4, 16, 4000, "shares"), values)
    assert not joined(first, second, 2, signed=False).any()
    for share in (first, second):
        assert abs(np.bincount(share[:, 0].astype(int), minlength=4) - 1000).max() < 6 * 28
    assert "open/shares" not in {record.name for record in transcript}


@pytest.mark.parametrize("answer", ["argmax", "accept"])
def test_the_label_and_not_the_number_is_learned(answer):
    values = scores(24, (20, 6), 5)
    thresholds = scores(24, (20, 1), 6) if answer == "accept" else None
    plan = Pick(answer, 6, 24, 20)
    labels = np.random.default_rng(0).integers(0, 2**63, (plan.options, 3)).astype(np.uint64)
    first, second = split(values, 24)
    told, found, transcript = run_pair(
        pick.tell_label(plan, first, labels, secure(), thresholds),
        pick.learn_label(plan, second, 3, secure()),
    )
    number = values.argmax(axis=1)
    if thresholds is not None:
        number = np.where(values.max(axis=1) >= thresholds[:, 0], number, 6)
    assert told is None
    assert np.array_equal(found, labels[number])
    assert "open/shares" not in {record.name for record in transcript}


@given(
    width=st.integers(1, 40),
    count=st.integers(1, 6),
    answer=st.sampled_from(["maximum", "both"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15, deadline=None)
def test_the_maximum_stays_shared(width, count, answer, seed):
    if answer == "both" and count > 2**width:
        width = 3
    values = scores(width, (7, count), seed)
    plan = Order(answer, count, width, 7)
    first, second = split(values, width, seed)
    a, b, _ = run_pair(order.hold_first(plan, first, secure()), order.hold_second(plan, second, secure()))
    assert np.array_equal(joined(a[:, :1], b[:, :1], width)[:, 0], values.max(axis=1))
    if answer == "both":
        assert np.array_equal(joined(a, b, width, signed=False)[:, 1], values.argmax(axis=1))


@pytest.mark.parametrize("opened", ["shares", "garbler", "evaluator", "both"])
def test_a_comparison_is_opened_to_those_who_are_named(opened):
    values = scores(30, (50, 2), 9)
    plan = Order("less", 2, 30, 50, opened)
    first, second = split(values, 30)
    a, b, _ = run_pair(order.hold_first(plan, first, secure()), order.hold_second(plan, second, secure()))
    wanted = values[:, 0] < values[:, 1]
    if opened == "shares":
        assert np.array_equal((a ^ b)[:, 0], wanted)
    for party, found in (("garbler", a), ("evaluator", b)):
        if opened in (party, "both"):
            assert np.array_equal(found[:, 0], wanted)
        elif opened != "shares":
            assert found is None


@pytest.mark.parametrize("value", [-(2**23), 0, 2**23 - 1])
def test_what_is_seen_is_uniform_and_sizes_say_nothing(value):
    values = np.full((10, 4), value, dtype=np.int64)
    plan = Pick("argmax", 4, 24, 10, "shares")
    _, _, transcript = picked(plan, values)
    assert is_uniform(seen(transcript, "first"))
    assert is_uniform(seen(transcript, "second"))
    assert transcript.forms == picked(plan, values + np.arange(4) * (1 if value <= 0 else -1))[2].forms


@pytest.mark.parametrize("role", ["garbler", "evaluator"])
def test_shares_wider_than_declared_are_refused_before_anything_is_sent(role):
    plan = Pick("argmax", 3, 8, 2)
    for share in (
        np.full((2, 3), 256, dtype=np.uint64),
        np.zeros((2, 4), dtype=np.uint64),
        np.zeros((2, 3), dtype=np.int64),
    ):
        start = pick.hold_model if role == "garbler" else pick.hold_scores
        refusal = refused_at_once(start(plan, share, secure()))
        assert isinstance(refusal, ParameterError)
        assert "256" not in str(refusal).replace("2**8", "")


def test_thresholds_that_do_not_fit_are_refused_before_anything_is_sent():
    plan, share = Pick("accept", 3, 8, 1), np.zeros((1, 3), dtype=np.uint64)
    for threshold in (np.array([[128]]), np.array([[-129]]), np.array([[0.5]])):
        refusal = refused_at_once(pick.hold_model(plan, share, secure(), threshold))
        assert isinstance(refusal, ParameterError)
        assert "12" not in str(refusal)
    assert isinstance(refused_at_once(pick.hold_model(plan, share, secure())), ParameterError)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Pick("median", 3, 8),
        lambda: Pick("argmax", 0, 8),
        lambda: Pick("argmax", 3, 65),
        lambda: Pick("argmax", 3, 8, 0),
        lambda: Pick("argmax", 3, 8, 1, "nobody"),
        lambda: Order("less", 3, 8),
        lambda: Order("rank", 2, 8),
        lambda: Order("maximum", 0, 8),
    ],
)
def test_plans_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_labels_of_the_wrong_form_are_refused_before_anything_is_sent():
    plan, share = Pick("argmax", 3, 8), np.zeros((1, 3), dtype=np.uint64)
    refusal = refused_at_once(pick.tell_label(plan, share, np.zeros((2, 1), dtype=np.uint64), secure()))
    assert isinstance(refusal, ParameterError)
    above = Pick("above", 3, 8)
    assert isinstance(refused_at_once(pick.learn_label(above, share, 1, secure())), ParameterError)
    numbers = Order("both", 9, 3)
    refusal = refused_at_once(order.hold_second(numbers, np.zeros((1, 9), dtype=np.uint64), secure()))
    assert isinstance(refusal, ParameterError)

"""Best paths on shares are those of the plain algorithm, opened to those who are named, else hidden."""

from itertools import pairwise, product

import numpy as np
import pytest
from circuit_shares import is_uniform, refused_at_once, seen, split
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protocols.step import run_pair
from discreet.protocols.trellis import (
    Trellis,
    Weights,
    all_arcs,
    left_right,
    plain_path,
    trace_data,
    trace_model,
)
from discreet.randomness import secure


def case(steps, count, arcs, seed=0, opened="evaluator", coarse=False):
    """A plan, weights, and scores in units; coarse ones are often equal."""
    random = np.random.default_rng(seed)
    plan = Trellis("max", steps, count, arcs, low=-20, high=20, opened=opened)
    shape = (count, plan.states)
    draw = (
        (lambda size: random.integers(-2, 3, size).astype(float))
        if coarse
        else (lambda size: random.normal(0, 5, size))
    )
    weights = Weights(draw(shape), draw((*shape, plan.states)), draw(shape))
    return plan, weights, plan.fixed(np.clip(draw((steps, *shape)), -20, 20))


def traced(plan, weights, values, seed=0):
    first, second = split(values, plan.width, seed)
    return run_pair(trace_model(plan, weights, first, secure()), trace_data(plan, second, secure()))


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize(
    "arcs", [all_arcs(1), all_arcs(2), all_arcs(5), left_right(4), ((1, 0), (0, 1), (2, 2), (0, 2))]
)
def test_the_best_path_is_the_plain_one(arcs, coarse):
    plan, weights, values = case(9, 4, arcs, 3, coarse=coarse)
    told, path, _ = traced(plan, weights, values)
    assert told is None
    assert np.array_equal(path, plain_path(plan, weights, values))
    steps = {(int(a), int(b)) for before, after in pairwise(path) for a, b in zip(before, after, strict=True)}
    assert steps <= set(arcs)


def test_no_path_is_better_than_the_plain_best_one():
    plan, weights, values = case(4, 3, left_right(3), 5)
    path = plain_path(plan, weights, values)
    start, arcs, end = (plan.fixed(part) for part in (weights.start, weights.transitions, weights.end))

    def worth(model, states):
        total = start[model, states[0]] + end[model, states[-1]]
        total += sum(values[step, model, state] for step, state in enumerate(states))
        return total + sum(arcs[model, a, b] for a, b in pairwise(states))

    for model in range(3):
        allowed = [
            states
            for states in product(range(3), repeat=4)
            if all((a, b) in plan.arcs for a, b in pairwise(states))
        ]
        best = max(worth(model, states) for states in allowed)
        assert worth(model, tuple(path[:, model])) == best


@given(steps=st.integers(1, 6), count=st.integers(1, 3), states=st.integers(1, 6), seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_any_best_path_is_right(steps, count, states, seed):
    random = np.random.default_rng(seed)
    arcs = {(int(random.integers(states)), j) for j in range(states)}
    arcs |= {(int(i), int(j)) for i, j in random.integers(0, states, (4, 2))}
    plan, weights, values = case(steps, count, tuple(sorted(arcs)), seed, coarse=bool(seed % 2))
    assert np.array_equal(traced(plan, weights, values, seed)[1], plain_path(plan, weights, values))


@pytest.mark.parametrize("opened", ["garbler", "both"])
def test_paths_are_opened_to_those_who_are_named(opened):
    plan, weights, values = case(5, 2, all_arcs(3), 1, opened)
    told, found, _ = traced(plan, weights, values)
    assert np.array_equal(told, plain_path(plan, weights, values))
    assert found is None if opened == "garbler" else np.array_equal(found, told)


def test_shared_paths_are_uniform_and_nothing_is_opened():
    plan, weights, values = case(40, 60, all_arcs(4), 1, "shares")
    first, second, transcript = traced(plan, weights, values)
    assert np.array_equal((first + second) % np.uint64(4), plain_path(plan, weights, values))
    for share in (first, second):
        counts = np.bincount(share.ravel().astype(int), minlength=4)
        assert np.abs(counts - 600).max() < 6 * 22
    assert is_uniform(seen(transcript, "first"))
    assert is_uniform(seen(transcript, "second"))
    assert "open/shares" not in {record.name for record in transcript}
    other = case(40, 60, all_arcs(4), 2, "shares")
    assert traced(*other)[2].forms == transcript.forms


def test_only_the_best_path_can_be_traced():
    plan = Trellis("logsum", 3, 1, all_arcs(2), low=-1)
    weights = Weights(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2)))
    share = np.zeros((3, 1, 2), dtype=np.uint64)
    for role in (trace_model(plan, weights, share, secure()), trace_data(plan, share, secure())):
        assert isinstance(refused_at_once(role), ParameterError)

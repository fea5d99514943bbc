"""Blind and permute: the same entries in an order that neither party knows, and nothing else."""

import math

import numpy as np
import pytest
from circuit_shares import is_uniform, refused_at_once, seen, split
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.errors import ParameterError
from discreet.protocols import network, permute
from discreet.protocols.permute import Shuffle
from discreet.protocols.step import run_pair
from discreet.randomness import secure, seeded


def shuffled(values):
    plan = Shuffle(*values.shape)
    first, second = split(values.view(np.int64), 64)
    return run_pair(permute.hold_first(plan, first, secure()), permute.hold_second(plan, second, secure()))


def walk(permutation):
    """Carry positions through the network that `route` sets, switch by switch."""
    switches, values = network.route(permutation), list(range(len(permutation)))
    for column, row in enumerate(switches):
        for number, crossed in enumerate(row):
            if crossed:
                values[2 * number], values[2 * number + 1] = values[2 * number + 1], values[2 * number]
        values = network.wire(np.array(values), column).tolist()
    return values


@given(depth=st.integers(1, 8), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_network_does_every_permutation(depth, seed):
    permutation = np.random.default_rng(seed).permutation(2**depth)
    assert walk(permutation) == permutation.tolist()


def test_the_network_does_all_permutations_of_four():
    from itertools import permutations

    for permutation in permutations(range(4)):
        assert walk(np.array(permutation)) == list(permutation)


def test_the_network_is_as_small_as_documented():
    for depth in (1, 2, 5, 10):
        places = 2**depth
        assert network.columns(places) * places // 2 == places * depth - places // 2
    for places in (0, 1, 3, 12):
        with pytest.raises(ParameterError, match="power"):
            network.columns(places)
    with pytest.raises(ParameterError, match="permutation"):
        network.route(np.array([0, 0]))


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (5, 3), (64, 1), (300, 2)])
def test_entries_stay_whole_and_move(shape):
    values = np.random.default_rng(1).integers(0, 2**63, shape).astype(np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    first, second, _ = shuffled(values)
    found = first + second
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, values.tolist()))
    if shape[0] > 50:
        assert not np.array_equal(found, values)


def test_the_order_is_one_permutation_after_the_other(monkeypatch):
    # so if either party's is uniform, their product is
    drawn, draw = [], permute._uniform_permutation
    monkeypatch.setattr(permute, "_uniform_permutation", lambda *a: drawn.append(draw(*a)) or drawn[-1])
    values = np.arange(11, dtype=np.uint64).reshape(11, 1)
    first, second, _ = shuffled(values)
    one, two = drawn
    assert np.array_equal((first + second)[:, 0], values[one[:11]][two[:11], 0])


def test_permutations_are_uniform():
    bits, plan = seeded(3), Shuffle(3)
    orders = [tuple(permute._uniform_permutation(plan, bits).tolist()) for _ in range(6000)]
    counts = np.array([orders.count(order) for order in sorted(set(orders))])
    assert len(counts) == math.factorial(3)  # the fourth place of the network stays where it is
    assert chdtrc(5, float(((counts - 1000) ** 2 / 1000).sum())) > 1e-8


@pytest.mark.parametrize("value", [0, 2**64 - 1])
def test_what_is_seen_and_shares_are_uniform_and_sizes_say_nothing(value):
    values = np.full((700, 1), value, dtype=np.uint64)
    first, second, transcript = shuffled(values)
    assert np.array_equal(first + second, values)
    for raw in (seen(transcript, "first"), seen(transcript, "second"), first.tobytes(), second.tobytes()):
        assert is_uniform(raw)
    assert transcript.forms == shuffled(np.arange(700, dtype=np.uint64).reshape(700, 1))[2].forms


def test_bad_lists_are_refused_before_anything_is_sent():
    with pytest.raises(ParameterError, match="list"):
        Shuffle(1)
    with pytest.raises(ParameterError, match="list"):
        Shuffle(5, 0)
    refusal = refused_at_once(permute.hold_second(Shuffle(3), np.zeros((4, 1), dtype=np.uint64), secure()))
    assert isinstance(refusal, ParameterError)
    refusal = refused_at_once(permute.hold_first(Shuffle(3), np.zeros((3, 1), dtype=np.int64), secure()))
    assert isinstance(refusal, ParameterError)

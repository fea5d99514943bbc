"""Repair: nobody stays exposed, and the area is close to the least possible."""

import itertools
import math

import numpy as np
import pytest
from small_worlds import walk

from conftest import LONG
from discreet.errors import ParameterError, TooLargeError
from discreet.mechanisms.body import body_of
from discreet.mechanisms.gauge import expected_squared_error
from discreet.release import Policy, Stream
from discreet.release.protect import RULES, Repairer, check_rule

INSTANCES = 300 if LONG else 25


def instances(count, most=4):
    """Eight knots of a 7 by 7 lattice, near ones joined: with one to four exposed, as in the research
    notes.
    """
    draw = np.random.default_rng(0)
    while count:
        places = draw.choice(49, 8, replace=False)
        units = np.stack([places % 7, places // 7], axis=1).astype(np.int64)
        edges = [(i, j) for i in range(8) for j in range(i) if np.linalg.norm(units[i] - units[j]) <= 1.5]
        base = body_of(np.array([units[i] - units[j] for i, j in edges]).reshape(-1, 2).astype(np.int64))
        if base.rank < 2:
            continue
        repairer = Repairer(units, units.astype(float), base, body_of)
        exposed = [i for i in range(8) if not repairer.covered(i, base)]
        if 1 <= len(exposed) <= most:
            count -= 1
            yield units, base, repairer, exposed


def optimum(units, base, exposed):
    """Over all choices of a partner for each exposed state."""
    best = math.inf
    others = [[j for j in range(len(units)) if j != i] for i in exposed]
    for chosen in itertools.product(*others):
        moves = np.array([units[i] - units[j] for i, j in zip(exposed, chosen, strict=True)])
        best = min(best, base.joined(moves).area)
    return best


@pytest.mark.slow
def test_the_default_rule_comes_close_to_the_true_optimum():
    ratios = [
        repairer.join(repairer.repair(exposed, "area")).area / optimum(units, base, exposed)
        for units, base, repairer, exposed in instances(INSTANCES)
    ]
    assert np.mean(ratios) <= 1.05
    assert np.max(ratios) <= 1.5
    assert np.min(ratios) >= 1 - 1e-12


@pytest.mark.slow
def test_the_exact_rule_finds_the_optimum():
    for units, base, repairer, exposed in instances(INSTANCES // 3):
        found = repairer.join(repairer.repair(exposed, "exact")).area
        assert found == pytest.approx(optimum(units, base, exposed), rel=1e-12)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "refuse"])
def test_nobody_stays_exposed_under_any_rule(rule):
    for units, _, repairer, exposed in instances(20):
        body = repairer.join(repairer.repair(exposed, rule))
        assert all(repairer.covered(i, body) for i in range(len(units)))


def test_a_rule_is_not_better_than_the_exact_one():
    for _, _, repairer, exposed in instances(15, most=2):
        least = repairer.join(repairer.repair(exposed, "exact")).area
        for rule in ("nearest-euclid", "nearest-l1", "nearest-gauge", "area"):
            assert repairer.join(repairer.repair(exposed, rule)).area >= least - 1e-9


def test_without_any_edge_everybody_is_joined_to_somebody():
    units = np.array([[0, 0], [5, 0], [0, 9], [5, 9]])
    repairer = Repairer(units, units.astype(float), body_of(np.zeros((0, 2), dtype=np.int64)), body_of)
    edges = repairer.repair([0, 1, 2, 3], "area")
    body = repairer.join(edges)
    assert body.rank == 1, "the least noise: everybody hides along one line"
    assert all(repairer.covered(i, body) for i in range(4))


def test_states_with_the_same_answer_are_no_partners():
    units = np.array([[0, 0], [0, 0], [3, 1]])
    repairer = Repairer(units, units.astype(float), body_of(np.zeros((0, 2), dtype=np.int64)), body_of)
    for rule in ("area", "exact", "nearest-euclid", "nearest-gauge"):
        edges = repairer.repair([0, 1, 2], rule)
        assert edges
        assert repairer.join(edges).rank == 1


def test_three_dimensions_are_repaired_too():
    draw = np.random.default_rng(3)
    units = draw.integers(0, 60, (12, 3))
    base = body_of((units[:4, None] - units[None, :4]).reshape(-1, 3))
    repairer = Repairer(units, units.astype(float), base, body_of)
    exposed = [i for i in range(12) if not repairer.covered(i, base)]
    body = repairer.join(repairer.repair(exposed, "area"))
    assert exposed and all(repairer.covered(i, body) for i in range(12))


def test_too_many_for_the_exact_rule_are_refused():
    units = np.array([[10 * i, i * i] for i in range(12)])
    repairer = Repairer(units, units.astype(float), body_of(np.array([[1, 0], [0, 1]])), body_of)
    with pytest.raises(TooLargeError, match="optimum"):
        repairer.repair(list(range(12)), "exact")


@pytest.mark.parametrize("rule", ["nearest", 3, {0: 9}, {0: 0}, {-1: 2}])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(ParameterError):
        check_rule(rule, 9)


def test_without_any_edge_states_are_not_hidden_along_a_needle():
    """A needle across the states has no area, releases exactly what lies off it, and needs more noise."""
    places = np.random.default_rng(1).choice(144, 60, replace=False)
    units = np.stack([places % 12, places // 12], axis=1).astype(np.int64)
    nothing = body_of(np.zeros((0, 2), dtype=np.int64))
    repairer = Repairer(units, units.astype(float), nothing, body_of)
    body = repairer.join(repairer.repair(list(range(60)), "area"))
    assert all(repairer.covered(i, body) for i in range(60))
    near = body_of(np.array([[1, 0], [0, 1], [1, 1], [1, -1]]))
    assert body.rank == 2
    assert expected_squared_error(body, 1.0) <= 4 * expected_squared_error(near, 1.0)


def test_a_policy_along_one_line_is_said_to_be_flat():
    world = walk(size=3)
    policy = Policy.edges(world, [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)])
    scene = Stream(world, policy, epsilon=1.0, start=world.start).foresee()[0]
    assert scene.flat and not scene.exposed and scene.area_ratio == 1
    repaired = Stream(world, Policy.edges(world, []), epsilon=1.0, start=world.start).foresee()[0]
    assert len(repaired.exposed) == 9 and repaired.area_ratio == math.inf

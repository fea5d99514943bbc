"""The paper's running example: six states, two answers each, three categories. Every published number."""

import numpy as np
import pytest

from discreet.mechanisms.body import diamond
from discreet.release import Map, Policy, Stream
from discreet.release.hull import Sensitivity

ANSWERS = np.array([[1, 0], [2, 1], [3, 0], [0, 1], [4, 2], [1, 2]], dtype=float)
CATEGORIES = ["cafeteria", "school", "school", "grocery", "grocery", "grocery"]


@pytest.fixture
def world():
    return Map(ANSWERS, np.eye(6))


def stream(world, names, **settings):
    """A stream whose constraint set is the named states: s1 is state 0."""
    start = np.zeros(6)
    start[[name - 1 for name in names]] = 1 / len(names)
    return Stream(world, Policy.categories(world, CATEGORIES), epsilon=1.0, start=start, **settings)


def test_the_l1_sensitivity_is_5_and_the_hull_has_area_11(world):
    policy, query = Policy.categories(world, CATEGORIES), world.query()
    everywhere = np.ones(6, dtype=bool)
    body = Sensitivity(policy, query).body(everywhere)
    assert body.area * np.prod(query.step) == 11
    corners = {tuple(row) for row in (np.concatenate([body.corners, -body.corners]) * query.step).tolist()}
    assert corners == {(4, 1), (3, 0), (1, -1), (-4, -1), (-3, 0), (-1, 1)}
    assert np.abs(body.corners * query.step).sum(axis=1).max() == 5
    ball = Sensitivity(policy, query, laplace=True).body(everywhere)
    assert ball.area * np.prod(query.step) == diamond(np.array([[5, 0]])).area == 50


def test_among_s2_s4_s5_s6_a_disconnected_state_is_protected_by_three(world):
    (scene,) = stream(world, [2, 4, 5, 6]).foresee()
    assert scene.degrees.tolist() == [0, 3, 0, 4, 4, 3]
    assert set(np.flatnonzero(scene.nearby.of(1) & scene.possible) + 1) == {2, 4, 5}
    assert (scene.area, scene.exposed, scene.repaired) == (9.0, (), ())


@pytest.mark.parametrize(
    ("repair", "partner", "area"),
    [
        ("area", 4, 14),
        ("exact", 4, 14),
        ({2: 3}, 4, 14),
        ({2: 4}, 5, 16),
        ({2: 5}, 6, 20),
        ("nearest-euclid", 5, 16),  # the nearest state is not the cheapest one
        ("nearest-l1", 5, 16),
    ],
    ids=str,
)
def test_among_s3_s4_s5_s6_s3_is_exposed_and_repaired(world, repair, partner, area):
    (scene,) = stream(world, [3, 4, 5, 6], repair=repair).foresee()
    assert scene.exposed == (2,)
    assert scene.repaired == ((2, partner - 1),)
    assert scene.area == area
    assert scene.area_ratio == pytest.approx(area / 9)
    assert scene.base.area * np.prod(scene.query.step) == 9
    assert scene.degrees[scene.possible].min() >= 2


def test_isolated_is_not_exposed(world):
    (scene,) = stream(world, [1, 3, 4, 5, 6]).foresee()
    assert scene.exposed == ()
    (scene,) = stream(world, [1, 4, 5, 6]).foresee()
    assert scene.exposed == (0,)


def test_a_release_says_what_everybody_may_know(world):
    running = stream(world, [3, 4, 5, 6])
    done = running.step(2)
    assert done.point.shape == (2,)
    assert done.belief.sum() == pytest.approx(1)
    assert done.belief[:2].tolist() == [0, 0]
    assert (done.protection, done.exposed, done.repaired, done.area) == (2, (2,), ((2, 3),), 14)
    assert done.guarantee.epsilon == 1 and done.guarantee.private
    assert running.steps == 1


def test_the_constraint_of_figure_8_makes_a_flat_hull_that_is_repaired(world):
    """C = {s2, s3, s5}: the hull is a segment, which would expose s5 entirely."""
    (scene,) = stream(world, [2, 3, 5]).foresee()
    assert scene.base.rank == 1
    assert scene.exposed == (4,)
    assert scene.body.rank == 2
    assert scene.degrees[scene.possible].min() >= 2

"""Policies: which states are joined, in every way of saying it; hulls and protection on them."""

import json

import numpy as np
import pytest
from small_worlds import walk

from discreet.errors import BundleError, ParameterError
from discreet.mechanisms.body import body_of
from discreet.release import Map, Policy
from discreet.release.hull import Nearby, Sensitivity


def joined(policy):
    return {tuple(pair) for pair in np.argwhere(policy.matrix.toarray()) if pair[0] < pair[1]}


def test_complete_joins_all():
    assert len(joined(Policy.complete(walk()))) == 25 * 24 / 2


def test_categories_join_within_and_not_across():
    labels = np.array(["a", "b", "a", "", "b", ""])
    world = Map(np.arange(6.0), np.eye(6))
    assert joined(Policy.categories(world, labels)) == {(0, 2), (1, 4)}
    near = Policy.categories(world, labels, radius=2.0)
    assert joined(near) == {(0, 2)}
    assert joined(Policy.categories(world, [0, 0, -1, -1, 1, 1])) == {(0, 1), (4, 5)}


def test_radius_joins_what_is_near_in_any_query():
    world = Map(np.arange(4.0), np.eye(4), columns={"height": [0.0, 9.0, 9.5, 0.2]})
    assert joined(Policy.radius(world, 1.0)) == {(0, 1), (1, 2), (2, 3)}
    assert joined(Policy.radius(world, 1.0, "height")) == {(0, 3), (1, 2)}


def test_transitions_join_what_one_state_leads_to():
    world = Map(np.arange(4.0), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert joined(Policy.transitions(world)) == {(0, 1), (2, 3)}


def test_unions_edges_and_words():
    world = walk()
    both = Policy.edges(world, [(3, 1), (1, 3)]) | Policy.categories(world, [0] * 3 + [-1] * 22)
    assert joined(both) == {(1, 3), (0, 1), (0, 2), (1, 2)}
    assert both.degrees()[:5].tolist() == [2, 3, 2, 1, 0]
    words = both.describe()
    assert "pairs of states named one by one; and any two states of the same category" in words
    assert "21 states are joined with nobody" in words
    with pytest.raises(ParameterError, match="different maps"):
        _ = both | Policy.complete(walk(seed=1))


@pytest.mark.parametrize("pairs", [[(0, 25)], [(-1, 2)], [(3, 3)], [(0, 1, 2)], [(0.5, 1)]])
def test_bad_edges_are_refused(pairs):
    with pytest.raises(ParameterError):
        Policy.edges(walk(), pairs)


@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf, "1"])
def test_bad_radii_are_refused(radius):
    with pytest.raises(ParameterError):
        Policy.radius(walk(), radius)


def test_labels_must_fit():
    with pytest.raises(ParameterError, match="25 labels"):
        Policy.categories(walk(), [1, 2])


def slow_body(policy, query, possible):
    """The hull by looking at every joined possible pair."""
    matrix = policy.matrix.toarray() & possible[:, None] & possible[None, :]
    i, j = np.nonzero(np.triu(matrix))
    return body_of(query.units[i] - query.units[j])


def slow_degrees(body, query, possible):
    moves = query.units[:, None, :] - query.units[None, :, :]
    near = body.contains(moves.reshape(-1, query.dimension)).reshape(len(possible), len(possible))
    return np.where(possible, (near & possible).sum(axis=1), 0)


@pytest.mark.parametrize("kind", ["raster", "scattered", "line", "space", "flat", "duplicates"])
@pytest.mark.parametrize("seed", range(3))
def test_hull_and_protection_agree_with_the_slow_way(kind, seed):
    draw = np.random.default_rng(seed)
    answers = {
        "raster": walk(size=6).points * [340.0, 200.0],
        "scattered": draw.normal(size=(36, 2)),
        "line": draw.normal(size=36),
        "space": draw.normal(size=(36, 3)),
        "flat": np.stack([np.arange(36), 2 * np.arange(36)], axis=1).astype(float),
        "duplicates": walk(size=6).points // 2,
    }[kind]
    world = Map(answers, np.eye(36))
    labels = draw.integers(-1, 4, 36)
    policy = Policy.categories(world, labels) | Policy.edges(world, [(0, 1), (4, 9), (20, 30)])
    possible = draw.random(36) < 0.7
    query = world.query()
    body, slow = Sensitivity(policy, query).body(possible), slow_body(policy, query, possible)
    assert body.key == slow.key
    degrees = np.rint(Nearby(query, body).sums(possible.astype(float))) * possible
    assert np.array_equal(degrees, slow_degrees(slow, query, possible))
    assert np.allclose(
        Nearby(query, body).matrix @ possible, Nearby(query, body).sums(possible.astype(float))
    )


def test_a_clique_of_many_states_has_the_hull_of_all_its_differences():
    draw = np.random.default_rng(0)
    world = Map(draw.normal(size=(700, 2)), np.eye(700))
    policy, query = Policy.complete(world), world.query()
    body = Sensitivity(policy, query).body(np.ones(700, dtype=bool))
    i, j = np.triu_indices(700, k=1)
    assert body.key == body_of(query.units[i] - query.units[j]).key


def test_a_raster_is_noticed_and_cells_lie_on_the_lattice_exactly():
    query = walk(size=6).query()
    assert query.raster is not None and (query.raster.rows, query.raster.columns) == (6, 6)
    assert np.array_equal(query.points(query.units.astype(float)), query.answers)
    assert Map(np.random.default_rng(0).normal(size=(20, 2)), np.eye(20)).query().raster is None


def test_columns_of_very_different_ranges_keep_their_own_steps():
    answers = np.stack([np.linspace(0, 1e6, 30), np.linspace(0, 1, 30)], axis=1)
    query = Map(answers, np.eye(30)).query()
    assert query.step[0] > 1000 * query.step[1]
    assert (np.abs(query.points(query.units.astype(float)) - answers).max(axis=0) <= query.step).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"pairs": None},
        {"pairs": [[0, 1, 2]]},
        {"pairs": [[0.5, 1.0]]},
        {"pairs": [["a", "b"]]},
        {"cliques": [[0, 0]]},
        {"cliques": 3},
        {"words": None},
    ],
)
def test_a_damaged_policy_is_refused(tmp_path, damage):
    world = walk()
    path = tmp_path / "policy.json"
    plain = (Policy.radius(world, 1.0) | Policy.complete(world)).to_dict()
    path.write_text(json.dumps({**plain, **damage}))
    with pytest.raises(BundleError, match="damaged"):
        Policy.load(path, world)

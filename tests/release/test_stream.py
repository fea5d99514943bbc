"""Streams and crowds: the law of what they release, what they share, and what they refuse."""

import json
import math

import numpy as np
import pytest
from small_worlds import walk

from conftest import LONG
from discreet.errors import BundleError, ExposedError, ParameterError, RequestError, StateError
from discreet.randomness import seeded
from discreet.release import Crowd, Map, Policy, Stream

STEPS = 300 if LONG else 40


def started(world, **settings):
    settings = {"epsilon": 1.0, "start": np.full(world.size, 1 / world.size), **settings}
    return Stream(world, Policy.radius(world, 1.5), **settings)


def test_belief_follows_bayes_with_the_law_of_the_noise():
    world = walk(seed=1)
    stream = started(world, random_state=2)
    prior = np.full(25, 1 / 25)
    for state in (12, 13, 8):
        prior = world.transitions.T @ prior
        done = stream.step(state)
        scene, units = stream.past[-1].scenes[0], stream.past[-1].units[0]
        shells = np.ceil(scene.body.gauge((units - scene.query.units).astype(np.int64)) * scene.noise.shells)
        law = np.exp(-shells / scene.noise.shells * float(scene.noise.rate))
        expected = prior * law / (prior * law).sum()
        assert np.allclose(done.belief, expected, rtol=1e-9)
        prior = done.belief


def test_beliefs_are_calibrated():
    """States drawn from the map itself: the belief in the true state must be right on average."""
    world = walk(size=4, seed=3)
    draw = np.random.default_rng(5)
    people = 400
    crowd = Crowd(
        world, Policy.radius(world, 1.0), epsilon=2.0, start=np.full(people, 5), random_state=seeded(6)
    )
    chain, state = world.transitions.toarray(), np.full(people, 5)
    hits, mass = np.zeros(16), np.zeros(16)
    for _ in range(10):
        state = np.array([draw.choice(16, p=chain[s]) for s in state])
        crowd.step(state)
        hits += np.bincount(state, minlength=16)
        mass += crowd.beliefs.sum(axis=1)
    assert np.abs(hits - mass).max() < 5.5 * np.sqrt(mass.max())


def test_a_crowd_of_one_is_a_stream():
    world = walk(seed=2)
    policy = Policy.radius(world, 1.5)
    stream = Stream(world, policy, epsilon=1.0, start=12, random_state=seeded(3))
    crowd = Crowd(world, policy, epsilon=1.0, start=[12], random_state=seeded(3))
    for state in (12, 7, 6):
        assert np.array_equal(stream.step(state).point, crowd.step([state]).points["location"][0])
        assert np.array_equal(stream.belief, crowd.beliefs[:, 0])


def test_people_who_start_alike_share_one_scene_and_others_do_not():
    world = walk(size=9)
    crowd = Crowd(world, Policy.radius(world, 1.5), epsilon=1.0, start=[40, 40, 0, 40], random_state=1)
    groups = crowd.step([40, 41, 0, 31]).groups
    assert sorted(group.people.tolist() for group in groups) == [[0, 1, 3], [2]]
    for _ in range(9):
        groups = crowd.step([40, 41, 0, 31]).groups
    assert [group.people.tolist() for group in groups] == [[0, 1, 2, 3]], "in the end all is possible for all"


@pytest.mark.slow
def test_likelihood_ratios_of_joined_states_stay_within_epsilon_over_many_releases():
    """A million draws in the long form: every joined pair, every output that was drawn."""
    world = walk(size=6, seed=4)
    policy = Policy.radius(world, 1.5)
    people = 1000
    crowd = Crowd(world, policy, epsilon=1.0, start=np.full((people, 36), 1 / 36), random_state=seeded(8))
    draw, state = np.random.default_rng(0), np.full(people, 14)
    worst = 0.0
    for _ in range(1000 if LONG else 10):
        before = world.transitions.T @ crowd.beliefs
        state = np.clip(state + draw.integers(-1, 2, people), 0, 35)
        crowd.step(state)
        change = np.log(crowd.beliefs) - np.log(before)
        apart = np.abs(change[policy.pairs[:, 0]] - change[policy.pairs[:, 1]])
        worst = max(worst, float(apart.max()))
    assert 0.9 < worst <= 1 + 1e-9


def test_a_thousand_people_are_refused_together_and_nothing_moves():
    world = walk(size=9)
    crowd = Crowd(world, Policy.radius(world, 1.5), epsilon=1.0, start=np.full(50, 40), random_state=1)
    crowd.step(np.full(50, 40))
    before, steps = crowd.beliefs.copy(), crowd.steps
    states = np.full(50, 40)
    states[17] = 0  # cannot be reached in two steps
    with pytest.raises(StateError, match="not possible"):
        crowd.step(states)
    assert np.array_equal(crowd.beliefs, before) and crowd.steps == steps
    crowd.step(np.full(50, 40))


BAD_STEPS = {
    "unknown state": (99, "unknown"),
    "negative state": (-1, "unknown"),
    "unreachable state": (0, "not possible"),
    "a float": (12.0, "whole number"),
    "a truth value": (True, "whole number"),
    "nothing": (None, "whole number"),
}


@pytest.mark.parametrize("case", BAD_STEPS)
def test_bad_states_are_refused_and_the_stream_is_as_it_was(case):
    state, words = BAD_STEPS[case]
    world = walk(size=9)
    stream = Stream(world, Policy.radius(world, 1.5), epsilon=1.0, start=40, random_state=seeded(1))
    twin = Stream(world, Policy.radius(world, 1.5), epsilon=1.0, start=40, random_state=seeded(1))
    stream.step(40), twin.step(40)
    with pytest.raises(StateError, match=words):
        stream.step(state)
    assert stream.steps == 1 and len(stream.past) == 1
    assert np.array_equal(stream.step(41).point, twin.step(41).point), "not even a bit was drawn"
    assert np.array_equal(stream.belief, twin.belief)


def test_one_possible_state_cannot_be_released():
    world = Map([[0.0, 0.0], [1.0, 0.0], [2.0, 3.0]], [[0, 1, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    stream = Stream(world, Policy.complete(world), epsilon=1.0, start=0)
    with pytest.raises(ExposedError, match="only one state is possible"):
        stream.step(1)
    assert stream.steps == 0
    same = Map([[1.0], [1.0]], np.full((2, 2), 0.5))
    with pytest.raises(ExposedError, match="same answer"):
        Stream(same, Policy.complete(same), epsilon=1.0, start=0).step(1)


BAD_STREAMS = {
    "prior not summing to one": {"start": np.full(25, 1 / 24)},
    "prior with a negative": {"start": np.r_[-0.5, 1.5, np.zeros(23)]},
    "prior with NaN": {"start": np.r_[math.nan, np.zeros(24)]},
    "prior of another map": {"start": np.full(9, 1 / 9)},
    "unknown start": {"start": 25},
    "epsilon zero": {"epsilon": 0.0},
    "epsilon NaN": {"epsilon": math.nan},
    "epsilon text": {"epsilon": "1"},
    "unknown repair": {"repair": "nearest"},
    "unknown noise": {"noise": "gaussian"},
    "unknown mechanism": {"mechanism": "uniform"},
    "cut above one": {"cut": 1.0},
    "cut and delta": {"cut": 0.1, "delta": 0.1},
    "unknown column": {"query": "height"},
    "query of another size": {"query": np.zeros((4, 2))},
    "query with NaN": {"query": np.full((25, 2), math.nan)},
    "epsilon without its question": {"query": {"here": None}, "epsilon": 1.0},
    "unknown choice outside": {"outside": "clip"},
}


@pytest.mark.parametrize("case", BAD_STREAMS)
def test_bad_requests_are_refused(case):
    with pytest.raises(RequestError) as caught:
        started(walk(), **BAD_STREAMS[case])
    assert str(caught.value)


def test_a_policy_for_another_map_is_refused():
    with pytest.raises(ParameterError, match="another map"):
        Stream(walk(seed=1), Policy.radius(walk(), 1.5), epsilon=1.0, start=0)


def test_a_true_state_outside_the_cut_is_replaced_by_the_nearest_and_said_so():
    world = walk(size=9)
    stream = Stream(world, Policy.complete(world), epsilon=5.0, start=40, delta=0.6, random_state=1)
    seen = [stream.step(state) for state in (49, 58, 67, 76)]
    assert any(done.surrogate for done in seen)
    for done in seen:
        assert done.belief.sum() == pytest.approx(1)
        assert done.scenes[0].possible.sum() < 81
    stood_in = next(done for done in seen if done.surrogate)
    assert (stood_in.belief[~stood_in.scenes[0].possible] > 0).any(), "the filter knows about stand-ins"


def test_the_delta_location_set_is_the_smallest_that_holds_its_share():
    world = walk(seed=9)
    start = np.random.default_rng(0).dirichlet(np.ones(25))
    stream = Stream(world, Policy.complete(world), epsilon=1.0, start=start, delta=0.2)
    (scene,) = stream.foresee()
    prior = np.sort(world.transitions.T @ start)[::-1]
    held = np.cumsum(prior)
    assert scene.possible.sum() == int(np.argmax(held >= 0.8)) + 1


def test_several_questions_at_one_step_add_their_epsilons():
    base = walk(seed=1)
    world = Map(base.points, base.transitions, columns={"height": np.arange(25.0) ** 1.5})
    policy = Policy.radius(world, 1.5)
    stream = Stream(
        world,
        policy,
        epsilon={"place": 0.75, "height": 0.5},
        query={"place": None, "height": "height"},
        start=np.full(25, 0.04),
        random_state=4,
    )
    before = world.transitions.T @ stream.belief
    done = stream.step(7)
    assert set(done.point) == {"place", "height"} and done.point["height"].shape == (1,)
    assert done.guarantee.epsilon == 1.25
    change = np.log(done.belief) - np.log(before)
    assert np.abs(change[policy.pairs[:, 0]] - change[policy.pairs[:, 1]]).max() <= 1.25 + 1e-9


@pytest.mark.parametrize("dimension", [1, 3, 4])
def test_queries_of_any_dimension(dimension):
    base = walk(seed=1)
    answers = np.random.default_rng(dimension).normal(size=(25, dimension))
    stream = Stream(
        base, Policy.radius(base, 1.5), epsilon=1.0, query=answers, start=np.full(25, 0.04), random_state=4
    )
    done = stream.step(7)
    assert done.point.shape == (dimension,)
    assert done.belief.sum() == pytest.approx(1)
    assert (done.scenes[0].degrees[done.scenes[0].possible] >= 2).all()


def test_laplace_noise_costs_more_area_than_the_hull():
    world = walk(seed=1)
    hull, ball = (started(world, mechanism=name).foresee()[0] for name in ("gauge", "laplace"))
    assert ball.area >= hull.area
    assert ball.error >= hull.error


def test_a_checkpoint_goes_on_where_it_was():
    world = walk(size=6, seed=1)
    first = started(world, random_state=seeded(1))
    for state in (14, 15, 21):
        first.step(state)
    plain = json.loads(json.dumps(first.checkpoint()))
    second = started(world, random_state=seeded(1)).resume(plain)
    assert np.array_equal(first.belief, second.belief)
    assert second.steps == 3 and len(second.past) == 3
    a, b = first.foresee()[0], second.foresee()[0]
    assert np.array_equal(a.possible, b.possible) and a.body.key == b.body.key
    with pytest.raises(ParameterError, match="settings"):
        started(world, epsilon=2.0).resume(plain)
    with pytest.raises(BundleError, match="damaged"):
        started(world).resume({key: value for key, value in plain.items() if key != "belief"})


def test_a_checkpoint_of_another_question_is_refused():
    world = walk(size=3)
    policy = Policy.radius(world, 1.5)
    first, other = (
        Stream(world, policy, epsilon=1.0, query=answers, start=world.start)
        for answers in (np.arange(9.0), np.arange(9.0) ** 2)
    )
    first.step(4)
    with pytest.raises(ParameterError, match="settings"):
        other.resume(first.checkpoint())


@pytest.mark.parametrize(
    "damage",
    [
        {"possible": []},
        {"possible": [-1]},
        {"possible": [36]},
        {"past": [{"possible": [14, 15], "units": []}]},
        {"past": [{"possible": [14, 15], "units": [[1, 2, 3]]}]},
        {"past": []},
        {"steps": -1},
        {"belief": [1]},
    ],
)
def test_a_damaged_checkpoint_is_refused_and_the_stream_is_as_it_was(damage):
    stream = started(walk(size=6, seed=1))
    stream.step(14)
    plain, belief = stream.checkpoint(), stream.belief
    with pytest.raises((BundleError, ParameterError)):
        stream.resume({**plain, **damage})
    assert stream.steps == 1 and len(stream.past) == 1 and np.array_equal(stream.belief, belief)
    stream.step(14)


def test_a_release_that_is_printed_does_not_show_what_is_for_the_person_alone():
    world = walk(size=3)
    stream = Stream(world, Policy.radius(world, 1.5), epsilon=1.0, start=world.start)
    crowd = Crowd(world, Policy.radius(world, 1.5), epsilon=1.0, start=world.start[None])
    for text in (repr(stream.step(4)), repr(crowd.step([4]))):
        assert "protection" not in text and "surrogate" not in text


def test_a_seed_promises_nothing_and_doubles_neither():
    world = walk()
    assert started(world).guarantee.private
    for settings in ({"random_state": 1}, {"noise": "continuous"}):
        promise = started(world, **settings).guarantee
        assert not promise.private
        assert "not private" in promise.summary() and promise.words().startswith("WARNING")


def test_the_promise_does_not_claim_a_sum_over_time():
    words = started(walk()).guarantee.words()
    assert "joined, or equal, at every step; for no others" in words
    assert "do not bound what all releases together say about one past moment" in words


def test_far_releases_do_not_break_the_filter():
    world = walk(size=12, seed=1)
    stream = Stream(
        world, Policy.radius(world, 1.0), epsilon=900.0, start=0, outside="nearest", random_state=2
    )
    for state in (0, 1, 143, 0, 143):
        belief = stream.step(state).belief
        assert np.isfinite(belief).all() and belief.sum() == pytest.approx(1)


def test_a_flat_hull_excludes_states_off_its_line_exactly():
    points = np.array([[0, 0], [1, 0], [2, 0], [0, 5], [1, 5], [2, 5.0]])
    world = Map(points, np.full((6, 6), 1 / 6))
    policy = Policy.edges(world, [(0, 1), (1, 2), (3, 4), (4, 5)])
    crowd = Crowd(world, policy, epsilon=1.0, start=np.full((20, 6), 1 / 6), random_state=3)
    truth = np.arange(20) % 6
    done = crowd.step(truth)
    assert done.groups[0].scenes[0].body.rank == 1
    for person, state in enumerate(truth):
        upper = state >= 3
        assert crowd.beliefs[:3, person].any() == (not upper)
        assert crowd.beliefs[3:, person].any() == upper
    assert len(crowd.masks()) == 2


def test_prior_weighted_protection_sees_through_unlikely_company():
    start = np.zeros(25)
    start[[12, 13]] = 1 - 1e-9, 1e-9
    stay = Map(walk().points, np.eye(25))
    (scene,) = Stream(stay, Policy.radius(stay, 1.5), epsilon=1.0, start=start).foresee()
    assert scene.degrees[12] == 2
    assert scene.weigh(start)[12] < 1.001
    even = np.zeros(25)
    even[[12, 13]] = 0.5
    assert scene.weigh(even)[12] == pytest.approx(2)


def test_the_filter_knows_which_stand_in_every_question_used():
    """Stand-ins are chosen by the first question, and the second is answered about the same state."""
    base = walk(size=6, seed=1)
    height = np.random.default_rng(0).permutation(36).astype(float)
    world = Map(base.points, base.transitions, columns={"height": height})
    settings = {"epsilon": {"place": 40.0, "height": 40.0}, "query": {"place": None, "height": "height"}}
    stream = Stream(world, Policy.complete(world), **settings, start=14, delta=0.5, random_state=4)
    done = stream.step(0)
    assert done.surrogate
    scene = done.scenes[0]
    stands_for = int(scene.stand_ins[0])
    assert np.argmax(done.belief) in np.flatnonzero(scene.stand_ins == stands_for)


def test_any_two_possible_states_are_bounded_by_the_spread():
    world = walk(size=6, seed=4)
    stream = started(world, random_state=1)
    before = world.transitions.T @ stream.belief
    done = stream.step(14)
    change = np.log(done.belief) - np.log(before)
    scene = done.scenes[0]
    shell = 1 / scene.noise.shells
    assert np.ptp(change) <= scene.spread + shell + 1e-9
    moves = scene.query.units[:, None] - scene.query.units[None]
    assert scene.spread == pytest.approx(scene.body.gauge(moves.reshape(-1, 2)).max())

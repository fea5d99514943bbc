"""What holds over time, what does not, and that the report says so."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.randomness import seeded
from discreet.release import Map, Policy, Stream
from discreet.release.leakage import leakage, pair_bound, torn_pairs
from discreet.release.track import best_path, smooth

A, B, C, D, E, F = range(6)


def forked_world():
    """a-b joined; a leads to {c, e}, b to {d, f}; c-e and d-f joined: every protection is two."""
    answers = np.array([[0, 0], [1, 0], [100, 0], [0, 100], [101, 1], [1, 101]], dtype=float)
    moves = np.zeros((6, 6))
    moves[A, [C, E]] = moves[B, [D, F]] = 0.5
    for state in (C, D, E, F):
        moves[state, state] = 1
    from_nowhere = np.zeros((7, 7))
    from_nowhere[:6, :6] = moves
    from_nowhere[6, [A, B]] = 0.5
    return Map(np.vstack([answers, [0, 50]]), from_nowhere)


def forked_stream(epsilon, seed):
    world = forked_world()
    policy = Policy.edges(world, [(A, B), (C, E), (D, F)])
    return Stream(world, policy, epsilon=epsilon, start=6, random_state=seed)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_report_shouts_when_the_next_release_reveals_the_past(epsilon):
    worst = []
    for seed in range(7):
        stream = forked_stream(epsilon, seed)
        first, second = stream.step(A), stream.step(C)
        assert first.scenes[0].degrees[[A, B]].tolist() == [2, 2]
        assert second.scenes[0].degrees[[C, D, E, F]].min() >= 2
        report = leakage(stream)
        assert report.loud
        assert report.steps[0].pair == (A, B)
        assert report.steps[0].at_release <= epsilon + 1e-9, "the step itself kept its promise"
        assert report.steps[0].torn == 1
        assert "WARNING" in report.words() and "torn apart" in report.words()
        worst.append(report.worst)
    assert np.median(worst) > 50 * epsilon


def test_torn_pairs_are_known_before_anything_is_released():
    stream = forked_stream(1.0, 0)
    now = stream.step(A).scenes[0]
    (then,) = stream.foresee()
    assert torn_pairs(stream.world, stream.policy, now, then).tolist() == [[A, B]]
    assert stream.step(C).torn.tolist() == [[A, B]]
    joined = Policy.edges(stream.world, [(A, B), (C, E), (D, F), (C, D)])
    again = Stream(stream.world, joined, epsilon=1.0, start=6)
    now = again.step(A).scenes[0]
    assert not len(torn_pairs(again.world, joined, now, again.foresee()[0]))


def walk(size=5, spread=1):
    """A walk on a square of cells, and a radius policy."""
    across, up = np.meshgrid(np.arange(size), np.arange(size))
    points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1).astype(float)
    near = np.abs(points[:, None] - points[None]).max(axis=2) <= spread
    return Map(points, near / near.sum(axis=1, keepdims=True))


def released(steps=12, epsilon=0.7, seed=0, policy=None):
    world = walk()
    draw = np.random.default_rng(seed)
    stream = Stream(
        world, policy or Policy.radius(world, 1.5), epsilon=epsilon, start=12, random_state=seeded(seed)
    )
    state, truth = 12, []
    for _ in range(steps):
        state = int(draw.choice(world.size, p=world.transitions[[state]].toarray()[0]))
        truth.append(state)
        stream.step(state)
    return stream, truth


def test_no_release_changes_the_odds_of_joined_states_by_more_than_its_epsilon():
    for seed in range(5):
        stream, _ = released(seed=seed)
        report = leakage(stream)
        assert 0 < max(step.at_release for step in report.steps) <= 0.7 + 1e-9
        assert report.worst >= max(step.at_release for step in report.steps) - 1e-9
        assert ("WARNING" in report.words()) == report.loud


def test_a_quiet_stream_gets_no_warning():
    world = Map([[0.0], [1.0]], [[0.5, 0.5], [0.5, 0.5]])  # the next state does not depend on this one
    stream = Stream(world, Policy.complete(world), epsilon=0.5, start=[0.5, 0.5], random_state=1)
    for state in (0, 1, 1, 0):
        stream.step(state)
    report = leakage(stream)
    assert not report.loud
    assert report.worst <= 0.5 + 1e-9
    assert "WARNING" not in report.words()
    assert not leakage(Stream(world, Policy.complete(world), epsilon=0.5, start=[0.5, 0.5])).loud


def test_joined_trajectories_are_told_apart_by_the_sum_of_epsilons_at_most():
    stream, truth = released(steps=6)
    first = truth
    second = [state if t != 3 else _neighbour(state) for t, state in enumerate(truth)]
    bound, joined = pair_bound(stream.policy, stream.past, first, second)
    assert joined
    assert bound <= 0.7 + 1e-9  # they differ at one step
    laws = np.array([_law(stream, path) for path in (first, second)])
    assert abs(laws[0] - laws[1]) <= bound + 1e-9


def test_trajectories_that_are_not_joined_have_a_larger_bound_and_no_promise():
    stream, truth = released(steps=6)
    far = [
        0 if past.scenes[0].possible[0] and past.scenes[0].possible[t] else t
        for past, t in zip(stream.past, truth, strict=True)
    ]
    bound, joined = pair_bound(stream.policy, stream.past, truth, far)
    assert not joined
    assert abs(_law(stream, truth) - _law(stream, far)) <= bound + 1e-9
    with pytest.raises(ParameterError, match="does not fit"):
        pair_bound(stream.policy, stream.past, truth, far[:-1])


def _neighbour(state):
    return state + 1 if state % 5 < 4 else state - 1


def _law(stream, path):
    from discreet.release.track import likelihoods

    return likelihoods(stream.past)[np.arange(len(path)), path].sum()


def test_filter_and_smoother_agree_with_summing_over_all_paths():
    world = walk(size=2)
    stream = Stream(world, Policy.complete(world), epsilon=1.0, start=0, random_state=3)
    for state in (1, 3, 2, 0):
        stream.step(state)
    from discreet.release.track import likelihoods

    law, chain = np.exp(likelihoods(stream.past)), world.transitions.toarray()
    paths = np.stack(np.meshgrid(*[np.arange(4)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    weight = chain[0, paths[:, 0]] * law[0, paths[:, 0]]
    for t in range(1, 4):
        weight *= chain[paths[:, t - 1], paths[:, t]] * law[t, paths[:, t]]
    logs = smooth(world, stream.start, stream.past)
    for t in range(4):
        expected = np.bincount(paths[:, t], weights=weight, minlength=4) / weight.sum()
        assert np.allclose(np.exp(logs.at_end[t]), expected)
    assert np.allclose(np.exp(logs.after[-1]), stream.belief)
    assert best_path(world, stream.start, stream.past).tolist() == paths[weight.argmax()].tolist()


def test_cliques_and_edges_leak_alike():
    world = walk()
    clique = Policy.categories(world, np.arange(25) // 5)
    edges = Policy.edges(world, [(i, j) for i in range(25) for j in range(i) if i // 5 == j // 5])
    left, _ = released(policy=clique)
    right, _ = released(policy=edges)
    pairs = zip(leakage(left).steps, leakage(right).steps, strict=True)
    assert all(np.isclose(a.at_end, b.at_end) and a.torn == b.torn for a, b in pairs)


def test_an_edge_that_one_question_was_repaired_for_is_no_edge_for_the_others():
    """Each question hides state 4 behind another state, so the pair is not hidden at the sum of epsilons."""
    points = np.array([[0, 0], [1, 0], [5, 5], [6, 5], [3, 9]], dtype=float)
    world = Map(points, np.full((5, 5), 0.2), columns={"level": [0, 1, 2, 3, 50]})
    policy = Policy.edges(world, [(0, 1), (2, 3)])
    asked = {"query": {"place": None, "level": "level"}, "epsilon": {"place": 1.0, "level": 1.0}}
    stream = Stream(world, policy, start=world.start, random_state=1, **asked)
    place, level = stream.foresee()
    assert place.repaired == ((4, 2),) and level.repaired == ((4, 3),)
    for _ in range(40):
        stream.step(4)
    assert max(step.at_release for step in leakage(stream).steps) <= 2 + 1e-9
    bound, joined = pair_bound(policy, stream.past, [4] * 40, [2] * 40)
    assert bound > 80 and not joined

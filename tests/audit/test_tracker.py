"""The Bayesian adversary; per-state calibration and the ray sampler broken; ours not."""

import numpy as np
import pytest

from discreet.audit.tracker import break_per_state, find_rays, follow, per_state_release, ray_release
from discreet.errors import ParameterError
from discreet.mechanisms.body import body_of
from discreet.mechanisms.gauge import LatticeNoise
from discreet.randomness import seeded
from discreet.release import Map, Policy, Stream

ANSWERS = np.array([[1, 0], [2, 1], [3, 0], [0, 1], [4, 2], [1, 2]], dtype=float)
S4, S5, S6 = 3, 4, 5


def test_calibration_to_the_true_state_gives_it_away():
    """Appendix 11.5: C = {s4, s5, s6}; s4 is joined with s6 alone, s5 with s6, s6 with both."""
    world = Map(ANSWERS, np.eye(6))
    policy = Policy.edges(world, [(S4, S6), (S5, S6)])
    units, bits = world.query().units, seeded(1)
    excluded = 0
    for turn in range(300):
        truth = (S4, S5, S6)[turn % 3]
        z = per_state_release(policy, units, (S4, S5, S6), truth, 1.0, bits)
        scores = break_per_state(policy, units, (S4, S5, S6), z, 1.0)
        assert np.isfinite(scores[truth])
        if truth == S6:
            assert scores[S4] == scores[S5] == -np.inf, "noise off both lines betrays s6"
        excluded += sum(np.isinf(score) for score in scores.values())
    assert excluded >= 300, "every release rules out at least one joined state entirely"


def test_one_hull_for_all_possible_states_rules_nobody_out():
    world = Map(ANSWERS, np.eye(6))
    policy = Policy.edges(world, [(S4, S6), (S5, S6)])
    start = np.zeros(6)
    start[[S4, S5, S6]] = 1 / 3
    for truth in (S4, S5, S6):
        belief = Stream(world, policy, epsilon=1.0, start=start, random_state=truth).step(truth).belief
        assert (belief[[S4, S5, S6]] > 0).all()
        assert abs(np.log(belief[S4] / belief[S6])) <= 1 + 1e-9


def _grid_of_candidates(step):
    across, up = np.meshgrid(np.arange(5), np.arange(5))
    return np.stack([across.reshape(-1), up.reshape(-1)], axis=1) * float(step)


def test_the_ray_attack_finds_the_cell_behind_the_published_sampler_and_not_behind_ours():
    step = 2**12
    body = body_of(np.array([[2, 0], [0, 2], [1, 1], [1, -1], [2, 1]]) * step)
    candidates = _grid_of_candidates(step)
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 25, 400)
    published = candidates[truth] + ray_release(body, 1.0, 400, seeded(2))
    ours = candidates[truth] + LatticeNoise(body, 1.0).draw(400, seeded(3))
    shares = []
    for released in (published, ours):
        marked = find_rays(body, released, candidates)
        alone = marked.sum(axis=1) == 1
        shares.append(float((alone & marked[np.arange(400), truth]).mean()))
    assert shares[0] > 0.95
    assert shares[1] < 0.04 + 0.05, "no better than guessing one of 25"


def test_the_tracker_follows_little_noise_and_loses_much_noise():
    size = 6
    across, up = np.meshgrid(np.arange(size), np.arange(size))
    points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1).astype(float)
    near = np.abs(points[:, None] - points[None]).max(axis=2) <= 1
    world = Map(points, near / near.sum(axis=1, keepdims=True))
    policy, draw = Policy.radius(world, 1.0), np.random.default_rng(4)
    truth = [14]
    for _ in range(14):
        truth.append(int(draw.choice(36, p=world.transitions[[truth[-1]]].toarray()[0])))
    errors = []
    for epsilon in (20.0, 0.1):
        stream = Stream(world, policy, epsilon=epsilon, start=14, random_state=5)
        for state in truth[1:]:
            stream.step(state)
        found = follow(stream, truth[1:])
        errors.append(found.in_hindsight.mean())
        assert np.allclose(found.confidence[-1], stream.belief[truth[-1]])
    assert errors[0] < 0.3 < errors[1]
    with pytest.raises(ParameterError, match="does not fit"):
        follow(stream, truth)

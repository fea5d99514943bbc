"""The two-world game: full noise keeps the claim, short noise and no noise lose it."""

import json
import math

import pytest

from discreet.audit.game import play
from discreet.errors import ParameterError
from discreet.randomness import secure, seeded


@pytest.mark.slow
def test_full_noise_keeps_the_claim_in_20_of_20_games():
    outcomes = [play(1.0, 1000, 4000, bits=seeded(seed)) for seed in range(20)]
    assert not [outcome for outcome in outcomes if outcome.caught]
    assert max(outcome.epsilon_lower for outcome in outcomes) > 0.5


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_advantage_is_that_of_laplace_noise(epsilon):
    outcome = play(epsilon, 500, 20_000, bits=seeded(5))
    expected = 1 - math.exp(-epsilon / 2)
    assert abs(outcome.advantage - expected) < 0.03
    assert outcome.advantage < outcome.advantage_allowed


def test_short_noise_is_caught():
    outcome = play(1.0, 1000, 20_000, noise_scale_factor=0.5, bits=seeded(1))
    assert outcome.caught
    assert outcome.advantage > outcome.advantage_allowed
    assert "0.5 times the noise" in outcome.words()


def test_no_noise_loses_every_round():
    outcome = play(1.0, 1000, 2000, noise_scale_factor=0.0, bits=seeded(1))
    assert outcome.right == 2000
    assert outcome.advantage == 1
    assert outcome.caught
    assert "no noise" in outcome.words()


def test_more_noise_than_needed_gains_the_adversary_less():
    generous = play(1.0, 1000, 20_000, noise_scale_factor=3.0, bits=seeded(1))
    assert generous.advantage < play(1.0, 1000, 20_000, bits=seeded(1)).advantage / 2


@pytest.mark.parametrize("threshold", [-0.001, 0.0, 0.0009, 0.002, 5.0])
def test_no_threshold_beats_the_claim(threshold):
    assert not play(1.0, 1000, 10_000, threshold, bits=seeded(2)).caught


def test_games_replay_when_seeded_and_not_otherwise():
    assert play(1.0, 100, 500, bits=seeded(3)) == play(1.0, 100, 500, bits=seeded(3))
    unseeded = {play(1.0, 100, 5000, bits=secure()).right for _ in range(4)}
    assert len(unseeded) > 1


def test_an_outcome_is_plain_data_and_words():
    outcome = play(1.0, 100, 600, bits=secure())
    plain = json.loads(json.dumps(outcome.to_dict()))
    assert plain["rounds_in_zero"] + plain["rounds_in_one"] == 600
    assert plain["right"] == outcome.right
    assert plain["epsilon_lower"] == outcome.epsilon_lower
    assert f"{outcome.right:,}" in outcome.words()
    assert outcome.threshold == 0.005


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"size": 0},
        {"rounds": 3},
        {"rounds": 10**9},
        {"threshold": math.nan},
        {"noise_scale_factor": -1.0},
        {"noise_scale_factor": math.inf},
        {"confidence": 1.0},
    ],
)
def test_impossible_games_are_refused(arguments):
    with pytest.raises(ParameterError):
        play(**{"epsilon": 1.0, "size": 10, "rounds": 100, **arguments}, bits=seeded(1))

"""The published recogniser runs as printed: its operations are those counted, its last step is wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.published_words import Cost, Job, price, recognise, sum_of_logarithms


def models(words, states, dimension, seed):
    draw = np.random.default_rng(seed)
    weights = np.zeros((words, states, dimension + 1, dimension + 1))
    weights[..., :dimension, :dimension] = -0.5 * np.eye(dimension)
    weights[..., :dimension, dimension] = draw.normal(size=(words, states, dimension))
    start = draw.dirichlet(np.ones(states), size=words)
    return weights, start, draw.dirichlet(np.ones(states), size=(words, states))


def last_logarithms(features, weights, start, arcs):
    z = np.column_stack([features, np.ones(len(features))])
    scores = np.einsum("ti,ksij,tj->kts", z, weights, z)
    state = np.log(start) + scores[:, 0]
    for t in range(1, len(features)):
        state = np.logaddexp.reduce(state[:, :, None] + np.log(arcs), axis=1) + scores[:, t]
    return state


@pytest.fixture(scope="module")
def small():
    features = np.random.default_rng(1).normal(size=(4, 2))
    return features, *models(3, 2, 2, seed=2)


@pytest.fixture(scope="module")
def run(small):
    return recognise(*small, size=512)


def test_it_ends_with_sums_of_logarithms(small, run):
    assert run[0] == pytest.approx(sum_of_logarithms(last_logarithms(*small)), abs=0.05)


def test_operations_are_those_counted(run):
    cost = Cost.of(Job(4, 2, 2, 3))
    assert run[1] == {"encrypts": cost.encrypts, "scores": cost.scores, "recursion": cost.recursion}


def test_a_sum_of_logarithms_names_other_winners_than_the_logarithm_of_the_sum():
    draw, wrong = np.random.default_rng(3), 0
    for _ in range(60):
        last = draw.normal(size=(5, 4), scale=2)
        right = np.logaddexp.reduce(last, axis=1)
        wrong += int(np.argmax(right) != np.argmax(sum_of_logarithms(last)))
    assert wrong > 6


def test_longer_keys_cost_more():
    short, long = (price(Job(10, 3, 2, 2), size, repeats=4) for size in (256, 1024))
    assert all(long[name] > short[name] for name in short)

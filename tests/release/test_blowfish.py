"""Example 5.3: six secrets, two counts, two edges; what each secret's presence costs."""

import numpy as np
import pytest

from discreet.errors import ExposedError
from discreet.release.blowfish import secrets_of

ANSWERS = {"s1": (1, 0), "s2": (0, 0), "s3": (1, 0), "s4": (0, 1), "s5": (1, 0), "s6": (0, 1)}
PAIRS = [("s1", "s2"), ("s3", "s4")]


def test_the_published_unbounded_epsilons():
    found = secrets_of(ANSWERS, PAIRS, 0.7)
    assert np.allclose(found.presence, 0.7 * np.array([1, 0, 1, 2, 1, 2]))
    assert found.worst == pytest.approx(1.4)
    assert found.to_dict()["s6"] == pytest.approx(1.4)


def test_laplace_noise_hides_what_gauge_noise_does_not():
    found = secrets_of(ANSWERS, PAIRS, 1.0, mechanism="laplace")
    assert found.presence[5] == pytest.approx(0.5), "s6: the l1 sensitivity is 2"


def test_joined_secrets_cost_epsilon_and_others_more():
    found = secrets_of(ANSWERS, PAIRS, 1.0)
    assert found.change[0, 1] == found.change[2, 3] == 1
    assert found.change[1, 3] == 2
    assert found.change[3, 5] == 0, "the same answer: indistinguishable by default"


def test_an_edge_along_one_line_hides_nothing_off_it():
    assert secrets_of(ANSWERS, [("s1", "s2")], 1.0).presence[3] == np.inf
    with pytest.raises(ExposedError):
        secrets_of(ANSWERS, [("s1", "s3")], 1.0)

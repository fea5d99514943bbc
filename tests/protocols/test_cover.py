"""Who leads: every family is met, and no choice of leaders would be lighter."""

from itertools import combinations

import numpy as np
import pytest

from discreet.protocols.cover import Cover
from discreet.protocols.families import Families, Vector


def graph(seed):
    random = np.random.default_rng(seed)
    vectors = tuple(Vector("ab"[index % 2], int(random.integers(1, 6))) for index in range(9))
    left, right = [0, 2, 4, 6, 8], [1, 3, 5, 7]
    edges = {(int(random.choice(left)), int(random.choice(right))) for _ in range(random.integers(1, 12))}
    return Families(10, ("a", "b"), vectors, tuple(sorted(edges)), "transfer")


def lightest(agreed):
    """All subsets tried."""
    free = [vector.size - 1 for vector in agreed.vectors]
    edges = [family for family in agreed.families if free[family[0]] * free[family[1]]]
    best = sum(free)
    for count in range(len(free) + 1):
        for chosen in combinations(range(len(free)), count):
            if all(set(edge) & set(chosen) for edge in edges):
                best = min(best, sum(free[index] for index in chosen))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_every_family_has_one_leader_and_leaders_are_as_light_as_can_be(seed):
    agreed = graph(seed)
    cover = Cover(agreed)
    for first, second in agreed.families:
        met = (second in cover.partners.get(first, [])) + (first in cover.partners.get(second, []))
        assert met == (cover.free(first) * cover.free(second) > 0)
    assert sum(map(cover.choices, agreed.holders)) == lightest(agreed)


def test_both_holders_find_the_same_leaders():
    for seed in range(12):
        agreed = graph(seed)
        assert Cover(agreed).partners == Cover(Families.of(agreed.to_dict())).partners

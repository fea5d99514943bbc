"""Pictures of structures: parents above children, nothing on top of another, long arrows past boxes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.models.structure import Structure
from discreet.report.canvas import passing
from discreet.report.layers import Layers, Slot, arrange, slots_of


def structure_of(seed: int, nodes: int, most: int) -> Structure:
    draw = np.random.default_rng(seed)
    names = [f"n{at}" for at in range(nodes)]
    parents = {
        name: tuple(draw.choice(names[:at], min(at, int(draw.integers(0, most + 1))), replace=False).tolist())
        for at, name in enumerate(names)
    }
    return Structure(dict.fromkeys(names, ("y", "n")), parents)


def crossings(layers: Layers, structure: Structure) -> int:
    """Pairs of pieces of arrows between neighbouring layers that cross, counted one by one."""
    places = layers.nodes
    pieces = []
    for node, parents in structure.parents.items():
        for parent in parents:
            way = [places[parent], *layers.ways.get((parent, node), []), places[node]]
            pieces += [(one[1], one[0], other[0]) for one, other in pairwise(way)]
    return sum(
        one[0] == other[0] and (one[1] - other[1]) * (one[2] - other[2]) < -1e-9
        for at, one in enumerate(pieces)
        for other in pieces[:at]
    )


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_parents_stand_above_their_children_and_nothing_on_top_of_another(
    seed: int, nodes: int, most: int
) -> None:
    structure = structure_of(seed, nodes, most)
    layers = arrange(structure)
    places = layers.nodes
    assert sorted(places) == sorted(structure.nodes)
    assert sum(map(len, layers.rows)) == slots_of(structure) == len(layers.across)
    for node, parents in structure.parents.items():
        for parent in parents:
            passed = [depth for _, depth in layers.ways.get((parent, node), [])]
            assert passed == list(range(places[parent][1] + 1, places[node][1]))
            assert places[parent][1] < places[node][1]
    for row in layers.rows:
        for one, other in pairwise(row):
            gap = layers.across[other] - layers.across[one]
            assert gap >= (one.width + other.width) / 2 - 1e-9
        reach = [abs(layers.across[slot]) + slot.width / 2 for slot in row]
        assert max(reach) <= layers.width / 2 + 1e-9
    assert arrange(structure) == layers


def test_a_chain_stands_in_a_line_and_its_shortcut_beside_it() -> None:
    structure = Structure(dict.fromkeys("abcd", ("y", "n")), {"b": ("a",), "c": ("b",), "d": ("c", "a")})
    layers = arrange(structure)
    assert [[slot.node for slot in row if slot.width == 1] for row in layers.rows] == [
        ["a"],
        ["b"],
        ["c"],
        ["d"],
    ]
    assert Slot("a", "d", 1) in layers.across and Slot("a", "d", 2) in layers.across
    beside = {x for x, _ in layers.ways["a", "d"]}
    assert all(abs(x - layers.nodes[node][0]) > 0.6 for x in beside for node in "bc")


def test_roots_come_down_to_their_first_child_and_few_arrows_cross() -> None:
    names = "abcdefgh"
    structure = Structure(
        dict.fromkeys(names, ("y", "n")),
        {"b": ("a",), "c": ("b",), "d": ("c", "e"), "f": ("a",), "g": ("f",), "h": ("g", "e")},
    )
    layers = arrange(structure)
    assert layers.nodes["e"][1] == layers.nodes["d"][1] - 1
    assert crossings(layers, structure) == 0
    knot = Structure(dict.fromkeys("abcdef", ("y", "n")), {"d": ("c",), "e": ("b",), "f": ("a",)})
    assert crossings(arrange(knot), knot) == 0


@pytest.mark.parametrize("bends", [0, 1, 3])
def test_arrows_pass_layers_straight(bends: int) -> None:
    places = [np.array([float(at % 2), -float(at)]) for at in range(bends + 2)]
    way = passing(places, 0.2)
    assert len(way) == 2 + 2 * bends
    assert way[0].tolist() == [0.0, -0.2]
    assert way[-1][1] == pytest.approx(-(bends + 1) + 0.2)
    for at in range(bends):
        assert way[1 + 2 * at][0] == way[2 + 2 * at][0] == places[at + 1][0]

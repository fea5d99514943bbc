"""Structures: what is declared is checked, and large tables are refused before memory is taken."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from experiments.paper_asia import paper_asia

from discreet.errors import ParameterError, TooLargeError
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.models.tally import tally

YES = ("yes", "no")


def test_families_shapes_and_orders_follow_from_the_declaration() -> None:
    structure = Structure({"c": YES, "b": ("x", "y", "z"), "a": YES}, {"c": ("b", "a"), "b": ("a",)})
    assert structure.nodes == ("c", "b", "a")
    assert structure.families == {"c": ("b", "a", "c"), "b": ("a", "b"), "a": ("a",)}
    assert structure.shape("c") == (3, 2, 2)
    assert structure.order == ("a", "b", "c")
    assert structure.cells() == 12 + 6 + 2


def test_only_families_outside_all_others_are_measured() -> None:
    assert set(paper_asia().structure.measured) == {"T", "L", "B", "E", "X", "D"}
    # b|a and a lie inside c|a,b; of two equal families the first is measured
    chain = Structure({"a": YES, "b": YES, "c": YES}, {"b": ("a",), "c": ("a", "b")})
    assert chain.measured == ("c",)
    same = Structure.of_edges([("a", "b")], {"a": YES, "b": YES})
    assert same.measured == ("b",)


def test_measured_families_are_those_that_no_other_contains() -> None:
    random = np.random.default_rng(4)
    for _ in range(30):
        names = [f"n{index}" for index in range(9)]
        parents = {
            name: tuple(random.choice(names[:index], min(index, int(random.integers(0, 4))), replace=False))
            for index, name in enumerate(names)
        }
        structure = Structure(dict.fromkeys(names, ("a", "b")), parents)
        sets = {node: frozenset(family) for node, family in structure.families.items()}
        for node in names:
            inside = any(sets[node] < sets[other] for other in names)
            twin = any(sets[node] == sets[other] for other in structure.measured if other != node)
            assert (node in structure.measured) == (not inside and not twin)


def test_many_nodes_take_time_in_proportion() -> None:
    """Tens of thousands of families were each compared with all others."""
    names = [f"n{index}" for index in range(30_000)]
    parents = {name: (before,) for before, name in pairwise(names)}
    structure = Structure(dict.fromkeys(names, ("a", "b")), parents)
    assert structure.measured == tuple(names[1:])
    with pytest.raises(ParameterError, match="cycle"):
        Structure(structure.states, parents | {names[0]: (names[-1],)})


def test_plain_data_bring_the_structure_back_even_with_sorted_keys() -> None:
    structure = Structure({"z": YES, "a": ("12+", "<5")}, {"a": ("z",)})
    plain = json.loads(json.dumps(structure.to_dict(), sort_keys=True))
    back = Structure.of(plain)
    assert back == structure
    assert back.nodes == ("z", "a")


def test_edges_give_parents_in_their_order() -> None:
    structure = Structure.of_edges([("b", "c"), ("a", "c")], {"a": YES, "b": YES, "c": YES})
    assert structure.parents == {"a": (), "b": (), "c": ("b", "a")}


@pytest.mark.parametrize(
    ("states", "parents", "words"),
    [
        ({"a": YES, "b": YES}, {"a": ("b",), "b": ("a",)}, "cycle"),
        ({"a": YES}, {"a": ("a",)}, "cycle"),
        ({"a": YES}, {"a": ("x",)}, "unknown parents"),
        ({"a": YES}, {"x": ("a",)}, "unknown nodes"),
        ({"a": ()}, {}, "missing"),
        ({"a": ("x", "x")}, {}, "not distinct"),
        ({"a": ("x", "")}, {}, "not all names"),
        ({"a": ('say "x"',)}, {}, "not all names"),
        ({"a": ("line\nbreak",)}, {}, "not all names"),
        ({"a": "yes"}, {}, "not a list"),
        ({"a": YES, "b": YES}, {"b": ("a", "a")}, "not distinct"),
        ({}, {}, "missing"),
        (
            {"a": YES, **{f"p{i}": YES for i in range(31)}},
            {"a": tuple(f"p{i}" for i in range(31))},
            "too many",
        ),
    ],
)
def test_what_is_no_structure_is_refused(states: Any, parents: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Structure(states, parents)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"nodes": {}},
        {"nodes": [{"name": "a"}]},
        {"nodes": [{"name": "a", "states": ["x"], "parents": []}] * 2},
        {"nodes": [{"name": "a", "states": ["x"], "parents": []}], "more": 1},
        {"nodes": [{"name": "a", "states": 3, "parents": []}]},
    ],
)
def test_plain_data_that_are_no_structure_are_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Structure.of(plain)


def test_edges_to_nowhere_are_refused() -> None:
    for edges in ([("a", "x")], [("x", "a")], ["ab"], [("a",)]):
        with pytest.raises(ParameterError):
            Structure.of_edges(edges, {"a": YES})


def test_huge_tables_are_refused_with_the_number_of_cells_before_memory_is_taken() -> None:
    parents = tuple(f"p{index}" for index in range(7))
    twenty = tuple(map(str, range(20)))
    structure = Structure({**dict.fromkeys(parents, twenty), "child": twenty}, {"child": parents})
    tracemalloc.start()
    for refused in (
        structure.check_size,
        lambda: tally({}, structure),
        lambda: Network(structure, {}),
    ):
        with pytest.raises(TooLargeError, match=r"'child' alone, with 7 parents, has 25,600,000,000 cells"):
            refused()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
    assert "20" not in repr(structure).split("nodes")[0]


def test_a_limit_of_cells_can_be_lowered() -> None:
    structure = Structure({"a": YES}, {})
    structure.check_size(2)
    with pytest.raises(TooLargeError):
        structure.check_size(1)

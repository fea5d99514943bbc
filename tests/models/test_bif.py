"""BIF text: odd names, every form of rows, exact round trips, and refusals that name the line."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments.paper_asia import paper_asia
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BundleError, ParameterError, TooLargeError
from discreet.models.bif import bif_text, parse_bif, read_bif, write_bif
from discreet.models.network import Network
from discreet.models.structure import Structure

HEAD = """network test { property author me; }
variable age { type discrete [ 3 ] { <5, 5-12, 12+ }; property about it; }
variable x { // a comment { with braces
  type discrete [ 2 ] { Asy/Patch, "two words" }; }
"""


def build(rows: str, given: str = " | age") -> Network:
    return parse_bif(
        HEAD + "probability ( age ) { table 0.2, 0.3, 0.5; }\nprobability ( x" + given + " ) {" + rows + "}"
    )


def test_odd_names_comments_and_properties_are_read() -> None:
    network = build("/* of old\nthings */ (12+) 0.1, 0.9; (<5) 0.5, 0.5; property late; (5-12) .25 .75; ")
    assert network.structure.states["age"] == ("<5", "5-12", "12+")
    assert network.structure.states["x"] == ("Asy/Patch", "two words")
    assert network.cpt("x").tolist() == [[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]]
    assert network.query(["x"], {"age": "12+"}).tolist() == [0.1, 0.9]


def test_a_table_has_the_states_of_the_node_outermost() -> None:
    network = build("table 0.1, 0.2, 0.3, 0.9, 0.8, 0.7;")
    assert network.cpt("x").tolist() == [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]


def test_default_fills_the_rows_that_are_not_given() -> None:
    network = build("default 0.5, 0.5; (5-12) 0.1, 0.9;")
    assert network.cpt("x").tolist() == [[0.5, 0.5], [0.1, 0.9], [0.5, 0.5]]


def test_rounded_rows_are_scaled_back_to_one() -> None:
    network = build("default 0.333, 0.666;")
    assert network.cpt("x").sum(axis=-1) == pytest.approx(1, abs=1e-15)
    assert network.cpt("x")[0, 0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("(<5) 0.5, 0.5;", "2"),  # rows are missing: how many
        ("(<5) 0.5, 0.5; (<5) 0.5, 0.5;", "twice"),
        ("(old) 0.5, 0.5;", "unknown state"),
        ("(<5, <5) 0.5, 0.5;", "number of parents"),
        ("default 0.5;", "another length"),
        ("default 0.5, half;", "no number"),
        ("default 0.5, 0.5", "no end"),
        ("default -0.5, 1.5;", "no probability"),
        ("default nan, 1;", "no probability"),
        ("default 0.5, 0.9;", "sum to one"),
        ("rows 0.5, 0.5;", "no row"),
        ("(<5 0.5, 0.5;", "list is broken"),
    ],
)
def test_damaged_rows_are_refused_with_their_line(rows: str, words: str) -> None:
    with pytest.raises(BundleError, match=rf"line \d+ of the network.*{words}"):
        build("\n" + rows)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no variable"),
        ("variable a {", 1, "ends in the middle"),
        ("variable a { }", 1, "no type"),
        ("variable a { type continuous; }", 1, "something else"),
        ("variable a { type discrete [ 3 ] { x, y }; }", 1, "another than announced"),
        ("variable a { type discrete [ 2 ] { x, x }; }", 1, "not distinct"),
        (
            "variable a { type discrete [ 1 ] { x }; }\n\nvariable a { type discrete [ 1 ] { x }; }",
            3,
            "twice",
        ),
        ("variable a { type discrete [ 1 ] { x }; }", 1, "no probabilities"),
        ("\n\nthing { }", 3, "no such block"),
        ("probability ( a ) { table 1; }", 1, "no variable of this name"),
        ('\nvariable "a { type discrete [ 1 ] { x }; }', 2, "quote is not closed"),
        ("variable a { type discrete [ 1 ] { x }; }\nprobability ( a ) { table 1; ", 2, "not closed"),
        (
            "variable a { type discrete [ 1 ] { x }; }\nprobability ( a ; a ) { table 1; }",
            2,
            "of one variable",
        ),
        ("variable { { type discrete [ 1 ] { x }; }", 1, "name is missing"),
    ],
)
def test_damaged_text_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BundleError, match=rf"line {line} of the network: .*{words}"):
        parse_bif(text)


@pytest.mark.parametrize("end", ["/* ", "/*/", "\n/*\n\n"])
def test_comments_that_never_end_are_refused_at_once(end: str) -> None:
    """Looking for the end of each of them anew took half a minute for 120 kB."""
    with pytest.raises(BundleError, match=r"line [23] of the network: a comment is not closed"):
        parse_bif("\n" + end * 200_000 if end == "/* " else "\n" + end)


def test_a_number_of_states_may_be_too_long_to_be_a_number() -> None:
    with pytest.raises(BundleError, match="than announced"):
        parse_bif("variable a { type discrete [ " + "9" * 5000 + " ] { x, y }; }")


def test_cycles_are_refused() -> None:
    variables = "".join(f"variable {name} {{ type discrete [ 1 ] {{ x }}; }}" for name in "ab")
    with pytest.raises(BundleError, match="cycle"):
        parse_bif(variables + "probability ( a | b ) { (x) 1; } probability ( b | a ) { (x) 1; }")


def test_a_table_too_large_is_refused_before_memory_is_taken() -> None:
    names = [f"p{index}" for index in range(7)]
    states = ", ".join(f"s{index}" for index in range(20))
    text = "".join(
        f"variable {name} {{ type discrete [ 20 ] {{ {states} }}; }}" for name in [*names, "child"]
    )
    text += "".join(f"probability ( {name} ) {{ default 1; }}" for name in names)
    with pytest.raises(TooLargeError, match="25,600,000,000 cells"):
        parse_bif(text + f"probability ( child | {', '.join(names)} ) {{ default 1; }}")


def test_files_are_read_and_written_packed_or_not(tmp_path: Path) -> None:
    network = paper_asia()
    for name in ("asia.bif", "asia.bif.gz"):
        back = read_bif(write_bif(network, tmp_path / name))
        assert back.structure == network.structure
        assert all((back.tables[node] == network.tables[node]).all() for node in network.structure.nodes)
    assert gzip.decompress((tmp_path / "asia.bif.gz").read_bytes()) == (tmp_path / "asia.bif").read_bytes()


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        read_bif(tmp_path / "absent.bif")
    (tmp_path / "bytes.bif").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BundleError, match="not text"):
        read_bif(tmp_path / "bytes.bif")
    with pytest.raises(ParameterError, match="cannot be written"):
        write_bif(paper_asia(), tmp_path / "no" / "folder.bif")


NAME = st.text(
    st.characters(blacklist_characters='"', blacklist_categories=("C", "Z")), min_size=1, max_size=8
)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    states = {name: tuple(draw(st.lists(NAME, min_size=1, max_size=3, unique=True))) for name in names}
    parents = {name: tuple(names[: draw(st.integers(0, index))]) for index, name in enumerate(names)}
    structure = Structure(states, parents)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = {
        name: random.dirichlet(np.ones(structure.card(name)), structure.shape(name)[:-1]) for name in names
    }
    return Network(structure, tables)


@given(networks())
@settings(max_examples=150, deadline=None)
def test_text_brings_any_network_back_bit_for_bit(network: Network) -> None:
    back = parse_bif(bif_text(network))
    assert back.structure == network.structure
    assert back.structure.nodes == network.structure.nodes
    for node in network.structure.nodes:
        assert (back.tables[node] == network.tables[node]).all()


@given(st.text(alphabet='{}()[]|;,"/*\n variableprobt01.x', max_size=80))
@settings(max_examples=300, deadline=None)
def test_no_text_ends_in_any_other_error(text: str) -> None:
    with contextlib.suppress(BundleError, TooLargeError):
        parse_bif(text)


def test_networks_in_the_wild_are_read_and_come_back(real_data: Path) -> None:
    sizes = {
        "alarm": (37, 46, 752),
        "child": (20, 25, 344),
        "hailfinder": (56, 66, 3741),
        "munin1": (186, 273, 19226),
    }
    for name, (nodes, edges, cells) in sizes.items():
        network = read_bif(real_data / "tabular" / "bif" / f"{name}.bif.gz")
        assert len(network.structure.nodes) == nodes
        assert sum(map(len, network.structure.parents.values())) == edges
        assert network.structure.cells() == cells
        back = parse_bif(bif_text(network))
        assert all((back.tables[node] == network.tables[node]).all() for node in network.structure.nodes)

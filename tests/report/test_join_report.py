"""Reports of joint runs: who learned what, who sent what, the structure; pictures; names escaped."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.image import imread

from discreet.join import JoinPlan
from discreet.join.promise import guarantee
from discreet.models.network import Network
from discreet.report.canvas import DAY, NIGHT
from discreet.report.dag import draw_structure, is_drawn
from discreet.report.flow import draw_flows, places_of
from discreet.report.join import Flow, JoinPaper, Node, size_of
from discreet.report.page import write_page

EVIL = "'><script>alert(1)</script>&<img src=x onerror=y>$"


def plan_of(
    holders: int, helper: bool = False, analyst: bool = False, nodes: int = 6, name: str = "x"
) -> JoinPlan:
    names = [f"{name}{at}" for at in range(nodes)]
    parties: dict = {f"h{at}": {"role": "holder", "columns": names[at::holders]} for at in range(holders)}
    if helper:
        parties["dealer"] = {"role": "helper"}
    if analyst:
        parties["office"] = {"role": "analyst"}
    states = {node: ["yes", f"no {name}"] for node in names}
    return JoinPlan.of(
        {
            "job": "network",
            "name": "study",
            "parties": parties,
            "structure": {"edges": [list(pair) for pair in pairwise(names)], "states": states},
            "rows": {"count": 100},
            "route": {"kind": "helper"} if helper else {},
            "release": {"to": ["office" if analyst else "h0"], "epsilon": 1.0, "delta": 1e-6},
        }
    )


def paper_of(plan: JoinPlan, name: str) -> JoinPaper:
    parties = list(plan.parties)
    flows = tuple(
        Flow(
            one,
            other,
            10 ** (2 + (i + 2 * j) % 6),
            11 ** (2 + (i + 2 * j) % 6) if name in (one, other) else None,
        )
        for i, one in enumerate(parties)
        for j, other in enumerate(parties)
        if i != j
    )
    structure = plan.network
    tables = {node: np.full(structure.shape(node), 0.5) for node in structure.nodes}
    receipt = {
        **{
            "job": "joint network",
            "method": plan.kind,
            "digest": "d" * 64,
            "session": "s" * 64,
            "seconds": 1.5,
        },
        **{
            "started": "2026",
            "total": {"messages": 7, "rounds": 3},
            "parties": dict.fromkeys(parties, "f" * 64),
        },
        **{"versions": {"discreet": "0"}},
    }
    return JoinPaper(
        guarantee=guarantee(plan),
        receipt=receipt,
        digest="0" * 64,
        bought=(),
        sentence="Nothing much.",
        plan=plan,
        name=name,
        rows=100,
        network=Network(structure, tables) if name in plan.receivers else None,
        flows=flows,
        nodes=tuple(
            Node(node, structure.parents[node], 4, ("h0", "h1"), 50, 900) for node in structure.measured
        ),
        shared=1234,
    )


def is_png(raw: bytes) -> np.ndarray:
    picture = imread(io.BytesIO(raw))
    assert picture.std() > 0.01
    return picture


@pytest.mark.parametrize("colours", [DAY, NIGHT], ids=["day", "night"])
@pytest.mark.parametrize(
    ("holders", "helper", "analyst"), [(2, False, False), (2, True, False), (3, True, True), (5, False, True)]
)
def test_flows_are_drawn_for_any_number_of_parties(holders, helper, analyst, colours):
    paper = paper_of(plan_of(holders, helper, analyst), "h1")
    picture = is_png(draw_flows(paper, colours))
    assert picture.shape[1] > picture.shape[0] / 2
    assert draw_flows(paper, colours) == draw_flows(paper, colours)


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("helped", [False, True])
def test_boxes_of_parties_do_not_overlap(count, helped):
    places = places_of(count, helped)
    for i in range(count):
        for j in range(i):
            across, up = np.abs(places[i] - places[j])
            assert across > 1.6 or up > 0.54
    if helped and count > 2:
        assert places[0, 1] == places[:, 1].max()


def test_nothing_is_drawn_for_parties_that_sent_nothing():
    from dataclasses import replace

    paper = paper_of(plan_of(2, True), "h0")
    silent = replace(
        paper,
        flows=(replace(paper.flows[0], announced=0, counted=None), *paper.flows[1:]),
    )
    assert draw_flows(silent) != draw_flows(paper)


@pytest.mark.parametrize(
    ("holders", "nodes", "name"), [(2, 2, "x"), (3, 9, "a long name of a node "), (5, 12, "$")]
)
def test_structures_are_drawn(holders, nodes, name):
    for colours in (DAY, NIGHT):
        is_png(
            draw_structure(
                paper_of(plan_of(max(2, min(holders, nodes)), nodes=nodes, name=name), "h0"), colours
            )
        )


def test_structures_that_nobody_could_read_are_not_drawn():
    assert is_drawn(paper_of(plan_of(2, nodes=60), "h0"))
    assert not is_drawn(paper_of(plan_of(2, nodes=61), "h0"))


def test_the_page_says_who_learned_what_and_asks_for_nothing():
    plan = plan_of(2, True)
    page = write_page(paper_of(plan, "h0"))
    for words in (
        "Who learned what",
        "What was sent",
        "Bytes for each node",
        "The network",
        "Probabilities",
        "Receipt",
    ):
        assert words in page
    assert page.count("<strong>dealer</strong>") == 1
    for learned in plan.learns.values():
        assert learned[1:].replace("'", "&#x27;") in page
    assert "default-src 'none'" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", page)
    assert "50 bytes" in page
    assert "1.23 kB" in page


def test_a_party_that_receives_nothing_sees_no_probability():
    page = write_page(paper_of(plan_of(2, True), "dealer"))
    assert "dealer did not get the probabilities" in page
    assert "0.5000" not in page
    assert "Load it" not in page
    assert "0.5000" in write_page(paper_of(plan_of(2, True), "h0"))


def test_what_others_sent_is_not_counted_but_announced():
    paper = paper_of(plan_of(3, True), "h0")
    page = write_page(paper)
    mine = paper.flow("h0", "h1")
    assert size_of(mine.counted) in page
    assert re.search(r"h1 → h2</td><td>[^<]+</td><td></td>", page)


def test_names_cannot_break_out_of_a_page():
    page = write_page(paper_of(plan_of(2, nodes=3, name=EVIL), "h0"))
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page


def test_families_that_lie_with_one_holder_take_no_bytes():
    from dataclasses import replace

    paper = paper_of(plan_of(2), "h0")
    alone = replace(paper, nodes=tuple(replace(node, where=("h0",)) for node in paper.nodes))
    assert "nothing is counted together" in write_page(alone)


def test_long_tables_of_probabilities_are_cut():
    names = [f"n{at}" for at in range(9)]
    plan = plan_of(2, nodes=9)
    edges = [[name, "x8"] for name in (f"x{at}" for at in range(8))]
    settings = {"edges": edges, "states": {f"x{at}": ["y", "n"] for at in range(len(names))}}
    wide = JoinPlan.of(
        {
            **{"job": "network", "name": "wide", "rows": {"count": 9}, "structure": settings},
            "parties": {
                name: {"role": "holder", "columns": list(plan.columns_of(name))} for name in plan.holders
            },
            "release": {"to": ["h0"], "exact": True},
        }
    )
    assert "and 192 more lines" in write_page(paper_of(wide, "h0"))


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (12345, "12.3 kB"),
        (999_400, "999 kB"),
        (999_600, "1.00 MB"),
        (2.5e9, "2.50 GB"),
        (3e15, "3000 TB"),
    ],
)
def test_sizes_in_words(count, words):
    assert size_of(count) == words

"""Reports of Bayesian networks: one page that asks for nothing, pictures of every size, names escaped."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from experiments.paper_asia import paper_asia
from matplotlib.image import imread

from discreet.accounting.guarantee import Guarantee
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.report.canvas import DAY, NIGHT
from discreet.report.network import NetworkPaper
from discreet.report.network_page import draw_network, face_network
from discreet.report.page import write_page

EVIL = "'><script>alert(1)</script>&<img src=x onerror=y>$"


def paper(network: Network, **more: Any) -> NetworkPaper:
    promise = Guarantee(math.inf, 0.0, "row", (), "nobody", (), ())
    rest: dict[str, Any] = {"receipt": {}, "digest": "", "bought": (), "sentence": "s", "parameters": {}}
    return NetworkPaper(network=network, guarantee=promise, **{**rest, **more})


def lattice(nodes: int, parents: int) -> Network:
    names = [f"node number {index}" for index in range(nodes)]
    structure = Structure(
        dict.fromkeys(names, ("a", "b", "c")),
        {name: tuple(names[max(0, at - parents) : at]) for at, name in enumerate(names)},
    )
    return Network(structure, {name: np.full(structure.shape(name), 1 / 3) for name in names})


@pytest.mark.parametrize("network", [paper_asia(), lattice(1, 0), lattice(12, 1), lattice(130, 0)], ids=str)
def test_pictures_of_every_size_are_drawn_by_day_and_by_night(network: Network) -> None:
    seen = paper(network)
    for colours in (DAY, NIGHT):
        pixels = imread(io.BytesIO(draw_network(seen, colours)))
        assert pixels.shape[1] > 1000 and np.ptp(pixels[..., :3]) > 0.3


def test_a_network_without_end_has_a_page_without_a_picture() -> None:
    page = write_page(paper(lattice(3001, 0)))
    assert "too large for a picture" in page and "<img" not in page


def test_long_chains_make_no_endless_pictures() -> None:
    height = imread(io.BytesIO(draw_network(paper(lattice(130, 1))))).shape[0]
    assert height < 100 * 240 * 0.72  # as tall as a hundred layers would be


def test_the_page_escapes_every_name_and_asks_for_nothing() -> None:
    structure = Structure({EVIL: (EVIL, "b"), "c": ("x",)}, {"c": (EVIL,)})
    network = Network(structure, {EVIL: np.array([0.25, 0.75]), "c": np.ones((2, 1))})
    page = write_page(paper(network))
    assert "<script" not in page and "<img src=x" not in page and "default-src 'none'" in page
    assert "75.0%" in page


def test_the_face_tells_nodes_parents_and_likely_states() -> None:
    face = face_network(paper(paper_asia(), receipt={"families": 6, "cells": 32, "prior": 1.0}))
    assert face.title == "Bayesian network of A, S, T, L and 4 more"
    assert face.size == "8 nodes, 8 edges, 36 cells"
    assert "1 (99.0%), 2 (1.0%)" in face.parts and "T, L" in face.parts
    assert dict(face.facts)["Tables counted"] == "6, with 32 cells"


def test_margins_that_take_too_much_memory_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.errors import TooLargeError

    def refuse(_: Network) -> None:
        raise TooLargeError("too large")

    monkeypatch.setattr(Network, "margins", refuse)
    seen = paper(paper_asia())
    assert seen.margins is None and seen.shown("A", 3) == "2 states"
    assert draw_network(seen) and "2 states" in write_page(seen)


def test_plain_data_hold_the_tables() -> None:
    plain = paper(paper_asia()).to_dict()
    assert plain["tables"]["A"] == [0.99, pytest.approx(0.01)]
    assert plain["structure"] == paper_asia().structure.to_dict()

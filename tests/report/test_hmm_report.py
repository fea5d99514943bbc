"""Reports of hidden Markov models: one page that asks for nothing, pictures of every kind, names escaped."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from discreet.accounting.guarantee import Guarantee
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.parameters import tensors_of
from discreet.report.canvas import DAY, NIGHT
from discreet.report.graph import draw_hmm, is_graph, is_grid, likeliest
from discreet.report.hmm import HMMPaper
from discreet.report.page import write_page

EVIL = '"><script>alert(1)</script>&<img src=x onerror=y>$'


def chain(states: int, forward: bool = False, dense: bool = True) -> Chain:
    draw = np.random.default_rng(states)
    steps = (
        draw.dirichlet(np.ones(states), states)
        if dense
        else np.eye(states) * 0.9 + np.roll(np.eye(states) * 0.1, 1, axis=1)
    )
    steps = np.triu(steps) if forward else steps
    return Chain(np.full(states, 1 / states), steps / steps.sum(axis=1, keepdims=True))


def paper(model: HMM, columns: tuple[str, ...] = ("v",), **more: Any) -> HMMPaper:
    promise = Guarantee(math.inf, 0.0, "sequence", (), "nobody", (), (), piece="sequence")
    rest: dict[str, Any] = {"receipt": {}, "digest": "", "bought": (), "sentence": "s", "symbols": None}
    rest |= {"region": None, "guarantee": promise, "emissions": "things", "tensors": tensors_of(model)}
    return HMMPaper(model=model, columns=columns, **{**rest, **more})


def symbols(states: int, count: int, **more: Any) -> HMM:
    draw = np.random.default_rng(count)
    return HMM(chain(states, **more), Categorical(draw.dirichlet(np.ones(count), states)))


def points(states: int, dimension: int) -> HMM:
    means = np.random.default_rng(1).normal(size=(states, dimension)) * 3
    return HMM(chain(states, forward=True), Gaussian.of(means, np.ones((states, dimension)), "diag"))


MODELS = {
    "one state": symbols(1, 1),
    "two states": symbols(2, 6),
    "a ring": symbols(8, 12, dense=False),
    "a line": symbols(5, 3, forward=True),
    "dense": symbols(9, 30),
    "many states": symbols(40, 7),
    "many symbols": symbols(3, 3_000),
    "points on a line": points(3, 1),
    "points": points(4, 2),
    "wide points": points(3, 5),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("colours", [DAY, NIGHT], ids=["day", "night"])
def test_every_kind_of_hidden_markov_model_can_be_drawn(kind: str, colours: Any) -> None:
    model = MODELS[kind]
    wide = getattr(model.emission, "dimension", 1)
    picture = imread(io.BytesIO(draw_hmm(paper(model, tuple(f"c{i}" for i in range(wide))), colours)))
    assert picture.shape[1] > 800
    shades = np.unique((picture.reshape(-1, 4)[::7] * 255).astype(int), axis=0)
    assert len(shades) > 5, "not one flat colour"
    ground = [int(colours.paper[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    assert np.allclose(picture[0, 0, :3], ground, atol=0.01)


def test_graphs_are_for_few_steps_and_maps_for_many() -> None:
    assert is_graph(paper(MODELS["a ring"])) and not is_graph(paper(MODELS["dense"]))
    assert is_grid(paper(MODELS["dense"])) and not is_grid(paper(MODELS["many symbols"]))
    assert not is_graph(paper(MODELS["many states"]))
    assert len(likeliest(paper(MODELS["many symbols"]))) == 80
    assert paper(MODELS["a line"]).forward and not paper(MODELS["a ring"]).forward


def test_shares_are_those_of_sequences_of_the_declared_length() -> None:
    model = HMM(Chain(np.array([1.0, 0]), np.array([[0.5, 0.5], [0, 1.0]])), Categorical(np.ones((2, 1))))
    assert paper(model, receipt={"max_length": 1}).shares.tolist() == [1.0, 0.0]
    assert paper(model, receipt={"max_length": 2}).shares.tolist() == [0.75, 0.25]


@pytest.mark.parametrize("kind", MODELS)
def test_the_page_of_a_hidden_markov_model_asks_for_nothing_and_escapes_names(kind: str) -> None:
    model = MODELS[kind]
    wide = getattr(model.emission, "dimension", 1)
    names = (EVIL, *(f"c{i}" for i in range(wide - 1)))
    called = tuple(f"{EVIL}{i}" for i in range(getattr(model.emission, "symbols", 0))) or None
    page = write_page(paper(model, names, symbols=called))
    assert "<script" not in page and "onerror=y>" not in page.replace("onerror=y&gt;", "")
    assert "default-src 'none'" in page
    without = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", page)
    assert not re.search(r"https?:|//|@import|url\(", without)
    assert "Not private" in page and f"{model.chain.states} states" in page
    assert len(page) < 4_000_000

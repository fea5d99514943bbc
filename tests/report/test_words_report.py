"""Reports of word models: one page that asks for nothing, a picture of every kind, names escaped."""

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
from discreet.models.vocabulary import Vocabulary
from discreet.report.canvas import DAY, NIGHT
from discreet.report.page import write_page
from discreet.report.words import WordsPaper
from discreet.report.words_page import draw_words

EVIL = '"><script>alert(1)</script>&<img src=x onerror=y>$'


def paper(
    words: int, states: int = 3, symbols: int = 0, dimension: int = 4, name: str = "word"
) -> WordsPaper:
    draw = np.random.default_rng(words)
    models = []
    for _ in range(words):
        stay = np.full(states, 0.9)
        stay[-1] = 1
        chain = Chain(np.eye(states)[0], np.diag(stay) + np.diag(1 - stay[:-1], 1))
        emission: Any = Gaussian.of(
            draw.normal(0, 0.5, (states, dimension)), np.full((states, dimension), 0.1), "diag"
        )
        if symbols:
            emission = Categorical(draw.dirichlet(np.ones(symbols), states))
        models.append(HMM(chain, emission))
    vocabulary = Vocabulary(tuple(f"{name} {number}" for number in range(words)), tuple(models), {})
    promise = Guarantee(math.inf, 0.0, "sequence", (), "nobody", (), (), piece="sequence")
    return WordsPaper(
        vocabulary=vocabulary, guarantee=promise, receipt={}, digest="", bought=(), sentence="s"
    )


KINDS = {
    "one word": paper(1),
    "one state": paper(3, states=1),
    "ten": paper(10, dimension=39),
    "symbols": paper(4, symbols=30),
    "many": paper(45),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_page_and_a_picture(kind: str) -> None:
    page = write_page(KINDS[kind])
    assert "http" not in re.sub(r"http-equiv", "", page) and "<script" not in page
    for colours in (DAY, NIGHT):
        picture = imread(io.BytesIO(draw_words(KINDS[kind], colours)))
        assert picture.shape[0] > 300 and picture[..., :3].std() > 0.01
    assert all(f"word {number}" in page for number in range(len(KINDS[kind].vocabulary.words)))


def test_names_of_words_are_escaped() -> None:
    page = write_page(paper(2, name=EVIL))
    assert "<script>alert" not in page and "<img src=x" not in page and "&lt;script&gt;" in page


def test_the_nearest_word_is_the_one_that_sounds_alike() -> None:
    far, near = paper(3), paper(3)
    models = [*far.vocabulary.models]
    shifted: Any = models[0].emission
    models[2] = HMM(models[0].chain, Gaussian.of(shifted.means + 0.05, shifted.covariances, "diag"))
    near = WordsPaper(**{**vars(far), "vocabulary": Vocabulary(("a", "b", "c"), tuple(models), {})})
    assert near.nearest(0) == 2 and near.nearest(2) == 0
    assert paper(1).nearest(0) is None
    np.testing.assert_allclose(np.diag(near.distances), 0)
    assert near.lengths == (30, 30, 30)

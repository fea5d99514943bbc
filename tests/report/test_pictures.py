"""Pictures: which columns meet, where the map looks, and that ellipses lie where the model says."""

import io
import math
import sys

import numpy as np
import pytest
from matplotlib.image import imread

from discreet.accounting.guarantee import Guarantee
from discreet.domain import Ball, Box
from discreet.models.mixture import Mixture
from discreet.report.beside import Panel, draw_beside
from discreet.report.canvas import DAY, NIGHT, make_figure, to_png
from discreet.report.draw import draw_mixture, draw_pair, marginal, window
from discreet.report.mixture import MixturePaper
from discreet.report.paper import number


def paper(columns=("x", "y"), region=None, components=3, seed=0) -> MixturePaper:
    draw = np.random.default_rng(seed)
    d = len(columns)
    roots = draw.normal(size=(components, d, d)) * 0.3 + np.eye(d) * 0.3
    mixture = Mixture(
        draw.dirichlet(np.ones(components)),
        draw.normal(size=(components, d)),
        roots @ roots.transpose(0, 2, 1),
    )
    promise = Guarantee(math.inf, 0.0, "row", (), "nobody", (), ("the region of the data",))
    return told(columns, mixture, region or Box((-5.0,) * d, (5.0,) * d), promise)


def told(columns, mixture, region, guarantee) -> MixturePaper:
    return MixturePaper(
        columns=columns,
        mixture=mixture,
        region=region,
        guarantee=guarantee,
        receipt={},
        digest="",
        bought=(),
        sentence="",
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("colours", [DAY, NIGHT], ids=["day", "night"])
def test_any_number_of_columns_can_be_drawn(count, colours):
    picture = imread(io.BytesIO(draw_mixture(paper(tuple(f"c{i}" for i in range(count))), colours)))
    assert picture.shape[1] > 800
    assert len(np.unique(picture.reshape(-1, 4)[::7], axis=0)) > 50, "not one flat colour"
    assert np.allclose(
        picture[0, 0, :3], [int(colours.paper[i : i + 2], 16) / 255 for i in (1, 3, 5)], atol=0.01
    )


def test_the_same_model_gives_the_same_bytes():
    assert draw_mixture(paper()) == draw_mixture(paper())


def test_no_state_of_pyplot_is_touched():
    draw_mixture(paper())
    assert "matplotlib.pyplot" not in sys.modules


def test_all_pairs_of_up_to_four_columns_are_drawn():
    assert paper(("a", "b", "c")).pairs == [(0, 1), (0, 2), (1, 2)]
    assert len(paper(("a", "b", "c", "d")).pairs) == 6
    assert paper(("a", "b", "c", "d", "e")).pairs == [(0, 1)]


@pytest.mark.parametrize(
    ("columns", "earth"),
    [
        (("lat", "lon"), (1, 0)),
        (("age", "Longitude", "Latitude"), (1, 2)),
        (("home_lat", "home_lng"), (1, 0)),
        (("flat", "lon"), None),
        (("lat", "lon", "work_lat"), None),
        (("x", "y"), None),
    ],
)
def test_longitude_goes_across_and_latitude_up(columns, earth):
    assert paper(columns).earth == earth
    if earth:
        assert paper(columns).pairs[0] == earth


def test_columns_named_like_places_but_not_on_earth_are_plain():
    assert paper(("lat", "lon"), Box((0.0, 0.0), (1e6, 1e6))).earth is None


def test_a_map_has_the_aspect_of_its_latitude():
    region = Box((59.9, 10.0), (60.1, 10.4))
    mixture = Mixture(np.ones(1), np.array([[60.0, 10.2]]), np.array([np.eye(2) * 1e-4]))
    plain = paper(("lat", "lon"), region)
    here = told(("lat", "lon"), mixture, region, plain.guarantee)
    axes = make_figure(4, 4, DAY).add_subplot(1, 1, 1)
    draw_pair(axes, here, (1, 0), DAY)
    assert axes.get_aspect() == pytest.approx(2.0, rel=1e-3)
    assert axes.get_xlim()[0] > 10
    assert any(text.get_text() in ("500 m", "1 km") for text in axes.texts), "a scale"


def test_ellipses_lie_at_one_and_two_standard_deviations():
    here = paper(components=1)
    axes = make_figure(4, 4, DAY).add_subplot(1, 1, 1)
    draw_pair(axes, here, (0, 1), DAY)
    curves = [np.array(line.get_data()).T for line in axes.lines]
    inverse = np.linalg.inv(here.mixture.covariances[0])
    distances = [
        np.sqrt(
            np.einsum("ni,ij,nj->n", curve - here.mixture.means[0], inverse, curve - here.mixture.means[0])
        )
        for curve in curves
    ]
    for radius in (1.0, 2.0):
        assert any(np.allclose(distance, radius) for distance in distances)


def test_the_window_stays_inside_the_declared_region():
    limits = window(paper(region=Ball((0.0, 0.0), 1.0)), (0, 1))
    assert np.all(limits[:, 0] >= -1.07)
    assert np.all(limits[:, 1] <= 1.07)


def test_a_marginal_is_the_mixture_of_two_of_its_columns():
    whole = paper(("a", "b", "c")).mixture
    pair = marginal(whole, (2, 0))
    assert np.array_equal(pair.means, whole.means[:, [2, 0]])
    assert np.array_equal(pair.covariances[:, 0, 1], whole.covariances[:, 2, 0])


def test_letters_that_the_font_has_not_are_drawn_without_a_warning_that_says_them():
    figure = make_figure(1, 1, DAY)
    figure.text(0, 0, "日本")
    assert to_png(figure).startswith(b"\x89PNG")  # pytest makes an error of a warning


def test_names_cannot_be_formulas():
    draw_mixture(paper(("$\\frac{", "a" * 500)))
    draw_mixture(paper(("$x$", "\x00\n_^")))


def test_maps_side_by_side():
    points = np.random.default_rng(0).normal(0, 1, (100, 2))
    panels = (Panel("a", "b", points=points), Panel("c", "d", paper=paper(("lat", "lon"))))
    bounds = {"lat": (-5.0, 5.0), "lon": (-5.0, 5.0)}
    picture = imread(io.BytesIO(draw_beside(panels, bounds, np.array([[0.0, -5.0], [0.0, 5.0]]))))
    assert picture.shape[1] > picture.shape[0]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.00123, "0.00123"), (12.345, "12.3"), (123.4, "123"), (45678.0, "45,678")]
)
def test_numbers_are_for_people(value, shown):
    assert number(value) == shown

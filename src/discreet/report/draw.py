"""Pictures of a mixture: its ellipses at one and two standard deviations over its own density.

**Reveals** the released parameters, and nothing else: no point of the data is drawn here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.mixture import Mixture
from discreet.report.canvas import DAY, Colours, make_figure, plain, scale_bar, to_png, trim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.report.mixture import MixturePaper

__all__ = ["draw_curve", "draw_mixture", "draw_pair", "marginal", "window"]

_FINE = 220
_NAMED = 24


def draw_mixture(paper: MixturePaper, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: a curve for one column, else pairs of columns side by side."""
    if len(paper.columns) == 1:
        figure = make_figure(5.2, 3.1, colours)
        draw_curve(figure.add_subplot(1, 1, 1), paper, colours)
        return to_png(figure)
    pairs = paper.pairs
    across = min(2, len(pairs))
    down = math.ceil(len(pairs) / across)
    wide = 5.2 if across == 1 else 2.9 * across
    figure = make_figure(wide, wide * 0.82 if across == 1 else 2.75 * down, colours)
    for index, pair in enumerate(pairs):
        axes = figure.add_subplot(down, across, index + 1)
        draw_pair(axes, paper, pair, colours, numbered=across == 1)
    return to_png(figure)


def draw_pair(
    axes: Axes,
    paper: MixturePaper,
    pair: tuple[int, int],
    colours: Colours,
    *,
    limits: NDArray[np.float64] | None = None,
    numbered: bool = True,
) -> None:
    """Draw two columns of a mixture: density, ellipses, and the numbers of the heavier components."""
    flat = marginal(paper.mixture, pair)
    limits = window(paper, pair) if limits is None else limits
    (left, right), (bottom, top) = limits
    _shade(axes, flat, limits, colours)
    if paper.declared:
        _border(axes, paper, pair, colours)
    heaviest = float(flat.weights.max())
    for k in paper.order[::-1]:
        strength = math.sqrt(float(flat.weights[k]) / heaviest)
        for radius, width, alpha in ((2.0, 0.7, 0.08 + 0.42 * strength), (1.0, 1.3, 0.25 + 0.75 * strength)):
            x, y = _ellipse(flat, int(k), radius)
            axes.plot(x, y, color=colours.accent, linewidth=width, alpha=alpha, zorder=4)
        x, y = _ellipse(flat, int(k), 1.0)
        axes.fill(x, y, color=colours.accent, alpha=0.04 + 0.20 * strength, linewidth=0, zorder=3)
    if numbered:
        _number(axes, paper, flat, limits, colours)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_xlabel(plain(paper.columns[pair[0]]))
    axes.set_ylabel(plain(paper.columns[pair[1]]))
    trim(axes, colours)
    if pair == paper.earth:
        axes.set_aspect(1 / math.cos(math.radians((bottom + top) / 2)), adjustable="box")
        scale_bar(axes, colours)


def marginal(mixture: Mixture, pair: tuple[int, int]) -> Mixture:
    """The mixture of two of its columns."""
    index = list(pair)
    return Mixture(mixture.weights, mixture.means[:, index], mixture.covariances[:, index][:, :, index])


def window(paper: MixturePaper, pair: tuple[int, int]) -> NDArray[np.float64]:
    """What to show: all components at two and a half standard deviations, inside the declared region."""
    weights = paper.mixture.weights
    shown = weights >= min(0.2 / len(weights), float(weights.max()))
    limits: list[tuple[float, float]] = []
    for column in pair:
        reach = 2.5 * np.sqrt(paper.mixture.covariances[shown, column, column])
        means = paper.mixture.means[shown, column]
        low, high = paper.limits(column)
        bottom, top = max(low, float((means - reach).min())), min(high, float((means + reach).max()))
        if not bottom < top:
            bottom, top = low, high
        margin = 0.03 * (top - bottom)
        limits.append((bottom - margin, top + margin))
    return np.array(limits)


def _shade(axes: Axes, flat: Mixture, limits: NDArray[np.float64], colours: Colours) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    x, y = (np.linspace(low, high, _FINE) for low, high in limits)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    logs = flat.log_density(grid).reshape(_FINE, _FINE)
    # as many shades for each tenfold of density, and none for the sharpest peaks: they must not hide the rest
    shade = np.clip(1 + (logs - np.quantile(logs, 0.995)) / math.log(1e3), 0, 1)
    axes.imshow(
        shade**1.5,
        origin="lower",
        extent=(*limits[0], *limits[1]),
        aspect="auto",
        cmap=LinearSegmentedColormap.from_list("density", colours.shades),
        vmin=0,
        vmax=1,
        interpolation="bilinear",
        zorder=0,
    )


def _border(axes: Axes, paper: MixturePaper, pair: tuple[int, int], colours: Colours) -> None:
    """The declared region, where it can be seen."""
    plain = paper.region.to_dict()
    style: Any = {"color": colours.faint, "linewidth": 0.8, "linestyle": (0, (2, 3)), "zorder": 1}
    if plain["kind"] == "ball":
        angle = np.linspace(0, 2 * math.pi, 181)
        x, y = (plain["center"][column] for column in pair)
        axes.plot(x + plain["radius"] * np.cos(angle), y + plain["radius"] * np.sin(angle), **style)
        return
    (west, east), (south, north) = (paper.limits(column) for column in pair)
    axes.plot([west, east, east, west, west], [south, south, north, north, south], **style)


def _number(
    axes: Axes, paper: MixturePaper, flat: Mixture, limits: NDArray[np.float64], colours: Colours
) -> None:
    """The number of each component at its mean, the heaviest first, as long as there is room."""
    from matplotlib.patheffects import withStroke

    spans = limits[:, 1] - limits[:, 0]
    placed: list[NDArray[np.float64]] = []
    for k in paper.order[:_NAMED]:
        place = (flat.means[k] - limits[:, 0]) / spans
        near = any(abs(place[0] - p[0]) < 0.035 and abs(place[1] - p[1]) < 0.04 for p in placed)
        if near or not bool(((place > 0.01) & (place < 0.99)).all()):
            continue
        placed.append(place)
        label = axes.text(
            float(flat.means[k, 0]),
            float(flat.means[k, 1]),
            str(int(k)),
            fontsize=8,
            fontweight="bold",
            zorder=6,
        )
        label.set(ha="center", va="center", color=colours.ink, clip_on=True)
        label.set_path_effects([withStroke(linewidth=2.2, foreground=colours.paper, alpha=0.85)])


def draw_curve(axes: Axes, paper: MixturePaper, colours: Colours) -> None:
    """One column: the density, and what each component adds to it."""
    low, high = window(paper, (0, 0))[0]
    x = np.linspace(low, high, 800)
    mixture = paper.mixture
    for k in paper.order:
        one = Mixture(np.ones(1), mixture.means[k : k + 1], mixture.covariances[k : k + 1])
        part = mixture.weights[k] * np.exp(one.log_density(x[:, None]))
        axes.fill_between(x, part, color=colours.accent, alpha=0.14, linewidth=0)
        axes.plot(x, part, color=colours.accent, alpha=0.5, linewidth=0.8)
    axes.plot(x, np.exp(mixture.log_density(x[:, None])), color=colours.accent, linewidth=1.8)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(plain(paper.columns[0]))
    axes.set_ylabel("density")
    trim(axes, colours)


def _ellipse(flat: Mixture, k: int, radius: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points at so many standard deviations from the mean of a component."""
    angle = np.linspace(0, 2 * math.pi, 121)
    values, vectors = np.linalg.eigh(flat.covariances[k])
    root = vectors * np.sqrt(np.maximum(values, 0))
    x, y = flat.means[k][:, None] + radius * root @ np.stack([np.cos(angle), np.sin(angle)])
    return x, y

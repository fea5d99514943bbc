"""Pictures of a hidden Markov model: its states and steps, and what each state emits.

**Reveals** the released parameters, and nothing else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png, trim
from discreet.report.draw import draw_curve, draw_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from discreet.report.hmm import HMMPaper

__all__ = ["LEAST", "draw_hmm", "draw_states", "is_graph", "is_grid", "likeliest"]

LEAST = 0.02
"""Steps that are rarer are not drawn."""

_MOST_NODES = 10
_MOST_BARS = 40
_MOST_SYMBOLS = 80
_NODE = 0.17
_WIDE = 6.4


def draw_hmm(paper: HMMPaper, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: the states above, what they emit below."""
    high, low = _heights(paper)
    figure = make_figure(_WIDE, high + low, colours)
    both: Any = figure.subfigures(2, 1, height_ratios=[high, low])
    upper, lower = both
    for part in (upper, lower):
        part.set_facecolor(colours.paper)
    axes = upper.add_subplot(1, 1, 1)
    if is_graph(paper):
        draw_states(axes, paper, colours)
    else:
        _shade(axes, paper.transition, colours, "to state", "from state")
    _draw_emissions(lower, paper, colours)
    return to_png(figure)


def is_graph(paper: HMMPaper) -> bool:
    """Whether the states are few enough for a graph; a map of the transitions stands in otherwise."""
    return paper.states <= _MOST_NODES


def is_grid(paper: HMMPaper) -> bool:
    """Whether symbols are drawn as bars, state by state; a map stands in otherwise."""
    probabilities = paper.probabilities
    return probabilities is not None and is_graph(paper) and probabilities.shape[1] <= _MOST_BARS


def likeliest(paper: HMMPaper) -> NDArray[np.intp]:
    """The symbols that are drawn: all, or those that are emitted most often."""
    assert paper.probabilities is not None
    often = paper.shares @ paper.probabilities
    return np.sort(np.argsort(-often, kind="stable")[:_MOST_SYMBOLS])


def draw_states(axes: Axes, paper: HMMPaper, colours: Colours) -> None:
    """The states as circles, the darker the more time is spent there, and the steps between them."""
    places = _layout(paper)
    heaviest = float(paper.shares.max())
    for i in range(paper.states):
        for j in range(paper.states):
            if paper.transition[i, j] >= LEAST:
                _arrow(axes, places, i, j, float(paper.transition[i, j]), paper.forward, colours)
    for state, (x, y) in enumerate(places):
        strength = 0.08 + 0.4 * float(paper.shares[state]) / heaviest
        _circle(axes, x, y, {"facecolor": colours.paper, "edgecolor": "none"}, 3)
        _circle(axes, x, y, {"facecolor": colours.accent, "alpha": strength, "edgecolor": "none"}, 4)
        _circle(axes, x, y, {"facecolor": "none", "edgecolor": colours.accent, "linewidth": 1.4}, 5)
        axes.text(x, y, str(state), ha="center", va="center", fontsize=10, fontweight="bold", zorder=6).set(
            color=colours.ink
        )
    low, high = places.min(axis=0) - 0.62, places.max(axis=0) + 0.62
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()


def _layout(paper: HMMPaper) -> NDArray[np.float64]:
    """On a line where steps lead forward only, else on a circle; state 0 to the left."""
    count = paper.states
    places = np.zeros((count, 2))
    if count <= 2 or paper.forward:
        places[:, 0] = 0.85 * np.arange(count)
        return places
    angle = math.pi - 2 * math.pi * np.arange(count) / count
    radius = max(0.62, 0.32 / math.sin(math.pi / count))
    places[:, 0], places[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    return places


def _arrow(
    axes: Axes,
    places: NDArray[np.float64],
    i: int,
    j: int,
    probability: float,
    line: bool,
    colours: Colours,
) -> None:
    """A bent arrow with its probability; a loop for staying."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.patheffects import withStroke

    centre = places.mean(axis=0)
    width = 0.5 + 2.2 * probability
    style: Any = {
        "color": colours.accent,
        "linewidth": width,
        "alpha": 0.35 + 0.55 * probability,
        "zorder": 2,
    }
    head = f"-|>,head_length={3 + 2 * probability:.2f},head_width={1.6 + probability:.2f}"
    if i == j:
        flat = len(places) <= 2 or line
        out = np.array([0.0, 1.0]) if flat else places[i] - centre
        out = out / max(float(np.hypot(*out)), 1e-9)
        side = np.array([-out[1], out[0]])
        begin, end = (places[i] + _NODE * (0.8 * out + turn * 0.6 * side) for turn in (1, -1))
        bend: Any = "arc3,rad=-1.7"
        label = places[i] + out * (_NODE + 0.29)
    else:
        way = places[j] - places[i]
        long = float(np.hypot(*way))
        unit = way / long
        side = np.array([unit[1], -unit[0]])
        jumps = line and abs(i - j) > 1
        rad = 0.0 if line and not jumps else 0.34 if jumps else 0.2
        lean = side * (0.35 if rad else 0.0)
        begin = places[i] + _NODE * 1.08 * _unit(unit + lean)
        end = places[j] - _NODE * 1.08 * _unit(unit - lean)
        bend = f"arc3,rad={rad}"
        label = (begin + end) / 2 + side * (rad * long * 0.42 + 0.07)
    axes.add_patch(
        FancyArrowPatch(
            tuple(begin), tuple(end), arrowstyle=head, mutation_scale=2.4, connectionstyle=bend, **style
        )
    )
    text = axes.text(
        float(label[0]),
        float(label[1]),
        _percent(probability),
        ha="center",
        va="center",
        fontsize=7.5,
        zorder=7,
    )
    text.set(color=colours.ink)
    text.set_path_effects([withStroke(linewidth=2.4, foreground=colours.paper)])


def _circle(axes: Axes, x: float, y: float, style: dict[str, Any], height: int) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), _NODE, zorder=height, **style))


def _draw_emissions(figure: Any, paper: HMMPaper, colours: Colours) -> None:
    if paper.places is not None:
        _draw_points(figure, paper, colours)
    elif is_grid(paper):
        _draw_bars(figure, paper, colours)
    else:
        assert paper.probabilities is not None
        chosen = likeliest(paper)
        axes = figure.add_subplot(1, 1, 1)
        _shade(axes, paper.probabilities[:, chosen], colours, "symbol", "state")
        ticks = np.linspace(0, len(chosen) - 1, min(8, len(chosen))).round().astype(int)
        axes.set_xticks(ticks, [plain(paper.name(int(chosen[tick])), 10) for tick in ticks])


def _draw_points(figure: Figure, paper: HMMPaper, colours: Colours) -> None:
    places = paper.places
    assert places is not None
    if len(paper.columns) == 1:
        draw_curve(figure.add_subplot(1, 1, 1), places, colours)
        return
    pairs = places.pairs[:2]
    for index, pair in enumerate(pairs):
        axes = figure.add_subplot(1, len(pairs), index + 1)
        draw_pair(axes, places, pair, colours, numbered=len(places.mixture.weights) == paper.states)


def _draw_bars(figure: Figure, paper: HMMPaper, colours: Colours) -> None:
    probabilities = paper.probabilities
    assert probabilities is not None
    across = min(2 if probabilities.shape[1] > 12 else 3, paper.states)
    top = min(1.0, 1.15 * float(probabilities.max()))
    for state, row in enumerate(probabilities):
        axes = figure.add_subplot(math.ceil(paper.states / across), across, state + 1)
        axes.bar(np.arange(len(row)), row, color=colours.accent, alpha=0.75, width=0.8)
        axes.set_title(f"state {state}", loc="left", fontsize=8.5, color=colours.ink, pad=3)
        trim(axes, colours)
        axes.set_ylim(0, top)
        axes.set_xlim(-0.6, len(row) - 0.4)
        step = max(1, math.ceil(len(row) / 8))
        ticks = np.arange(0, len(row), step)
        axes.set_xticks(ticks, [plain(paper.name(int(tick)), 8) for tick in ticks])
        axes.tick_params(axis="x", length=0)


def _shade(axes: Axes, values: NDArray[np.float64], colours: Colours, across: str, up: str) -> None:
    """A map of probabilities; the shade is their root, so that rare ones can be seen."""
    from matplotlib.colors import LinearSegmentedColormap

    axes.imshow(
        np.sqrt(values),
        aspect="auto",
        cmap=LinearSegmentedColormap.from_list("density", colours.shades),
        vmin=0,
        vmax=max(float(np.sqrt(values.max())), 1e-9),
        interpolation="nearest",
    )
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    trim(axes, colours)


def _heights(paper: HMMPaper) -> tuple[float, float]:
    """Of the states, and of what they emit."""
    states = 1.9 if paper.states <= 2 or (paper.forward and is_graph(paper)) else 3.9
    if paper.places is not None:
        return states, 3.0 if len(paper.columns) == 1 else 2.7 if len(paper.places.pairs) > 1 else 4.6
    if is_grid(paper):
        assert paper.probabilities is not None
        across = min(2 if paper.probabilities.shape[1] > 12 else 3, paper.states)
        return states, 1.45 * math.ceil(paper.states / across)
    return states, 2.6


def _unit(way: NDArray[np.float64]) -> NDArray[np.float64]:
    return way / float(np.hypot(*way))


def _percent(probability: float) -> str:
    return f"{probability:.0%}" if probability < 0.995 or probability == 1 else f"{probability:.1%}"

"""The picture of a declared structure: nodes in layers below their parents, shaded by who holds them.

**Reveals** the plan, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.canvas import DAY, Colours, draw_arrow, make_figure, passing, plain, to_png
from discreet.report.layers import arrange

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.report.join import JoinPaper
    from discreet.report.layers import Layers

__all__ = ["draw_structure", "is_drawn"]

_WIDE = 6.4
_MOST_NODES = 60
_MOST_BESIDE = 22
_TALL = 0.62  # from layer to layer, in inches
_BOX = 0.13  # half the height of a node
_SIZES = ((8.0, 22), (6.0, 30), (4.8, 38))  # of letters, and how many fit into an inch of half a box


def is_drawn(paper: JoinPaper) -> bool:
    """Whether the network is small enough for a picture that can be read."""
    structure = paper.plan.network
    return len(structure.nodes) <= _MOST_NODES and arrange(structure).width <= _MOST_BESIDE


def draw_structure(paper: JoinPaper, colours: Colours = DAY) -> bytes:
    """The structure as PNG."""
    structure = paper.plan.network
    layers = arrange(structure)
    step = _WIDE / max(layers.width, 5)
    half = min(0.52, step / 2 - 0.04)
    low = -_TALL * (len(layers.rows) - 1) - _BOX
    figure = make_figure(_WIDE, _BOX + 0.65 - low, colours)
    axes = figure.add_subplot(1, 1, 1)
    axes.set_xlim(-_WIDE / 2, _WIDE / 2)
    axes.set_ylim(low - 0.55, _BOX + 0.1)
    axes.set_aspect("equal")
    axes.set_axis_off()
    holder = {column: name for name in paper.plan.holders for column in paper.plan.columns_of(name)}
    shade = dict(zip(paper.plan.holders, _shades(len(paper.plan.holders), colours), strict=True))
    for node, parents in structure.parents.items():
        for parent in parents:
            bold = holder[parent] != holder[node]
            style = {"linewidth": 1.7, "zorder": 3} if bold else {"linewidth": 0.8, "zorder": 2}
            colour = colours.accent if bold else colours.faint
            draw_arrow(axes, _way(layers, parent, node, step), colour, **style)
    for node, place in layers.nodes.items():
        _node(axes, _point(place, step), half, node, shade[holder[node]], colours)
    _legend(axes, shade, low - 0.36, colours)
    return to_png(figure)


def _way(layers: Layers, parent: str, node: str, step: float) -> list[NDArray[np.float64]]:
    """The points that an arrow passes."""
    ends = [layers.nodes[parent], *layers.ways.get((parent, node), []), layers.nodes[node]]
    return passing([_point(place, step) for place in ends], _BOX)


def _point(place: tuple[float, int], step: float) -> NDArray[np.float64]:
    return np.array([place[0] * step, -place[1] * _TALL])


def _shades(count: int, colours: Colours) -> list[str]:
    """Shades that are easy to tell apart: as many as there are holders."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("holders", colours.shades[1:])
    return [to_hex(ramp(at)) for at in np.linspace(0.0, 1.0, count)]


def _node(
    axes: Axes, place: NDArray[np.float64], half: float, name: str, shade: str, colours: Colours
) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (float(place[0]) - half, float(place[1]) - _BOX)
    style: Any = {"boxstyle": "round,pad=0,rounding_size=0.06", "linewidth": 0.9, "zorder": 4}
    axes.add_patch(
        FancyBboxPatch(corner, 2 * half, 2 * _BOX, facecolor=shade, edgecolor=colours.accent, **style)
    )
    size, most = next(((size, wide) for size, wide in _SIZES if len(name) <= half * wide), _SIZES[-1])
    most = max(4, int(half * most))
    text = axes.text(
        float(place[0]), float(place[1]), plain(name, most), ha="center", va="center", fontsize=size
    )
    text.set(color=_ink(shade, colours), zorder=6)


def _ink(shade: str, colours: Colours) -> str:
    """Ink that can be read on a shade."""
    from matplotlib.colors import to_rgb

    def light(colour: str) -> float:
        return float(np.dot(to_rgb(colour), (0.3, 0.59, 0.11)))

    return max((colours.ink, colours.paper), key=lambda ink: abs(light(ink) - light(shade)))


def _legend(axes: Axes, shade: dict[str, str], height: float, colours: Colours) -> None:
    from matplotlib.patches import Rectangle

    step = min(1.3, (_WIDE - 0.4) / len(shade))
    left = -step * len(shade) / 2
    for at, (name, colour) in enumerate(shade.items()):
        x = left + at * step
        axes.add_patch(Rectangle((x, height - 0.07), 0.14, 0.14, facecolor=colour, edgecolor=colours.accent))
        text = axes.text(x + 0.2, height, plain(name, int(step * 12)), va="center", fontsize=8)
        text.set(color=colours.ink)

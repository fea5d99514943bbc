"""The picture of a declared structure: nodes in layers below their parents, shaded by who holds them.

**Reveals** the plan, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.models.network import Structure
    from discreet.report.join import JoinPaper

__all__ = ["draw_network", "is_drawn", "layers_of"]

_WIDE = 6.4
_MOST_NODES = 60
_MOST_BESIDE = 14
_SWEEPS = 8
_TALL = 0.62  # from layer to layer, in inches
_BOX = 0.13  # half the height of a node


def is_drawn(paper: JoinPaper) -> bool:
    """Whether the network is small enough for a picture that can be read."""
    structure = paper.plan.network
    if len(structure.nodes) > _MOST_NODES:
        return False
    return max(map(len, layers_of(structure))) <= _MOST_BESIDE


def draw_network(paper: JoinPaper, colours: Colours = DAY) -> bytes:
    """The structure as PNG."""
    structure = paper.plan.network
    layers = layers_of(structure)
    half = min(0.52, _WIDE / max(map(len, layers)) / 2 - 0.04)
    places = _places(layers)
    high = _TALL * (len(layers) - 1) + 2 * _BOX + 0.75
    figure = make_figure(_WIDE, high, colours)
    axes = figure.add_subplot(1, 1, 1)
    axes.set_xlim(-_WIDE / 2, _WIDE / 2)
    axes.set_ylim(-_TALL * (len(layers) - 1) - _BOX - 0.55, _BOX + 0.1)
    axes.set_aspect("equal")
    axes.set_axis_off()
    holder = {column: name for name in paper.plan.holders for column in paper.plan.columns_of(name)}
    shade = dict(zip(paper.plan.holders, _shades(len(paper.plan.holders), colours), strict=True))
    for node, parents in structure.parents.items():
        for parent in parents:
            _arrow(axes, places[parent], places[node], holder[parent] != holder[node], colours)
    for node in structure.nodes:
        _node(axes, places[node], half, node, shade[holder[node]], colours)
    _legend(axes, shade, -_TALL * (len(layers) - 1) - _BOX - 0.36, colours)
    return to_png(figure)


def layers_of(structure: Structure) -> list[list[str]]:
    """Nodes by the longest way from a root; in each layer near their neighbours."""
    depth: dict[str, int] = {}
    for node in structure.order:
        depth[node] = 1 + max((depth[parent] for parent in structure.parents[node]), default=-1)
    for node in reversed(structure.order):  # roots and short chains move down to their children
        children = [depth[child] for child, parents in structure.parents.items() if node in parents]
        depth[node] = max(depth[node], min(children, default=depth[node] + 1) - 1)
    layers = [[node for node in structure.nodes if depth[node] == at] for at in range(max(depth.values()) + 1)]
    neighbours: dict[str, list[str]] = {node: list(parents) for node, parents in structure.parents.items()}
    for node, parents in structure.parents.items():
        for parent in parents:
            neighbours[parent].append(node)
    for _ in range(_SWEEPS):
        places = _places(layers)
        for layer in layers:
            layer.sort(key=lambda node: _centre(node, neighbours, places))
    return layers


def _centre(
    node: str, neighbours: dict[str, list[str]], places: dict[str, NDArray[np.float64]]
) -> float:
    near = neighbours[node] or [node]
    return float(np.mean([places[other][0] for other in near]))


def _places(layers: list[list[str]]) -> dict[str, NDArray[np.float64]]:
    """Nodes of a layer at equal distances, in the middle."""
    places: dict[str, NDArray[np.float64]] = {}
    step = _WIDE / max(max(map(len, layers)), 5)
    for down, layer in enumerate(layers):
        for across, node in enumerate(layer):
            places[node] = np.array([(across - (len(layer) - 1) / 2) * step, -down * _TALL])
    return places


def _shades(count: int, colours: Colours) -> list[str]:
    """Shades that are easy to tell apart: as many as there are holders."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("holders", colours.shades[1:])
    return [to_hex(ramp(at)) for at in np.linspace(0.0, 1.0, count)]


def _arrow(
    axes: Axes, begin: NDArray[np.float64], end: NDArray[np.float64], crossing: bool, colours: Colours
) -> None:
    from matplotlib.patches import FancyArrowPatch

    layers = abs(float(begin[1] - end[1])) / _TALL
    bend = 0.0 if layers < 1.5 else 0.12 if begin[0] >= end[0] else -0.12
    axes.add_patch(
        FancyArrowPatch(
            (float(begin[0]), float(begin[1]) - _BOX),
            (float(end[0]), float(end[1]) + _BOX),
            arrowstyle="-|>,head_length=2.2,head_width=1.1",
            mutation_scale=2.2,
            shrinkA=0,
            shrinkB=1,
            connectionstyle=f"arc3,rad={bend}",
            color=colours.accent if crossing else colours.faint,
            linewidth=1.7 if crossing else 0.8,
            zorder=3 if crossing else 2,
        )
    )


def _node(
    axes: Axes, place: NDArray[np.float64], half: float, name: str, shade: str, colours: Colours
) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (float(place[0]) - half, float(place[1]) - _BOX)
    style: Any = {"boxstyle": "round,pad=0,rounding_size=0.06", "linewidth": 0.9, "zorder": 4}
    axes.add_patch(FancyBboxPatch(corner, 2 * half, 2 * _BOX, facecolor=shade, edgecolor=colours.accent, **style))
    most = max(4, int(half * 26))
    size = 8.0 if len(name) <= half * 22 else 6.0
    text = axes.text(float(place[0]), float(place[1]), plain(name, most), ha="center", va="center", fontsize=size)
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

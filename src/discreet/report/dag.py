"""The picture of a declared structure: nodes in layers below their parents, shaded by who holds them.

**Reveals** the plan, and nothing else.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.models.network import Structure
    from discreet.report.join import JoinPaper

__all__ = ["draw_structure", "is_drawn", "layers_of"]

Slot = tuple[str, str]

_WIDE = 6.4
_MOST_NODES = 60
_MOST_BESIDE = 22
_SWEEPS = 8
_TALL = 0.62  # from layer to layer, in inches
_BOX = 0.13  # half the height of a node
_SIZES = ((8.0, 22), (6.0, 30), (4.8, 38))  # of letters, and how many fit into an inch of half a box


def is_drawn(paper: JoinPaper) -> bool:
    """Whether the network is small enough for a picture that can be read."""
    structure = paper.plan.network
    if len(structure.nodes) > _MOST_NODES:
        return False
    return max(map(len, layers_of(structure))) <= _MOST_BESIDE


def draw_structure(paper: JoinPaper, colours: Colours = DAY) -> bytes:
    """The structure as PNG."""
    structure = paper.plan.network
    layers = layers_of(structure)
    half = min(0.52, _WIDE / max(map(len, layers)) / 2 - 0.04)
    places = _places(layers)
    low = -_TALL * (len(layers) - 1) - _BOX
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
            _arrow(axes, _way(places, parent, node), holder[parent] != holder[node], colours)
    for node in structure.nodes:
        _node(axes, places[node, node], half, node, shade[holder[node]], colours)
    _legend(axes, shade, low - 0.36, colours)
    return to_png(figure)


def layers_of(structure: Structure) -> list[list[Slot]]:
    """Layers from roots down, each in an order with few crossings.

    A slot (node, node) is a node; a slot (parent, node) is where their arrow passes a layer in between.
    """
    depth = _depths(structure)
    layers: list[list[Slot]] = [[] for _ in range(max(depth.values()) + 1)]
    above: dict[Slot, list[Slot]] = {}
    below: dict[Slot, list[Slot]] = {}
    for node in structure.nodes:
        layers[depth[node]].append((node, node))
    for node, parents in structure.parents.items():
        for parent in parents:
            chain = [(parent, parent), *((parent, node) for _ in range(depth[node] - depth[parent] - 1))]
            chain.append((node, node))
            for down in range(depth[parent] + 1, depth[node]):
                layers[down].append((parent, node))
            for one, other in pairwise(chain):
                below.setdefault(one, []).append(other)
                above.setdefault(other, []).append(one)
    _untangle(layers, above, below)
    return layers


def _depths(structure: Structure) -> dict[str, int]:
    """The longest way from a root; roots move down to just above their first child."""
    depth: dict[str, int] = {}
    for node in structure.order:
        depth[node] = 1 + max((depth[parent] for parent in structure.parents[node]), default=-1)
    for node in structure.nodes:
        children = [depth[child] for child, parents in structure.parents.items() if node in parents]
        if children and not structure.parents[node]:
            depth[node] = min(children) - 1
    return depth


def _untangle(layers: list[list[Slot]], above: dict[Slot, list[Slot]], below: dict[Slot, list[Slot]]) -> None:
    """Order every layer by the middle of its neighbours, down and up in turn."""
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        near, turn = (above, layers[1:]) if down else (below, layers[-2::-1])
        for layer in turn:
            across = {slot: at for at, slot in _across(layers)}
            layer.sort(key=lambda slot: _middle(slot, near, across))


def _across(layers: list[list[Slot]]) -> list[tuple[float, Slot]]:
    return [(at - (len(layer) - 1) / 2, slot) for layer in layers for at, slot in enumerate(layer)]


def _middle(slot: Slot, near: dict[Slot, list[Slot]], across: dict[Slot, float]) -> float:
    found = [across[other] for other in near.get(slot, [slot]) if other != slot]
    return float(np.mean(found)) if found else across[slot]


def _places(layers: list[list[Slot]]) -> dict[Any, NDArray[np.float64]]:
    """Slots of a layer at equal distances, in the middle; of arrows with the number of their layer."""
    places: dict[Any, NDArray[np.float64]] = {}
    step = _WIDE / max(max(map(len, layers)), 5)
    for down, layer in enumerate(layers):
        for at, (one, other) in enumerate(layer):
            place = np.array([(at - (len(layer) - 1) / 2) * step, -down * _TALL])
            places[(one, other) if one == other else (one, other, down)] = place
    return places


def _way(places: dict[Any, NDArray[np.float64]], parent: str, node: str) -> list[NDArray[np.float64]]:
    """The points that an arrow passes, from the lower side of one box to the upper side of the other."""
    between = sorted(
        (key for key in places if len(key) == 3 and key[:2] == (parent, node)), key=lambda k: k[2]
    )
    edge = np.array([0.0, _BOX])
    return [places[parent, parent] - edge, *(places[key] for key in between), places[node, node] + edge]


def _shades(count: int, colours: Colours) -> list[str]:
    """Shades that are easy to tell apart: as many as there are holders."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("holders", colours.shades[1:])
    return [to_hex(ramp(at)) for at in np.linspace(0.0, 1.0, count)]


def _arrow(axes: Axes, way: list[NDArray[np.float64]], crossing: bool, colours: Colours) -> None:
    """An arrow along a way, rounded at the points in between."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points, codes = [way[0]], [Path.MOVETO]
    for at in range(1, len(way) - 1):
        begin, end = (way[at - 1] + way[at]) / 2, (way[at] + way[at + 1]) / 2
        points += [begin, way[at], end]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    path = Path(np.array([*points, way[-1] + (0.0, 0.02)]), [*codes, Path.LINETO])
    style: Any = {"color": colours.accent if crossing else colours.faint}
    axes.add_patch(
        FancyArrowPatch(
            path=path,
            arrowstyle="-|>,head_length=2.2,head_width=1.1",
            mutation_scale=2.2,
            linewidth=1.7 if crossing else 0.8,
            zorder=3 if crossing else 2,
            **style,
        )
    )


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

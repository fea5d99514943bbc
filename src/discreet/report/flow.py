"""The picture of a run: who took part, what each holds, and who sent how much to whom.

**Reveals** the plan and sizes of messages, and nothing else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png
from discreet.report.join import size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.report.join import Flow

__all__ = ["Traffic", "draw_flows", "places_of"]

_WIDE = 6.4
_HALF = (0.80, 0.27)  # half the sides of a box, in inches
_FEW = 3  # parties: with more, only our own arrows are labelled, and labels stand on them
_MANY = 4  # with more still, what others send each other is a line
_GAP = 0.16  # how far the two arrows of a pair stand off the straight line, in inches
_AT = 0.36  # where on an arrow its label stands: nearer to who sent


class Traffic(Protocol):
    """What is drawn of a run: the parties, which of them we are, what was sent, and words for each box.

    ``helped`` says that the first party is a helper, and stands on top.
    """

    @property
    def parties(self) -> tuple[str, ...]:
        """The names, in their order."""
        ...

    @property
    def name(self) -> str:
        """Our name."""
        ...

    @property
    def helped(self) -> bool:
        """Whether the first party is a helper."""
        ...

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What each sent to each other."""
        ...

    def told(self, name: str) -> str:
        """A few words for the box of a party."""
        ...


def draw_flows(paper: Traffic, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: boxes for parties, arrows for what they sent each other."""
    places = places_of(len(paper.parties), paper.helped)
    room = np.array([0.95, 0.45])
    low, high = places.min(axis=0) - room, places.max(axis=0) + room
    figure = make_figure(_WIDE, _WIDE * float(high[1] - low[1]) / float(high[0] - low[0]) + 0.1, colours)
    axes = figure.add_subplot(1, 1, 1)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()
    where = dict(zip(paper.parties, places, strict=True))
    most = max(flow.size for flow in paper.flows)
    for flow in sorted(paper.flows, key=lambda flow: flow.counted is not None):
        if flow.size:
            _arrow(axes, paper, flow, where, most, colours)
    for name, place in where.items():
        _box(axes, paper, name, place, colours)
    return to_png(figure)


def places_of(count: int, helped: bool) -> NDArray[np.float64]:
    """Places of boxes: two side by side, else on an ellipse; a helper comes first and stands on top."""
    if count == 2:
        return np.array([[-1.75, 0.0], [1.75, 0.0]])
    start = math.pi / 2 if helped or count % 2 else 3 * math.pi / 4 if count == 4 else math.pi
    angle = start + 2 * math.pi * np.arange(count) / count
    wide = 2.3 if count < 6 else 2.6
    tall = 1.45 if count < 5 else 1.9
    return np.stack([wide * np.cos(angle), tall * np.sin(angle)], axis=1)


def _arrow(
    axes: Axes,
    paper: Traffic,
    flow: Flow,
    where: dict[str, NDArray[np.float64]],
    most: int,
    colours: Colours,
) -> None:
    """A bent arrow, the thicker the more was sent; dashed where we only know what the plan announces."""
    from matplotlib.patches import FancyArrowPatch

    begin, end = where[flow.sender], where[flow.receiver]
    way = end - begin
    long = float(np.hypot(*way))
    side = np.array([way[1], -way[0]]) / long
    ours = flow.counted is not None
    if not ours and len(paper.parties) > _MANY:
        axes.plot([begin[0], end[0]], [begin[1], end[1]], color=colours.line, linewidth=1.0, zorder=1)
        return
    control = (begin + end) / 2 + 2 * _GAP * side
    first, last = _edge(begin, control), _edge(end, control)
    strength = max(0.12, 1 + math.log10(flow.size / most) / 4)
    style: Any = {
        "mutation_scale": 2.4,
        "connectionstyle": f"arc3,rad={2 * _GAP / long:.3f}",
        "color": _mixed(colours, 0.35 + 0.6 * strength) if ours else colours.faint,
        "zorder": 3 if ours else 2,
    }
    head = f"-|>,head_length={2.0 + 1.2 * strength:.2f},head_width={1.0 + 0.7 * strength:.2f}"
    ends = tuple(first), tuple(last)
    if ours:
        axes.add_patch(FancyArrowPatch(*ends, arrowstyle=head, linewidth=0.7 + 3.2 * strength, **style))
    else:  # the outline of a head would be dashed, too
        dashed = (0, (3, 2))
        axes.add_patch(FancyArrowPatch(*ends, arrowstyle="-", linewidth=0.8, linestyle=dashed, **style))
        axes.add_patch(FancyArrowPatch(*ends, arrowstyle=head, linewidth=0, **style))
    few = len(paper.parties) <= _FEW
    if ours or few:
        room = 0.09 * abs(float(side[1])) + 0.30 * abs(float(side[0])) if few else 0.0
        place = first + _AT * (last - first) + side * (0.9 * _GAP + room)
        _label(axes, place, size_of(flow.size), ours, colours)


def _label(axes: Axes, place: NDArray[np.float64], words: str, ours: bool, colours: Colours) -> None:
    from matplotlib.patheffects import withStroke

    text = axes.text(float(place[0]), float(place[1]), words, ha="center", va="center", fontsize=8, zorder=7)
    text.set(color=colours.ink if ours else colours.faint)
    text.set_path_effects([withStroke(linewidth=3, foreground=colours.paper)])


def _mixed(colours: Colours, strength: float) -> str:
    """The accent on paper, so strong that nothing shows through."""
    from matplotlib.colors import to_hex, to_rgb

    mixed = strength * np.array(to_rgb(colours.accent)) + (1 - strength) * np.array(to_rgb(colours.paper))
    return to_hex((float(mixed[0]), float(mixed[1]), float(mixed[2])))


def _edge(centre: NDArray[np.float64], towards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the line from a box's centre towards a point leaves the box, with a little room."""
    way = towards - centre
    room = [(half + 0.05) / max(abs(float(part)), 1e-9) for half, part in zip(_HALF, way, strict=True)]
    return centre + way * min(*room, 1.0)


def _box(axes: Axes, paper: Traffic, name: str, place: NDArray[np.float64], colours: Colours) -> None:
    """A party: its name, its role, and what it holds or gets; ours is filled."""
    from matplotlib.patches import FancyBboxPatch

    style: Any = {"boxstyle": "round,pad=0,rounding_size=0.08", "zorder": 4}
    corner = place - np.array(_HALF)
    size = (2 * _HALF[0], 2 * _HALF[1])
    ours = name == paper.name
    axes.add_patch(FancyBboxPatch(tuple(corner), *size, facecolor=colours.paper, edgecolor="none", **style))
    axes.add_patch(
        FancyBboxPatch(
            tuple(corner),
            *size,
            facecolor=colours.shades[2] if ours else colours.paper,
            edgecolor=colours.accent,
            linewidth=1.6 if ours else 1.0,
            **style,
        )
    )
    x, y = (float(part) for part in place)
    title = axes.text(x, y + 0.09, plain(name, 18), ha="center", va="center", fontsize=10, zorder=6)
    title.set(color=colours.ink, fontweight="bold")
    told = axes.text(x, y - 0.12, plain(paper.told(name), 34), ha="center", va="center", fontsize=7)
    told.set(color=colours.faint if not ours else colours.ink, zorder=6)

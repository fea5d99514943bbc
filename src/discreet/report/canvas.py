"""What pictures have in common: colours for day and night, axes, and how a figure becomes a file."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = [
    "DAY",
    "NIGHT",
    "Colours",
    "draw_arrow",
    "make_figure",
    "passing",
    "plain",
    "scale_bar",
    "to_png",
    "trim",
]

_KILOMETRES = 111.195  # a degree of latitude


@dataclass(frozen=True)
class Colours:
    """The colours of a picture; ``shades`` run from no density to the highest."""

    paper: str
    ink: str
    faint: str
    line: str
    accent: str
    water: str
    shades: tuple[str, ...]


DAY = Colours(
    paper="#ffffff",
    ink="#22252b",
    faint="#767b85",
    line="#d9dce1",
    accent="#0b5563",
    water="#c9dff0",
    shades=("#ffffff", "#eef6f5", "#cfe8e5", "#9fd0cd", "#5fb0b1", "#2b8b93"),
)
NIGHT = Colours(
    paper="#1b1e24",
    ink="#e4e6ea",
    faint="#949aa5",
    line="#353a44",
    accent="#a5ebe0",
    water="#23384a",
    shades=("#1b1e24", "#1d2b31", "#1e3d43", "#1f565b", "#22757a", "#2c9a9b"),
)


def make_figure(width: float, height: float, colours: Colours) -> Figure:
    """An empty figure in inches that no global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor=colours.paper, layout="constrained")
    FigureCanvasAgg(figure)
    layout: Any = figure.get_layout_engine()
    layout.set(w_pad=0.09, h_pad=0.07)
    return figure


def trim(axes: Axes, colours: Colours) -> None:
    """Quiet axes: thin lines, small grey numbers, no offsets."""
    axes.set_facecolor(colours.paper)
    for side in axes.spines.values():
        side.set_color(colours.line)
        side.set_linewidth(0.8)
    axes.tick_params(colors=colours.faint, labelsize=8, length=3, width=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_color(colours.ink)
        axis.label.set_fontsize(9)
        formatter: Any = axis.get_major_formatter()
        formatter.set_useOffset(False)
    axes.locator_params(nbins=5)


def passing(places: Sequence[NDArray[np.float64]], half: float) -> list[NDArray[np.float64]]:
    """From the lower side of the first box to the upper side of the last, straight past those in between.

    ``half`` is half the height of a box.
    """
    first, *between, last = places
    up = np.array([0.0, half])
    sides = [place + side * up for place in between for side in (1, -1)]
    return [first - up, *sides, last + up]


def draw_arrow(axes: Axes, way: Sequence[NDArray[np.float64]], colour: str, **more: Any) -> None:
    """An arrow along a way, rounded at the points in between; ``more`` is for the patch."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points, codes = [way[0]], [Path.MOVETO]
    for before, here, after in zip(way, way[1:], way[2:], strict=False):
        points += [(before + here) / 2, here, (here + after) / 2]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    path = Path([*points, way[-1]], [*codes, Path.LINETO])  # pyright: ignore[reportArgumentType]
    head = "-|>,head_length=2.2,head_width=1.1"
    axes.add_patch(FancyArrowPatch(path=path, arrowstyle=head, mutation_scale=2.2, color=colour, **more))


def scale_bar(axes: Axes, colours: Colours) -> None:
    """A bar of a round number of kilometres, for axes of longitude and latitude."""
    from math import cos, floor, log10, radians

    west, east = axes.get_xlim()
    south, north = axes.get_ylim()
    wide = (east - west) * _KILOMETRES * cos(radians((south + north) / 2))
    wanted = wide / 4
    power = 10 ** floor(log10(wanted))
    length = max(step * power for step in (1, 2, 5) if step * power <= wanted)
    part = length / wide
    style: Any = {"transform": axes.transAxes, "color": colours.ink, "clip_on": False}
    axes.plot([0.04, 0.04 + part], [0.045, 0.045], linewidth=2, solid_capstyle="butt", zorder=9, **style)
    name = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    axes.text(0.04 + part / 2, 0.06, name, ha="center", va="bottom", fontsize=8, zorder=9, **style)


def plain(name: str, most: int = 40) -> str:
    """A name as matplotlib must show it: dollars are no formulas, and long names are cut."""
    short = name if len(name) <= most else name[: most - 1] + "…"
    return "".join(letter if letter.isprintable() else " " for letter in short).replace("$", r"\$")


def to_png(figure: Figure, dpi: int = 240) -> bytes:
    """The figure as PNG, without a date: the same figure gives the same bytes."""
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context({"font.family": "DejaVu Sans"}), warnings.catch_warnings():
        # names in letters that the font has not are drawn as boxes; the warning would print them
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": "discreet"})
    return out.getvalue()

"""Maps side by side on the same scale: places, a private fit, a plain fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.canvas import DAY, Colours, make_figure, scale_bar, to_png, trim
from discreet.report.draw import draw_pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.report.mixture import MixturePaper

__all__ = ["Panel", "draw_beside"]


@dataclass(frozen=True)
class Panel:
    """One map: a released mixture, or points that are nobody's secret, as (lat, lon)."""

    title: str
    note: str
    paper: MixturePaper | None = None
    points: NDArray[np.float64] | None = None


def draw_beside(
    panels: Sequence[Panel],
    bounds: Mapping[str, tuple[float, float]],
    river: NDArray[np.float64],
    colours: Colours = DAY,
) -> bytes:
    """Draw maps of the same area in a row, as PNG.

    **Reveals** the points it is given: they must be simulated or public.
    """
    limits = np.array([bounds["lon"], bounds["lat"]])
    figure = make_figure(4.1 * len(panels), 4.6, colours)
    for index, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), index + 1)
        if panel.paper is not None and panel.paper.earth is not None:
            draw_pair(axes, panel.paper, panel.paper.earth, colours, limits=limits, numbered=False)
        elif panel.points is not None:
            _draw_points(axes, panel.points, limits, colours)
        axes.plot(
            river[:, 1], river[:, 0], color=colours.water, linewidth=3, zorder=2, solid_capstyle="round"
        )
        axes.set_xlim(*limits[0])
        axes.set_ylim(*limits[1])
        axes.set_xlabel("")
        axes.set_ylabel("")
        axes.set_title(panel.note, loc="left", fontsize=8.5, color=colours.faint, pad=5)
        axes.annotate(
            panel.title,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 20),
            textcoords="offset points",
            fontsize=12,
            fontweight="bold",
            color=colours.ink,
        )
    return to_png(figure, dpi=160)


def _draw_points(
    axes: Axes, points: NDArray[np.float64], limits: NDArray[np.float64], colours: Colours
) -> None:
    """How many points lie in each cell, on a logarithmic scale."""
    from matplotlib.colors import LinearSegmentedColormap

    aspect = 1 / math.cos(math.radians(float(limits[1].mean())))
    cells = (160, round(160 * aspect * (limits[1, 1] - limits[1, 0]) / (limits[0, 1] - limits[0, 0])))
    counts, _, _ = np.histogram2d(points[:, 1], points[:, 0], bins=cells, range=limits.tolist())
    axes.imshow(
        np.log1p(counts.T),
        origin="lower",
        extent=(*limits[0], *limits[1]),
        cmap=LinearSegmentedColormap.from_list("density", colours.shades),
        interpolation="nearest",
        aspect="auto",
        zorder=0,
    )
    trim(axes, colours)
    axes.set_aspect(aspect)
    scale_bar(axes, colours)

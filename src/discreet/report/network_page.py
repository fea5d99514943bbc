"""What a report says of a Bayesian network: its picture, its nodes, and how it was fitted."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.canvas import DAY, Colours, draw_arrow, make_figure, passing, plain, to_png
from discreet.report.face import Face, figure, listed, long_table
from discreet.report.layers import arrange, slots_of
from discreet.report.paper import short
from discreet.report.tables import inside, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.report.network import NetworkPaper

__all__ = ["draw_network", "face_network"]

_WIDE, _LAYER, _TALLEST = 6.4, 0.72, 60.0  # inches; pictures of more than 65,536 pixels cannot be made
_MOST_NAMED = 120
_BOX = 0.2  # half the height of a node, in layers
_BESIDE = 5.5  # with fewer boxes side by side, boxes stay as large
_MOST_SLOTS = 3000
_LETTER = 0.0115  # the width of a letter of size 7, as a part of the picture


def face_network(paper: NetworkPaper) -> Face:
    """The face of a Bayesian network."""
    loading = (
        "from discreet.fit import BayesianNetwork\n\n"
        'model = BayesianNetwork.load("this-folder")\n'
        'model.cpt("node"), model.query(["node"], {"other": "state"}), model.sample(1000)'
    )
    return Face(
        f"Bayesian network of {listed(paper.columns)}",
        paper.size,
        _picture(paper),
        _nodes(paper),
        _facts(paper),
        f"<h2>Load it</h2>\n<pre><code>{escape(loading, quote=False)}</code></pre>\n"
        "<p>Without discreet: <code>network.bif</code> in the same folder holds the same tables, for pgmpy, "
        "bnlearn, pyAgrum and others.</p>",
    )


def _picture(paper: NetworkPaper) -> str:
    """The figure, or a word where there would be too many arrows in it to see any."""
    if slots_of(paper.network.structure) > _MOST_SLOTS:
        return '<p class="note">This network is too large for a picture.</p>'
    return figure(partial(draw_network, paper), _told(paper), _explained(paper))


def draw_network(paper: NetworkPaper, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: nodes in layers, parents above children, a bar for each state."""
    layers = arrange(paper.network.structure)
    wide = max(layers.width, _BESIDE)
    places = {node: _point(place, wide) for node, place in layers.nodes.items()}
    canvas = make_figure(_WIDE, min(_TALLEST, max(1.6, _LAYER * len(layers.rows))), colours)
    axes: Any = canvas.add_subplot(1, 1, 1)
    for node, parents in paper.network.structure.parents.items():
        for parent in parents:
            between = [_point(place, wide) for place in layers.ways.get((parent, node), [])]
            way = passing([places[parent], *between, places[node]], _BOX)
            draw_arrow(axes, way, colours.accent, linewidth=0.7, zorder=1)
    for node, place in places.items():
        _node(axes, paper, node, place, wide, colours)
    axes.set_xlim(0, 1)
    axes.set_ylim(-len(layers.rows) + 0.45, 0.55)
    axes.set_axis_off()
    return to_png(canvas)


def _point(place: tuple[float, int], wide: float) -> NDArray[np.float64]:
    return np.array([0.5 + place[0] / wide, -float(place[1])])


def _node(
    axes: Axes, paper: NetworkPaper, node: str, place: NDArray[np.float64], wide: float, colours: Colours
) -> None:
    """A box with the name, and the probabilities of the states as bars inside."""
    from matplotlib.patches import Rectangle

    x, y = place.tolist()
    width = 0.88 / wide
    box: dict[str, Any] = {"facecolor": colours.paper, "edgecolor": colours.accent, "linewidth": 0.9}
    axes.add_patch(Rectangle((x - width / 2, y - _BOX), width, 2 * _BOX, zorder=2, **box))
    if paper.margins is not None:
        step = width / len(paper.margins[node])
        for state, value in enumerate(paper.margins[node].tolist()):
            bar: dict[str, Any] = {"facecolor": colours.accent, "alpha": 0.3, "edgecolor": "none"}
            corner = (x - width / 2 + step * (state + 0.12), y - 0.19)
            axes.add_patch(Rectangle(corner, 0.76 * step, 0.38 * value, zorder=3, **bar))
    if len(paper.columns) <= _MOST_NAMED:
        letters = max(3, int(width / _LETTER * 0.95))
        size = 7.0 if wide <= 10 and len(node) <= letters else 5.0
        text = axes.text(
            x, y, plain(node, int(letters * 7.0 / size)), ha="center", va="center", fontsize=size, zorder=4
        )
        text.set(color=colours.ink)


def _told(paper: NetworkPaper) -> str:
    return f"Picture of a Bayesian network: {paper.size}."


def _explained(paper: NetworkPaper) -> str:
    bars = "" if paper.margins is None else " Bars show how likely each state is, in the declared order."
    names = "" if len(paper.columns) <= _MOST_NAMED else " Names are left out."
    return f"Nodes with their parents above them.{bars}{names}"


def _nodes(paper: NetworkPaper) -> str:
    structure = paper.network.structure
    head = ['<th class="name">node</th>', '<th class="name">parents</th>', '<th class="name">states</th>']
    head.append("<th>cells</th>")
    rows = [
        f'<td class="name">{escape(short(node))}</td>'
        f'<td class="name">{escape(", ".join(map(short, structure.parents[node])))}</td>'
        f'<td class="name">{escape(paper.shown(node, 3))}</td><td>{structure.cells([node]):,}</td>'
        for node in structure.nodes
    ]
    return (
        f"<h2>Nodes</h2>\n{long_table(table(head, rows), len(rows))}\n"
        '<p class="note">The three likeliest states of each node, by the network itself. Rows of a table for '
        "configurations that few people have are mostly prior and noise.</p>"
    )


def _facts(paper: NetworkPaper) -> tuple[tuple[str, str], ...]:
    receipt, domain = paper.receipt, inside(paper.receipt, "domain")
    sigma = paper.parameters.get("sigma")
    facts = [
        ("Tables counted", f"{receipt.get('families', '')}, with {receipt.get('cells', '')} cells"),
        ("Noise in each count", "" if sigma is None else f"{sigma:g}"),
        ("Prior", f"{receipt.get('prior', '')} rows for each configuration of parents"),
        ("Missing values", str(domain.get("missing", ""))),
    ]
    if paper.guarantee.person is not None:
        first = f"{paper.guarantee.rows_per_person:g}"
        facts.append(("Person", f"column {paper.guarantee.person}, the first {first} rows of each count"))
    return tuple(facts)

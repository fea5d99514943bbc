"""What a report says of a Bayesian network: its picture, its nodes, and how it was fitted."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.report.canvas import DAY, Colours, make_figure, plain, to_png
from discreet.report.face import Face, figure, listed, long_table
from discreet.report.network import ranks, seats
from discreet.report.paper import short
from discreet.report.tables import inside, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.report.network import NetworkPaper

__all__ = ["draw_network", "face_network"]

_WIDE, _LAYER = 6.4, 0.72
_MOST_NAMED = 120
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
        figure(partial(draw_network, paper), _told(paper), _explained(paper)),
        _nodes(paper),
        _facts(paper),
        f"<h2>Load it</h2>\n<pre><code>{escape(loading, quote=False)}</code></pre>\n"
        "<p>Without discreet: <code>network.bif</code> in the same folder holds the same tables, for pgmpy, "
        "bnlearn, pyAgrum and others.</p>",
    )


def draw_network(paper: NetworkPaper, colours: Colours = DAY) -> bytes:
    """The picture of a report, as PNG: nodes in layers, parents above children, a bar for each state."""
    structure = paper.network.structure
    layers = ranks(structure)
    places = seats(layers)
    canvas = make_figure(_WIDE, max(1.6, _LAYER * len(layers)), colours)
    axes: Any = canvas.add_subplot(1, 1, 1)
    for node, parents in structure.parents.items():
        for parent in parents:
            _edge(axes, places[parent], places[node], colours)
    for node, place in places.items():
        _node(axes, paper, node, place, max(map(len, layers)), colours)
    axes.set_xlim(0, 1)
    axes.set_ylim(-len(layers) + 0.45, 0.55)
    axes.set_axis_off()
    return to_png(canvas)


def _edge(axes: Axes, above: tuple[float, float], below: tuple[float, float], colours: Colours) -> None:
    from matplotlib.patches import FancyArrowPatch

    begin, end = (above[0], above[1] - 0.2), (below[0], below[1] + 0.2)
    arrow = FancyArrowPatch(begin, end, arrowstyle="-|>", mutation_scale=6, shrinkA=0, shrinkB=0)
    arrow.set(color=colours.accent, linewidth=0.7, alpha=0.55, zorder=1)
    axes.add_patch(arrow)


def _node(
    axes: Axes, paper: NetworkPaper, node: str, place: tuple[float, float], most: int, colours: Colours
) -> None:
    """A box with the name, and the probabilities of the states as bars inside."""
    from matplotlib.patches import Rectangle

    x, y = place
    width = min(0.16, 0.9 / most)
    box: dict[str, Any] = {"facecolor": colours.paper, "edgecolor": colours.accent, "linewidth": 0.9}
    axes.add_patch(Rectangle((x - width / 2, y - 0.2), width, 0.4, zorder=2, **box))
    if paper.margins is not None:
        step = width / len(paper.margins[node])
        for state, value in enumerate(paper.margins[node].tolist()):
            bar: dict[str, Any] = {"facecolor": colours.accent, "alpha": 0.3, "edgecolor": "none"}
            corner = (x - width / 2 + step * (state + 0.12), y - 0.19)
            axes.add_patch(Rectangle(corner, 0.76 * step, 0.38 * value, zorder=3, **bar))
    if len(paper.columns) <= _MOST_NAMED:
        letters = max(3, int(width / _LETTER * 0.95))
        size = 7.0 if most <= 10 else 5.0
        text = axes.text(x, y, plain(node, letters), ha="center", va="center", fontsize=size, zorder=4)
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
        f'<td class="words">{escape(paper.shown(node, 3))}</td><td>{structure.cells([node]):,}</td>'
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

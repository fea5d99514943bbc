"""What a report says of a joint run: who took part, who learned what, what was sent, and the network."""

from __future__ import annotations

import itertools
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from discreet.report.dag import draw_structure, is_drawn
from discreet.report.face import Face, figure, long_table
from discreet.report.flow import draw_flows
from discreet.report.join import size_of
from discreet.report.paper import number
from discreet.report.tables import table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.report.join import JoinPaper, Node

__all__ = ["face_join"]

_DRAWN = "Drawn from the plan and from sizes of messages."
_MOST_LINES = 64


def face_join(paper: JoinPaper) -> Face:
    """The face of a joint run, as one of its parties sees it."""
    count = len(paper.plan.network.nodes)
    parts = [_learned(paper), _sent(paper), _costs(paper), _network(paper)]
    return Face(
        f"Joint network {paper.plan.name}, as {paper.name} sees it",
        f"{count} node{'' if count == 1 else 's'}, {paper.rows:,} rows",
        figure(partial(draw_flows, paper), _told(paper), _explained(paper), _DRAWN),
        "\n".join(filter(None, parts)),
        _facts(paper),
        _loading(paper),
    )


def _told(paper: JoinPaper) -> str:
    sent = sum(flow.size for flow in paper.flows if flow.sender == paper.name)
    return (
        f"Picture of {len(paper.parties)} parties: {', '.join(paper.parties)}. {paper.name}, the "
        f"{paper.role}, sent {size_of(sent)}."
    )


def _explained(paper: JoinPaper) -> str:
    many = len(paper.parties) > 2
    others = " Dashed or thin: what the plan announces for messages between others." if many else ""
    return (
        f"Who sent how much to whom, the thicker the more. {paper.name} is filled; what it sent and received "
        f"was counted.{others}"
    )


def _learned(paper: JoinPaper) -> str:
    rows = [
        f'<td class="name"><strong>{escape(name)}</strong><br>{paper.plan.parties[name].role}</td>'
        f'<td class="words">{escape(_sentence(paper.plan.learns[name]))}</td>'
        for name in paper.parties
    ]
    head = ['<th class="name">party</th>', '<th class="name">learned</th>']
    return (
        f"<h2>Who learned what</h2>\n{table(head, rows)}\n"
        '<p class="note">This is the plan that all parties compared, word for word, before anything private '
        "moved. It holds if they followed the protocol.</p>"
    )


def _sent(paper: JoinPaper) -> str:
    rows = [
        f'<td class="name">{escape(flow.sender)} → {escape(flow.receiver)}</td>'
        f"<td>{size_of(flow.announced)}</td>"
        f"<td>{'' if flow.counted is None else size_of(flow.counted)}</td>"
        for flow in paper.flows
    ]
    head = ['<th class="name">from and to</th>', "<th>announced</th>", "<th>counted</th>"]
    total = paper.receipt["total"]
    return (
        f"<h2>What was sent</h2>\n{long_table(table(head, rows), len(rows))}\n"
        f'<p class="note">{escape(paper.name)} counted its own messages, with their frames: '
        f"{total['messages']} in {total['rounds']} rounds, {float(paper.receipt['seconds']):.1f} seconds "
        "from the first to the last. What others sent each other is known from the plan alone.</p>"
    )


def _costs(paper: JoinPaper) -> str:
    """Bytes of every family that crosses holders, beside the formula of the paper."""
    crossing = [node for node in paper.nodes if len(node.where) > 1]
    if not crossing:
        return (
            "<h2>Bytes for each node</h2>\n<p>Every family lies with one holder: nothing is counted "
            "together.</p>"
        )
    rows = [_cost(node) for node in crossing]
    rows.append(
        '<td class="name">all together</td>'
        f"<td>{number(sum(node.cells for node in crossing))}</td><td></td>"
        f"<td>{size_of(sum(node.paper for node in crossing))}</td><td>{size_of(paper.shared)}</td>"
    )
    head = ['<th class="name">node, given parents</th>', "<th>cells</th>", '<th class="name">between</th>']
    head += ["<th>the paper’s<br>formula</th>", "<th>here</th>"]
    marked = table(head, rows[:-1]).replace("</tbody>", f'<tr class="sum">{rows[-1]}</tr></tbody>')
    return (
        f"<h2>Bytes for each node</h2>\n{long_table(marked, len(rows))}\n"
        '<p class="note">The formula is that of Meng, Sivakumar and Kargupta (2004): one bit for each '
        "row and configuration. Theirs protects less: whoever knows the rotation undoes it. Each family is "
        "shown as if it were alone; families share masks, so all together take less than the sum. Matching "
        "of rows and noise come on top.</p>"
    )


def _cost(node: Node) -> str:
    return (
        f'<td class="name">{escape(_family(node))}</td><td>{number(node.cells)}</td>'
        f'<td class="name">{escape(", ".join(node.where))}</td>'
        f"<td>{size_of(node.paper)}</td><td>{size_of(node.ours)}</td>"
    )


def _family(node: Node) -> str:
    given = f" | {', '.join(node.parents)}" if node.parents else ""
    whole = node.name + given
    return whole if len(whole) <= 48 else whole[:47] + "…"


def _network(paper: JoinPaper) -> str:
    """The structure, which is public, and the probabilities, for those who receive."""
    picture = ""
    if is_drawn(paper):
        picture = figure(
            partial(draw_structure, paper),
            f"Picture of the structure: {len(paper.plan.network.nodes)} nodes.",
            "The declared structure. Nodes of one holder have one shade; thick arrows cross holders.",
            "Drawn from the plan.",
        )
    if paper.network is None:
        told = f"<p>{escape(paper.name)} did not get the probabilities.</p>"
        return f"<h2>The network</h2>\n{picture}\n{told}"
    tables = "\n".join(_table(paper, node) for node in paper.plan.network.nodes)
    return f"<h2>The network</h2>\n{picture}\n<h2>Probabilities</h2>\n{tables}"


def _table(paper: JoinPaper, node: str) -> str:
    """One node's probabilities, folded away; the first lines of long ones."""
    assert paper.network is not None
    structure = paper.plan.network
    parents, states = structure.parents[node], structure.states[node]
    cpt: NDArray[np.float64] = paper.network.cpt(node).reshape(-1, len(states))
    given = itertools.product(*(structure.states[parent] for parent in parents))
    head = [f'<th class="name">{escape(parent)}</th>' for parent in parents]
    head += [f"<th>{escape(_short(state))}</th>" for state in states]
    rows = [
        "".join(f'<td class="name">{escape(_short(state))}</td>' for state in configuration)
        + "".join(f"<td>{value:.4f}</td>" for value in line)
        for configuration, line in itertools.islice(zip(given, cpt, strict=True), _MOST_LINES)
    ]
    more = (
        f'<p class="note">and {number(len(cpt) - _MOST_LINES)} more lines</p>'
        if len(cpt) > _MOST_LINES
        else ""
    )
    title = f"{node} given {', '.join(parents)}" if parents else node
    return f"<details><summary>{escape(title)}</summary>{table(head, rows)}{more}</details>"


def _facts(paper: JoinPaper) -> tuple[tuple[str, str], ...]:
    receipt = paper.receipt
    facts = [
        ("As", f"{paper.name}, the {paper.role}"),
        ("Rows", f"{paper.rows:,}"),
        ("Plan", str(receipt["digest"])),
        ("Run", str(receipt["session"])),
        ("Started", str(receipt["started"])),
    ]
    return (*facts, *((f"Card of {name}", str(mark)) for name, mark in receipt["parties"].items()))


def _loading(paper: JoinPaper) -> str:
    if paper.network is None:
        return ""
    lines = (
        'from discreet.fit import BayesianNetwork\n\nmodel = BayesianNetwork.load("this-folder")\n'
        f"model.query({list(paper.plan.network.nodes[:1])!r})"
    )
    return (
        f"<h2>Load it</h2>\n<pre><code>{escape(lines, quote=False)}</code></pre>\n"
        "<p>Other programs that read BIF (bnlearn, pgmpy, pyAgrum) read <code>network.bif</code>, too.</p>"
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"

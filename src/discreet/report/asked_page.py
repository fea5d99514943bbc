"""The page of an asked question: one HTML file that opens offline and asks nobody for anything.

Every text of the receipt, which may come from strangers, is escaped.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

from discreet.report.face import figure, listed, long_table
from discreet.report.flow import draw_flows
from discreet.report.join import size_of
from discreet.report.page import frame
from discreet.report.tables import bar, definitions, table

if TYPE_CHECKING:
    from discreet.report.asked import AskedPaper, Phase

__all__ = ["write_asked"]

_DRAWN = "Drawn from sizes of messages, with their frames."
_CHAINS = {"left-right": "from left to right", "full": "every step possible"}
_KINDS = {"full": "full covariances", "diag": "diagonal covariances", "symbols": "symbols"}


def write_asked(paper: AskedPaper) -> str:
    """The whole page, as one of the two parties sees the run."""
    title = "Which word was spoken?"
    told = f"Picture of two parties: owners of recordings and of models. {size_of(paper.size)} were sent."
    explained = f"Who sent how much to whom. The report is that of the owner of the {paper.name}, filled."
    body = [
        _header(paper, title),
        figure(partial(draw_flows, paper), told, explained, _DRAWN),
        _learned(paper),
        _taken(paper),
        f"<h2>What was agreed</h2>\n{definitions(_agreed(paper))}",
        f"<h2>Receipt</h2>\n{definitions(_facts(paper))}",
        f"<footer>Written by discreet {escape(str(paper.receipt.versions.get('discreet', '')))} from a "
        "receipt, which holds no word and no score. This page makes no requests and runs no "
        "scripts.</footer>",
    ]
    return frame(title, "\n".join(body))


def _header(paper: AskedPaper, title: str) -> str:
    offer = paper.question.offer
    chips = [paper.asked, f"{offer.count} words", f"{paper.receipt.seconds:.2f} seconds", size_of(paper.size)]
    items = "".join(f"<li>{escape(chip)}</li>" for chip in chips)
    return (
        f'<p class="kicker">discreet report · A question between two parties, as the owner of the '
        f'{paper.name} saw it</p>\n<h1>{title}</h1>\n<ul class="chips">{items}</ul>'
    )


def _learned(paper: AskedPaper) -> str:
    saw = {
        "recordings": "the offer: sizes, the recipe of features, ranges"
        + (", the list of words" if paper.question.offer.words else ", but not the list of words"),
        "models": f"how many recordings there are, and their lengths: {paper.seen}",
    }
    rows = [
        f'<td class="name"><strong>{name}</strong></td><td class="words">{escape(paper.learned[name])}</td>'
        f'<td class="words">{escape(saw[name])}</td>'
        for name in paper.parties
    ]
    head = ['<th class="name">owner of</th>', '<th class="name">learned</th>', '<th class="name">saw</th>']
    return (
        f"<h2>Who learned what</h2>\n{table(head, rows)}\n"
        '<p class="note">Both compared this plan before anything private moved. It holds if they followed '
        "the protocol. Nobody saw a score, and neither the recordings nor the models left their owner.</p>"
    )


def _taken(paper: AskedPaper) -> str:
    most = max((phase.seconds for phase in paper.phases), default=0.0) or 1.0
    rows = [_phase(phase, most) for phase in paper.phases]
    whole = "".join(
        f"<td>{size_of(sum(getattr(phase, way) for phase in paper.phases))}</td>"
        for way in ("sent", "received")
    )
    rows.append(f'<td class="name">together</td><td></td><td>{paper.receipt.seconds:.2f} s</td>{whole}')
    head = ['<th class="name">phase</th>', '<th class="name" colspan="2">seconds, waiting included</th>']
    marked = table([*head, "<th>sent</th>", "<th>received</th>"], rows[:-1])
    marked = marked.replace("</tbody>", f'<tr class="sum">{rows[-1]}</tr></tbody>')
    said = "".join(
        f"<dt>{escape(phase.name)}</dt><dd>{escape(phase.what)}</dd>" for phase in paper.phases if phase.what
    )
    return (
        f"<h2>What it took</h2>\n{long_table(marked, len(rows))}\n"
        f'<dl class="card facts">{said}</dl>\n'
        '<p class="note">The clock runs from the greeting to the last word of both; whatever lies between '
        "phases is in the sum alone.</p>"
    )


def _phase(phase: Phase, most: float) -> str:
    return (
        f'<td class="name">{escape(phase.name)}</td>{bar(phase.seconds / most)}<td>{phase.seconds:.2f} s</td>'
        f"<td>{size_of(phase.sent)}</td><td>{size_of(phase.received)}</td>"
    )


def _agreed(paper: AskedPaper) -> tuple[tuple[str, str], ...]:
    offer = paper.question.offer
    size = f"{offer.symbols} symbols" if offer.kind == "symbols" else f"{offer.dimension} numbers a frame"
    mixed = f", {offer.mixtures} components a state" if offer.mixtures > 1 else ""
    return (
        ("Words", listed(offer.words) if offer.words else f"{offer.count}, which are not shown"),
        ("Models", f"{offer.states} states, {_CHAINS[offer.topology]}; {size}, {_KINDS[offer.kind]}{mixed}"),
        ("A word is worth", "all its paths" if offer.method == "forward" else "its best path"),
        ("Lengths", f"up to {offer.longest} frames, seen in steps of {offer.padding}"),
        ("Set up ahead", "yes" if paper.question.ahead else "no"),
        ("Salted digest of the models", offer.model),
    )


def _facts(paper: AskedPaper) -> tuple[tuple[str, str], ...]:
    receipt = paper.receipt
    versions = ", ".join(f"{name} {value}" for name, value in receipt.versions.items())
    owners = {"data": "recordings", "model": "models"}
    return (
        ("As", f"the owner of the {paper.name}"),
        ("Started", receipt.started),
        ("Plan", receipt.plan.digest()),
        ("Run", receipt.session),
        ("Versions", versions),
        *((f"Card of {owners[role]}", mark) for role, mark in receipt.parties.items()),
    )

"""What a report says of a hidden Markov model: its picture, its states, and what it was fitted to."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.face import Face, figure, listed, long_table, snippet
from discreet.report.graph import LEAST, draw_hmm, is_graph, is_grid, likeliest
from discreet.report.mixture_page import place_words
from discreet.report.paper import short
from discreet.report.tables import bar, inside, table

if TYPE_CHECKING:
    from discreet.report.hmm import HMMPaper

__all__ = ["face_hmm"]

_NAMED = 3


def face_hmm(paper: HMMPaper) -> Face:
    """The face of a hidden Markov model."""
    kind = "CategoricalHMM" if paper.places is None else "GaussianHMM"
    over = f" of {listed(paper.columns)}" if paper.columns else ""
    names = ", ".join(f'tensors["{name}"]' for name in sorted(paper.tensors))
    loading = (
        f'from discreet.fit import {kind}\n\nmodel = {kind}.load("this-folder")\n'
        "model.decode(rows, lengths), model.scores(rows, lengths)\nmodel.sample([100]), model.to_hmmlearn()"
    )
    return Face(
        f"Hidden Markov model{over}",
        f"{paper.states} states",
        figure(partial(draw_hmm, paper), _told(paper), _explained(paper)),
        _states(paper),
        _facts(paper),
        snippet(loading, names),
    )


def _told(paper: HMMPaper) -> str:
    first = int(np.argmax(paper.shares))
    stay = float(paper.transition[first, first])
    return (
        f"Picture of a hidden Markov model with {paper.states} states that emit {paper.emissions}. Most time "
        f"is spent in state {first}: {float(paper.shares[first]):.1%} of the steps; it is followed by itself "
        f"in {stay:.1%} of them."
    )


def _explained(paper: HMMPaper) -> str:
    if is_graph(paper):
        upper = (
            "Above, the states, the darker the more steps are spent there, and how likely each step is; "
            f"steps below {LEAST:.0%} are not drawn."
        )
    else:
        upper = "Above, how likely each step is, the darker the likelier (by its root)."
    if paper.places is not None:
        lower = (
            "Below, what the states emit: ellipses at one and two standard deviations over the density of "
            "all steps together."
            if len(paper.columns) > 1
            else "Below, the density of all steps together (thick line), and what each state adds to it."
        )
    elif is_grid(paper):
        lower = "Below, how likely each state emits each symbol."
    else:
        assert paper.probabilities is not None
        count, shown = paper.probabilities.shape[1], len(likeliest(paper))
        which = "each symbol" if shown == count else f"the {shown} likeliest of {count:,} symbols"
        lower = f"Below, how likely each state emits {which}, the darker the likelier (by its root)."
    return f"{upper} {lower}"


def _states(paper: HMMPaper) -> str:
    return (
        f"<h2>States</h2>\n{long_table(_state_table(paper), paper.states)}\n"
        '<p class="note">Each number is its place in the tensors. The share is that of the steps of '
        "sequences as long as was declared, by the model itself. A state is a part of the model, and no fact "
        "about a single person.</p>"
    )


def _state_table(paper: HMMPaper) -> str:
    most = float(paper.shares.max())
    head = ["<th>no.</th>", '<th class="name" colspan="2">share of steps</th>', "<th>start</th>"]
    head += ["<th>stays</th>", '<th class="name">then to</th>']
    points = paper.places
    single = points is not None and len(points.mixture.weights) == paper.states
    if points is None:
        head.append('<th class="name">emits most</th>')
    elif single:
        head += [f"<th>{escape(short(name))}</th>" for name in paper.columns]
    rows: list[str] = []
    for state in range(paper.states):
        share, stay = float(paper.shares[state]), float(paper.transition[state, state])
        cells = [f"<td>{state}</td>{bar(share / most)}<td>{share:.1%}</td>"]
        cells.append(f"<td>{float(paper.start[state]):.1%}</td><td>{stay:.1%}</td>")
        cells.append(f'<td class="name">{escape(paper.next(state))}</td>')
        if points is None:
            cells.append(f'<td class="name">{escape(paper.emitted(state, _NAMED))}</td>')
        elif single:
            means, spread = points.mixture.means[state], points.deviations(state)
            cells += [
                f"<td>{points.show(float(means[at]), at)} ± {float(spread[at]):.2g}</td>"
                for at in range(len(paper.columns))
            ]
        rows.append("".join(cells))
    return table(head, rows)


def _facts(paper: HMMPaper) -> tuple[tuple[str, str], ...]:
    receipt, domain = paper.receipt, inside(paper.receipt, "domain")
    longest = receipt.get("max_length")
    facts = [
        ("Emissions", paper.emissions),
        ("Topology", str(receipt.get("topology") or "")),
        ("Rounds", str(receipt.get("rounds", ""))),
        ("Longest length", "" if longest is None else f"{longest} (what lies beyond was left out)"),
        ("Sequences", _column(domain.get("sequence"), "told apart by")),
        ("Order", _column(domain.get("order"), "by")),
    ]
    if paper.places is not None and paper.region is not None:
        facts.append(place_words(paper.places))
    if paper.guarantee.person is not None:
        weight = f"{paper.guarantee.rows_per_person:g}"
        facts.append(("Person", f"column {paper.guarantee.person}, sequences of one weigh at most {weight}"))
    return tuple(facts)


def _column(name: object, how: str) -> str:
    return f"{how} column {name}" if isinstance(name, str) else ""

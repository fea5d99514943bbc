"""`discreet show`: what a released model holds and promises."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import service, terminal
from discreet.cli.join import joint
from discreet.cli.shown import components, nodes, states, words

__all__ = ["show"]


def show(
    bundle: Annotated[
        str, typer.Argument(help="The folder that a fit has written, or the receipt of a question.")
    ],
    out: Annotated[
        str | None, typer.Option(help="A folder for the page of a question's receipt.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show a released model and its guarantee, or what a question took and who learned what.

    For example:

      discreet show hot-spots

      discreet show receipts/keyword-bob-65329ef0c7ccc242.json --out asked
    """
    from discreet.jobs import show_bundle

    shown = show_bundle(bundle, out)
    if json:
        terminal.print_json(shown.to_dict())
        return
    paper = shown.paper
    if shown.kind == "asked":
        service.asked(paper)
        if out is not None:
            terminal.line(f"page: {out}/report.html", "dim")
        return
    if shown.kind == "gaussian-mixture":
        kind = paper.receipt.get("covariance_type", "")
        terminal.heading(
            f"A Gaussian mixture of {', '.join(paper.columns)}: {len(paper.order)} components, {kind}"
        )
        components(paper)
    elif shown.kind == "joint-network":
        joint(paper)
    elif shown.kind == "bayesian-network":
        terminal.heading(f"A Bayesian network: {paper.size}")
        nodes(paper)
    elif shown.kind == "words":
        made = paper.vocabulary
        terminal.heading(f"Models of {len(made.words)} words: {made.states} states, {made.emissions}")
        words(paper)
    else:
        over = f" of {', '.join(paper.columns)}" if paper.columns else ""
        terminal.heading(f"A hidden Markov model{over}: {paper.states} states, {paper.emissions}")
        states(paper)
    terminal.promise(paper.guarantee.words(), paper.guarantee.private)
    terminal.line(paper.sentence)
    if paper.digest:
        terminal.line(f"SHA-256 of the tensors: {paper.digest}", "dim")

"""`discreet demo`: everything once, on invented people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.shown import balance

if TYPE_CHECKING:
    from discreet.jobs import Demo

__all__ = ["demo"]


def demo(
    out: Annotated[str, typer.Option(help="The folder to write.")] = "out/demo",
    seed: Annotated[int, typer.Option(help="Another seed simulates another city.")] = 0,
    people: Annotated[int, typer.Option(hidden=True)] = 20_000,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Simulate a city of 20,000 people and map its hot spots privately, beside the plain fit.

    Takes less than a minute, needs no network, and uses no real data:

      discreet demo --out out/demo
    """
    from discreet.jobs import run_demo

    with terminal.follow_stages(quiet=json, first="simulating a city") as tell:
        done = run_demo(out, people=people, seed=seed, tell=tell)
    terminal.print_json(done.to_dict()) if json else _report(done)


def _report(done: Demo) -> None:
    private = done.private.paper.guarantee
    terminal.line(
        f"A simulated city, not real data: {done.people:,} people with a few or with hundreds of check-ins.",
        "bold",
    )
    terminal.promise(private.words(), private.private)
    terminal.line(done.private.paper.sentence)
    terminal.heading("How well each fit describes people that it has not seen")
    terminal.table(
        [("20 components", "left"), ("log-likelihood of a check-in", "right"), ("promise", "left")],
        [
            ("private", f"{done.private_score:.2f}", private.summary().partition(" (")[0]),
            ("plain", f"{done.plain_score:.2f}", "not private (epsilon infinity)"),
            ("knowing nothing", f"{done.uniform_score:.2f}", "the same everywhere on the island"),
        ],
    )
    terminal.line(
        "These scores are computed from rows: the demo may show them because nobody is real.", "dim"
    )
    terminal.heading("Left in the ledger")
    balance(done.left)
    terminal.heading("What lies where")
    terminal.files(
        str(done.out),
        [
            ("map.png", "the city, the private fit and the plain fit side by side"),
            ("private/report.html", "the report of the private fit: open it in a browser"),
            ("private/", "the model, its card, its receipt: made to be handed out"),
            ("plain/", "the same without privacy: not to be handed out"),
            ("ledger", "who spent how much of the city's budget"),
            ("city.parquet", "the simulated check-ins"),
        ],
    )
    terminal.line(f"\nNext: discreet show {done.out}/private", "dim")
    terminal.line(f"      discreet ledger history {done.out}/ledger", "dim")

"""`discreet ledger`: budgets, what was spent from them, and whether the file is intact."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli import terminal
from discreet.cli.shown import balance

__all__ = ["commands", "group", "history", "new", "show", "verify"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_Path = Annotated[str, typer.Argument(help="The file of the ledger.")]
_Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@commands.callback()
def group() -> None:
    """Set privacy budgets, and see what was spent from them."""


@commands.command(no_args_is_help=True)
def new(
    path: _Path,
    dataset: Annotated[str, typer.Option(help="A name for the data set.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget, for all runs together.")],
    delta: Annotated[float, typer.Option(help="0 allows Laplace noise only.")],
    unit: Annotated[str, typer.Option(help="Who is protected: person, row or sequence.")] = "person",
    rule: Annotated[
        str | None,
        typer.Option(help="How runs add up: gaussian (usual if delta > 0) or sum (usual if 0)."),
    ] = None,
    json: _Json = False,
) -> None:
    r"""Set a budget, in a new ledger or in one that is there. It is set once.

    For example:

      discreet ledger new city.ledger --dataset checkins \
        --unit person --epsilon 3 --delta 1e-6
    """
    from discreet.jobs import new_budget

    fresh = new_budget(path, dataset, unit, epsilon, delta, rule)
    if json:
        terminal.print_json(fresh.to_dict())
        return
    terminal.line(f"The budget is set, in {path}. It is a promise to the people in the data.", "bold")
    balance(fresh)


@commands.command(no_args_is_help=True)
def show(path: _Path, json: _Json = False) -> None:
    """Show every budget and what is left of it.

    For example:

      discreet ledger show city.ledger
    """
    from discreet.jobs import open_ledger

    budgets = open_ledger(path).budgets()
    if json:
        terminal.print_json({"budgets": [one.to_dict() for one in budgets]})
        return
    for one in budgets:
        terminal.heading(one.dataset)
        balance(one)
    if not budgets:
        terminal.line("No budget is set yet: `discreet ledger new` sets one.")


@commands.command(no_args_is_help=True)
def history(
    path: _Path,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    json: _Json = False,
) -> None:
    """Show every run that was charged, and how it ended.

    For example:

      discreet ledger history city.ledger --dataset checkins
    """
    from discreet.jobs import open_ledger

    entries = open_ledger(path).entries(dataset)
    if json:
        terminal.print_json({"entries": [entry.to_dict() for entry in entries]})
        return
    if not entries:
        terminal.line("Nothing was charged yet.")
        return
    names = ("row", "when", "data set", "run", "epsilon", "delta", "per", "outcome")
    columns = [(name, "right" if name in ("row", "epsilon", "delta") else "left") for name in names]
    terminal.table(columns, [_row(entry) for entry in entries])


@commands.command(no_args_is_help=True)
def verify(path: _Path, json: _Json = False) -> None:
    """Recompute the whole chain of hashes; fails if a row was changed, dropped or forged.

    For example:

      discreet ledger verify city.ledger

    Compare the number and hash with those in your receipts: a chain alone cannot show that its end is gone.
    """
    from discreet.jobs import open_ledger

    head = open_ledger(path).verify()
    if json:
        terminal.print_json({"intact": True, "seq": head.seq, "hash": head.hash})
        return
    terminal.line("The ledger is intact.", "bold green")
    terminal.line(f"last row: {head.seq}\nits hash: {head.hash}")


def _row(entry: Any) -> tuple[str, ...]:
    promised = entry.guarantee
    return (
        str(entry.seq),
        str(entry.time)[:19].replace("T", " "),
        entry.dataset,
        entry.label,
        f"{promised.epsilon:g}",
        f"{promised.delta:g}",
        promised.unit,
        "spent, outcome unknown" if entry.digest is None else f"result {entry.digest[:12]}…",
    )

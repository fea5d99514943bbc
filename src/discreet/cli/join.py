"""`discreet join`: a network fitted to columns that different parties hold. Nobody sees the whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import shown, terminal
from discreet.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check", "commands", "group", "joint", "new", "rehearse", "run"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_Plan = Annotated[str, typer.Argument(help="The plan, a TOML file that every party has.")]
_Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@commands.callback()
def group() -> None:
    """Fit a network to columns of several parties, who show them to nobody."""


@commands.command()
def new(
    out: Annotated[str, typer.Argument(help="The file to write; with --demo, the folder.")] = "plan.toml",
    demo: Annotated[
        str | None, typer.Option(help="A folder for simulated hospitals: plan, structure, tables, ledgers.")
    ] = None,
    hospitals: Annotated[int, typer.Option(help="Of the demonstration: 2 or 3.")] = 2,
    people: Annotated[int, typer.Option(help="Of the demonstration: whom all hospitals know.")] = 2000,
    seed: Annotated[int, typer.Option(help="Another seed simulates other people.")] = 0,
    json: _Json = False,
) -> None:
    """Write a plan to start from, with a comment for every decision.

    For example:

      discreet join new plan.toml

    Or all that is needed to try it at once, with simulated patients:

      discreet join new --demo hospitals

      discreet join rehearse hospitals/plan.toml --out result
    """
    from discreet.jobs import demo_join, new_join

    given = {"hospitals": hospitals, "people": people, "seed": seed}
    made = new_join(out) if demo is None else demo_join(demo, **given)
    if json:
        terminal.print_json({"plan": str(made), "simulated": demo is not None})
        return
    if demo is None:
        terminal.line(f"{made} is written: it says what to decide. Then:", "bold")
        terminal.line(f"  discreet join check {made}")
        return
    _show_demo(made.parent, hospitals, people)


def _show_demo(folder: Path, hospitals: int, people: int) -> None:
    names = ["north", "south", "east"][:hospitals]
    terminal.line(f"{hospitals} simulated hospitals that share {people:,} patients. Nobody is real.", "bold")
    terminal.files(
        str(folder),
        [
            ("plan.toml", "who takes part, what is wanted, who gets it, at what price"),
            ("asia.bif", "the structure of the network"),
            *((f"{name}.csv", f"what {name} holds") for name in names),
            *((f"{name}.ledger", f"the privacy budget of {name}") for name in names),
        ],
    )
    ledgers = " ".join(f"--ledger {name}={folder / name}.ledger" for name in names)
    terminal.line(f"\nNext: discreet join check {folder / 'plan.toml'} --rows {people + people // 10}", "dim")
    terminal.line(f"      discreet join rehearse {folder / 'plan.toml'} {ledgers} --out result", "dim")


@commands.command(no_args_is_help=True)
def check(
    plan: _Plan,
    rows: Annotated[
        int | None, typer.Option(help="If rows are matched by id: about how many ids each holder has.")
    ] = None,
    json: _Json = False,
) -> None:
    """Say what a plan reveals to whom, and what it costs, before anything runs.

    No table is read, nobody is called, nothing is spent:

      discreet join check plan.toml --rows 50000
    """
    from discreet.jobs import check_join

    found = check_join(plan, rows)
    if json:
        terminal.print_json(found.to_dict())
        return
    terminal.heading(f"{found.plan.name}: {len(found.plan.network.nodes)} nodes, route {found.plan.kind}")
    _who(found.plan, found.learns)
    terminal.promise(found.guarantee.words(), found.guarantee.private)
    if found.plan.payers:
        price = f"epsilon {found.guarantee.epsilon:g} and delta {found.guarantee.delta:g}"
        terminal.line(f"Charged to the ledgers of {', '.join(found.plan.payers)}: {price} each.")
    else:
        terminal.line("No ledger is charged: nobody adds this up with other results.", "dim")
    _traffic(found)


def _who(plan: Any, learns: Any) -> None:
    terminal.heading("Who learns what")
    terminal.table(
        [("party", "left"), ("role", "left"), ("columns", "left"), ("learns", "left")],
        [
            (name, party.role, ", ".join(party.columns) or "-", learns[name])
            for name, party in sorted(plan.parties.items())
        ],
    )


def _traffic(found: Any) -> None:
    from discreet.jobs import size_of

    about = "about as many as" if found.assumed else ""
    terminal.heading(f"What it costs, for {about} {found.rows:,} rows of each holder".replace("  ", " "))
    terminal.table(
        [("from", "left"), ("to", "left"), ("at most" if found.plan.rows.id else "bytes", "right")],
        [(sender, receiver, size_of(size)) for (sender, receiver), size in found.pairs.items()],
    )
    if found.nodes:
        terminal.table(
            [("node", "left"), ("alone", "right"), ("the paper's formula", "right")],
            [(node, size_of(one["bytes"]), size_of(one["paper"])) for node, one in found.nodes.items()],
        )
    terminal.line(
        f"{size_of(found.bytes)} in all, {found.rounds} rounds; about {_time(found.seconds)} on one machine, "
        f"and {size_of(found.memory)} of memory for each party.",
        "bold",
    )
    if found.assumed:
        terminal.line("Say --rows for as many ids as your holders have.", "dim")


def _time(seconds: float) -> str:
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


@commands.command(no_args_is_help=True)
def rehearse(
    plan: _Plan,
    data: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE for each holder; by default NAME.csv beside the plan."),
    ] = None,
    ledger: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE for holders that pay; else nothing is charged.")
    ] = None,
    out: Annotated[str, typer.Option(help="A folder, with one folder for each party in it.")] = "rehearsal",
    random_state: Annotated[int | None, typer.Option(help="A seed, for tests: NOT private.")] = None,
    json: _Json = False,
) -> None:
    r"""Run a plan with all parties on this machine, each a process of its own, over TLS.

    This machine sees everything: it is for trying a plan, not for protecting anybody.

      discreet join rehearse plan.toml \
        --data north=north.csv --data south=south.csv --out result
    """
    from discreet.jobs import rehearse_join

    tables, ledgers = _named(data, "data"), _named(ledger, "ledger")
    with terminal.follow_stages(quiet=json) as tell:
        kept = rehearse_join(plan, tables, out, ledgers=ledgers, seed=random_state, tell=tell)
    terminal.print_json(kept.to_dict()) if json else _report(kept)


def _named(given: list[str] | None, option: str) -> dict[str, str]:
    """NAME=FILE, several times."""
    found: dict[str, str] = {}
    for one in given or []:
        name, sign, file = one.partition("=")
        if not (name and sign and file):
            raise typer.BadParameter(f"--{option} wants NAME=FILE, such as north=north.csv")
        if name in found:
            raise typer.BadParameter(f"--{option} names {name} twice")
        found[name] = file
    return found


@commands.command(no_args_is_help=True)
def run(
    plan: _Plan,
    name: Annotated[str, typer.Option("--as", help="Which party we are.")],
    data: Annotated[str | None, typer.Option(help="Our table, if we are a holder.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Our ledger, if the plan says that we pay.")] = None,
    out: Annotated[str, typer.Option(help="The folder to write (usually a new one).")] = "result",
    wait: Annotated[float, typer.Option(help="Seconds in which the others must come.")] = 60.0,
    home: Annotated[
        Path | None,
        typer.Option(
            help="The folder with keys and cards.", envvar="DISCREET_HOME", show_default="~/.discreet"
        ),
    ] = None,
    json: _Json = False,
) -> None:
    r"""Take part in a plan as one of its parties, with the others on their machines.

    Everybody starts this within the waiting time; who starts first waits:

      discreet join run plan.toml --as north --data north.csv \
        --ledger north.ledger --out result

    Keys and trust come first: discreet party new NAME, discreet party trust CARD.
    """
    from discreet.jobs import run_join

    with terminal.follow_stages(quiet=json) as tell:
        kept = run_join(plan, name, out, data=data, ledger=ledger, home=home, wait=wait, tell=tell)
    terminal.print_json(kept.to_dict()) if json else _report(kept)


def _report(kept: Any) -> None:
    papers = kept.papers
    first = next((paper for paper in papers.values() if paper.receives), next(iter(papers.values())))
    terminal.heading(f"{first.plan.name}: done, with {first.rows:,} rows")
    _who(first.plan, first.plan.learns)
    terminal.promise(first.guarantee.words(), first.guarantee.private)
    terminal.line(first.sentence)
    for paper in papers.values():
        place = kept.place(paper.name)
        got = "the network, a receipt and a report" if paper.receives else "a receipt and a report"
        sent, received = (_moved(paper, way) for way in ("sender", "receiver"))
        terminal.line(f"{place}  {paper.name}: {got}; sent {sent}, received {received}")
    for name, balance in kept.left.items():
        terminal.heading(f"Left in the ledger of {name}")
        shown.balance(balance)
    place = kept.place(first.name)
    terminal.line(f"\nNext: open {place / 'report.html'}", "dim")
    terminal.line(f"      discreet show {place}", "dim")


def _moved(paper: Any, way: str) -> str:
    from discreet.jobs import size_of

    return size_of(sum(flow.size for flow in paper.flows if getattr(flow, way) == paper.name))


def joint(paper: Any) -> None:
    """What `discreet show` prints of a party's folder."""
    terminal.heading(
        f"A joint network: {paper.plan.name}, {len(paper.plan.network.nodes)} nodes, {paper.rows:,} rows; "
        f"the folder of {paper.name}, the {paper.role}"
    )
    _who(paper.plan, paper.plan.learns)
    if paper.network is None:
        terminal.line(f"{paper.name} did not get the network.")
        return
    try:
        rows = _margins(paper.network)
    except TooLargeError:
        terminal.line("The network is too dense to say how likely single states are.", "dim")
        return
    terminal.heading("Probabilities, over all else")
    terminal.table([("node", "left"), ("states", "left")], rows)


def _margins(network: Any) -> Sequence[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    joint = network.margins()
    for node, states in network.structure.states.items():
        chances = joint[node].reshape(-1, len(states)).sum(axis=0)
        told = [f"{state} {chance:.1%}" for state, chance in zip(states, chances, strict=True)]
        rows.append((node, ", ".join(told[:6]) + (f" and {len(told) - 6} more" if len(told) > 6 else "")))
    return rows

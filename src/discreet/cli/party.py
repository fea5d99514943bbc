"""`discreet party`: who we are to other organisations, and whom we trust."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import terminal

__all__ = ["commands", "group", "new", "show", "trust"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_Home = Annotated[
    Path | None,
    typer.Option(help="The folder with keys and cards.", envvar="DISCREET_HOME", show_default="~/.discreet"),
]
_Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@commands.callback()
def group() -> None:
    """Make an identity, show fingerprints, and trust other parties."""


@commands.command(no_args_is_help=True)
def new(
    name: Annotated[str, typer.Argument(help="A name for us: letters, digits, - and _.")],
    home: _Home = None,
    json: _Json = False,
) -> None:
    """Make a private key, which stays here, and a card to give to the other parties.

    For example:

      discreet party new clinic
    """
    from discreet.jobs import new_party

    made = new_party(name, home)
    if json:
        terminal.print_json(made.to_dict())
        return
    terminal.heading(f"{made.card.name}: give this card to the other parties")
    terminal.line(str(made.file))
    _fingerprint(made)
    terminal.line(
        "Read the fingerprint to them over a way that nobody else controls, for example by telephone."
    )


@commands.command()
def show(home: _Home = None, json: _Json = False) -> None:
    """Show our own identities and all parties that we trust, with their fingerprints.

    For example:

      discreet party show
    """
    from discreet.jobs import parties

    known = parties(home)
    if json:
        terminal.print_json({"parties": [one.to_dict() for one in known]})
        return
    for one in known:
        terminal.heading(f"{one.card.name} ({'us' if one.ours else 'trusted'})")
        terminal.line(f"{one.file}, valid until {one.card.until.date()}", "dim")
        _fingerprint(one)
    if not known:
        terminal.line("No party yet: `discreet party new NAME` makes one.")


@commands.command(no_args_is_help=True)
def trust(
    file: Annotated[Path, typer.Argument(help="The card that the other party gave you.")],
    fingerprint: Annotated[
        str | None, typer.Option(help="What the other party read to you; compared, not asked for.")
    ] = None,
    home: _Home = None,
    json: _Json = False,
) -> None:
    """Accept another party, after a look at its fingerprint.

    For example:

      discreet party trust hospital.party
    """
    from discreet.jobs import read_party, trust_party

    if fingerprint is None:
        card = read_party(file)
        if json:
            raise typer.BadParameter("--json needs --fingerprint: nobody could be asked")
        terminal.heading(card.card.name)
        _fingerprint(card)
        typer.confirm("Is this the fingerprint that the party itself has told you?", abort=True)
        fingerprint = card.card.fingerprint
    trusted = trust_party(file, home, fingerprint)
    if json:
        terminal.print_json(trusted.to_dict())
        return
    terminal.line(f"{trusted.card.name} is trusted from now on.", "bold green")


def _fingerprint(party: Any) -> None:
    terminal.line(f"fingerprint  {party.card.words()}")

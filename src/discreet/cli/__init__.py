"""The command line: `discreet VERB OBJECT DATA [options]`.

Commands call `discreet.jobs` and nothing else, and load it only when they run: `discreet --help` answers in
a blink. A refused request ends with exit code 2, other errors with 1, an interruption with 130.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.main import get_command

from discreet.cli import ask, audit, demo, fit, join, ledger, party, prep, release, show
from discreet.cli.refusal import Front, forget_values

__all__ = ["app", "main", "root"]

app = typer.Typer(
    name="discreet",
    cls=Front,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # they print local variables, which may be private rows
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Fit probabilistic models of people's data, and say exactly what each run reveals.

    Start with:

      discreet demo
    """


app.add_typer(fit.commands, name="fit")
app.add_typer(ask.commands, name="ask")
app.add_typer(join.commands, name="join")
app.add_typer(release.commands, name="release")
app.command("show")(show.show)
app.add_typer(ledger.commands, name="ledger")
app.command("prep")(prep.prep)
app.add_typer(party.commands, name="party")
app.add_typer(audit.commands, name="audit")
app.command("demo")(demo.demo)


def main() -> None:
    """Run the command line; what goes wrong inside is told without any value of the data."""
    sys.excepthook = forget_values
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, TextIOWrapper
        ):  # a terminal without our letters gets question marks, not a crash
            stream.reconfigure(errors="replace")
    # not app(): it would put a hook of its own in the place of ours
    get_command(app)(prog_name="discreet")

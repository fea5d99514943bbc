"""`discreet fit`: models of private rows. Trust: whoever runs the command sees the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import terminal
from discreet.cli.shown import balance, bought

if TYPE_CHECKING:
    from discreet.jobs import Preview, Result

__all__ = ["commands", "group", "mixture"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_BUDGET, _WHERE, _HOW, _OUTPUT = "Privacy", "Where the data lie (publicly known)", "How to fit", "Output"


@commands.callback()
def group() -> None:
    """Fit a model of people's rows, with a guarantee and a receipt."""


@commands.command(no_args_is_help=True)
def mixture(
    data: Annotated[
        list[str] | None, typer.Argument(help="Parquet or CSV files: paths, a 'glob*', or a folder.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="The columns to learn from: lat,lon.")] = None,
    components: Annotated[int | None, typer.Option(help="How many Gaussians.")] = None,
    plan: Annotated[str | None, typer.Option(help="Settings in a TOML file; options override it.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The budget; inf fits without privacy.", rich_help_panel=_BUDGET)
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Well below 1 over the number of people.", rich_help_panel=_BUDGET),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="The column that says whose row it is: protects people.", rich_help_panel=_BUDGET),
    ] = None,
    rows_per_person: Annotated[
        float | None,
        typer.Option(help="The most that one person's rows weigh (usually 1).", rich_help_panel=_BUDGET),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that is charged.", rich_help_panel=_BUDGET)
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Which budget, if the ledger has several.", rich_help_panel=_BUDGET),
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(help="lat=40.4:40.9,lon=-74.3:-73.7, or 0:1.", rich_help_panel=_WHERE)
    ] = None,
    radius: Annotated[float | None, typer.Option(help="Instead of bounds.", rich_help_panel=_WHERE)] = None,
    center: Annotated[
        str | None, typer.Option(help="Of the radius: 40.6,-74 (usually 0).", rich_help_panel=_WHERE)
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="joint (usual), published or input.", rich_help_panel=_HOW)
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="gaussian (usual) or laplace.", rich_help_panel=_HOW)
    ] = None,
    covariance: Annotated[
        str | None, typer.Option(help="full (usual), tied, diag or spherical.", rich_help_panel=_HOW)
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Refining rounds; usually by a rule.", rich_help_panel=_HOW)
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="error (usual), or drop such rows.", rich_help_panel=_HOW)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Threads.", rich_help_panel=_HOW)] = None,
    random_state: Annotated[
        int | None, typer.Option(help="A seed, for tests: NOT private.", rich_help_panel=_HOW)
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="The folder to write (usually mixture, mixture-2, ...).", rich_help_panel=_OUTPUT),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what it would reveal and cost.", rich_help_panel=_OUTPUT),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.", rich_help_panel=_OUTPUT)] = False,
) -> None:
    r"""Fit a mixture of Gaussians with differential privacy.

    Hot spots of check-ins, protecting each user with all their rows:

      discreet fit mixture 'checkins/*.parquet' --columns lat,lon \
        --bounds lat=40.4:40.9,lon=-74.3:-73.7 --components 20 \
        --person user --epsilon 1 --delta 1e-6 \
        --ledger city.ledger --out hot-spots

    Add --dry-run to see what it would reveal and cost: nothing is read but the schema, nothing is spent.
    """
    options = {name: value for name, value in locals().items() if name not in ("plan", "dry_run", "json")}
    options["covariance_type"] = options.pop("covariance")
    _run(plan, {name: value for name, value in options.items() if value is not None}, dry_run, json)


def _run(plan: str | None, options: dict[str, Any], dry_run: bool, json: bool) -> None:
    from discreet.jobs import make_plan, read_plan

    checked = make_plan({**(read_plan(plan) if plan else {}), **options})
    if dry_run:
        from discreet.jobs import preview

        seen = preview(checked)
        terminal.print_json(seen.to_dict()) if json else _foresee(seen)
        return
    from discreet.jobs import fit_mixture

    with terminal.follow("fitting", quiet=json) as progress:
        result = fit_mixture(checked, progress)
    terminal.print_json(result.to_dict()) if json else _report(result)


def _foresee(seen: Preview) -> None:
    terminal.line("A dry run: nothing was read but the schema, and nothing was spent.", "bold")
    terminal.promise(seen.guarantee.words(), seen.guarantee.private)
    if seen.bought:
        terminal.heading("What the budget would buy")
        bought(seen.bought, seen.guarantee)
    terminal.line(seen.sentence)
    terminal.heading("What would be written")
    terminal.line(str(seen.out))
    if seen.before is not None and seen.after is not None:
        terminal.heading("What the ledger would hold")
        balance(seen.before, "now")
        balance(seen.after, "after")


def _report(result: Result) -> None:
    guarantee = result.paper.guarantee
    terminal.promise(guarantee.words(), guarantee.private)
    terminal.line(result.paper.sentence)
    terminal.heading("Written")
    about = {
        "model.safetensors": "weights, means and covariances",
        "model.json": "what they are, and the guarantee",
        "receipt.json": "what was asked, charged and used",
        "MODEL_CARD.md": "the same for people",
        "report.html": "pictures and papers: open it in a browser",
    }
    terminal.files(str(result.out), [(name, about.get(name, "")) for name in result.files])
    if result.left is not None:
        terminal.heading("Left in the ledger")
        balance(result.left)
    terminal.line(f"\nLook at it with: discreet show {result.out}", "dim")

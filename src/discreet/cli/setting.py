"""The options that all fits share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "BUDGET",
    "HOW",
    "OUTPUT",
    "WHERE",
    "Bounds",
    "Center",
    "Columns",
    "Data",
    "Dataset",
    "Delta",
    "DryRun",
    "Epsilon",
    "Json",
    "Ledger",
    "Noise",
    "Out",
    "Person",
    "Plan",
    "Radius",
    "RandomState",
    "Rounds",
    "Workers",
]

BUDGET, WHERE, HOW, OUTPUT = "Privacy", "Where the data lie (publicly known)", "How to fit", "Output"

Data = Annotated[
    list[str] | None, typer.Argument(help="Parquet or CSV files: paths, a 'glob*', or a folder.")
]
Columns = Annotated[str | None, typer.Option(help="The columns to learn from: lat,lon.")]
Plan = Annotated[str | None, typer.Option(help="Settings in a TOML file; options override it.")]
Epsilon = Annotated[
    float | None, typer.Option(help="The budget; inf fits without privacy.", rich_help_panel=BUDGET)
]
Delta = Annotated[
    float | None, typer.Option(help="Well below 1 over the number of people.", rich_help_panel=BUDGET)
]
Person = Annotated[
    str | None,
    typer.Option(help="The column that says whose row it is: protects people.", rich_help_panel=BUDGET),
]
Ledger = Annotated[str | None, typer.Option(help="The ledger that is charged.", rich_help_panel=BUDGET)]
Dataset = Annotated[
    str | None, typer.Option(help="Which budget, if the ledger has several.", rich_help_panel=BUDGET)
]
Bounds = Annotated[
    str | None, typer.Option(help="lat=40.4:40.9,lon=-74.3:-73.7, or 0:1.", rich_help_panel=WHERE)
]
Radius = Annotated[float | None, typer.Option(help="Instead of bounds.", rich_help_panel=WHERE)]
Center = Annotated[
    str | None, typer.Option(help="Of the radius: 40.6,-74 (usually 0).", rich_help_panel=WHERE)
]
Noise = Annotated[str | None, typer.Option(help="gaussian (usual) or laplace.", rich_help_panel=HOW)]
Rounds = Annotated[int | None, typer.Option(help="Noisy rounds; usually by a rule.", rich_help_panel=HOW)]
Workers = Annotated[int | None, typer.Option(help="Threads.", rich_help_panel=HOW)]
RandomState = Annotated[int | None, typer.Option(help="A seed, for tests: NOT private.", rich_help_panel=HOW)]
Out = Annotated[
    str | None, typer.Option(help="The folder to write (usually a new one).", rich_help_panel=OUTPUT)
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would reveal and cost.", rich_help_panel=OUTPUT)
]
Json = Annotated[bool, typer.Option("--json", help="For machines.", rich_help_panel=OUTPUT)]

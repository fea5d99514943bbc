"""`discreet prep`: bring the rows of each person together."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal

__all__ = ["prep"]


def prep(
    data: Annotated[list[str], typer.Argument(help="Parquet or CSV files: paths, a 'glob*', or a folder.")],
    person: Annotated[str, typer.Option(help="The column that says whose row it is.")],
    out: Annotated[str, typer.Option(help="A new or empty folder.")],
    columns: Annotated[str | None, typer.Option(help="The columns to keep; by default all.")] = None,
    buckets: Annotated[int | None, typer.Option(help="How many files; by default by size.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Bring the rows of each person together, so that large files can be fitted per person.

    The result is a copy of the data, for the curator alone. For example:

      discreet prep 'raw/*.parquet' --person user --out by-user
    """
    from discreet.jobs import prepare_people

    kept = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    done = prepare_people(data, person, out, buckets=buckets, columns=kept)
    if json:
        plain = {"out": str(done.out), "person": done.person, "columns": list(done.columns)}
        terminal.print_json({**plain, "buckets": done.buckets, "hash": done.hash, "files": list(done.files)})
        return
    terminal.line(f"Written: {done.buckets} files by {done.person} in {done.out}", "bold")
    terminal.line("They hold the rows themselves: keep them as you keep the data.")
    terminal.line(f"\nFit them with: discreet fit mixture {done.out} --person {done.person} ...", "dim")

"""What commands print: results on the standard output, progress and trouble beside it.

Names of columns, files and data sets are always printed as they are, never as markup.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.option import in_options

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from rich.console import Console, RenderableType
    from rich.text import Text

    from discreet.errors import DiscreetError

__all__ = [
    "clean",
    "console",
    "files",
    "follow",
    "follow_stages",
    "heading",
    "line",
    "print_json",
    "promise",
    "refuse",
    "table",
    "warn",
]


def console(stderr: bool = False) -> Console:
    """A console on the standard output or beside it; without a terminal, lines are as long as they are."""
    from rich.console import Console

    wide = None if (sys.stderr if stderr else sys.stdout).isatty() else 100
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=wide)


def clean(text: str) -> str:
    """The text without control characters: names in files and results come from strangers."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def print_json(plain: dict[str, Any]) -> None:
    """One JSON object."""
    typer.echo(json.dumps(plain, indent=2, allow_nan=False))


def heading(text: str) -> None:
    """A title, after an empty line."""
    console().print(f"\n{clean(text)}", style="bold")


def line(text: str | Text, style: str = "") -> None:
    """Some words, wrapped at the edge of the terminal."""
    shown = clean(text) if isinstance(text, str) else text
    console().print(shown, style=style, soft_wrap=not sys.stdout.isatty())


def promise(words: str, private: bool) -> None:
    """A guarantee in plain words, each part under its own name; in red if nothing is promised."""
    from rich.panel import Panel
    from rich.text import Text

    parts = [clean(part) for part in words.splitlines() if not part.startswith("Noise")]
    text = Text()
    for index, part in enumerate(parts):
        name, colon, rest = part.partition(": ")
        text.append(("\n" if index else "") + name + colon, style="bold")
        text.append(rest)
    title = "What is promised" if private else "NOT PRIVATE"
    console().print(
        Panel(text, title=title, title_align="left", border_style="green" if private else "bold red")
    )


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[RenderableType]]) -> None:
    """A table; each column is a name and either "left" or "right"."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, side in columns:
        grid.add_column(clean(name), justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(clean(cell) if isinstance(cell, str) else cell for cell in row))
    console().print(grid)


def files(folder: str, named: Sequence[tuple[str, str]]) -> None:
    """What lies in a folder: names, and what each is."""
    from rich.text import Text

    line(Text(folder, style="bold"))
    widest = max(len(name) for name, _ in named)
    for name, what in named:
        line(Text.assemble("  ", (f"{name:<{widest}}", "cyan"), "  ", what))


def refuse(error: DiscreetError) -> None:
    """One red panel: what happened, what was got, what was wanted, and how to go on."""
    from rich.text import Text

    text = Text(clean(_sentence(in_options(error.what))), style="bold")
    wanted = in_options(error.wanted) or None
    for name, value in (("got", error.got), ("wanted", wanted)):
        if value is not None:
            text.append(f"\n{name + ':':<8}", style="dim not bold")
            text.append(clean(str(value)), style="not bold")
    if error.remedy:
        text.append(f"\n\n{clean(in_options(error.remedy))}", style="not bold")
    _panel(type(error).__name__, text)


def warn(title: str, words: str) -> None:
    """One red panel with some words."""
    from rich.text import Text

    _panel(title, Text(words))


@contextmanager
def follow(what: str, quiet: bool = False) -> Generator[Callable[[int, int], None]]:
    """A progress bar beside the output, only in a terminal; hands over what to call with (done, all)."""
    with follow_stages(quiet, first=f"{what}: reading the rows") as tell:
        yield lambda done, rounds: tell(what, done, rounds)


@contextmanager
def follow_stages(quiet: bool = False, first: str = "") -> Generator[Callable[[str, int, int], None]]:
    """The same for work in several stages: to be called with (stage, done, all)."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[at]}"))
    with Progress(*parts, TimeElapsedColumn(), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None, at="")

        def tell(stage: str, done: int, rounds: int) -> None:
            at = f"round {done} of {rounds}" if rounds > 1 else ""
            bar.update(task, description=stage, completed=done, total=rounds, at=at)

        yield tell


def _silent(stage: str, done: int, rounds: int) -> None:
    pass


def _sentence(text: str) -> str:
    """With a capital, unless it begins with the name of a file or an option, and a full stop."""
    first = text.partition(" ")[0].rstrip(",:")
    return (text[:1].upper() + text[1:] if first.isalpha() else text) + "."


def _panel(title: str, text: Text) -> None:
    from rich.panel import Panel

    console(stderr=True).print(Panel(text, title=title, title_align="left", border_style="red"))

"""What a fit tells in a terminal: beforehand in a dry run, and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli import terminal
from discreet.cli.shown import balance, bought

if TYPE_CHECKING:
    from discreet.jobs import Preview, Result

__all__ = ["foresee", "report"]


def foresee(seen: Preview) -> None:
    """What a run would promise, buy and leave."""
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


def report(result: Result, tensors: str) -> None:
    """What a run promised, wrote and left; ``tensors`` says what the model is made of."""
    guarantee = result.paper.guarantee
    terminal.promise(guarantee.words(), guarantee.private)
    terminal.line(result.paper.sentence)
    terminal.heading("Written")
    about = {
        "model.safetensors": tensors,
        "model.json": "what they are, and the guarantee",
        "receipt.json": "what was asked, charged and used",
        "MODEL_CARD.md": "the same for people",
        "network.bif": "the same tables, for other programs",
        "report.html": "pictures and papers: open it in a browser",
    }
    terminal.files(str(result.out), [(name, about.get(name, "")) for name in result.files])
    if result.left is not None:
        terminal.heading("Left in the ledger")
        balance(result.left)
    terminal.line(f"\nLook at it with: discreet show {result.out}", "dim")

"""How a service, its log and its answers look in a terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["asked", "counted", "log", "opened", "words"]

_PERIODS = {3600.0: "an hour", 86400.0: "a day", 604800.0: "a week"}


def opened(service: Any, as_json: bool) -> None:
    """A service has begun."""
    if as_json:
        _line({"event": "open", **service.to_dict()})
        return
    plain = service.to_dict()
    terminal.line(f"Answering at {plain['place']} for {', '.join(plain['clients'])}.", "bold")
    limit = "no limit of answers" if plain["limit"] is None else f"{plain['limit']} answers a client"
    if plain["seconds"]:
        limit += " " + _PERIODS.get(plain["seconds"], f"in {plain['seconds']:g} s")
    terminal.line(
        f"{plain['words']} words, recordings of up to {plain['longest'] / 100:g} s, whose lengths we see in "
        f"steps of {plain['padding'] / 100:g} s; {limit}"
    )
    terminal.line(f"counted in {plain['answers']}, receipts in {plain['receipts']}", "dim")
    if plain["limit"] is None:
        terminal.line("Who asks without end can learn the models: --limit sets one.", "yellow")


def log(note: Any, as_json: bool) -> None:
    """One line of the log."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if as_json:
        sizes = {name: size if isinstance(size, int) else list(size) for name, size in note.sizes.items()}
        _line({"event": "visit", "time": now, **vars(note), "sizes": sizes})
    else:
        terminal.line(f"{now[11:19]} {note.words()}")


def words(done: Any) -> None:
    """The words of recordings, what it took phase by phase, and what each side knows now."""
    plain = done.to_dict()
    rows = [[file.name, word] for file, word in zip(done.files, done.answer.words, strict=True)]
    terminal.table([("recording", "left"), ("word", "left")], rows)
    phases = [(name, one["seconds"], one["bytes"]) for name, one in plain["phases"].items()]
    _phases([*phases, ("together", plain["seconds"], plain["bytes"])])
    for role, learned in plain["learned"].items():
        terminal.line(f"The owner of the {'recordings' if role == 'data' else 'models'} learned: {learned}")
    shown = ", ".join(
        f"{batch.recordings} of {batch.lengths} frames" for batch in done.answer.question.batches
    )
    terminal.line(f"The owner of the models saw how many recordings there are, and their lengths: {shown}.")
    if plain["receipt"]:
        terminal.line(f"\nLook at it with: discreet show {plain['receipt']}", "dim")


def asked(paper: Any) -> None:
    """The receipt of a question: what each side learned and saw, and what it took."""
    offer, receipt = paper.question.offer, paper.receipt
    terminal.heading(f"A question about {paper.asked}, as the owner of the {paper.name} saw it")
    terminal.line(f"{offer.count} words; started {receipt.started[:19].replace('T', ' ')} UTC")
    phases = [(phase.name, phase.seconds, phase.sent + phase.received) for phase in paper.phases]
    _phases([*phases, ("together", receipt.seconds, paper.size)])
    for name, learned in paper.learned.items():
        terminal.line(f"The owner of the {name} learned: {learned}")
    terminal.line(
        f"The owner of the models saw how many recordings there are, and their lengths: {paper.seen}."
    )
    terminal.line(f"plan {receipt.plan.digest()}\nrun  {receipt.session}", "dim")


def counted(tallies: Sequence[Any]) -> None:
    """Who has had how many answers."""
    if not tallies:
        terminal.line("Nobody has had an answer yet.")
        return
    rows = [
        [
            one.name or "unknown",
            one.tally.client[:16],
            one.tally.model[:16],
            str(one.tally.answers),
            str(one.tally.charges),
            one.tally.last[:16].replace("T", " "),
        ]
        for one in tallies
    ]
    names = ("client", "fingerprint", "model", "answers", "questions", "last")
    columns = [(name, "right" if name in ("answers", "questions") else "left") for name in names]
    terminal.table(columns, rows)


def _phases(rows: Sequence[tuple[str, float, int]]) -> None:
    shown = [[name, f"{seconds:.2f}", f"{size / 1e6:.2f}"] for name, seconds, size in rows]
    terminal.table([("phase", "left"), ("seconds", "right"), ("MB", "right")], shown)


def _line(plain: dict[str, Any]) -> None:
    """One JSON object on one line, at once: somebody may be following."""
    typer.echo(json.dumps(plain, allow_nan=False))

"""How budgets, releases and components look in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["balance", "bar", "bought", "components", "nodes", "states", "words"]

_WIDE = 24


def bar(part: float, wide: int = _WIDE, empty: str = " ") -> Any:
    """A bar of a part between 0 and 1; it can be read without colours."""
    from rich.text import Text

    full = min(wide, math.ceil(part * wide - 1e-9))
    return Text.assemble(("█" * full, "cyan"), (empty * (wide - full), "bright_black"))


def balance(left: Any, when: str = "") -> None:
    """A budget on two lines: a bar of what is gone, and the room that is left."""
    from rich.text import Text

    runs = "run" if left.runs == 1 else "runs"
    words = f" {left.share:.1%} spent in {left.runs} {runs}, room for epsilon {left.epsilon_left:.4g}"
    terminal.line(Text.assemble((f"{when:<6}" if when else ""), bar(left.share, empty="░"), words))
    if when != "after":
        terminal.line(
            f"{left.dataset}, per {left.unit}: epsilon {left.epsilon:g}, delta {left.delta:g} in all", "dim"
        )


def bought(purchases: Sequence[Any], guarantee: Any) -> None:
    """What each release costs and how precise it is."""
    whole = guarantee.unit == "person" and guarantee.rows_per_person == 1
    whose = "people" if whole else f"{guarantee.piece}s"
    most = max(purchase.share for purchase in purchases)
    rows = [
        (
            purchase.label + (f" × {purchase.count}" if purchase.count > 1 else ""),
            bar(purchase.share / most, 16),
            f"{purchase.share:.1%}",
            f"× {purchase.noise:.3g}",
            ""
            if purchase.error is None
            else f"± {purchase.error:.2g} {whose}"
            if purchase.error < 100
            else f"± {purchase.error:,.0f} {whose}",
        )
        for purchase in purchases
    ]
    columns = [("release", "left"), ("part of the budget", "left"), ("", "right"), ("noise", "right")]
    terminal.table([*columns, ("error of a count", "right")], rows)


def states(paper: Any, most: int = 30) -> None:
    """The states in their order: how much time is spent there, what follows, and what they emit."""
    from rich.text import Text

    heaviest, points = float(paper.shares.max()), paper.places
    single = points is not None and len(points.mixture.weights) == paper.states
    names = paper.columns[:4] if single else ()
    rows: list[list[Any]] = []
    for state in range(min(most, paper.states)):
        share = float(paper.shares[state])
        cells: list[Any] = [str(state), bar(share / heaviest, 12), f"{share:.1%}"]
        cells += [f"{paper.start[state]:.1%}", f"{paper.transition[state, state]:.1%}", paper.next(state)]
        if points is None:
            cells.append(paper.emitted(state, 4))
        elif single:
            spread = points.deviations(state)
            cells += [
                f"{points.show(float(points.mixture.means[state, at]), at)} ± {float(spread[at]):.2g}"
                for at in range(len(names))
            ]
        rows.append(cells)
    columns = [("state", "right"), ("share of steps", "left"), ("", "right"), ("start", "right")]
    columns += [("stays", "right"), ("then to", "left")]
    columns += [("emits most", "left")] if points is None else [(Text(name).plain, "right") for name in names]
    terminal.table(columns, rows)
    if paper.states > most:
        terminal.line(f"and {paper.states - most} more states (--json has all)", "dim")


def words(paper: Any, most: int = 40) -> None:
    """The words: how long they last, and which is most like them."""
    rows: list[list[Any]] = []
    for number, word in enumerate(paper.vocabulary.words[:most]):
        near = paper.nearest(number)
        other = "" if near is None else paper.vocabulary.words[near]
        apart = "" if near is None else f"{float(paper.distances[number, near]):.3g}"
        rows.append([str(number), word, str(paper.lengths[number]), other, apart])
    columns = [("no.", "right"), ("word", "left"), ("frames", "right"), ("most like", "left")]
    terminal.table([*columns, ("behind by, nats a frame", "right")], rows)
    if len(paper.vocabulary.words) > most:
        terminal.line(f"and {len(paper.vocabulary.words) - most} more words (--json has all)", "dim")


def components(paper: Any, most: int = 30) -> None:
    """The components from the heaviest to the lightest: weight, and mean ± deviation of every column."""
    from rich.text import Text

    names = paper.columns[:6]
    heaviest = float(paper.mixture.weights.max())
    rows: list[list[Any]] = []
    for k in map(int, paper.order[:most]):
        weight, spread = float(paper.mixture.weights[k]), paper.deviations(k)
        cells = [
            f"{paper.show(float(paper.mixture.means[k, index]), index)} ± {float(spread[index]):.2g}"
            for index in range(len(names))
        ]
        rows.append([str(k), bar(weight / heaviest, 12), f"{weight:.2%}", *cells])
    named = [(Text(name).plain, "right") for name in names]
    terminal.table([("no.", "right"), ("weight", "left"), ("", "right"), *named], rows)
    hidden = len(paper.order) - min(most, len(paper.order))
    if hidden:
        terminal.line(f"and {hidden} lighter components", "dim")
    if len(paper.columns) > len(names):
        terminal.line(f"and {len(paper.columns) - len(names)} more columns (--json has all)", "dim")


def nodes(paper: Any, most: int = 60) -> None:
    """The nodes in their order: parents, and the likeliest states."""
    from rich.text import Text

    structure = paper.network.structure
    rows = [
        [Text(node), Text(", ".join(structure.parents[node])), Text(paper.shown(node, 3))]
        for node in structure.nodes[:most]
    ]
    terminal.table([("node", "left"), ("parents", "left"), ("likeliest states", "left")], rows)
    if len(structure.nodes) > most:
        terminal.line(f"and {len(structure.nodes) - most} more nodes (--json has all)", "dim")

"""What a joint network will reveal and cost, told before anything runs and before any table is read.

Words, budget and bytes follow from the plan: they are those of the run. Seconds and memory are estimates:
their constants were measured with all parties on one machine of two cores (`benchmarks/join.py`), where
nothing waits for a line. Between organisations add the bytes over the speed of the line, and a delay for
every round.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.join.layout import Layout
from discreet.join.promise import guarantee
from discreet.join.traffic import announced, node_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.accounting.guarantee import Guarantee
    from discreet.join.plan import JoinPlan

__all__ = ["ASSUMED_IDS", "Cost", "cost"]

ASSUMED_IDS = 100_000
"""How many ids each holder is thought to have, if rows are matched and nothing else is said."""

_START, _EACH = 0.3, 0.2
_BYTE = {"helper": 4.5e-9, "transfer": 6.5e-9, "lattice": 50e-9, "three": 5.5e-9}
_CELL = 0.5e-9
_ID = 1.3e-4
_DRAWING, _GATE = 0.15, 5e-7
_OWN_ROUNDS = 5
_PROCESS = 130 << 20
_COPIES = 4


@dataclass(frozen=True)
class Cost:
    """Who learns what, the promise, and what moves: ``bytes`` by phase and by (sender, receiver).

    ``rows`` is what bytes, seconds and memory are for; ``assumed`` says that the plan does not fix it.
    ``nodes`` has the bytes of each crossing family alone, beside the paper's formula.
    """

    plan: JoinPlan
    learns: Mapping[str, str]
    guarantee: Guarantee
    rows: int
    assumed: bool
    phases: Mapping[str, Mapping[tuple[str, str], int]]
    nodes: Mapping[str, Mapping[str, int]]
    rounds: int
    seconds: float
    memory: int

    @property
    def pairs(self) -> dict[tuple[str, str], int]:
        """Bytes from each party to each other."""
        total: Counter[tuple[str, str]] = Counter()
        for pairs in self.phases.values():
            total.update(pairs)
        return dict(sorted(total.items()))

    @property
    def bytes(self) -> int:
        """All bytes together."""
        return sum(self.pairs.values())

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.plan.name,
            "route": self.plan.kind,
            "learns": dict(self.learns),
            "receivers": list(self.plan.receivers),
            "payers": list(self.plan.payers),
            "guarantee": self.guarantee.to_dict(),
            "words": self.guarantee.words(),
            "rows": self.rows,
            "assumed": self.assumed,
            "bytes": self.bytes,
            "pairs": [[*pair, size] for pair, size in self.pairs.items()],
            "phases": {phase: sum(pairs.values()) for phase, pairs in self.phases.items()},
            "nodes": {node: dict(sizes) for node, sizes in self.nodes.items()},
            "rounds": self.rounds,
            "seconds": self.seconds,
            "memory": self.memory,
        }


def cost(plan: JoinPlan, rows: int | None = None) -> Cost:
    """What a plan reveals and costs; ``rows`` is how many ids each holder has, if rows are matched.

    **Reveals** nothing: no table is read and nobody is called. For matched rows bytes are the most there can
    be: all ids shared.
    """
    declared = plan.rows.count
    if declared is not None and rows not in (None, declared):
        raise ParameterError("the plan says how many rows there are", got=rows, wanted=str(declared))
    count = declared or (ASSUMED_IDS if rows is None else rows)
    if count < 1:
        raise ParameterError("there is at least one row", got=rows, wanted=">= 1")
    layout = Layout(plan)
    return Cost(
        plan=plan,
        learns=plan.learns,
        guarantee=guarantee(plan),
        rows=count,
        assumed=declared is None and rows is None,
        phases=announced(plan, count),
        nodes=node_bytes(plan, count),
        rounds=_rounds(layout, count),
        seconds=_seconds(layout, count),
        memory=_memory(layout, count),
    )


def _rounds(layout: Layout, rows: int) -> int:
    """Messages that wait for one another, one after the other."""
    rounds = _OWN_ROUNDS
    if layout.plan.rows.id is not None:
        from discreet.protocols.match import Match

        rounds += Match(layout.plan.holders, (rows,) * len(layout.plan.holders)).rounds()
    if layout.crossing:
        rounds += layout.sharing(rows).rounds()
        if layout.law is not None:
            rounds += layout.draw(rows).rounds()
    return rounds


def _seconds(layout: Layout, rows: int) -> float:
    """An estimate: start, ids, products, noise."""
    plan, seconds = layout.plan, _START + _EACH * len(layout.plan.parties)
    if plan.rows.id is not None:
        seconds += _ID * rows * (len(plan.holders) - 1)
    if layout.crossing:
        sizes = sum(layout.sharing(rows).bytes().values())
        seconds += _BYTE[plan.kind] * sizes + _CELL * rows * layout.cells
        if layout.law is not None:
            draw = layout.draw(rows)
            seconds += _DRAWING + _GATE * draw.ands * draw.cells
    return seconds


def _memory(layout: Layout, rows: int) -> int:
    """An estimate of the most that one process takes: itself, some copies of its codes, its pieces."""
    from discreet.models.network import code_type

    card = layout.structure.card
    held = dict.fromkeys(layout.plan.holders, 0)
    for name in held:
        held[name] += _COPIES * sum(code_type(card(one)).itemsize for one in layout.plan.columns_of(name))
    for piece in layout.pieces:
        held[piece.holder] += math.ceil(layout.size(piece).bit_length() / 8)
    return _PROCESS + rows * max(held.values())

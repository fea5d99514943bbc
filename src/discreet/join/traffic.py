"""How many bytes a joint network moves: announced before a run, counted after it, beside the paper's formula.

Announced are the contents of all messages, exactly, and some bytes for the frames of small ones. The formula
of the paper (Meng, Sivakumar and Kargupta 2004, section 3.3) is m 2**n bits for m rows and a node in a family
of n binary columns; with more states, m bits a cell of its table.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.join.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.join.plan import JoinPlan
    from discreet.session.receipt import Receipt

__all__ = ["announced", "compared", "node_bytes"]

Pair = tuple[str, str]

_FRAME = 48
"""What a frame adds to its content, about: two lengths, a number, a name, dtypes and shapes."""

_SEED = 32
_WORD = 8


def announced(
    plan: JoinPlan, rows: int, sizes: Mapping[str, int] | None = None
) -> dict[str, dict[Pair, int]]:
    """Bytes by phase and by (sender, receiver), for so many shared rows, and so many ids of each holder."""
    layout = Layout(plan)
    phases: dict[str, dict[Pair, int]] = {"join": _own(layout)}
    if plan.rows.id is not None:
        from discreet.protocols.match import Match

        held = sizes or dict.fromkeys(plan.holders, rows)
        phases["match"] = Match(plan.holders, tuple(held[name] for name in plan.holders)).bytes()
    if layout.crossing:
        phases["families"] = layout.sharing(rows).bytes()
        if layout.law is not None:
            phases["noise"] = layout.draw(rows).bytes()
    return phases


def node_bytes(plan: JoinPlan, rows: int) -> dict[str, dict[str, int]]:
    """For every crossing node: the bytes of its family if it were alone, and those of the paper's formula."""
    layout = Layout(plan)
    found: dict[str, dict[str, int]] = {}
    for node in layout.crossing:
        whole = layout.sharing(rows)
        family = whole.families[layout.crossing.index(node)]
        alone = replace(
            whole,
            vectors=tuple(whole.vectors[index] for index in family),
            families=(tuple(range(len(family))),),
        )
        cells = math.prod(layout.structure.shape(node))
        found[node] = {"bytes": sum(alone.bytes().values()), "paper": rows * cells // 8}
    return found


def compared(
    plan: JoinPlan, name: str, receipt: Receipt, rows: int, sizes: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What one party sent and received, beside what was announced; and the bytes of every crossing node."""
    total: Counter[Pair] = Counter()
    for pairs in announced(plan, rows, sizes).values():
        total.update(pairs)
    peers: dict[str, dict[str, int]] = {}
    for peer, meter in receipt.peers.items():
        count = meter.total()
        peers[peer] = {
            "sent": count.sent,
            "sent_announced": total[name, peer],
            "received": count.received,
            "received_announced": total[peer, name],
        }
    return {"peers": peers, "nodes": node_bytes(plan, rows)}


def _own(layout: Layout) -> dict[Pair, int]:
    """The messages of this job itself: rows, payment, the end, the result."""
    from discreet.join.opening import Opening

    plan, total = layout.plan, Counter[Pair]()
    openers = Opening("", layout, 1).openers
    for one in plan.holders:
        for other in plan.holders:
            if one != other:
                total[one, other] += _FRAME + _WORD + (_FRAME if one in plan.payers else 0)
        for other in layout.onlookers:
            total[one, other] += _FRAME + _WORD
    for one in openers:
        for other in openers:
            if one != other:
                both = one in layout.keepers and other in layout.keepers
                total[one, other] += _FRAME + (_SEED if both else 0)
        for receiver in plan.receivers:
            if receiver != one:
                words = layout.structure.cells(layout.local_of(one)) if one in plan.holders else 0
                words += layout.cells if one in layout.keepers else 0
                total[one, receiver] += 2 * _FRAME + _WORD * words
    return dict(total)

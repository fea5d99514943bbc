"""What a party keeps of a run: the plan, who took part, what was moved, and what it learned."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.wire.meter import Count, Meter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.session.plan import Plan

__all__ = ["Receipt"]


@dataclass(frozen=True)
class Receipt:
    """One party's receipt of a finished run. It holds no private value and no output.

    ``session`` is the same for all parties of one run and for no other run. ``peers`` has bytes, messages,
    rounds and seconds by peer and phase; ``left`` names those who went away, where the plan allows it.

    **Reveals** the plan, the parties, and sizes and times of messages.
    """

    plan: Plan
    role: str
    parties: Mapping[str, str]
    session: str
    versions: Mapping[str, str]
    started: str
    seconds: float
    peers: Mapping[str, Meter]
    left: tuple[str, ...] = ()

    @property
    def learned(self) -> str:
        """What this party learned, as the plan says."""
        return self.plan.learns[self.role]

    @property
    def total(self) -> Count:
        """All peers and phases together."""
        whole = Meter()
        for name, meter in self.peers.items():
            whole.phases[name] = meter.total()
        return whole.total()

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data."""
        return {
            "kind": "a run between parties",
            "plan": self.plan.to_dict(),
            "digest": self.plan.digest(),
            "role": self.role,
            "learned": self.learned,
            "parties": dict(self.parties),
            "session": self.session,
            "versions": dict(self.versions),
            "left": list(self.left),
            "started": self.started,
            "seconds": self.seconds,
            "peers": {name: meter.to_dict() for name, meter in self.peers.items()},
            "total": asdict(self.total),
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Receipt:
        """A receipt from plain data."""
        from discreet.session.plan import Plan

        peers = {
            name: Meter({phase: Count(**count) for phase, count in phases.items()})
            for name, phases in plain["peers"].items()
        }
        kept = {key: plain[key] for key in ("role", "parties", "session", "versions", "started", "seconds")}
        return Receipt(plan=Plan.of(plain["plan"]), peers=peers, left=tuple(plain["left"]), **kept)

    def save(self, path: Path) -> None:
        """Write it as JSON: complete or not at all."""
        draft = path.with_name(path.name + ".part")
        with draft.open("w") as file:
            json.dump(self.to_dict(), file, indent=2, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def words(self) -> str:
        """A few lines for people."""
        lines = [
            f"{self.plan.protocol}, version {self.plan.version}, as {self.role!r}",
            f"learned: {self.learned}",
            f"plan {self.plan.digest()[:16]}, session {self.session[:16]}",
        ]
        for name, meter in self.peers.items():
            whole = meter.total()
            lines.append(
                f"with {name!r}: {whole.sent} bytes sent, {whole.received} received, {whole.rounds} rounds"
            )
        if self.left:
            lines.append(f"left before the end: {', '.join(self.left)}")
        return "\n".join(lines)

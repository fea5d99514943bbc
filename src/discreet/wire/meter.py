"""What a run moved and how long it took, phase by phase."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Count", "Meter"]


@dataclass
class Count:
    """One phase: bytes of frames in both directions, messages, rounds, and seconds worked and waited.

    A round is a run of messages in one direction. Bytes are those of frames with their headers; TLS adds
    22 bytes to every 16 KiB.
    """

    sent: int = 0
    received: int = 0
    messages: int = 0
    rounds: int = 0
    worked: float = 0.0
    waited: float = 0.0


@dataclass
class Meter:
    """The counts of all phases with one peer, in the order in which the phases began."""

    phases: dict[str, Count] = field(default_factory=dict[str, Count])
    _last: Literal["sent", "received"] | None = field(default=None, compare=False, repr=False)

    def phase(self, name: str) -> Count:
        """The count of a phase."""
        return self.phases.setdefault(name, Count())

    def note(self, phase: str, way: Literal["sent", "received"], size: int) -> None:
        """Count one message."""
        count = self.phase(phase)
        count.messages += 1
        count.rounds += way != self._last
        setattr(count, way, getattr(count, way) + size)
        self._last = way

    def total(self) -> Count:
        """All phases together."""
        whole = Count()
        for count in self.phases.values():
            for name, value in asdict(count).items():
                setattr(whole, name, getattr(whole, name) + value)
        return whole

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain counts by phase."""
        return {name: asdict(count) for name, count in self.phases.items()}

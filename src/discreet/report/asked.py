"""What is shown of an asked question: who learned what, and what was sent and waited for, phase by phase."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.report.join import Flow

if TYPE_CHECKING:
    from discreet.ask.offer import Question
    from discreet.session.receipt import Receipt

__all__ = ["AskedPaper", "Phase"]

_NAMES = {"data": "recordings", "model": "models"}
_WHAT = {
    "request": "the question: how many recordings, and their padded lengths",
    "ahead": "all that needs no recording: transfers of random choices, the garbled circuit",
    "transfer": "oblivious transfers, by which bits of the recordings choose inputs of the circuit",
    "scores": "features go out encrypted, and come back as scores under a mask",
    "gates": "the garbled circuit: every word's recursion, and which word is likeliest",
    "labels": "inputs of the circuit, for choices that were made at random before",
    "open": "what is left of the circuit, and the word, for those whom the question names",
}


@dataclass(frozen=True)
class Phase:
    """One phase as one party saw it: seconds of its own work, seconds of waiting, bytes both ways."""

    name: str
    what: str
    worked: float
    waited: float
    sent: int
    received: int

    @property
    def seconds(self) -> float:
        """Work and waiting."""
        return self.worked + self.waited


@dataclass(frozen=True)
class AskedPaper:
    """Everything that one party's report of a question may show: its receipt, and the question in it.

    **Reveals** the plan, the parties, and sizes and times of messages; no word and no score.
    """

    receipt: Receipt
    question: Question

    @property
    def name(self) -> str:
        """Whose report this is: the owner of the recordings or of the models."""
        return _NAMES[self.receipt.role]

    @property
    def parties(self) -> tuple[str, ...]:
        """Both, by what they own."""
        return tuple(_NAMES.values())

    @property
    def helped(self) -> bool:
        """No third party helps."""
        return False

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What each sent to the other, as it was counted."""
        ((peer, meter),) = self.receipt.peers.items()
        whole = meter.total()
        other = _NAMES[peer]
        return (
            Flow(self.name, other, whole.sent, whole.sent),
            Flow(other, self.name, whole.received, whole.received),
        )

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases in their order."""
        ((_, meter),) = self.receipt.peers.items()
        return tuple(
            Phase(name, _WHAT.get(name, ""), count.worked, count.waited, count.sent, count.received)
            for name, count in meter.phases.items()
        )

    @property
    def size(self) -> int:
        """Bytes both ways."""
        return sum(flow.size for flow in self.flows)

    @property
    def learned(self) -> dict[str, str]:
        """What each learned, by what it owns."""
        return {_NAMES[role]: what for role, what in self.receipt.plan.learns.items()}

    @property
    def seen(self) -> str:
        """What the owner of the models saw of the recordings: how many, and their padded lengths."""
        return ", ".join(f"{batch.recordings} of {batch.lengths} frames" for batch in self.question.batches)

    @property
    def asked(self) -> str:
        """How many recordings."""
        count = self.question.recordings
        return f"{count} recording{'' if count == 1 else 's'}"

    def told(self, name: str) -> str:
        """What the owner of something learns."""
        return f"their owner learns {self.learned[name].partition(' of ')[0]}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "as": self.name,
            "recordings": self.question.recordings,
            "learned": self.learned,
            "models_saw": self.seen,
            "seconds": self.receipt.seconds,
            "bytes": self.size,
            "phases": {phase.name: asdict(phase) for phase in self.phases},
            "receipt": self.receipt.to_dict(),
        }

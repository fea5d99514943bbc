"""What the parties agree to run, word for word, before any private byte is sent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.errors import ParameterError, PlanError
from discreet.wire.channel import WIRE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Plan", "digest"]


@dataclass(frozen=True)
class Plan:
    """A protocol, its version, the parameters all parties share, and what each role will learn.

    ``agreed`` is plain data: numbers, texts, lists and dicts. ``learns`` says for every role, in words, what
    it will know afterwards; its keys are the roles. ``model`` is the digest of a model that the run uses, if
    the parties know it. ``may_leave`` are roles whose loss the others survive: whoever waits for one that has
    gone gets a `PeerError` thrown into its role, which may go on without it, and what is sent to it is
    dropped. The loss of any other role ends the run. Who waits for such roles needs a shorter time-out than
    those who wait for it.

    **Reveals** itself to all parties, and its digest to whoever reads a receipt. A digest lets anybody test
    guesses of what it was made from: a model that must not be guessed needs a secret salt in its digest.
    """

    protocol: str
    version: int
    agreed: Mapping[str, Any]
    learns: Mapping[str, str]
    model: str = ""
    may_leave: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.learns) < 2:
            raise ParameterError(
                "a plan needs two roles", got=list(self.learns), wanted="what each role learns"
            )
        object.__setattr__(self, "may_leave", tuple(self.may_leave))
        if not set(self.may_leave) < set(self.learns):
            raise ParameterError(
                "not all roles may leave, and only roles", got=self.may_leave, wanted=str(sorted(self.learns))
            )
        try:
            plain = json.loads(_canonical(dict(self.agreed)))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                "what is agreed must be plain data", wanted="finite numbers, texts, lists and dicts"
            ) from error
        if plain != dict(self.agreed):
            raise ParameterError(
                "what is agreed must be plain data", wanted="lists for tuples, texts for keys"
            )
        object.__setattr__(self, "agreed", plain)

    def digest(self) -> str:
        """SHA-256 of everything in the plan."""
        return digest(self.to_dict())

    def greeting(self, parties: Mapping[str, str]) -> dict[str, str]:
        """What every party says first; it must be the same for all."""
        return {
            "version of discreet": __version__,
            "version of the wire": str(WIRE),
            "protocol": digest([self.protocol, self.version]),
            "model": digest(self.model),
            "parties": digest(dict(parties)),
            "plan": self.digest(),
        }

    def compare(self, ours: Mapping[str, str], theirs: Mapping[str, str], name: str) -> None:
        """Refuse a party that wants to run something else.

        Raises `PlanError`, naming what differs.
        """
        differing = [word for word, value in ours.items() if theirs.get(word) != value]
        if differing:
            raise PlanError(
                f"{name!r} and we do not agree",
                got="another " + ", another ".join(differing),
                wanted=f"plan {ours['plan'][:16]}",
                remedy="Compare the plans, versions and cards of both sides. Nothing private was sent.",
            )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "protocol": self.protocol,
            "version": self.version,
            "agreed": dict(self.agreed),
            "learns": dict(self.learns),
            "model": self.model,
            "may_leave": list(self.may_leave),
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Plan:
        """A plan from plain data."""
        return Plan(**plain)


def digest(plain: Any) -> str:
    """SHA-256 of plain data, written in the one canonical way."""
    return hashlib.sha256(_canonical(plain).encode()).hexdigest()


def _canonical(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

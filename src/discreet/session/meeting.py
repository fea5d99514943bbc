"""Run one role: agree, carry its messages, finish together, or stop together.

1. Every party says what it wants to run and with whom (digests of plan, versions, model, parties). If
   anything differs, all stop before the role has been started: no private byte has been touched.
2. The role's messages are carried. Each must be the one that is due, in the form that is due, in time.
3. Every party says that it is finished, waits for the others to say so, tells them that it has heard, and
   waits for that. Only then is the output handed out. (Somebody's very last word can always be lost, and
   then that party alone believes that all is well: no protocol can help it.)

A party that the plan allows to leave may be lost on the way: the role that waits for it gets a `PeerError`
thrown in, and decides. Whatever else goes wrong, the role is closed, the others are told that we give up (a
word from a fixed list, never a value), and an error says what happened. A run that fails has no output.

**Reveals** to the peers that we failed, and when. A role that fails because of a private value reveals that:
check inputs before a run.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from discreet import __version__
from discreet.errors import (
    DiscreetError,
    LateError,
    ParameterError,
    PartyError,
    PeerError,
    PlanError,
    ProtocolError,
)
from discreet.protocols.step import Receive, Record, Send, Transcript, arrays_of, phase_of
from discreet.randomness import secure
from discreet.session.receipt import Receipt
from discreet.wire.channel import SILENCE, WIRE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from discreet.protocols.step import Arrays, Steps
    from discreet.randomness import Bits
    from discreet.session.plan import Plan
    from discreet.wire.channel import Channel
    from discreet.wire.identity import Card, Identity
    from discreet.wire.tls import Listener, Place

__all__ = ["WHOLE", "Outcome", "Work", "run", "take_part"]

WHOLE = 3600.0
"""Seconds that a whole run may take, unless another time is agreed."""

_NONCE = 16


class Work(Protocol):
    """A role at work somewhere else, perhaps in another process (`discreet.session.worker`)."""

    async def advance(
        self, answer: Arrays | None, loss: PeerError | None
    ) -> tuple[Send | Receive | None, Any]:
        """What the role asks next; or None, and its output."""
        ...

    def close(self) -> None:
        """No more will be asked of it."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What a party has after a run: its output, its receipt and, if asked for, all it saw.

    **Reveals** the output to whoever reads it; the transcript holds the messages of both directions, as
    private as the party's own input.
    """

    output: Any
    receipt: Receipt
    transcript: Transcript | None

    def __repr__(self) -> str:
        return f"Outcome({self.receipt.plan.protocol!r} as {self.receipt.role!r})"


async def run(
    plan: Plan,
    role: str,
    steps: Steps[Any] | Work,
    channels: Mapping[str, Channel],
    *,
    fingerprint: str = "",
    whole: float = WHOLE,
    record: bool = False,
    bits: Bits | None = None,
) -> Outcome:
    """Run one role with the others, over channels that are already there; they are closed at the end.

    ``channels`` are by role, ``fingerprint`` is our own. The role is a generator that computes here, or
    `Work` that is done elsewhere. Raises `PlanError`, `ProtocolError`, `PeerError`, `LateError`, or what
    the role raises.
    """
    try:
        expected = set(plan.learns) - {role}
        if role not in plan.learns or set(channels) != expected:
            raise ParameterError(
                "the channels are not those of the plan",
                got=f"{role!r} with {sorted(channels)}",
                wanted=f"roles {sorted(plan.learns)}",
            )
        work = _Run(plan, role, channels, fingerprint, record)
        try:
            async with asyncio.timeout(whole):
                return await work.whole(
                    _Here(steps) if isinstance(steps, Generator) else steps, bits or secure()
                )
        except TimeoutError as error:
            if isinstance(error, LateError):
                raise
            raise LateError("the run took too long", wanted=f"at most {whole:g} seconds") from None
    except BaseException as error:
        await _stop(channels, _reason(error))
        raise
    finally:
        steps.close()


def take_part(
    plan: Plan,
    role: str,
    steps: Steps[Any],
    me: Identity,
    cards: Mapping[str, Card],
    places: Mapping[str, Place],
    *,
    listener: Listener | None = None,
    wait: float = 30.0,
    silence: float = SILENCE,
    whole: float = WHOLE,
    record: bool = False,
) -> Outcome:
    """Run one role over TLS with other organisations.

    ``cards`` hold the card of every role but ours, ``places`` where roles can be reached
    (`discreet.wire.tls.meet`). ``wait`` is for the others to come, ``silence`` for each message, ``whole``
    for the run, all in seconds.
    """

    async def attend() -> Outcome:
        from discreet.wire.tls import meet

        try:
            everyone = {role: me.card, **cards}
            channels = await meet(me, everyone, places, role, listener=listener, wait=wait, silence=silence)
        finally:
            if listener is not None:
                await listener.close()
        return await run(plan, role, steps, channels, fingerprint=me.fingerprint, whole=whole, record=record)

    try:
        return asyncio.run(attend())
    finally:
        steps.close()


class _Here:
    """A role that computes in the thread of the connection."""

    def __init__(self, steps: Steps[Any]) -> None:
        self._steps = steps
        self.close = steps.close

    async def advance(
        self, answer: Arrays | None, loss: PeerError | None
    ) -> tuple[Send | Receive | None, Any]:
        """Compute until the role asks for something, or has finished."""
        try:
            return (self._steps.send(answer) if loss is None else self._steps.throw(loss)), None
        except StopIteration as end:
            return None, end.value


class _Run:
    """One run of one role."""

    def __init__(
        self, plan: Plan, role: str, channels: Mapping[str, Channel], fingerprint: str, record: bool
    ) -> None:
        self.plan = plan
        self.role = role
        self.channels = dict(channels)
        self.parties = {role: fingerprint, **{name: one.fingerprint for name, one in channels.items()}}
        self.transcript = Transcript() if record else None
        self._clock = asyncio.get_running_loop().time
        self.left: list[str] = []

    async def whole(self, steps: Work, bits: Bits) -> Outcome:
        """Agree, carry, finish."""
        started, began = datetime.now(UTC), self._clock()
        session = await self._agree(bits)
        output = await self._carry(steps)
        await self._finish()
        receipt = Receipt(
            plan=self.plan,
            role=self.role,
            parties=self.parties,
            session=session,
            versions={"discreet": __version__, "wire": str(WIRE)},
            started=started.isoformat(timespec="seconds"),
            seconds=self._clock() - began,
            peers={name: channel.meter for name, channel in self.channels.items()},
            left=tuple(self.left),
        )
        return Outcome(output, receipt, self.transcript)

    async def _agree(self, bits: Bits) -> str:
        """Compare what everybody wants to run; a name for this run that nobody could choose alone."""
        ours = self.plan.greeting(self.parties)
        nonces = {self.role: bits.bytes(_NONCE).hex()}
        for channel in self.channels.values():
            channel.greet({**ours, "role": self.role, "nonce": nonces[self.role]})
        for name, channel in self.channels.items():
            theirs = await self._greeting(name, channel)
            self.plan.compare({**ours, "role": name}, theirs, name)
            nonces[name] = theirs.get("nonce", "")
            if len(nonces[name]) != 2 * _NONCE:
                raise ProtocolError("a greeting has no nonce", wanted=f"{_NONCE} bytes")
        told = [self.plan.digest(), *(f"{name}={nonces[name]}" for name in sorted(nonces))]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    async def _greeting(self, name: str, channel: Channel) -> dict[str, str]:
        try:
            return await channel.greeting()
        except PartyError as error:
            raise error.about(name) from error

    async def _carry(self, steps: Work) -> Any:
        """Let the role work until it returns."""
        answer: Arrays | None = None
        loss: PeerError | None = None
        while True:
            began = self._clock()
            asked, output = await steps.advance(answer, loss)
            if asked is None:
                return output
            worked = self._clock()
            name = self._peer(asked.peer)
            answer, loss = await self._exchange(name, asked)
            count = self.channels[name].meter.phase(phase_of(asked.name))
            count.worked += worked - began
            count.waited += self._clock() - worked

    async def _exchange(self, name: str, asked: Send | Receive) -> tuple[Arrays | None, PeerError | None]:
        """Do what the role asks; its answer, or the loss that it has to know of."""
        arrays = arrays_of(asked, copy=self.transcript is not None) if isinstance(asked, Send) else {}
        try:
            if name in self.left:
                raise PeerError(f"{name!r} has left")
            if isinstance(asked, Receive):
                return await self._receive(name, asked), None
            await self._send(name, asked.name, arrays)
        except PartyError as error:
            loss = await self._lose(name, error)
            return None, (loss if isinstance(asked, Receive) else None)
        return None, None

    async def _lose(self, name: str, error: PartyError) -> PeerError:
        """Go on without a party, if the plan says that it may leave; otherwise the error ends the run."""
        if name not in self.plan.may_leave:
            raise error.about(name) from error
        if name not in self.left:
            self.left.append(name)
            await self.channels[name].abort(_reason(error))
        return error if isinstance(error, PeerError) else PeerError(f"{name!r} had to leave")

    async def _send(self, name: str, message: str, arrays: Arrays) -> None:
        await self.channels[name].send(message, arrays, phase_of(message), self.channels.values())
        self._note(self.role, name, message, arrays)

    async def _receive(self, name: str, wish: Receive) -> Arrays:
        arrays = await self.channels[name].receive(wish, phase_of(wish.name))
        self._note(name, self.role, wish.name, arrays)
        return arrays

    async def _finish(self) -> None:
        """Hand out nothing before everybody has finished, and has heard it of everybody."""
        here = self._here
        for name in here():
            self.channels[name].finish()
        for name in here():
            await self._closing(name, self.channels[name].finished())
        for name in here():
            self.channels[name].confirm()
        for name in here():
            await self._closing(name, self.channels[name].confirmed())
        await asyncio.gather(*(self.channels[name].close() for name in here()))

    async def _closing(self, name: str, word: Awaitable[None]) -> None:
        try:
            await word
        except PartyError as error:
            await self._lose(name, error)

    def _here(self) -> list[str]:
        """Those who have not left."""
        return [name for name in self.channels if name not in self.left]

    def _note(self, sender: str, receiver: str, name: str, arrays: Arrays) -> None:
        if self.transcript is not None:
            self.transcript.records.append(Record(sender, receiver, name, arrays))

    def _peer(self, peer: str) -> str:
        if peer == "peer" and len(self.channels) == 1:
            return next(iter(self.channels))
        if peer not in self.channels:
            raise ProtocolError(
                "a role speaks of a party that is not there", got=peer, wanted=str(list(self.channels))
            )
        return peer


_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (PlanError, "it does not agree to the plan"),
    (ProtocolError, "a message was not what is due"),
    (LateError, "somebody did not answer in time"),
    (PeerError, "somebody went away"),
    (DiscreetError, "its role failed"),
    (Exception, "its role failed"),
)


def _reason(error: BaseException) -> str:
    """What the others are told: a word from a fixed list."""
    return next((word for kind, word in _REASONS if isinstance(error, kind)), "it was interrupted")


async def _stop(channels: Mapping[str, Channel], reason: str) -> None:
    await asyncio.gather(*(channel.abort(reason) for channel in channels.values()), return_exceptions=True)

"""A visit to a service: the client's side of `discreet.session.service`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.session import request
from discreet.session.meeting import WHOLE, Outcome, run
from discreet.wire.channel import SILENCE, Channel
from discreet.wire.tls import dial

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.protocols.step import Steps
    from discreet.session.plan import Plan
    from discreet.session.request import Sizes
    from discreet.wire.identity import Card, Identity
    from discreet.wire.tls import Place

__all__ = ["Wanted", "attend", "visit"]


@dataclass(frozen=True)
class Wanted:
    """A question to a service: its public sizes, and the plan and role with which we would run it."""

    question: str
    sizes: Sizes
    plan: Plan
    role: str
    steps: Steps[Any]


def visit(
    me: Identity,
    card: Card,
    place: Place,
    prepare: Callable[[dict[str, Any]], Wanted],
    *,
    wait: float = 30.0,
    silence: float = SILENCE,
    whole: float = WHOLE,
    record: bool = False,
) -> Outcome:
    """Ask a service one question: see its offer, ask, run our role.

    ``prepare`` gets the offer, which a stranger wrote, and checks it. **Reveals** to the service the question
    and its sizes before it has accepted them. Raises `RefusedError`, and what `discreet.session.run` raises.
    """

    async def go() -> Outcome:
        channel = Channel(await dial(me, card, place, wait=wait), silence=silence)
        return await attend(channel, prepare, me.fingerprint, whole=whole, record=record)

    return asyncio.run(go())


async def attend(
    channel: Channel,
    prepare: Callable[[dict[str, Any]], Wanted],
    fingerprint: str,
    *,
    whole: float = WHOLE,
    record: bool = False,
) -> Outcome:
    """The same over a channel that is there; it is closed at the end."""
    try:
        offer = await request.ask_for_offer(channel)
        wanted = prepare(offer)
        try:
            await request.ask(channel, wanted.question, wanted.sizes, offer)
            (host,) = set(wanted.plan.learns) - {wanted.role}
            return await run(
                wanted.plan,
                wanted.role,
                wanted.steps,
                {host: channel},
                fingerprint=fingerprint,
                whole=whole,
                record=record,
            )
        finally:
            wanted.steps.close()
    finally:
        await channel.close()

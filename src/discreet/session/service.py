"""A service: one party answers the questions of many clients, as long as it runs.

Every client is known by its card, as in any run. After the handshake it sends one small public request
(`discreet.session.request`); the service answers with its offer, an acceptance or a refusal. Then both run
their roles as in `discreet.session.run`: greeting, digests of the plan, messages, closing words. The role
of the service is computed by one of its workers (`discreet.session.crew`), so that no client waits for
another's arithmetic and a role that fails takes nothing with it.

Everything is bounded by `Limits`: strangers who shake hands, connections, connections of one client, requests
of one client in a minute, clients who wait for a worker, sessions at once, seconds of silence, seconds of a
session, memory of a session. What is over a limit is refused in one word, before it costs anything.

**Reveals** to all trusted clients the offer, and how busy the service is. The log names card, phase, sizes
and outcome, never a private value.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    BudgetError,
    DiscreetError,
    LateError,
    ParameterError,
    PartyError,
    PeerError,
    ProtocolError,
    RefusedError,
    RequestError,
)
from discreet.session import request
from discreet.session.crew import Crew, Errand
from discreet.session.limits import Limits, Rate
from discreet.session.meeting import run
from discreet.session.plan import digest
from discreet.wire.channel import Channel
from discreet.wire.tls import listen

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from discreet.session.crew import Worker
    from discreet.session.desk import Desk, Session
    from discreet.session.receipt import Receipt
    from discreet.session.request import Request, Sizes
    from discreet.wire.identity import Card, Identity
    from discreet.wire.tls import Listener, Place, TlsStream

__all__ = ["Note", "Service"]

_OFFERS = 8
"""How often a client may ask for the offer before it asks its question, on one connection."""

_FAREWELL = 2.0


@dataclass(frozen=True)
class Note:
    """One line of the log: public things only."""

    client: str
    phase: str
    outcome: str
    sizes: Sizes = field(default_factory=dict[str, Any])
    seconds: float = 0.0
    bytes: int = 0

    def words(self) -> str:
        """The line."""
        sizes = "".join(f" {name} {_shown(size)}" for name, size in self.sizes.items())
        moved = f", {self.bytes} bytes" if self.bytes else ""
        return f"{self.client}: {self.phase}{sizes}: {self.outcome}, {self.seconds:.2f} s{moved}"


class Service:
    """One party that answers many clients. One event loop for the wire, and a process for each session at
    once.

    ``keep`` gets the receipt of every finished session, ``tell`` every line of the log.
    """

    def __init__(
        self,
        me: Identity,
        clients: Sequence[Card],
        desk: Desk,
        *,
        limits: Limits | None = None,
        keep: Callable[[Card, Receipt], None] | None = None,
        tell: Callable[[Note], None] | None = None,
    ) -> None:
        if not clients:
            raise ParameterError(
                "a service without clients", remedy="`discreet party trust FILE` accepts one."
            )
        self.me = me
        self.desk = desk
        self.limits = limits or Limits()
        self.crew = Crew(desk.load, desk.private, self.limits.workers)
        self.place: Place | None = None
        self._cards = {card.fingerprint: card for card in clients}
        self._keep = keep or _nothing
        self._tell = tell or _nothing
        self._rate = Rate(self.limits.rate)
        self._open: Counter[str] = Counter()
        self._guests: dict[asyncio.Task[None], _Visit] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._waiting = 0
        self._stopping = asyncio.Event()

    async def serve(
        self, place: Place, *, ready: Callable[[Place], None] | None = None, grace: float = 30.0
    ) -> None:
        """Answer until `stop` is called; then give running sessions ``grace`` seconds to end."""
        listener: Listener | None = None
        try:
            await self.crew.start()
            listener = await listen(self.me, list(self._cards.values()), place)
            self.place = listener.place
            if ready is not None:
                ready(listener.place)
            await self._welcome(listener)
        finally:
            if listener is not None:
                await listener.close()
            await self._end(grace)
            await self.crew.stop()

    def run(self, place: Place, *, ready: Callable[[Place], None] | None = None, grace: float = 30.0) -> None:
        """`serve` until SIGINT or SIGTERM; a second signal does not wait for running sessions."""

        async def watched() -> None:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.stop)
            await self.serve(place, ready=ready, grace=grace)

        asyncio.run(watched())

    def stop(self) -> None:
        """Take no more requests, and end when those at work are answered. A second call ends these too."""
        if self._stopping.is_set():
            for guest in self._guests:
                guest.cancel()
        self._stopping.set()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._guests)

    async def _welcome(self, listener: Listener) -> None:
        """Take whoever comes, up to the limits."""
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            while not stopped.done():
                arrival = asyncio.ensure_future(listener.accept(3600.0))
                await asyncio.wait({arrival, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not arrival.done():
                    arrival.cancel()
                    await asyncio.wait({arrival})
                    break
                with suppress(LateError):
                    self._admit(*arrival.result())
        finally:
            stopped.cancel()

    def _admit(self, fingerprint: str, stream: TlsStream) -> None:
        card = self._cards[fingerprint]
        full = len(self._guests) >= self.limits.connections
        if full or self._open[fingerprint] >= self.limits.each:
            stream.cut()
            self._say(Note(card.name, "connection", "too many are open"))
            return
        self._open[fingerprint] += 1
        visit = _Visit(card, time.monotonic())
        guest = asyncio.ensure_future(self._attend(card, stream, visit))
        self._guests[guest] = visit
        guest.add_done_callback(lambda done: self._leave(done, fingerprint))

    def _leave(self, guest: asyncio.Task[None], fingerprint: str) -> None:
        del self._guests[guest]
        self._open[fingerprint] -= 1
        if not self._open[fingerprint]:
            del self._open[fingerprint]

    @property
    def _longest(self) -> float:
        """Longer than talk, queue and session: each ends by its own limit, and none cuts a role in
        mid-step."""
        limits = self.limits
        return limits.talk + limits.patience + limits.whole + 2 * limits.silence

    async def _attend(self, card: Card, stream: TlsStream, visit: _Visit) -> None:
        """One connection, from its first request to its end; whatever happens in it ends here."""
        channel = Channel(stream, silence=self.limits.silence, queued=self.limits.queued)
        try:
            async with asyncio.timeout(self._longest):
                await self._converse(card, channel, visit)
        except asyncio.CancelledError:
            visit.outcome = "interrupted"
        except RefusedError as error:
            visit.outcome = f"refused ({error.got})"
        except DiscreetError as error:
            visit.outcome = f"{type(error).__name__}, {error.what}"
        except TimeoutError:
            visit.outcome = "it took too long"
        except Exception as error:  # noqa: BLE001
            visit.outcome = (
                f"a defect of the service, {type(error).__name__}"  # the message may quote anything
            )
        finally:
            with suppress(asyncio.CancelledError):
                await channel.close()
            stream.cut()
            whole = channel.meter.total()
            self._say(visit.note(whole.sent + whole.received))

    async def _converse(self, card: Card, channel: Channel, visit: _Visit) -> None:
        """Offers, then one question."""
        async with asyncio.timeout(self.limits.talk):
            asked = await self._hear(card, channel, visit)
        if asked is not None:
            visit.phase, visit.sizes = asked.question, asked.sizes
            await self._answer(card, channel, asked, visit)

    async def _hear(self, card: Card, channel: Channel, visit: _Visit) -> Request | None:
        """Show the offer to whoever asks for it; the question, or None if none comes."""
        for _ in range(_OFFERS):
            try:
                asked = await request.hear(channel)
                self._check_rate(card)
            except ProtocolError:
                await self._refuse(channel, "malformed")
                raise
            except RefusedError as error:
                await self._refuse(channel, str(error.got))
                raise
            if not asked.about_offer:
                return asked
            visit.outcome = "answered"
            await request.reply(channel, "offer", dict(self.desk.offer))
        return None

    async def _answer(self, card: Card, channel: Channel, asked: Request, visit: _Visit) -> None:
        """Take a worker, charge, accept, and run the role."""
        try:
            session = self._session(asked)
            visit.working = True
            async with self._worker(card) as worker:
                await self._charge(card, session, visit, channel)
                await request.reply(channel, "accepted", {})
                (client,) = set(session.plan.learns) - {session.role}
                errand = Errand(session.function, session.role, session.plan.agreed, session.memory)
                outcome = await run(
                    session.plan,
                    session.role,
                    worker.take(errand),
                    {client: channel},
                    fingerprint=self.me.fingerprint,
                    whole=self.limits.whole,
                )
        except RefusedError as error:
            await self._refuse(channel, str(error.got))
            raise
        visit.outcome = "answered"
        try:
            await asyncio.to_thread(self._keep, card, outcome.receipt)
        except OSError:
            visit.outcome = "answered, but its receipt could not be kept"

    def _session(self, asked: Request) -> Session:
        if self._stopping.is_set():
            raise _refusal("stopping")
        if asked.offer != digest(dict(self.desk.offer)):
            raise _refusal("offer")
        if asked.question not in self.desk.offer.get("questions", ()):
            raise _refusal("question")
        try:
            session = self.desk.session(asked.question, asked.sizes)
        except RequestError:
            raise _refusal("sizes") from None
        if session.memory > self.limits.memory:
            raise _refusal("sizes")
        return session

    def _check_rate(self, card: Card) -> None:
        if not self._rate.allows(card.fingerprint, time.monotonic()):
            raise _refusal("often")

    @asynccontextmanager
    async def _worker(self, card: Card) -> AsyncGenerator[Worker]:
        """A worker, after a time in the queue; no client has more than its share at once."""
        turn = self._turns.setdefault(card.fingerprint, asyncio.Semaphore(self.limits.share))
        if self._waiting >= self.limits.waiting and (turn.locked() or not self.crew.free):
            raise _refusal("busy")
        async with AsyncExitStack() as stack:
            self._waiting += 1
            try:
                async with asyncio.timeout(self.limits.patience):
                    await stack.enter_async_context(turn)
                    worker = await stack.enter_async_context(self.crew.lease())
            except TimeoutError:
                raise _refusal("busy") from None
            finally:
                self._waiting -= 1
            yield worker

    async def _charge(self, card: Card, session: Session, visit: _Visit, channel: Channel) -> None:
        """Charge whoever is still there."""
        if channel.stream.ended:
            raise PeerError("the client left while it waited")
        try:
            await asyncio.to_thread(self.desk.charge, card, session)
        except BudgetError:
            raise _refusal("limit") from None
        except DiscreetError as error:
            self._say(Note(card.name, visit.phase, f"cannot be charged, {error.what}"))
            raise _refusal("failed") from None

    def _say(self, note: Note) -> None:
        """A line of the log; a log that cannot be written does not end the service."""
        with suppress(Exception):
            self._tell(note)

    async def _refuse(self, channel: Channel, word: str) -> None:
        with suppress(PartyError):
            await request.reply(channel, "refused", word)

    async def _end(self, grace: float) -> None:
        """Let those at work finish, and send the others away."""
        for guest, visit in self._guests.items():
            if not visit.working:
                guest.cancel()
        if self._guests:
            await asyncio.wait(set(self._guests), timeout=grace)
        for guest in self._guests:
            guest.cancel()
        if self._guests:
            await asyncio.wait(set(self._guests), timeout=_FAREWELL)


@dataclass
class _Visit:
    """What the log will say of a connection."""

    card: Card
    began: float
    phase: str = "offer"
    outcome: str = "left"
    sizes: Sizes = field(default_factory=dict[str, Any])
    working: bool = False

    def note(self, moved: int) -> Note:
        seconds = time.monotonic() - self.began
        return Note(self.card.name, self.phase, self.outcome, self.sizes, seconds, moved)


def _shown(size: Any) -> str:
    """A size, or the first of many."""
    if isinstance(size, int):
        return str(size)
    listed = " ".join(map(str, size[:4]))
    return listed if len(size) <= 4 else f"{listed} and {len(size) - 4} more"


def _refusal(word: str) -> RefusedError:
    return RefusedError("a request was refused", got=word, remedy=request.REFUSALS[word])


def _nothing(*_: object) -> None:
    pass

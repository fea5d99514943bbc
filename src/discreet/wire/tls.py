"""Streams over TLS 1.3, both sides authenticated, both certificates pinned.

Each party presents its certificate and accepts exactly one: that of the card it holds. There is no authority,
no host name, no resumption and no older version to fall back to. What an onlooker of the network sees is who
talks to whom, when, and how much.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import socket
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from discreet.errors import IdentityError, LateError, ParameterError, PeerError
from discreet.wire.channel import SILENCE, Channel
from discreet.wire.news import News

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.wire.identity import Card, Identity

__all__ = ["Listener", "Place", "TlsStream", "dial", "listen", "meet"]

_HELD = 1 << 21
_PIECE = 1 << 17
_NOWHERE = memoryview(bytearray())
_PAUSE = 0.05
_GUESTS = 32
"""Connections of strangers that are looked at together."""

_HANDSHAKE, _SHUTDOWN = 10.0, 1.0

_WHY = {
    errno.EADDRINUSE: "the port is in use",
    errno.EADDRNOTAVAIL: "the address is not of this machine",
    errno.EACCES: "the port is not for everybody",
}


@dataclass(frozen=True)
class Place:
    """Where a party can be reached."""

    host: str
    port: int

    @staticmethod
    def of(text: str) -> Place:
        """A place written as ``host:port``."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ParameterError("not a place to reach a party", got=text[:100], wanted="host:port")
        return Place(host.strip("[]"), int(port))


class TlsStream(asyncio.BufferedProtocol):
    """Bytes over one TLS connection. Reads ahead a little, so that an abort is heard while we write."""

    def __init__(self) -> None:
        self.fingerprint = ""
        self.ended = False
        self._transport: asyncio.Transport | None = None
        self._pieces: deque[memoryview] = deque()
        self._held = 0
        self._full = False
        self._resting = False
        self._news = News()
        self._heard = False
        self._scratch = memoryview(bytearray(_PIECE))
        self._target = _NOWHERE
        self._direct = False

    @property
    def held(self) -> int:
        """Bytes that have come in and that nobody has read."""
        return self._held

    @property
    def queued(self) -> int:
        """Bytes written that neither the peer nor the system has taken; 0 while they are few."""
        return self._transport.get_write_buffer_size() if self._full and self._transport else 0

    def write(self, data: bytes) -> None:
        """Hand over bytes to be sent."""
        if self._transport is not None and not self.ended:
            self._transport.write(data)

    async def fill(self, view: memoryview) -> None:
        """Read exactly as many bytes as the memory holds, or raise `PeerError`."""
        try:
            while len(view):
                if self._pieces:
                    view = view[self._move(view) :]
                elif self.ended:
                    raise self._why()
                else:
                    self._target = view
                    await self.news()
                    view = self._target
        finally:
            self._target = _NOWHERE

    def news(self) -> asyncio.Future[None]:
        """Done when something changes from now on."""
        return self._news.wait()

    async def close(self) -> None:
        """Send what is queued, and end."""
        if self._transport is not None:
            self._transport.close()
        while not self.ended:
            await self.news()

    def cut(self) -> None:
        """End at once."""
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note whom we are talking to."""
        self._transport = cast("asyncio.Transport", transport)
        session: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        shown = session.getpeercert(binary_form=True) if session is not None else None
        self.fingerprint = hashlib.sha256(shown or b"").hexdigest()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where bytes go that come in: large ones straight to where they are wanted."""
        self._direct = not self._pieces and len(self._target) >= len(self._scratch)
        return self._target if self._direct else self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        """Keep what came in; let the peer wait if it is a lot."""
        self._heard = True
        if self._direct:
            self._target = self._target[nbytes:]
        else:
            self._pieces.append(memoryview(bytes(self._scratch[:nbytes])))
            self._held += nbytes
        if self._held > _HELD and not self._resting and self._transport is not None:
            self._resting = True
            self._transport.pause_reading()
        self._news.ring()

    def pause_writing(self) -> None:
        """Called when the peer does not keep up."""
        self._full = True

    def resume_writing(self) -> None:
        """Called when it does again."""
        self._full = False
        self._news.ring()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once, at the end."""
        self._end()

    def _why(self) -> PeerError:
        if self._heard:
            return PeerError(
                "the other party went away", remedy="Look at its side of the run, and start again."
            )
        return PeerError(
            "the other party went away without a word",
            remedy="Does it trust our card? `discreet party show` prints the fingerprints on both sides.",
        )

    def _end(self) -> None:
        self.ended = True
        self._news.ring()

    def _move(self, view: memoryview) -> int:
        piece = self._pieces.popleft()
        count = min(len(piece), len(view))
        view[:count] = piece[:count]
        self._held -= count
        if count < len(piece):
            self._pieces.appendleft(piece[count:])
        if self._resting and self._held <= _HELD // 2 and self._transport is not None:
            self._resting = False
            if not self.ended:
                self._transport.resume_reading()
        return count


class Listener:
    """Waits for parties at one place, and tells them apart by their certificates.

    Strangers cannot take much: so many may be shaking hands at once, each for some seconds, and the rest
    waits in the queue of the system. They can make a party come late, but not fill the memory.
    """

    def __init__(self, server: socket.socket, context: ssl.SSLContext, cards: Sequence[Card]) -> None:
        self.place = Place(*server.getsockname()[:2])
        self._server = server
        self._context = context
        self._names = {card.fingerprint: card.name for card in cards}
        self._arrived: asyncio.Queue[TlsStream] = asyncio.Queue(_GUESTS)
        self._slots = asyncio.Semaphore(_GUESTS)
        self._guests: set[asyncio.Task[None]] = set()
        self._door = asyncio.ensure_future(self._open())

    async def accept(self, wait: float) -> tuple[str, TlsStream]:
        """The next party that arrives: its fingerprint and the stream. Strangers are sent away."""
        try:
            async with asyncio.timeout(wait):
                while True:
                    stream = await self._arrived.get()
                    if stream.fingerprint in self._names:
                        return stream.fingerprint, stream
                    stream.cut()
        except TimeoutError:
            raise LateError(
                "nobody whom we expect has connected",
                wanted=f"{sorted(self._names.values())} in {wait:g} seconds",
                remedy="Was the other side started, does it know our address, and does it trust our card?",
            ) from None

    async def close(self) -> None:
        """Stop listening. Connections that were accepted go on."""
        tasks = [self._door, *self._guests]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._server.close()
        while not self._arrived.empty():
            self._arrived.get_nowait().cut()

    async def _open(self) -> None:
        """Take connections, as long as there are free slots."""
        loop = asyncio.get_running_loop()
        while True:
            await self._slots.acquire()
            try:
                guest, _ = await loop.sock_accept(self._server)
            except OSError:  # the guest has left, or there are too many open files
                self._slots.release()
                await asyncio.sleep(_PAUSE)
                continue
            task = asyncio.ensure_future(self._let_in(guest))
            self._guests.add(task)
            task.add_done_callback(self._guests.discard)

    async def _let_in(self, guest: socket.socket) -> None:
        """Shake hands: whoever does not hold a pinned certificate fails here."""
        try:
            _, stream = await asyncio.get_running_loop().connect_accepted_socket(
                TlsStream,
                guest,
                ssl=self._context,
                ssl_handshake_timeout=_HANDSHAKE,
                ssl_shutdown_timeout=_SHUTDOWN,
            )
            await self._announce(stream)
        except OSError:
            guest.close()
        finally:
            self._slots.release()

    async def _announce(self, stream: TlsStream) -> None:
        """Wait for room among those who have arrived: many may come at one moment."""
        try:
            async with asyncio.timeout(_HANDSHAKE):
                await self._arrived.put(stream)
        except (TimeoutError, asyncio.CancelledError) as error:
            stream.cut()
            if isinstance(error, asyncio.CancelledError):
                raise


async def listen(me: Identity, cards: Sequence[Card], place: Place) -> Listener:
    """Wait at a place for the parties with these cards. Port 0 takes a free one."""
    context = _context(me, cards, ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        server = socket.create_server((place.host, place.port), family=family, backlog=_GUESTS)
    except OSError as error:
        reason = _WHY.get(error.errno or 0, "")
        raise PeerError(
            "cannot listen at this place" + (f": {reason}" if reason else ""),
            got=f"{place.host}:{place.port}",
            wanted="an address of this machine, and a port that nobody uses",
        ) from error
    server.setblocking(False)
    return Listener(server, context, cards)


async def dial(me: Identity, card: Card, place: Place, *, wait: float) -> TlsStream:
    """Connect to the party with this card, who may not be there yet."""
    context = _context(me, [card], ssl.PROTOCOL_TLS_CLIENT)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(wait):
            while True:
                with suppress(ConnectionRefusedError):
                    _, stream = await loop.create_connection(
                        TlsStream,
                        place.host,
                        place.port,
                        ssl=context,
                        server_hostname="",
                        ssl_shutdown_timeout=_SHUTDOWN,
                    )
                    break
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise LateError(
            "the other party cannot be reached",
            got=f"{card.name} at {place.host}:{place.port}",
            wanted=f"an answer in {wait:g} seconds",
            remedy="Was it started, and is this its address?",
        ) from None
    except ssl.SSLError as error:
        raise IdentityError(
            "the party that answered is not the one whose card we hold",
            got=f"{place.host}:{place.port}",
            wanted=card.words(),
            remedy="Is the address right? If the party has a new key, exchange cards again.",
        ) from error
    except OSError as error:
        raise PeerError(
            "the other party cannot be reached",
            got=f"{card.name} at {place.host}:{place.port}",
            remedy="Is this its address, and is there a way to it?",
        ) from error
    if stream.fingerprint != card.fingerprint:
        stream.cut()
        raise IdentityError(
            "the party that answered is another one", got=stream.fingerprint, wanted=card.words()
        )
    return stream


async def meet(
    me: Identity,
    cards: Mapping[str, Card],
    places: Mapping[str, Place],
    role: str,
    *,
    listener: Listener | None = None,
    wait: float = 30.0,
    silence: float = SILENCE,
) -> dict[str, Channel]:
    """Connect with all other roles: a channel for each.

    ``cards`` and ``places`` are by role. Of two parties, the one without a place dials; if both have one, the
    later in the alphabet dials. Our own place is where we listen, unless a listener is given.
    """
    if len({card.fingerprint for card in cards.values()}) < len(cards):
        raise IdentityError(
            "two roles hold the same card", got=sorted(cards), remedy="Make an identity for each role."
        )
    others = [name for name in cards if name != role]
    dialled = [name for name in others if name in places and (role not in places or name < role)]
    awaited = {cards[name].fingerprint: name for name in others if name not in dialled}
    if awaited and role not in places and listener is None:
        raise ParameterError(
            "no place is known where these parties could meet us",
            got=sorted(awaited.values()),
            remedy="Give us or them a place, host:port, which all know.",
        )
    own = listener
    if awaited and own is None:
        own = await listen(me, [cards[name] for name in others], places[role])
    streams: dict[str, TlsStream] = {}
    try:
        for name in dialled:
            streams[name] = await dial(me, cards[name], places[name], wait=wait)
        while own is not None and len(streams) < len(others):
            fingerprint, stream = await _accepted(own, wait, set(awaited.values()) - set(streams))
            name = awaited.get(fingerprint, "")
            if not name or name in streams:  # somebody whom we dial, or who is here already
                stream.cut()
            else:
                streams[name] = stream
    except BaseException:
        for stream in streams.values():
            stream.cut()
        raise
    finally:
        if own is not None and listener is None:
            await own.close()
    return {name: Channel(streams[name], silence=silence) for name in others}


async def _accepted(own: Listener, wait: float, missing: set[str]) -> tuple[str, TlsStream]:
    """The next party that arrives; the error names those who are still missing, and nobody who is here."""
    try:
        return await own.accept(wait)
    except LateError as error:
        raise LateError(
            f"{', '.join(map(repr, sorted(missing)))} did not connect",
            wanted=f"a connection within {wait:g} seconds",
            remedy=error.remedy,
        ) from None


def _context(me: Identity, cards: Sequence[Card], side: int) -> ssl.SSLContext:
    """TLS 1.3 only, our certificate, and no certificate accepted but these."""
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # names are not proof: certificates are pinned
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET
    context.load_cert_chain(me.certificate, me.key)
    context.load_verify_locations(cadata="".join(card.pem.decode() for card in cards))
    return context

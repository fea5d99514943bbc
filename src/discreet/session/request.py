"""What a client says to a service before anything private: a question, its public sizes, and about which
offer.

    client -> service   request {"question": "offer"}
    service -> client   reply {"offer": ...}    public plain data, the same for all
    client -> service   request {"question": ..., "sizes": {"name": number or list}, "offer": digest}
    service -> client   reply {"accepted": ...} or {"refused": a word of the fixed list}

All of it is JSON in one frame, of known shape and bounded size, checked before anything is done about it.
After an acceptance both sides build the same plan from offer, question and sizes, and
`discreet.session.run` begins on the same channel.

**Reveals** to the service the question and its sizes; to the client the offer and how it was refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import ProtocolError, RefusedError
from discreet.protocols.step import Limit, Receive
from discreet.session.plan import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.wire.channel import Channel

    Sizes = Mapping[str, int | Sequence[int]]

__all__ = ["LONGEST_OFFER", "REFUSALS", "Request", "ask", "ask_for_offer", "hear", "reply"]

_LONGEST, LONGEST_OFFER = 1 << 12, 1 << 18
"""The most bytes of a request, and of an offer."""

_NAME, _NUMBERS, _LIST, _LARGEST = 40, 16, 512, 1 << 40
_OFFER = "offer"

REFUSALS = {
    "malformed": "The request is not of the form that this version writes: compare versions.",
    "question": "This service answers other questions.",
    "offer": "The service has changed what it offers: ask for its offer again.",
    "sizes": "The sizes are not among those that are offered: fewer or shorter inputs may be.",
    "limit": "So many answers would go over the limit for this client, which who runs the service has set: "
    "fewer recordings may be within it.",
    "often": "Too many requests in a short time: wait a minute.",
    "busy": "All workers of the service are at work, and enough clients wait: try again later.",
    "failed": "The service could not record the request: who runs it must look at its log.",
    "stopping": "The service is about to stop.",
}
"""Every word with which a request can be refused, and what it means to the client."""


@dataclass(frozen=True)
class Request:
    """One request, checked: a question, its public sizes, and the digest of the offer that it is about."""

    question: str
    sizes: Sizes
    offer: str

    @property
    def about_offer(self) -> bool:
        """Whether the offer is asked for."""
        return self.question == _OFFER

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        return {"question": self.question, "sizes": dict(self.sizes), "offer": self.offer}

    @staticmethod
    def of(plain: Any) -> Request:
        """A request from plain data of a stranger.

        Raises `ProtocolError` for anything that `to_dict` does not write.
        """
        if not isinstance(plain, dict) or set(plain) != {"question", "sizes", "offer"}:
            raise _malformed()
        question, sizes, offer = plain["question"], plain["sizes"], plain["offer"]
        if not (_is_name(question) and isinstance(offer, str) and (offer == "" or _is_digest(offer))):
            raise _malformed()
        if not isinstance(sizes, dict) or len(sizes) > _NUMBERS:
            raise _malformed()
        if not all(_is_name(name) and _is_size(size) for name, size in sizes.items()):
            raise _malformed()
        return Request(question, dict(sizes), offer)


async def ask_for_offer(channel: Channel) -> dict[str, Any]:
    """What the service offers."""
    await _send(channel, Request(_OFFER, {}, "").to_dict(), "request")
    answer = await _receive(channel, "reply", LONGEST_OFFER)
    return _told(answer, "offer")


async def ask(channel: Channel, question: str, sizes: Sizes, offer: Mapping[str, Any]) -> None:
    """Ask a question; returns if the service has accepted it.

    Raises `RefusedError`.
    """
    await _send(channel, Request(question, sizes, digest(dict(offer))).to_dict(), "request")
    _told(await _receive(channel, "reply", LONGEST_OFFER), "accepted")


async def hear(channel: Channel) -> Request:
    """Wait for a request.

    Raises `ProtocolError` if it is malformed.
    """
    return Request.of(await _receive(channel, "request", _LONGEST))


async def reply(channel: Channel, word: str, content: Mapping[str, Any] | str) -> None:
    """Answer a request: ("offer", offer), ("accepted", {}) or ("refused", word)."""
    await _send(channel, {word: content}, "reply")


async def _send(channel: Channel, plain: Mapping[str, Any], name: str) -> None:
    data = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    await channel.send(name, {"plain": data}, "request")


async def _receive(channel: Channel, name: str, most: int) -> Any:
    arrays = await channel.receive(Receive(name, {"plain": Limit("bytes", None, most)}), "request")
    try:
        return json.loads(cast("bytes", arrays["plain"]), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _malformed() from None


def _told(plain: Any, wanted: str) -> dict[str, Any]:
    """The content of a reply, or the refusal that it is."""
    if isinstance(plain, dict) and len(plain) == 1:
        if "refused" in plain:
            word = plain["refused"] if plain["refused"] in REFUSALS else "malformed"
            raise RefusedError("the service refuses", got=word, remedy=REFUSALS[word])
        if isinstance(plain.get(wanted), dict):
            return plain[wanted]
    raise ProtocolError("a reply of the service cannot be read", wanted=wanted)


def _malformed() -> ProtocolError:
    return ProtocolError("a request cannot be read", wanted="question, sizes and offer")


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _NAME and value.isprintable()


def _is_size(value: Any) -> bool:
    if isinstance(value, list) and len(value) <= _LIST:
        return all(type(one) is int and 0 <= one <= _LARGEST for one in value)
    return type(value) is int and 0 <= value <= _LARGEST


def _is_digest(value: str) -> bool:
    return len(value) == 64 and set(value) <= set("0123456789abcdef")

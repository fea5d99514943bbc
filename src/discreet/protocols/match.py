"""Parties find the people that all of them hold, and one order of them, by ids that nobody shows.

The first party *leads*, the others *follow*. H(x) is the id x hashed to ristretto255 with a salt made by all.

    all        -> all        "match/hello"     32 random bytes (together: the salt), and its size
    followers  -> followers  "match/key"       a key for each pair, F_jl
    leader     -> followers  "match/blinded"   r H(x) for each of its ids, r secret
    follower j -> leader     "match/raised"    s_j r H(x), s_j secret
    follower j -> leader     "match/hints"     a table (`discreet.crypto.hint`) that gives each own id x
                                               K(s_j H(x)) xor (XOR over followers l of F_jl(x))
    leader     -> followers  "match/shared"    tags of the shared ids, in order of tags
    followers  -> followers  "match/same"      a hash of these tags

The leader divides by r, reads every table at each of its ids and removes K(s_j H(x)). What follower j's
table leaves is XOR_l F_jl(x) if j holds x, else random. All leave zero together, because each F_jl(x) is in
two of them, exactly if all hold x (wrongly with probability 2**-128). Two parties: Meadows (1986) with a
table in place of a list; more: the star of Kolesnikov, Matania, Pinkas, Rosulek and Trieu (CCS 2017) with
keys for pairs.

**Reveals** to every party: the sizes (of the padded lists, if sizes are agreed), the number of shared
people, and which of its own people they are. To nobody: ids or the number of people that only some hold,
also not in pairs of three or more; each piece that follower j's table leaves is random to the leader,
whether j holds x or not, as long as another follower keeps F_jl to itself. Positions follow the tags, a
keyed hash under the salt, so their order says nothing to those who do not know the ids. An onlooker sees
sizes, and the number of shared people by the length of one message.

**Trusts** all to follow the protocol, and nobody to keep quiet about what is revealed. If the leader and
some followers put together what they have, they learn which of the leader's people *all the remaining*
followers hold (with one remaining, which of them it holds); followers without the leader learn nothing
together. A party may bring invented ids, at most its size. A leader that does not follow the protocol may
leave people out; followers notice if they were told different lists, or people whom they did not bring.
**Assumes** decisional and gap Diffie-Hellman in ristretto255, SHA-512 and BLAKE2b as random oracles.

**Costs** 64 bytes and 20 bytes for each id of the leader and of a follower, for each follower; some 0.1 ms
an id at each end, which overlap. Scalars, salt and keys are new in each run: nothing can be looked up
across runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.block import derive
from discreet.crypto.group import any_points, hash_points, inverse, raise_points, scalar
from discreet.crypto.hint import NONCE, Hint
from discreet.crypto.transfer import POINT
from discreet.errors import ParameterError, ProtocolError
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.protocols.step import Arrays, Steps
    from discreet.randomness import Bits

__all__ = ["BATCH", "LARGEST", "Match", "align"]

BATCH = 4096
"""Ids a party works on between two messages: well below a second."""

LARGEST = 1 << 24
"""Ids of one party at most."""

_SALT = _KEY = _TAG_HASH = 32
_TAG = 16


@dataclass(frozen=True)
class Match:
    """What all agree to: who takes part, and how many ids each brings, at most.

    Shorter lists are padded, so that nobody learns how many ids there are. Without ``sizes`` every party
    tells the others how many it has.
    """

    parties: tuple[str, ...]
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.parties) < 2 or len(set(self.parties)) < len(self.parties):
            raise ParameterError("an alignment has two parties or more, each once", got=self.parties)
        if self.sizes and len(self.sizes) != len(self.parties):
            raise ParameterError(
                "every party has a size, or none has", got=self.sizes, wanted=str(len(self.parties))
            )
        if self.sizes and not 1 <= min(self.sizes) <= max(self.sizes) <= LARGEST:
            raise ParameterError("not a number of ids", got=self.sizes, wanted=f"1 to {LARGEST}")

    @property
    def leader(self) -> str:
        """The party that reads the tables."""
        return self.parties[0]

    @property
    def followers(self) -> tuple[str, ...]:
        """All others."""
        return self.parties[1:]

    @property
    def batches(self) -> int:
        """Messages into which the leader's points are cut."""
        return -(-max(self._sized) // BATCH)

    def size(self, party: str) -> int:
        """How many ids a party brings, with padding."""
        return self._sized[self.parties.index(party)]

    def hint(self, party: str) -> Hint:
        """The form of a follower's table."""
        return Hint(self.size(party))

    def learns(self) -> str:
        """What each party learns, in words."""
        sizes = "the agreed sizes" if self.sizes else "how many ids each party has"
        return f"{sizes}, how many people all parties hold, and which of its own people they are"

    def rounds(self) -> int:
        """Messages that wait for one another."""
        return 2 * self.batches + 3

    def bytes(self) -> dict[tuple[str, str], int]:
        """Content from each party to each other; exact but for the tags, of which these are the most."""
        return {(a, b): self._bytes(a, b) for a in self.parties for b in self.parties if a != b}

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {key: list(value) for key, value in asdict(self).items()}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Match:
        """From plain data."""
        return Match(tuple(plain["parties"]), tuple(plain["sizes"]))

    @property
    def _sized(self) -> tuple[int, ...]:
        if not self.sizes:
            raise ParameterError("no sizes are agreed", remedy="They are known when the run has begun.")
        return self.sizes

    def _bytes(self, sender: str, receiver: str) -> int:
        hello = _SALT + 8
        if sender == self.leader:
            return hello + POINT * self.size(sender) + _TAG * min(self._sized)
        if receiver == self.leader:
            return hello + POINT * self.size(receiver) + NONCE + 16 * self.hint(sender).cells
        return hello + _TAG_HASH + (_KEY if sender < receiver else 0)


def align(name: str, ids: Sequence[bytes], agreed: Match, bits: Bits) -> Steps[NDArray[np.int64]]:
    """One party's role: its ids, each once. Returns positions of those that all hold, in the common order.

    Raises `ParameterError` if ids repeat or are more than agreed, before anything is sent, and
    `ProtocolError` for what is no point, no list of tags, or not the same for all.
    """
    _check_ids(name, ids, agreed)
    told, salt = yield from _greeted(name, len(ids), agreed, bits)
    table = _Table(name, tuple(ids), told, salt, bits)
    tags = yield from (_lead(table) if name == told.leader else _follow(table))
    return table.positions(tags)


def _check_ids(name: str, ids: Sequence[bytes], agreed: Match) -> None:
    if name not in agreed.parties:
        raise ParameterError("no such party", got=name, wanted=f"one of {agreed.parties}")
    if len(set(ids)) != len(ids) or not all(ids):
        raise ParameterError(
            "ids repeat or are missing", wanted="each once", remedy="See `discreet.protocols.roster`."
        )
    if len(ids) > (agreed.size(name) if agreed.sizes else LARGEST):
        raise ParameterError(
            "more ids than agreed", wanted=f"at most {agreed.size(name) if agreed.sizes else LARGEST}"
        )


def _greeted(name: str, count: int, agreed: Match, bits: Bits) -> Steps[tuple[Match, bytes]]:
    """The same plan with sizes, and the salt that all have made."""
    parts = {name: bits.bytes(_SALT)}
    sizes = {name: agreed.size(name) if agreed.sizes else max(1, count)}
    others = [party for party in agreed.parties if party != name]
    for other in others:
        yield Send("match/hello", {"salt": parts[name], "size": np.array(sizes[name], "<u8")}, other)
    for other in others:
        told = yield Receive("match/hello", {"salt": Limit.raw(_SALT), "size": Limit.array("<u8", ())}, other)
        parts[other], sizes[other] = told["salt"], int(told["size"])
        if not 1 <= sizes[other] <= LARGEST or (agreed.sizes and sizes[other] != agreed.size(other)):
            raise ProtocolError(f"{other!r} tells a size that is not allowed", got=sizes[other])
    full = Match(agreed.parties, tuple(sizes[party] for party in agreed.parties))
    return full, derive(b"discreet/1/match/salt", *(parts[party] for party in full.parties))


@dataclass(frozen=True)
class _Table:
    """One party's end: its ids, the plan with sizes, and all that is derived from the salt."""

    name: str
    ids: tuple[bytes, ...]
    agreed: Match
    salt: bytes
    bits: Bits

    def __repr__(self) -> str:
        return "_Table(...)"

    def batches(self) -> Iterator[tuple[bytes, ...]]:
        """The own ids in as many parts as there are messages; the last ones may be short or empty."""
        size, count = self.agreed.size(self.name), self.agreed.batches
        for batch in range(count):
            yield self.ids[_slice(size, count, batch)]

    def points(self, ids: Sequence[bytes]) -> list[bytes]:
        """H of ids."""
        return hash_points(b"discreet/1/match/id" + self.salt, ids)

    def limit(self, batch: int) -> Mapping[str, Limit]:
        """What one message with points of the leader's ids may be."""
        part = _slice(self.agreed.size(self.agreed.leader), self.agreed.batches, batch)
        return {"points": Limit.array("|u1", (part.stop - part.start, POINT))}

    def masks(self, follower: str, ids: Sequence[bytes], points: Sequence[bytes]) -> list[bytes]:
        """K: what hides the entries of a follower's table."""
        key = derive(b"discreet/1/match/mask", self.salt, follower.encode())
        return [_keyed(key, point + x) for point, x in zip(points, ids, strict=True)]

    def tags(self) -> dict[bytes, int]:
        """The tag of every own id, and its position."""
        key = derive(b"discreet/1/match/tag", self.salt)
        return {_keyed(key, x): position for position, x in enumerate(self.ids)}

    def positions(self, tags: Sequence[bytes]) -> NDArray[np.int64]:
        """Where the shared ids stand."""
        own = self.tags()
        if any(tag not in own for tag in tags) or any(a >= b for a, b in pairwise(tags)):
            raise ProtocolError("the shared ids are not in order, or not among those that were brought")
        return np.array([own[tag] for tag in tags], dtype=np.int64)


def _lead(table: _Table) -> Steps[list[bytes]]:
    """Blind, send ahead by one batch, unblind, read the tables, tell."""
    agreed, secret = table.agreed, scalar(table.bits)
    back = inverse(secret)
    masks: dict[str, list[bytes]] = {follower: [] for follower in agreed.followers}
    waiting: list[tuple[bytes, ...]] = []
    for batch, ids in enumerate(table.batches()):
        yield from _tell("match/blinded", _blinded(table, secret, batch, ids), agreed.followers)
        if waiting:
            yield from _unblind(table, back, batch - 1, waiting.pop(), masks)
        waiting.append(ids)
    yield from _unblind(table, back, agreed.batches - 1, waiting.pop(), masks)
    total = np.zeros((len(table.ids), 2), dtype=np.uint64)
    for follower in agreed.followers:
        total ^= _words(masks[follower]) ^ (yield from _read(table, follower))
    own = {position: tag for tag, position in table.tags().items()}
    tags = sorted(own[position] for position in np.flatnonzero(~total.any(axis=1)).tolist())
    yield from _tell("match/shared", {"tags": _array(tags, _TAG)}, agreed.followers)
    return tags


def _blinded(table: _Table, secret: bytes, batch: int, ids: tuple[bytes, ...]) -> Arrays:
    """Blinded points of a batch, filled up with points of nobody."""
    shape = table.limit(batch)["points"].shape
    assert shape is not None
    made = raise_points(secret, table.points(ids)) + any_points(shape[0] - len(ids), table.bits)
    return {"points": _array(made, POINT)}


def _unblind(
    table: _Table, back: bytes, batch: int, ids: tuple[bytes, ...], masks: dict[str, list[bytes]]
) -> Steps[None]:
    """What followers made of one batch, divided by r, as masks."""
    for follower in table.agreed.followers:
        told = yield Receive("match/raised", table.limit(batch), follower)
        points = raise_points(back, _rows(told["points"])[: len(ids)])
        masks[follower] += table.masks(follower, ids, points)


def _read(table: _Table, follower: str) -> Steps[NDArray[np.uint64]]:
    """A follower's table at the own ids."""
    hint = table.agreed.hint(follower)
    limits = {"nonce": Limit.raw(NONCE), "cells": Limit.array("<u8", (hint.cells, 2))}
    told = yield Receive("match/hints", limits, follower)
    return hint.read(table.ids, told["nonce"], told["cells"])


def _follow(table: _Table) -> Steps[list[bytes]]:
    """Raise the leader's points and the own ones batch by batch, write the table, hear what is shared."""
    agreed, secret = table.agreed, scalar(table.bits)
    keys = yield from _pair_keys(table)
    masks: list[bytes] = []
    for batch, ids in enumerate(table.batches()):
        told = yield Receive("match/blinded", table.limit(batch), agreed.leader)
        raised = raise_points(secret, _rows(told["points"]))
        yield Send("match/raised", {"points": _array(raised, POINT)}, agreed.leader)
        masks += table.masks(table.name, ids, raise_points(secret, table.points(ids)))
    values = _words(masks)
    for key in keys.values():
        values = values ^ _words([_keyed(key, x) for x in table.ids])
    nonce, cells = agreed.hint(table.name).write(table.ids, values, table.bits)
    yield Send("match/hints", {"nonce": nonce, "cells": cells}, agreed.leader)
    most = _TAG * min(agreed.sizes)
    told = yield Receive("match/shared", {"tags": Limit("|u1", None, most)}, agreed.leader)
    return (yield from _compared(_tags(told["tags"]), list(keys)))


def _pair_keys(table: _Table) -> Steps[dict[str, bytes]]:
    """A key with every other follower, made by the one whose name comes first, and unknown to the leader."""
    keys: dict[str, bytes] = {}
    others = [other for other in table.agreed.followers if other != table.name]
    for other in others:
        if table.name < other:
            keys[other] = table.bits.bytes(_KEY)
            yield Send("match/key", {"key": keys[other]}, other)
    for other in others:
        if other < table.name:
            keys[other] = (yield Receive("match/key", {"key": Limit.raw(_KEY)}, other))["key"]
    return {other: derive(b"discreet/1/match/pair", table.salt, key) for other, key in keys.items()}


def _compared(tags: list[bytes], others: list[str]) -> Steps[list[bytes]]:
    """The same tags, if all followers have heard the same."""
    digest = derive(b"discreet/1/match/same", *tags)
    yield from _tell("match/same", {"digest": digest}, others)
    for other in others:
        told = yield Receive("match/same", {"digest": Limit.raw(_TAG_HASH)}, other)
        if told["digest"] != digest:
            raise ProtocolError(
                f"{other!r} was told other shared ids than we were", remedy="Do not trust the leader."
            )
    return tags


def _tell(name: str, arrays: Arrays, peers: Sequence[str]) -> Steps[None]:
    for peer in peers:
        yield Send(name, arrays, peer)


def _tags(told: NDArray[np.uint8]) -> list[bytes]:
    if told.ndim != 2 or told.shape[1] != _TAG:
        raise ProtocolError(
            "the shared ids are not a list of tags", got=told.shape, wanted=f"(number, {_TAG})"
        )
    return _rows(told)


def _slice(size: int, count: int, batch: int) -> slice:
    """Part number ``batch`` of ``count`` nearly equal parts."""
    return slice(size * batch // count, size * (batch + 1) // count)


def _keyed(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, key=key, digest_size=16, person=b"discreet/1/match").digest()


def _array(rows: Sequence[bytes], width: int) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, width)


def _rows(array: NDArray[np.uint8]) -> list[bytes]:
    raw, width = array.tobytes(), array.shape[1]
    return [raw[at : at + width] for at in range(0, len(raw), width)]


def _words(rows: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(rows), "<u8").astype(np.uint64).reshape(-1, 2)

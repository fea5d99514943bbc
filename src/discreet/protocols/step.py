"""How a protocol is written: each party's role is a generator that sends, receives and returns its output.

    def role(private, agreed, bits):
        yield Send("sum/masked", {"total": masked})
        told = yield Receive("sum/others", {"total": Limit.array("<u8", (8,))})
        return told["total"] + mine

* A role is a function of its private input, the agreed parameters, the bits it is given and the messages it
  receives, and of nothing else: same inputs, same messages. So a transcript can be replayed and simulated.
* A role says what it will accept **before** it is read: dtype, shape and the most bytes. Whoever carries the
  messages (`run_parties` here, `discreet.session` over sockets) refuses everything else before memory is
  taken. What a role gets are read-only arrays.
* Where a plan lets a party leave, a role that waits for it gets `discreet.errors.PeerError` thrown in at its
  ``yield`` and may go on without it; what it sends to that party afterwards is dropped.
* To return is to be finished. A role that raises gives nothing out, and the others are stopped.
* The part of a name before its first slash is the *phase* under which bytes, rounds and time are counted.
* Names may repeat (a stream of tables); messages of one party to another arrive in the order of sending.
* Every derivation of keys, masks or hashes is separated by `domain`: protocol, version, and what else tells
  two uses apart.

Roles compose by ``yield from``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, PartyError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Arrays",
    "Limit",
    "Receive",
    "Record",
    "Send",
    "Steps",
    "Transcript",
    "arrays_of",
    "describe",
    "domain",
    "phase_of",
    "run_pair",
    "run_parties",
    "under",
]

Arrays = Mapping[str, NDArray[Any] | bytes]
"""The content of a message: named arrays of numbers, or raw bytes."""

_RAW = "bytes"
_LETTERS = "?bBhHiIlLqQefd"
_WIDEST = 1 << 62
_TURN = 1 << 23
"""A party that has sent this many bytes in one go lets the others read first, so that streams stay small."""


@dataclass(frozen=True)
class Limit:
    """What one array of a message may be: its dtype ("bytes" for raw bytes), its shape, its most bytes.

    A shape of None is any shape. Only plain numbers are possible: no objects, no text.
    """

    dtype: str
    shape: tuple[int, ...] | None
    most: int

    def __post_init__(self) -> None:
        if self.most < 0 or (self.shape is not None and min(self.shape, default=0) < 0):
            raise ParameterError("a limit must not be negative", got=(self.shape, self.most), wanted=">= 0")
        if self.dtype == _RAW:
            if self.shape is not None and len(self.shape) != 1:
                raise ParameterError(
                    "raw bytes have one dimension", got=self.shape, wanted="(length,) or None"
                )
            size = 1
        else:
            size = _plain(self.dtype).itemsize
        if self.shape is not None and math.prod(self.shape) * size > self.most:
            raise ParameterError(
                "a limit must leave room for its own shape",
                got=self.most,
                wanted=f">= {math.prod(self.shape) * size} bytes",
            )

    @staticmethod
    def array(dtype: str, shape: tuple[int, ...]) -> Limit:
        """Numbers of exactly this dtype and shape."""
        return Limit(dtype, shape, math.prod(shape) * _plain(dtype).itemsize)

    @staticmethod
    def raw(length: int) -> Limit:
        """Exactly so many bytes."""
        return Limit(_RAW, (length,), length)

    def refusal(self, dtype: str, shape: tuple[int, ...]) -> str | None:
        """Why an announced array is not allowed, or None. Looks at the announcement only, takes no memory."""
        wanted = _RAW if self.dtype == _RAW else _plain(self.dtype).str
        if dtype != wanted:
            return f"{dtype} instead of {wanted}"
        size = 1 if dtype == _RAW else _plain(dtype).itemsize
        if self.shape is not None and shape != self.shape:
            return f"shape {shape} instead of {self.shape}"
        if math.prod(shape) * size > self.most:
            return f"{math.prod(shape) * size} bytes instead of at most {self.most}"
        if math.prod(axis or 1 for axis in shape) * size > _WIDEST:
            return f"shape {shape}, which no array can have"  # empty, but numpy multiplies the other axes
        return None


@dataclass(frozen=True)
class Send:
    """A message to a peer. With two parties, "peer" is the other one."""

    name: str
    arrays: Arrays
    peer: str = "peer"


@dataclass(frozen=True)
class Receive:
    """A wish for one message: its name and what each of its arrays may be."""

    name: str
    limits: Mapping[str, Limit]
    peer: str = "peer"

    def check(self, arrays: Arrays) -> None:
        """Refuse arrays other than those asked for.

        Raises `ProtocolError`.
        """
        announced = {key: describe(value) for key, value in arrays.items()}
        self.check_announced(self.name, announced)
        for key, value in arrays.items():
            if isinstance(value, np.ndarray) and value.dtype == bool and (value.view(np.uint8) > 1).any():
                raise ProtocolError(
                    f"{key!r} of message {self.name!r} holds bytes that are not true or false"
                )

    def check_announced(self, name: str, announced: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """The same for what a header announces, before the content is read."""
        if name != self.name:
            raise ProtocolError("a message came that is not due", got=name, wanted=repr(self.name))
        if set(announced) != set(self.limits):
            raise ProtocolError(
                f"message {name!r} has other parts", got=sorted(announced), wanted=str(sorted(self.limits))
            )
        for key, (dtype, shape) in announced.items():
            refusal = self.limits[key].refusal(dtype, shape)
            if refusal is not None:
                raise ProtocolError(f"{key!r} of message {name!r} is not what was agreed", got=refusal)


Output = TypeVar("Output")
Steps = Generator[Send | Receive, Any, Output]
"""A role at work: it yields what it sends and what it waits for, and returns its output."""


@dataclass(frozen=True)
class Record:
    """One message that was sent: from whom to whom, its name and content."""

    sender: str
    receiver: str
    name: str
    arrays: Arrays

    @property
    def size(self) -> int:
        """Bytes of content, without frames."""
        return sum(len(value) if isinstance(value, bytes) else value.nbytes for value in self.arrays.values())

    @property
    def form(self) -> tuple[Any, ...]:
        """All that an onlooker of the encrypted wire may infer: parties, name, dtypes and shapes."""
        parts = tuple((key, *describe(value)) for key, value in self.arrays.items())
        return (self.sender, self.receiver, self.name, parts)


@dataclass
class Transcript:
    """All messages of a run, in the order of sending. **Reveals** what every recipient saw."""

    records: list[Record] = field(default_factory=list[Record])

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def seen_by(self, party: str) -> list[Record]:
        """The messages a party received."""
        return [record for record in self.records if record.receiver == party]

    @property
    def forms(self) -> list[tuple[Any, ...]]:
        """Names, dtypes and shapes, without content."""
        return [record.form for record in self.records]

    @property
    def size(self) -> int:
        """Bytes of content."""
        return sum(record.size for record in self.records)


def domain(protocol: str, version: int, *parts: object) -> str:
    """A label that no other use has: ``domain("transfer", 1, session, 3)``.

    Parts are joined with their lengths, so ("a", "bc") and ("ab", "c") differ.
    """
    words = [
        protocol,
        str(version),
        *(part.hex() if isinstance(part, bytes) else str(part) for part in parts),
    ]
    return "discreet/" + "/".join(f"{len(word)}:{word}" for word in words)


def phase_of(name: str) -> str:
    """The part of a message's name before its first slash."""
    return name.partition("/")[0]


def under(phase: str, steps: Steps[Output]) -> Steps[Output]:
    """The same steps with all messages counted under one phase: its name is put before theirs."""
    try:
        asked = next(steps)
        while True:
            try:
                answer = yield replace(asked, name=f"{phase}/{asked.name}")
            except PartyError as loss:
                asked = steps.throw(loss)
            else:
                asked = steps.send(answer)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


def describe(value: NDArray[Any] | bytes) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape that a header announces."""
    return (_RAW, (len(value),)) if isinstance(value, bytes) else (value.dtype.str, value.shape)


def arrays_of(send: Send, *, copy: bool = True) -> Arrays:
    """The content of a message as its receiver sees it: contiguous, little-endian; read-only if copied."""
    return {key: _plain_array(send.name, key, value, copy) for key, value in send.arrays.items()}


def run_pair(first: Steps[Any], second: Steps[Any], *, record: bool = True) -> tuple[Any, Any, Transcript]:
    """Run two roles in memory: both outputs and the transcript, in which they are "first" and "second"."""
    outputs, transcript = run_parties({"first": first, "second": second}, record=record)
    return outputs["first"], outputs["second"], transcript


def run_parties(roles: Mapping[str, Steps[Any]], *, record: bool = True) -> tuple[dict[str, Any], Transcript]:
    """Run any number of roles in memory, for tests and rehearsal: outputs by party, and the transcript.

    ``record=False`` leaves the transcript empty, for long streams. Raises `ProtocolError` if a message is
    not the one its receiver waits for, if all wait for each other, or if a message was never received.
    """
    table = _Table(dict(roles), record)
    try:
        table.run()
    finally:
        for role in roles.values():
            role.close()
    return table.outputs, table.transcript


class _Table:
    """The parties at one table: who waits for what, and what lies between them."""

    def __init__(self, roles: dict[str, Steps[Any]], record: bool) -> None:
        self.roles = roles
        self.record = record
        self.outputs: dict[str, Any] = {}
        self.transcript = Transcript()
        self._queues: dict[tuple[str, str], deque[Record]] = {}
        self._wishes: dict[str, Receive | None] = dict.fromkeys(roles)

    def run(self) -> None:
        """Give every party its turn until all have finished."""
        while len(self.outputs) < len(self.roles):
            turns = [self._turn(party) for party in self.roles if party not in self.outputs]
            if not any(turns):
                raise ProtocolError("the parties wait for each other", got=self._waiting())
        left = [record for queue in self._queues.values() for record in queue]
        if left:
            raise ProtocolError(
                "a message was sent that nobody received", got=f"{left[0].name!r} to {left[0].receiver!r}"
            )

    def _turn(self, party: str) -> bool:
        """Let a party go on until it must wait or has sent a lot; whether it got anywhere."""
        sent, moved = 0, False
        while party not in self.outputs and sent < _TURN:
            wish = self._wishes[party]
            answer = None if wish is None else self._take(party, wish)
            if wish is not None and answer is None:
                break
            sent += self._advance(party, answer)
            moved = True
        return moved

    def _advance(self, party: str, answer: Arrays | None) -> int:
        """Hand a party what it waited for, and see what it wants next; the bytes it sent."""
        self._wishes[party] = None
        try:
            asked = self.roles[party].send(answer)
        except StopIteration as end:
            self.outputs[party] = end.value
            return 0
        if isinstance(asked, Receive):
            self._peer(party, asked.peer)
            self._wishes[party] = asked
            return 0
        return self._put(party, asked)

    def _put(self, party: str, send: Send) -> int:
        record = Record(party, self._peer(party, send.peer), send.name, arrays_of(send))
        self._queues.setdefault((party, record.receiver), deque()).append(record)
        if self.record:
            self.transcript.records.append(record)
        return record.size

    def _take(self, party: str, wish: Receive) -> Arrays | None:
        queue = self._queues.get((self._peer(party, wish.peer), party))
        if not queue:
            return None
        record = queue.popleft()
        wish.check_announced(record.name, {key: describe(value) for key, value in record.arrays.items()})
        wish.check(record.arrays)
        return record.arrays

    def _peer(self, party: str, peer: str) -> str:
        others = [name for name in self.roles if name != party]
        if peer == "peer" and len(others) == 1:
            return others[0]
        if peer not in others:
            raise ProtocolError(
                f"{party!r} speaks of a party that is not there", got=peer, wanted=f"one of {others}"
            )
        return peer

    def _waiting(self) -> str:
        return ", ".join(
            f"{party!r} for {wish.name!r} from {self._peer(party, wish.peer)!r}"
            for party, wish in self._wishes.items()
            if wish is not None
        )


def _plain(name: str) -> np.dtype[Any]:
    """A dtype of plain little-endian numbers."""
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError):
        dtype = np.dtype(object)
    if dtype.char not in _LETTERS or dtype.subdtype is not None:
        raise ParameterError(
            "not a dtype of plain numbers", got=name[:40], wanted='for example "<u8" or "bytes"'
        )
    return dtype.newbyteorder("<")


def _plain_array(name: str, key: str, value: NDArray[Any] | bytes, copy: bool) -> NDArray[Any] | bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, np.ndarray | np.generic):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ProtocolError(
            f"{key!r} of message {name!r} cannot be sent",
            got=type(value).__name__,
            wanted="an array or bytes",
        )
    plain = np.array(value, dtype=_plain(value.dtype.str), order="C", copy=copy or None, subok=False)
    if copy:
        plain.flags.writeable = False
    return plain

"""Frames: what lies on the wire, read and written without a socket.

    length of the rest (4 bytes) | length of the header (2 bytes) | header (msgpack) | raw buffers

A frame has at most 1 MiB. A header is a short list of plain values and never more than 64 KiB: its kind, its
number in this direction (a repeated, lost or reordered frame is refused), and what the kind needs. A message
announces name, dtype and shape of its arrays in its first frame; larger content goes on in further frames.

Reading is a generator that yields the memory to be filled next. So sockets, in-memory channels and the
fuzzer drive the same parser, and nothing is allocated before the announcement has passed the receiver's
check. What a stranger wrote never reaches an error text unless it was cleaned and cut.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from discreet.errors import ParameterError, PeerError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any] | bytes]
    Announced = Mapping[str, tuple[str, tuple[int, ...]]]

__all__ = [
    "ABORT",
    "DONE",
    "HELLO",
    "MOST",
    "NAMES",
    "SURE",
    "Frame",
    "Wish",
    "clean",
    "read_frame",
    "read_message",
    "write",
    "write_message",
]

MOST = 1 << 20
"""The longest frame, in bytes."""

HELLO, MESSAGE, MORE, DONE, SURE, ABORT = range(6)
_FIELDS = {HELLO: (dict,), MESSAGE: (str, list), MORE: (), DONE: (), SURE: (), ABORT: (str,)}
NAMES = {
    HELLO: "a greeting",
    MESSAGE: "a message",
    MORE: "more of a message",
    DONE: "the end",
    SURE: "a last word",
    ABORT: "an abort",
}
"""What the kinds of frames are called in errors."""

_PREFIX = struct.Struct("<IH")
_LONGEST_HEADER = (1 << 16) - 1
_LONGEST_NAME = 100
_MOST_PARTS, _MOST_AXES, _LONGEST_AXIS = 1000, 8, 1 << 40


class Wish(Protocol):
    """What a receiver is ready to take: `discreet.protocols.step.Receive` is one."""

    def check_announced(self, name: str, announced: Announced) -> None:
        """Refuse an announcement, before memory is taken."""
        ...

    def check(self, arrays: Arrays) -> None:
        """Refuse content."""
        ...


@dataclass(frozen=True)
class Frame:
    """A frame's header, parsed and checked: its kind, what the kind needs, and the bytes that follow it."""

    kind: int
    fields: tuple[Any, ...]
    rest: int
    size: int


def write(kind: int, number: int, *fields: object, content: bytes | memoryview = b"") -> bytes:
    """One frame, as the bytes of one write."""
    import msgpack

    header = cast("bytes", msgpack.packb([kind, number, *fields]))
    if len(header) > _LONGEST_HEADER or _PREFIX.size + len(header) + len(content) > MOST:
        raise ParameterError("a frame would be too long", got=len(header) + len(content), wanted=f"<= {MOST}")
    return b"".join((_PREFIX.pack(len(header) + len(content), len(header)), header, content))


def write_message(number: int, name: str, arrays: Arrays) -> Iterator[bytes]:
    """The frames of a message; every one has the next number."""
    if not _is_name(name) or not all(_is_name(key) for key in arrays) or len(arrays) > _MOST_PARTS:
        raise ParameterError(
            "a message needs printable names", got=name[:40], wanted=f"<= {_LONGEST_NAME} letters"
        )
    parts = [[key, *_describe(value)] for key, value in arrays.items()]
    pieces = _Pieces([_raw(value) for value in arrays.values()])
    head = write(MESSAGE, number, name, parts)
    room = MOST - len(head)
    yield write(MESSAGE, number, name, parts, content=pieces.take(room))
    while pieces.left:
        number += 1
        yield write(MORE, number, content=pieces.take(MOST - 32))


def read_frame(number: int) -> Generator[memoryview, None, Frame]:
    """Read one header, whose number must be this one: yields memory to fill.

    Raises `ProtocolError`, or `PeerError` if the peer says that it gave up.
    """
    prefix = bytearray(_PREFIX.size)
    yield memoryview(prefix)
    length, header_length = _PREFIX.unpack(prefix)
    if length > MOST - _PREFIX.size:
        raise ProtocolError("a frame is too long", got=length, wanted=f"<= {MOST - _PREFIX.size} bytes")
    if not 0 < header_length <= length:
        raise ProtocolError(
            "a frame's header does not fit in it", got=header_length, wanted=f"1 to {length} bytes"
        )
    header = bytearray(header_length)
    yield memoryview(header)
    kind, fields = _parse(bytes(header), number)
    if kind not in (MESSAGE, MORE) and length != header_length:
        raise ProtocolError(
            "a frame of this kind has no content", got=length - header_length, wanted="0 bytes"
        )
    if kind == ABORT:
        raise PeerError("the other party gave up", got=clean(fields[0]), remedy="Ask the other side why.")
    return Frame(kind, fields, length - header_length, length + _PREFIX.size)


def read_message(number: int, wish: Wish) -> Generator[memoryview, None, tuple[Arrays, int, int]]:
    """Read one message that meets the wish: its arrays, the next number, and the bytes read."""
    frame = yield from read_frame(number)
    if frame.kind != MESSAGE:
        raise ProtocolError("a message was due", got=NAMES[frame.kind], wanted="a message")
    announced = _announced(frame.fields[1])
    wish.check_announced(clean(frame.fields[0]), announced)
    arrays = {key: _room(dtype, shape) for key, (dtype, shape) in announced.items()}
    pieces = _Pieces([_raw(value) for value in arrays.values()])
    size = 0
    while True:
        if frame.rest > pieces.left:
            raise ProtocolError(
                "a message is longer than announced", got=frame.rest, wanted=f"<= {pieces.left} bytes"
            )
        if pieces.left and not frame.rest:
            raise ProtocolError("a message goes on with an empty frame", wanted=f"{pieces.left} more bytes")
        yield from pieces.views(frame.rest)
        size += frame.size
        number += 1
        if not pieces.left:
            break
        frame = yield from read_frame(number)
        if frame.kind != MORE:
            raise ProtocolError(
                "a message broke off", got=NAMES[frame.kind], wanted=f"{pieces.left} more bytes"
            )
    finished = {key: _finish(value) for key, value in arrays.items()}
    wish.check(finished)
    return finished, number, size


def clean(text: str) -> str:
    """Text of a stranger, printable and short."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_NAME])


class _Pieces:
    """Buffers laid end to end: takes bytes from the front, whatever borders lie between."""

    def __init__(self, buffers: list[memoryview]) -> None:
        self._buffers = [buffer for buffer in buffers if len(buffer)]
        self._buffers.reverse()
        self.left = sum(map(len, self._buffers))

    def views(self, count: int) -> Generator[memoryview]:
        """The next bytes, as views of the buffers."""
        self.left -= count
        while count:
            buffer = self._buffers.pop()
            if len(buffer) > count:
                self._buffers.append(buffer[count:])
                buffer = buffer[:count]
            count -= len(buffer)
            yield buffer

    def take(self, most: int) -> bytes | memoryview:
        """At most so many of the next bytes, in one piece."""
        views = list(self.views(min(most, self.left)))
        return views[0] if len(views) == 1 else b"".join(views)


def _parse(header: bytes, number: int) -> tuple[int, tuple[Any, ...]]:
    """Kind and fields of a header; every type is checked before it is used."""
    import msgpack

    try:
        plain = msgpack.unpackb(header, use_list=True, strict_map_key=True, max_ext_len=0)
    except (ValueError, msgpack.UnpackException, RecursionError):
        plain = None
    if not isinstance(plain, list) or len(plain) < 2 or type(plain[0]) is not int or plain[0] not in _FIELDS:
        raise ProtocolError("a frame has no readable header", wanted="kind, number, fields")
    kind, got, *fields = plain
    if type(got) is not int or got != number:
        shown = got if type(got) is int else type(got).__name__
        raise ProtocolError("a frame is out of order", got=shown, wanted=f"number {number}")
    if tuple(map(type, fields)) != _FIELDS[kind]:
        raise ProtocolError("a frame's header has other fields", got=len(fields), wanted=NAMES[kind])
    return kind, tuple(fields)


def _announced(parts: list[Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The arrays that a header announces."""
    if len(parts) > _MOST_PARTS:
        raise ProtocolError("a message has too many parts", got=len(parts), wanted=f"<= {_MOST_PARTS}")
    announced: dict[str, tuple[str, tuple[int, ...]]] = {}
    for part in parts:
        if not (isinstance(part, list) and tuple(map(type, part)) == (str, str, list) and _is_shape(part[2])):
            raise ProtocolError("a message announces what is no array", wanted="key, dtype, shape")
        announced[clean(part[0])] = (clean(part[1]), tuple(part[2]))
    if len(announced) != len(parts):
        raise ProtocolError("a message names a part twice")
    return announced


def _is_shape(shape: list[Any]) -> bool:
    return len(shape) <= _MOST_AXES and all(
        type(axis) is int and 0 <= axis <= _LONGEST_AXIS for axis in shape
    )


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _describe(value: NDArray[Any] | bytes) -> tuple[str, list[int]]:
    return ("bytes", [len(value)]) if isinstance(value, bytes) else (value.dtype.str, list(value.shape))


def _raw(value: NDArray[Any] | bytes | bytearray) -> memoryview:
    """The memory of a contiguous array, byte by byte."""
    if isinstance(value, bytes | bytearray):
        return memoryview(value)
    return memoryview(cast("Any", value.reshape(-1).view(np.uint8)))


def _room(dtype: str, shape: tuple[int, ...]) -> NDArray[Any] | bytearray:
    """Memory for an announced array that has passed the check."""
    return bytearray(math.prod(shape)) if dtype == "bytes" else np.empty(shape, dtype)


def _finish(value: NDArray[Any] | bytearray) -> NDArray[Any] | bytes:
    if isinstance(value, bytearray):
        return bytes(value)
    value.flags.writeable = False
    return value

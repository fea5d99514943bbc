"""Plain data, arrays and errors as bytes, between a process and those it started. Nothing is executed by
reading it."""

from __future__ import annotations

import os
import struct
import traceback
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from discreet import errors
from discreet.errors import DiscreetError, ParameterError, PartyError, PeerError

__all__ = ["defect", "error_of", "pack", "plain_error", "read", "unpack", "write"]

_ARRAY, _LARGE, _TUPLE = 1, 2, 3
_LENGTH = struct.Struct("<Q")


def pack(plain: Any) -> bytes:
    """Numbers of any size, texts, bytes, lists, tuples, dicts and arrays of numbers, as bytes."""
    import msgpack

    return cast("bytes", msgpack.packb(_mark(plain), default=_other, strict_types=True))


def unpack(data: bytes) -> Any:
    """What was packed."""
    import msgpack

    return msgpack.unpackb(data, ext_hook=_back, strict_map_key=False)


def write(file: IO[bytes], plain: Any) -> None:
    """Write one parcel."""
    data = pack(plain)
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def read(file: IO[bytes]) -> Any:
    """Read one parcel, or raise `PeerError` if the writer is gone."""
    head = file.read(_LENGTH.size)
    if len(head) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        data = file.read(length)
        if len(data) == length:
            return unpack(data)
    raise PeerError("a process of the rehearsal went away", remedy="Its own words are above.")


def plain_error(error: DiscreetError) -> dict[str, Any]:
    """An error of ours as plain data."""
    got = error.got if isinstance(error.got, str | int | float | None) else str(error.got)
    words = {"what": error.what, "got": got, "wanted": error.wanted, "remedy": error.remedy}
    return {"type": type(error).__name__, **words}


def error_of(plain: dict[str, Any]) -> DiscreetError:
    """The error back from plain data."""
    words = dict(plain)
    name = words.pop("type")
    kind = getattr(errors, name) if name in errors.__all__ else PartyError
    return kind(words.pop("what"), **words)


def defect(role: str, error: Exception) -> PartyError:
    """What is told of an error that is not ours: where it happened, but not its message."""
    if os.environ.get("DISCREET_TRACEBACK") == "1":
        traceback.print_exc()
    last = traceback.extract_tb(error.__traceback__)[-1]
    return PartyError(
        f"the role {role!r} failed",
        got=f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}",
        remedy="Its message is held back: it may quote private values. DISCREET_TRACEBACK=1 shows it.",
    )


def _mark(plain: Any) -> Any:
    """Large integers are marked at any depth: msgpack asks for help with types only."""
    if isinstance(plain, dict):
        return {key: _mark(value) for key, value in cast("dict[Any, Any]", plain).items()}
    if isinstance(plain, list):
        return [_mark(value) for value in cast("list[Any]", plain)]
    if type(plain) is int and not -(1 << 63) <= plain < 1 << 64:
        return _large(plain)
    return plain


def _other(plain: Any) -> Any:
    import msgpack

    if isinstance(plain, np.ndarray) and plain.dtype.kind in "biufc":
        whole = np.ascontiguousarray(plain)
        return msgpack.ExtType(_ARRAY, pack([whole.dtype.str, list(plain.shape), whole.tobytes()]))
    if isinstance(plain, np.bool_ | np.integer | np.floating):
        return _mark(plain.item())
    if isinstance(plain, tuple):
        return msgpack.ExtType(_TUPLE, pack(list(cast("tuple[Any, ...]", plain))))
    raise ParameterError(
        "only plain data goes between processes",
        got=type(plain).__name__,
        wanted="numbers, texts, bytes, arrays",
    )


def _large(plain: int) -> Any:
    import msgpack

    return msgpack.ExtType(_LARGE, plain.to_bytes(plain.bit_length() // 8 + 1, "little", signed=True))


def _back(code: int, data: bytes) -> Any:
    if code == _LARGE:
        return int.from_bytes(data, "little", signed=True)
    if code == _TUPLE:
        return tuple(unpack(data))
    if code == _ARRAY:
        dtype, shape, raw = unpack(data)
        return np.frombuffer(raw, dtype).reshape(shape).copy()
    raise ParameterError("not a parcel", got=code)

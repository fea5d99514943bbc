"""A party whose wire misbehaves at one chosen frame, and otherwise does what it should."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from discreet.errors import PartyError
from discreet.protocols.step import Transcript, run_parties
from discreet.randomness import Bits, seeded
from discreet.session import Outcome, run
from discreet.wire import frame
from discreet.wire.channel import Channel, Stream
from discreet.wire.memory import pipe

SILENCE = 30.0
WHOLE = 600.0
GREETING, END, LAST = "(greeting)", "(end)", "(last word)"


@dataclass(frozen=True)
class Target:
    """One frame: from whom, to whom, which message, its how manieth, and which of its frames."""

    sender: str
    receiver: str
    name: str
    turn: int = 0
    part: int = 0

    def __str__(self) -> str:
        return f"{self.sender} to {self.receiver}: {self.name} {self.turn}.{self.part}"


def targets(transcript: Transcript) -> list[Target]:
    """Greeting, end, and of every message the first and last time it is sent, first and last frame."""
    turns: dict[tuple[str, str, str], list[int]] = {}
    for record in transcript:
        frames = len(list(frame.write_message(0, record.name, record.arrays)))
        turns.setdefault((record.sender, record.receiver, record.name), []).append(frames)
    chosen = [
        Target(*key, turn, part)
        for key, counts in turns.items()
        for turn in sorted({0, len(counts) - 1})
        for part in sorted({0, counts[turn] - 1})
    ]
    ways = sorted({(key[0], key[1]) for key in turns})
    return [Target(*way, name) for way in ways for name in (GREETING, END, LAST)] + chosen


class Saboteur:
    """A stream that does something wrong when its frame comes."""

    def __init__(self, stream: Stream, target: Target, fault: "Fault") -> None:
        self._stream = stream
        self.target, self.fault = target, fault
        self.done = False
        self.quiet = False
        self.kept: list[bytes] = []
        self._turns: dict[str, int] = {}
        self._part = 0
        self._name = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, data: bytes) -> None:
        if self.quiet:
            return
        if self._is_due(data) and not self.done:
            self.done = True
            self.fault(self, data)
            return
        self.deliver(data)
        while self.kept:
            self.deliver(self.kept.pop())

    def deliver(self, data: bytes) -> None:
        self._stream.write(data)

    def _is_due(self, data: bytes) -> bool:
        kind, _, *fields = header_of(data)
        if kind == frame.MORE:
            self._part += 1
        else:
            self._part = 0
            self._name = {
                frame.HELLO: GREETING,
                frame.DONE: END,
                frame.SURE: LAST,
                frame.ABORT: "(abort)",
            }.get(kind) or fields[0]
            self._turns[self._name] = self._turns.get(self._name, -1) + 1
        at = (self._name, self._turns[self._name], self._part)
        return at == (self.target.name, self.target.turn, self.target.part)


class NeverSent(AssertionError):
    """The frame to be sabotaged was never sent, so the run says nothing about the fault."""


Fault = Callable[[Saboteur, bytes], None]


def header_of(data: bytes) -> list[Any]:
    length = struct.unpack_from("<H", data, 4)[0]
    return msgpack.unpackb(data[6 : 6 + length])


def rewrite(data: bytes, change: Callable[[list[Any]], None]) -> bytes:
    """The frame with another header."""
    length = struct.unpack_from("<H", data, 4)[0]
    plain = header_of(data)
    change(plain)
    header = msgpack.packb(plain)
    return struct.pack("<IH", len(data) - 6 - length + len(header), len(header)) + header + data[6 + length :]


def killed(wire: Saboteur, data: bytes) -> None:
    wire.cut()


def stalls(wire: Saboteur, data: bytes) -> None:
    wire.quiet = True


def truncated(wire: Saboteur, data: bytes) -> None:
    wire.deliver(data[: len(data) // 2])
    wire.cut()


def truncated_and_stalls(wire: Saboteur, data: bytes) -> None:
    wire.deliver(data[:-1])
    wire.quiet = True


def shorter(wire: Saboteur, data: bytes) -> None:
    """The last bytes of the frame are missing, and the next frame follows at once."""
    wire.deliver(data[:-1])


def oversized(wire: Saboteur, data: bytes) -> None:
    wire.deliver(struct.pack("<IH", 1 << 31, 100) + data[6:])


def too_long_by_one(wire: Saboteur, data: bytes) -> None:
    wire.deliver(struct.pack("<I", len(data) - 5) + data[4:] + b"\0")


def repeated(wire: Saboteur, data: bytes) -> None:
    wire.deliver(data)
    wire.deliver(data)


def skipped(wire: Saboteur, data: bytes) -> None:
    """The frame is lost, and the rest goes on; if nothing follows this is a stall."""


def reordered(wire: Saboteur, data: bytes) -> None:
    wire.kept.append(data)


def random(wire: Saboteur, data: bytes) -> None:
    wire.deliver(seeded(len(data)).bytes(len(data)))


def random_header(wire: Saboteur, data: bytes) -> None:
    length = struct.unpack_from("<H", data, 4)[0]
    wire.deliver(data[:6] + seeded(length).bytes(length) + data[6 + length :])


def renumbered(wire: Saboteur, data: bytes) -> None:
    def change(plain: list[Any]) -> None:
        plain[1] += 1

    wire.deliver(rewrite(data, change))


def another_kind(wire: Saboteur, data: bytes) -> None:
    kind, number = header_of(data)[:2]
    wire.deliver(frame.write(frame.SURE if kind == frame.DONE else frame.DONE, number))


def gives_up(wire: Saboteur, data: bytes) -> None:
    wire.deliver(frame.write(frame.ABORT, header_of(data)[1], "no more"))


def renamed(wire: Saboteur, data: bytes) -> None:
    def change(plain: list[Any]) -> None:
        if plain[0] == frame.MESSAGE:
            plain[2] = "another"
        else:
            plain.append("another")

    wire.deliver(rewrite(data, change))


def larger_than_agreed(wire: Saboteur, data: bytes) -> None:
    def change(plain: list[Any]) -> None:
        if plain[0] == frame.MESSAGE and plain[3]:
            plain[3][0][2] = [1 << 36]
        else:
            plain.append([1 << 36])

    wire.deliver(rewrite(data, change))


def another_dtype(wire: Saboteur, data: bytes) -> None:
    def change(plain: list[Any]) -> None:
        if plain[0] == frame.MESSAGE and plain[3]:
            plain[3][0][1] = "O"
        else:
            plain.append("O")

    wire.deliver(rewrite(data, change))


FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        killed,
        stalls,
        truncated,
        truncated_and_stalls,
        shorter,
        oversized,
        too_long_by_one,
        repeated,
        skipped,
        reordered,
        random,
        random_header,
        renumbered,
        another_kind,
        gives_up,
        renamed,
        larger_than_agreed,
        another_dtype,
    )
}

HARMLESS_AT_THE_END = {"repeated", "too_long_by_one"}
"""What follows a party's last frame is not read any more."""


def honest(case: Any) -> tuple[dict[str, Any], Transcript]:
    """The outputs and messages of a run without faults."""
    return run_parties(case.make(bits_of))


def bits_of(name: str) -> Bits:
    return seeded(sum(name.encode()))


Ends = Callable[[str, str], Awaitable[tuple[Stream, Stream]]]


async def in_memory(one: str, two: str) -> tuple[Stream, Stream]:
    return pipe()


async def perform(
    case: Any,
    target: Target | None,
    fault: Fault | None,
    *,
    connect: Ends = in_memory,
    silence: float = SILENCE,
    choice: int = 0,
    patience: Mapping[str, float] | None = None,
) -> dict[str, Outcome | BaseException]:
    """Run all parties in one loop, one of them sabotaged; how it ended for each of them."""
    wires: dict[str, dict[str, Channel]] = {name: {} for name in case.roles}
    names = list(case.roles)
    for at, one in enumerate(names):
        for two in names[at + 1 :]:
            ends: dict[str, Any] = dict(zip((one, two), await connect(one, two), strict=True))
            if target is not None and {one, two} == {target.sender, target.receiver}:
                ends[target.sender] = Saboteur(ends[target.sender], target, fault)
            wires[one][two] = Channel(ends[one], silence=(patience or {}).get(one, silence))
            wires[two][one] = Channel(ends[two], silence=(patience or {}).get(two, silence))
    roles = case.make(bits_of, choice)
    prints = {one: wires[two][one].fingerprint for two in names for one in wires[two]}

    async def one_of(name: str) -> Outcome:
        mine = {"fingerprint": prints[name], "whole": WHOLE, "bits": seeded(1)}
        return await run(case.plan, name, roles[name], wires[name], **mine)

    ended = await asyncio.gather(*map(one_of, names), return_exceptions=True)
    if target is not None and not wires[target.sender][target.receiver].stream.done:
        raise NeverSent(str(target))
    assert all(role.gi_frame is None for role in roles.values()), "a role is still open"
    return dict(zip(names, ended, strict=True))


def garbled(wire: Saboteur, data: bytes) -> None:
    """A frame that is in order, with other content: what a peer that lies may always send."""
    length = struct.unpack_from("<H", data, 4)[0] + 6
    wire.deliver(data[:length] + seeded(length).bytes(len(data) - length))


def is_clear(error: object) -> bool:
    """Whether an error is one of ours, and short."""
    return isinstance(error, PartyError) and len(str(error)) < 500


def knows_no_better(target: Target, role: str) -> bool:
    """A fault in the two closing words is sure to be noticed by their receiver only (two generals)."""
    return target.name in (END, LAST) and role != target.receiver


def check(target: Target, fault: str, ended: dict[str, Outcome | BaseException]) -> None:
    """Nobody has an output, everybody has a clear error."""
    for role, outcome in ended.items():
        if not knows_no_better(target, role):
            assert not isinstance(outcome, Outcome), f"{fault} at {target}: {role} got an output"
            assert is_clear(outcome), f"{fault} at {target}: {role} ended with {outcome!r}"

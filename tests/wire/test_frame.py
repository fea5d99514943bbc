"""The parser of frames against strangers: whatever comes in ends in a message or in one of our errors."""

import asyncio
import struct
import tracemalloc

import msgpack
import numpy as np
import pytest

from discreet.errors import DiscreetError, ParameterError, PeerError, ProtocolError
from discreet.protocols.step import Limit, Receive
from discreet.wire import frame
from discreet.wire.channel import Channel
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial, listen

WISH = Receive(
    "a/b", {"x": Limit.array("<u8", (40,)), "y": Limit("bytes", None, 64), "z": Limit("|u1", None, 99)}
)
ARRAYS = {"x": np.arange(40, dtype="<u8"), "y": b"some bytes", "z": np.arange(6, dtype="|u1").reshape(2, 3)}


class Ended(Exception):
    """There is nothing more to read."""


def parse(data, wish=WISH, number=0):
    """Drive the parser over bytes."""
    reading = frame.read_message(number, wish)
    at = 0
    try:
        view = next(reading)
        while True:
            if at + len(view) > len(data):
                raise Ended
            view[:] = data[at : at + len(view)]
            at += len(view)
            view = reading.send(None)
    except StopIteration as end:
        return end.value[0]


def valid(arrays=ARRAYS):
    return b"".join(frame.write_message(0, "a/b", arrays))


def header(*fields, content=b""):
    packed = msgpack.packb(list(fields))
    return struct.pack("<IH", len(packed) + len(content), len(packed)) + packed + content


def mutate(data, draw):
    """A frame with something wrong: flipped, cut, lengthened, spliced, or with another header."""
    data = bytearray(data)
    kind = draw.integers(8)
    if kind == 0:
        data[draw.integers(len(data))] ^= 1 << draw.integers(8)
    elif kind == 1:
        data = data[: draw.integers(len(data))]
    elif kind == 2:
        data[draw.integers(len(data))] = draw.integers(256)
        data[draw.integers(6)] = draw.integers(256)
    elif kind == 3:
        at = draw.integers(len(data))
        data[at:at] = draw.bytes(draw.integers(1, 30))
    elif kind == 4:
        data = bytearray(draw.bytes(draw.integers(1, 300)))
    elif kind == 5:
        data[6:] = draw.bytes(len(data) - 6)
    elif kind == 6:
        data = bytearray(
            header(*[any_plain(draw, 0) for _ in range(draw.integers(6))], content=draw.bytes(9))
        )
    else:
        parts = [[any_plain(draw, 2) for _ in range(3)] for _ in range(draw.integers(4))]
        data = bytearray(header(1, 0, "a/b", parts, content=draw.bytes(draw.integers(99))))
    return bytes(data)


def any_plain(draw, depth):
    """Any plain value that msgpack can carry."""
    choices = [
        lambda: int(draw.integers(-5, 300)),
        lambda: int(draw.integers(0, 2**63)),
        lambda: float(draw.normal()),
        lambda: draw.bytes(draw.integers(9)).decode("latin1"),
        lambda: draw.choice(["a/b", "x", "y", "z", "<u8", "bytes", "|u1", "O", "<U9"]).item(),
        lambda: draw.bytes(draw.integers(9)),
        lambda: [any_plain(draw, depth + 1) for _ in range(draw.integers(4))] if depth < 4 else None,
        lambda: (
            {str(at): any_plain(draw, depth + 1) for at in range(draw.integers(3))} if depth < 4 else None
        ),
        lambda: bool(draw.integers(2)),
        lambda: msgpack.ExtType(5, b"x"),
        lambda: None,
    ]
    return choices[draw.integers(len(choices))]()


def outcome(data):
    """How the parser takes it: what came out, or the kind of error. Anything else fails the test."""
    try:
        got = parse(data)
    except (ProtocolError, PeerError, Ended) as error:
        return type(error)
    assert set(got) == {"x", "y", "z"}
    assert got["x"].shape == (40,)
    assert len(got["y"]) <= 64
    return dict


def test_a_valid_message_is_read():
    got = parse(valid())
    assert np.array_equal(got["x"], ARRAYS["x"])
    assert got["y"] == b"some bytes"
    assert got["z"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("shape", [[0, 1 << 40, 1 << 40], [1 << 40, 0, 1 << 40], [0, *[1 << 40] * 7]])
def test_an_empty_array_that_numpy_cannot_make_is_refused(shape):
    """It has no bytes, so no limit of size stops it."""
    with pytest.raises(ProtocolError, match="not what was agreed"):
        parse(header(1, 0, "a/b", [["x", "<u8", shape]]), Receive("a/b", {"x": Limit("<u8", None, 100)}))


def test_twelve_thousand_frames_of_a_stranger_end_in_a_message_or_in_our_errors():
    draw = np.random.default_rng(20260101)
    data = valid()
    seen = {}
    for _ in range(12_000):
        kind = outcome(mutate(data, draw))
        seen[kind] = seen.get(kind, 0) + 1
    assert sum(seen.values()) == 12_000
    assert min(seen[kind] for kind in (ProtocolError, Ended, dict)) > 100  # every way out was tried


def test_strange_frames_take_no_memory():
    """The wish allows some 500 bytes: a thousand frames of a stranger never take a megabyte."""
    draw = np.random.default_rng(5)
    frames = [mutate(valid(), draw) for _ in range(1_000)]
    frames += [header(1, 0, "a/b", [["x", "<u8", [1 << size]]]) for size in range(41)]
    frames += [header(1, 0, "a/b", [[str(at), "<u8", [1 << 20]] for at in range(900)])]
    tracemalloc.start()
    try:
        for data in frames:
            outcome(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (struct.pack("<IH", 1 << 20, 10), "too long"),
        (struct.pack("<IH", 10, 0), "does not fit"),
        (struct.pack("<IH", 10, 11), "does not fit"),
        (header(), "readable"),
        (header(1), "readable"),
        (header(9, 0), "readable"),
        (header(True, 0, "a/b", []), "readable"),
        (header("1", 0), "readable"),
        (struct.pack("<IH", 3, 3) + b"\xc1\xc1\xc1", "readable"),
        (struct.pack("<IH", 300, 300) + b"\x91" * 300, "readable"),
        (struct.pack("<IH", 5, 5) + b"\xdf\xff\xff\xff\xff", "readable"),
        (header(1, 1, "a/b", []), "out of order; got 1; wanted number 0"),
        (header(1, "0", "a/b", []), "out of order; got 'str'"),
        (header(1, False, "a/b", []), "out of order"),
        (header(1, 0), "other fields"),
        (header(1, 0, b"a/b", []), "other fields"),
        (header(1, 0, "a/b", {}), "other fields"),
        (header(1, 0, "a/b", [], 1), "other fields"),
        (header(3, 0), "a message was due; got 'the end'"),
        (header(3, 0, content=b"more"), "no content"),
        (header(2, 0), "a message was due"),
        (header(1, 0, "a/b", [1]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8"]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", 40]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", [-1]]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", [1 << 41]]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", [True]]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", [1] * 9]]), "no array"),
        (header(1, 0, "a/b", [["x", "<u8", [40]], ["x", "<u8", [40]]]), "twice"),
        (header(1, 0, "a/b", [[str(at), "<u8", [1]] for at in range(1001)]), "too many parts"),
        (header(1, 0, "a/c", []), "not due"),
        (header(1, 0, "a/b", [["x", "<u8", [40]]]), "other parts"),
        (header(1, 0, "a/b", [["x", "O", [40]], ["y", "bytes", [1]], ["z", "|u1", []]]), "O instead of <u8"),
        (header(1, 0, "a/b", [["x", "<u8", [40]], ["y", "bytes", [65]], ["z", "|u1", []]]), "65 bytes"),
        (valid()[:-1] + b"" + header(2, 1, content=bytes(400)), None),
    ],
)
def test_a_strange_frame_is_refused_with_its_reason(data, match):
    if match is None:
        data = header(1, 0, "a/b", msgpack.unpackb(valid()[6 : 6 + valid()[4]])[3]) + header(
            2, 1, content=bytes(400)
        )
        match = "empty frame"
    with pytest.raises(ProtocolError, match=match):
        parse(data)


def test_more_content_than_announced_is_refused():
    first = valid()
    with pytest.raises(ProtocolError, match="longer than announced"):
        parse(struct.pack("<I", len(first) - 4) + first[4:] + bytes(2))


def test_a_message_that_breaks_off_is_refused():
    big = {**ARRAYS, "x": np.zeros(1 << 18, "<u8")}
    wish = Receive("a/b", {**WISH.limits, "x": Limit.array("<u8", (1 << 18,))})
    frames = list(frame.write_message(0, "a/b", big))
    assert len(frames) == 3
    assert parse(b"".join(frames), wish)["x"].size == 1 << 18
    with pytest.raises(ProtocolError, match="out of order"):
        parse(frames[0] + frames[2], wish)
    with pytest.raises(ProtocolError, match="broke off; got 'the end'"):
        parse(frames[0] + header(3, 1), wish)
    with pytest.raises(ProtocolError, match="out of order; got 0; wanted number 1"):
        parse(frames[0] + frames[0], wish)


def test_the_words_of_a_stranger_are_cleaned_and_cut():
    with pytest.raises(PeerError) as caught:
        parse(header(5, 0, "\x1b[31m" + "a" * 5000))
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300
    with pytest.raises(ProtocolError) as caught:
        parse(header(1, 0, "\n" * 60_000, []))
    assert len(str(caught.value)) < 300


def test_frames_that_are_too_long_are_not_written():
    with pytest.raises(ParameterError, match="too long"):
        frame.write(0, 0, {"a": "b" * 70_000})


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    return home.new("one"), home.new("two")


def test_strange_frames_over_tls_end_in_our_errors(homes):
    """300 connections of a party whose certificate is right and whose frames are not."""
    one, two = homes

    async def go():
        draw = np.random.default_rng(77)
        listener = await listen(one, [two.card], Place("127.0.0.1", 0))
        seen = {}
        for _ in range(300):
            dialled, (_, accepted) = await asyncio.gather(
                dial(two, one.card, listener.place, wait=20), listener.accept(20)
            )
            dialled.write(mutate(valid(), draw))
            await dialled.close()
            channel = Channel(accepted, silence=20)
            try:
                await channel.receive(WISH, "a")
                kind = dict
            except DiscreetError as error:
                kind = type(error)
            await channel.abort("enough")
            seen[kind] = seen.get(kind, 0) + 1
        await listener.close()
        return seen

    seen = asyncio.run(go())
    assert set(seen) <= {dict, ProtocolError, PeerError}
    assert min(seen.values()) > 5

"""Every channel, in memory and over TLS, passes the same tests."""

import asyncio
import tracemalloc
from contextlib import asynccontextmanager

import numpy as np
import pytest

from discreet.errors import LateError, ParameterError, PeerError, ProtocolError
from discreet.protocols.step import Limit, Receive, Send, arrays_of
from discreet.wire import frame
from discreet.wire.channel import Channel
from discreet.wire.identity import Home
from discreet.wire.memory import pipe
from discreet.wire.tls import Place, dial, listen

BLOCK = np.arange(1 << 17, dtype="<u8")  # 1 MiB
FEW = BLOCK[:100]


@asynccontextmanager
async def memory(homes, silence):
    first, second = pipe()
    yield Channel(first, silence=silence), Channel(second, silence=silence)
    first.cut()


@asynccontextmanager
async def tls(homes, silence):
    one, two = homes
    listener = await listen(one, [two.card], Place("127.0.0.1", 0))
    dialled, (_, accepted) = await asyncio.gather(
        dial(two, one.card, listener.place, wait=20), listener.accept(20)
    )
    yield Channel(accepted, silence=silence), Channel(dialled, silence=silence)
    for stream in (dialled, accepted):
        stream.cut()
    await listener.close()


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    return home.new("one"), home.new("two")


@pytest.fixture(params=[memory, tls], ids=["memory", "tls"])
def connect(request, homes):
    """Run a test with two connected channels."""

    def run(test, silence=20.0):
        async def go():
            async with request.param(homes, silence) as (one, two):
                return await test(one, two)

        return asyncio.run(go())

    return run


def wish(name, **arrays):
    limits = {
        key: Limit.raw(len(value)) if isinstance(value, bytes) else Limit.array(value.dtype.str, value.shape)
        for key, value in arrays.items()
    }
    return Receive(name, limits)


async def give(channel, name="x", **arrays):
    await channel.send(name, arrays_of(Send(name, arrays)), name)


@pytest.mark.parametrize(
    "dtype", ["?", "<u1", "<i2", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", ">u4", "bytes"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_arrive_as_they_were(connect, dtype, shape):
    if dtype == "bytes":
        sent = bytes(range(int(np.prod(shape))))
    else:
        sent = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)

    async def test(one, two):
        await give(one, x=sent)
        plain = sent if isinstance(sent, bytes) else sent.astype(sent.dtype.newbyteorder("<"))
        return (await two.receive(wish("x", x=plain), "x"))["x"]

    got = connect(test)
    if dtype == "bytes":
        assert got == sent
    else:
        assert np.array_equal(got, sent)
        assert not got.flags.writeable


def test_long_messages_are_split_into_frames_of_one_mebibyte(connect):
    sent = {
        "a": np.arange(700_001, dtype="<u8"),
        "b": bytes(3_000_000),
        "c": np.zeros(0),
        "d": np.ones(3, "<u2"),
    }

    async def test(one, two):
        sizes = []
        write = one.stream.write
        one.stream.write = lambda data: (sizes.append(len(data)), write(data))
        got, _ = await asyncio.gather(two.receive(wish("x", **sent), "x"), give(one, **sent))
        return got, sizes

    got, sizes = connect(test)
    assert all(np.array_equal(got[key], sent[key]) for key in ("a", "c", "d"))
    assert got["b"] == sent["b"]
    assert max(sizes) <= 1 << 20
    assert len(sizes) == 9


def test_messages_arrive_in_order(connect):
    async def test(one, two):
        async def talk():
            for at in range(300):
                await give(one, f"m{at}", x=np.array(at))

        async def hear():
            return [int((await two.receive(wish(f"m{at}", x=np.array(at)), "m"))["x"]) for at in range(300)]

        return (await asyncio.gather(hear(), talk()))[0]

    assert connect(test) == list(range(300))


def test_two_who_talk_at_once_both_go_on(connect):
    async def test(one, two):
        async def side(mine):
            for _ in range(12):
                await give(mine, x=BLOCK)
            for _ in range(12):
                got = await mine.receive(wish("x", x=BLOCK), "x")
            return np.array_equal(got["x"], BLOCK)

        return await asyncio.gather(side(one), side(two))

    assert connect(test) == [True, True]


def test_who_sends_waits_for_who_reads(connect):
    async def test(one, two):
        sent = 0

        async def talk():
            nonlocal sent
            for _ in range(40):
                await give(one, x=BLOCK)
                sent += 1

        talking = asyncio.ensure_future(talk())
        await asyncio.sleep(0.3)
        early = sent
        for _ in range(40):
            await two.receive(wish("x", x=BLOCK), "x")
        await talking
        return early, sent

    early, sent = connect(test)
    assert early < 20  # what fits into the buffers of the system
    assert sent == 40


def test_a_silent_peer_ends_in_an_error(connect):
    async def test(one, two):
        with pytest.raises(LateError, match=r"silent.*0.05 seconds"):
            await one.receive(wish("x"), "x")

    connect(test, silence=0.05)


def test_half_a_frame_ends_in_an_error(connect):
    async def test(one, two):
        two.stream.write(next(iter(frame.write_message(0, "x", {"x": BLOCK[:100]})))[:-3])
        with pytest.raises(LateError):
            await one.receive(wish("x", x=BLOCK[:100]), "x")

    connect(test, silence=0.05)


def test_a_peer_that_does_not_read_ends_in_an_error(connect):
    async def test(one, two):
        with pytest.raises(LateError, match="did not read"):
            for _ in range(60):
                await give(one, x=BLOCK)

    connect(test, silence=0.1)


def test_a_lost_peer_ends_in_an_error_on_both_ways(connect):
    async def test(one, two):
        two.stream.cut()
        with pytest.raises(PeerError, match="went away"):
            await one.receive(wish("x"), "x")
        with pytest.raises(PeerError, match="went away"):
            await give(one)

    connect(test)


def test_a_peer_that_gives_up_is_heard(connect):
    async def test(one, two):
        await two.abort("a word")
        with pytest.raises(PeerError, match="gave up; got 'a word'"):
            await one.receive(wish("x"), "x")

    connect(test)


def test_a_peer_that_gives_up_is_heard_while_we_talk(connect):
    async def test(one, two):
        async def talk():
            for _ in range(60):
                await give(one, x=BLOCK)

        async def leave():
            await two.receive(wish("x", x=BLOCK), "x")
            await two.abort("enough")

        with pytest.raises(PeerError, match=r"gave up; got 'enough'|went away"):
            await asyncio.gather(talk(), leave())

    connect(test)


@pytest.mark.parametrize(
    "wanted",
    [
        wish("y", x=FEW),
        wish("x", y=FEW),
        wish("x", x=FEW[1:]),
        wish("x", x=FEW.view("<i8")),
        wish("x"),
    ],
)
def test_what_was_not_asked_for_is_refused(connect, wanted):
    async def test(one, two):
        sending = asyncio.ensure_future(give(one, x=FEW))
        with pytest.raises(ProtocolError):
            await two.receive(wanted, "x")
        await sending

    connect(test)


def test_an_announcement_takes_no_memory(connect):
    """A peer announces 1 TiB: refused on the header alone."""

    async def test(one, two):
        parts = [["x", "<u8", [1 << 37]]]
        one.stream.write(frame.write(1, 0, "x", parts, content=bytes(8)))
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match="at most 80"):
                await two.receive(Receive("x", {"x": Limit("<u8", None, 80)}), "x")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert connect(test) < 1 << 20


def test_counts_agree_on_both_sides(connect):
    async def test(one, two):
        await give(one, x=BLOCK[:10])
        await give(one, x=BLOCK[:10])
        for _ in range(2):
            await two.receive(wish("x", x=BLOCK[:10]), "x")
        await give(two, "y", x=BLOCK[:3])
        await one.receive(wish("y", x=BLOCK[:3]), "y")
        return one.meter, two.meter

    one, two = connect(test)
    assert one.phases["x"].sent == two.phases["x"].received > 160
    assert one.phases["y"].received == two.phases["y"].sent > 24
    assert one.total().rounds == two.total().rounds == 2
    assert one.total().messages == two.total().messages == 3
    assert list(one.to_dict()) == ["x", "y"]


def test_greetings_and_ends_are_not_messages(connect):
    async def test(one, two):
        one.greet({"a": "b"})
        one.finish()
        assert await two.greeting() == {"a": "b"}
        with pytest.raises(ProtocolError, match="a message was due; got 'the end'"):
            await two.receive(wish("x"), "x")

    connect(test)


def test_names_that_cannot_be_read_are_not_sent(connect):
    async def test(one, two):
        for name in ("", "a\n", "x" * 101):
            with pytest.raises(ParameterError, match="printable"):
                await one.send(name, {}, "x")

    connect(test)

"""Who may connect: TLS 1.3, both certificates, and no other certificate than the one that is pinned."""

import asyncio
import ssl
import threading

import pytest

from discreet.errors import IdentityError, LateError, ParameterError, PartyError, PeerError
from discreet.protocols.step import Limit, Receive, Send
from discreet.session import Plan, take_part
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial, listen, meet

HERE = "127.0.0.1"
PLAN = Plan("greet", 1, {}, {"one": "a word", "two": "a word"})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("home"))
    for name in ("one", "two", "three", "stranger"):
        made.new(name)
    return made


def greets():
    yield Send("hello", {"x": b"hello"})
    return (yield Receive("hello", {"x": Limit.raw(5)}))["x"]


def both(test, one, cards):
    """Run a test with a listener of one."""

    async def go():
        listener = await listen(one, cards, Place(HERE, 0))
        try:
            return await test(listener)
        finally:
            await listener.close()

    return asyncio.run(go())


def test_the_stream_is_tls_1_3_and_both_know_each_other(home):
    one, two = home.identity("one"), home.identity("two")

    async def test(listener):
        dialled, (fingerprint, accepted) = await asyncio.gather(
            dial(two, one.card, listener.place, wait=20), listener.accept(20)
        )
        assert fingerprint == accepted.fingerprint == two.fingerprint
        assert dialled.fingerprint == one.fingerprint
        shown = dialled._transport.get_extra_info("ssl_object")
        assert shown.version() == "TLSv1.3"
        assert not shown.session_reused
        dialled.cut()
        accepted.cut()

    both(test, one, [two.card])


def test_a_stranger_who_dials_is_not_let_in_and_does_not_stop_the_party_that_comes_later(home):
    one, two, stranger = (home.identity(name) for name in ("one", "two", "stranger"))

    async def test(listener):
        accepting = asyncio.ensure_future(listener.accept(20))
        other = await dial(stranger, one.card, listener.place, wait=20)
        with pytest.raises(PartyError, match=r"without a word.*trust our card"):
            await other.fill(memoryview(bytearray(1)))
        assert not accepting.done()
        dialled = await dial(two, one.card, listener.place, wait=20)
        assert (await accepting)[0] == two.fingerprint
        dialled.cut()

    both(test, one, [two.card])


def test_a_stranger_who_answers_is_refused_before_a_byte_is_sent(home):
    one, two, stranger = (home.identity(name) for name in ("one", "two", "stranger"))

    async def test(listener):
        with pytest.raises(IdentityError, match="not the one whose card we hold"):
            await dial(two, one.card, listener.place, wait=20)

    both(test, stranger, [two.card])


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, None])
def test_older_versions_and_parties_without_a_certificate_are_refused(home, version):
    one, two = home.identity("one"), home.identity("two")

    async def test(listener):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(cadata=one.card.pem.decode())
        if version is not None:
            context.load_cert_chain(two.certificate, two.key)
            context.maximum_version = version
        with pytest.raises((OSError, EOFError)):
            reader, writer = await asyncio.open_connection(HERE, listener.place.port, ssl=context)
            try:
                await reader.readexactly(1)
            finally:
                writer.close()

    both(test, one, [two.card])


def test_plain_bytes_are_not_an_identity(home):
    one, two = home.identity("one"), home.identity("two")

    async def test(listener):
        reader, writer = await asyncio.open_connection(HERE, listener.place.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answer = await reader.read(1000)
        writer.close()
        with pytest.raises(LateError, match="nobody whom we expect"):
            await listener.accept(0.05)
        return answer

    assert b"HTTP" not in both(test, one, [two.card])


def test_strangers_who_say_nothing_do_not_keep_a_party_out_for_ever(home, monkeypatch):
    """Forty connections that never shake hands: more than are looked at together."""
    from discreet.wire import tls

    monkeypatch.setattr(tls, "_HANDSHAKE", 2.0)
    one, two = home.identity("one"), home.identity("two")

    async def test(listener):
        silent = [await asyncio.open_connection(HERE, listener.place.port) for _ in range(40)]
        assert len(listener._guests) <= 32
        dialled, (fingerprint, accepted) = await asyncio.gather(
            dial(two, one.card, listener.place, wait=20), listener.accept(20)
        )
        for stream in (dialled, accepted):
            stream.cut()
        for _, writer in silent:
            writer.close()
        return fingerprint

    assert both(test, one, [two.card]) == two.fingerprint


def test_nobody_there_ends_in_time(home):
    one, two = home.identity("one"), home.identity("two")

    async def go():
        listener = await listen(one, [two.card], Place(HERE, 0))
        await listener.close()
        with pytest.raises(LateError, match="cannot be reached"):
            await dial(two, one.card, listener.place, wait=0.2)
        with pytest.raises(PeerError, match="cannot be reached"):
            await dial(two, one.card, Place("no-such-host.invalid", 9), wait=5)

    asyncio.run(go())


def test_a_place_that_is_taken_is_named(home):
    one, two = home.identity("one"), home.identity("two")

    async def test(listener):
        with pytest.raises(PeerError, match=r"cannot listen.*the port is in use"):
            await listen(one, [two.card], listener.place)
        with pytest.raises(PeerError, match="not of this machine"):
            await listen(one, [two.card], Place("192.0.2.1", 9))

    both(test, one, [two.card])


def test_three_parties_meet_whoever_comes_first(home):
    cards = {name: home.identity(name).card for name in ("one", "two", "three")}

    async def go():
        listeners = {
            name: await listen(home.identity(name), list(cards.values()), Place(HERE, 0)) for name in cards
        }
        places = {name: listener.place for name, listener in listeners.items()}

        async def come(name, after):
            await asyncio.sleep(after)
            return await meet(home.identity(name), cards, places, name, listener=listeners[name], wait=20)

        met = await asyncio.gather(come("two", 0), come("three", 0.1), come("one", 0.2))
        for listener in listeners.values():
            await listener.close()
        found = [{name: channel.fingerprint for name, channel in one.items()} for one in met]
        for one in met:
            for channel in one.values():
                channel.stream.cut()
        return found

    prints = {name: card.fingerprint for name, card in cards.items()}
    for mine, found in zip(("two", "three", "one"), asyncio.run(go()), strict=True):
        assert found == {name: prints[name] for name in prints if name != mine}


def test_a_party_that_dials_although_it_is_dialled_is_sent_away(home):
    """Parties dial the one before them in the alphabet: "one" has no business at the door of "three"."""
    names = ("one", "three", "two")
    cards = {name: home.identity(name).card for name in names}

    async def go():
        doors = {
            name: await listen(home.identity(name), list(cards.values()), Place(HERE, 0)) for name in names
        }
        places = {name: door.place for name, door in doors.items()}
        odd = await dial(home.identity("one"), cards["three"], places["three"], wait=20)

        async def come(name):
            return await meet(home.identity(name), cards, places, name, listener=doors[name], wait=20)

        met = await asyncio.gather(*(come(name) for name in names))
        for door in doors.values():
            await door.close()
        found = [{name: channel.fingerprint for name, channel in one.items()} for one in met]
        for stream in (odd, *(channel.stream for one in met for channel in one.values())):
            stream.cut()
        return found

    for mine, found in zip(names, asyncio.run(go()), strict=True):
        assert found == {name: card.fingerprint for name, card in cards.items() if name != mine}


def take(home, results, role, port, **settings):
    cards = {name: home.identity(name).card for name in ("one", "two") if name != role}
    try:
        results[role] = take_part(
            PLAN, role, greets(), home.identity(role), cards, {"one": Place(HERE, port)}, **settings
        )
    except PartyError as error:
        results[role] = error


def free_port():
    import socket

    with socket.socket() as found:
        found.bind((HERE, 0))
        return found.getsockname()[1]


def test_two_organisations_take_part_in_a_run(home):
    results, port = {}, free_port()
    other = threading.Thread(target=take, args=(home, results, "two", port))
    other.start()
    take(home, results, "one", port)
    other.join()
    assert results["one"].output == results["two"].output == b"hello"
    parties = {name: home.identity(name).fingerprint for name in ("one", "two")}
    assert results["one"].receipt.parties == results["two"].receipt.parties == parties


def test_a_party_that_comes_alone_ends_in_time(home):
    results = {}
    take(home, results, "one", free_port(), wait=0.1)
    take(home, results, "two", free_port(), wait=0.1)
    assert [type(result) for result in results.values()] == [LateError, LateError]


def test_who_has_not_come_is_named_and_who_is_here_is_not(home):
    names = ("one", "three", "two")
    cards = {name: home.identity(name).card for name in names}
    places = {"one": Place(HERE, free_port()), "two": Place(HERE, free_port())}

    async def go():
        coming = (meet(home.identity(name), cards, places, name, wait=1.0) for name in ("one", "three"))
        return await asyncio.gather(*coming, return_exceptions=True)

    alone, late = asyncio.run(go())
    assert [type(alone), type(late)] == [LateError, LateError]
    assert str(alone).startswith("'two' did not connect")
    assert "three" not in str(alone)
    assert "two at" in str(late)


def test_parties_without_any_place_are_told(home):
    cards = {name: home.identity(name).card for name in ("one", "two")}
    with pytest.raises(ParameterError, match="no place"):
        asyncio.run(meet(home.identity("one"), cards, {}, "one"))


def test_two_roles_with_one_card_are_refused(home):
    card = home.identity("one").card
    with pytest.raises(IdentityError, match="same card"):
        asyncio.run(meet(home.identity("one"), {"one": card, "two": card}, {"one": Place(HERE, 9)}, "two"))


@pytest.mark.parametrize("text", ["host", "host:", ":80", "host:0", "host:70000", "host:x"])
def test_strange_places_are_refused(text):
    with pytest.raises(ParameterError, match="host:port"):
        Place.of(text)


def test_places_are_read():
    assert Place.of("example.org:9000") == Place("example.org", 9000)
    assert Place.of("[::1]:9000") == Place("::1", 9000)

"""What is said before a run: of known shape, of bounded size, and refused in words of a fixed list."""

import asyncio
import json

import pytest
from clock import play

from discreet.errors import PartyError, ProtocolError, RefusedError
from discreet.session import request
from discreet.session.plan import digest
from discreet.session.request import REFUSALS, Request
from discreet.wire.channel import Channel
from discreet.wire.memory import pipe

GOOD = {"question": "keyword", "sizes": {"frames": [98, 100], "ahead": 0}, "offer": "0" * 64}


def talk(client, service):
    """Run both ends over memory; what each returned or raised."""

    async def go():
        one, two = (Channel(end, silence=5.0) for end in pipe())
        return await asyncio.gather(client(one), service(two), return_exceptions=True)

    return play(go())


def test_an_offer_is_shown_and_a_question_is_about_its_digest():
    offer = {"questions": ["keyword"], "sizes": [1, 2]}

    async def client(channel):
        shown = await request.ask_for_offer(channel)
        await request.ask(channel, "keyword", {"frames": [3]}, shown)
        return shown

    async def service(channel):
        first = await request.hear(channel)
        await request.reply(channel, "offer", offer)
        second = await request.hear(channel)
        await request.reply(channel, "accepted", {})
        return first.about_offer, second

    shown, (first, second) = talk(client, service)
    assert shown == offer
    assert first
    assert second == Request("keyword", {"frames": [3]}, digest(offer))


@pytest.mark.parametrize("word", REFUSALS)
def test_every_refusal_has_its_words(word):
    async def client(channel):
        await request.ask(channel, "keyword", {}, {})

    async def service(channel):
        await request.hear(channel)
        await request.reply(channel, "refused", word)

    error, _ = talk(client, service)
    assert isinstance(error, RefusedError)
    assert (error.got, error.remedy) == (word, REFUSALS[word])


@pytest.mark.parametrize(
    "reply",
    [b"{}", b"[]", b"1", b"{", b'{"offer":1}', b'{"accepted":{},"refused":"busy"}', b'{"offer":{"a":NaN}}'],
)
def test_a_reply_that_cannot_be_read_is_an_error(reply):
    async def service(channel):
        await request.hear(channel)
        await channel.send("reply", {"plain": reply}, "request")

    error, _ = talk(request.ask_for_offer, service)
    assert isinstance(error, ProtocolError)


def test_a_refusal_of_a_stranger_is_no_text_of_his():
    async def service(channel):
        await request.hear(channel)
        await channel.send("reply", {"plain": b'{"refused":"call this number"}'}, "request")

    error, _ = talk(request.ask_for_offer, service)
    assert isinstance(error, RefusedError)
    assert "number" not in str(error)


def wrong_requests():
    """Requests that are none, by what is wrong with them."""
    yield "no mapping", []
    yield "a part too few", {key: GOOD[key] for key in ("question", "sizes")}
    yield "a part too many", {**GOOD, "more": 1}
    for name, question in {"empty": "", "long": "x" * 41, "number": 1, "control": "a\nb"}.items():
        yield f"question: {name}", {**GOOD, "question": question}
    for name, size in {
        "negative": -1,
        "huge": 1 << 41,
        "truth": True,
        "fraction": 1.5,
        "text": "1",
        "nothing": None,
        "a list of lists": [[1]],
        "a list of truths": [True],
        "a long list": [1] * 513,
        "a mapping": {},
    }.items():
        yield f"size: {name}", {**GOOD, "sizes": {"frames": size}}
    yield "sizes: many", {**GOOD, "sizes": {f"a{at}": 1 for at in range(17)}}
    yield "sizes: a list", {**GOOD, "sizes": [1]}
    yield "sizes: no name", {**GOOD, "sizes": {"": 1}}
    for name, offer in {"short": "0", "other letters": "g" * 64, "number": 0}.items():
        yield f"offer: {name}", {**GOOD, "offer": offer}


@pytest.mark.parametrize(("name", "plain"), list(wrong_requests()), ids=lambda one: str(one)[:30])
def test_a_request_of_another_shape_is_refused(name, plain):
    assert Request.of(json.loads(json.dumps(GOOD))).to_dict() == GOOD
    with pytest.raises(ProtocolError, match="cannot be read"):
        Request.of(plain)


@pytest.mark.parametrize(
    "raw", [b"[" * 4096, b'{"a":' * 800, b"9" * 4096, b"\x00", b'"\\ud800"', b"-Infinity"]
)
def test_bytes_that_are_no_request_end_in_an_error(raw):
    async def client(channel):
        await channel.send("request", {"plain": raw}, "request")

    _, error = talk(client, request.hear)
    assert isinstance(error, ProtocolError)


def test_a_request_that_is_announced_too_long_is_not_read():
    async def client(channel):
        await channel.send("request", {"plain": bytes(5000)}, "request")

    _, error = talk(client, request.hear)
    assert isinstance(error, PartyError)
    assert "4096" in str(error)

"""A service: many clients, one short request each, refusals in fixed words, and nobody waits for another."""

import asyncio
import os
import signal
import time

import numpy as np
import pytest
from counter import Desk, Running, wanted

from discreet.errors import (
    LateError,
    LedgerError,
    ParameterError,
    PartyError,
    PeerError,
    PlanError,
    RefusedError,
)
from discreet.session import Limits, Service, request, visit
from discreet.session.client import attend
from discreet.wire.identity import Home

SECRET = 918273645


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("home"))
    for name in ("bob", "alice", "carl", "stranger"):
        made.new(name)
    return made


@pytest.fixture(scope="module")
def people(home):
    return {name: home.identity(name) for name in home.names()}


@pytest.fixture(scope="module")
def shared(people):
    """One service for all tests that leave it as it was."""
    with running(people, secret=SECRET) as service:
        yield service


def running(people, secret=1000, most=10**6, desk=None, **limits):
    clients = [people["alice"].card, people["carl"].card]
    return Running(people["bob"], clients, desk or Desk(secret, most), **limits)


def refused(error):
    return error.value.got


def test_a_client_gets_its_answer_and_both_keep_receipts(shared, people):
    before = len(shared.receipts)
    out = visit(people["alice"], people["bob"].card, shared.service.place, wanted([1, 2, 3], 2))
    assert out.output == [2 + SECRET, 4 + SECRET, 6 + SECRET]
    assert shared.outcomes("alice")[-1] == "answered"
    name, receipt = shared.receipts[before]
    assert (name, receipt.session) == ("alice", out.receipt.session)
    assert receipt.learned == "nothing"
    assert set(receipt.parties.values()) == {people["alice"].fingerprint, people["bob"].fingerprint}


def test_many_clients_at_once_all_get_their_own_answers(shared, people):
    async def go():
        who = [people["alice"], people["carl"]] * 6
        return await asyncio.gather(*(shared.ask(one, [at, 2 * at], 2) for at, one in enumerate(who)))

    assert asyncio.run(go()) == [[2 * at + SECRET, 4 * at + SECRET] for at in range(12)]


def test_long_messages_pass_through_the_worker(shared, people):
    numbers = list(range(300_000))
    assert asyncio.run(shared.ask(people["alice"], numbers)) == [one + SECRET for one in numbers]


def test_a_question_is_refused_in_a_fixed_word_before_anything_is_charged(shared, people):
    had = dict(shared.service.desk.had)

    async def ask(question, sizes, offer=None):
        channel = await shared.channel(people["alice"])
        try:
            shown = await request.ask_for_offer(channel)
            await request.ask(channel, question, sizes, offer or shown)
        finally:
            await channel.close()

    for word, *asked in (
        ("question", "product", {"numbers": 3, "rounds": 1}),
        ("sizes", "sum", {"numbers": 3}),
        ("sizes", "sum", {"numbers": 1 << 30, "rounds": 1}),
        ("offer", "sum", {"numbers": 3, "rounds": 1}, {"numbers": 7}),
    ):
        with pytest.raises(RefusedError) as error:
            asyncio.run(ask(*asked))
        assert refused(error) == word
    assert shared.service.desk.had == had


def test_a_role_with_a_defect_fails_alone_and_its_secret_stays(shared, people, capfd):
    workers = shared.service.crew.processes
    with pytest.raises(PeerError, match="its role failed"):
        asyncio.run(shared.ask(people["alice"], [1] * 13))
    assert "RuntimeError" not in shared.outcomes("alice")[-1]
    told = " ".join(note.words() for note in shared.notes) + "".join(capfd.readouterr())
    assert str(SECRET) not in told
    assert shared.service.crew.processes == workers
    assert asyncio.run(shared.ask(people["alice"], [1])) == [1 + SECRET]


def test_a_role_that_takes_too_much_memory_fails_alone(shared, people):
    replaced = shared.service.crew.replaced
    with pytest.raises(PeerError):
        asyncio.run(shared.ask(people["alice"], [1] * 17))
    assert shared.outcomes("alice")[-1].startswith("PartyError")
    assert shared.service.crew.replaced == replaced + 1
    assert asyncio.run(shared.ask(people["alice"], [1])) == [1 + SECRET]


def test_a_worker_that_dies_takes_one_session_with_it(shared, people):
    async def go():
        asked = asyncio.ensure_future(shared.ask(people["alice"], [1] * 19))
        await asyncio.sleep(0.3)
        for worker in shared.service.crew.processes:
            os.kill(worker, signal.SIGKILL)
        with pytest.raises(PeerError):
            await asked
        return await shared.ask(people["carl"], [5])

    assert asyncio.run(go()) == [5 + SECRET]


def test_a_role_that_computes_holds_up_nobody_else(shared, people):
    async def go():
        slow = asyncio.ensure_future(shared.ask(people["alice"], [1] * 19, 3))  # three naps of 0.7 seconds
        await asyncio.sleep(0.2)
        quick = [await shared.ask(people["carl"], [at]) for at in range(3)]
        before = slow.done()
        return quick, before, await slow

    quick, before, slow = asyncio.run(go())
    assert quick == [[at + SECRET] for at in range(3)]
    assert not before
    assert slow == [3 + SECRET] * 19


@pytest.mark.parametrize(
    "raw", [b"{}", b"[]", b"nonsense", b'{"question":1}', b"[" * 4000, b"\xff\xfe", b"NaN"]
)
def test_a_malformed_request_is_refused(shared, people, raw):
    async def go():
        channel = await shared.channel(people["alice"])
        try:
            await channel.send("request", {"plain": raw}, "request")
            await request.ask_for_offer(channel)
        finally:
            await channel.close()

    with pytest.raises(RefusedError) as error:
        asyncio.run(go())
    assert refused(error) == "malformed"
    assert shared.outcomes("alice")[-1].startswith("ProtocolError")


def test_a_request_that_is_too_long_takes_no_memory(shared, people):
    async def go():
        channel = await shared.channel(people["alice"])
        await channel.send("request", {"plain": bytes(1 << 20)}, "request")
        with pytest.raises((PartyError, RefusedError)):
            await request.ask_for_offer(channel)
        await channel.close()

    asyncio.run(go())
    assert shared.outcomes("alice")[-1].startswith("ProtocolError")


def test_a_client_with_another_plan_is_refused_by_the_greeting(shared, people):
    def other(offer):
        asked = wanted([1, 2, 3])(offer)
        object.__setattr__(asked, "plan", wanted([1, 2])(offer).plan)
        return asked

    async def go():
        await attend(await shared.channel(people["alice"]), other, people["alice"].fingerprint)

    with pytest.raises((PlanError, PeerError)):
        asyncio.run(go())
    assert shared.outcomes("alice")[-1].startswith("PlanError")


def test_a_stranger_is_not_answered(shared, people):
    async def go():
        channel = await shared.channel(people["stranger"])
        await request.ask_for_offer(channel)

    with pytest.raises(PartyError):
        asyncio.run(go())
    assert not shared.outcomes("stranger")


def test_a_client_that_stalls_is_sent_away_and_its_worker_goes_on(people):
    async def stall(service):
        channel = await service.channel(people["alice"])
        offer = await request.ask_for_offer(channel)
        await request.ask(channel, "sum", {"numbers": 3, "rounds": 1}, offer)
        with pytest.raises(PartyError):
            await channel.greeting()
            await channel.greeting()

    async def idle(service):
        channel = await service.channel(people["alice"])
        with pytest.raises(PartyError):
            await channel.greeting()

    with running(people, silence=0.5) as service:
        workers = service.service.crew.processes
        for kind in (stall, idle):
            asyncio.run(kind(service))
            assert service.outcomes("alice")[-1].startswith("LateError")
        assert asyncio.run(service.ask(people["alice"], [1])) == [1001]
        assert service.service.crew.processes == workers


def test_a_client_that_talks_and_does_not_read_is_sent_away(people):
    """Its words keep the role of the service writing: what waits for it is bounded all the same."""

    async def go(service):
        channel = await service.channel(people["alice"])
        offer = await request.ask_for_offer(channel)
        sizes = {"numbers": 1 << 20, "rounds": 8}
        await request.ask(channel, "sum", sizes, offer)
        plan = wanted([1] * sizes["numbers"], sizes["rounds"])(offer).plan
        stream = channel.stream
        parties = {"client": people["alice"].fingerprint, "server": people["bob"].fingerprint}
        channel.greet({**plan.greeting(parties), "role": "client", "nonce": "00" * 16})
        await channel.greeting()
        stream._transport.pause_reading()
        numbers = {"x": np.ones(sizes["numbers"], "<u8")}
        with pytest.raises(PartyError):
            for _ in range(sizes["rounds"]):
                await channel.send("ask/numbers", numbers, "ask")
            stream._transport.resume_reading()
            await channel.finished()
        stream.cut()

    with running(people, silence=1.0, queued=1 << 20) as service:
        asyncio.run(go(service))
        assert service.outcomes("alice")[-1].startswith("LateError, 'client' did not read")
        assert asyncio.run(service.ask(people["carl"], [1])) == [1001]


def test_who_leaves_while_it_waits_is_not_charged(people):
    async def go(service):
        held = asyncio.ensure_future(service.ask(people["alice"], [1] * 19, 2))
        await asyncio.sleep(0.3)
        waits = asyncio.ensure_future(service.ask(people["alice"], [1]))
        await asyncio.sleep(0.3)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        return await held

    with running(people) as service:
        assert asyncio.run(go(service)) == [1002] * 19
        assert "PeerError, the client left while it waited" in service.outcomes("alice")
        assert service.service.desk.had == {"alice": 1}


def test_one_client_cannot_take_all_workers_nor_wait_for_ever(people):
    async def go(service):
        held = [asyncio.ensure_future(service.ask(people["alice"], [1] * 19, 3)) for _ in range(2)]
        await asyncio.sleep(0.3)
        with pytest.raises(RefusedError) as error:  # one of hers works, one waits, and no more may wait
            await service.ask(people["alice"], [1])
        assert refused(error) == "busy"
        assert await service.ask(people["carl"], [1]) == [1001]
        return await asyncio.gather(*held, return_exceptions=True)

    with running(people, waiting=1, patience=0.5) as service:
        first, second = asyncio.run(go(service))
        assert first == [1003] * 19
        assert isinstance(second, RefusedError)
        assert second.got == "busy"


def test_requests_of_one_client_are_limited_in_time_and_those_of_others_are_not(people):
    with running(people, rate=4) as service:
        for _ in range(2):  # an offer and a question each
            assert asyncio.run(service.ask(people["alice"], [1])) == [1001]
        with pytest.raises(RefusedError) as error:
            asyncio.run(service.ask(people["alice"], [1]))
        assert refused(error) == "often"
        assert asyncio.run(service.ask(people["carl"], [1])) == [1001]


def test_connections_are_limited_in_all_and_of_each_client(people):
    async def go(service):
        held = [await service.channel(people["alice"]) for _ in range(2)]
        for channel in held:
            await request.ask_for_offer(channel)
        with pytest.raises(PeerError):
            await request.ask_for_offer(await service.channel(people["alice"]))
        carl = await service.channel(people["carl"])
        await request.ask_for_offer(carl)
        with pytest.raises(PeerError):
            await request.ask_for_offer(await service.channel(people["carl"]))
        for channel in (*held, carl):
            await channel.close()

    with running(people, connections=3, each=2) as service:
        asyncio.run(go(service))
        assert service.outcomes("alice").count("too many are open") == 1
        assert service.outcomes("carl").count("too many are open") == 1
        assert asyncio.run(service.ask(people["carl"], [1])) == [1001]


def test_who_has_had_enough_is_refused(people):
    with running(people, most=2) as service:
        for _ in range(2):
            assert asyncio.run(service.ask(people["alice"], [1])) == [1001]
        with pytest.raises(RefusedError) as error:
            asyncio.run(service.ask(people["alice"], [1]))
        assert refused(error) == "limit"
        assert service.service.desk.had == {"alice": 2}


def test_who_cannot_be_charged_is_not_answered(people):
    class Broken(Desk):
        def charge(self, client, session):
            raise LedgerError("the disk is full")

    with running(people, desk=Broken()) as service:
        with pytest.raises(RefusedError) as error:
            asyncio.run(service.ask(people["alice"], [1]))
        assert refused(error) == "failed"
        assert "cannot be charged, the disk is full" in service.outcomes("alice")


def test_a_service_that_stops_answers_those_at_work_and_takes_no_more(people):
    async def go(service):
        idle = await service.channel(people["carl"])
        await request.ask_for_offer(idle)
        slow = asyncio.ensure_future(service.ask(people["alice"], [1] * 19, 2))
        await asyncio.sleep(0.4)
        service.stop()
        answer = await slow
        with pytest.raises(PeerError):
            await request.ask_for_offer(idle)
        return answer

    with running(people) as service:
        assert asyncio.run(go(service)) == [1002] * 19
        workers = service.service.crew
    assert not workers.processes


def test_a_second_stop_interrupts_those_at_work(people):
    async def go(service):
        slow = asyncio.ensure_future(service.ask(people["alice"], [1] * 19, 30))
        await asyncio.sleep(0.4)
        service.stop()
        service.stop()
        with pytest.raises((PeerError, LateError)):
            await slow

    with running(people) as service:
        began = time.monotonic()
        asyncio.run(go(service))
        assert time.monotonic() - began < 15  # not the 21 seconds that the role would have taken


def test_a_service_that_cannot_load_does_not_begin(people):
    desk = Desk()
    desk.private = "broken"
    with pytest.raises(ParameterError, match="no secret here"), running(people, desk=desk):
        pass


def test_services_without_clients_and_limits_of_nothing_are_refused(people):
    with pytest.raises(ParameterError, match="without clients"):
        Service(people["bob"], [], Desk())
    with pytest.raises(ParameterError, match="positive"):
        Limits(rate=0)
    assert Limits(workers=1).share == 1
    assert Limits(workers=4).share == 3


def test_who_takes_its_time_before_it_asks_cannot_have_a_worker_replaced(people):
    """Talk, queue and session have limits of their own: none cuts a role off in the middle of a step."""

    async def dawdle(service, times):
        channel = await service.channel(people["alice"])
        try:
            for _ in range(times):
                shown = await request.ask_for_offer(channel)
                await asyncio.sleep(0.8)
            asked = wanted([1, 2, 3])(shown)
            await request.ask(channel, asked.question, asked.sizes, shown)
            parties = {"client": people["alice"].fingerprint, "server": people["bob"].fingerprint}
            channel.greet({**asked.plan.greeting(parties), "role": "client", "nonce": "00" * 16})
            await asyncio.sleep(2.0)  # the role waits for numbers
        except PartyError:
            pass
        finally:
            await channel.close()

    with running(people, workers=1, whole=1.0, patience=0.1, silence=1.0, talk=2.0) as service:
        asyncio.run(dawdle(service, 1))
        assert len(service.outcomes("alice")) == 1
        assert service.service.crew.replaced == 0
        asyncio.run(dawdle(service, 4))
        assert service.outcomes("alice")[-1] == "it took too long"
        assert service.service.crew.replaced == 0

"""Parties agree before anything private is touched, and end together."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
from clock import play

import discreet.session.plan
from discreet.errors import LateError, ParameterError, PeerError, PlanError, ProtocolError
from discreet.protocols.step import Limit, Receive, Send
from discreet.session import Plan, Receipt, run
from discreet.wire.channel import Channel
from discreet.wire.frame import write_message
from discreet.wire.memory import pipe

PLAN = Plan("greet", 1, {"length": 3, "names": ["x", "y"]}, {"a": "a word", "b": "nothing"}, model="1f")


def asks(private, agreed, bits=None):
    yield Send("ask/first", {"x": np.array(private, "<u8")})
    yield Send("ask/second", {"x": b"more"})
    told = yield Receive("tell", {"x": Limit.array("<u8", (agreed["length"],))})
    return told["x"].tolist()


def tells(private, agreed, bits=None):
    first = yield Receive("ask/first", {"x": Limit.array("<u8", (agreed["length"],))})
    yield Receive("ask/second", {"x": Limit.raw(4)})
    yield Send("tell", {"x": first["x"] + np.uint64(private)})


def meet(one, two, *, plans=(PLAN, PLAN), channels=None, **settings):
    """How a run of two roles ends for each of them."""

    async def go():
        ends = [Channel(end, silence=30.0) for end in pipe()]
        return await asyncio.gather(
            run(plans[0], "a", one, {"b": ends[0]}, **settings),
            run(plans[1], "b", two, {"a": ends[1]}, **settings),
            return_exceptions=True,
        )

    return play(go())


def test_both_get_outputs_and_receipts_that_agree():
    one, two = meet(asks([1, 2, 3], PLAN.agreed), tells(5, PLAN.agreed), record=True)
    assert one.output == [6, 7, 8]
    assert two.output is None
    assert one.receipt.session == two.receipt.session
    assert one.receipt.learned == "a word"
    mine, theirs = one.receipt.peers["b"].phases, two.receipt.peers["a"].phases
    assert list(mine) == ["ask", "tell"]
    assert (mine["ask"].sent, mine["ask"].messages, mine["ask"].rounds) == (theirs["ask"].received, 2, 1)
    assert one.receipt.total.rounds == two.receipt.total.rounds == 2
    assert [record.name for record in one.transcript] == [record.name for record in two.transcript]
    assert "6" not in repr(one)


def test_a_receipt_is_saved_whole_and_read_back(tmp_path):
    one, _ = meet(asks([1, 2, 3], PLAN.agreed), tells(5, PLAN.agreed))
    one.receipt.save(tmp_path / "receipt.json")
    plain = json.loads((tmp_path / "receipt.json").read_text())
    assert plain["plan"]["agreed"] == {"length": 3, "names": ["x", "y"]}
    assert plain["digest"] == PLAN.digest()
    assert Receipt.of(plain) == one.receipt
    assert [path.name for path in tmp_path.iterdir()] == ["receipt.json"]
    assert "learned: a word" in one.receipt.words()
    assert "89 bytes sent, 48 received, 2 rounds" in one.receipt.words()


DIFFERENT = {
    "plan": replace(PLAN, agreed={"length": 4, "names": ["x", "y"]}),
    "protocol": replace(PLAN, version=2),
    "model": replace(PLAN, model="2e"),
    "learns": replace(PLAN, learns={"a": "a word", "b": "another word"}),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_another_plan_stops_both_before_their_roles_start(what):
    started = []

    def watched(role):
        started.append(role)
        yield Send("x", {})

    endings = meet(watched("a"), watched("b"), plans=(PLAN, DIFFERENT[what]))
    assert [type(ending) for ending in endings] == [PlanError, PlanError]
    assert "another" in str(endings[0])
    assert what == "learns" or f"another {what}" in str(endings[0])
    assert not started


def test_another_version_of_the_package_stops_both(monkeypatch):
    greeting = Plan.greeting
    versions = iter(["1.0", "2.0"])

    def other(self, parties):
        return {**greeting(self, parties), "version of discreet": next(versions)}

    monkeypatch.setattr(discreet.session.plan.Plan, "greeting", other)
    endings = meet(asks([1, 2, 3], PLAN.agreed), tells(5, PLAN.agreed))
    assert [type(ending) for ending in endings] == [PlanError, PlanError]
    assert "another version of discreet" in str(endings[1])


def test_two_parties_in_the_same_role_stop():
    async def go():
        ends = [Channel(end, silence=30.0) for end in pipe()]
        return await asyncio.gather(
            run(PLAN, "a", asks([1], PLAN.agreed), {"b": ends[0]}),
            run(PLAN, "a", asks([1], PLAN.agreed), {"b": ends[1]}),
            return_exceptions=True,
        )

    assert [type(ending) for ending in play(go())] == [PlanError, PlanError]


def test_a_role_that_fails_ends_the_other_without_its_secret():
    def fails(private):
        yield Receive("ask/first", {"x": Limit.array("<u8", (3,))})
        raise RuntimeError(f"the secret is {private}")

    one, two = meet(asks([1, 2, 3], PLAN.agreed), fails(987654321))
    assert isinstance(two, RuntimeError)
    assert isinstance(one, PeerError)
    assert "its role failed" in str(one)
    assert "987654321" not in str(one)


def test_an_interruption_is_told_to_the_other():
    """What Ctrl-C does: asyncio cancels the task."""

    async def go():
        ends = [Channel(end, silence=30.0) for end in pipe()]
        steps = tells(5, PLAN.agreed)
        mine = asyncio.ensure_future(run(PLAN, "b", steps, {"a": ends[1]}))
        theirs = asyncio.ensure_future(run(PLAN, "a", waits_once(), {"b": ends[0]}))
        await asyncio.sleep(1)
        mine.cancel()
        with pytest.raises(PeerError, match="gave up; got 'it was interrupted'"):
            await theirs
        with pytest.raises(asyncio.CancelledError):
            await mine
        assert steps.gi_frame is None

    play(go())


def test_an_error_names_the_party_that_it_is_about():
    """With three at work nobody has to guess who of the others is gone."""
    three = Plan("demo", 1, {}, {"a": "nothing", "b": "nothing", "c": "nothing"})

    def leaves():
        yield Send("first", {"x": np.zeros(1)}, "a")
        raise RuntimeError

    def waits():
        yield Receive("first", {"x": Limit.array("<f8", (1,))}, "b")
        yield Receive("never", {}, "b")

    def waits_for_a():
        yield Receive("never", {}, "a")

    async def go():
        wires = {name: {} for name in "abc"}
        for one, two in ("ab", "ac", "bc"):
            ends = [Channel(end, silence=30.0) for end in pipe()]
            wires[one][two], wires[two][one] = ends
        roles = {"a": waits(), "b": leaves(), "c": waits_for_a()}
        works = (run(three, name, steps, wires[name]) for name, steps in roles.items())
        return await asyncio.gather(*works, return_exceptions=True)

    near, _, far = play(go())
    assert str(near).startswith("'b' gave up")
    assert str(far).startswith("'a' gave up; got 'somebody went away'")


def waits_once():
    yield Receive("never", {})


def test_a_role_that_waits_for_ever_ends_both():
    def waits():
        yield Receive("never", {})

    one, two = meet(waits(), waits())
    assert isinstance(one, LateError)
    assert isinstance(two, PeerError)


def test_a_role_that_is_finished_early_ends_both():
    def short():
        return 7
        yield

    one, two = meet(asks([1, 2, 3], PLAN.agreed), short())
    assert isinstance(one, ProtocolError | PeerError)
    assert isinstance(two, ProtocolError | PeerError)


def test_the_whole_run_has_a_time_out():
    def forever(first):
        while True:
            if first:
                yield Send("x", {})
            yield Receive("x", {})
            first = True

    one, two = meet(forever(True), forever(False), whole=0.0)
    assert {type(one), type(two)} & {LateError}
    assert not {type(one), type(two)} - {LateError, PeerError}


def test_a_peer_that_drips_is_stopped_by_the_time_out_of_the_run():
    """One byte of a long message whenever the time-out is nearly over: each frame still has its limit."""

    async def go():
        ends = pipe()
        steps = tells(5, PLAN.agreed)
        theirs = asyncio.ensure_future(
            run(PLAN, "b", steps, {"a": Channel(ends[0], silence=30.0)}, whole=600.0)
        )
        mine = Channel(ends[1], silence=30.0)
        mine.greet({**PLAN.greeting({"a": "", "b": ""}), "role": "a", "nonce": "0" * 32})
        await mine.greeting()
        frames = b"".join(write_message(1, "ask/first", {"x": np.zeros(3, "<u8")}))
        began = asyncio.get_running_loop().time()
        for byte in frames:
            ends[1].write(bytes([byte]))
            await asyncio.sleep(20)
            if theirs.done():
                break
        with pytest.raises(LateError, match="silent"):
            await theirs
        return asyncio.get_running_loop().time() - began

    assert play(go()) <= 40


def test_channels_must_be_those_of_the_plan():
    async def go():
        end = Channel(pipe()[0])
        steps = asks([1], PLAN.agreed)
        with pytest.raises(ParameterError, match="not those of the plan"):
            await run(PLAN, "a", steps, {"c": end})
        assert end.stream.ended
        assert steps.gi_frame is None

    play(go())


def test_a_role_that_speaks_of_a_stranger_is_stopped():
    def strange():
        yield Send("x", {}, "nobody")

    one, two = meet(strange(), tells(5, PLAN.agreed))
    assert isinstance(one, ProtocolError)
    assert "not there" in str(one)
    assert isinstance(two, PeerError)


@pytest.mark.parametrize(
    "wrong",
    [
        {"agreed": {"x": float("nan")}},
        {"agreed": {"x": (1, 2)}},
        {"agreed": {"x": np.zeros(2)}},
        {"agreed": {1: 2}},
        {"learns": {"a": "alone"}},
    ],
)
def test_plans_that_two_parties_could_read_differently_are_refused(wrong):
    with pytest.raises(ParameterError):
        replace(PLAN, **wrong)


def test_the_digest_of_a_plan_is_the_same_on_every_machine():
    assert PLAN.digest() == Plan.of(json.loads(json.dumps(PLAN.to_dict()))).digest()
    assert PLAN.digest()[:16] == "e0bc1ec74237b4ab"

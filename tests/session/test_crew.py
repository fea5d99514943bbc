"""Workers: processes that compute one role at a time, stop when told, and end alone."""

import asyncio
import mmap
import os
import sys

import numpy as np
import pytest
from counter import client, plan_of

from discreet.errors import LateError, ParameterError, PartyError, PeerError, RefusedError
from discreet.protocols.step import Receive, Send
from discreet.randomness import seeded
from discreet.session.crew import Crew, Errand, Worker
from discreet.session.parcel import defect, error_of, plain_error
from discreet.session.worker import held_bytes, keep

ROOM = 64 << 20
SIZES = {"numbers": 3, "rounds": 2}


def errand(**sizes):
    return Errand("counter:server", "server", plan_of({**SIZES, **sizes}).agreed, ROOM)


async def play(worker, numbers, rounds):
    """Both roles, the client's in this process."""
    plan = plan_of({"numbers": len(numbers), "rounds": rounds})
    ours = client(numbers, plan.agreed, seeded(1))
    theirs = worker.take(errand(numbers=len(numbers), rounds=rounds))
    asked, (wanted, _) = next(ours), await theirs.advance(None, None)
    try:
        while True:
            if isinstance(asked, Send):
                assert isinstance(wanted, Receive)
                wanted.check_announced(
                    asked.name, {"x": (asked.arrays["x"].dtype.str, asked.arrays["x"].shape)}
                )
                (wanted, _), asked = await theirs.advance(asked.arrays, None), next(ours)
            else:
                assert isinstance(wanted, Send)
                asked = ours.send(wanted.arrays)
                wanted, _ = await theirs.advance(None, None)
    except StopIteration as end:
        assert (await theirs.advance(None, None))[0] is None
        return end.value


def with_worker(test, private=None):
    async def go():
        worker = await Worker.start("counter:loads", private or {"secret": 5})
        try:
            return await test(worker)
        finally:
            worker.kill()

    return asyncio.run(go())


def test_a_worker_computes_one_errand_after_the_other():
    async def test(worker):
        first = await play(worker, [1, 2, 3], 2)
        return first, await play(worker, [7], 1), worker.resting, worker.alive

    assert with_worker(test) == ([7, 9, 11], [12], True, True)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_role_that_is_stopped_in_the_middle_leaves_its_worker_for_the_next(steps):
    async def test(worker):
        theirs = worker.take(errand())
        await theirs.advance(None, None)
        if steps == 2:
            await theirs.advance({"x": np.ones(3, "<u8")}, None)
        await worker.rest()
        return await play(worker, [1], 1), worker.alive

    assert with_worker(test) == ([6], True)


def test_a_loss_is_not_for_the_role_of_a_service():
    async def test(worker):
        theirs = worker.take(errand())
        await theirs.advance(None, None)
        with pytest.raises(LateError):
            await theirs.advance(None, LateError("the client was silent"))
        await worker.rest()
        return await play(worker, [1], 1)

    assert with_worker(test) == [6]


def test_a_worker_that_was_killed_is_said_to_have_ended():
    async def test(worker):
        theirs = worker.take(errand())
        await theirs.advance(None, None)
        worker.process.kill()
        with pytest.raises(PartyError, match="a worker ended early"):
            await theirs.advance({"x": np.ones(3, "<u8")}, None)
        return worker.alive

    assert with_worker(test) is False


def test_a_step_that_was_interrupted_ends_the_worker():
    async def test(worker):
        slow = worker.take(errand(numbers=19, rounds=1))
        await slow.advance(None, None)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await slow.advance({"x": np.ones(19, "<u8")}, None)
        return worker.alive

    assert with_worker(test) is False


def test_what_a_loader_raises_is_told():
    with pytest.raises(ParameterError, match="no secret here"):
        with_worker(play, "broken")


def test_a_crew_gives_each_worker_to_one_at_a_time_and_replaces_the_dead():
    async def go():
        crew = Crew("counter:loads", {"secret": 5}, 2)
        await crew.start()
        try:
            async with crew.lease() as one, crew.lease() as two:
                assert one is not two
                assert crew.free == 0
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05), crew.lease():
                        pass
            assert crew.free == 2
            before = crew.processes
            os.kill(before[0], 9)
            await asyncio.sleep(0.5)  # until the system has told
            async with crew.lease() as one, crew.lease() as two:
                assert await play(one, [1], 1) == await play(two, [1], 1) == [6]
            assert crew.replaced == 1
            assert len(set(crew.processes) - set(before)) == 1
        finally:
            await crew.stop()
        assert not crew.processes

    asyncio.run(go())


def test_a_private_input_may_be_kept_as_it_is():
    assert keep({"secret": 7}) == {"secret": 7}


@pytest.mark.skipif(sys.platform != "linux", reason="the system says it on Linux only")
def test_a_process_knows_how_much_it_holds():
    size = 16 << 20
    before = held_bytes()
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:  # no freed memory again
        block.write(bytes(range(256)) * (size // 256))
        assert held_bytes() - before >= size * 0.9


def test_errors_cross_between_processes_and_defects_lose_their_message():
    for error in (RefusedError("no", got="busy", wanted="patience", remedy="Wait."), PeerError("gone")):
        back = error_of(plain_error(error))
        assert type(back) is type(error)
        assert str(back) == str(error)
    try:
        raise ValueError("the secret is heard")
    except ValueError as error:
        told = defect("server", error)
    assert "ValueError in test_crew.py, line" in str(told)
    assert "heard" not in str(told)

"""Who waits while others work hears of them, often enough and independently of what is in the rows."""

import numpy as np
import pytest
from joint_cases import people, private, roles, settings

from discreet.errors import ProtocolError
from discreet.join import JoinPlan
from discreet.join.pulse import EVERY, busy, wait
from discreet.protocols.step import Limit, Receive, Send, run_parties
from discreet.randomness import secure


def talks(count):
    for _ in range(count):
        yield Send("work/word", {}, "other")
    return "done"


def listens(count):
    for _ in range(count):
        yield Receive("work/word", {}, "worker")


@pytest.mark.parametrize("count", [0, 1, EVERY - 1, EVERY, 5 * EVERY + 3])
def test_a_sign_of_life_follows_every_few_messages(count):
    out, transcript = run_parties(
        {"worker": busy(talks(count), ["idle"]), "other": listens(count), "idle": wait("worker")}
    )
    signs = [int(record.arrays["more"]) for record in transcript if record.name == "join/busy"]
    assert signs == [1] * (count // EVERY) + [0]
    assert out["worker"] == "done"


def test_a_sign_of_life_is_yes_or_no():
    waiting = wait("worker")
    asked = next(waiting)
    assert asked.limits == {"more": Limit.array("|u1", ())}
    with pytest.raises(ProtocolError, match="neither yes nor no"):
        waiting.send({"more": np.array(7, dtype=np.uint8)})


def test_an_analyst_is_told_while_columns_are_counted():
    rows = 150_000
    plan = JoinPlan.of(settings("helper", to=("office",)) | {"rows": {"count": rows}})
    given = private(plan, people(1, rows))
    steps = {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}
    worker = plan.holders[0]
    between, longest = 0, 0
    for record in run_parties(steps)[1]:
        between += worker in (record.sender, record.receiver)
        if record.receiver == "office" and record.sender == worker:
            longest, between = max(longest, between), 0
    assert 0 < longest <= 3 * EVERY

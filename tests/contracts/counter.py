"""A small service to try services with: a client sends numbers, and gets their sum plus a secret of the owner."""

import numpy as np

from discreet.errors import OverspentError, ParameterError
from discreet.protocols.step import Limit, Receive, Send
from discreet.session import Plan, Session, Wanted

LEARNS = {"client": "its sum plus the secret", "server": "nothing"}
MOST = 1 << 20


def plan_of(sizes):
    return Plan("demo counter", 1, {"numbers": sizes["numbers"], "rounds": sizes["rounds"]}, LEARNS)


def server(private, agreed, bits):
    """Adds up the numbers of every round, masked by the client, and its own secret."""
    total = np.zeros(agreed["numbers"], "<u8")
    for _ in range(agreed["rounds"]):
        total += (yield Receive("ask/numbers", {"x": Limit.array("<u8", (agreed["numbers"],))}))["x"]
        yield Send("answer/so far", {"x": total})
    if agreed["numbers"] == 13:
        raise RuntimeError(f"a defect, and a private value: {private}")
    if agreed["numbers"] == 17:
        yield Send("answer/never", {"x": np.ones(1 << 40, "<u8")})
    yield Send("answer/last", {"x": total + np.uint64(private)})


def client(private, agreed, bits):
    numbers = np.array(private, "<u8")
    mask = np.frombuffer(bits.bytes(numbers.nbytes), "<u8")
    limits = {"x": Limit.array("<u8", (agreed["numbers"],))}
    for _ in range(agreed["rounds"]):
        yield Send("ask/numbers", {"x": numbers + mask})
        yield Receive("answer/so far", limits)
    told = (yield Receive("answer/last", limits))["x"]
    return (told - np.uint64(agreed["rounds"]) * mask).tolist()


def loads(private):
    """The secret, from what the service gives its workers."""
    if private == "broken":
        raise ParameterError("no secret here", got=private)
    return private["secret"]


class Desk:
    """A service of sums; `charge` counts in memory, for services of one process."""

    offer = {"questions": ["sum"], "numbers": MOST}
    load = "counter:loads"

    def __init__(self, secret=1000, most=10**6):
        self.private = {"secret": secret}
        self.most = most
        self.had = {}

    def session(self, question, sizes):
        if set(sizes) != {"numbers", "rounds"} or not 0 < sizes["numbers"] <= MOST:
            raise ParameterError("other sizes")
        return Session(plan_of(sizes), "server", "counter:server", 1, 32 * sizes["numbers"] + (32 << 20))

    def charge(self, client, session):
        had = self.had.get(client.name, 0) + session.answers
        if had > self.most:
            raise OverspentError("enough")
        self.had[client.name] = had


def wanted(numbers, rounds=1):
    """The client's question about some numbers."""
    from discreet.randomness import secure

    sizes = {"numbers": len(numbers), "rounds": rounds}

    def prepare(offer):
        plan = plan_of(sizes)
        return Wanted("sum", sizes, plan, "client", client(numbers, plan.agreed, secure()))

    return prepare

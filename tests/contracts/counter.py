"""A small service to try services with: a client sends numbers, and gets them back plus a secret."""

import asyncio
import threading
import time

import numpy as np

from discreet.errors import OverspentError, ParameterError
from discreet.protocols.step import Limit, Receive, Send
from discreet.session import Limits, Plan, Service, Session, Wanted
from discreet.session.client import attend
from discreet.wire.channel import Channel
from discreet.wire.tls import Place, dial

LEARNS = {"client": "its sum plus the secret", "server": "nothing"}
MOST = 1 << 20


def plan_of(sizes):
    return Plan("demo counter", 1, {"numbers": sizes["numbers"], "rounds": sizes["rounds"]}, LEARNS)


def server(private, agreed, bits):
    """Adds up the numbers of every round, masked by the client, and its own secret."""
    total = np.zeros(agreed["numbers"], "<u8")
    for _ in range(agreed["rounds"]):
        if agreed["numbers"] == 19:
            time.sleep(0.7)
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

    load = "counter:loads"

    def __init__(self, secret=1000, most=10**6):
        self.offer = {"questions": ["sum"], "numbers": MOST}
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


class Running:
    """A service in a thread of this process, for as long as a block lasts."""

    def __init__(self, me, clients, desk, **limits):
        self.notes, self.receipts = [], []
        settings = {"workers": 2, "silence": 20.0, **limits}
        self.service = Service(
            me,
            clients,
            desk,
            limits=Limits(**settings),
            keep=lambda card, receipt: self.receipts.append((card.name, receipt)),
            tell=self.notes.append,
        )
        self.error = None

    def __enter__(self):
        up = threading.Event()

        def ready(place):
            self.loop = asyncio.get_running_loop()
            up.set()

        def go():
            try:
                asyncio.run(self.service.serve(Place("127.0.0.1", 0), ready=ready, grace=5.0))
            except BaseException as error:  # noqa: BLE001
                self.error = error
            up.set()

        self.thread = threading.Thread(target=go)
        self.thread.start()
        assert up.wait(120)
        if self.error is not None:
            raise self.error
        return self

    def __exit__(self, *_):
        self.stop()
        self.thread.join(60)
        assert not self.thread.is_alive()
        assert self.error is None

    def stop(self):
        self.loop.call_soon_threadsafe(self.service.stop)

    async def channel(self, who, silence=30.0, wrap=lambda stream: stream):
        """Connect as somebody; the stream may be made to misbehave."""
        stream = await dial(who, self.service.me.card, self.service.place, wait=30)
        return Channel(wrap(stream), silence=silence)

    async def ask(self, who, numbers, rounds=1, **settings):
        """The answer to an honest question."""
        channel = await self.channel(who, **settings)
        return (await attend(channel, wanted(numbers, rounds), who.fingerprint)).output

    def outcomes(self, name):
        """How the visits of a client ended, waiting until all have been told."""
        end = time.monotonic() + 20
        while self.service.connections and time.monotonic() < end:
            time.sleep(0.01)
        return [note.outcome for note in self.notes if note.client == name]

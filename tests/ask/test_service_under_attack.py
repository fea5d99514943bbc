"""A service under mixed requests of eight clients, many of them hostile: it stays up, answers the honest ones
correctly, its memory is bounded, and nobody gets more answers than allowed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import melodies
import numpy as np
import pytest
from sabotage import END, FAULTS, GREETING, Saboteur, Target, garbled

from discreet.ask import keyword
from discreet.ask.answers import Answers
from discreet.ask.serving import QUESTION, offered, question_of
from discreet.errors import DiscreetError, PartyError, RefusedError
from discreet.protocols.step import run_pair
from discreet.randomness import secure, seeded
from discreet.session import Wanted
from discreet.session.client import attend
from discreet.wire.channel import Channel
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial

LONG = os.environ.get("DISCREET_LONG") == "1"
CLIENTS = 8
REQUESTS = 1000 if LONG else 64
SILENCE = 8.0
GROWTH = 256 << 20
LATE = ("stalls", "truncated_and_stalls", "skipped", "reordered")
"""What the service notices only when its patience ends; few of them, since each takes that long."""


class Recorder:
    """A stream that keeps what is written to it."""

    def __init__(self, stream):
        self._stream = stream
        self.kept = []

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, data):
        self.kept.append(bytes(data))
        self._stream.write(data)


class Crowd:
    """Eight clients of one service."""

    def __init__(self, home, place):
        self.people = [home.identity(f"client{at}") for at in range(CLIENTS)]
        self.owner = home.identity("bob").card
        self.place = place
        self.ended = Counter()
        self.right = Counter()
        self.old = None
        self.wrong = []

    async def channel(self, who, wrap=lambda stream: stream):
        stream = await dial(who, self.owner, self.place, wait=60)
        return Channel(wrap(stream), silence=240.0)

    async def question(self, who, number, wrap=lambda stream: stream, ahead=0):
        """Ask about one recording; the word."""

        def want(plain):
            offer, together = offered(plain)
            sizes = {"frames": [offer.padded(9)], "ahead": ahead}
            asked = question_of(offer, sizes, together)
            steps = keyword.ask([melodies.recording(number)], asked.plan.agreed, secure())
            return Wanted(QUESTION, sizes, asked.plan, "data", steps)

        channel = await self.channel(who, wrap)
        return (await attend(channel, want, who.fingerprint)).output[0]

    async def honest(self, client, number):
        """An honest question is answered correctly, unless the client has had its answers."""
        try:
            word = await self.question(self.people[client], number, ahead=number // 3 % 2)
        except RefusedError as error:
            self.ended[f"refused {error.got}"] += 1
            if error.got != "limit":
                self.wrong.append((client, number, str(error)))
        except DiscreetError as error:
            self.wrong.append((client, number, repr(error)))
        else:
            self.ended["answered"] += 1
            self.right[client] += 1
            if word != melodies.word(number):
                self.wrong.append((client, number, word))

    async def faulty(self, client, number, fault, target, ahead):
        """One frame is spoilt. Whatever becomes of the client, it ends."""
        wires = []

        def wrap(stream):
            wires.append(Saboteur(stream, target, fault))
            return wires[0]

        try:
            word = await self.question(self.people[client], number, wrap, ahead)
        except RefusedError as error:
            self.ended[f"refused {error.got}"] += 1
        except PartyError:
            self.ended["failed"] += 1
        else:  # a repeated last frame is not read, and content that is garbled may give some other word
            self.ended["unhurt"] += 1
            if word not in melodies.WORDS or not wires[0].done:
                self.wrong.append((client, number, word, str(target)))

    async def replayed(self, client, number):
        """All that an earlier session has sent comes again, from the same client."""
        if self.old is None:
            recorders = []

            def wrap(stream):
                recorders.append(Recorder(stream))
                return recorders[0]

            with suppress(RefusedError):
                await self.question(self.people[client], number, wrap)
            self.old = recorders[0].kept
            return
        channel = await self.channel(self.people[client])
        for data in self.old:
            channel.stream.write(data)
        await self.until_ended(channel)

    async def noise(self, client, number):
        """Bytes that are no frames at all."""
        channel = await self.channel(self.people[client])
        channel.stream.write(seeded(number).bytes(200_000))
        await self.until_ended(channel)

    async def until_ended(self, channel):
        """Read whatever comes, until the service ends it."""
        scratch = memoryview(bytearray(1))
        try:
            while True:
                await channel.stream.fill(scratch)
        except PartyError:
            self.ended["ended by the service"] += 1

    async def perform(self, client, plan):
        for number, kind, *more in plan:
            await getattr(self, kind)(client, number, *more)


def frames_of_a_client():
    """Every message that a client sends, as targets for faults, and whether the question is asked ahead."""
    from discreet.ask.model import Model

    model = Model.of(melodies.vocabulary(), longest=24, padding=12)
    private, found = keyword.prepare_model(model), []
    for ahead in (0, 1):
        agreed = model.offer.question([12], ahead=bool(ahead)).to_dict()
        roles = (
            keyword.answer(private, agreed, secure()),
            keyword.ask([melodies.recording(0)], agreed, secure()),
        )
        *_, transcript = run_pair(*roles)
        names = dict.fromkeys(record.name for record in transcript.seen_by("first"))
        asked = [Target("data", "model", "request", turn) for turn in (0, 1)]
        asked += [Target("data", "model", name) for name in (GREETING, *names, END)]
        found += [(target, ahead) for target in asked]
    return found


def programme():
    """What each client does, the same in every run: half is honest, the rest are faults at all frames."""
    quick = {name: fault for name, fault in FAULTS.items() if name not in LATE} | {"garbled": garbled}
    targets = frames_of_a_client()
    pairs = [("faulty", fault, *target) for target in targets for fault in quick.values()]
    pairs += [("replayed",), ("noise",)] * (len(pairs) // 12)
    late = [("faulty", FAULTS[name], *target) for name in LATE for target in targets]
    order = np.random.default_rng(7)
    pairs = [pairs[at] for at in order.permutation(len(pairs))]
    late = [late[at] for at in order.permutation(len(late))]
    hostile = late[: 32 if LONG else 6] + (pairs * (REQUESTS // len(pairs) + 1))
    hostile = [hostile[at] for at in order.permutation(REQUESTS // 2)]
    rows = [(("honest",) if at % 2 else hostile[at // 2]) for at in range(REQUESTS)]
    plans = [[] for _ in range(CLIENTS)]
    for at, (kind, *more) in enumerate(rows):
        plans[at // 2 % CLIENTS].append((at, kind, *more))
    return plans


def peak(process, what="VmHWM"):
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) << 10


def children(process):
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    for name in ["bob", "guest", *(f"client{at}" for at in range(CLIENTS))]:
        made.new(name)
        if name != "bob":
            made.trust(made.identity(name).certificate)
    return made


@pytest.fixture
def service(home, tmp_path):
    """The service as a process of its own: the process, its place, and the most answers of a client."""
    most = 100 if LONG else REQUESTS // CLIENTS + 2
    words = [home.folder, tmp_path / "answers", most, tmp_path / "log", SILENCE]
    process = subprocess.Popen(
        [sys.executable, melodies.__file__, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    port = process.stdout.readline()
    assert port, process.stderr.read()
    yield process, Place("127.0.0.1", int(port)), most
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.timeout(1500)
def test_a_service_under_attack_stays_up_answers_right_and_keeps_its_limits(home, service, tmp_path):
    process, place, most = service
    crowd = Crowd(home, place)
    before, workers = peak(process.pid, "VmRSS"), children(process.pid)
    loaded = {worker: peak(worker, "VmRSS") for worker in workers}

    async def storm():
        await asyncio.gather(*(crowd.perform(at, plan) for at, plan in enumerate(programme())))
        tallies = {tally.client: tally.answers for tally in Answers.open(tmp_path / "answers").tallies()}
        left = [most - tallies.get(one.fingerprint, 0) for one in crowd.people]
        assert min(left) >= 0
        ends = Counter(crowd.ended)
        await asyncio.gather(
            *(crowd.honest(at, number) for at, some in enumerate(left) for number in range(some + 2))
        )
        assert crowd.ended["answered"] - ends["answered"] == sum(left)  # all that were left, at once
        assert crowd.ended["refused limit"] - ends["refused limit"] == 2 * CLIENTS  # and not one more
        return await crowd.question(home.identity("guest"), 4)

    assert asyncio.run(storm()) == melodies.word(4)
    assert not crowd.wrong
    assert crowd.ended["failed"] + crowd.ended["ended by the service"] > REQUESTS // 4
    assert process.poll() is None
    print(
        dict(crowd.ended),
        [(peak(one) - size) >> 20 for one, size in [(process.pid, before), *loaded.items()]],
    )
    assert peak(process.pid) - before < GROWTH
    assert children(process.pid) == workers, "a worker had to be replaced"
    assert all(peak(worker) - loaded[worker] < GROWTH for worker in workers)
    tallies = {tally.client: tally.answers for tally in Answers.open(tmp_path / "answers").tallies()}
    assert tallies == {one.fingerprint: most for one in crowd.people} | {
        home.identity("guest").fingerprint: 1
    }
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert process.stderr.read() == ""
    told = (tmp_path / "log").read_text().splitlines()
    assert sum(": answered" in line for line in told) >= sum(crowd.right.values()) + 1

"""Where the role of a service computes: in the loop of the connections, in threads, or in worker processes.

Two clients ask for a keyword at once (10 words, 5 states, 39 dimensions, full covariances, 98 frames padded
to 100; invented models), over TLS on the loopback interface. The roles of the clients are computed in worker
processes in all cases. What is compared is the time until both have their word, and the longest time for
which the loop of the service could attend to nobody else. A last line is what the way through a worker costs
a role that does nothing but send.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.table import Finding
from discreet.ask import keyword
from discreet.ask.model import Model
from discreet.ask.serving import load_model
from discreet.models.vocabulary import Vocabulary
from discreet.protocols.step import Limit, Receive, Send
from discreet.randomness import secure
from discreet.session import Plan
from discreet.session import run as run_role
from discreet.session.crew import Errand, Worker
from discreet.wire.channel import Channel
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial, listen

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

__all__ = ["run", "stream"]

_BLOCKS, _BLOCK = 64, 1 << 20
_STREAM = Plan("stream", 1, {}, {"data": "nothing", "model": "nothing"})
_ROOM = 2 << 30


class _Thread:
    """A role that computes in a thread of this process."""

    def __init__(self, steps: Generator[Any, Any, Any]) -> None:
        self._steps = steps

    async def advance(self, answer: Any, loss: Any) -> tuple[Any, Any]:
        return await asyncio.to_thread(self._next, answer)

    def _next(self, answer: Any) -> tuple[Any, Any]:
        try:
            return self._steps.send(answer), None
        except StopIteration as end:
            return None, end.value

    def close(self) -> None:
        self._steps.close()


def run(full: bool) -> list[Finding]:
    """Both questions at once, the longest stall, and a stream of tables."""
    rounds = 7 if full else 3
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        for name in ("data", "model"):
            home.new(name)
        best = asyncio.run(_measure(home, rounds))
    findings: list[Finding] = []
    for peer in ("loop", "thread"):
        for what, unit, scale in (("both words", "s", 1), ("longest stall", "ms", 1e3)):
            ours, other = best["worker", what] * scale, best[peer, what] * scale
            label = f"service, {what}: role in the {peer}"
            findings.append(Finding(label, f"{ours:.3g} {unit}", f"{other:.3g} {unit}", other / ours))
    sizes = {name: _BLOCKS * _BLOCK / 1e6 / best[name, "stream"] for name in ("worker", "loop")}
    speeds = {name: f"{speed:.0f} MB/s" for name, speed in sizes.items()}
    findings.append(
        Finding(
            "service, tables only: role in the loop",
            speeds["worker"],
            speeds["loop"],
            sizes["worker"] / sizes["loop"],
        )
    )
    return findings


def stream(private: object, agreed: Mapping[str, Any], bits: object) -> Generator[Any, Any, None]:
    """A role that sends tables and does nothing else."""
    block = bytes(_BLOCK)
    for _ in range(_BLOCKS):
        yield Send("tables", {"table": block})


def _take(private: object, agreed: Mapping[str, Any], bits: object) -> Generator[Any, Any, None]:
    for _ in range(_BLOCKS):
        yield Receive("tables", {"table": Limit.raw(_BLOCK)})


async def _measure(home: Home, rounds: int) -> dict[tuple[str, str], float]:
    model = Model.of(_vocabulary(), longest=100, padding=100)
    private = {"model": model.to_dict(), "warm": [100]}
    question = model.offer.question([98])
    recording = np.random.default_rng(1).uniform(-1, 1, (98, 39))
    here = load_model(private)
    load = "discreet.ask.serving:load_model"
    servers = [await Worker.start(load, private) for _ in range(2)]
    clients = [await Worker.start("discreet.session.worker:keep", [recording]) for _ in range(2)]
    answer = Errand("discreet.ask.keyword:answer", "model", question.plan.agreed, _ROOM)
    ask = Errand("discreet.ask.keyword:ask", "data", question.plan.agreed, _ROOM)
    tables = Errand("benchmarks.service:stream", "model", {}, _ROOM)

    def steps() -> Generator[Any, Any, Any]:
        return keyword.answer(here, question.plan.agreed, secure())

    kinds = {
        "worker": lambda at: servers[at].take(answer),
        "loop": lambda at: steps(),
        "thread": lambda at: _Thread(steps()),
    }
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for name, make in kinds.items():
            pairs = [(make(at), clients[at].take(ask)) for at in range(2)]
            whole, stall = await _play(home, question.plan, pairs)
            for what, value in (("both words", whole), ("longest stall", stall)):
                best[name, what] = min(best.get((name, what), float("inf")), value)
        for name, work in (("worker", servers[0].take(tables)), ("loop", stream(None, {}, None))):
            whole, _ = await _play(home, _STREAM, [(work, _take(None, {}, None))])
            best[name, "stream"] = min(best.get((name, "stream"), float("inf")), whole)
    for worker in servers + clients:
        worker.kill()
    return best


async def _play(home: Home, plan: Plan, pairs: list[tuple[Any, Any]]) -> tuple[float, float]:
    """Seconds until all have finished, and the longest time in which the loop did nothing else."""
    stalls = [0.0]
    watch = asyncio.ensure_future(_watch(stalls))
    channels = [await _connect(home) for _ in pairs]
    began = time.perf_counter()
    await asyncio.gather(*(_both(plan, *pair, *ends) for pair, ends in zip(pairs, channels, strict=True)))
    whole = time.perf_counter() - began
    watch.cancel()
    return whole, max(stalls)


async def _both(plan: Plan, server: Any, client: Any, mine: Channel, theirs: Channel) -> None:
    await asyncio.gather(
        run_role(plan, "model", server, {"data": mine}, fingerprint=theirs.fingerprint),
        run_role(plan, "data", client, {"model": theirs}, fingerprint=mine.fingerprint),
    )


async def _connect(home: Home) -> tuple[Channel, Channel]:
    model, data = home.identity("model"), home.identity("data")
    listener = await listen(model, [data.card], Place("127.0.0.1", 0))
    dialled, (_, accepted) = await asyncio.gather(
        dial(data, model.card, listener.place, wait=30), listener.accept(30)
    )
    await listener.close()
    return Channel(accepted), Channel(dialled)


async def _watch(stalls: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        stalls.append(time.perf_counter() - began - 0.001)


def _vocabulary() -> Vocabulary:
    """Ten words of five states and 39 dimensions: invented."""
    draw = np.random.default_rng(0)
    spread = np.eye(39) * 0.2 + 0.002 * np.ones((39, 39))
    stay = np.diag(np.full(5, 0.8)) + np.diag(np.full(4, 0.2), 1)
    stay[4, 4] = 1.0
    tensors = {
        "startprob": np.tile(np.eye(5)[0], (10, 1)),
        "transmat": np.tile(stay, (10, 1, 1)),
        "means": draw.uniform(-0.5, 0.5, (10, 5, 39)),
        "covars": np.tile(spread, (10, 5, 1, 1)),
    }
    plain = {"words": [f"word {at}" for at in range(10)], "covariance_type": "full", "front": {}}
    return Vocabulary.of(tensors, plain)

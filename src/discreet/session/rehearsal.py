"""A rehearsal: every party is its own process on this machine, over TLS on the loopback interface.

What runs is what will run between organisations: the same roles, frames, keys and checks. The identities are
made for the rehearsal and thrown away. Roles are named by where they are imported from, inputs and outputs
are plain data: no process executes what another one wrote.

**Trusts** this machine with everything: the process that rehearses knows all inputs and outputs.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from discreet.errors import DiscreetError, LateError, ParameterError, PeerError
from discreet.protocols.step import Record, Transcript
from discreet.randomness import secure, seeded
from discreet.session.meeting import WHOLE, Outcome, run
from discreet.session.parcel import defect, error_of, pack, plain_error, read, write
from discreet.session.plan import Plan
from discreet.session.receipt import Receipt
from discreet.wire.channel import SILENCE
from discreet.wire.identity import Home
from discreet.wire.tls import Place, listen, meet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Part", "perform", "rehearse"]

_WAIT = 60.0
_COMMAND = "from discreet.session.rehearsal import perform; perform()"


@dataclass(frozen=True)
class Part:
    """A role in a rehearsal: where it is imported from (``package.module:function``), and its private input.

    The function is called with the private input, what is agreed, and bits. ``prepare`` names a function that
    is called with the first two of these before the parties meet, and whose result takes the place of the
    private input: for what a party does once, whoever comes.
    """

    function: str
    private: Any = None
    prepare: str = ""

    def load(self) -> Callable[..., Any]:
        """Import the role."""
        return _import(self.function)

    def ready(self, agreed: Mapping[str, Any]) -> Any:
        """The private input as the role takes it."""
        return _import(self.prepare)(self.private, agreed) if self.prepare else self.private


def _import(path: str) -> Callable[..., Any]:
    place, colon, name = path.partition(":")
    found = getattr(import_module(place), name, None) if colon else None
    if not callable(found):
        raise ParameterError("not a role", got=path, wanted="package.module:function")
    return cast("Callable[..., Any]", found)


def rehearse(
    plan: Plan,
    parts: Mapping[str, Part],
    *,
    seed: int | None = None,
    silence: float = SILENCE,
    whole: float = WHOLE,
    record: bool = False,
) -> dict[str, Outcome]:
    """Run all roles of a plan, each in its own process, and return every party's outcome.

    With a seed the roles get replayable bits. Raises what the first role to fail has raised.
    """
    if set(parts) != set(plan.learns):
        raise ParameterError("parts are missing", got=sorted(parts), wanted=str(sorted(plan.learns)))
    jobs = {
        role: {
            "plan": plan.to_dict(),
            "role": role,
            "function": part.function,
            "private": part.private,
            "prepare": part.prepare,
            "seed": seed,
            "silence": silence,
            "whole": whole,
            "record": record,
        }
        for role, part in parts.items()
    }
    pack(jobs)  # refuses what cannot cross before a process is started
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        for role in parts:
            Home(Path(folder) / role).new(role)
        for role in parts:
            for other in parts:
                Home(Path(folder) / role).trust(Path(folder) / other / "me" / f"{other}.party")
        return _Troupe(jobs, Path(folder), whole + _WAIT).play()


class _Troupe:
    """The processes of one rehearsal."""

    def __init__(self, jobs: dict[str, dict[str, Any]], folder: Path, longest: float) -> None:
        self.jobs = jobs
        self.folder = folder
        self.longest = longest
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.late = False

    def play(self) -> dict[str, Outcome]:
        """Start all, introduce them to each other, collect what they return."""
        watch = threading.Timer(self.longest, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            self.processes = {role: self._start(role) for role in self.jobs}
            places = {role: self._read(role) for role in self.jobs}
            refused = [answer for answer in places.values() if "error" in answer]
            if not refused:
                for role in self.jobs:
                    with suppress(BrokenPipeError):
                        write(self._pipe(role), places)
            return self._outcomes(refused or [self._read(role) for role in self.jobs])
        finally:
            watch.cancel()
            self._stop()

    def _start(self, role: str) -> subprocess.Popen[bytes]:
        search = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": search},
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            write(process.stdin, {**self.jobs[role], "home": str(self.folder / role)})
        return process

    def _pipe(self, role: str) -> IO[bytes]:
        pipe = self.processes[role].stdin
        assert pipe is not None
        return pipe

    def _read(self, role: str) -> dict[str, Any]:
        pipe = self.processes[role].stdout
        assert pipe is not None
        try:
            return read(pipe)
        except PeerError as error:
            if self.late:
                return {"error": plain_error(_late(self.longest))}
            return {"error": plain_error(error)}

    def _outcomes(self, answers: list[dict[str, Any]]) -> dict[str, Outcome]:
        """What everybody returned, or the error that was first: not that of a party who was left alone."""
        found = [error_of(answer["error"]) for answer in answers if "error" in answer]
        if found:
            raise min(found, key=_consequence)
        return {role: _outcome(answer) for role, answer in zip(self.jobs, answers, strict=True)}

    def _give_up(self) -> None:
        self.late = True
        for process in self.processes.values():
            process.kill()

    def _stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            process.wait()


def perform() -> None:
    """Play one part: what a process of a rehearsal runs. The job comes in on the standard input."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a role prints goes beside, not into the answer
    job = read(sys.stdin.buffer)
    try:
        asyncio.run(_perform(job, out))
    except DiscreetError as error:
        write(out, {"error": plain_error(error)})
    except Exception as error:  # noqa: BLE001
        write(out, {"error": plain_error(defect(job["role"], error))})


async def _perform(job: dict[str, Any], out: IO[bytes]) -> None:
    plan, role, home = Plan.of(job["plan"]), job["role"], Home(job["home"])
    me, cards = home.identity(role), {card.name: card for card in home.trusted()}
    part = Part(job["function"], job["private"], job["prepare"])
    function, private = part.load(), part.ready(plan.agreed)
    bits = secure() if job["seed"] is None else seeded(job["seed"] * len(cards) + sorted(cards).index(role))
    listener = await listen(me, [card for name, card in cards.items() if name != role], Place("127.0.0.1", 0))
    write(out, {"port": listener.place.port})
    ports: dict[str, dict[str, int]] = read(sys.stdin.buffer)
    places = {name: Place("127.0.0.1", place["port"]) for name, place in ports.items()}
    try:
        channels = await meet(me, cards, places, role, listener=listener, wait=_WAIT, silence=job["silence"])
    finally:
        await listener.close()
    steps = function(private, plan.agreed, bits)
    outcome = await run(
        plan, role, steps, channels, fingerprint=me.fingerprint, whole=job["whole"], record=job["record"]
    )
    seen = None if outcome.transcript is None else [_record(record) for record in outcome.transcript]
    write(out, {"output": outcome.output, "receipt": outcome.receipt.to_dict(), "transcript": seen})


def _record(record: Record) -> list[Any]:
    return [record.sender, record.receiver, record.name, dict(record.arrays)]


def _outcome(answer: dict[str, Any]) -> Outcome:
    seen = answer["transcript"]
    transcript = None if seen is None else Transcript([Record(*record) for record in seen])
    return Outcome(answer["output"], Receipt.of(answer["receipt"]), transcript)


def _consequence(error: DiscreetError) -> int:
    """How far from the cause: whoever was left alone comes last, whoever waited in vain before."""
    if isinstance(error, LateError):
        return 1
    return 2 if isinstance(error, PeerError) else 0


def _late(longest: float) -> LateError:
    return LateError("the rehearsal took too long", wanted=f"at most {longest:g} seconds")

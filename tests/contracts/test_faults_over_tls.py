"""The same faults over TLS on real sockets: each at every message, all at once: stalls pass together."""

import asyncio
from contextlib import suppress

import pytest
from registry import PROTOCOLS
from sabotage import FAULTS, HARMLESS_AT_THE_END, LAST, NeverSent, check, honest, perform, targets

from discreet.session import Outcome
from discreet.wire.identity import Home
from discreet.wire.tls import Place, dial, listen


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("home"))
    for case in PROTOCOLS.values():
        for name in set(case.roles) - set(made.names()):
            made.new(name)
    return made


def over(home):
    """Connect two roles over TLS."""

    async def connect(one, two):
        first, second = home.identity(one), home.identity(two)
        listener = await listen(first, [second.card], Place("127.0.0.1", 0))
        dialled, (_, accepted) = await asyncio.gather(
            dial(second, first.card, listener.place, wait=60), listener.accept(60)
        )
        await listener.close()
        return accepted, dialled

    return connect


@pytest.mark.parametrize("name", PROTOCOLS)
def test_without_faults_everybody_gets_an_output(name, home):
    case = PROTOCOLS[name]
    ended = asyncio.run(perform(case, None, None, connect=over(home)))
    assert all(isinstance(outcome, Outcome) for outcome in ended.values()), ended
    assert case.check(case.inputs[0], {role: outcome.output for role, outcome in ended.items()})


async def attempt(case, target, fault, connect):
    """On a busy machine an honest party may be late as well, before the fault: then with more patience."""
    for silence in (1.0, 5.0):
        with suppress(NeverSent):
            return await perform(case, target, fault, connect=connect, silence=silence)
    return await perform(case, target, fault, connect=connect, silence=30.0)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["ring sum", "overlap"])
def test_a_fault_at_any_message_ends_all_sides_without_output(name, fault, home):
    case = PROTOCOLS[name]
    chosen = [
        target
        for target in targets(honest(case)[1])
        if target.name != LAST or fault not in HARMLESS_AT_THE_END
    ]

    async def all_at_once():
        return await asyncio.gather(*(attempt(case, one, FAULTS[fault], over(home)) for one in chosen))

    for target, ended in zip(chosen, asyncio.run(all_at_once()), strict=True):
        check(target, fault, ended)

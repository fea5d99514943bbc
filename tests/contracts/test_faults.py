"""For every protocol, every message and every fault: all parties end in time, with a clear error, no output.

In memory with a clock that only moves when everybody waits, so a time-out is exact and takes no time. The
same frames go over TLS in `tests/contracts/test_faults_over_tls.py`.
"""

import asyncio
import os

import pytest
from clock import play
from registry import PROTOCOLS
from sabotage import (
    FAULTS,
    HARMLESS_AT_THE_END,
    LAST,
    SILENCE,
    bits_of,
    check,
    garbled,
    honest,
    perform,
    targets,
)

from discreet.errors import DiscreetError
from discreet.protocols.step import run_parties
from discreet.session import Outcome

LONG = os.environ.get("DISCREET_LONG") == "1"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_without_faults_everybody_gets_an_output_and_a_receipt(name):
    case = PROTOCOLS[name]
    for choice in range(len(case.inputs)):
        outputs, _ = run_parties(case.make(bits_of, choice))
        assert case.check(case.inputs[choice], outputs)
    ended = play(perform(case, None, None))
    assert case.check(case.inputs[0], {role: outcome.output for role, outcome in ended.items()})
    sessions = {outcome.receipt.session for outcome in ended.values()}
    assert len(sessions) == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_fault_at_any_message_ends_all_sides_in_time_without_output(name, fault):
    case = PROTOCOLS[name]
    _, transcript = honest(case)
    for target in some(targets(transcript), list(FAULTS).index(fault)):
        if target.name == LAST and fault in HARMLESS_AT_THE_END:
            continue
        ended, seconds = play(timed(case, target, FAULTS[fault]))
        check(target, fault, ended)
        assert seconds <= 2 * SILENCE + 5, f"{fault} at {target}"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_false_content_ends_in_an_output_or_in_an_error_of_ours(name):
    case = PROTOCOLS[name]
    for target in targets(honest(case)[1]):
        if target.name.startswith("("):
            continue
        ended = play(perform(case, target, garbled))
        for role, outcome in ended.items():
            assert isinstance(outcome, Outcome | DiscreetError), f"{target}: {role} ended with {outcome!r}"


def some(chosen, turn):
    """Short form: every third pair of message and fault; each meets several of the other. Long: all."""
    return chosen if LONG else chosen[turn % 3 :: 3]


async def timed(case, target, fault):
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = await perform(case, target, fault)
    return ended, loop.time() - began

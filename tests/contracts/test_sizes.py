"""What is on the wire has the same sizes whatever the private inputs are: all protocols in the registry."""

import pytest
from clock import play
from registry import PROTOCOLS
from sabotage import bits_of, perform

from discreet.audit.wiretap import judge_forms
from discreet.protocols.step import run_parties
from discreet.randomness import secure


@pytest.mark.parametrize("name", PROTOCOLS)
def test_names_order_and_shapes_do_not_depend_on_private_inputs(name):
    case = PROTOCOLS[name]
    runs = [
        run_parties(case.make(source, choice))[1]
        for choice in range(len(case.inputs))
        for source in (bits_of, lambda role: secure())
    ]
    finding = judge_forms(runs)
    assert not finding.leaks(), finding


@pytest.mark.parametrize("name", PROTOCOLS)
def test_bytes_messages_and_rounds_of_every_phase_do_not_depend_on_private_inputs(name):
    case = PROTOCOLS[name]
    counts = set()
    for choice in range(len(case.inputs)):
        ended = play(perform(case, None, None, choice=choice))
        counts.add(
            tuple(
                (role, peer, phase, count.sent, count.received, count.messages, count.rounds)
                for role, outcome in ended.items()
                for peer, meter in outcome.receipt.peers.items()
                for phase, count in meter.phases.items()
            )
        )
    assert len(counts) == 1

"""The wiretap over the whole registry: what a party sees does not tell inputs with equal answers apart.

False alarms: at most a hundred findings at 1e-9 each.
"""

import os

import pytest
from registry import PROTOCOLS

from discreet.audit.wiretap import judge_difference
from discreet.protocols.step import run_parties
from discreet.randomness import secure

RUNS = 200 if os.environ.get("DISCREET_LONG") == "1" else 24
TWO = {name: case for name, case in PROTOCOLS.items() if len(case.inputs) > 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO)
def test_inputs_with_the_same_answer_cannot_be_told_apart_by_any_party(name):
    case = TWO[name]
    first, second = (
        [run_parties(case.make(lambda role: secure(), choice))[1] for _ in range(RUNS)] for choice in (0, 1)
    )
    for party in case.roles:
        if any(record.receiver == party for record in first[0]):
            finding = judge_difference(first, second, party)
            assert not finding.leaks(1e-9), f"{party}: {finding}"


@pytest.mark.parametrize("name", TWO)
def test_the_first_two_choices_are_different_inputs(name):
    one, two = TWO[name].inputs[:2]
    assert any(repr(one[role]) != repr(two[role]) for role in one)

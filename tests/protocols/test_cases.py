"""The cases that sessions are tested with run as they stand; plans survive the way through plain data."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.protocols import cases

from discreet.crypto.layout import Correlation
from discreet.protocols.product import Joint, Pair
from discreet.protocols.scores import Scores
from discreet.protocols.step import run_parties
from discreet.protocols.total import Total
from discreet.randomness import secure


@dataclass(frozen=True)
class Plan:
    protocol: str
    version: int
    agreed: Any
    learns: Any


@dataclass(frozen=True)
class Case:
    plan: Plan
    roles: Any
    inputs: Any
    check: Any


CASES = cases.cases(Plan, Case)


@pytest.mark.parametrize("name", CASES)
def test_every_case_ends_rightly_and_its_messages_have_one_form(name):
    case = CASES[name]
    agreed = json.loads(json.dumps(case.plan.agreed))
    forms = set()
    for private in case.inputs:
        roles = {party: role(private[party], agreed, secure()) for party, role in case.roles.items()}
        outputs, transcript = run_parties(roles)
        assert case.check(private, outputs)
        forms.add(tuple(transcript.forms))
        wrong = {
            party: (output + np.uint64(1) if isinstance(output, np.ndarray) else output)
            for party, output in outputs.items()
        }
        if any(isinstance(output, np.ndarray) for output in outputs.values()):
            assert not case.check(private, wrong)
    assert len(forms) == 1


def test_plans_come_back_from_plain_data():
    windows = Scores(Correlation(5, 100), 3, 3, 20, 7)
    for agreed in (cases.SCORES, windows, cases.PAIR, cases.JOINT, cases.TOTAL, cases.NOISY):
        plain = json.loads(json.dumps(agreed.to_dict()))
        assert type(agreed).of(plain) == agreed
        assert isinstance(agreed, Scores | Pair | Joint | Total)

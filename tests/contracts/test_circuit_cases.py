"""The cases of circuits in memory: right for all inputs, and of the same form for all inputs."""

import pytest
from circuits import CIRCUITS

from discreet.protocols.step import run_parties
from discreet.randomness import secure


@pytest.mark.parametrize("name", CIRCUITS)
def test_outputs_are_right_and_forms_do_not_depend_on_inputs(name):
    _, roles, inputs, check = CIRCUITS[name]
    forms = []
    for private in inputs:
        outputs, transcript = run_parties(
            {party: role(private[party], {}, secure()) for party, role in roles.items()}
        )
        assert check(private, outputs)
        forms.append(transcript.forms)
    assert len(forms) > 1
    assert all(form == forms[0] for form in forms)

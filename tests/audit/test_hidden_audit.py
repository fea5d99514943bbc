"""The audit of every private hidden Markov fit stays below its claim, and every planted bug is caught."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.audit.hidden import (
    BROKEN,
    BUGS,
    HONEST,
    Hidden,
    Worlds,
    audit_hidden,
    hidden_request,
    invent_sequences,
)
from discreet.errors import ParameterError
from discreet.fit.hmm import belief, counts, points, windows
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.run import run
from discreet.fit.hmm.schedule import METHODS
from discreet.models.moments import COVARIANCE_TYPES
from discreet.randomness import generator, seeded

LONG = os.environ.get("DISCREET_LONG") == "1"
REPEATS = 20 if LONG else 1
FEW = {
    "iterate, short noise": 250,
    "score, no clipping": 120,
    "iterate, sequences for persons": 150,
    "labelled, free census": 120,
}
"""Enough runs to refute the claim of one fit for each bug; the others' canaries are only weighed."""


@pytest.fixture(autouse=True)
def few_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits draw less from their own models: that decides how good they are, not what they reveal."""
    monkeypatch.setattr(belief, "_DRAWN", 2000)
    monkeypatch.setattr(belief, "_FEWEST", 50)
    monkeypatch.setattr(windows, "_DRAWN", 2000)
    monkeypatch.setattr(windows, "STEPS", 2)
    monkeypatch.setattr(points, "_DRAWN", 2000)
    monkeypatch.setattr(counts, "_MOST", 100)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", HONEST)
def test_the_audit_of_an_honest_fit_stays_below_its_claim(name: str) -> None:
    for repeat in range(REPEATS):
        finding = audit_hidden(
            **HONEST[name], runs=400 if LONG else 20, confidence=0.99, random_state=1 + repeat
        )
        assert not finding.caught, finding.words()
        assert not finding.overspent
        assert finding.spent > 0.99  # the canary is as bad as it gets: the audit is not toothless


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", BROKEN)
def test_the_audit_of_a_fit_with_a_planted_bug_exceeds_its_claim(name: str) -> None:
    for repeat in range(REPEATS):
        finding = audit_hidden(
            **BROKEN[name],
            runs=600 if LONG else FEW.get(name, 6),
            confidence=0.99,
            random_state=1 + repeat,
        )
        assert finding.overspent
        assert finding.bug
        if LONG or name in FEW:
            assert finding.caught, finding.words()


def test_every_method_and_every_bug_is_audited() -> None:
    assert {case["bug"] for case in BROKEN.values()} == set(BUGS)
    assert {BROKEN[name]["bug"] for name in FEW} == set(BUGS)
    symbols = {case["method"] for case in HONEST.values() if case.get("family") != "gaussian"}
    assert symbols == set(METHODS)
    assert {case.get("noise", "gaussian") for case in HONEST.values()} == {"gaussian", "laplace"}
    assert {case.get("unit", "sequence") for case in HONEST.values()} == {"sequence", "person"}


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("topology", [None, "left-right"])
def test_no_canary_spends_more_than_the_budget_on_points(noise: str, kind: str, topology: Any) -> None:
    """Deterministic: the shift of the noiseless answers along real transcripts, over the noise."""
    finding = audit_hidden(
        family="gaussian",
        noise=noise,
        covariance_type=kind,
        topology=topology,
        unit="person",
        n_states=3,
        n_rounds=4,
        runs=6,
    )
    assert 0.7 < finding.spent <= 1 + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_no_canary_of_any_kind_spends_more_than_the_budget(method: str) -> None:
    """Other canaries than the usual: one row, an ordinary sequence, one that the skeleton rules out."""
    wanted = hidden_request(
        method=method,
        epsilon=8.0,
        n_rounds=None if method == "moments" else 3,
        skeleton={"emissionprob": [[0.5, 0.5, 0.0], [0.3, 0.7, 0.0]]},
    )
    without, canary, _ = invent_sequences(wanted, 30)
    labels = canary.labels
    for rows in ([2], [0], [0, 1, 0, 1, 0, 0, 0, 1], [1] * 50):
        length = len(rows)
        path = None if labels is None else np.zeros(length, dtype=np.intp)
        strange = Sequences(np.array(rows)[:, None], np.array([length], dtype=np.intp), path)
        subject = Hidden(Worlds.of(wanted, without, strange))
        claimed = sum(1 / event.noise**2 for event in Worlds.of(wanted, without, strange).guarantee.events)
        for world in (0, 1):
            assert subject.play(world, seeded(world)).squares <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("case", ["score", "labelled", "moments", "iterate", "points"])
def test_the_audited_fit_is_the_one_that_people_run(case: str) -> None:
    """`fit.hmm.run.run` with the same seed asks and releases the same as what the audit scores."""
    usual: dict[str, Any] = {"family": "gaussian"} if case == "points" else {"method": case}
    skeleton = {"emissionprob": [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]} if case != "points" else None
    wanted = hidden_request(**usual, skeleton=skeleton, bits=seeded(5))
    without, canary, _ = invent_sequences(wanted, 40)
    worlds = Worlds.of(replace(wanted, bits=seeded(0)), without, canary)
    released: list[np.ndarray] = []
    run(wanted, without, listen=lambda question, noisy: released.append(noisy))
    heard: list[np.ndarray] = []

    class Listening(Hidden):
        def _round(self, question: Any, noisy: Any, event: Any) -> Any:
            heard.append(noisy)
            return super()._round(question, noisy, event)

    bits = seeded(5)
    if case != "points":
        generator(bits)  # `run` takes one for the start, though here it is declared
    Listening(worlds).play(0, bits)
    assert len(heard) == len(released) == len(worlds.guarantee.events) > 1
    assert all(np.array_equal(one, other) for one, other in zip(heard, released, strict=True))


def test_the_noise_of_opendp_is_audited_as_well() -> None:
    finding = audit_hidden("score", runs=6, n_rounds=1, random_state=None)
    assert not finding.caught
    assert 0.99 < finding.spent <= 1 + 1e-9


def test_a_finding_says_what_was_audited() -> None:
    finding = audit_hidden("iterate", runs=6, bug="short noise", unit="person")
    assert "one person added or removed" in finding.words()
    assert "short noise" in finding.words()
    assert finding.overspent
    assert audit_hidden("iterate", runs=6) == audit_hidden("iterate", runs=6)
    assert json.loads(json.dumps(finding.to_dict()))["bug"] == "short noise"


@pytest.mark.parametrize(
    "wrong",
    [{"unit": "city"}, {"bug": "none"}, {"runs": 1}, {"epsilon": math.inf}, {"method": "published"}],
)
def test_audits_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        audit_hidden(**{"runs": 6, **wrong})

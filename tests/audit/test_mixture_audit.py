"""Must show 5: the audit of every method stays below its claim, and every planted bug is caught."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
import pytest

from discreet.accounting.gaussian import gaussian_mu
from discreet.audit.mixture import audit_fit, audit_mixture, invent_rows, request_of
from discreet.audit.planted import BUGS
from discreet.audit.table import BROKEN, HONEST, audit_methods, tabulate
from discreet.audit.transcript import Input, Joint, Published, Setting
from discreet.errors import ParameterError
from discreet.fit.mixture.run import run
from discreet.randomness import seeded

LONG = os.environ.get("DISCREET_LONG") == "1"
REPEATS = 20 if LONG else 1
FEW = {"joint, noise in doubles": 20_000, "joint, short noise": 250, "joint, low bits": 1000}


def audit(name: str) -> Any:
    """The case as in the table, or a short form of it."""
    if LONG:
        return audit_methods(REPEATS, 400, cases=[name])[0]
    cases = {**HONEST, **BROKEN}
    return audit_methods(1, cases={name: {**cases[name], "runs": FEW.get(name, 150)}})[0]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", HONEST)
def test_the_audit_of_an_honest_fit_stays_below_its_claim(name: str) -> None:
    audited = audit(name)
    assert not audited.broken
    assert audited.right == len(audited.findings) == REPEATS, tabulate([audited])
    assert not any(finding.overspent for finding in audited.findings)
    if "joint" in name and "bits" not in name:  # the canary is as bad as it gets: the audit is not toothless
        assert max(finding.spent for finding in audited.findings) > 0.7


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", BROKEN)
def test_the_audit_of_a_fit_with_a_planted_bug_exceeds_its_claim(name: str) -> None:
    audited = audit(name)
    assert audited.broken
    assert audited.right == len(audited.findings) == REPEATS, tabulate([audited])


def test_every_method_and_every_bug_is_in_the_table() -> None:
    assert {case["bug"] for case in BROKEN.values()} == set(BUGS)
    methods = {case.get("method", "joint") for case in HONEST.values()}
    assert methods == {"joint", "published", "input"}


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_canary_ever_spends_more_than_the_budget(kind: str, noise: str) -> None:
    """Deterministic: the shift of the noiseless statistics along real transcripts, over the noise."""
    for unit in ("row", "person"):
        finding = audit_fit(
            noise=noise, unit=unit, covariance_type=kind, dimension=3, n_components=3, runs=6, epsilon=4.0
        )
        assert 0.5 < finding.spent <= 1 + 1e-9


@pytest.mark.parametrize(
    "canary", [[[1.0, 1.0]], [[0.0, 0.0]], [[1.0, 0.0]], [[0.2, 0.2]], [[1e300, -1e300]], [[0.35, 0.35]]]
)
def test_no_canary_anywhere_spends_more_than_the_budget(canary: list[list[float]]) -> None:
    rows, _, _ = invent_rows(100, 2)
    finding = audit_mixture(request_of(n_rounds=3, epsilon=8.0, n_components=3), rows, canary, 6)
    assert 0 < finding.spent <= 1 + 1e-9


def test_scores_of_input_are_normal_with_the_mu_of_the_claim() -> None:
    """Its likelihood ratio is known in closed form: N(-mu^2/2, mu^2) against N(mu^2/2, mu^2)."""
    rows, canary, _ = invent_rows(20, 2, change=True)
    subject = Input(Setting.of(request_of(method="input", epsilon=4.0), rows, canary))
    mu = gaussian_mu(4.0, 1e-5)
    runs = 600
    scores = [[subject.play(world, seeded(2 * i + world)) for i in range(runs)] for world in (0, 1)]
    for world, sign in ((0, -1), (1, 1)):
        ratios = np.array([score.ratio for score in scores[world]])
        assert abs(ratios.mean() - sign * mu**2 / 2) < 5 * mu / math.sqrt(runs)
        assert abs(ratios.std() - mu) < 5 * mu / math.sqrt(2 * runs)
        assert all(math.isclose(score.squares, mu**2, rel_tol=1e-3) for score in scores[world])


@pytest.mark.parametrize(("method", "subject"), [("joint", Joint), ("published", Published)])
def test_a_transcript_is_scored_by_its_likelihood_ratio(method: str, subject: Any) -> None:
    """The mean of exp(ratio) in world 0 is 1, by definition; and the ratio is larger in world 1."""
    rows, canary, _ = invent_rows(40, 1)
    wanted = request_of(method=method, epsilon=1.0, n_components=1, n_rounds=1)
    one = subject(Setting.of(wanted, rows, canary))
    ratios = [
        np.array([one.play(world, seeded(2 * i + world)).ratio for i in range(400)]) for world in (0, 1)
    ]
    change = np.exp(ratios[0])
    assert abs(change.mean() - 1) < 5 * change.std() / math.sqrt(400)
    change = np.exp(-ratios[1])
    assert abs(change.mean() - 1) < 5 * change.std() / math.sqrt(400)
    assert ratios[1].mean() > ratios[0].mean()


@pytest.mark.parametrize("method", ["joint", "published"])
def test_the_audited_fit_is_the_one_that_people_run(method: str) -> None:
    """`fit.mixture.run.run` with the same seed releases the same numbers that the audit scores."""
    rows, canary, _ = invent_rows(50, 2)
    wanted = request_of(method=method, n_rounds=2, bits=seeded(5))
    released: list[np.ndarray] = []
    run(wanted, rows, listen=lambda grid, layout, noisy: released.append(noisy))
    setting = Setting.of(wanted, rows, canary)
    heard: list[np.ndarray] = []

    class Listening(Joint if method == "joint" else Published):  # type: ignore[misc]
        def _round(self, *parts: Any) -> Any:
            heard.append(next(part for part in parts if isinstance(part, np.ndarray)))
            return super()._round(*parts)

    Listening(setting).play(0, seeded(5))
    assert len(heard) == len(released) > 1
    assert all((one == other).all() for one, other in zip(heard, released, strict=True))


def test_the_noise_of_opendp_is_audited_as_well() -> None:
    finding = audit_fit(runs=20, n_rounds=1, random_state=None)
    assert not finding.caught
    assert 0.9 < finding.spent <= 1 + 1e-9


def test_a_finding_says_what_was_audited() -> None:
    finding = audit_fit(runs=6, bug="short noise", unit="person")
    assert "one person added or removed" in finding.words()
    assert "short noise" in finding.words()
    assert finding.overspent
    assert audit_fit(runs=6, n_rounds=1) == audit_fit(runs=6, n_rounds=1)
    plain = json.loads(json.dumps(finding.to_dict()))
    assert plain["bug"] == "short noise"
    assert plain["overspent"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"unit": "city"},
        {"attack": "magic"},
        {"bug": "none"},
        {"runs": 1},
        {"method": "input", "unit": "person"},
        {"method": "published", "bug": "short noise"},
        {"method": "joint", "bug": "private counts"},
        {"epsilon": math.inf},
        {"attack": "low bits", "dimension": 1},
    ],
)
def test_audits_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        audit_fit(**{"runs": 6, **wrong})

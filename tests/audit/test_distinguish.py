"""The audit refutes false claims and leaves true ones alone."""

import math

import numpy as np
import pytest

from discreet.accounting.event import Event
from discreet.accounting.gaussian import gaussian_mu
from discreet.audit.distinguish import (
    Finding,
    NoiseLaw,
    distinguish,
    gaussian_ratio,
    judge,
    laplace_ratio,
    likelihood_ratio,
)
from discreet.errors import ParameterError
from discreet.mechanisms.exact import discrete_gaussian, discrete_laplace
from discreet.mechanisms.noise import release
from discreet.randomness import secure, seeded
from discreet.statistic import Statistic

ROUNDS = 8
UNIT = 2.0**-20
WITHOUT = np.array([-0.9, -0.2, 0.1, 0.4])
WITH = np.append(WITHOUT, 1.0)
BOUND = math.sqrt(2)  # of (1, x) with |x| <= 1


def _clean(rows, past):
    """A round looks at the rows through what was released before: (how many, a wave of them)."""
    phase = past[-1][1] / 50 if past else 0.0
    return np.array([rows.size, np.sum(np.cos(phase * (1 - rows)))])


class Fit:
    """An iterative mechanism: exact noise from a seed, drawn beforehand for all runs (that is faster)."""

    def __init__(self, law, runs, seed):
        sample = discrete_gaussian if law.mechanism == "gaussian" else discrete_laplace
        drawn = sample(math.ceil(law.scale / UNIT), runs * ROUNDS * 2, seeded(seed)) * UNIT
        self._noise = iter(drawn.reshape(runs, ROUNDS, 2))

    def __call__(self, rows):
        past = []
        for noise in next(self._noise):
            past.append(_clean(rows, past) + noise)
        return past


def _audit(mechanism, claim, delta, shortage, seed, runs, method):
    """Audit a fit whose noise is short by a factor, with the likelihood ratio of the claimed noise."""
    if mechanism == "gaussian":
        scale = BOUND * math.sqrt(ROUNDS) / gaussian_mu(claim, delta)
    else:
        scale = 2 * ROUNDS / claim
    laws = [NoiseLaw(mechanism, scale)] * ROUNDS
    run = Fit(NoiseLaw(mechanism, scale / shortage), 2 * runs, seed)
    return distinguish(
        run,
        WITHOUT,
        WITH,
        lambda transcript: likelihood_ratio(transcript, _clean, WITHOUT, WITH, laws),
        runs,
        delta,
        claim=claim,
        method=method,
    )


@pytest.mark.slow
def test_honest_gaussian_noise_passes_in_20_of_20_runs():
    findings = [_audit("gaussian", 1.0, 1e-5, 1.0, seed, 600, "gaussian") for seed in range(20)]
    assert not [finding for finding in findings if finding.caught]
    assert max(finding.epsilon_lower for finding in findings) > 0  # the attack is not blind


@pytest.mark.slow
def test_gaussian_noise_short_by_the_root_of_the_rounds_is_caught():
    finding = _audit("gaussian", 1.0, 1e-5, math.sqrt(ROUNDS), 1, 1200, "gaussian")
    assert finding.caught
    assert "claim is false" in finding.words()


@pytest.mark.slow
def test_laplace_noise_that_forgets_the_rounds_is_caught_and_honest_noise_is_not():
    honest = _audit("laplace", 1.0, 0.0, 1.0, 2, 3000, "counting")
    short = _audit("laplace", 1.0, 0.0, ROUNDS, 3, 1200, "counting")
    assert not honest.caught
    assert honest.epsilon_lower > 0
    assert short.caught
    assert short.epsilon_lower > 2


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_our_release_passes_its_own_audit(mechanism):
    class Free:
        guarantee = None

        def draw(self, event):
            pass

    def run(rows):
        total = np.array([round(value * 2**20) for value in _clean(rows, [])], dtype=object)
        statistic = Statistic(total, UNIT, 2.0 * 2**20, BOUND * 2**20, "a round")
        return release(statistic, Event(mechanism, 1.0), Free(), secure())

    ratio = gaussian_ratio if mechanism == "gaussian" else laplace_ratio
    scale = BOUND if mechanism == "gaussian" else 2.0
    ends = _clean(WITHOUT, []), _clean(WITH, [])
    finding = distinguish(
        run,
        WITHOUT,
        WITH,
        lambda released: ratio(released, *ends, scale),
        1500,
        1e-6,
        claim=5.0 if mechanism == "gaussian" else 1.05,
        confidence=1 - 1e-6,
        method="gaussian" if mechanism == "gaussian" else "counting",
    )
    assert not finding.caught
    assert finding.epsilon_lower > 0.2


def test_ratios_equal_the_difference_of_the_log_densities():
    generator = np.random.default_rng(7)
    released, start, end = generator.normal(size=(3, 40)) * 3
    gaussian = np.sum((released - start) ** 2 - (released - end) ** 2) / (2 * 1.7**2)
    laplace = np.sum(np.abs(released - start) - np.abs(released - end)) / 1.7
    assert math.isclose(gaussian_ratio(released, start, end, 1.7), gaussian, rel_tol=1e-12)
    assert math.isclose(laplace_ratio(released, start, end, 1.7), laplace, rel_tol=1e-12)
    assert gaussian_ratio(released, start, start, 1.7) == 0
    assert laplace_ratio(released, end, start, 1.7) == -laplace_ratio(released, start, end, 1.7)


def test_ratios_survive_sums_that_are_huge_beside_the_difference():
    # squares of 1e9 have no digits left for a difference of 1; the product form keeps them
    released, start = 1e9 + 3.0, 0.0
    assert gaussian_ratio([released], [start], [1.0], 1.0) == released - 0.5
    assert laplace_ratio([released], [start], [1.0], 1.0) == 1.0
    assert laplace_ratio([1e300], [0.0], [1e280], 1e280) == 1.0


def test_a_transcript_is_scored_round_by_round_along_its_own_past():
    seen = []

    def clean(world, past):
        seen.append((world, len(past)))
        return np.array([world + sum(float(part[0]) for part in past)])

    laws = [NoiseLaw("gaussian", 2.0), NoiseLaw("laplace", 0.5)]
    score = likelihood_ratio([np.array([0.3]), np.array([0.8])], clean, 0.0, 1.0, laws)
    expected = ((0.3 - 0) ** 2 - (0.3 - 1) ** 2) / 8 + (abs(0.8 - 0.3) - abs(0.8 - 1.3)) / 0.5
    assert math.isclose(score, expected)
    assert seen == [(0.0, 0), (1.0, 0), (0.0, 1), (1.0, 1)]


def test_a_finding_says_what_it_means():
    finding = judge(np.zeros(600), np.ones(600), 0.0, claim=1.0)
    assert finding.caught
    assert finding.runs == 1200
    assert "1,200 runs" in finding.words()
    assert finding.to_dict()["caught"] is True
    assert finding.to_dict()["epsilon_lower"] == finding.epsilon_lower
    calm = Finding(0.4, "counting", 100, 1.0, 0.0, 0.95)
    assert "does not refute" in calm.words()
    assert not calm.caught


def test_impossible_audits_are_refused():
    with pytest.raises(ParameterError, match="runs"):
        distinguish(lambda world: world, 0, 1, float, 3, 0.0, claim=1.0)
    with pytest.raises(ParameterError, match="method"):
        judge([0.0] * 9, [1.0] * 9, 0.0, claim=1.0, method="magic")
    with pytest.raises(ParameterError, match="round"):
        likelihood_ratio([np.zeros(1)], lambda world, past: np.zeros(1), 0, 1, [])
    with pytest.raises(ParameterError, match="length"):
        gaussian_ratio([1.0, 2.0], [1.0], [1.0], 1.0)
    with pytest.raises(ParameterError, match="scale"):
        NoiseLaw("gaussian", 0.0)
    with pytest.raises(ParameterError, match="noise"):
        NoiseLaw("cauchy", 1.0)

"""Noise for tables: the sensitivity by brute force, the price of integers corner by corner, and the draw."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc, logsumexp, ndtri_exp

from discreet.accounting.account import Account
from discreet.accounting.accountant import epsilon_of
from discreet.errors import BudgetError, ParameterError, UnplannedError
from discreet.mechanisms import tables
from discreet.mechanisms.noise import NoisePlan, draw_noise
from discreet.mechanisms.tables import SMALLEST_SIGMA, TableLaw, law, release_tables
from discreet.models.structure import Structure
from discreet.models.tally import tally
from discreet.randomness import secure, seeded


def promise(found: TableLaw, *, seeded: bool = True, **more: object) -> Account:
    return Account(found.guarantee(trusts="us", reveals=("tables",), declared=(), seeded=seeded, **more))  # pyright: ignore


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_nobody_changes_the_tables_by_more_than_rows_times_the_root_of_families(rows: int) -> None:
    """Every possible person with so many rows, in a network of three binary nodes."""
    structure = Structure(dict.fromkeys("abc", ("0", "1")), {"c": ("a",), "b": ("a",)})
    nodes = structure.measured
    bound = law(len(nodes), 1.0, 1e-6, rows_per_person=rows).bound
    lengths = []
    for person in itertools.combinations_with_replacement(list(itertools.product((0, 1), repeat=3)), rows):
        columns = np.array(person, dtype=np.int8).T
        counts = tally(dict(zip("abc", columns, strict=True)), structure, nodes)
        lengths.append(math.sqrt(sum(float((table**2).sum()) for table in counts.values())))
    assert max(lengths) == pytest.approx(bound)


@pytest.mark.parametrize("sigma", [0.75, 0.8, 1.0, 1.4, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 12.0, 40.0, 150.0])
@pytest.mark.parametrize("families", [1, 2, 6, 25])
@pytest.mark.parametrize("rows", [1, 3])
def test_discrete_noise_costs_no_more_than_it_is_charged_corner_by_corner(
    sigma: float, families: int, rows: int
) -> None:
    """One cell of each family changed by ``rows``: the sum over those cells tells all there is to tell.

    ``families`` 1 and ``rows`` 1 is what the proof in `discreet.mechanisms.tables` needs; the others follow,
    and are looked at all the same. The corners of the trade-off curve are thresholds on the sum, whose law is
    computed by adding its probabilities, in logarithms, out to 45 deviations.
    """
    tau, shift = sigma * math.sqrt(families), rows * families
    far = math.ceil(45 * tau) + shift
    points = np.arange(-far, 1, dtype=float)
    mass = -(points**2) / (2 * tau * tau)
    both = logsumexp(np.concatenate([mass, mass[:-1]]))
    below = np.logaddexp.accumulate(mass) - both
    place = ndtri_exp(np.minimum(below, -1e-300))
    seen = slice(np.searchsorted(points, -30 * tau) + shift, None)  # what lies further out weighs 1e-190
    distance = (place[shift:] - place[:-shift])[seen.start - shift :]
    charged = tables._charged(sigma, rows * math.sqrt(families))
    assert distance.max() <= charged
    assert charged <= rows * math.sqrt(families) / sigma * (1.12 if sigma < 2 else 1.02)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("families", [1, 6, 152])
def test_the_budget_is_met_and_hardly_anything_of_it_is_left(epsilon: float, families: int) -> None:
    found = law(families, epsilon, 1e-6, rows_per_person=2)
    cost = epsilon_of((found.event,), 1e-6)
    assert cost <= epsilon * (1 + 1e-9)
    assert cost > 0.98 * epsilon or found.sigma == SMALLEST_SIGMA
    assert found.scale == Fraction(found.sigma) and found.scale.denominator <= 256
    assert found.event.noise <= found.sigma / found.bound
    promise(found).guarantee.check()


def test_the_law_is_a_pure_function_and_grows_with_the_root_of_families() -> None:
    assert law(9, 1.0, 1e-6) == law(9, 1.0, 1e-6)
    assert law(900, 1.0, 1e-6).sigma / law(9, 1.0, 1e-6).sigma == pytest.approx(10, rel=1e-2)
    assert law(9, 1.0, 1e-6, rows_per_person=3).sigma / law(9, 1.0, 1e-6).sigma == pytest.approx(3, rel=1e-2)


@pytest.mark.parametrize(
    "change",
    [
        {"families": 0},
        {"families": True},
        {"rows_per_person": 0},
        {"rows_per_person": 1.5},
        {"epsilon": math.inf},
        {"delta": 0.0},
        {"epsilon": 0.0},
        {"epsilon": 1e-15, "delta": 1e-15},
        {"delta": None},
    ],
)
def test_what_is_no_budget_for_tables_is_refused(change: dict[str, object]) -> None:
    settings: dict[str, object] = {
        "families": 3,
        "epsilon": 1.0,
        "delta": 1e-6,
        "rows_per_person": 1,
        **change,
    }
    with pytest.raises(ParameterError):
        law(
            settings["families"],
            settings["epsilon"],
            settings["delta"],
            rows_per_person=settings["rows_per_person"],
        )  # pyright: ignore


@pytest.mark.parametrize("real", [False, True])
def test_every_cell_gets_noise_of_the_exact_law(real: bool) -> None:
    """A chi-squared test of the drawn integers against the discrete Gaussian."""
    found = law(2, 3.0, 1e-6)
    size = 4000 if real else 60_000
    counts = {"a": np.full((2, size // 4), 7), "b": np.full(size // 2, -5)}
    noisy = release_tables(counts, found, promise(found, seeded=not real), secure() if real else seeded(5))
    assert [table.shape for table in noisy.values()] == [(2, size // 4), (size // 2,)]
    drawn = np.concatenate([noisy["a"].ravel() - 7, noisy["b"] + 5])
    edge = math.ceil(2.2 * found.sigma)
    support = np.arange(-40 * edge, 40 * edge + 1)
    mass = np.exp(-(support**2) / (2 * found.sigma**2))
    mass /= mass.sum()
    wanted = [mass[support < -edge].sum(), *mass[np.abs(support) <= edge], mass[support > edge].sum()]
    seen = np.bincount(np.clip(drawn, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    statistic = float((((seen - size * np.array(wanted)) ** 2) / (size * np.array(wanted))).sum())
    assert chdtrc(len(wanted) - 1, statistic) > 1e-7


def test_the_account_is_asked_first_and_once() -> None:
    found = law(1, 1.0, 1e-6)
    account = promise(found)
    release_tables({"a": np.zeros(3, dtype=np.int64)}, found, account, seeded(1))
    with pytest.raises(UnplannedError):
        release_tables({"a": np.zeros(3, dtype=np.int64)}, found, account, seeded(1))
    with pytest.raises(ParameterError, match="more or fewer tables"):
        release_tables({}, found, promise(found), seeded(1))
    with pytest.raises(ParameterError, match="seed"):
        release_tables({"a": np.zeros(3, dtype=np.int64)}, found, promise(found, seeded=False), seeded(1))


def test_noise_that_is_too_small_for_its_event_is_noticed_by_opendp() -> None:
    found = law(4, 1.0, 1e-6)
    short = NoisePlan("gaussian", 0, 1.0, found.bound, found.sigma / 2)
    with pytest.raises(BudgetError, match="OpenDP"):
        draw_noise(short, 3, found.event, promise(found, seeded=False), secure())


def test_a_promise_about_persons_names_them() -> None:
    found = law(3, 1.0, 1e-6, rows_per_person=2)
    told = promise(found, person="who", by_person=True).guarantee
    assert (told.unit, told.person, told.rows_per_person, told.epsilon) == ("person", "who", 2.0, 1.0)

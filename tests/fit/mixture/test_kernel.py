"""A row's integers are its own, they add up exactly, and no row weighs more than the limit.

Everything here is compared with slow arithmetic on Python integers and fractions. `Case` holds a frame, a
region and the scales of one release; rows come from hypothesis and from adversaries.
"""

from __future__ import annotations

import itertools
import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Ball, Box, Region
from discreet.fit.mixture import kernel
from discreet.fit.mixture.kernel import BITS, Sight, plain_sums, private_sums
from discreet.fit.mixture.measure import GridFrame, Layout, gather, sum_exactly
from discreet.fit.mixture.scales import Scales, add_rows
from discreet.models.moments import COVARIANCE_TYPES, Frame, Pairs
from discreet.records import Chunk, LocalEngine, open_records
from discreet.records.chunk import Rule
from discreet.records.memory import MemoryPart
from discreet.records.person import person_weights
from discreet.statistic import Statistic, Totals

LONG = os.environ.get("DISCREET_LONG") == "1"
FLOORS = (1.0, 1e-2, 1e-6, 1e-9, 1e-12)  # 1e-12 is the smallest variance that a request may ask for


@dataclass(frozen=True)
class Case:
    """One release: how rows are seen, and what each may weigh."""

    grid: GridFrame
    region: Region
    layout: Layout

    @property
    def sight(self) -> Sight:
        return Sight.of(self.grid.frame, self.region, self.layout.pairs, self.layout.scales)

    def sums(self, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        return chunk_sums(rows, self.sight, weights)

    def statistic(self, rows: np.ndarray, **person: Any) -> Statistic:
        records = open_records(rows, **person)
        sums = sum_exactly(records, self.grid, self.region, self.layout, LocalEngine(1))
        return gather(sums, self.grid, self.layout, person.get("rows_per_person", 1.0), "case")


def make(
    seed: int,
    dimension: int = 2,
    components: int = 3,
    kind: Any = "full",
    floor: float = 1e-2,
    norm: Literal["l1", "l2"] = "l2",
    shape: str = "box",
) -> Case:
    """Components of this size around one place, some of them in corners and some elongated."""
    draw = np.random.default_rng(seed)
    base = draw.uniform(-0.9, 0.9, dimension)
    means = np.clip(base + draw.normal(size=(components, dimension)) * math.sqrt(floor) * 2, -1, 1)
    corners = draw.random(components) < 0.2
    means[corners] = draw.choice([-1.0, 1.0], size=(int(corners.sum()), dimension))
    stretch = draw.normal(size=(components, dimension, dimension)) * 0.4
    covariances = floor * (np.eye(dimension) + stretch @ stretch.transpose(0, 2, 1))
    if kind in ("diag", "spherical"):
        covariances = covariances * np.eye(dimension)
    if kind == "spherical":
        covariances = np.eye(dimension) * np.einsum("kii->k", covariances)[:, None, None] / dimension
    if kind == "tied":
        covariances[:] = covariances[0]
    weights = draw.dirichlet(np.ones(components)) + 1e-9
    grid = GridFrame.of(Frame.of(weights / weights.sum(), means, covariances))
    unit = (-1.0,) * dimension, (1.0,) * dimension
    region: Region = Box(*unit) if shape == "box" else Ball((0.0,) * dimension, 1.0)
    scales = Scales.choose(dimension, kind, norm)
    return Case(grid, region, Layout(components, Pairs.of(kind, dimension), scales))


def rows_for(case: Case, seed: int, count: int) -> np.ndarray:
    """Rows that tempt: near and between means, in corners, on borders, far outside, between grid points."""
    draw = np.random.default_rng(seed)
    frame, dimension = case.grid.frame, case.region.dimension
    means = frame.means[draw.integers(0, frame.size, count)]
    spread = np.sqrt(np.einsum("kii->ki", frame.covariances).mean())
    near = means + draw.normal(size=(count, dimension)) * spread * draw.choice([0.1, 1, 3, 30], (count, 1))
    corner = draw.choice([-1.0, 1.0, 0.0, -1 - 2.0**-21, 1e300], size=(count, dimension))
    edge = np.rint(near * 2.0**BITS) / 2.0**BITS + 2.0**-21
    chosen = draw.integers(0, 4, (count, 1))
    return np.select([chosen <= 1, chosen == 2], [near, corner], edge)


def chunk_sums(rows: np.ndarray, sight: Sight, weights: np.ndarray | None = None) -> np.ndarray:
    return private_sums(Chunk(np.ascontiguousarray(rows.T), weights), sight)["sums"]


def one_by_one(case: Case, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The slow oracle: every row by itself, added in Python integers."""
    sight = case.sight
    singles = [
        chunk_sums(rows[i : i + 1], sight, None if weights is None else weights[i : i + 1]).astype(object)
        for i in range(len(rows))
    ]
    return sum(singles[1:], singles[0])


SHAPES = st.tuples(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 12),
    st.sampled_from(COVARIANCE_TYPES),
    st.sampled_from(FLOORS),
    st.sampled_from(["l1", "l2"]),
    st.sampled_from(["box", "ball"]),
)


# ---------------------------------------------------------------- exact, additive, each row its own


@settings(max_examples=40 if not LONG else 1000, deadline=None)
@given(SHAPES, st.integers(1, 60), st.booleans(), st.randoms(use_true_random=False))
def test_sums_are_sums_over_rows_however_they_are_cut_and_ordered(
    shape: Any, count: int, weighted: bool, random: Any
) -> None:
    case = make(*shape)
    rows = rows_for(case, shape[0], count)
    weights = np.random.default_rng(shape[0]).uniform(0, 1, count) if weighted else None
    wanted = one_by_one(case, rows, weights)
    assert (case.sums(rows, weights) == wanted).all()
    order = np.array(random.sample(range(count), count))
    cuts = sorted({0, count, *(random.randrange(count + 1) for _ in range(3))})
    totals = Totals()
    for start, stop in itertools.pairwise(cuts):
        part = order[start:stop]
        totals.add({"sums": case.sums(rows[part], None if weights is None else weights[part])})
    assert (totals.result()["sums"] == wanted).all()


@pytest.mark.parametrize(
    ("dimension", "components"), [(1, 1), (2, 1), (2, 3), (2, 8), (5, 10), (12, 2), (12, 30), (20, 4)]
)
@pytest.mark.parametrize("floor", [1e-6, 1e-12])
def test_a_rows_integers_do_not_depend_on_how_many_others_there_are(
    dimension: int, components: int, floor: float
) -> None:
    """n equal rows must sum to n times one of them. BLAS takes other kernels at other sizes: around 1460 and
    1552 rows (small and large matrices), at ragged ends, and for a single row or component.
    """
    case = make(dimension, dimension, components, floor=floor)
    sight = case.sight
    for row in rows_for(case, 5, 3):
        single = chunk_sums(row[None], sight).astype(object)
        for count in (2, 3, 5, 16, 17, 31, 100, 127, 1023, 1457, 1552, 4097, 8191, 8192):
            assert (chunk_sums(np.repeat(row[None], count, axis=0), sight) == count * single).all()


@pytest.mark.parametrize("floor", [1e-6, 1e-12])
def test_removing_one_row_removes_that_rows_integers_and_nothing_else(floor: float) -> None:
    case = make(7, 3, 5, floor=floor)
    rows = rows_for(case, 7, 2000)
    everything = case.sums(rows)
    for gone in (0, 1, 777, 1998, 1999):
        without = case.sums(np.delete(rows, gone, axis=0))
        assert (everything - without == case.sums(rows[gone : gone + 1])).all()


def test_the_tests_above_notice_a_product_that_depends_on_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = kernel.multiply

    def careless(left: Any, right: Any, out: Any) -> Any:
        product = honest(left, right, out)
        product[0, 5:] += 1e-4  # what other kernels make of such narrow components, from the sixth row on
        return product

    monkeypatch.setattr(kernel, "multiply", careless)
    with pytest.raises(AssertionError):
        test_a_rows_integers_do_not_depend_on_how_many_others_there_are(12, 2, 1e-12)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_integers(workers: int) -> None:
    case = make(3, 2, 8, floor=1e-6)
    rows = rows_for(case, 3, 20_000)
    wanted = sum(case.sums(rows[start : start + 8192]).astype(object) for start in range(0, 20_000, 8192))
    rule = Rule(("a", "b"))
    cuts = [0, 1, 2, 100, 8192, 8193, 15_000, 19_999, 20_000]
    parts = [MemoryPart(rows[start:stop], rule) for start, stop in itertools.pairwise(cuts)]
    with LocalEngine(workers) as engine:
        total = engine.map_reduce(parts, private_sums, case.sight)["sums"]
    assert (total == wanted).all()


@settings(max_examples=30 if not LONG else 500, deadline=None)
@given(SHAPES)
def test_the_features_are_exact_products_of_rounded_rows(shape: Any) -> None:
    """With R known, R x and R x_i x_j follow in fractions; and R is a floor of at most 2**20."""
    case = make(*shape)
    pairs, dimension = case.layout.pairs, case.region.dimension
    for row in rows_for(case, shape[0], 6):
        sums = case.sums(row[None])
        unit = case.region.to_unit(row[:, None].copy())[:, 0]
        whole = [round(Fraction(float(value)) * 2**BITS) for value in unit]
        products = [whole[i] * whole[j] for i, j in zip(pairs.rows, pairs.columns, strict=True)]
        for line in sums.tolist():
            share, first = line[0], line[1 : 1 + dimension]
            high, low = line[1 + dimension : 1 + dimension + len(products)], line[-len(products) :]
            assert 0 <= share < 2**BITS
            assert first == [share * value for value in whole]
            for product, upper, lower in zip(products, high, low, strict=True):
                assert upper * 2**BITS + lower == share * product
                assert abs(lower) <= share * 2 ** (BITS - 1)
        assert sums[:, 0].sum() <= 2**BITS


def test_the_largest_sums_stay_exact() -> None:
    """8,192 rows in a corner, all claimed by one component: every partial sum is as large as it can be."""
    case = make(1, 3, 1, floor=1.0)
    rows = np.ones((8192, 3))
    assert (case.sums(rows) == 8192 * case.sums(rows[:1]).astype(object)).all()
    rows[::2] *= -1
    assert (case.sums(rows) == 4096 * (case.sums(rows[:1]) + case.sums(rows[1:2])).astype(object)).all()


def test_responsibilities_are_those_of_bayes() -> None:
    case = make(11, 3, 6, floor=1e-2)
    rows = np.clip(rows_for(case, 11, 400), -1, 1)
    frame = case.grid.frame
    local = np.einsum("kij,nkj->nki", frame.inverses, rows[:, None] - frame.means)
    level = np.log(frame.weights) + np.log(np.abs(np.linalg.det(frame.inverses)))
    density = level - (local**2).sum(axis=2) / 2
    wanted = np.exp(density - density.max(axis=1, keepdims=True))
    wanted /= wanted.sum(axis=1, keepdims=True)
    free = replace(case, layout=replace(case.layout, scales=replace(case.layout.scales, limit=2.0**60)))
    found = np.array([free.sums(row[None])[:, 0] for row in rows]) / 2.0**BITS
    assert np.abs(found - wanted).max() < 1e-3  # rows are rounded by 2**-21, components are 0.1 wide


def test_plain_and_private_sums_agree_where_nothing_is_clipped() -> None:
    case = make(2, 2, 4, floor=1e-1)
    rows = np.random.default_rng(2).uniform(-1, 1, (5000, 2))
    free = Sight.of(case.grid.frame, case.region, case.layout.pairs)
    plain = plain_sums(Chunk(np.ascontiguousarray(rows.T), None), free)["sums"]
    exact = chunk_sums(rows, free).astype(float)
    read = (
        exact[:, :6] / 2.0 ** (BITS * np.array([1, 2, 2, 2, 2, 2]))
        + np.pad(exact[:, 6:], ((0, 0), (3, 0))) / 2.0**60
    )
    assert np.allclose(read, plain, rtol=0, atol=5000 * 2.0**-18)


# ---------------------------------------------------------------- the bound


def weight_of(statistic: Statistic, other: Statistic) -> float:
    """The exact difference of two totals, as a part of the stated bound; above 1 is a violation."""
    change = [int(value) for value in statistic.total - other.total]
    if statistic.l1 <= statistic.l2:  # Laplace: the L1 bound is the one that matters
        size = Fraction(sum(map(abs, change)))
        assert size <= Fraction(statistic.l1), "the L1 bound is violated"
        return float(size / Fraction(statistic.l1))
    square = Fraction(sum(value * value for value in change))
    assert square <= Fraction(statistic.l2) ** 2, "the L2 bound is violated"
    return math.sqrt(square / Fraction(statistic.l2) ** 2)


@settings(max_examples=40 if not LONG else 2000, deadline=None)
@given(SHAPES, st.integers(1, 30))
def test_no_row_changes_the_statistic_by_more_than_its_bound(shape: Any, others: int) -> None:
    case = make(*shape)
    rows = rows_for(case, shape[0] + 1, others + 8)
    base = case.statistic(rows[:others])
    for row in rows[others:]:
        weight_of(case.statistic(np.concatenate([rows[:others], row[None]])), base)


@settings(max_examples=15 if not LONG else 300, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(8, 30), (12, 5), (12, 30)]),
    st.sampled_from(COVARIANCE_TYPES),
    st.sampled_from(FLOORS),
    st.sampled_from(["l1", "l2"]),
)
def test_the_bound_holds_in_many_dimensions_and_components(
    seed: int, size: tuple[int, int], kind: Any, floor: float, norm: Any
) -> None:
    case = make(seed, *size, kind, floor, norm)
    rows = rows_for(case, seed, 6)
    base = case.statistic(rows[:3])
    for row in rows[3:]:
        weight_of(case.statistic(np.concatenate([rows[:3], row[None]])), base)


@settings(max_examples=20 if not LONG else 500, deadline=None)
@given(SHAPES, st.integers(1, 40), st.sampled_from([0.3, 1.0, 2.5, 7.0]))
def test_no_person_changes_the_statistic_by_more_than_the_bound(
    shape: Any, count: int, rows_per_person: float
) -> None:
    """All rows of a person together, at the most harmful places: all at the row that weighs most."""
    case = make(*shape)
    rows = rows_for(case, shape[0] + 2, 12)
    heaviest = max(rows, key=lambda row: float(case.sums(row[None])[:, 0].sum()) + np.abs(row).max() % 7)
    mine = np.repeat(heaviest[None], count, axis=0)
    ids = np.arange(len(rows))
    person = {"rows_per_person": rows_per_person}
    base = case.statistic(rows, person=ids, **person)
    joined = np.concatenate([rows, mine])
    owners = np.concatenate([ids, np.full(count, 99)])
    assert person_weights(np.array([count]), rows_per_person)[0] * count <= rows_per_person
    weight_of(case.statistic(joined, person=owners, **person), base)


def aligned(kind: str, dimension: int, norm: str) -> np.ndarray:
    """The direction in which a local row of given length weighs most: all entries equal where mixed products
    or an L1 norm count, else a single one.
    """
    if kind in ("diag",) and norm == "l2":
        return np.eye(dimension)[0]
    return np.ones(dimension) / math.sqrt(dimension)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("others", [0, 4])
def test_the_bound_is_nearly_reached(dimension: int, kind: Any, norm: Any, others: int) -> None:
    """A row exactly at the limit weighs more than 99 % of the bound: no noise is wasted.

    Spherical components release one square instead of d, so that under Laplace noise they reach it as well.
    """
    scales = Scales.choose(dimension, kind, norm)
    size, far = 0.01, np.linspace(0.9, 0.99, max(others, 1))[:others, None] * np.ones((1, dimension))
    means = np.concatenate([np.zeros((1, dimension)), -far])
    covariances = np.repeat(size**2 * np.eye(dimension)[None], len(means), axis=0)
    grid = GridFrame.of(Frame.of(np.full(len(means), 1 / len(means)), means, covariances))
    case = Case(
        grid,
        Box((-1.0,) * dimension, (1.0,) * dimension),
        Layout(len(means), Pairs.of(kind, dimension), scales),
    )
    longest = dimension + 2.5 * math.sqrt(2 * dimension) + 3
    direction = aligned(kind, dimension, norm)
    base = case.statistic(means[:1])
    reached = [
        weight_of(case.statistic(np.stack([means[0], size * math.sqrt(longest) * part * direction])), base)
        for part in (0.9, 0.97, 0.999, 1.0, 1.001, 1.1, 5.0)
    ]
    assert max(reached) > 0.99


def lone(dimension: int, kind: Any, norm: Any) -> Case:
    """One round component, a hundredth wide, in the middle."""
    covariance = 1e-4 * np.eye(dimension)[None]
    grid = GridFrame.of(Frame.of(np.ones(1), np.zeros((1, dimension)), covariance))
    layout = Layout(1, Pairs.of(kind, dimension), Scales.choose(dimension, kind, norm))
    return Case(grid, Box((-1.0,) * dimension, (1.0,) * dimension), layout)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_clipped_row_weighs_the_limit_however_far_it_is(norm: Any) -> None:
    case = lone(2, "full", norm)
    base = case.statistic(np.zeros((1, 2)))
    reached = [
        weight_of(case.statistic(np.array([[0.0, 0.0], [far, far]])), base)
        for far in (0.03, 0.1, 0.3, 1.0, 1e9)
    ]
    assert min(reached) > 0.99  # what is missing is the floor of R


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_bound_fails_without_the_clip(norm: Any) -> None:
    """The same measurement must be able to fail."""
    case = lone(2, "full", norm)
    loose = replace(case.sight, scales=replace(case.layout.scales, limit=2.0**60))
    with pytest.raises(AssertionError, match="violated"):
        weigh_alone(case, loose)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_bound_fails_with_negative_slack(norm: Any) -> None:
    """If t came out too small, rows at the limit would be let through too heavy."""
    case = lone(2, "full", norm)
    assert weigh_alone(case, case.sight) > 0.99
    with pytest.raises(AssertionError, match="violated"):
        weigh_alone(case, replace(case.sight, slack=np.full(1, -0.5)))


def weigh_alone(case: Case, sight: Sight) -> float:
    """What a single far row adds when it is seen like that."""
    row = np.full((1, 2), 0.1)
    heavy = gather(chunk_sums(row, sight).astype(object), case.grid, case.layout, 1.0, "alone")
    return weight_of(heavy, replace(heavy, total=heavy.total * 0))


def test_the_bound_fails_when_weights_are_forgotten() -> None:
    case = lone(2, "full", "l2")
    base = case.statistic(np.zeros((1, 2)))
    with pytest.raises(AssertionError, match="violated"):
        weight_of(case.statistic(np.array([[0.0, 0.0]] + [[0.1, 0.1]] * 2)), base)


@settings(max_examples=50 if not LONG else 2000, deadline=None)
@given(SHAPES)
def test_slack_covers_the_error_of_squared_lengths(shape: Any) -> None:
    """t in fractions against t in floats, for the frames with the worst cancellation."""
    case = make(*shape)
    sight, pairs = case.sight, case.layout.pairs
    means = [[Fraction(int(v), 2**BITS) for v in mean] for mean in case.grid.means]
    inverses = [[[Fraction(int(v), 2**30) for v in line] for line in one] for one in case.grid.inverses]
    for row in rows_for(case, shape[0] + 3, 3):
        unit = np.rint(case.region.to_unit(row[:, None].copy())[:, 0] * 2.0**BITS) / 2.0**BITS
        features = np.concatenate([[1.0], unit, unit[pairs.rows] * unit[pairs.columns]])
        floats = -2 * (sight.slopes @ features)
        for k, (mean, inverse) in enumerate(zip(means, inverses, strict=True)):
            moved = [Fraction(float(x)) - m for x, m in zip(unit, mean, strict=True)]
            local = [sum(a * b for a, b in zip(line, moved, strict=True)) for line in inverse]
            exact = sum(z * z for z in local)
            assert abs(Fraction(float(floats[k])) - exact) <= Fraction(float(sight.slack[k]))


# ---------------------------------------------------------------- the cost


@settings(max_examples=100 if not LONG else 5000, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(COVARIANCE_TYPES),
    st.sampled_from(["l1", "l2"]),
)
def test_cost_is_never_less_than_what_a_row_adds(
    seed: int, dimension: int, components: int, kind: Any, norm: Any
) -> None:
    """The formulas of `fit.mixture.scales` against the vector itself."""
    draw = np.random.default_rng(seed)
    layout = Layout(components, Pairs.of(kind, dimension), Scales.choose(dimension, kind, norm))
    shares = draw.dirichlet(np.full(components, 0.3))
    local = draw.normal(size=(components, dimension)) * draw.choice([0.1, 1, 10], (components, 1))
    packed = shares[:, None] * layout.pairs.pack(np.einsum("ki,kj->kij", local, local))
    if layout.tied:
        packed = packed.sum(axis=0, keepdims=True)
    if layout.second_shape[1] == 1:
        packed = packed.sum(axis=1, keepdims=True)
    scales = layout.scales
    blocks = [scales.count * shares, scales.first * shares[:, None] * local, packed * layout.second_weights]
    vector = np.concatenate([block.ravel() for block in blocks])
    assert vector.size == layout.size
    size = np.abs(vector).sum() if norm == "l1" else np.linalg.norm(vector)
    lengths = (local**2).sum(axis=1)[:, None]
    assert size <= scales.cost(shares[:, None], lengths)[0] * (1 + 1e-12)
    mean = float(shares @ lengths[:, 0])
    if mean <= scales.near:  # then the row is passed over without a look at its cost
        assert scales.cost(shares[:, None], lengths)[0] <= scales.limit


def test_components_are_added_in_one_order() -> None:
    values = np.random.default_rng(0).normal(size=(40, 33))
    wanted = np.array([math.nan] * 33)
    for column in range(33):
        total = 0.0
        for value in values[:, column]:
            total += value
        wanted[column] = total
    assert (add_rows(values) == wanted).all()
    for column in range(33):
        assert add_rows(values[:, column : column + 1])[0] == wanted[column]

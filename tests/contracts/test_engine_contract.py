"""What every engine promises. A new engine joins by adding itself to ENGINES."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.records import Chunk, LocalEngine

ENGINES = {
    "threads-1": lambda: LocalEngine(1),
    "threads-2": lambda: LocalEngine(2),
    "threads-7": lambda: LocalEngine(7),
    "processes-2": lambda: LocalEngine(2, "processes"),
}


@dataclass(frozen=True)
class Numbers:
    """A part that holds one column of whole numbers, handed out in chunks of any size."""

    values: tuple[float, ...]
    size: int = 3

    def chunks(self):
        for start in range(0, len(self.values), self.size):
            yield Chunk(np.array([self.values[start : start + self.size]], dtype=float), None)


class Odd(Exception):
    """An exception that no engine knows, with more than a message."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message, place)


def integers(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    values = chunk.values[0].astype(np.int64)
    return {"sum": np.array([values.sum(), (values * broadcast).sum()]), "count": np.array([len(values)])}


def floats(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    return {"sum": np.array([np.sin(chunk.values).sum() * 1e-3, chunk.values.sum() * 1e17])}


def large(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    return {"sum": np.full(2, 2**61, dtype=np.int64)}


def echo(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    assert broadcast["names"] == ("a", "b") and broadcast["matrix"].flags.c_contiguous
    return {"sum": broadcast["matrix"].view(np.int64).copy()}


def fail(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    if 13.0 in chunk.values:
        raise Odd("no thirteen", 13)
    return {"sum": np.zeros(1)}


def narrow(chunk: Chunk, broadcast: Any) -> dict[str, Any]:
    return {"sum": np.zeros(1, dtype=np.float32)}


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request):
    made = ENGINES[request.param]()
    with made if hasattr(made, "__enter__") else nullcontext(made):
        yield made


NUMBERS = tuple(float(value) for value in np.random.default_rng(5).integers(-(2**40), 2**40, 100))
SPLITS = [[100], [0, 100], [1] * 100, [40, 0, 25, 35], [99, 1], [7] * 14 + [2]]


def split(sizes, size=3):
    ends = np.cumsum([0, *sizes])
    return [Numbers(NUMBERS[a:b], size) for a, b in pairwise(ends)]


@pytest.mark.parametrize("sizes", SPLITS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_integer_sums_are_exact_for_any_split(engine, sizes, size):
    totals = engine.map_reduce(split(sizes, size), integers, 1_000_003)
    assert list(totals["sum"]) == [int(sum(NUMBERS)), 1_000_003 * int(sum(NUMBERS))]
    assert list(totals["count"]) == [100]


@pytest.mark.parametrize("sizes", SPLITS, ids=str)
def test_float_sums_do_not_depend_on_the_number_of_workers(engine, sizes):
    alone = LocalEngine(1).map_reduce(split(sizes), floats, None)["sum"]
    for _ in range(3):
        again = engine.map_reduce(split(sizes), floats, None)["sum"]
        assert again.dtype == np.float64
        assert again.tobytes() == alone.tobytes()


def test_sums_past_64_bits_are_exact(engine):
    parts = [Numbers((1.0,) * 10, 1)] * 5
    assert list(engine.map_reduce(parts, large, None)["sum"]) == [50 * 2**61] * 2


def test_parts_are_summed_once_even_when_equal(engine):
    parts = [Numbers((1.0, 2.0))] * 9
    assert list(engine.map_reduce(parts, integers, 0)["count"]) == [18]


def test_empty_parts_are_fine(engine):
    assert engine.map_reduce([], integers, 1) == {}
    assert engine.map_reduce([Numbers(()), Numbers(())], integers, 1) == {}
    assert list(engine.map_reduce([Numbers(()), Numbers((4.0,))], integers, 1)["sum"]) == [4, 4]


def test_broadcast_arrives_unchanged(engine):
    matrix = np.array([[1.5, -0.0], [np.nextafter(0, 1), np.nan]])
    broadcast = {"names": ("a", "b"), "matrix": matrix}
    total = engine.map_reduce([Numbers((1.0,))], echo, broadcast)["sum"]
    assert total.tolist() == matrix.view(np.int64).tolist()


@pytest.mark.parametrize("numbers", [(13.0,), (1.0, 2.0, 3.0, 13.0)])
def test_exceptions_of_the_function_pass_through_unchanged(engine, numbers):
    parts = [Numbers((1.0,)), Numbers(numbers), Numbers((2.0,))]
    with pytest.raises(Odd) as caught:
        engine.map_reduce(parts, fail, None)
    assert caught.value.args == ("no thirteen", 13)
    assert list(engine.map_reduce(parts, integers, 0)["count"]) == [2 + len(numbers)]  # and it works on


def test_other_number_types_are_refused(engine):
    with pytest.raises(ValueError, match=r"float32.*int64 or float64"):
        engine.map_reduce([Numbers((1.0,))], narrow, None)

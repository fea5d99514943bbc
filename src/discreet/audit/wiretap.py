"""What a party could compute from the messages it saw: a search for leaks in transcripts.

A transcript is recorded by `run_pair`, `run_parties` or a session with ``record=True``. The searches look
for what a protocol must never show:

* `judge_masks`: values that are masked must be uniform, bit by bit and byte by byte, and independent of
  their neighbours.
* `judge_freshness`: no block of a ciphertext may occur twice, within a run or between runs.
* `judge_forms`: names, dtypes, shapes and order of messages must not depend on private inputs.
* `judge_difference`: messages of runs with two different inputs must not be told apart.
* `judge_times`: nor must the time that each step takes.

Each returns a `Finding`: how likely something at least as odd is if nothing leaks. All tests of one finding
share one false alarm (Bonferroni). A small probability proves a leak; a large one proves nothing: security is
argued in the protocols, and this is the search that would notice if an argument were not met by the code.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.protocols.step import run_parties
from discreet.randomness import Bits, generator, secure

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.protocols.step import Record, Steps, Transcript

__all__ = [
    "Finding",
    "gather",
    "judge_difference",
    "judge_forms",
    "judge_freshness",
    "judge_masks",
    "judge_times",
]

_FULL = 20.0
"""The smallest expected count for which the chi-square law is used."""

_COLUMNS = 4096
"""The most columns of one message that are compared; evenly spaced if there are more."""


@dataclass(frozen=True)
class Finding:
    """The oddest thing that was found, and its chance (over all tests together) if nothing leaks."""

    what: str
    chance: float
    tests: int

    def leaks(self, false_alarm: float = 1e-9) -> bool:
        """Whether this is too odd to be an accident."""
        return self.chance < false_alarm

    def __repr__(self) -> str:
        return f"Finding({self.what}: chance {self.chance:.3g} in {self.tests} tests)"


def gather(transcripts: Iterable[Transcript], party: str, name: str, key: str) -> NDArray[Any]:
    """One array of one message as a party saw it, over all runs: one row for each time it came."""
    rows = [
        np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value)
        for transcript in transcripts
        for record in transcript.seen_by(party)
        if record.name == name
        for value in [record.arrays[key]]
    ]
    if not rows:
        raise ParameterError("this party never saw such a message", got=f"{name!r} to {party!r}")
    return np.stack(rows)


def judge_masks(values: NDArray[Any], *, bits: int | None = None) -> Finding:
    """Whether unsigned integers are uniform below 2**bits (all their bits, unless said otherwise).

    Tests every bit for balance, every bit against the same bit of the next value, and every whole byte for
    its 256 values.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    if flat.dtype.kind != "u":
        raise ParameterError(
            "masked values are unsigned integers", got=str(flat.dtype), wanted="<u8, <u4, |u1"
        )
    depth = 8 * flat.dtype.itemsize if bits is None else bits
    if flat.size < 64 or not 0 < depth <= 8 * flat.dtype.itemsize:
        raise ParameterError(
            "too few values to judge, or too many bits", got=(flat.size, depth), wanted=">= 64"
        )
    odd: list[tuple[float, str]] = []
    if depth < 8 * flat.dtype.itemsize and bool((flat >> flat.dtype.type(depth)).any()):
        odd.append((0.0, f"a value of more than {depth} bits"))
    for place in range(depth):
        lane = (flat >> flat.dtype.type(place)) & flat.dtype.type(1)
        odd.append((_balance(lane), f"balance of bit {place}"))
        odd.append((_balance(lane[1:] ^ lane[:-1]), f"bit {place} against the next value"))
    if flat.size >= 256 * _FULL:
        for place in range(0, depth - 7, 8):
            counts = np.bincount((flat >> flat.dtype.type(place)).astype(np.uint8), minlength=256)
            odd.append((_evenness(counts), f"values of byte {place // 8}"))
    return _oddest(odd)


def judge_freshness(rows: NDArray[Any], *, width: int = 16) -> Finding:
    """Whether no block of ``width`` bytes occurs twice: encryptions of one value must differ every time.

    The chance is that of a collision among uniform blocks (the birthday bound).
    """
    data = np.ascontiguousarray(rows).tobytes()
    if len(data) < 2 * width or width < 8:
        raise ParameterError(
            "too little to compare", got=(len(data), width), wanted="two blocks of >= 8 bytes"
        )
    blocks = [data[at : at + width] for at in range(0, len(data) - width + 1, width)]
    repeated = len(blocks) - len(set(blocks))
    if not repeated:
        return Finding("no block occurs twice", 1.0, 1)
    chance = min(1.0, math.comb(len(blocks), 2) * 2.0 ** (-8 * width))
    return Finding(f"{repeated} blocks occur again", chance, 1)


def judge_forms(transcripts: Sequence[Transcript]) -> Finding:
    """Whether names, order, dtypes and shapes of all messages are the same in runs with different inputs."""
    if len(transcripts) < 2:
        raise ParameterError("forms are compared between runs", got=len(transcripts), wanted=">= 2")
    forms = Counter(tuple(transcript.forms) for transcript in transcripts)
    if len(forms) == 1:
        return Finding("all runs have the same form", 1.0, 1)
    first, second = list(forms)[:2]
    pairs = zip((*first, None), (*second, None), strict=False)
    where = next((one, two) for one, two in pairs if one != two)
    return Finding(f"{where[0]} became {where[1]}", 0.0, 1)


def judge_difference(first: Sequence[Transcript], second: Sequence[Transcript], party: str) -> Finding:
    """Whether what a party saw can be told apart between runs with one input and runs with another.

    Compares every number by its rank (Mann and Whitney) and every bit by its frequency, message by message.
    Start with inputs that lead to the same output: what the output tells is not a leak.
    """
    odd: list[tuple[float, str]] = []
    for label, one, two in _columns(first, second, party):
        odd += [(chance, f"{label}: size") for chance in _ranks(one, two)]
        odd += [(chance, f"{label}: bits") for chance in _frequencies(one, two)]
    if not odd:
        raise ParameterError("this party saw nothing that could differ", got=party)
    return _oddest(odd)


def judge_times(
    make: Callable[[int], Mapping[str, Steps[Any]]],
    *,
    runs: int = 200,
    bits: Bits | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Finding:
    """Whether the time of any step tells which of two inputs was used.

    ``make(0)`` and ``make(1)`` give roles with the one and the other input. Runs are in random order, so that
    a drift of the machine cannot look like a leak.
    """
    draw = generator(bits or secure())
    choices = np.repeat([0, 1], runs)
    draw.shuffle(choices)
    laps: list[list[int]] = []
    for choice in choices:
        timer = _Timer(clock)
        run_parties({name: timer.watch(role) for name, role in make(int(choice)).items()}, record=False)
        laps.append(timer.laps)
    if len({len(row) for row in laps}) > 1:
        return Finding("the number of steps depends on the input", 0.0, 1)
    table = np.array(laps, dtype=np.float64)
    chances = _ranks(table[choices == 0], table[choices == 1])
    return _oddest([(chance, f"time of step {at}") for at, chance in enumerate(chances)])


class _Timer:
    """Measures how long roles compute between their messages."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.laps: list[int] = []

    def watch(self, role: Steps[Any]) -> Generator[Any, Any, Any]:
        """The same role, with its steps timed."""
        answer: Any = None
        while True:
            began = self.clock()
            try:
                asked = role.send(answer)
            except StopIteration as end:
                return end.value
            finally:
                self.laps.append(self.clock() - began)
            answer = yield asked


def _columns(
    first: Sequence[Transcript], second: Sequence[Transcript], party: str
) -> Generator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Each array of each message to a party: its rows over the runs of one input, and of the other."""
    seen = [[transcript.seen_by(party) for transcript in runs] for runs in (first, second)]
    forms = {tuple(record.form for record in records) for runs in seen for records in runs}
    if len(forms) > 1:
        raise ParameterError("messages differ in form, so they are told apart", wanted="`judge_forms` first")
    for at, record in enumerate(seen[0][0]):
        for key in record.arrays:
            one, two = (np.stack([_row(records[at], key) for records in runs]) for runs in seen)
            yield f"message {at} ({record.name}, {key})", one, two


def _row(record: Record, key: str) -> NDArray[Any]:
    """An array as one row of numbers, thinned out if it is long."""
    value = record.arrays[key]
    flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value.reshape(-1)
    return flat[:: max(1, -(-flat.size // _COLUMNS))]


def _ranks(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.float64]:
    """Chance of each column by the rank-sum test, with ties; normal law, so only for 20 runs or more."""
    from scipy.special import ndtr
    from scipy.stats import rankdata

    if one.shape[1] == 0:
        return np.zeros(0)
    count, other = len(one), len(two)
    whole = count + other
    if min(count, other) < 20:
        raise ParameterError("too few runs to compare", got=min(count, other), wanted=">= 20")
    ranks = rankdata(np.concatenate([one, two]), axis=0)
    center = count * (whole + 1) / 2
    spread = np.sqrt(count * other / whole * ((ranks - (whole + 1) / 2) ** 2).sum(axis=0) / (whole - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(spread > 0, (ranks[:count].sum(axis=0) - center) / spread, 0.0)
    return 2 * ndtr(-np.abs(score))


def _frequencies(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.float64]:
    """Chance of each bit of each column: how often it is set here and there (hypergeometric, exact)."""
    from scipy.stats import hypergeom

    ones, others = (_set_bits(rows) for rows in (one, two))
    whole = len(one) + len(two)
    cases, where = np.unique(ones * (whole + 1) + ones + others, return_inverse=True)
    seen, both = np.divmod(cases, whole + 1)  # few different cases, many bits
    low = hypergeom.cdf(seen, whole, both, len(one))
    high = hypergeom.sf(seen - 1, whole, both, len(one))
    return np.minimum(1.0, 2 * np.minimum(low, high))[where]


def _set_bits(rows: NDArray[Any]) -> NDArray[np.int64]:
    """How many rows have each bit set."""
    plain = np.ascontiguousarray(rows)
    return np.unpackbits(plain.view(np.uint8).reshape(len(rows), -1), axis=1).sum(axis=0, dtype=np.int64)


def _balance(lane: NDArray[Any]) -> float:
    """Chance that coin tosses are at least as unbalanced (binomial, exact)."""
    from scipy.special import bdtr

    ones, size = int(lane.sum(dtype=np.int64)), lane.size
    return min(1.0, 2 * float(bdtr(min(ones, size - ones), size, 0.5)))


def _evenness(counts: NDArray[Any]) -> float:
    """Chance that dice are at least as uneven (chi-square), in either direction: too even is odd as well."""
    from scipy.special import chdtr, chdtrc

    expected = counts.sum() / counts.size
    distance = float(((counts - expected) ** 2).sum() / expected)
    return min(1.0, 2 * float(min(chdtr(counts.size - 1, distance), chdtrc(counts.size - 1, distance))))


def _oddest(odd: list[tuple[float, str]]) -> Finding:
    """The oddest of several tests, its chance corrected for having looked at all of them."""
    chance, what = min(odd)
    return Finding(what, min(1.0, float(chance) * len(odd)), len(odd))

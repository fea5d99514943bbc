"""The published rotation broken on invented people, and the same counts by our protocol on the same people.

Two sites hold yes-and-no columns about the same people and want the counts of two families of a network.
`breaches` runs `discreet.audit.rotation` as published, reads what it should hide from what the parties
received, and compares with the truth; `quiet` runs `discreet.protocols.families` on the same columns and
searches everything that was received for anything that is not uniform.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit import rotation
from discreet.audit.wiretap import judge_masks
from discreet.crypto.narrow import unpack
from discreet.errors import ParameterError
from discreet.protocols import families
from discreet.protocols.step import run_parties
from discreet.randomness import expand, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.step import Transcript
    from discreet.randomness import Bits

    Columns = NDArray[np.int64]

__all__ = ["Breach", "Quiet", "Report", "breaches", "invent", "quiet", "report", "words_of"]

FIRST = ("tuberculosis", "lung disease", "short of breath")
SECOND = ("cancer", "bronchitis")
_RATES = ((0.006, 0.1, 0.4), (0.05, 0.45))
_FAMILIES = (((0, 1), (0,)), ((1, 2), (1,)))
"""Lung disease after tuberculosis and cancer; short breath after lung disease and bronchitis."""

_LEAST = 64
"""Shorter messages (keys, one table) are too few to judge in one run."""


@dataclass(frozen=True)
class Breach:
    """What somebody reads who should not: how much of it was right, and in words."""

    attack: str
    who: str
    right: int
    asked: int
    words: str


@dataclass(frozen=True)
class Quiet:
    """What a search of our transcripts found: the oddest thing, and its chance if nothing leaks."""

    what: str
    chance: float
    tests: int
    counts_right: bool

    @property
    def leaks(self) -> bool:
        """Whether the oddest thing is too odd to be an accident."""
        return self.chance < 1e-9

    def words(self) -> str:
        """The finding in plain words."""
        counts = "the same counts, all right" if self.counts_right else "WRONG counts"
        if self.leaks:
            return f"Ours: {counts}, but what sites received is not uniform: {self.what}."
        return (
            f"Ours (masks from a helper): {counts}, and everything that either site received looks uniform: "
            f"the oddest of {self.tests} tests has a chance of {self.chance:.2g}. A search proves nothing; "
            "the argument is in discreet.protocols.families. Counts are exact in both ways, and exact counts "
            "of few people tell about them: add noise before anything is opened."
        )


@dataclass(frozen=True)
class Report:
    """Both sides of the comparison."""

    rows: int
    breaches: tuple[Breach, ...]
    ours: Quiet

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "ours": {**asdict(self.ours), "leaks": self.ours.leaks}}


def invent(rows: int, bits: Bits) -> tuple[Columns, Columns]:
    """People of both sites, +1 for yes and -1 for no, row for row about the same people."""
    draw = generator(bits)
    first, second = (np.where(draw.random((rows, len(part))) < part, 1, -1) for part in _RATES)
    return first.astype(np.int64), second.astype(np.int64)


def report(rows: int, bits: Bits) -> Report:
    """Invent people, break the published way, and search ours."""
    if not 100 <= rows <= 4000:
        raise ParameterError("not a number of rows for this audit", got=rows, wanted="100 to 4,000 rows")
    first, second = invent(rows, bits)
    return Report(rows, breaches(first, second, bits), quiet(first, second, bits))


def breaches(first: Columns, second: Columns, bits: Bits) -> tuple[Breach, ...]:
    """Run the published protocol on both sites' columns and read what it gives away."""
    agreed = rotation.Handover(len(first), _FAMILIES)
    key = bits.bytes(16)

    def run(columns: Columns) -> Transcript:
        """With the same R every time, as when it is kept for the next month's data."""
        return run_parties(
            {
                "first": rotation.be_first(columns.astype(float), agreed, expand(key, "R")),
                "second": rotation.be_second(second.astype(float), agreed),
                "third": rotation.be_third(agreed),
            }
        )[1]

    as_published = run(first)
    seen = _received(as_published)
    truth = np.concatenate([first, second], axis=1)
    products = [
        rotation.subset_products(columns.astype(float), agreed.sent(site))
        for site, columns in enumerate((first, second))
    ]
    places = _places(agreed)
    changed = first.copy()
    person = int(bits.integers(0, len(first), 1)[0])
    changed[person, 0] *= -1
    return (
        _known_rotation(seen, products, _published_key(as_published)),
        *_gram(seen, truth, places),
        _reuse(seen, _received(run(changed)), truth[person], places),
        _hadamard(products, places, truth, bits),
    )


def quiet(first: Columns, second: Columns, bits: Bits) -> Quiet:
    """Count the same families by our protocol with a helper, and search all that both sites received."""
    agreed = families.Families(
        len(first),
        ("first", "second"),
        tuple(
            families.Vector(name, 2 ** len(family[site]))
            for family in _FAMILIES
            for site, name in enumerate(("first", "second"))
        ),
        ((0, 1), (2, 3)),
        "helper",
    )
    held = [
        [_configuration(columns, family[site]) for family in _FAMILIES]
        for site, columns in enumerate((first, second))
    ]
    out, transcript = run_parties(
        {
            "first": families.hold("first", held[0], agreed, bits),
            "second": families.hold("second", held[1], agreed, bits),
            "helper": families.help_out(agreed, bits),
        }
    )
    found = [
        judge_masks(words, bits=agreed.ring_bits)
        for record in transcript
        for value in record.arrays.values()
        if not isinstance(value, bytes)
        for words in [words_of(value, agreed.ring_bits)]
        if len(words) >= _LEAST
    ]
    odd = min(found, key=lambda finding: finding.chance)
    return Quiet(
        odd.what,
        min(1.0, odd.chance * len(found)),
        sum(finding.tests for finding in found),
        _right(out, held, agreed),
    )


def words_of(packed: NDArray[np.uint64], ring_bits: int) -> NDArray[np.uint32]:
    """The words of a message, less the last 63, among which may be zeros that fill up the packing."""
    return unpack(packed, (64 * len(packed) // ring_bits,), ring_bits)[:-63]


def _received(transcript: Transcript) -> NDArray[np.float64]:
    """All rotated columns that the third party saw, the first site's before the second's."""
    return np.concatenate(
        [np.asarray(record.arrays["columns"]) for record in transcript.seen_by("third")], axis=1
    )


def _published_key(transcript: Transcript) -> bytes:
    """The key of R, as the second site received it."""
    return bytes(transcript.seen_by("second")[0].arrays["key"])


def _places(agreed: rotation.Handover) -> list[int]:
    """Where the rotated single columns lie in what the third party saw: the public plan says so."""
    one, two = agreed.sent(0), agreed.sent(1)
    return [one.index((at,)) for at in range(len(FIRST))] + [
        len(one) + two.index((at,)) for at in range(len(SECOND))
    ]


def _known_rotation(seen: NDArray[np.float64], products: list[NDArray[np.float64]], key: bytes) -> Breach:
    theirs = products[0]
    read = rotation.undo(rotation.rotation_of(len(theirs), key), seen[:, : theirs.shape[1]])
    right = int((read == theirs).sum())
    words = (
        "The second site knows R, so it turns back what the first site sent and reads every bit of it. So "
        "does the third party, if one site tells it R."
    )
    return Breach("R is known", "the other site", right, theirs.size, words)


def _gram(seen: NDArray[np.float64], truth: Columns, places: list[int]) -> tuple[Breach, Breach]:
    tables = rotation.pair_tables(seen, 0, places)
    pairs = [(i, j) for i in range(len(places)) for j in range(i)]
    right = sum(np.array_equal(tables[i, j], _cross(truth[:, i], truth[:, j])) for i, j in pairs)
    needless = len(pairs) - len(_needed())
    alone = rotation.singled_out(tables)
    names = (*FIRST, *SECOND)
    example = "Nobody is alone this time."
    if alone:
        i, a, j, b = alone[0]
        example = (
            f"One person alone has {names[i]} = {_word(a)} and {names[j]} = {_word(b)}: whoever knows the "
            "one knows the other."
        )
    true = sum(int(_cross(truth[:, i], truth[:, j])[a, b] == 1) for i, a, j, b in alone)
    return (
        Breach(
            "counts of pairs", "the third party", right, len(pairs),
            "Inner products survive a rotation: all of them. The third party has the exact counts of every "
            f"pair of columns, {needless} of which no family needs.",
        ),
        Breach(
            "people singled out", "the third party", true, len(alone),
            f"Counts of one, exact and without noise: {len(alone)}. {example}",
        ),
    )  # fmt: skip


def _reuse(
    before: NDArray[np.float64], after: NDArray[np.float64], person: Columns, places: list[int]
) -> Breach:
    read = rotation.read_person(before[:, places[0]], after[:, places[0]], before, 0)
    right = int((read[places] == person).sum())
    words = (
        "One person's entry in one column was corrected and the column sent again under the same R. The "
        "difference of both is that person's row of R, and reads the person's entry in every column."
    )
    return Breach("R is used again", "the third party", right, len(person), words)


def _hadamard(products: list[NDArray[np.float64]], places: list[int], truth: Columns, bits: Bits) -> Breach:
    both = np.concatenate(products, axis=1)
    rows = rotation.unspin(rotation.spin(both, bits), 0)[:, places]
    wanted = {tuple(row): 0 for row in truth.tolist()}
    for row in truth.tolist():
        wanted[tuple(row)] += 1
    right = 0
    for row in rows.tolist():
        if wanted.get(tuple(row), 0):
            wanted[tuple(row)] -= 1
            right += 1
    words = (
        "With the fast rotation (random order, random signs, Hadamard) the third party applies the public "
        "Hadamard matrix once more and holds the complete rows of both sites, in another order."
    )
    return Breach("fast rotation", "the third party", right, len(truth), words)


def _needed() -> set[tuple[int, int]]:
    """Pairs of columns that occur together in a family."""
    joined = [(*one, *(len(FIRST) + at for at in two)) for one, two in _FAMILIES]
    return {(max(i, j), min(i, j)) for family in joined for i in family for j in family if i != j}


def _cross(one: Columns, other: Columns) -> NDArray[np.int64]:
    """Counts of the four combinations: yes first."""
    return np.array([[int(((one == a) & (other == b)).sum()) for b in (1, -1)] for a in (1, -1)])


def _word(state: int) -> str:
    return "no" if state else "yes"


def _configuration(columns: Columns, chosen: tuple[int, ...]) -> Columns:
    """A site's part of a family as one code a row: yes is 0, the first column counts most."""
    code = np.zeros(len(columns), dtype=np.int64)
    for at in chosen:
        code = 2 * code + (columns[:, at] < 0)
    return code


def _right(out: dict[str, Any], held: list[list[Columns]], agreed: families.Families) -> bool:
    """Whether our shares add up to the true tables."""
    modulus = np.uint64(2**agreed.ring_bits - 1)
    for at, family in enumerate(agreed.families):
        table = (out["first"][at] + out["second"][at]) & modulus
        true = np.zeros(agreed.shape(family), dtype=np.uint64)
        np.add.at(true, (held[0][at], held[1][at]), np.uint64(1))
        if not np.array_equal(table, true):
            return False
    return True

"""What `discreet prep` promises about a file, written into its schema, and the checks that keep it honest.

A sealed file holds one bucket of people, sorted by person: so each person is one run of rows in one file.
The seal is only a claim. Every pass checks it: ids never decrease within the file, every id hashes to the
file's bucket, and the files of a set are complete and without repetition.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import PersonError
from discreet.records.arrow import compute
from discreet.records.person import bucket_of, hash_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["KEY", "Seal", "check_set"]

KEY = b"discreet.prep"
"""Where the seal lies in the schema metadata of a Parquet file."""

_REMEDY = "Run `discreet prep` again, and leave the files as it wrote them."


@dataclass(frozen=True)
class Seal:
    """One file of a prepared set: bucket ``bucket`` of ``buckets`` of the people in column ``person``."""

    person: str
    bucket: int
    buckets: int
    hash: str
    version: int = 1

    def to_bytes(self) -> bytes:
        """The seal as JSON."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def read(cls, metadata: Mapping[bytes, bytes] | None, name: str) -> Seal | None:
        """The seal of a file, None if it has none; refuses one that makes no sense."""
        if not metadata or KEY not in metadata:
            return None
        try:
            plain: Any = json.loads(metadata[KEY])
            seal = cls(**plain)
            sound = seal.version == 1 and 0 <= seal.bucket < seal.buckets
        except (ValueError, TypeError):
            sound, seal = False, None
        if not sound:
            raise PersonError(f"{name} carries a seal that this version cannot read", remedy=_REMEDY)
        return seal

    def check_people(self, people: Any, name: str) -> None:
        """Refuse people out of order or of another bucket; ``people`` has one id a run, in file order."""
        if hash_name(people) != self.hash:
            raise PersonError(f"{name} was prepared with ids of another type", remedy=_REMEDY)
        if compute.any(compute.less_equal(people.slice(1), people.slice(0, len(people) - 1))).as_py():
            raise PersonError(f"in {name} the rows are not sorted by person", remedy=_REMEDY)
        if (bucket_of(people, self.buckets) != self.bucket).any():
            raise PersonError(f"{name} holds a person who belongs into another file", remedy=_REMEDY)


def check_set(seals: Sequence[Seal], names: Sequence[str]) -> None:
    """Refuse sealed files that are not one complete set: bucket 0 to n - 1, each once."""
    first = seals[0]
    for seal, name in zip(seals, names, strict=True):
        if (seal.buckets, seal.hash) != (first.buckets, first.hash):
            raise PersonError(f"{name} and {names[0]} come from different preparations", remedy=_REMEDY)
    buckets = [seal.bucket for seal in seals]
    for bucket, name in zip(buckets, names, strict=True):
        if buckets.count(bucket) > 1:
            raise PersonError(f"{name} is a bucket that another file holds as well", remedy=_REMEDY)
    if len(buckets) != first.buckets:
        raise PersonError(
            "the prepared files are not complete",
            got=f"{len(buckets)} files",
            wanted=f"all {first.buckets}",
            remedy="Name the whole folder that `discreet prep` wrote.",
        )

"""Vectors of an alignment, by a slow implementation that shares nothing with the fast one: run to renew."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "crypto"))
import slow_circuits as slow

from discreet.randomness import seeded

VECTORS = Path(__file__).parents[1] / "vectors"
ORDER = 2**252 + 27742317777372353535851937790883648493
IDS = {
    "ann": ["3", "17", "bob", "Zo\u00eb"],
    "ben": ["17", "x", "Zo\u00eb"],
    "cid": ["Zo\u00eb", "17", "17 ", "3"],
}
SEEDS = {"ann": 1, "ben": 2, "cid": 3}


def derive(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


def keyed(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, key=key, digest_size=16, person=b"discreet/1/match").digest()


def match(names: tuple[str, ...]) -> dict:
    """What is on the wire, and what each follower's table must give for each of its ids."""
    leader, *followers = names
    bits = {name: seeded(SEEDS[name]) for name in names}
    ids = {name: [x.encode() for x in IDS[name]] for name in names}
    salt = derive(b"discreet/1/match/salt", *(bits[name].bytes(32) for name in names))
    scalars = {name: int.from_bytes(bits[name].bytes(64), "little") % ORDER for name in names}

    def point(x: bytes):
        return slow.to_group(hashlib.sha512(b"discreet/1/match/id" + salt + x).digest())

    keys = {}
    for one in followers:
        for other in followers:
            if one < other:
                keys[one, other] = derive(b"discreet/1/match/pair", salt, bits[one].bytes(32))
    values = {name: {} for name in followers}
    for name in followers:
        mask = derive(b"discreet/1/match/mask", salt, name.encode())
        for x in ids[name]:
            value = int.from_bytes(keyed(mask, slow.encode(slow.times(scalars[name], point(x))) + x), "big")
            for pair, key in keys.items():
                value ^= int.from_bytes(keyed(key, x), "big") if name in pair else 0
            values[name][x.decode()] = value.to_bytes(16, "big").hex()
    blinded = [slow.times(scalars[leader], point(x)) for x in ids[leader]]
    tag = derive(b"discreet/1/match/tag", salt)
    shared = set.intersection(*(set(ids[name]) for name in names))
    return {
        "names": list(names),
        "salt": salt.hex(),
        "blinded": [slow.encode(one).hex() for one in blinded],
        "raised": {
            name: [slow.encode(slow.times(scalars[name], one)).hex() for one in blinded] for name in followers
        },
        "values": values,
        "tags": [each.hex() for each in sorted(keyed(tag, x) for x in shared)],
        "order": [x.decode() for x in sorted(shared, key=lambda x: keyed(tag, x))],
    }


def vectors() -> list[dict]:
    return [match(("ann", "ben")), match(("ann", "ben", "cid"))]


if __name__ == "__main__":
    (VECTORS / "match.json").write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")

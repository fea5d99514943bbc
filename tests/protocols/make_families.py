"""Write tests/vectors/families.json with Python's integers alone: `python -m tests.protocols.make_families`.

Packing of narrow words, and a whole run of two holders with a helper: seeds, messages, shares.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

VECTORS = Path(__file__).parents[1] / "vectors" / "families.json"


def packed(words, bits):
    """64 runs of words, run i at bit offset i * bits of a long integer for each place in the run."""
    runs = -(-len(words) // 64)
    words = [word % 2**bits for word in words] + [0] * (64 * runs - len(words))
    lines = [sum(words[i * runs + place] << (i * bits) for i in range(64)) for place in range(runs)]
    return [(line >> (64 * part)) % 2**64 for part in range(bits) for line in lines]


def stream(key, label, count):
    """Words of 32 bits from AES-128 in counter mode."""
    told = b"discreet expand 1\0" + len(key).to_bytes(4, "little") + label.encode()
    made = hmac.digest(key, told, "sha256")
    raw = Cipher(algorithms.AES(made[:16]), modes.CTR(made[16:])).encryptor().update(bytes(4 * count))
    return [int.from_bytes(raw[4 * i : 4 * i + 4], "little") for i in range(count)]


def label(plan, *parts):
    digest = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()
    words = ["families", "1", digest, *map(str, parts)]
    return "discreet/" + "/".join(f"{len(word)}:{word}" for word in words)


def run(rows, sizes, codes, seeds):
    """Vectors 0 of a and 1 of b, a's not larger: all messages and both shares of their table."""
    bits = rows.bit_length() + 1
    ring = 2**bits
    plan = {
        "rows": rows,
        "holders": ["a", "b"],
        "vectors": [["a", sizes[0]], ["b", sizes[1]]],
        "families": [[0, 1]],
        "route": "helper",
        "workers": [],
        "helper": "helper",
        "least_bits": 0,
    }
    free = [size - 1 for size in sizes]
    masks = [
        cut(stream(seed, label(plan, "mask", index), free[index] * rows), rows)
        for index, seed in enumerate(seeds)
    ]
    ones = [
        [[int(code == column) for code in codes[index]] for column in range(sizes[index])] for index in (0, 1)
    ]
    sent = [
        [
            [one - mask for one, mask in zip(*pair, strict=True)]
            for pair in zip(ones[i], masks[i], strict=False)
        ]
        for i in (0, 1)
    ]
    cells = sizes[0] * sizes[1]
    hidden = cut(stream(seeds[0], label(plan, "table", 0), cells), sizes[1])
    dealt = whole(dots(masks[0], masks[1]), [0] * sizes[0], [0] * free[1])
    tables = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(dealt, hidden, strict=True)]
    margins = [[sum(column) for column in table] for table in ones]
    first = whole(dots(ones[0][:-1], sent[1]), margins[0], [0] * free[1])
    second = whole(dots(sent[0], masks[1]), [0] * sizes[0], margins[1][:-1])
    return {
        "plan": plan,
        "codes": [list(one) for one in codes],
        "seeds": [seed.hex() for seed in seeds],
        "a to b": packed([word for column in sent[0] for word in column], bits),
        "b to a": packed([word for column in sent[1] for word in column], bits),
        "helper to b": packed([word for line in tables for word in line], bits),
        "share of a": added(first, hidden, ring),
        "share of b": added(second, tables, ring),
    }


def added(one, other, ring):
    return [[(x + y) % ring for x, y in zip(*pair, strict=True)] for pair in zip(one, other, strict=True)]


def cut(words, length):
    return [words[start : start + length] for start in range(0, len(words), length)]


def dots(left, right):
    return [[sum(x * y for x, y in zip(one, other, strict=True)) for other in right] for one in left]


def whole(body, left, right):
    """The last column and row from the margins."""
    lines = [[*line] for line in body]
    lines.append([total - sum(column) for total, column in zip(right, zip(*body, strict=True), strict=True)])
    return [[*line, total - sum(line)] for line, total in zip(lines, left, strict=True)]


def vectors():
    words = [(i * 2654435761) % 2**32 for i in range(70)]
    codes = ([0, 1, 2, 2, 1, 0, 0, 2, 1, 2], [3, 0, 1, 2, 3, 3, 1, 0, 0, 2])
    return {
        "packing": [
            {"bits": bits, "words": words, "packed": packed(words, bits)} for bits in (2, 12, 21, 31, 32)
        ],
        "runs": [run(10, (3, 4), codes, (bytes(range(32)), bytes(range(32, 64))))],
    }


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors(), indent=1) + "\n")

"""Write tests/vectors/paillier.json with Python's integers alone: `python -m tests.crypto.make_paillier`."""

from __future__ import annotations

import json
import random
from math import gcd
from pathlib import Path


def prime(size, stream):
    """A prime that is 3 modulo 4, by Fermat's test to 40 bases."""
    while True:
        candidate = stream.getrandbits(size) | (3 << (size - 2)) | 3
        if all(pow(base, candidate - 1, candidate) == 1 for base in range(2, 42)):
            return candidate


def vector(size, seed):
    stream = random.Random(seed)
    while True:
        p, q = prime(size // 2, stream), prime(size // 2, stream)
        if gcd(p - 1, q - 1) == 2:
            break
    n, x = p * q, stream.getrandbits(size - 2)
    generator = pow(-x * x % n, n, n * n)
    cases = []
    for message in (0, 1, -1, (n - 1) // 2, -((n - 1) // 2), 2**200 + 7):
        exponent = stream.getrandbits(size // 2)
        cipher = (1 + message * n) * pow(generator, exponent, n * n) % (n * n)
        phi = (p - 1) * (q - 1)  # the textbook's decryption must agree
        plain = (pow(cipher, phi, n * n) - 1) // n * pow(phi, -1, n) % n
        assert plain == message % n
        cases.append({"message": hex(message), "exponent": hex(exponent), "cipher": hex(cipher)})
    return {"p": hex(p), "q": hex(q), "x": hex(x), "generator": hex(generator), "cases": cases}


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "vectors" / "paillier.json"
    path.write_text(json.dumps([vector(2048, 1), vector(3072, 2)], indent=1) + "\n")

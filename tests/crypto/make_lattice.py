"""Write tests/vectors/lattice.json by long integers alone: `python -m tests.crypto.make_lattice`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.crypto import slow

from discreet.randomness import expand, seeded

JOBS = ((16, 100, 4096, 4096, 1), (41, 820 * 3 * 2**15, 4998, 8192, 2))


def moduli_of(degree, needed):
    """The largest primes below 2**23 with remainder 1, until q > 2**needed."""
    found, product, candidate = [], 1, 2**23 // (2 * degree) * (2 * degree) + 1
    while product.bit_length() - 1 < needed:
        candidate -= 2 * degree
        if all(candidate % divisor for divisor in range(2, 2900)):
            found.append(candidate)
            product *= candidate
    return found, product


def errors(bits, count):
    """Ones among 21 bits less ones among 21 others: little-endian words, all firsts before all seconds."""
    drawn = bits.bytes(8 * count)
    words = [int.from_bytes(drawn[i : i + 4], "little") & (2**21 - 1) for i in range(0, len(drawn), 4)]
    ones = [word.bit_count() for word in words]
    return [one - other for one, other in zip(ones[:count], ones[count:], strict=True)]


def uniform(seed, use, degree, moduli):
    """Values at the powers of psi; returned as coefficients of the inverse transform, one prime at a time."""
    bits = expand(seed, f"discreet/lattice/1/{use}/{degree}/{len(moduli)}")
    rows = []
    for prime in moduli:
        values = bits.integers(-(prime // 2), prime // 2 + 1, (1, degree))[0].tolist()
        rows.append(interpolate(values, prime, degree))
    return [slow.join(list(column), tuple(moduli)) for column in zip(*rows, strict=True)]


def interpolate(values, prime, degree):
    """Coefficients from values X[k] at psi^(2k+1), which lie in the order k = k1 + n1 k2 at [k1, k2]."""
    n1 = 1 << ((degree.bit_length() - 1) // 2)
    n2 = degree // n1
    natural = [values[(k % n1) * n2 + k // n1] for k in range(degree)]
    psi = next(
        root
        for root in (pow(g, (prime - 1) // (2 * degree), prime) for g in range(2, prime))
        if pow(root, degree, prime) == prime - 1
    )
    plain = backwards(natural, pow(psi, -2, prime), prime)
    scale = pow(degree, -1, prime)
    return [c * scale * pow(psi, -j, prime) % prime for j, c in enumerate(plain)]


def backwards(values, root, prime):
    """sum_k X[k] root^(jk), by halves."""
    if len(values) == 1:
        return values
    even = backwards(values[::2], root * root % prime, prime)
    odd = backwards(values[1::2], root * root % prime, prime)
    out, power, half = [0] * len(values), 1, len(values) // 2
    for j in range(half):
        out[j], out[j + half] = (even[j] + power * odd[j]) % prime, (even[j] - power * odd[j]) % prime
        power = power * root % prime
    return out


def job(share_bits, weight, opened, degree, seed):
    gathered = weight * 22 + (2 * degree + 1) * 21 + 1
    hidden = (opened * gathered - 1).bit_length() + 40
    moduli, q = moduli_of(degree, hidden + share_bits + 3)
    t = 2**share_bits
    values = [0, 1, -1, t // 2 - 1, 1 - t // 2, 12345 % (t // 2), -777]
    encoded = [slow.centred(slow.nearest(q * value, t), q) for value in values]
    bits = seeded(seed)
    s = bits.integers(-1, 2, degree).tolist()
    a = uniform(bits.bytes(32), "public key", degree, moduli)
    b = [
        slow.centred(e - p, q) for e, p in zip(errors(bits, degree), slow.product(a, s, degree), strict=True)
    ]
    bits = seeded(seed + 1)
    a = uniform(bits.bytes(32), "cipher", degree, moduli)
    e = errors(bits, degree)
    product = slow.product(a, s, degree)
    c = [slow.centred(encoded[i % len(values)] + e[i] - product[i], q) for i in range(degree)]
    return {
        "share_bits": share_bits, "weight": weight, "opened": opened, "degree": degree, "seed": seed,
        "moduli": moduli, "flood_bits": q.bit_length() - 1 - share_bits - 3,
        "wire_bits": share_bits + degree.bit_length() + 1, "values": values,
        "encoded": [str(value) for value in encoded], "public_key": digest(b), "cipher": digest(c),
    }  # fmt: skip


def digest(integers):
    return hashlib.sha256(",".join(map(str, integers)).encode()).hexdigest()


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "vectors" / "lattice.json"
    path.write_text(json.dumps([job(*sizes) for sizes in JOBS], indent=1) + "\n")

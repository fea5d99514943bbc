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
    answered = answer(moduli, q, share_bits, opened, degree, a, b, c, seed) if share_bits == 16 else None
    return {
        "answer": answered,
        "share_bits": share_bits, "weight": weight, "opened": opened, "degree": degree, "seed": seed,
        "moduli": moduli, "flood_bits": q.bit_length() - 1 - share_bits - 3,
        "wire_bits": share_bits + degree.bit_length() + 1, "values": values,
        "encoded": [str(value) for value in encoded], "public_key": digest(b), "cipher": digest(c),
    }  # fmt: skip


def answer(moduli, q, share_bits, opened, degree, a, b, c, seed):
    """What the computer sends back for the weights (i mod 7) - 3 at i < 20, by long integers."""
    w = [i % 7 - 3 if i < 20 else 0 for i in range(degree)]
    public = uniform(key_seed(degree, seed), "public key", degree, moduli)
    bits, positions = seeded(seed + 2), range(0, degree, 64)
    u = bits.integers(-1, 2, (1, 1, degree)).ravel().tolist()
    e1 = errors(bits, degree)
    drawn = bits.integers(0, 2**share_bits, (1, 1, len(positions))).ravel().tolist()
    e0 = errors(bits, len(positions))
    depth = q.bit_length() - 1 - share_bits - 3
    flood = [-(2 ** (depth - 1))] * len(positions)
    for start in range(0, depth, 32):
        word = bits.integers(0, 1 << min(32, depth - start), (1, 1, len(positions))).ravel().tolist()
        flood = [have + (more << start) for have, more in zip(flood, word, strict=True)]
    products = [slow.product(x, y, degree) for x, y in ((a, w), (public, u), (c, w), (b, u))]
    mask = [x + y + e for x, y, e in zip(products[0], products[1], e1, strict=True)]
    body = [
        products[2][at] + products[3][at] + e0[i] + slow.nearest(q * drawn[i], 2**share_bits) + flood[i]
        for i, at in enumerate(positions)
    ]
    wire = share_bits + degree.bit_length() + 1
    switched = [[slow.nearest((x % q) << wire, q) % 2**wire for x in part] for part in (mask, body)]
    return {"mask": digest(switched[0]), "body": digest(switched[1])}


def key_seed(degree, seed):
    """The public key's seed: the bytes that `keys` draws after the secret key."""
    bits = seeded(seed)
    bits.integers(-1, 2, degree)
    return bits.bytes(32)


def digest(integers):
    return hashlib.sha256(",".join(map(str, integers)).encode()).hexdigest()


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "vectors" / "lattice.json"
    path.write_text(json.dumps([job(*sizes) for sizes in JOBS], indent=1) + "\n")

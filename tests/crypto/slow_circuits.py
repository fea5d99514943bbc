"""Transfers and garbling again, slowly: integers, loops; AES, GHASH and ristretto255 from their definitions.

Nothing here is shared with the package but the order of gates in a finished circuit.
"""

from __future__ import annotations

import hashlib
import hmac
import math

# ---- AES-128 (FIPS 197)


def _double(x: int) -> int:
    return (x << 1 ^ (0x11B if x & 0x80 else 0)) & 0xFF


def _sbox() -> list[int]:
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p ^= _double(p)
        for shift in (1, 2, 4):
            q = (q ^ q << shift) & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        turned = q
        for turn in range(1, 5):
            turned ^= (q << turn | q >> (8 - turn)) & 0xFF
        box[p] = turned ^ 0x63
        if p == 1:
            return box


_BOX = _sbox()


def aes(key: bytes, block: bytes) -> bytes:
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = list(words[-1])
        if i % 4 == 0:
            word = [_BOX[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _double(constant)
        words.append([a ^ b for a, b in zip(words[-4], word, strict=True)])
    keys = [[byte for word in words[i : i + 4] for byte in word] for i in range(0, 44, 4)]
    state = [a ^ b for a, b in zip(block, keys[0], strict=True)]
    for turn in range(1, 11):
        state = [_BOX[b] for b in state]
        state = [state[(i + 4 * (i % 4)) % 16] for i in range(16)]
        if turn < 10:
            state = [byte for i in range(0, 16, 4) for byte in _mix(state[i : i + 4])]
        state = [a ^ b for a, b in zip(state, keys[turn], strict=True)]
    return bytes(state)


def _mix(c: list[int]) -> list[int]:
    total = c[0] ^ c[1] ^ c[2] ^ c[3]
    return [c[i] ^ total ^ _double(c[i] ^ c[(i + 1) % 4]) for i in range(4)]


# ---- what is made of it: expansion, hash, GHASH


def derive(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


class Stream:
    """AES-CTR as `discreet.randomness.expand` documents it."""

    def __init__(self, key: bytes, domain: str) -> None:
        told = b"discreet expand 1\0" + len(key).to_bytes(4, "little") + domain.encode()
        secret = hmac.new(key, told, hashlib.sha256).digest()
        self.key, self.counter, self.rest = secret[:16], int.from_bytes(secret[16:], "big"), b""

    def bytes(self, count: int) -> bytes:
        while len(self.rest) < count:
            self.rest += aes(self.key, self.counter.to_bytes(16, "big"))
            self.counter = (self.counter + 1) % 2**128
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


def hash_block(nonce: bytes, epoch: int, label: int, tweak: int) -> int:
    key = ((int.from_bytes(nonce[:16], "little") + epoch) % 2**128).to_bytes(16, "little")
    middle = int.from_bytes(aes(key, label.to_bytes(16, "little")), "little") ^ tweak
    return int.from_bytes(aes(key, middle.to_bytes(16, "little")), "little") ^ middle


def gmac(key: bytes, data: bytes) -> bytes:
    padded = data + bytes(-len(data) % 16) + (8 * len(data)).to_bytes(8, "big") + bytes(8)
    point, total = int.from_bytes(aes(key, bytes(16)), "big"), 0
    for i in range(0, len(padded), 16):
        total = _times(total ^ int.from_bytes(padded[i : i + 16], "big"), point)
    start = aes(key, bytes(12) + b"\0\0\0\1")
    return (total ^ int.from_bytes(start, "big")).to_bytes(16, "big")


def _times(x: int, y: int) -> int:
    product = 0
    for place in range(127, -1, -1):
        product ^= y if x >> place & 1 else 0
        y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
    return product


# ---- ristretto255 (RFC 9496)

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
INVSQRT_A_MINUS_D = 54469307008909316920995813868745141605393597292927456921205312896311721017578
assert (SQRT_AD_MINUS_ONE**2 + D + 1) % P == 0
assert (INVSQRT_A_MINUS_D**2 * (-1 - D)) % P == 1

Point = tuple[int, int, int, int]


def _absolute(x: int) -> int:
    return P - x % P if x % P & 1 else x % P


def _ratio(u: int, v: int) -> tuple[bool, int]:
    root = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * root * root % P
    if check in (-u % P, -u * ROOT % P):
        root = root * ROOT % P
    return check in (u % P, -u % P), _absolute(root)


def decode(raw: bytes) -> Point:
    s = int.from_bytes(raw, "little")
    if s >= P or s & 1:
        raise ValueError("not canonical")
    ss = s * s % P
    u1, u2 = 1 - ss, 1 + ss
    v = (-D * u1 * u1 - u2 * u2) % P
    square, root = _ratio(1, v * u2 * u2 % P)
    x = _absolute(2 * s * root * u2)
    y = u1 * root * root * u2 * v % P
    if not square or x * y % P & 1 or y == 0:
        raise ValueError("not a point")
    return x, y, 1, x * y % P


def encode(point: Point) -> bytes:
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    _, root = _ratio(1, u1 * u2 * u2 % P)
    one, two = root * u1 % P, root * u2 % P
    inverse = one * two * t % P
    if t * inverse % P & 1:
        x, y, two = y * ROOT % P, x * ROOT % P, one * INVSQRT_A_MINUS_D % P
    if x * inverse % P & 1:
        y = -y
    return _absolute(two * (z - y)).to_bytes(32, "little")


def plus(a: Point, b: Point) -> Point:
    one, two = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    three, four = 2 * D * a[3] * b[3] % P, 2 * a[2] * b[2] % P
    e, f, g, h = two - one, four - three, four + three, two + one
    return e * f % P, g * h % P, f * g % P, e * h % P


def minus(a: Point, b: Point) -> Point:
    return plus(a, (-b[0] % P, b[1], b[2], -b[3] % P))


def times(scalar: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while scalar:
        total = plus(total, point) if scalar & 1 else total
        point, scalar = plus(point, point), scalar >> 1
    return total


def to_group(wide: bytes) -> Point:
    return plus(_map(wide[:32]), _map(wide[32:]))


def _map(raw: bytes) -> Point:
    t = int.from_bytes(raw, "little") % 2**255
    r = ROOT * t * t % P
    u, v = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P
    square, s = _ratio(u, v)
    c = -1
    if not square:
        s, c = -_absolute(s * t) % P, r
    n = (c * (r - 1) * (D - 1) ** 2 - v) % P
    w0, w1, w2, w3 = 2 * s * v, n * SQRT_AD_MINUS_ONE, 1 - s * s, 1 + s * s
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


GENERATOR = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))


# ---- base transfers


def scalar(bits) -> int:
    return int.from_bytes(bits.bytes(64), "little") % ORDER


def blind(session: bytes, index: int, side: int, other: bytes) -> Point:
    told = (session, index.to_bytes(8, "little"), bytes([side]), other)
    return to_group(
        derive(b"discreet/1/transfer/group/a", *told) + derive(b"discreet/1/transfer/group/b", *told)
    )


def transfer(choices, session: bytes, sender_bits, receiver_bits):
    """Points sent, both keys of every transfer, chosen keys."""
    y = scalar(sender_bits)
    offered = encode(times(y, GENERATOR))
    points, pairs, chosen = b"", [], []
    for index, choice in enumerate(choices):
        x = scalar(receiver_bits)
        other = encode(to_group(receiver_bits.bytes(64)))
        mine = encode(minus(times(x, GENERATOR), blind(session, index, choice, other)))
        pair = [b"", b""]
        pair[choice], pair[1 - choice] = mine, other
        both = pair[0] + pair[1]
        points += both
        number = index.to_bytes(8, "little")

        def key(side, shared, number=number, both=both):
            told = (session, number, bytes([side]), offered, both, shared)
            return derive(b"discreet/1/transfer/key", *told)

        pairs.append(
            [
                key(
                    side,
                    encode(times(y, plus(decode(pair[side]), blind(session, index, side, pair[1 - side])))),
                )
                for side in (0, 1)
            ]
        )
        chosen.append(key(choice, encode(times(x * y % ORDER, GENERATOR))))
    return offered, points, pairs, chosen


# ---- extension


def extend(seeds, choices, session: bytes, bits):
    """One lot from a fresh receiver: columns, fold, digest, rows t_j, pads of the rows."""
    length = (-(-len(choices) // 128) + 1) * 16
    random = int.from_bytes(bits.bytes(length), "little")
    chosen = random >> len(choices) << len(choices) | sum(bit << j for j, bit in enumerate(choices))
    packed = chosen.to_bytes(length, "little")
    zero = [Stream(pair[0], f"extension 1 column {i}").bytes(length) for i, pair in enumerate(seeds)]
    one = [Stream(pair[1], f"extension 1 column {i}").bytes(length) for i, pair in enumerate(seeds)]
    columns = [_xor(_xor(a, b), packed) for a, b in zip(zero, one, strict=True)]
    key = derive(b"discreet/1/extension/check", session, (0).to_bytes(8, "little"), b"".join(columns))[:16]
    fold = _xor(gmac(key, packed), gmac(key, bytes(length)))
    digest = derive(*(gmac(key, column) for column in zero))
    numbers = [int.from_bytes(column, "little") for column in zero]
    rows = [sum((column >> j & 1) << i for i, column in enumerate(numbers)) for j in range(len(choices))]
    nonce = derive(b"discreet/1/extension/pads", session)
    pads = [hash_block(nonce, j // 4096, row, j % 4096) for j, row in enumerate(rows)]
    return columns, fold, digest, rows, pads


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


# ---- half-gates


def garble(circuit, offset: int, session: bytes, inputs):
    """Labels for 0 of inputs and outputs, and all tables: gate by gate, instance by instance.

    ``inputs`` are lists of bits (instances) by name and bit, all of them the garbler's own.
    """
    stream = Stream(derive(b"discreet/1/garble/inputs", session), "garbled inputs")
    nonce = derive(b"discreet/1/garble/gates", session)
    batch = len(next(iter(inputs.values()))[0])
    labels = {0: [offset] * batch}
    for name, rows in inputs.items():
        for number, row in enumerate(rows):
            drawn = [int.from_bytes(stream.bytes(16), "little") for _ in row]
            labels[circuit.inputs[name].start + number] = [
                label ^ offset * bit for label, bit in zip(drawn, row, strict=True)
            ]
    tables, epoch, at = [], -1, 4096
    for layer in circuit.layers:
        ends = list(zip(layer.left.tolist(), layer.right.tolist(), strict=True))
        if layer.kind == "xor":
            for number, (a, b) in enumerate(ends):
                labels[layer.first + number] = [x ^ y for x, y in zip(labels[a], labels[b], strict=True)]
            continue
        most = 4096 // batch
        for start in range(0, len(ends), most):
            part = ends[start : start + most]
            if at + len(part) * batch > 4096:
                epoch, at = epoch + 1, 0
            first, second = [], []
            for number, (a, b) in enumerate(part):
                made = []
                for x, y in zip(labels[a], labels[b], strict=True):
                    one, two, label = _half_gates(nonce, epoch, at, offset, x, y)
                    first.append(one)
                    second.append(two)
                    made.append(label)
                    at += 1
                labels[layer.first + start + number] = made
            tables += first + second
    outputs = {name: [labels[wire] for wire in wires.tolist()] for name, wires in circuit.outputs.items()}
    return outputs, tables


def _half_gates(nonce, epoch, at, offset, a, b):
    h = [hash_block(nonce, epoch, a ^ offset * v, 2 * at) for v in (0, 1)]
    k = [hash_block(nonce, epoch, b ^ offset * v, 2 * at + 1) for v in (0, 1)]
    first = h[0] ^ h[1] ^ offset * (b & 1)
    second = k[0] ^ k[1] ^ a
    return first, second, h[0] ^ first * (a & 1) ^ k[0] ^ (second ^ a) * (b & 1)


# ---- log-sum and the recursion over a trellis


def log_sum_steps(fraction: int, error: float) -> list[tuple[int, int, int]]:
    """Intervals (start, end, value) of f(d) = log(1 + e^-d): halved until no d or d + 1 strays too far."""

    def f(units: int) -> float:
        return math.log1p(math.exp(-units / 2**fraction))

    reach = fraction
    while f(2**reach) > error / 4:
        reach += 1
    waiting, done = [(0, 2**reach)], []
    while waiting:
        start, end = waiting.pop()
        around = [f(units) for units in range(start, end + 1)]
        value = round(math.fsum(around) / len(around) * 2**fraction)
        if end - start == 1 or max(abs(one - value / 2**fraction) for one in around) <= error:
            done.append((start, end, value))
        else:
            waiting += [(start, (start + end) // 2), ((start + end) // 2, end)]
    return sorted(done)


def log_sum(steps, x: int, y: int) -> int:
    apart = x - y if x >= y else y - x - 1
    return max(x, y) + sum(value for start, end, value in steps if start <= apart < end)


def recursion(join, start, arcs, weights, end, scores):
    """Total of one model: ``weights[i][j]`` on arcs (i, j); joins neighbours two by two."""

    def joined(values):
        while len(values) > 1:
            rest = values[len(values) & ~1 :]
            values = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + rest
        return values[0]

    state = [one + score for one, score in zip(start, scores[0], strict=True)]
    for row in scores[1:]:
        state = [
            joined([state[i] + weights[i][j] for i, to in arcs if to == j]) + score
            for j, score in enumerate(row)
        ]
    return joined([value + last for value, last in zip(state, end, strict=True)])

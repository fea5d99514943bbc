"""Small protocols to try channels, sessions and attacks with: a ring sum, a private set overlap, a stream."""

import numpy as np
import rbcl

from discreet.errors import PeerError, ProtocolError
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand

SIX = {"x": Limit.array("<u8", (6,))}


def six_of(private, agreed):
    """What a part prepares before it meets the others."""
    return np.full(6, private, "<u8")


def ring_a(private, agreed, bits):
    """First in a ring: mask, let the sum travel, unmask, tell the others."""
    mask = np.frombuffer(bits.bytes(48), "<u8")
    yield Send("ring/start", {"x": np.array(private, "<u8") + mask}, "b")
    told = yield Receive("ring/end", SIX, "c")
    total = told["x"] - mask
    yield Send("tell/sum", {"x": total}, "b")
    yield Send("tell/sum", {"x": total}, "c")
    return total


def ring_b(private, agreed, bits):
    told = yield Receive("ring/start", SIX, "a")
    yield Send("ring/middle", {"x": told["x"] + np.array(private, "<u8")}, "c")
    return (yield Receive("tell/sum", SIX, "a"))["x"]


def ring_c(private, agreed, bits):
    told = yield Receive("ring/middle", SIX, "b")
    yield Send("ring/end", {"x": told["x"] + np.array(private, "<u8")}, "a")
    return (yield Receive("tell/sum", SIX, "a"))["x"]


def points(items, version=1):
    """Texts as points of ristretto255."""
    import hashlib

    label = domain("demo overlap", version).encode()
    return [
        rbcl.crypto_core_ristretto255_from_hash(hashlib.sha512(label + item.encode()).digest())
        for item in items
    ]


def blind(secret, group):
    if not all(rbcl.crypto_core_ristretto255_is_valid_point(point) for point in group):
        raise ProtocolError("a message holds what is no point of the group")
    return [bytes(rbcl.crypto_scalarmult_ristretto255(secret, point)) for point in group]


def scalar(bits):
    return bytes(rbcl.crypto_core_ristretto255_scalar_reduce(bits.bytes(64)))


def pack(group):
    return {"points": np.frombuffer(b"".join(group), "|u1").reshape(-1, 32)}


def limit(count):
    return {"points": Limit.array("|u1", (count, 32))}


def overlap_client(private, agreed, bits):
    """Learns how many items both hold."""
    secret = scalar(bits)
    yield Send("overlap/ask", pack(blind(secret, points(private))))
    twice = yield Receive("overlap/twice", limit(agreed["client"]))
    theirs = yield Receive("overlap/theirs", limit(agreed["server"]))
    ours = {row.tobytes() for row in twice["points"]}
    return len(ours & set(blind(secret, [row.tobytes() for row in theirs["points"]])))


def overlap_server(private, agreed, bits):
    """Learns nothing; sends the client's points back in another order."""
    secret = scalar(bits)
    asked = yield Receive("overlap/ask", limit(agreed["client"]))
    order = np.argsort(bits.integers(0, 2**62, agreed["client"]))
    twice = blind(secret, [row.tobytes() for row in asked["points"]])
    yield Send("overlap/twice", pack([twice[at] for at in order]))
    yield Send("overlap/theirs", pack(sorted(blind(secret, points(private)))))


def talker(private, agreed, bits):
    """Both talk at once, then a stream of tables goes one way."""
    size, rounds = agreed["size"], agreed["rounds"]
    masks = expand(bits.bytes(16), domain("demo stream", 1))
    yield Send("both/blob", {"blob": masks.bytes(size)})
    yield Receive("both/blob", {"blob": Limit.raw(size)})
    total = 0
    for _ in range(rounds):
        table = np.frombuffer(masks.bytes(size), "<u4").copy()
        total += int(table.sum(dtype=np.uint64))
        yield Send("tables", {"table": table, "none": np.zeros((0, 3))})
    answer = yield Receive("sum", {"sum": Limit.array("<u8", ())})
    return total == int(answer["sum"])


def listener(private, agreed, bits):
    size, rounds = agreed["size"], agreed["rounds"]
    yield Send("both/blob", {"blob": bits.bytes(size)})
    yield Receive("both/blob", {"blob": Limit.raw(size)})
    limits = {"table": Limit.array("<u4", (size // 4,)), "none": Limit.array("<f8", (0, 3))}
    total = 0
    for _ in range(rounds):
        got = yield Receive("tables", limits)
        total += int(got["table"].sum(dtype=np.uint64))
    yield Send("sum", {"sum": np.array(total, "<u8")})
    return True


def unruly(private, agreed, bits):
    """A role with a defect, and a private value in its message."""
    yield Send("x", {})
    raise RuntimeError(f"the secret is {private}")


def misled(private, agreed, bits):
    yield Receive("x", {})
    yield Receive("y", {})


def dies(private, agreed, bits):
    """A process that is killed in the middle of its role, after some of its message is on its way."""
    import os
    import signal

    yield Send("x", {"blob": bytes(agreed["size"])})
    os.kill(os.getpid(), signal.SIGKILL)


def waits_for_two(private, agreed, bits):
    yield Receive("x", {"blob": Limit.raw(agreed["size"])})
    yield Receive("y", {"blob": Limit.raw(agreed["size"])})


def collects(private, agreed, bits):
    """Adds what arrives, as long as two members stay, and tells them."""
    total, there = 0, []
    for member in agreed["members"]:
        try:
            total += int((yield Receive("number", {"x": Limit.array("<u8", ())}, member))["x"])
            there.append(member)
        except PeerError:
            continue
    if len(there) < 2:
        raise PeerError("too few members stayed")
    for member in there:
        yield Send("total", {"x": np.array(total, "<u8")}, member)
    return total


def contributes(private, agreed, bits):
    yield Send("number", {"x": np.array(private, "<u8")}, "collector")
    return int((yield Receive("total", {"x": Limit.array("<u8", ())}, "collector"))["x"])

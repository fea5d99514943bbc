"""phe, timed, as JSON. Run by a Python that has phe: `PYTHON benchmarks/peer_phe.py BITS COUNT`."""

from __future__ import annotations

import json
import sys
import time

from phe import paillier  # pyright: ignore


def seconds(work, count: int) -> float:
    """Processor time of one of ``count`` calls."""
    start = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - start) / count


def main() -> None:
    """Encryption, decryption, and one output of a linear form over 820 features, with 16-bit weights."""
    bits, count = int(sys.argv[1]), int(sys.argv[2])
    start = time.process_time()
    public, secret = paillier.generate_paillier_keypair(n_length=bits)
    made = time.process_time() - start
    number = public.encrypt(12345)
    weights = [(7919 * index) % 65536 - 32768 for index in range(1, 101)]
    numbers = [number + index for index in range(len(weights))]

    def form() -> object:
        total = numbers[0] * weights[0]
        for one, weight in zip(numbers[1:], weights[1:], strict=True):
            total = total + one * weight
        return total

    times = {
        "keys": made,
        "encrypt": seconds(lambda: public.raw_encrypt(12345), count),
        "decrypt": seconds(lambda: secret.decrypt(number), count),
        "term": seconds(form, max(1, count // 20)) / len(weights),
        "add": seconds(lambda: number + number, 20 * count),
    }
    print(json.dumps(times))


if __name__ == "__main__":
    main()

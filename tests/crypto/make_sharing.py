"""Write tests/vectors/sharing.json with Python's integers alone: `python -m tests.crypto.make_sharing`."""

from __future__ import annotations

import json
import random
from pathlib import Path

from discreet.randomness import seeded

P = 2**61 - 1


def at(coefficients, point):
    return sum(c * point**power for power, c in enumerate(coefficients)) % P


def shamir(enough, seed):
    stream = random.Random(seed)
    secret = stream.choice([0, P - 1, stream.randrange(P)])
    own = [secret, *(stream.randrange(P) for _ in range(enough - 1))]
    points = stream.sample(range(1, 50), enough + 1)
    drawn = seeded(seed).integers(0, P, (enough - 1, 1)).ravel().tolist()
    return {
        "enough": enough, "seed": seed, "secret": secret,
        "shares": {str(point): at(own, point) for point in points},
        "drawn": [at([secret, *drawn], point) for point in range(1, 7)],
    }  # fmt: skip


if __name__ == "__main__":
    stream = random.Random(3)
    edges = [0, 1, P - 1, P - 2, 2**32, 2**32 - 1, 2**60, *(stream.randrange(P) for _ in range(5))]
    products = [{"a": a, "b": b, "product": a * b % P} for a in edges for b in edges]
    vectors = {"field": products, "shamir": [shamir(enough, enough) for enough in range(1, 6)]}
    path = Path(__file__).parents[1] / "vectors" / "sharing.json"
    path.write_text(json.dumps(vectors, indent=1) + "\n")

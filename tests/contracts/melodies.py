"""A small vocabulary, recordings that are surely one of its words, and a service of it as a process."""

import sys
from pathlib import Path

import numpy as np

from discreet.models.vocabulary import Vocabulary

WORDS = ("up", "down", "flat")
DIMENSION, STATES = 2, 3
MEANS = np.array(
    [
        [[-0.8, 0.0], [0.0, 0.0], [0.8, 0.0]],
        [[0.8, 0.0], [0.0, 0.0], [-0.8, 0.0]],
        [[0.0, 0.8], [0.0, 0.8], [0.0, 0.8]],
    ]
)


def vocabulary():
    """Three words of three states, diagonal Gaussians of two numbers."""
    stay = np.array([[0.7, 0.3, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
    tensors = {
        "startprob": np.tile([1.0, 0.0, 0.0], (3, 1)),
        "transmat": np.tile(stay, (3, 1, 1)),
        "means": MEANS,
        "covars": np.full((3, 3, 2), 0.05),
    }
    span = {"center": [0.0] * DIMENSION, "scale": [1.0] * DIMENSION}
    front = {"sound": None, "range": span, "codebook": [], "symbols": 0}
    return Vocabulary.of(tensors, {"words": list(WORDS), "covariance_type": "diag", "front": front})


def recording(number, frames=9):
    """What word `number` % 3 sounds like."""
    draw = np.random.default_rng(number)
    states = np.minimum(np.arange(frames) * STATES // frames, STATES - 1)
    return MEANS[number % 3][states] + draw.normal(0, 0.1, (frames, DIMENSION))


def word(number):
    return WORDS[number % 3]


def main():
    """Serve the vocabulary: home, answers, the most answers of a client, the log, and the silence."""
    from discreet.ask.answers import Allowance
    from discreet.ask.serving import serve
    from discreet.session import Limits
    from discreet.wire.identity import Home
    from discreet.wire.tls import Place

    home, answers, most, log = Home(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    with log.open("w", buffering=1) as file:
        serve(
            vocabulary(),
            home.identity("bob"),
            home.trusted(),
            Place("127.0.0.1", 0),
            answers=answers,
            allowance=Allowance(most),
            limits=Limits(
                workers=2,
                waiting=200,
                patience=200.0,
                rate=10**6,
                silence=float(sys.argv[5]),
                talk=200.0,  # forty clients in one process think at once
                connections=200,
                each=100,
            ),
            ready=lambda place: print(place.port, flush=True),
            tell=lambda note: print(note.words(), file=file),
            longest=24,
            padding=12,
        )


if __name__ == "__main__":
    main()

"""Guessing a model from an answer that was not freshly made: what circuit privacy is for.

The data owner encrypts features x under its own key; the model owner multiplies them by weights w and sends
back an encryption of the score. Pathak's thesis proposal (2010, section 4.2.1) sends just that product:

    Paillier:   prod_i c_i^(w_i) mod n**2                      lattice:   (sum_i w_i a_i, sum_i w_i b_i)

Both are functions of w and of ciphertexts that the data owner made itself. So it can compute them again for
every model it can think of, and compare: a model from a public collection is found with certainty, whatever
mask lies on the *value* of the score. (Over a lattice the first half does not even hold the value: it is
linear in w, and with as many answers as inputs it can be solved for w.)

`hold_model_bare` is that step over the lattice, with everything else as in `discreet.protocols.scores`;
`agreements` and `paillier_agreements` compare guesses with what came back. `discreet.protocols.scores` adds a
fresh encryption of zero and a flood, so that the answer is the same for all models but for 2**-40:
`agreements` finds nothing there, for the right guess no more than for wrong ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.lattice import Answer, Cipher, multiplied, narrow
from discreet.protocols.scores import prepared
from discreet.protocols.step import Receive, Send, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.crypto.lattice import Table
    from discreet.crypto.paillier import Encrypted
    from discreet.protocols.scores import Scores
    from discreet.protocols.step import Arrays, Steps
    from discreet.randomness import Bits

    Numbers = NDArray[np.uint64]

__all__ = ["agreements", "hold_model_bare", "paillier_agreements"]


def hold_model_bare(weights: NDArray[np.int64], agreed: Scores, bits: Bits) -> Steps[Numbers]:
    """The scorer's role with nothing added to the products but the mask on the score itself.

    **Reveals** the weights to whoever guesses them: it is here to be broken. Returns the scorer's shares.
    """
    told = yield Receive("scores/query", agreed.query)
    own = expand(bits.bytes(32), domain("scores", 1, "bare"), seeded=bits.seeded)
    products = _products(prepared(weights, agreed), agreed, told)
    opened = products[:, 1][..., agreed.layout.positions]
    drawn = own.integers(0, 1 << agreed.share_bits, opened.shape[1:])
    body = agreed.setting.ring.reduce(opened + agreed.setting.encoded(drawn))
    answer = Answer(narrow(agreed.setting, products[:, 0]), narrow(agreed.setting, body))
    yield Send("scores/answer", {"mask": answer.mask, "body": answer.body})
    share = (np.uint64(0) - drawn.view(np.uint64)) & np.uint64((1 << agreed.share_bits) - 1)
    return agreed.layout.read(share)


def agreements(
    query: Arrays, answer: Arrays, agreed: Scores, guesses: Sequence[NDArray[np.int64]]
) -> list[float]:
    """For each guess of the weights: the share of the answer that it explains, between 0 and 1.

    ``query`` and ``answer`` are the messages that the data owner sent and got. Compared is the half of the
    answer on which no mask lies. A guess explains the pieces of the answer whose weights it has right.
    """
    heard = np.asarray(answer["mask"])
    found: list[float] = []
    for guess in guesses:
        products = _products(prepared(guess, agreed), agreed, query)
        expected = narrow(agreed.setting, products[:, 0])
        found.append(float((expected == heard).all(axis=-1).mean()))
    return found


def paillier_agreements(
    sent: Encrypted, answer: Sequence[int], guesses: Sequence[NDArray[np.int64]], largest: int
) -> list[float]:
    """The same for Paillier: the share of the returned ciphertexts that are exactly those of each guess.

    ``guesses`` are weights (features, outputs), with columns whose sizes sum to at most ``largest``.
    """
    explained = [sent.weighted(guess, largest).numbers for guess in guesses]
    return [float(np.mean([a == b for a, b in zip(made, answer, strict=True)])) for made in explained]


def _products(table: Table, agreed: Scores, query: Arrays) -> NDArray[np.float64]:
    """Coefficients of the weighted sums of the ciphertexts of a query: (L, 2, rows, outputs, N)."""
    cipher = Cipher(bytes(query["seed"]), np.asarray(query["low"]), np.asarray(query["high"]))
    ring = agreed.setting.ring
    return ring.inverse(multiplied(ring, cipher.values(agreed.setting), table.values))

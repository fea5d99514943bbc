"""Products among three parties of whom no two collude: replicated shares, no dealer, one message a product.

x = x_0 + x_1 + x_2 modulo 2**64; party i holds x_i and x_(i+1). Then (Araki, Furukawa, Lindell, Nof, Ohara
2016)
    z_i = x_i y_i + x_i y_(i+1) + x_(i+1) y_i + r_i,      r_0 + r_1 + r_2 = 0,
are additive shares of the product x y, uniform thanks to r_i = F(k_i) - F(k_(i+1)), where party i holds keys
k_i and k_(i+1). Sending z_i to party i - 1 makes them replicated again.

**Trusts** that no two of the three collude, and that they follow the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.sharing import masks
from discreet.randomness import expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.triple import Form

    Numbers = NDArray[np.uint64]

__all__ = ["Held", "multiplied", "zero"]


@dataclass(frozen=True)
class Held:
    """What one of three parties holds of a number: its own part and the next party's."""

    own: Numbers = field(repr=False)
    following: Numbers = field(repr=False)


def zero(shape: tuple[int, ...], own_key: bytes, following_key: bytes, number: int) -> Numbers:
    """This party's share of zero; ``number`` must never repeat under the same keys."""
    domain = f"discreet/trio/1/{number}"
    return masks(shape, expand(own_key, domain)) - masks(shape, expand(following_key, domain))


def multiplied(form: Form, x: Held, y: Held, share_of_zero: Numbers) -> Numbers:
    """This party's additive share of the product."""
    return form.of(x.own, y.own + y.following) + form.of(x.following, y.own) + share_of_zero

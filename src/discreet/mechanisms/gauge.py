"""K-norm noise: a move is the less likely the farther out it lies, as a symmetric convex body K measures it.

The gauge of a move v is ||v||_K = min {r : v in r K}. Noise with P[v] proportional to exp(-epsilon ||v||_K)
hides every difference in K: by the triangle inequality, probabilities of the same output from two answers
whose difference lies in K differ by a factor e^epsilon at most (Hardt, Talwar 2010). Laplace noise is the
case in which K is an l1 ball (`discreet.mechanisms.body.diamond`).

**Lattice noise** (`LatticeNoise`, what releases use) is exact. Answers lie on a public integer lattice, and
so does the noise. With m shells a unit of the gauge,
    P[z] proportional to q^n(z),   q = e^(-epsilon / m),   n(z) = ceil(m ||z||_K).
*It hides every v in K:* n(z + v) <= n(z) + m, because ceil(a + m b) <= ceil(a) + m for b <= 1; and shifting
the lattice does not change the normaliser. *It is drawn exactly*, in whole arrays:
 1. n is the sum of r + 1 geometric numbers with ratio q: P[n] is proportional to C(n + r, r) q^n.
 2. Each coordinate i draws U_i uniform in [0, M_i (n + i)) and is refused unless U_i < 2 w_i(n) + 1; then
    u_i = U_i - w_i(n) is uniform in a box. The factors (n + 1) ... (n + r) cancel C(n + r, r), so each
    pair (n, u in box n) is drawn with probability proportional to q^n alone.
 3. z follows from u by a shear, z_i = u_i + (integer part of a function of z_1 ... z_(i-1)), which maps
    integer points to integer points one to one; the box in the sheared coordinates contains (n / m) K.
 4. z is kept if it lies in (n / m) K: m |a_k . z| <= n b_k, in integers.
So P[z] is proportional to the sum of q^n over all n >= n(z), that is, to q^n(z). No floating-point number
takes part: there are no low bits to attack. The shear (from the second moment of K) only makes the box fit.
*Why the box contains (n / m) K:* let s_i be the shear, rounded to halves of its unit. A point of (n / m) K has
|z_i - s_i| <= (n / m) h_i, h_i the largest value over the corners of K; rounding adds at most 1/2; and u_i is
an integer, so |u_i| <= floor(n h_i / m) + 1 = w_i(n). *Why M_i is enough:* 2 w_i(n) + 1 <= (2 h_i / m) n + 3
<= max(2 h_i / m, 3) (n + 1) <= M_i (n + i).

**Continuous noise** (`ContinuousNoise`) is for analysis and pictures: a facet by the volume of its cone, a
uniform point on it, times a Gamma(r) radius. It has the low bits of every noise in doubles. Then the gauge is
Gamma(r) distributed, and the density of the filter is the density of the sampler.

**Expected error.** A move is R u with u uniform in K and R Gamma(r + 1), so
    E |z|^2 = (r + 1)(r + 2) / epsilon^2 * trace of the mean of u u'.
The lattice law's differs by parts in 10^4. (An isotropic transformation before drawing, as in the planar
isotropic mechanism, changes nothing: the law follows every linear map of K.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.accounting.event import check_number
from discreet.errors import ParameterError
from discreet.mechanisms.exact import discrete_geometric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.body import Body
    from discreet.randomness import Bits

__all__ = ["ContinuousNoise", "GaugeNoise", "LatticeNoise", "check_epsilon", "expected_squared_error"]

_SHELLS, _FEW_SHELLS = 64, 8
_RATE_BITS = 20
_SHEAR_BITS = 16
_SMALLEST, _LARGEST = 2.0**-10, 2.0**10
_TRIES = 2.2
_MOST_CANDIDATES = 2**18
_INT64 = 2**62


class GaugeNoise(Protocol):
    """Noise on a body: how to draw it, and the law that it follows."""

    @property
    def body(self) -> Body:
        """What it hides."""
        ...

    @property
    def epsilon(self) -> float:
        """What a difference in the body costs."""
        ...

    @property
    def shells(self) -> int:
        """Into how many shells a unit of the gauge is cut."""
        ...

    def draw(self, size: int, bits: Bits) -> NDArray[np.float64]:
        """Moves, one a row, in steps of the lattice."""
        ...

    def exponents(self, shells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Minus the logarithm of the law, up to a constant, of moves so many shells out; in place."""
        ...


def expected_squared_error(body: Body, epsilon: float) -> float:
    """E |z|^2 of noise on the body, in squared steps of the lattice; closed form."""
    rank = body.rank
    return (rank + 1) * (rank + 2) / epsilon**2 * float(np.trace(body.moment))


class LatticeNoise:
    """Exact K-norm noise on the integers.

    **Costs** ``epsilon`` for answers whose difference lies in the body (a little less: epsilon is rounded down
    to a multiple of 2**-20, so that it is a fraction), and some 2 microseconds a draw in arrays.
    **Reveals** by its running time what every rejection sampler reveals: do not let outsiders time draws.
    """

    def __init__(self, body: Body, epsilon: float) -> None:
        self.body = body
        self.epsilon = _check(body, epsilon)
        self.rate = Fraction(math.floor(self.epsilon * 2**_RATE_BITS), 2**_RATE_BITS)
        self.shells = self._cut()

    def draw(self, size: int, bits: Bits) -> NDArray[np.float64]:
        """Moves, one a row; integers, exact."""
        kept: list[NDArray[np.int64]] = []
        missing, tries = size, _TRIES
        while missing > 0:
            count = min(int(missing * tries) + 4, _MOST_CANDIDATES)
            found = self._candidates(count, bits)
            tries = max(_TRIES, 1.2 * count / (len(found) + 1))
            kept.append(found[:missing])
            missing -= len(kept[-1])
        coordinates = np.concatenate(kept) if kept else np.zeros((0, self.body.rank), dtype=np.int64)
        return self.body.span.expand(coordinates).astype(np.float64)

    def exponents(self, shells: NDArray[np.float64]) -> NDArray[np.float64]:
        """(epsilon / m) ceil(m gauge), in place. If m gauge is one quotient of integers below 2**53, the
        rounded quotient has the same ceiling: it is no integer unless the true one is."""
        np.ceil(shells, out=shells)
        shells *= float(self.rate) / self.shells
        return shells

    def _cut(self) -> int:
        """The shells of a unit: 64 or more for a large epsilon, fewer for a body of a few lattice steps.

        Then most candidates would be refused; the cost and the error do not depend on the number.
        """
        factor = 2 ** max(0, math.ceil(math.log2(self.epsilon)))
        wanted = min(factor * _SHELLS, max(_FEW_SHELLS, min(self._reach)))
        return 2 ** math.floor(math.log2(wanted))

    @cached_property
    def _shear(self) -> NDArray[np.int64]:
        """Row i: how z_i follows z_1 ... z_(i-1) on average over the body, in units of 2**-16."""
        span = self.body.span
        coordinates = np.linalg.pinv(span.basis.astype(np.float64))
        moment = coordinates @ self.body.moment @ coordinates.T
        factor = np.linalg.cholesky(moment + 1e-12 * np.trace(moment) * np.eye(span.rank))
        unit = factor / np.diagonal(factor)
        return np.rint((np.eye(span.rank) - np.linalg.inv(unit)) * 2**_SHEAR_BITS).astype(np.int64)

    @cached_property
    def _reach(self) -> list[int]:
        """How far out the corners lie along each sheared coordinate, rounded up."""
        corners = self.body.span.reduce(self.body.corners).astype(object)
        shear = self._shear.astype(object)
        one = 2**_SHEAR_BITS
        sheared = [
            max(abs(one * corner[i] - sum(shear[i][j] * corner[j] for j in range(i))) for corner in corners)
            for i in range(self.body.rank)
        ]
        return [-(-value // one) for value in sheared]

    def _candidates(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Coordinates of moves, from ``count`` candidates of which some are refused."""
        rank, reach = self.body.rank, self._reach
        parts = discrete_geometric(self.shells / self.rate, (rank + 1) * count, bits)
        shell = parts.reshape(count, rank + 1).sum(axis=1)
        drawn = np.zeros((count, rank), dtype=np.int64)
        for i in range(rank):
            most = max(-(-2 * reach[i] // self.shells), 3)
            width = (shell * reach[i]) // self.shells + 1
            place = _below(most * (shell + i + 1), bits)
            keep = place < 2 * width + 1
            drawn[:, i] = place - width
            shell, drawn = shell[keep], drawn[keep]
        points = self._unshear(drawn)
        return points[self._inside(points, shell)]

    def _unshear(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        points = drawn.copy()
        for i in range(1, self.body.rank):
            mean = points[:, :i] @ self._shear[i, :i] + 2 ** (_SHEAR_BITS - 1)
            points[:, i] += mean >> _SHEAR_BITS
        return points

    def _inside(self, points: NDArray[np.int64], shell: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each point lies in (n / m) K; in Python integers where 64 bits could be too few."""
        normals, offsets = self.body.normals, self.body.offsets
        largest = int(np.abs(points).max(initial=0)) * int(np.abs(normals).sum(axis=1).max()) * self.shells
        if max(largest, int(shell.max(initial=0)) * int(offsets.max())) >= _INT64:
            points, shell, normals, offsets = (
                array.astype(object) for array in (points, shell, normals, offsets)
            )
        values = np.abs(points @ normals.T) * self.shells
        return np.asarray((values <= shell[:, None] * offsets).all(axis=1), dtype=np.bool_)


class ContinuousNoise:
    """K-norm noise in doubles: for analysis and pictures, not for release.

    **Reveals** the answer to whoever looks at the low bits (`discreet.audit.bits`).
    """

    shells = 1

    def __init__(self, body: Body, epsilon: float) -> None:
        self.body = body
        self.epsilon = _check(body, epsilon)

    def draw(self, size: int, bits: Bits) -> NDArray[np.float64]:
        """Moves, one a row, in doubles."""
        body = self.body
        ends = np.cumsum(body.pyramids)
        facet = np.searchsorted(ends, bits.integers(0, int(ends[-1]), size), side="right")
        weights = -np.log(_uniform(size * body.rank, bits)).reshape(size, body.rank)
        weights /= weights.sum(axis=1, keepdims=True)
        radius = -np.log(_uniform(size * body.rank, bits)).reshape(size, body.rank).sum(axis=1)
        radius *= (1 - 2 * bits.integers(0, 2, size)) / self.epsilon
        on_facet = np.einsum("nk,nkj->nj", weights, body.simplices[facet].astype(np.float64))
        return radius[:, None] * on_facet @ body.span.basis.T.astype(np.float64)

    def exponents(self, shells: NDArray[np.float64]) -> NDArray[np.float64]:
        """epsilon times the gauge, in place."""
        shells *= self.epsilon
        return shells


def check_epsilon(epsilon: object) -> float:
    """The budget of one release as a float; refuses what is none."""
    value = check_number("epsilon", epsilon)
    if not _SMALLEST <= value <= _LARGEST:
        raise ParameterError(
            "epsilon is not a privacy budget for a release", got=value, wanted="a number from 0.001 to 1024"
        )
    return value


def _check(body: Body, epsilon: float) -> float:
    value = check_epsilon(epsilon)
    if not body.rank:
        raise ParameterError(
            "there is nothing to hide behind: the answer would be released as it is",
            wanted="two joined states with different answers",
            remedy="Repair the policy graph.",
        )
    return value


def _below(spans: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
    """Integers uniform in [0, span) for each span: 62 bits, refused above the last multiple of the span."""
    result = np.empty(spans.size, dtype=np.int64)
    waiting = np.arange(spans.size)
    while waiting.size:
        words = bits.integers(0, _INT64, waiting.size)
        chosen = spans[waiting]
        good = words < (_INT64 // chosen) * chosen
        result[waiting[good]] = words[good] % chosen[good]
        waiting = waiting[~good]
    return result


def _uniform(size: int, bits: Bits) -> NDArray[np.float64]:
    return (bits.integers(0, 2**53, size).astype(np.float64) + 0.5) * 2.0**-53

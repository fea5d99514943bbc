"""Add exact discrete noise to a statistic: the only place where private sums become publishable numbers.

**Order.** Everything that can be refused is refused first; then the account is asked (`Account.draw`, which
raises if the release was not planned); only then is noise drawn. Nothing that is refused, and no error,
depends on the private total.

**Grid.** The statistic is moved to a grid finer or coarser by a power of two, on which the scale of the noise
is at least 2**30 units and the widening below costs at most a share 2**-20 (unless the scale would pass
2**48). A coarse grid is made finer, exactly: noise drawn on a coarse grid would be cheaper to tell apart than
the continuous noise that accountants charge for. (A count with discrete Laplace noise is randomised response;
one round at epsilon 1 has total variation 0.46, continuous Laplace noise 0.39.)

**Scale.** Let v be one person's change on that grid, in units. The noise has scale event.noise * b, rounded
up to the next float, with
    Gaussian   b = L2 bound + sqrt(m)        Laplace   b = L1 bound + m        for m numbers,
where the bounds have been widened by coarsening before. The added unit a number pays for discreteness:
*discrete noise with shift v_i costs no more than continuous noise of the same scale with shift |v_i| + 1*, in
the sense of every (epsilon, delta) and hence under every composition. Proof for Laplace noise of scale s and
k = |v_i|: the best events are {y <= j}, 0 <= j <= k. With e^a = 2 / (1 + e^(-1/s)) and x = j + 1 - s a,
    P[Lap <= x] = P[DLap <= j],   P[Lap <= x - k - 1] = P[DLap <= j - k] (1 + e^(-1/s))^2 / 4,
so the event {Lap <= x} tells the continuous worlds apart at least as well. For Gaussian noise the same with
x = j + 1/2 + t, |t| < 1/2: t, the error of the midpoint rule in units, is about j / (24 s^2), so j would
have to lie 12 s > 2**33 standard deviations out to make it 1/2.

**No overflow.** Noise is int64 and is added to the total as Python integers; it would have to exceed 2**12
scales to leave int64. So totals may have any size, and none is refused, which would be a release.

**Which sampler.** OpenDP's, reviewed and proven by others, unless the bits are seeded: OpenDP takes no seed,
so replays use `discreet.mechanisms.exact`, and only under a guarantee that says so. The tests hold both
against the exact law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms.exact import discrete_gaussian, discrete_laplace
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.randomness import Bits

__all__ = ["NoisePlan", "Payer", "draw_noise", "plan_noise", "release"]

_FINE = 2.0**30
_WIDENING = 2.0**20
_LARGEST_SCALE = 2.0**48
_LARGEST_DRAWN = 2.0**50  # what the samplers take
_LARGEST_BOUND = 2.0**60
_LARGEST_OUTPUT = 2**900


class Payer(Protocol):
    """Who is asked before noise is drawn: an `Account`."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What has been promised to the people in the data; None if there are none."""
        ...

    def draw(self, event: Event) -> object:
        """Take the event from the plan, or raise."""
        ...


@dataclass(frozen=True)
class NoisePlan:
    """How a statistic will be noised; follows from its bounds and size, never from its total.

    ``grid`` is the value of one released unit: the statistic's grid times 2**``coarser`` (a negative power
    makes it finer); ``bound`` is one person's change in released units, widened; ``scale`` is the scale of
    the noise in released units, so that ``scale * grid`` is its scale in the units of the data.
    """

    mechanism: str
    coarser: int
    grid: float
    bound: float
    scale: float


def release(statistic: Statistic, event: Event, account: Payer, bits: Bits) -> NDArray[np.float64]:
    """The sums with exact noise added, in the units of the data.

    **Reveals** the sums, as far as ``event`` allows. **Costs** the event; some 10 microseconds a number
    (1 with seeded bits). **Trusts** the bounds that the statistic states, and the sampler.

    The noise is Gaussian with standard deviation ``event.noise`` times the L2 bound, or Laplace with scale
    ``event.noise`` times the L1 bound; about a millionth more, as `plan_noise` says.
    """
    plan = plan_noise(statistic, event)
    placed = _place(statistic, plan.coarser)
    return _publish(placed, draw_noise(plan, placed.total.size, event, account, bits))


def draw_noise(plan: NoisePlan, size: int, event: Event, account: Payer, bits: Bits) -> NDArray[np.int64]:
    """``size`` integers of exact noise, drawn after everything has been checked and the account was asked."""
    if bits.seeded:
        _check_promise(account)
    else:
        _agree(plan, event)
    account.draw(event)
    return _replay(plan, size, bits) if bits.seeded else _draw(plan, size)


def plan_noise(statistic: Statistic, event: Event) -> NoisePlan:
    """The grid and the scale with which `release` would noise the statistic."""
    _check(statistic, event)
    gaussian = event.mechanism == "gaussian"
    size = statistic.total.size
    slack = math.sqrt(size) if gaussian else float(size)
    bound = statistic.l2 if gaussian else statistic.l1
    wanted = min(max(_FINE, event.noise * slack * _WIDENING), _LARGEST_SCALE)
    coarser = math.floor(math.log2(max(event.noise * bound / wanted, bound / _LARGEST_BOUND)))
    empty = Statistic(np.zeros(size, dtype=object), statistic.grid, statistic.l1, statistic.l2, "bounds")
    placed = _place(empty, coarser)
    bound = math.nextafter((placed.l2 if gaussian else placed.l1) + slack, math.inf)
    scale = math.nextafter(event.noise * bound, math.inf)
    if scale > _LARGEST_DRAWN:
        raise ParameterError(
            "the noise would be too large to draw exactly", got=event.noise, wanted="less noise"
        )
    return NoisePlan(event.mechanism, coarser, placed.grid, bound, scale)


def _check(statistic: Statistic, event: Event) -> None:
    if event.count != 1:
        raise ParameterError(
            "one release draws noise once",
            got=event.count,
            wanted="an event of count 1",
            remedy="Take dataclasses.replace(event, count=1) for each of the planned releases.",
        )
    if statistic.total.size == 0:
        raise ParameterError("there is nothing to release", got=0, wanted="at least one number")


def _check_promise(account: Payer) -> None:
    if account.guarantee is not None and account.guarantee.private:
        raise ParameterError(
            "noise from a seed cannot keep a promise of privacy",
            got="seeded bits and a private guarantee",
            wanted="a guarantee with seeded=True, or bits that are not seeded",
            remedy="Leave random_state out for a private result.",
        )


def _place(statistic: Statistic, coarser: int) -> Statistic:
    """The same sums on a grid 2**coarser times coarser; exactly, if that is finer."""
    if coarser >= 0:
        return statistic.coarsen(2**coarser)
    finer = 2**-coarser
    return Statistic(
        total=statistic.total * finer,
        grid=statistic.grid / finer,
        l1=statistic.l1 * finer,
        l2=statistic.l2 * finer,
        label=statistic.label,
    )


def _publish(statistic: Statistic, noise: NDArray[np.int64]) -> NDArray[np.float64]:
    noisy = [int(value) + int(drawn) for value, drawn in zip(statistic.total.flat, noise, strict=True)]
    floats = [float(max(-_LARGEST_OUTPUT, min(_LARGEST_OUTPUT, value))) for value in noisy]
    return np.array(floats) * statistic.grid


def _replay(plan: NoisePlan, size: int, bits: Bits) -> NDArray[np.int64]:
    sample = discrete_gaussian if plan.mechanism == "gaussian" else discrete_laplace
    return sample(_fraction_above(plan.scale), size, bits)


def _fraction_above(scale: float) -> Fraction:
    """The smallest p/q >= scale with p about 2**30 or more and q a power of two."""
    power = min(max(0, 30 - math.floor(math.log2(scale))), 60)
    return Fraction(math.ceil(Fraction(scale) * 2**power), 2**power)


def _draw(plan: NoisePlan, size: int) -> NDArray[np.int64]:
    measurement = _measurement(plan.mechanism, plan.scale)
    return np.array(measurement(np.zeros(size, dtype=np.int64)), dtype=np.int64)


def _agree(plan: NoisePlan, event: Event) -> None:
    """Raise unless OpenDP, too, finds that this noise costs no more than the event says."""
    measurement = _measurement(plan.mechanism, plan.scale)
    if plan.mechanism == "gaussian":
        cost, claim = measurement.map(plan.bound), 0.5 / event.noise**2
    else:  # a change of integers is an integer
        cost, claim = measurement.map(math.floor(plan.bound)), 1 / event.noise
    if not cost <= claim * (1 + 1e-9):
        raise BudgetError(
            "OpenDP charges more for this noise than the event says", got=cost, wanted=f"at most {claim}"
        )


@lru_cache(maxsize=256)
def _measurement(mechanism: str, scale: float) -> Any:
    """OpenDP's mechanism on vectors of integers, built once a scale."""
    from opendp.domains import atom_domain, vector_domain  # 0.1 s; the prelude takes 2
    from opendp.measurements import then_gaussian, then_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if mechanism == "gaussian":
        return (domain, l2_distance(T="f64")) >> then_gaussian(scale=scale)  # pyright: ignore[reportOperatorIssue]
    return (domain, l1_distance(T="i64")) >> then_laplace(scale=scale)  # pyright: ignore[reportOperatorIssue]

"""What several releases cost together, tightly; and how much noise a budget needs.

| releases                     | total                                                                   |
|------------------------------|-------------------------------------------------------------------------|
| all Gaussian                 | Gaussian privacy in closed form, mu**2 = sum of count / noise**2        |
| all Laplace, delta 0         | the sum of count / noise, exact, rounded up once                        |
| mixed, or Laplace, delta > 0 | the least of: privacy-loss distributions, Renyi, Gaussian part + sum    |
| a Gaussian and delta 0       | infinite                                                                |

All of them hold when every next release is chosen after seeing the earlier ones, as long as the *noises* were
fixed beforehand (which is what a plan is). For noises or stops chosen on the way, the ledger has filters.

**The noise that is drawn is discrete.** What is proven for the discrete Gaussian is the same
zero-concentrated and hence the same Renyi bound as for the continuous one (Canonne, Kamath and Steinke
2020), and for the discrete Laplace the same pure epsilon. The closed form and the loss distributions above
are those of the continuous laws. The loss at a point is the same in both; only sums over integers take the
place of integrals. On a grid of s units to one noise scale, the sums differ from the integrals by a
relative O(1 / s) a release (for the smooth Gaussian tails in fact O(1 / s**2); for the Laplace law the half
lines differ by 1 / (2 s)). Noise here spans about 2**30 units, never below 2**20, so a relative `MARGIN` of
delta is kept for it: `calibrate` aims at delta * (1 - MARGIN), and `epsilon_of` and `delta_of` evaluate
there. The margin covers some 10,000 Laplace releases at 2**30 units (20 at 2**20), and far more Gaussian
ones; it is an allowance that was reasoned about and tested, not a theorem. Who wants theorems only takes
``calibrate_by("rdp", ...)``, at some 9 % more noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.event import check_number
from discreet.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from discreet.accounting.loss import loss_delta, loss_epsilon
from discreet.accounting.renyi import renyi_delta, renyi_epsilon
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.accounting.event import Event

__all__ = [
    "MARGIN",
    "calibrate",
    "check_budget",
    "delta_of",
    "epsilon_of",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "search_noise",
    "total_mu",
]

MARGIN = 1e-5
"""The part of delta that is kept for the difference between discrete and continuous noise."""

_STEPS = 60
_TIGHT = 2e-5
_EXACT_TERMS = 64


def check_budget(epsilon: object, delta: object) -> tuple[float, float]:
    """Both as floats, if they are a promise at all: epsilon > 0 (infinity allowed), 0 <= delta < 1."""
    remedy = "There is no default: epsilon and delta are yours to choose."
    if epsilon is None or delta is None:
        raise ParameterError("epsilon and delta must both be given", got=(epsilon, delta), remedy=remedy)
    size, chance = check_number("epsilon", epsilon), check_number("delta", delta)
    if size <= 0:
        raise ParameterError("epsilon is out of range", got=size, wanted="epsilon > 0", remedy=remedy)
    if not 0 <= chance < 1:
        raise ParameterError(
            "delta is out of range",
            got=chance,
            wanted="0 <= delta < 1",
            remedy="delta is a chance of failure: choose it far below one over the number of persons.",
        )
    return size, chance


def total_mu(events: Sequence[Event]) -> float:
    """The Gaussian privacy of the Gaussian events together; the others are left out."""
    square = math.fsum(
        event.count / event.noise / event.noise for event in events if event.mechanism == "gaussian"
    )
    return math.sqrt(square)


def epsilon_of(events: Sequence[Event], delta: float) -> float:
    """The epsilon that all these releases cost together at this delta; an upper bound, and tight."""
    events = tuple(events)
    if not events:
        return 0.0
    plain = _pure_part(events)
    gaussian = any(event.mechanism == "gaussian" for event in events)
    if delta <= 0:
        return math.inf if gaussian else plain
    delta *= 1 - MARGIN
    bound = plain + (gaussian_epsilon(total_mu(events), delta) if gaussian else 0.0)
    if gaussian and plain == 0:
        return bound
    return min(bound, renyi_epsilon(events, delta), loss_epsilon(events, delta))


def delta_of(events: Sequence[Event], epsilon: float) -> float:
    """The delta that all these releases cost together at this epsilon; an upper bound, and tight."""
    events = tuple(events)
    plain = _pure_part(events)
    mu = total_mu(events)
    if mu == 0 and plain <= epsilon:
        return 0.0
    bound = gaussian_delta(mu, epsilon - plain) if mu and plain <= epsilon else 1.0
    if plain > 0:
        bound = min(bound, renyi_delta(events, epsilon), loss_delta(events, epsilon))
    return min(1.0, bound / (1 - MARGIN))


def calibrate(shape: Sequence[Event], epsilon: float, delta: float) -> float:
    """The least factor by which the noises of ``shape`` must be multiplied to cost (epsilon, delta).

    **Costs** never a bit more than asked: ``epsilon_of([e.scaled(factor) ...], delta) <= epsilon`` is checked
    in the same floating-point numbers that are returned. For Gaussian plans the factor is exact to 1e-9, for
    others to 1e-4. Always ends after a bounded number of steps on grids of bounded size.
    """
    epsilon, delta = check_budget(epsilon, delta)
    events = _shape(shape, epsilon)
    gaussian = total_mu(events)
    plain = _pure_part(events)
    if delta == 0 and gaussian:
        raise ParameterError(
            "Gaussian noise cannot reach delta 0",
            got=delta,
            wanted="delta > 0, or Laplace noise only",
            remedy="Choose delta far below one over the number of persons, or a method with Laplace noise.",
        )

    def cost(factor: float) -> float:
        return epsilon_of([event.scaled(factor) for event in events], delta)

    if delta == 0:
        return _nudge(plain / epsilon, cost, epsilon)
    low = gaussian / gaussian_mu(epsilon, delta * (1 - MARGIN)) if gaussian else 0.0
    if plain == 0:
        return _nudge(low, cost, epsilon)
    least = max(low, _single(events, epsilon, delta))
    return _nudge(search_noise(cost, epsilon, least), cost, epsilon)


def search_noise(cost: Callable[[float], float], epsilon: float, guess: float) -> float:
    """A factor with cost(factor) <= epsilon, tight to 2e-5; the cost falls when the factor grows.

    Walks from the guess to a bracket, then takes secant steps in logarithms, kept inside the bracket; every
    step is one evaluation and their number is bounded.
    """
    low, high, above, below = _bracket(cost, epsilon, guess)
    for step in range(_STEPS):
        if high / low <= 1 + _TIGHT:
            break
        middle = math.sqrt(low * high)
        if step % 3 < 2 and math.isfinite(above) and 0 < below < above:
            share = math.log(above / epsilon) / math.log(above / below)
            trial = low * (high / low) ** share * (1 + _TIGHT / 3 if step % 3 == 0 else 1 - _TIGHT / 3)
            middle = trial if low < trial < high else middle
        value = cost(middle)
        if value <= epsilon:
            high, below = middle, value
        else:
            low, above = middle, value
    return high


def _bracket(
    cost: Callable[[float], float], epsilon: float, guess: float
) -> tuple[float, float, float, float]:
    """(low, high) with cost(low) > epsilon >= cost(high), and both costs."""
    value, trial, pace = cost(guess), guess, 1.25
    holds = value <= epsilon
    for _ in range(_STEPS):
        following = trial / pace if holds else trial * pace
        then = cost(following)
        if (then <= epsilon) != holds:
            return (following, trial, then, value) if holds else (trial, following, value, then)
        trial, value, pace = following, then, min(pace * pace, 1e6)
    raise ParameterError(
        "no amount of noise in reach costs this little", got=epsilon, wanted="a larger epsilon"
    )


def _single(events: Sequence[Event], epsilon: float, delta: float) -> float:
    """A factor that is surely needed: for one release of the smallest Laplace noise alone."""
    loss = max(1 / event.noise for event in events if event.mechanism == "laplace")
    return loss / (epsilon - 2 * math.log1p(-delta))


def _nudge(factor: float, cost: Callable[[float], float], epsilon: float) -> float:
    """Up by rounding-error steps until the promise holds in floating-point numbers as well."""
    step = 2.0**-52
    while cost(factor) > epsilon:
        factor *= 1 + step
        step *= 2
    return factor


def _pure_part(events: Sequence[Event]) -> float:
    """The sum of count / noise over Laplace events, exact, rounded up to the next double."""
    counts: dict[float, int] = {}
    for event in events:
        if event.mechanism == "laplace":
            counts[event.noise] = counts.get(event.noise, 0) + event.count
    if len(counts) > _EXACT_TERMS:  # the common denominator grows with every term: round each one up instead
        terms = (count * Fraction(2**1100) / Fraction(noise) for noise, count in counts.items())
        exact = Fraction(sum(math.ceil(term) for term in terms), 2**1100)
    else:
        exact = sum((count / Fraction(noise) for noise, count in counts.items()), Fraction(0))
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)


def _shape(shape: Sequence[Event], epsilon: float) -> tuple[Event, ...]:
    events = tuple(shape)
    if not events:
        raise ParameterError("there is nothing to calibrate", got=(), wanted="at least one event")
    if math.isinf(epsilon):
        raise ParameterError(
            "an infinite epsilon needs no noise",
            got=epsilon,
            wanted="a finite epsilon",
            remedy="Run the plain fit.",
        )
    return events

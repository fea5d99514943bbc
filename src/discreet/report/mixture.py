"""What a report of a mixture is made of: the released mixture, and where its rows were declared to lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.paper import Paper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.models.mixture import Mixture

__all__ = ["MixturePaper"]

_LATITUDE = re.compile(r"(^|[^a-z])(lat|latitude)$")
_LONGITUDE = re.compile(r"(^|[^a-z])(lon|lng|long|longitude)$")


@dataclass(frozen=True, kw_only=True)
class MixturePaper(Paper):
    """Everything a report of a mixture may show."""

    columns: tuple[str, ...]
    mixture: Mixture
    region: Region

    @property
    def declared(self) -> bool:
        """Whether the region was declared, and not seen in the rows (as plain fits may do)."""
        return any(fact.startswith("the region") for fact in self.guarantee.declared)

    @property
    def order(self) -> NDArray[np.intp]:
        """Components from the heaviest to the lightest; each keeps the number it has in the tensors."""
        return np.argsort(-self.mixture.weights, kind="stable")

    @cached_property
    def earth(self) -> tuple[int, int] | None:
        """Which columns are longitude and latitude, if one of each is."""
        names = [name.lower() for name in self.columns]
        east = [index for index, name in enumerate(names) if _LONGITUDE.search(name)]
        north = [index for index, name in enumerate(names) if _LATITUDE.search(name)]
        if len(east) != 1 or len(north) != 1:
            return None
        south, top = self.limits(north[0])
        return (east[0], north[0]) if -90 <= south < top <= 90 else None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The columns to draw against each other, as (across, up): all pairs of up to four columns."""
        earth = self.earth
        if len(self.columns) > 4:
            return [earth or (0, 1)]
        pairs = [(i, j) for i in range(len(self.columns)) for j in range(i + 1, len(self.columns))]
        if earth is None:
            return pairs
        return [earth, *(pair for pair in pairs if set(pair) != set(earth))]

    def to_dict(self) -> dict[str, Any]:
        """The model and its guarantee as plain data; components in the order of the tensors."""
        mixture = self.mixture
        return {
            "columns": list(self.columns),
            "region": self.region.to_dict(),
            "components": [
                {
                    "number": index,
                    "weight": float(mixture.weights[index]),
                    "mean": mixture.means[index].tolist(),
                    "deviations": self.deviations(index).tolist(),
                    "covariance": mixture.covariances[index].tolist(),
                }
                for index in range(len(mixture.weights))
            ],
            **super().to_dict(),
        }

    def limits(self, column: int) -> tuple[float, float]:
        """Where a column was declared to lie."""
        middle, half = float(self.region.center[column]), float(self.region.scale[column])
        return middle - half, middle + half

    def deviations(self, component: int) -> NDArray[np.float64]:
        """The standard deviation of a component along each column."""
        return np.sqrt(np.diagonal(self.mixture.covariances[component]))

    def show(self, value: float, column: int) -> str:
        """A value of a column with the digits that its declared range deserves."""
        digits = 3 - int(np.floor(np.log10(2 * float(self.region.scale[column]))))
        return f"{value:,.{max(0, digits)}f}" if -6 < digits < 12 else f"{value:.5g}"

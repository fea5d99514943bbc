"""Gaussian emissions with diagonal, full, tied or spherical covariances.

What the M-step needs are sums of [1, x, products of coordinates of x]. For diagonal covariances the density's
logarithm is linear in the same features, so the E-step is one product of matrices before the walk and one
after it; for full ones L^-1 (x - m) for all states at once, with C = L L', is one product, and cheaper. Rows
are seen through a *lens*, (x - center) / scale, which stays the same over a fit, so that data far from the
origin lose no digits.

Covariances have the shapes hmmlearn takes: diag (N, d), full (N, d, d), tied (d, d), spherical (N,).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.emission import Evidence, relative
from discreet.models.moments import COVARIANCE_TYPES, CovarianceType, Frame, Pairs
from discreet.models.room import FRESH, Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["Gaussian", "Lens", "check_covariances", "lift", "unpack_covariances"]

_room = Room()
_BLOCK = 1024  # rows at a time, times states times coordinates: some of it must stay in the cache
_REACH = 10.0  # how far from the centre, in units of the lens, rows are expected
_LOST = 1e-9  # absolute error of a logarithm


@dataclass(frozen=True)
class Lens:
    """Unit coordinates u = (x - center) / scale, (d,) each."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian:
    """Means (N, d) and covariances in the shape of their type; no variance is below a floor.

    ``held_means`` and ``held_covariances`` (N,) say which states keep theirs in every fit.
    """

    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    kind: CovarianceType
    lens: Lens
    floor: float = 1e-12
    held_means: NDArray[np.bool_] | None = None
    held_covariances: NDArray[np.bool_] | None = None

    @staticmethod
    def of(
        means: NDArray[np.float64], covariances: NDArray[np.float64], kind: CovarianceType, **more: Any
    ) -> Gaussian:
        """With a lens of its own: the centre and the spread of the model itself."""
        spread = (
            np.einsum("kii->ki", unpack_covariances(covariances, means, kind)) + (means - means.mean(0)) ** 2
        )
        return Gaussian(
            means, covariances, kind, Lens(means.mean(axis=0), np.sqrt(spread.mean(axis=0))), **more
        )

    def __post_init__(self) -> None:
        states, dimension = self.means.shape
        if self.kind not in COVARIANCE_TYPES:
            raise ParameterError(
                "no such covariance type", got=self.kind, wanted=" or ".join(COVARIANCE_TYPES)
            )
        shape = _shape(self.kind, states, dimension)
        if self.covariances.shape != shape:
            raise ParameterError(
                "the covariances have another shape", got=self.covariances.shape, wanted=str(shape)
            )

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.means)

    @property
    def dimension(self) -> int:
        """How many numbers a row has."""
        return self.means.shape[1]

    @property
    def pairs(self) -> Pairs:
        """The products of coordinates that are features."""
        return Pairs.of(self.kind, self.dimension)

    def view(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows in unit coordinates, one a column, under a line of ones; squares too where they are enough."""
        dimension, squares = self.dimension, self.kind in ("diag", "spherical")
        view = np.empty((1 + dimension * (1 + squares), len(rows)))
        view[0] = 1
        unit = view[1 : 1 + dimension]
        np.subtract(rows.T, self.lens.center[:, None], out=unit)
        unit *= (1 / self.lens.scale)[:, None]
        if squares:
            np.multiply(unit, unit, out=view[1 + dimension :])
        return view

    def evidence(self, view: NDArray[Any], room: Room = FRESH) -> Evidence:
        """Likelihoods over the largest of each row."""
        return relative(self.log_density(view, room))

    def log_density(self, view: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """log N(row | state), (N, F)."""
        if self.kind in ("diag", "spherical") and self._slopes is not None:
            return np.matmul(self._slopes, view, out=room.take("logs", self.states, view.shape[1]))
        logs = room.take("logs", self.states, view.shape[1])
        for part in _parts(view.shape[1]):
            self._log_whitened(view[1 : 1 + self.dimension, part], logs[:, part])
        return logs

    def log_density_of(self, rows: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """The same of rows (F, d) that are looked at only once: what is made of them stays in the cache."""
        logs = room.take("logs", self.states, len(rows))
        slopes = self._slopes if self.kind in ("diag", "spherical") else None
        for part in _parts(len(rows)):
            block = rows[part]
            unit = np.subtract(block, self.lens.center, out=_room.take("unit", *block.shape))
            unit *= 1 / self.lens.scale
            if slopes is None:
                self._log_whitened(unit.T, logs[:, part])
                continue
            here = np.matmul(slopes[:, 1 : 1 + self.dimension], unit.T, out=logs[:, part])
            np.multiply(unit, unit, out=unit)
            here += slopes[:, 1 + self.dimension :] @ unit.T
            here += slopes[:, :1]
        return logs

    def sums(self, view: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of shares times [1, u, products of u], (N, 1 + d + pairs), in unit coordinates."""
        if self.kind in ("diag", "spherical"):
            return shares @ view.T
        size = len(view)
        square = np.zeros((self.states * size, size))
        for part in _parts(view.shape[1]):
            weighted = view[:, part] * shares[:, None, part]
            square += weighted.reshape(len(square), -1) @ view[:, part].T
        square = square.reshape(self.states, size, size)
        return np.concatenate([square[:, 0], self.pairs.pack(square[:, 1:, 1:])], axis=1)

    def sums_by_sequence(
        self, view: NDArray[Any], shares: NDArray[np.float64], pack: Pack
    ) -> NDArray[np.float64]:
        """The same for each sequence, (S, N, 1 + d + pairs)."""
        size = 1 + self.dimension + len(self.pairs.rows)
        sums = np.empty((len(pack.lengths), self.states, size))
        for column in range(size):
            feature = self._feature(view, column)
            sums[:, :, column] = pack.sum_sequences(shares * feature).T
        return sums

    def maximise(self, sums: NDArray[np.float64]) -> Gaussian:
        """Means and covariances of the shares; states without any keep theirs, the floor holds for all."""
        counts = sums[:, 0]
        safe = np.where(counts > 0, counts, 1.0)[:, None]
        means = sums[:, 1 : 1 + self.dimension] / safe
        moved = self.lens.center + self.lens.scale * means
        moved = np.where((counts > 0)[:, None], moved, self.means)
        if self.held_means is not None:
            moved = np.where(self.held_means[:, None], self.means, moved)
        covariances = self._spread(sums, (moved - self.lens.center) / self.lens.scale)
        return replace(self, means=moved, covariances=covariances)

    def sample(self, states: NDArray[np.intp], generator: Generator) -> NDArray[Any]:
        """One row for each state, (F, d)."""
        normals = generator.standard_normal((len(states), self.dimension))
        roots = np.linalg.cholesky(unpack_covariances(self.covariances, self.means, self.kind))
        for state, root in enumerate(roots):
            here = states == state
            normals[here] = self.means[state] + normals[here] @ root.T
        return normals

    def _spread(self, sums: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Covariances of the shares around these means (unit coordinates), in the coordinates of the data."""
        counts, first = sums[:, 0], sums[:, 1 : 1 + self.dimension]
        second = self.pairs.unpack(sums[:, 1 + self.dimension :])
        cross = np.einsum("ki,kj->kij", first, means)
        square = np.einsum("ki,kj->kij", means, means) * counts[:, None, None]
        spread = (second - cross - cross.transpose(0, 2, 1) + square) * np.outer(
            self.lens.scale, self.lens.scale
        )
        if self.kind == "tied":
            pooled = spread.sum(axis=0) / max(counts.sum(), 1e-300)
            held = self.held_covariances is not None and bool(self.held_covariances.any())
            return self.covariances if held or counts.sum() <= 0 else lift(pooled[None], self.floor)[0]
        full = spread / np.where(counts > 0, counts, 1.0)[:, None, None]
        keep = counts <= 0
        if self.held_covariances is not None:
            keep = keep | self.held_covariances
        return self._pack(full, keep)

    def _pack(self, full: NDArray[np.float64], keep: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self.kind == "full":
            return np.where(keep[:, None, None], self.covariances, lift(full, self.floor, keep))
        variances = np.einsum("kii->ki", full)
        if self.kind == "diag":
            return np.where(keep[:, None], self.covariances, np.maximum(variances, self.floor))
        return np.where(keep, self.covariances, np.maximum(variances.mean(axis=1), self.floor))

    def _feature(self, view: NDArray[Any], column: int) -> NDArray[np.float64]:
        if column < len(view):
            return view[column]
        pair = column - 1 - self.dimension
        return view[1 + self.pairs.rows[pair]] * view[1 + self.pairs.columns[pair]]

    def _log_whitened(self, unit: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """log densities (N, n) of points (d, n) in unit coordinates, by what each state sees of them."""
        whiten, shift, constants = self._whiten
        white = np.matmul(whiten, unit, out=_room.take("white", len(whiten), unit.shape[1]))
        white += shift
        np.multiply(white, white, out=white)
        np.add.reduce(white.reshape(self.states, self.dimension, -1), axis=1, out=out)
        out *= -0.5
        out += constants

    @cached_property
    def _frame(self) -> Frame:
        """Means and roots of covariances in unit coordinates."""
        means = (self.means - self.lens.center) / self.lens.scale
        covariances = unpack_covariances(self.covariances, self.means, self.kind)
        unit = covariances / np.outer(self.lens.scale, self.lens.scale)
        return Frame.of(np.ones(self.states), means, unit)

    @cached_property
    def _slopes(self) -> NDArray[np.float64] | None:
        """log density = slopes . [1, u, u^2]; nothing where so many digits would cancel that it matters."""
        means = (self.means - self.lens.center) / self.lens.scale
        each = self.covariances if self.kind == "diag" else self.covariances[:, None]
        precisions = self.lens.scale**2 / each
        if (precisions * (_REACH + np.abs(means)) ** 2).max() * 2.0**-52 > _LOST:
            return None
        linear = precisions * means
        constants = np.log(precisions / (2 * np.pi * self.lens.scale**2)) - linear * means
        return np.concatenate([constants.sum(axis=1)[:, None] / 2, linear, precisions / -2], axis=1)

    @cached_property
    def _whiten(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """What makes of points what each state sees as a standard normal: (N d, d), (N d, 1); and (N, 1)."""
        frame = self._frame
        shift = -np.einsum("kij,kj->ki", frame.inverses, frame.means)
        volume = np.log(np.einsum("kii->ki", frame.roots)).sum(axis=1) + np.log(self.lens.scale).sum()
        constants = -volume - self.dimension / 2 * np.log(2 * np.pi)
        whiten = np.ascontiguousarray(frame.inverses.reshape(-1, self.dimension))
        return whiten, shift.reshape(-1, 1), constants[:, None]


def unpack_covariances(
    packed: NDArray[np.float64], means: NDArray[np.float64], kind: str
) -> NDArray[np.float64]:
    """Full (N, d, d) covariances from the shape of their type."""
    states, dimension = means.shape
    if kind == "full":
        return packed
    if kind == "tied":
        return np.repeat(packed[None], states, axis=0)
    if kind == "diag":
        return packed[:, :, None] * np.eye(dimension)
    return packed[:, None, None] * np.eye(dimension)


def _shape(kind: str, states: int, dimension: int) -> tuple[int, ...]:
    return {
        "diag": (states, dimension),
        "full": (states, dimension, dimension),
        "tied": (dimension, dimension),
        "spherical": (states,),
    }[kind]


def _parts(columns: int) -> Iterator[slice]:
    """Columns in parts that stay in the cache."""
    for start in range(0, columns, _BLOCK):
        yield slice(start, start + _BLOCK)


def lift(
    matrices: NDArray[np.float64], floor: float, keep: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The matrices with no eigenvalue below the floor: the most likely ones that keep to it."""
    lifted = matrices.copy()
    for index, matrix in enumerate(lifted):
        if keep is not None and keep[index]:
            continue
        try:
            np.linalg.cholesky(matrix - floor * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            values, axes = np.linalg.eigh(matrix)
            lifted[index] = (axes * np.maximum(values, floor * (1 + 1e-9))) @ axes.T
    return lifted


def check_covariances(covariances: NDArray[np.float64], kind: str) -> None:
    """Refuse covariances that are not symmetric and positive definite."""
    if kind in ("diag", "spherical"):
        good = bool((covariances > 0).all())
    else:
        good = np.allclose(covariances, covariances.swapaxes(-1, -2), rtol=1e-6)
        good = good and bool((np.linalg.eigvalsh(covariances) > 0).all())
    if not good:
        raise ParameterError("a covariance is not symmetric and positive definite")

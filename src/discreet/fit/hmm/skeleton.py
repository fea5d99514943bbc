"""The skeleton of a model: where a fit starts, which steps can be at all, and which entries are held fixed.

A skeleton is a dictionary, or JSON (a file, or its text) with the same keys: startprob, transmat, and
emissionprob or means, covars and weights, in hmmlearn's shapes. Any of them may be left out. It is public: it
is declared, not fitted, and nothing about it is protected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.chain import Chain, check_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["STAY", "Skeleton", "left_right", "read_skeleton", "uniform"]

STAY = 0.8
"""Where a left-right chain starts without a skeleton: the probability to stay in a state."""


@dataclass(frozen=True)
class Skeleton:
    """Declared parameters by name, and for some of them masks of the entries that are held fixed."""

    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict[str, "NDArray[np.float64]"])
    fixed: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict[str, "NDArray[np.bool_]"])

    def chain(self, states: int, topology: str | None) -> Chain:
        """Start and transitions: declared, or those of the topology, or all alike."""
        default = left_right(states) if topology == "left-right" else uniform(states)
        chain = Chain(
            self.values.get("startprob", default.start), self.values.get("transmat", default.transition)
        )
        if topology == "left-right" and np.tril(chain.transition, -1).any():
            raise ParameterError(
                "the skeleton steps back, which a left-right topology forbids",
                wanted="zeros below the diagonal of transmat",
            )
        return chain


def read_skeleton(
    source: Mapping[str, Any] | str | Path | None,
    fixed: Mapping[str, Any] | None,
    shapes: Mapping[str, tuple[int | None, ...]],
    masks: Mapping[str, tuple[int, ...]],
) -> Skeleton:
    """The skeleton and its fixed entries, checked against the wanted shapes; None stands for any number."""
    plain = _read(source)
    if unknown := set(plain) - set(shapes):
        raise ParameterError(
            "the skeleton has parts that the model has not",
            got=", ".join(sorted(map(str, unknown))),
            wanted="some of " + ", ".join(shapes),
        )
    values = {name: _array(name, value, shapes[name]) for name, value in plain.items() if value is not None}
    for name in {"startprob", "transmat", "emissionprob", "weights"} & set(values):
        check_rows(name, values[name])
    return Skeleton(values, _masks(fixed or {}, values, masks))


def left_right(states: int) -> Chain:
    """From the first state on, stay or go to the next; the last is never left."""
    transition = np.diag(np.full(states, STAY)) + np.diag(np.full(states - 1, 1 - STAY), 1)
    transition[-1, -1] = 1
    return Chain(np.eye(states)[0], transition)


def uniform(states: int) -> Chain:
    """All steps alike."""
    return Chain(np.full(states, 1 / states), np.full((states, states), 1 / states))


def _read(source: Mapping[str, Any] | str | Path | None) -> dict[str, Any]:
    if source is None:
        return {}
    if not isinstance(source, str | Path):
        if not hasattr(source, "items"):
            raise ParameterError("the skeleton is neither a dictionary nor a file", got=type(source).__name__)
        return dict(source)
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    try:
        plain = json.loads(text or Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"the skeleton cannot be read: {error.strerror}", got=str(source)) from None
    except ValueError:
        raise ParameterError("the skeleton is not JSON", got=str(source) if text is None else None) from None
    if not isinstance(plain, dict):
        raise ParameterError("the skeleton is not a JSON object", got=type(plain).__name__)
    named: dict[str, Any] = plain
    return {name: value for name, value in named.items() if name not in ("kind", "covariance_type")}


def _array(name: str, value: Any, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} of the skeleton is not made of numbers") from None
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise ParameterError(f"{name} of the skeleton has another shape", got=array.shape, wanted=wanted)
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} of the skeleton has values that are not finite")
    return array


def _masks(
    fixed: Mapping[str, Any], values: Mapping[str, NDArray[np.float64]], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[np.bool_]]:
    masks: dict[str, NDArray[np.bool_]] = {}
    for name, entries in fixed.items():
        if name not in shapes:
            raise ParameterError("fixed names no part of the model", got=name, wanted=", ".join(shapes))
        if name not in values:
            raise ParameterError(
                f"fixed entries of {name} need values", remedy=f"Give {name} in the skeleton as well."
            )
        mask = np.asarray(entries)
        if mask.dtype != np.bool_ or mask.shape not in ((), shapes[name]):
            raise ParameterError(
                f"fixed entries of {name} are not a mask",
                got=f"{mask.dtype} {mask.shape}",
                wanted=f"True, or an array of booleans {shapes[name]}",
            )
        masks[name] = np.broadcast_to(mask, shapes[name]).copy()
    return masks

"""How a hidden Markov model is written down as JSON, by hmmlearn's names and in its shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["from_json", "to_json"]

Tensors = dict[str, "NDArray[np.float64]"]


def to_json(tensors: Mapping[str, NDArray[np.float64]], kind: str, covariance_type: str | None) -> str:
    """The parameters as JSON, exactly; the same text serves as a skeleton."""
    plain: dict[str, Any] = {"kind": kind}
    if covariance_type is not None:
        plain["covariance_type"] = covariance_type
    plain |= {name: value.tolist() for name, value in tensors.items()}
    return json.dumps(plain, allow_nan=False)


def from_json(text: str, kind: str) -> tuple[Tensors, str | None]:
    """Read back what `to_json` wrote."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, dict) or plain.pop("kind") != kind:
            raise BundleError("this is another kind of model", wanted=kind)
        named: dict[str, Any] = plain
        covariance_type = named.pop("covariance_type", None)
        return {name: np.array(value, dtype=np.float64) for name, value in named.items()}, covariance_type
    except (ValueError, TypeError, KeyError):
        raise BundleError("this is not a model written as JSON", wanted=kind) from None

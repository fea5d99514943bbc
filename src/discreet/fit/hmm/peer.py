"""To and from hmmlearn's models: parameters only, no training data, no likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["from_peer", "to_peer"]

_FAMILIES = {"CategoricalHMM": "categorical", "GaussianHMM": "gaussian", "GMMHMM": "gaussian"}


def to_peer(tensors: Mapping[str, NDArray[np.float64]], covariance_type: str | None) -> Any:
    """An hmmlearn model with these parameters, ready to score."""
    hmm = _hmmlearn()
    states = len(tensors["startprob"])
    if "emissionprob" in tensors:
        peer = hmm.CategoricalHMM(states, init_params="", n_features=tensors["emissionprob"].shape[1])
    elif "weights" in tensors:
        size = tensors["weights"].shape[1]
        peer = hmm.GMMHMM(states, n_mix=size, covariance_type=covariance_type, init_params="")
        peer.n_features = tensors["means"].shape[-1]
    else:
        peer = hmm.GaussianHMM(states, covariance_type=covariance_type, init_params="")
        peer.n_features = tensors["means"].shape[-1]
    for name, value in tensors.items():
        setattr(peer, f"{name}_", value.copy())
    return peer


def from_peer(peer: Any, family: str) -> tuple[dict[str, NDArray[np.float64]], str | None]:
    """The parameters of a fitted hmmlearn model, and its covariance type."""
    kind = type(peer).__name__
    if _FAMILIES.get(kind) != family:
        wanted = " or ".join(name for name, one in _FAMILIES.items() if one == family)
        raise ParameterError("this is another kind of model", got=kind, wanted=f"hmmlearn's {wanted}")
    names = ["startprob", "transmat"]
    names += ["emissionprob"] if family == "categorical" else ["means"]
    names += ["weights", "covars"] if kind == "GMMHMM" else []
    if missing := [name for name in names if not hasattr(peer, f"{name}_")]:
        raise ParameterError("the hmmlearn model is not fitted", got=f"no {', '.join(missing)}")
    tensors = {name: np.array(getattr(peer, f"{name}_"), dtype=np.float64) for name in names}
    if family == "categorical":
        return tensors, None
    if kind == "GaussianHMM":  # its property covars_ always returns full matrices
        tensors["covars"] = _packed(np.array(peer._covars_, dtype=np.float64), peer.covariance_type)
    return tensors, str(peer.covariance_type)


def _packed(covars: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """Spherical variances are kept once a state, or once a column after a fit."""
    return covars.reshape(len(covars), -1).mean(axis=1) if kind == "spherical" else covars


def _hmmlearn() -> Any:
    try:
        from hmmlearn import hmm  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise RequestError("hmmlearn is not here", remedy="Install it with `pip install hmmlearn`.") from None
    return hmm

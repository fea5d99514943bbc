"""The parameters of a hidden Markov model by hmmlearn's names and in its shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian, check_covariances
from discreet.models.hmm import HMM
from discreet.models.moments import COVARIANCE_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["model_of", "tensors_of"]

Tensors = dict[str, "NDArray[np.float64]"]


def tensors_of(model: HMM) -> Tensors:
    """The parameters by hmmlearn's names, in the shapes that its attributes take."""
    tensors: Tensors = {"startprob": model.chain.start, "transmat": model.chain.transition}
    emission: Any = model.emission
    if isinstance(emission, Categorical):
        return tensors | {"emissionprob": emission.probabilities}
    if isinstance(emission, Blend):
        return tensors | {"weights": emission.weights} | _blend_tensors(emission)
    return tensors | {"means": emission.means, "covars": emission.covariances}


def model_of(tensors: Mapping[str, NDArray[np.float64]], covariance_type: Any = "diag") -> HMM:
    """The model with these parameters; they are checked."""
    chain = Chain(tensors["startprob"], tensors["transmat"])
    if "emissionprob" in tensors:
        return HMM(chain, Categorical(tensors["emissionprob"]))
    if covariance_type not in COVARIANCE_TYPES:
        raise ParameterError("there is no such covariance_type", got=covariance_type)
    means, covars = tensors["means"], tensors["covars"]
    check_covariances(covars, covariance_type)
    if "weights" not in tensors:
        return HMM(chain, Gaussian.of(means, covars, covariance_type))
    states, size, dimension = means.shape
    tied = covariance_type == "tied"
    each = np.repeat(covars, size, axis=0) if tied else covars.reshape(states * size, *covars.shape[2:])
    components = Gaussian.of(means.reshape(-1, dimension), each, "full" if tied else covariance_type)
    return HMM(chain, Blend(tensors["weights"], components, tied))


def _blend_tensors(emission: Blend) -> Tensors:
    components, (states, size) = emission.components, emission.weights.shape
    each = components.covariances.reshape(states, size, *components.covariances.shape[1:])
    means = components.means.reshape(states, size, -1)
    return {"means": means, "covars": each[:, 0] if emission.tied else each}

"""How a mixture is written down: covariances by type, and the model card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BundleError
from discreet.fit.mixture.request import LARGEST
from discreet.models.mixture import Mixture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.bundle import Bundle

__all__ = [
    "pack_covariances",
    "precision_roots",
    "read_description",
    "read_mixture",
    "unpack_covariances",
    "write_card",
]


_PARAMETERS = ("n_components", "covariance_type", "method", "rounds")


def pack_covariances(covariances: NDArray[np.float64], covariance_type: str) -> NDArray[np.float64]:
    """Full (K, d, d) covariances in the shape that scikit-learn uses for the type."""
    if covariance_type == "tied":
        return covariances[0].copy()
    if covariance_type == "diag":
        return np.einsum("kii->ki", covariances).copy()
    if covariance_type == "spherical":
        return np.einsum("kii->k", covariances) / covariances.shape[1]
    return covariances


def unpack_covariances(
    packed: NDArray[np.float64], means: NDArray[np.float64], covariance_type: str
) -> NDArray[np.float64]:
    """Full (K, d, d) covariances from the shape that scikit-learn uses."""
    components, dimension = means.shape
    if covariance_type == "tied":
        return np.repeat(packed[None], components, axis=0)
    if covariance_type == "diag":
        return packed[:, :, None] * np.eye(dimension)
    if covariance_type == "spherical":
        return packed[:, None, None] * np.eye(dimension)
    return packed


def read_mixture(bundle: Bundle) -> Mixture:
    """The mixture in a bundle that may come from strangers: checked before memory is taken for it."""
    tensors, described = bundle.tensors, bundle.description
    try:
        weights, means, packed = (tensors[name] for name in ("weights", "means", "covariances"))
        kind, columns = described["parameters"]["covariance_type"], len(described["domain"]["columns"])
        wanted = _shapes(weights.size, columns)[kind]
    except (KeyError, TypeError):
        raise BundleError("the description of the released model is damaged") from None
    if (weights.ndim, means.shape, packed.shape) != (1, (weights.size, columns), wanted):
        raise BundleError("the tensors do not fit the description of the released model")
    if weights.size * (1 + columns) ** 2 > LARGEST:
        raise BundleError("the released model does not fit into memory")
    full = unpack_covariances(packed, means, kind)
    try:
        np.linalg.cholesky(full)
    except np.linalg.LinAlgError:
        raise BundleError("a covariance of the released model is not positive definite") from None
    if weights.size == 0 or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-6:
        raise BundleError("the weights of the released model do not sum to one")
    return Mixture(weights, means, full)


def read_description(bundle: Bundle) -> tuple[Mapping[str, Any], Guarantee]:
    """How the mixture in a bundle was fitted, and what was promised."""
    from discreet.accounting.guarantee import Guarantee

    try:
        parameters = bundle.description["parameters"]
        promised = Guarantee.from_dict(bundle.description["guarantee"])
        return {name: parameters[name] for name in _PARAMETERS}, promised
    except (KeyError, TypeError, ValueError):
        raise BundleError("the description of the released model is damaged") from None


def _shapes(components: int, columns: int) -> dict[str, tuple[int, ...]]:
    """The shape of the covariances of each type, as scikit-learn has them."""
    return {
        "full": (components, columns, columns),
        "tied": (columns, columns),
        "diag": (components, columns),
        "spherical": (components,),
    }


def precision_roots(mixture: Mixture, covariance_type: str) -> NDArray[np.float64]:
    """What scikit-learn keeps beside covariances: upper roots of their inverses."""
    roots = np.linalg.cholesky(mixture.covariances)
    identity = np.broadcast_to(np.eye(mixture.dimension), roots.shape)
    full = np.asarray(np.linalg.solve(roots, identity).transpose(0, 2, 1), dtype=np.float64)
    if covariance_type == "tied":
        return full[0]
    if covariance_type == "diag":
        return np.einsum("kii->ki", full).copy()
    return full[:, 0, 0] if covariance_type == "spherical" else full


def write_card(description: Mapping[str, Any], guarantee: Guarantee, digest: str) -> str:
    """The model card, in Markdown: what it is, what it promises, how to load it."""
    parameters, domain = description["parameters"], description["domain"]
    columns = ", ".join(f"`{_plain(name)}`" for name in domain["columns"])
    return f"""# A Gaussian mixture

{parameters["n_components"]} components, {parameters["covariance_type"]} covariances, over {columns}.
Fitted by discreet, method `{parameters["method"]}`, {parameters["rounds"]} rounds.

## Guarantee

**{guarantee.summary()}**

{_paragraphs(guarantee.words())}

## Intended use

Densities, clusters and samples of the population behind the rows. Do not read single components as facts
about single persons: with noise, a small component may stand for nobody at all.

## Loading

```python
from discreet.fit import GaussianMixture

model = GaussianMixture.load("this-folder")
model.to_sklearn()  # a scikit-learn mixture
```

Without discreet:

```python
from safetensors.numpy import load_file

tensors = load_file("this-folder/model.safetensors")  # weights, means, covariances
```

SHA-256 of the tensors: `{digest}`
"""


def _plain(name: str) -> str:
    """Words, in which the name of a column cannot pass for Markdown or HTML."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)


def _paragraphs(words: str) -> str:
    return "\n\n".join(map(_plain, words.splitlines()))

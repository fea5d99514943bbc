"""How a mixture is written down: covariances by type, and the model card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.models.mixture import Mixture

__all__ = ["pack_covariances", "precision_roots", "unpack_covariances", "write_card"]


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
    """A column name that cannot pass for Markdown."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)


def _paragraphs(words: str) -> str:
    return "\n\n".join(words.splitlines())

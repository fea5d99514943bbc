"""The papers of a network: its tensors, its description, its model card, and reading them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import Guarantee
from discreet.errors import BundleError, RequestError
from discreet.models.network import Network
from discreet.models.structure import Structure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from discreet.bundle import Bundle

__all__ = [
    "CPT",
    "JOINT",
    "KIND",
    "describe",
    "read_description",
    "read_joint",
    "read_network",
    "tensors_of",
    "write_card",
]

KIND, JOINT = "bayesian-network", "joint-network"
"""What bundles call a network that was fitted here, and one that parties fitted together."""

CPT = "cpt/"
"""Before the name of a node: the tensor of its table in the bundle of a joint network."""

_PARAMETERS = ("method", "prior", "families", "cells", "sigma")


def tensors_of(network: Network) -> dict[str, NDArray[np.float64]]:
    """The tables by the place of their node: names of nodes are not fit for names of tensors."""
    return {f"table.{place}": network.tables[node] for place, node in enumerate(network.structure.nodes)}


def describe(network: Network, guarantee: Guarantee, receipt: Mapping[str, Any]) -> dict[str, Any]:
    """What model.json says: the structure, how the tables were fitted, and what was promised."""
    return {
        "parameters": {name: receipt[name] for name in _PARAMETERS},
        "structure": network.structure.to_dict(),
        "domain": receipt["domain"],
        "guarantee": guarantee.to_dict(),
    }


def read_network(bundle: Bundle) -> Network:
    """The network in a bundle that may come from strangers: checked before memory is taken for it."""
    joint = bundle.kind == JOINT
    try:
        structure = Structure.of(bundle.description["structure"])
        names = {CPT + node if joint else f"table.{at}": node for at, node in enumerate(structure.nodes)}
        if set(names) != {name for name in bundle.tensors if not joint or name.startswith(CPT)}:
            raise BundleError("the tensors do not fit the description of the released model")
        return Network(structure, {node: bundle.tensors[name] for name, node in names.items()})
    except (RequestError, KeyError, TypeError, AttributeError):
        raise BundleError("the tensors do not fit the description of the released model") from None


def read_description(bundle: Bundle) -> tuple[dict[str, Any], dict[str, Any], Guarantee]:
    """The parameters, the domain and the promise in a bundle that may come from strangers."""
    described = bundle.description
    try:
        parameters = {name: described["parameters"][name] for name in _PARAMETERS}
        return parameters, dict(described["domain"]), Guarantee.from_dict(described["guarantee"])
    except (KeyError, TypeError, ValueError):
        raise BundleError("the description of the released model is damaged") from None


def read_joint(bundle: Bundle) -> tuple[float, Guarantee]:
    """The prior and the promise in the bundle of a joint network that may come from strangers."""
    try:
        prior = float(bundle.receipt["plan"]["agreed"]["release"]["prior"])
        return prior, Guarantee.from_dict(bundle.description["guarantee"])
    except (KeyError, TypeError, ValueError):
        raise BundleError("the description of the released model is damaged") from None


def write_card(description: Mapping[str, Any], guarantee: Guarantee, digest: str) -> str:
    """The model card, in Markdown: what it is, what it promises, how to load it."""
    parameters, columns = description["parameters"], description["domain"]["columns"]
    shown = ", ".join(f"`{_plain(name)}`" for name in columns[:40]) + (", ..." if len(columns) > 40 else "")
    words = "\n\n".join(_plain(line) for line in guarantee.words().splitlines())
    noise = "" if parameters["sigma"] is None else f", noise of {parameters['sigma']:.4g} in each count"
    return f"""# A Bayesian network

{len(columns)} nodes: {shown}.
Fitted by discreet, method `{parameters["method"]}`: {parameters["families"]} tables of
{parameters["cells"]:,} cells in all{noise}; prior {parameters["prior"]:g}.

## Guarantee

**{guarantee.summary()}**

{words}

## Intended use

Probabilities, queries and samples of the population behind the rows. Rows of a table for configurations that
few people have are mostly prior and noise: do not read them as facts about those people.

## Loading

```python
from discreet.fit import BayesianNetwork

model = BayesianNetwork.load("this-folder")
model.cpt("node"), model.query(["node"], {{"other": "state"}}), model.sample(1000)
```

Without discreet: the file network.bif holds the same tables, for pgmpy, bnlearn, pyAgrum and others.

SHA-256 of the tensors: `{digest}`
"""


def _plain(name: str) -> str:
    """Words, in which the name of a column cannot pass for Markdown or HTML."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)

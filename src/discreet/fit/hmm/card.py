"""The papers of a hidden Markov model: its description, its model card, and reading both back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import Guarantee
from discreet.errors import BundleError, RequestError
from discreet.models.parameters import model_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.bundle import Bundle
    from discreet.models.hmm import HMM

__all__ = ["KINDS", "describe", "read_description", "read_model", "write_card"]

KINDS = ("categorical-hmm", "gaussian-hmm")

_PARAMETERS = ("n_states", "emissions", "covariance_type", "method", "rounds")
_LARGEST = 2**25


def describe(
    tensors: Mapping[str, NDArray[Any]],
    emissions: str,
    covariance_type: str | None,
    guarantee: Guarantee,
    receipt: Mapping[str, Any],
) -> dict[str, Any]:
    """What model.json says: how the model was fitted, to what, and what was promised."""
    return {
        "parameters": {
            "n_states": len(tensors["startprob"]),
            "emissions": emissions,
            "covariance_type": covariance_type,
            "method": receipt["method"],
            "rounds": receipt["rounds"],
        },
        "domain": receipt["domain"],
        "tensor_names": sorted(tensors),
        "guarantee": guarantee.to_dict(),
    }


def read_description(bundle: Bundle) -> tuple[dict[str, Any], dict[str, Any], Guarantee]:
    """The parameters, the domain and the promise in a bundle that may come from strangers."""
    described = bundle.description
    try:
        parameters = {name: described["parameters"][name] for name in _PARAMETERS}
        return parameters, dict(described["domain"]), Guarantee.from_dict(described["guarantee"])
    except (KeyError, TypeError, ValueError):
        raise BundleError("the description of the released model is damaged") from None


def read_model(bundle: Bundle) -> HMM:
    """The model in a bundle that may come from strangers: checked before memory is taken for it."""
    parameters, tensors = read_description(bundle)[0], dict(bundle.tensors)
    width = tensors["means"].shape[-1] if "means" in tensors and tensors["means"].ndim else 1
    if sum(tensor.size for tensor in tensors.values()) * width > _LARGEST:
        raise BundleError("the released model does not fit into memory")
    try:
        model = model_of(tensors, parameters["covariance_type"])
    except (RequestError, KeyError, IndexError, ValueError):
        raise BundleError("the tensors do not fit the description of the released model") from None
    if model.chain.states != parameters["n_states"]:
        raise BundleError("the tensors do not fit the description of the released model")
    return model


def write_card(description: Mapping[str, Any], guarantee: Guarantee, digest: str, name: str) -> str:
    """The model card, in Markdown: what it is, what it promises, how to load it."""
    parameters = description["parameters"]
    columns = description["domain"]["columns"]
    over = f", over {', '.join(f'`{_plain(column)}`' for column in columns)}" if columns else ""
    words = "\n\n".join(_plain(line) for line in guarantee.words().splitlines())
    return f"""# A hidden Markov model

{parameters["n_states"]} states, {parameters["emissions"]}{over}.
Fitted by discreet, method `{parameters["method"]}`, {parameters["rounds"]} rounds.

## Guarantee

**{guarantee.summary()}**

{words}

## Intended use

Scores, paths and samples of the population behind the sequences. Do not read single states as facts about
single persons.

## Loading

```python
from discreet.fit import {name}

model = {name}.load("this-folder")
model.to_hmmlearn()  # an hmmlearn model
```

Without discreet:

```python
from safetensors.numpy import load_file

tensors = load_file("this-folder/model.safetensors")  # {", ".join(description["tensor_names"])}
```

SHA-256 of the tensors: `{digest}`
"""


def _plain(name: str) -> str:
    """Words, in which the name of a column cannot pass for Markdown or HTML."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)

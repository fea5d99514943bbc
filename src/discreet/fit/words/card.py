"""The papers of word models: their description, their model card, and reading the promise back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import Guarantee
from discreet.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.bundle import Bundle
    from discreet.models.vocabulary import Vocabulary

__all__ = ["describe", "read_guarantee", "write_card"]


def describe(vocabulary: Vocabulary, guarantee: Guarantee, receipt: Mapping[str, Any]) -> dict[str, Any]:
    """What model.json says: the words, the front, how the models were fitted, and what was promised."""
    return {
        "parameters": {
            "n_states": vocabulary.states,
            "emissions": vocabulary.emissions,
            "topology": vocabulary.topology,
            "method": receipt["method"],
            "rounds": receipt["rounds"],
        },
        "vocabulary": vocabulary.to_dict(),
        "tensor_names": sorted(vocabulary.tensors()),
        "guarantee": guarantee.to_dict(),
    }


def read_guarantee(bundle: Bundle) -> Guarantee:
    """The promise in a bundle that may come from strangers."""
    try:
        return Guarantee.from_dict(bundle.description["guarantee"])
    except (KeyError, TypeError, ValueError):
        raise BundleError("the description of the released models is damaged") from None


def write_card(vocabulary: Vocabulary, guarantee: Guarantee, digest: str) -> str:
    """The model card, in Markdown: what it is, what it promises, how to load it."""
    named = ", ".join(f"`{_plain(word)}`" for word in vocabulary.words)
    words = "\n\n".join(_plain(line) for line in guarantee.words().splitlines())
    return f"""# Word models

{len(vocabulary.words)} words, each a hidden Markov model of {vocabulary.states} states
({vocabulary.topology}) that emit {vocabulary.emissions}: {named}.

## Guarantee

**{guarantee.summary()}**

{words}

## Intended use

To tell which of these words was said in a recording that holds one of them. Every recording gets one of the
words, also one that holds none of them. Not a means to recognise who spoke.

## Loading

```python
from discreet.fit import WordModels

models = WordModels.load("this-folder")
models.predict(["recording.wav"])
```

Without discreet, `model.json` holds the words and the recipe of the features, and

```python
from safetensors.numpy import load_file

tensors = load_file("this-folder/model.safetensors")  # {", ".join(sorted(vocabulary.tensors()))}
```

SHA-256 of the tensors: `{digest}`
"""


def _plain(name: str) -> str:
    """Words, in which a name cannot pass for Markdown or HTML."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)

"""A protocol with small inputs, as the tests of this folder run it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.protocols.step import Steps
from discreet.randomness import Bits
from discreet.session import Plan

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """A protocol with small inputs: the plan, how roles are made, and private inputs that may differ.

    ``inputs`` are several choices of everybody's private input, all of the same public size; what is on the
    wire must have the same form for each of them. The first two lead to the same opened answers, so that
    nobody may be able to tell them apart (shares may differ). ``check`` looks at the outputs of one choice.
    """

    plan: Plan
    roles: Mapping[str, Callable[..., Steps[Any]]]
    inputs: tuple[Mapping[str, Any], ...]
    check: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]

    def make(self, bits: Callable[[str], Bits], choice: int = 0) -> dict[str, Steps[Any]]:
        """Fresh generators, each with its own bits."""
        private = self.inputs[choice]
        return {name: role(private[name], self.plan.agreed, bits(name)) for name, role in self.roles.items()}

"""Every error this package raises, drawn as one tree.

    DiscreetError
    |-- RequestError            the request cannot be met as it stands; nothing was spent (exit code 2)
    |   |-- ParameterError      an argument is missing or out of range
    |   |-- RangeError          a value could leave the range in which the result is proven exact
    |   |-- DomainError         declared bounds, radius, columns or units do not make sense
    |   |-- DataError           the rows are missing, unreadable or of another shape than declared
    |   |   `-- PersonError     the rows of one person do not lie together
    |   |-- TooLargeError       the request would need more memory than is allowed
    |   |-- StateError          a state is unknown, or the model says that nobody can be there
    |   `-- ExposedError        no other state hides the true one, so nothing can be released
    |-- BudgetError             the privacy budget forbids it
    |   |-- OverspentError      the ledger has less left than the request costs
    |   `-- UnplannedError      a release that was not announced to the ledger first
    |-- LedgerError             the ledger is missing, damaged or was tampered with
    |-- BundleError             a saved result is missing, damaged or of another schema
    |-- PartyError              a run between parties ended early; nothing partial was opened
    |   |-- IdentityError       a key, certificate or pin of a party is missing, damaged or not trusted
    |   |-- PlanError           the parties did not agree to the same plan, version or model
    |   |-- RefusedError        a service does not answer this request, and says why in a fixed word
    |   |-- ProtocolError       a message came that the protocol does not allow
    |   |-- CipherError         a ciphertext, key or share from another party is malformed
    |   `-- PeerError           the other party went away or gave up
    |       `-- LateError       the other party did not answer in time
    `-- NotFittedError          a result was asked of a model that has none yet

An error says what happened, what was got, what was wanted and how to go on. It is raised before
randomness is drawn, budget is spent or a byte is sent, and it never contains a value that was computed
from private rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BudgetError",
    "BundleError",
    "CipherError",
    "DataError",
    "DiscreetError",
    "DomainError",
    "ExposedError",
    "IdentityError",
    "LateError",
    "LedgerError",
    "NotFittedError",
    "OverspentError",
    "ParameterError",
    "PartyError",
    "PeerError",
    "PersonError",
    "PlanError",
    "ProtocolError",
    "RangeError",
    "RefusedError",
    "RequestError",
    "StateError",
    "TooLargeError",
    "UnplannedError",
]


class DiscreetError(Exception):
    """The root of the tree: what happened, what was got, what was wanted, and how to go on."""

    def __init__(self, what: str, *, got: object = None, wanted: str = "", remedy: str = "") -> None:
        self.what = what
        self.got = got
        self.wanted = wanted
        self.remedy = remedy
        parts = [what]
        if got is not None:
            parts.append(f"got {got!r}")
        if wanted:
            parts.append(f"wanted {wanted}")
        sentence = "; ".join(parts) + "."
        super().__init__(f"{sentence} {remedy}".strip())

    def __reduce__(self) -> tuple[Callable[[], DiscreetError], tuple[()]]:
        """Cross to and from worker processes with all four parts."""
        return partial(type(self), self.what, got=self.got, wanted=self.wanted, remedy=self.remedy), ()


class RequestError(DiscreetError, ValueError):
    """The request cannot be met as it stands; nothing was drawn and nothing was spent."""


class ParameterError(RequestError):
    """An argument is missing or out of range."""


class RangeError(RequestError):
    """A value could leave the range in which the result is proven exact; nothing was drawn or sent."""


class DomainError(RequestError):
    """Declared bounds, radius, columns or units do not make sense."""


class DataError(RequestError):
    """The rows are missing, unreadable or of another shape than declared."""


class PersonError(DataError):
    """The rows of one person do not lie together, so a per-person bound would not hold."""


class TooLargeError(RequestError, MemoryError):
    """The request would need more memory than is allowed; none was taken."""


class StateError(RequestError):
    """A state is unknown, or the model says that nobody can be there."""


class ExposedError(RequestError):
    """No other state hides the true one, so nothing can be released."""


class BudgetError(DiscreetError):
    """The privacy budget forbids it."""


class OverspentError(BudgetError):
    """The ledger has less left than the request costs."""


class UnplannedError(BudgetError):
    """A release was attempted that had not been announced to the ledger."""


class LedgerError(DiscreetError):
    """The ledger is missing, damaged or was tampered with."""


class BundleError(DiscreetError):
    """A saved result is missing, damaged or of another schema."""


class PartyError(DiscreetError):
    """A run between parties ended early; no partial result was opened."""

    def about(self, party: str) -> Self:
        """The same error, saying which of several parties it is about: names of parties are public."""
        told = self.what.replace("the other party", repr(party), 1)
        what = told if told != self.what else f"{told}, from {party!r}"
        return type(self)(what, got=self.got, wanted=self.wanted, remedy=self.remedy)

    def noting(self, words: str) -> Self:
        """The same error with one more sentence at its end."""
        remedy = f"{self.remedy} {words}".strip()
        return type(self)(self.what, got=self.got, wanted=self.wanted, remedy=remedy)


class IdentityError(PartyError):
    """A key, certificate or pin of a party is missing, damaged or not trusted."""


class PlanError(PartyError):
    """The parties did not agree to the same plan, version or model; no private byte was sent."""


class RefusedError(PartyError):
    """A service does not answer this request; nothing private was sent to it."""


class ProtocolError(PartyError):
    """A message came that the protocol does not allow: another name, order, shape or size."""


class CipherError(PartyError):
    """A ciphertext, key or share from another party is malformed."""


class PeerError(PartyError):
    """The other party went away or gave up."""


class LateError(PeerError, TimeoutError):
    """The other party did not answer in time."""


class NotFittedError(DiscreetError, ValueError, AttributeError):
    """A result was asked of a model that has none yet."""

"""A desk: what a service is about, apart from the service itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.session.plan import Plan
    from discreet.session.request import Sizes
    from discreet.wire.identity import Card

__all__ = ["Desk", "Session"]


@dataclass(frozen=True)
class Session:
    """What becomes of an accepted request: the plan, the role that is computed for it, and what it takes.

    ``answers`` is how many answers the client will have had; ``memory`` what the role needs beyond what the
    worker holds already, in bytes.
    """

    plan: Plan
    role: str
    function: str
    answers: int
    memory: int


class Desk(Protocol):
    """What a service is about: a public offer, a private input, and how requests become sessions."""

    @property
    def offer(self) -> Mapping[str, Any]:
        """Public plain data, the same for all clients."""
        ...

    @property
    def load(self) -> str:
        """The loader (``package.module:function``) that makes of `private` what roles take."""
        ...

    @property
    def private(self) -> Any:
        """Plain data for the loader, in every worker: for example where a model lies."""
        ...

    def session(self, question: str, sizes: Sizes) -> Session:
        """The session that would answer a question of these public sizes.

        Raises `RequestError` if they are not offered; looks at public data only.
        """
        ...

    def charge(self, client: Card, session: Session) -> None:
        """Record durably that this client will have had these answers, in a thread, before the role starts.

        Raises `BudgetError` if it has had enough.
        """
        ...

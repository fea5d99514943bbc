"""How a command ends when it cannot go on: one red panel, or one JSON object, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from discreet.cli import terminal
from discreet.errors import BudgetError, DiscreetError, IdentityError, RequestError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Front", "forget_values"]

_JSON = "discreet.json"
_ORDER = ("demo", "fit", "join", "ask", "release", "show", "ledger", "prep", "party", "audit")


class Front(TyperGroup):
    """The outermost group: every error of every command passes through here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether a machine is listening."""
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order in which people meet them."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; our errors become a panel or JSON, and an exit code."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            _tell(error, ctx.meta[_JSON])
            raise typer.Exit(
                2 if isinstance(error, RequestError | BudgetError | IdentityError) else 1
            ) from None
        except KeyboardInterrupt:
            terminal.warn(
                "Interrupted",
                "Nothing more was released. What was charged to a ledger stays charged (`discreet ledger "
                "history` shows it), and what a service has counted stays counted.",
            )
            raise typer.Exit(130) from None
        except typer.TyperException as error:
            if not ctx.meta[_JSON]:
                raise
            terminal.print_json({"error": {"type": type(error).__name__, "what": error.format_message()}})
            raise typer.Exit(error.exit_code) from None


def forget_values(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report a defect of this program: where it happened, but not the message, which may quote a row."""
    if os.environ.get("DISCREET_TRACEBACK") == "1":
        sys.__excepthook__(kind, error, trace)
        return
    places = "".join(
        f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
        for frame in traceback.extract_tb(trace)
    )
    sys.stderr.write(
        f"discreet met an error that it did not expect: {kind.__name__}\n{places}"
        "The message is held back, because it may quote private values. DISCREET_TRACEBACK=1 shows it.\n"
    )


def _tell(error: DiscreetError, as_json: bool) -> None:
    if not as_json:
        terminal.refuse(error)
        return
    plain = {
        "type": type(error).__name__,
        "what": error.what,
        "got": None if error.got is None else str(error.got),
        "wanted": error.wanted,
        "remedy": error.remedy,
    }
    terminal.print_json({"error": plain})

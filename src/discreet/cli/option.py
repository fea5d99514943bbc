"""Refusals in the words of a command line: `missing='drop'` of the library is `--missing drop` here."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_RENAMED = {
    "covariance_type": "covariance",
    "n_components": "components",
    "n_rounds": "rounds",
    "n_states": "states",
    "n_symbols": "symbols",
}
_PLAIN = (
    *("bounds", "center", "columns", "dataset", "delta", "epsilon", "ledger", "method", "missing", "noise"),
    *("order", "out", "person", "points", "prior", "radius", "rule", "sequence", "skeleton", "states"),
    *("structure", "symbols", "topology", "unit", "workers"),
)
_JOINED = (
    *("max_length", "random_state", "rows_per_person", "sequences_per_person", "states_column"),
    *_RENAMED,
)  # with a bar: never an ordinary word
_SETTING = re.compile(
    rf"\b(?:(?P<joined>{'|'.join(_JOINED)})\b|(?P<plain>{'|'.join(_PLAIN)})(?==))"
    r"""(?:=(?P<value>\((\w+), (\w+)\)|\[[^]]*\]|'[^']*'|"[^"]*")?)?"""
)


def in_options(text: str) -> str:
    """The text with settings of Python written as options."""
    return _SETTING.sub(_option, text.replace("float('inf')", "inf"))


def _option(found: re.Match[str]) -> str:
    name = found["joined"] or found["plain"]
    option = "--" + _RENAMED.get(name, name).replace("_", "-")
    value = found["value"] or ""
    if value.startswith("("):
        return f"{option} {found[4]}:{found[5]}"
    if value.startswith("["):
        listed = re.sub(r"[][' ]|, \.\.\.", "", value)
        return f"{option} {listed}"
    return f"{option} {value[1:-1]}" if value else option

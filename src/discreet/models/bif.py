"""Bayesian networks as BIF text, the interchange format of 1998: read fast, forgive much, round-trip exactly.

What files in the wild contain, and is read: names with or without quotes; comments of both kinds; states such
as ``12+``, ``<5`` and ``Asy/Patch``; one row a parent configuration, in any order of configurations; whole
tables as ``table`` (the node's own states outermost, as the format says); ``default`` rows; ``property``
lines; probabilities rounded so that a row no longer sums to one (it is scaled back).

What is refused, with the number of the line: unknown or repeated nodes and states, missing or repeated rows,
counts that do not fit, numbers that are no probabilities, rows that are far from a sum of one, cycles, and
tables too large to hold (before memory is taken).
"""

from __future__ import annotations

import gzip
import itertools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from discreet.errors import BundleError, ParameterError
from discreet.models.network import Network
from discreet.models.structure import Structure

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["bif_text", "parse_bif", "read_bif", "write_bif"]

_MOST_TEXT = 2**26  # tokens take some thirty times the text in memory
_DIGITS = 12
_OFF = 0.05  # a row that misses a sum of one by more is damaged, not rounded
_COMMENT = re.compile(r'"[^"\n]*"|(/\*.*?(?:\*/|\Z)|//[^\n]*)', re.DOTALL)  # one that never ends: to the end
_TOKEN = re.compile(r'"[^"\n]*"|[{}()\[\]|;,]|[^\s{}()\[\]|;,"]+')
_PLAIN = re.compile(r"[^\s{}()\[\]|;,\"]+")
_BREAKS = frozenset("{}()[]|;,")


def read_bif(path: str | os.PathLike[str]) -> Network:
    """The network in a BIF file; a name that ends in .gz is unpacked."""
    file = Path(path).expanduser()
    try:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as stream:
            raw = stream.read(_MOST_TEXT + 1)
    except (OSError, EOFError):
        raise ParameterError(f"the network {file} cannot be read", remedy="Check the path.") from None
    if len(raw) > _MOST_TEXT:
        raise BundleError(f"the network {file} is too long", wanted=f"at most {_MOST_TEXT:,} bytes")
    try:
        return parse_bif(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BundleError(f"the network {file} is not text", wanted="UTF-8") from None


def parse_bif(text: str) -> Network:
    """The network that BIF text describes."""
    return _Reader(_COMMENT.sub(_blank, text) if "/" in text else text).network()


def bif_text(network: Network) -> str:
    """The network as BIF text; `parse_bif` gives back the same network, bit for bit."""
    structure = network.structure
    lines = ["network unknown {", "}"]
    for node, states in structure.states.items():
        listed = ", ".join(map(_quoted, states))
        lines += [
            f"variable {_quoted(node)} {{",
            f"  type discrete [ {len(states)} ] {{ {listed} }};",
            "}",
        ]
    for node, parents in structure.parents.items():
        given = f" | {', '.join(map(_quoted, parents))}" if parents else ""
        lines += [f"probability ( {_quoted(node)}{given} ) {{", *_rows(network, node), "}"]
    return "\n".join(lines) + "\n"


def write_bif(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write the network as a BIF file; a name that ends in .gz is packed."""
    file = Path(path).expanduser()
    text = bif_text(network).encode()
    try:
        file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)
    except OSError:
        raise ParameterError(f"the network {file} cannot be written", remedy="Check the path.") from None
    return file


def _rows(network: Network, node: str) -> Iterable[str]:
    parents = network.structure.parents[node]
    table = network.tables[node]
    if not parents:
        yield f"  table {_numbers(table)};"
        return
    states = [list(map(_quoted, network.structure.states[parent])) for parent in parents]
    for names, row in zip(itertools.product(*states), table.reshape(-1, table.shape[-1]), strict=True):
        yield f"  ({', '.join(names)}) {_numbers(row)};"


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(map(repr, row.tolist()))


def _quoted(name: str) -> str:
    """The name, in quotes unless every reader takes it as one word."""
    if '"' in name or "\n" in name or "\r" in name:
        raise ParameterError("the name cannot be written as BIF", got=name, wanted="no quotes, one line")
    plain = _PLAIN.fullmatch(name) and "//" not in name and "/*" not in name
    return name if plain else f'"{name}"'


def _blank(found: re.Match[str]) -> str:
    """A comment as its line breaks, so that lines keep their numbers; a quoted text as it is."""
    comment = found[1]
    if not comment:
        return found[0]
    if comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/")):
        line = found.string.count("\n", 0, found.start()) + 1
        raise BundleError(f"line {line} of the network: a comment is not closed", wanted="*/")
    return "\n" * comment.count("\n") + " "


def _bare(token: str) -> str:
    return token[1:-1] if token.startswith('"') else token


class _Reader:
    """Walks over the tokens of a text once; knows the line of any token when something is wrong."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        self._states: dict[str, tuple[str, ...]] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._bodies: dict[str, tuple[int, int]] = {}  # where the rows of a node begin and end

    def network(self) -> Network:
        if self._text.count('"') % 2:
            self._fail("a quote is not closed", at=self._quote())
        while self._at < len(self._tokens):
            kind = self._next()
            if kind == "network":
                self._skip_block()
            elif kind == "variable":
                self._variable()
            elif kind == "probability":
                self._probability()
            else:
                self._fail("no such block", kind, "network, variable or probability", self._at - 1)
        structure = self._structure()
        return Network(structure, {node: self._table(node, structure) for node in structure.nodes})

    def _structure(self) -> Structure:
        if not self._states:
            self._fail("there is no variable")
        lacking = [node for node in self._states if node not in self._parents]
        if lacking:
            self._fail("a variable has no probabilities", lacking[0])
        try:
            structure = Structure(self._states, self._parents)
        except ParameterError as error:
            raise BundleError(
                f"the network is damaged: {error.what}", got=error.got, wanted=error.wanted
            ) from None
        structure.check_size()
        return structure

    def _variable(self) -> None:
        node, at = self._name("the name of a variable"), self._at - 1
        if node in self._states:
            self._fail("the variable is declared twice", node, at=at)
        self._expect("{")
        while (token := self._next()) != "}":
            if token == "property":
                self._skip_line()
            elif token == "type":
                self._states[node] = self._type()
            else:
                self._fail("a variable holds its type and properties", token, at=self._at - 1)
        if node not in self._states:
            self._fail("the variable has no type", node, "type discrete [ n ] { ... };", at)

    def _type(self) -> tuple[str, ...]:
        at = self._at
        self._expect("discrete")
        self._expect("[")
        count = self._next()
        self._expect("]")
        self._expect("{")
        states = self._list("}", "the name of a state")
        self._end_line()
        if not count.isdecimal() or len(count) > _DIGITS or int(count) != len(states):
            self._fail("the number of states is another than announced", len(states), count, at)
        if len(set(states)) < len(states) or "" in states:
            self._fail("the states are not distinct names", at=at)
        return tuple(states)

    def _probability(self) -> None:
        at = self._at
        self._expect("(")
        node = self._name("the name of a variable")
        parents: list[str] = []
        token = self._next()
        if token == "|":
            parents = self._list(")", "the name of a parent")
        elif token != ")":
            self._fail("a probability is of one variable given others", token, "( node | parents )", at)
        for name in (node, *parents):
            if name not in self._states:
                self._fail("no variable of this name was declared before", name, at=at)
        if node in self._parents:
            self._fail("the probabilities are given twice", node, at=at)
        self._expect("{")
        try:
            end = self._tokens.index("}", self._at)
        except ValueError:
            self._fail("a block is not closed", node, at=at)
        self._parents[node], self._bodies[node] = tuple(parents), (self._at, end)
        self._at = end + 1

    def _table(self, node: str, structure: Structure) -> NDArray[np.float64]:
        """The rows of one node, in whatever order and form they were written."""
        self._at, end = self._bodies[node]
        shape, parents = structure.shape(node), structure.parents[node]
        codes = [{state: code for code, state in enumerate(structure.states[name])} for name in parents]
        table, seen = np.zeros(shape), np.zeros(shape[:-1], dtype=np.bool_)
        default: NDArray[np.float64] | None = None
        while self._at < end:
            at = self._at
            token = self._next()
            if token == "(":
                place = self._place(codes, node)
                if seen[place]:
                    self._fail(f"a row of {node!r} is given twice", at=at)
                table[place], seen[place] = self._numbers(shape[-1], node), True
            elif token == "table":
                whole = self._numbers(math.prod(shape), node).reshape(shape[-1], *shape[:-1])
                table, seen = np.moveaxis(whole, 0, -1), np.ones_like(seen)
            elif token == "default":
                default = self._numbers(shape[-1], node)
            elif token == "property":
                self._skip_line()
            else:
                self._fail(
                    f"this is no row of {node!r}", token, "( states ) numbers; or table, or default", at
                )
        if default is not None:
            table[~seen] = default
        elif not seen.all():
            self._fail(f"rows of {node!r} are missing", int((~seen).sum()), "every parent configuration", end)
        return self._scaled(table, node)

    def _scaled(self, table: NDArray[np.float64], node: str) -> NDArray[np.float64]:
        sums = table.sum(axis=-1, keepdims=True)
        if not (np.abs(sums - 1) <= _OFF).all():
            self._fail(f"a row of {node!r} does not sum to one", at=self._bodies[node][0])
        # a row that already sums to one keeps its bits: what we wrote is read back the same
        return np.where(np.abs(sums - 1) <= 1e-15 * table.shape[-1], table, table / sums)

    def _place(self, codes: list[dict[str, int]], node: str) -> tuple[int, ...]:
        at = self._at
        names = self._list(")", "the state of a parent")
        if len(names) != len(codes):
            self._fail(f"a row of {node!r} names another number of parents", len(names), len(codes), at)
        place: list[int] = []
        for name, code in zip(names, codes, strict=True):
            if name not in code:
                self._fail(f"a row of {node!r} names an unknown state of a parent", name, at=at)
            place.append(code[name])
        return tuple(place)

    def _numbers(self, count: int, node: str) -> NDArray[np.float64]:
        at = self._at
        try:
            end = self._tokens.index(";", at)
            found = [token for token in self._tokens[at:end] if token != ","]
            numbers = np.array(list(map(float, found)))
        except ValueError:
            self._fail(f"a row of {node!r} holds what is no number, or has no end", at=at)
        if len(found) != count:
            self._fail(f"a row of {node!r} has another length", len(found), f"{count} numbers", at)
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            self._fail(f"a row of {node!r} holds what is no probability", wanted="numbers from 0 to 1", at=at)
        self._at = end + 1
        return numbers

    def _list(self, close: str, what: str) -> list[str]:
        names: list[str] = []
        while True:
            names.append(self._name(what))
            token = self._next()
            if token == close:
                return names
            if token != ",":
                self._fail("a list is broken", token, f"a comma or {close!r}", self._at - 1)

    def _name(self, what: str) -> str:
        token = self._next()
        if token in _BREAKS:
            self._fail("a name is missing", token, what, self._at - 1)
        return _bare(token)

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            self._fail("the text ends in the middle of a block", at=self._at)
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, token: str) -> None:
        if (got := self._next()) != token:
            self._fail("something else was to come here", got, repr(token), self._at - 1)

    def _end_line(self) -> None:
        if self._at < len(self._tokens) and self._tokens[self._at] == ";":
            self._at += 1

    def _skip_line(self) -> None:
        while self._next() != ";":
            pass

    def _skip_block(self) -> None:
        while self._next() != "{":
            pass
        while self._next() != "}":
            pass

    def _quote(self) -> int:
        """The token at the first line with an odd number of quotes."""
        before = 0
        for line in self._text.splitlines():
            if line.count('"') % 2:
                break
            before += len(_TOKEN.findall(line))
        return before

    def _fail(self, what: str, got: object = None, wanted: object = "", at: int | None = None) -> NoReturn:
        """Raise with the line of a token; finding it takes a second walk, which only errors pay for."""
        line = self._text.count("\n") + 1
        if at is not None:
            found = next(itertools.islice(_TOKEN.finditer(self._text), at, None), None)
            line = self._text.count("\n", 0, found.start()) + 1 if found else line
        shown = got[:80] if isinstance(got, str) else got
        raise BundleError(f"line {line} of the network: {what}", got=shown, wanted=str(wanted))

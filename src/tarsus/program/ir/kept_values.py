"""Registers of a program that is being written, and the values that its next block gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.blocks import Kind, Register
from tarsus.program.ir.drafts import Draft, Drafted
from tarsus.program.ir.symbolic import entries, mapped

Held = TypeVar("Held")


class KeptValues:
    """Symbols of registers, and what is kept in them until the code is cut."""

    def __init__(self) -> None:
        self._registers: dict[str, Register] = {}
        self._symbols: dict[str, SX] = {}
        self._owner: dict[int, str] = {}
        self._blocks: list[Drafted] = []
        self._pending: dict[str, SX] = {}
        self._kept: dict[str, SX] = {}
        self._tables: dict[str, np.ndarray] = {}
        self._scope = ""  # the cold loop whose body is being traced

    def declare(self, name: str, size: int, kind: Kind = "state") -> SX:
        """Symbols (size,) of a new persistent register."""
        if name in self._registers:
            raise ValueError(f"register {name!r} is declared twice")
        self._registers[name] = Register(name, size, kind)
        self._symbols[name] = SX.sym(name, size)
        self._owner.update({symbol.element_hash(): name for symbol in entries(self._symbols[name])})
        return self._symbols[name]

    def parameter(self, name: str, size: int = 1) -> SX:
        """Symbols of a parameter register."""
        return self.declare(name, size, "parameter")

    def store(self, name: str, value: SX, kind: Literal["temporary", "report"] = "temporary") -> SX:
        """Name a value, so that it is computed once, here; all that follows can use its symbols.

        A report is stored here too, and not carried through the blocks to the program's end.
        """
        name = self._fresh(name) if kind == "temporary" else name
        symbols = self.declare(name, value.numel(), kind)
        self._pending[name] = ca.vec(ca.densify(value))
        self._kept[name] = symbols
        return symbols if value.shape[1] == 1 else ca.reshape(symbols, *value.shape)

    def store_all(self, name: str, values: Held, symbols_too: bool = False) -> Held:
        """Keep, as one value, all that is computed in an expression or a structure of them.

        Returns the same with symbols in its place; zeros and constants stay what they are, and
        symbols unless they too are asked for.
        """
        stays = SX.is_constant if symbols_too else SX.is_leaf
        computed = numbers(values, stays)
        if not computed:
            return values
        return with_numbers(values, entries(self.store(name, ca.vertcat(*computed))), stays)

    def _fresh(self, name: str) -> str:
        """A name for a temporary, never that of a persistent register."""
        candidate, k = f"~{name}{self._scope}", 2
        while candidate in self._registers:
            candidate, k = f"~{name}{k}{self._scope}", k + 1
        return candidate

    def _cut(self) -> None:
        """Close the straight piece of code: what was kept is inlined in what follows in it."""
        outputs: dict[str, SX] = {}
        for name, value in self._pending.items():
            known = [key for key in self._kept if key in outputs]
            column = ca.vec(ca.densify(value))
            if known:
                [column] = ca.substitute(
                    [column], [self._kept[k] for k in known], [outputs[k] for k in known]
                )
            outputs[name] = column
        if outputs:
            self._blocks.append(Draft(outputs))
        self._pending, self._kept = {}, {}


def numbers(thing: Any, stays: Callable[[SX], bool] = SX.is_constant) -> list[SX]:
    """What of an expression, or of a structure of them, does not stay: is no constant."""
    found: list[SX] = []

    def collect(value: SX) -> SX:
        found.extend(part for part in nonzeros(value) if not stays(part))
        return value

    mapped(thing, collect)
    return found


def with_numbers(
    thing: Held, values: list[SX], stays: Callable[[SX], bool] = SX.is_constant
) -> Held:
    """The same with others in their place."""
    left = iter(values)

    def put(value: SX) -> SX:
        parts = [part if stays(part) else next(left) for part in nonzeros(value)]
        return SX(value.sparsity(), ca.vertcat(SX(0, 1), *parts))

    return mapped(thing, put)


def alike(things: Sequence[Any]) -> bool:
    """Whether they differ in numbers alone that are no constants, and have some."""
    looks = [_looks(thing) for thing in things]
    return bool(looks) and looks.count(looks[0]) == len(looks) and any(None in x for x in looks[0])


def _looks(thing: Any) -> list[list[float | None]]:
    """The constants of its expressions, and None for what is none."""
    found: list[list[float | None]] = []

    def look(value: SX) -> SX:
        parts = [float(part) if part.is_constant() else None for part in nonzeros(value)]
        found.append([*value.shape, *value.sparsity().find(), *parts])
        return value

    mapped(thing, look)
    return found


def nonzeros(value: SX) -> list[SX]:
    """Its entries without structural zeros."""
    return entries(cast(SX, value.nz[:]))

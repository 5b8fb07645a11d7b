"""Registers of a program that is being written, and values stored in them."""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.blocks import Kind, Register
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trees import Tree, variable_entries, with_entries
from tarsus.program.ir.unfinished_blocks import Unfinished, UnfinishedBlock


class StoredValues:
    """Symbols of registers, and the values that the current basic block stores in them."""

    def __init__(self) -> None:
        self._registers: dict[str, Register] = {}
        self._symbols: dict[str, SX] = {}
        self._owner: dict[int, str] = {}  # register of a symbol, by the symbol's hash
        self._blocks: list[Unfinished] = []
        self._pending: dict[str, SX] = {}  # values that the current block stores
        self._bindings: dict[str, SX] = {}  # symbols of those that were named by `store`
        self._tables: dict[str, np.ndarray] = {}
        self._scope = ""  # suffix of names in the cold loop whose body is being traced

    def declare(self, name: str, size: int, kind: Kind = "state") -> SX:
        """Declare a register.

        Parameters
        ----------
        name
            Name of the register.
        size
            Number of entries per world.
        kind
            Kind of the register (`Register`).

        Returns
        -------
        SX
            Symbols (size,) of its entries.
        """
        if name in self._registers:
            raise ValueError(f"register {name!r} is declared twice")
        self._registers[name] = Register(name, size, kind)
        self._symbols[name] = SX.sym(name, size)
        self._owner.update({symbol.element_hash(): name for symbol in entries(self._symbols[name])})
        return self._symbols[name]

    def parameter(self, name: str, size: int = 1) -> SX:
        """Declare a parameter register and return its symbols (size,)."""
        return self.declare(name, size, "parameter")

    def symbols(self, name: str) -> SX:
        """Return the symbols (size,) of a register that was declared or stored before."""
        return self._symbols[name]

    def store(self, name: str, value: SX, kind: Literal["temporary", "report"] = "temporary") -> SX:
        """Store a value in a register, so that it is computed once, here.

        Parameters
        ----------
        name
            Name of the register; made unique for a temporary.
        value
            Expression to store.
        kind
            Kind of the register. A report is written here rather than at the end of the program.

        Returns
        -------
        SX
            Symbols that stand for the value, of the same shape.
        """
        name = self._unique_name(name) if kind == "temporary" else name
        symbols = self.declare(name, value.numel(), kind)
        self._pending[name] = ca.vec(ca.densify(value))
        self._bindings[name] = symbols
        return symbols if value.shape[1] == 1 else ca.reshape(symbols, *value.shape)

    def store_all(self, name: str, values: Tree, include_symbols: bool = False) -> Tree:
        """Store all computed entries of a structure of expressions in one register.

        Parameters
        ----------
        name
            Name of the register; made unique.
        values
            Expression, or a list, tuple, dictionary or dataclass of them.
        include_symbols
            Whether entries that are symbols are stored too. Zeros and constants never are.

        Returns
        -------
        Tree
            The structure, with stored entries replaced by symbols.
        """
        is_fixed = SX.is_constant if include_symbols else SX.is_leaf
        computed = variable_entries(values, is_fixed)
        if not computed:
            return values
        return with_entries(values, entries(self.store(name, ca.vertcat(*computed))), is_fixed)

    def _unique_name(self, name: str) -> str:
        """Create a name for a temporary that no register has."""
        candidate, k = f"~{name}{self._scope}", 2
        while candidate in self._registers:
            candidate, k = f"~{name}{k}{self._scope}", k + 1
        return candidate

    def _close_block(self) -> None:
        """Close the current basic block; stored values are inlined in later ones of the block."""
        outputs: dict[str, SX] = {}
        for name, value in self._pending.items():
            known = [key for key in self._bindings if key in outputs]
            column = ca.vec(ca.densify(value))
            if known:
                [column] = ca.substitute(
                    [column], [self._bindings[k] for k in known], [outputs[k] for k in known]
                )
            outputs[name] = column
        if outputs:
            self._blocks.append(UnfinishedBlock(outputs))
        self._pending, self._bindings = {}, {}

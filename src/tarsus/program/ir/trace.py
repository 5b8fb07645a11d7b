"""Write a program as ordinary Python over CasADi symbols; the builder cuts it into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal, TypeVar, cast

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike

from tarsus.program.ir.blocks import CYCLES, Kind, Lookup, Program, Register, Stamp
from tarsus.program.ir.drafts import Draft, Drafted, Drafts, Loop
from tarsus.program.ir.symbolic import entries, mapped

Values = dict[str, SX]
Held = TypeVar("Held")
CLOCK = "~clock"
GUESS = "guess"  # in the names of registers without a tangent
REST = "rest"  # the section of what follows the last stamp


class Builder:
    """Writes a program: ordinary expressions in, registers and blocks out.

    declare: symbols of a register that lasts from run to run.
    keep: a value computed once, here, for later use.
    loop: repeats until its body ends it, each world for itself.
    program: writes the results and closes the program.

    Only loops and look-ups cut the code into blocks: until the next cut a kept value stays an
    expression, and it is stored only if something reads it after the cut.
    timed: `stamp` cuts too and counts the cycles of sections; otherwise stamps do nothing.
    """

    def __init__(self, name: str, timed: bool = False) -> None:
        self.name, self.timed = name, timed
        self._registers: dict[str, Register] = {}
        self._symbols: dict[str, SX] = {}
        self._owner: dict[int, str] = {}
        self._blocks: list[Drafted] = []
        self._sections: list[str] = []
        self._pending: Values = {}
        self._kept: dict[str, SX] = {}
        self._tables: dict[str, np.ndarray] = {}

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

    def keep(self, name: str, value: SX, kind: Literal["temporary", "report"] = "temporary") -> SX:
        """Name a value, so that it is computed once, here; all that follows can use its symbols.

        A report is stored here too, and not carried through the blocks to the program's end.
        """
        name = self._fresh(name) if kind == "temporary" else name
        symbols = self.declare(name, value.numel(), kind)
        self._pending[name] = ca.vec(ca.densify(value))
        self._kept[name] = symbols
        return symbols if value.shape[1] == 1 else ca.reshape(symbols, *value.shape)

    def loop(
        self,
        start: Mapping[str, SX],
        body: Callable[[Values], tuple[Values, SX]],
        maximum: int,
        first: SX | None = None,
        seldom: bool = False,
    ) -> Values:
        """Carry `start` through body(values) -> (values, more) while more > 0; the last values.

        Worlds where `first` is not positive do not enter the loop at all; seldom: few ever do
        (`While.seldom`).
        """
        # a register for each value carried, and one that says whether to go on
        names: dict[str, str] = {}
        symbols: Values = {}
        for key, value in start.items():
            names[key] = self._fresh(key)
            symbols[key] = self.declare(names[key], value.numel(), "temporary")
        more = self._fresh("more")
        self.declare(more, 1, "temporary")
        # its start ends the block before the loop
        self._pending.update(
            {names[key]: value for key, value in start.items()}
            | {more: SX(1) if first is None else first}
        )
        self._cut()
        # trace the body once
        outer, self._blocks = self._blocks, []
        values, again = body(dict(symbols))
        if missing := set(start) ^ set(values):
            raise ValueError(
                f"the loop's body must give back exactly what it was given; check {sorted(missing)}"
            )
        # what it gives back must have the sizes of what it was given
        for key, symbol in symbols.items():
            if values[key].numel() != symbol.numel():
                raise ValueError(
                    f"the loop's {key!r} has {symbol.numel()} numbers, its body gives"
                    f" {values[key].numel()}"
                )
        # the body's end, and on with the outer blocks
        self._pending.update({names[key]: values[key] for key in start} | {more: again})
        self._cut()
        outer.append(Loop(more, self._blocks, maximum, seldom))
        self._blocks = outer
        return symbols

    def each(self, name: str, count: int, make: Callable[[SX], Held]) -> list[Held]:
        """[make(0), ..., make(count - 1)], found by a loop whose code holds one of them.

        make: from the index () to expressions, or a structure of them that looks alike for all.
        """
        # the index; what is made is not known before it has been traced
        at, more = self._fresh("each"), self._fresh("more")
        index = self.declare(at, 1, "temporary")
        self.declare(more, 1, "temporary")
        self._pending.update({at: SX(0), more: SX(1)})
        self._cut()
        outer, self._blocks = self._blocks, []
        made, computed = make(index), list[SX]()
        mapped(made, lambda value: computed.extend(_varying(value)) or value)
        # all of them in one register, each into its own place
        size, row = len(computed), ca.vertcat(SX(0, 1), *computed)
        kept = self._fresh(name)
        stack = self.declare(kept, count * size, "temporary")
        rows = [ca.if_else(index == j, row, stack[j * size : (j + 1) * size]) for j in range(count)]
        self._pending.update({kept: ca.vertcat(*rows), at: index + 1, more: SX(index + 1 < count)})
        self._cut()
        outer += [Draft({kept: SX.zeros(count * size)}), Loop(more, self._blocks, count)]
        self._blocks = outer

        # the same structures with symbols
        def put(symbols: Iterator[SX], value: SX) -> SX:
            parts = [part if part.is_constant() else next(symbols) for part in _nonzeros(value)]
            return SX(value.sparsity(), ca.vertcat(SX(0, 1), *parts))

        return [
            mapped(made, partial(put, iter(entries(stack[j * size : (j + 1) * size]))))
            for j in range(count)
        ]

    def lookup(self, table: str, values: ArrayLike, index: SX) -> SX:
        """table[floor(index)] for each entry of index (k,), held inside the table."""
        held = np.ascontiguousarray(values, dtype=float).ravel()
        if not held.size or not np.array_equal(self._tables.get(table, held), held, equal_nan=True):
            raise ValueError(
                f"table {table!r} is empty, or other values already stand under its name"
            )
        self._tables[table] = held
        at, out = self._fresh(f"{table}_index"), self._fresh(f"{table}_value")
        self.declare(at, index.numel(), "temporary")
        self._pending[at] = index
        self._cut()
        symbols = self.declare(out, index.numel(), "temporary")
        self._blocks.append(Lookup(table, at, out))
        return symbols

    def hold(self, name: str, values: Held) -> Held:
        """Keep, as one value, all that is computed in an expression or a structure of them.

        Returns the same with symbols in its place; zeros, constants and symbols stay what they are.
        """
        computed: list[SX] = []

        def collect(value: SX) -> SX:
            computed.extend(part for part in _nonzeros(value) if not part.is_leaf())
            return value

        mapped(values, collect)
        if not computed:
            return values
        symbols = iter(entries(self.keep(name, ca.vertcat(*computed))))

        def put(value: SX) -> SX:
            parts = [part if part.is_leaf() else next(symbols) for part in _nonzeros(value)]
            return SX(value.sparsity(), ca.vertcat(SX(0, 1), *parts))

        return mapped(values, put)

    def guess(self, values: Held) -> Held:
        """`hold` what an iteration begins from that ends where it ends from anywhere near: stored
        here, and without a tangent (`program.ir.tangent`).
        """
        held = self.hold(GUESS, values)
        self._cut()
        return held

    def stamp(self, section: str, values: Held = None) -> Held:
        """The work since the last stamp, and that of all kept values, belongs to a section; several
        stamps may name it.

        values: expressions (or lists, dataclasses of them) that are computed by now; returns what
        stands for them in the sections to come, in a program that is not timed the values
        themselves.
        """
        if not self.timed:
            return values
        held = self.hold(section, values)
        if section not in self._sections:
            self._sections.append(section)
        self._cut()
        self._blocks.append(Stamp(self._sections.index(section), CLOCK))
        return held

    def program(self, **results: SX) -> Program:
        """Write the results into registers (reports, declared here, if new); close the program."""
        # check and declare the results
        for name, value in results.items():
            if name not in self._registers:
                self.declare(name, value.numel(), "report")
            if self._registers[name].kind == "parameter":
                raise ValueError(f"register {name!r} is a parameter: a program only reads it")
            if self._registers[name].size != value.numel():
                raise ValueError(
                    f"register {name!r} has {self._registers[name].size} numbers, not"
                    f" {value.numel()}"
                )
        # end the last block
        self._pending.update(results)
        self._cut()
        # time the rest, and stamp the start
        if self.timed:
            self.stamp(REST)
            self.declare(CYCLES, len(self._sections), "report")
            self.declare(CLOCK, 1, "temporary")
            self._blocks.insert(0, Stamp(None, CLOCK))
        # drop registers that nobody reads
        drafts = Drafts(self._registers, self._symbols, self._owner)
        read = drafts.read_anywhere(self._blocks)
        registers = [r for r in self._registers.values() if r.kind != "temporary" or r.name in read]
        blocks = tuple(drafts.finished(block, read) for block in self._blocks)
        return Program(
            self.name, tuple(registers), blocks, dict(self._tables), tuple(self._sections)
        )

    def _fresh(self, name: str) -> str:
        """A name for a temporary, never that of a persistent register."""
        candidate, k = f"~{name}", 2
        while candidate in self._registers:
            candidate, k = f"~{name}{k}", k + 1
        return candidate

    def _cut(self) -> None:
        """Close the straight piece of code: what was kept is inlined in what follows in it."""
        outputs: Values = {}
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


def _varying(value: SX) -> list[SX]:
    """What is no constant."""
    return [part for part in _nonzeros(value) if not part.is_constant()]


def _nonzeros(value: SX) -> list[SX]:
    return entries(cast(SX, value.nz[:]))

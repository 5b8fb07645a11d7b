"""Write a program as ordinary Python over CasADi symbols; the builder divides it into blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike

from tarsus.program.ir.blocks import ColdLoop, Lookup, LoopBody, Stamp
from tarsus.program.ir.closures import captured_expressions, copy_closure
from tarsus.program.ir.loops import Body, Loops, Values
from tarsus.program.ir.program import CYCLES, Program
from tarsus.program.ir.trees import Tree
from tarsus.program.ir.unfinished_blocks import Finisher, tables_of

CLOCK = "~clock"
GUESS = "guess"  # in the names of registers without a tangent
REST = "rest"  # section of the code after the last stamp


class Builder(Loops):
    """Writes a program: ordinary expressions in, registers and blocks out.

    `declare` returns the symbols of a register that persists from run to run. `store` computes a
    value once, for later use. `loop` iterates until its body ends it, in each world separately.
    `cold_loop` is a loop that few worlds enter, traced when first needed. `program` writes the
    results and returns the program.

    Only loops and look-ups end a basic block. Until then a stored value stays an expression; it is
    written to its register only if a later block reads it.

    Parameters
    ----------
    name
        Name of the program, for messages.
    timed
        Whether `stamp` counts the cycles of sections; otherwise stamps do nothing.
    smooth
        Whether the program will be differentiated, so that solvers must have exact derivatives.

    Examples
    --------
    >>> from tarsus.program.ir import reference
    >>> builder = Builder("square_root")
    >>> x, a = builder.declare("x", 1), builder.parameter("a")
    >>> def newton(values):
    ...     return {"x": (values["x"] + a / values["x"]) / 2}, values["x"] ** 2 - a > 1e-9
    >>> program = builder.program(x=builder.loop({"x": x}, newton, maximum=50)["x"])
    >>> round(float(reference.run(program, {"x": 3.0, "a": 2.0})["x"][0, 0]), 6)
    1.414214
    """

    def __init__(self, name: str, timed: bool = False, smooth: bool = False) -> None:
        super().__init__()
        self.name, self.timed, self.smooth = name, timed, smooth
        self._sections: list[str] = []
        self._tracing = RLock()

    def cold_loop(self, start: Mapping[str, SX], body: Body, maximum: int, first: SX) -> Values:
        """Write a loop whose body is traced when first needed (`ColdLoop`).

        Parameters
        ----------
        start, body, maximum, first
            As of `loop`. The body reads only what its closure captures, and declares only
            temporaries.

        Returns
        -------
        dict of SX
            Symbols of the values after the loop.
        """
        if self.timed:
            return self.loop(start, body, maximum, first, cold=True)
        symbols, names, condition = self._begin_loop(start, first)
        body = copy_closure(body)
        captured = [ca.vec(ca.densify(x)) for x in captured_expressions(body, self)]
        variables = ca.symvar(ca.vertcat(SX(0, 1), *captured))
        read = {self._owner.get(x.element_hash()) for x in variables}
        reads = tuple(name for name in self._registers if name in read)
        writes = (*names.values(), condition)

        def trace() -> LoopBody:
            with self._tracing:
                return self._trace_cold(
                    lambda: self._trace_body(body, symbols, names, condition), reads, writes
                )

        self._blocks.append(ColdLoop(condition, maximum, reads, writes, trace))
        return dict(symbols)

    def _trace_cold(
        self, trace: Callable[[], None], reads: tuple[str, ...], writes: tuple[str, ...]
    ) -> LoopBody:
        """Trace a loop's body after the program around it is finished."""
        # in separate blocks, and in a scope of names
        known, scope, blocks = set(self._registers), self._scope, self._blocks
        self._scope, self._blocks = f" in {writes[-1]}", []
        try:
            trace()
            body = self._blocks
        finally:
            self._scope, self._blocks, self._pending, self._bindings = scope, blocks, {}, {}
        # check that it reads no other temporaries of the program
        finisher = Finisher(self._registers, self._symbols, self._owner)
        created = [r for r in self._registers.values() if r.name not in known]
        read = finisher.registers_read(body)
        allowed = {*reads, *writes, *(r.name for r in created)}
        forbidden = [n for n in read - allowed if self._registers[n].kind == "temporary"]
        persistent = [r.name for r in created if r.kind != "temporary"]
        if forbidden or persistent:
            raise ValueError(
                f"the body of a cold loop reads {forbidden}, which its closure does not capture, or"
                f" declares {persistent}: use loop(..., cold=True)"
            )
        finished = finisher.finish(body, {*read, *writes})
        registers = tuple(r for r in created if r.name in read)
        tables = {name: self._tables[name] for name in tables_of(finished)}
        return LoopBody(registers, finished, tables)

    def lookup(self, table: str, values: ArrayLike, index: SX) -> SX:
        """Look up entries of a table.

        Parameters
        ----------
        table
            Name of the table.
        values
            Its entries, shape (n,).
        index
            Indices (k,), rounded down and clamped to the table.

        Returns
        -------
        SX
            Symbols (k,) of the entries.
        """
        array = np.ascontiguousarray(values, dtype=float).ravel()
        known = self._tables.get(table, array)
        if not array.size or not np.array_equal(known, array, equal_nan=True):
            raise ValueError(f"table {table!r} is empty, or already declared with other values")
        self._tables[table] = array
        of_index = self._unique_name(f"{table}_index")
        of_value = self._unique_name(f"{table}_value")
        self.declare(of_index, index.numel(), "temporary")
        self._pending[of_index] = index
        self._close_block()
        symbols = self.declare(of_value, index.numel(), "temporary")
        self._blocks.append(Lookup(table, of_index, of_value))
        return symbols

    def guess(self, values: Tree) -> Tree:
        """Store the initial guess of an iteration whose result does not depend on it.

        It has no tangent (`program.ir.tangent`).
        """
        stored = self.store_all(GUESS, values, include_symbols=True)
        self._close_block()
        return stored

    def stamp(self, section: str, values: Tree = None) -> Tree:
        """Assign the work since the last stamp to a section, in a timed program.

        Parameters
        ----------
        section
            Name of the section; several stamps may name the same one.
        values
            Expressions, or a structure of them, that must be computed before the stamp.

        Returns
        -------
        Tree
            Values to use from here on; without timing, `values` themselves.
        """
        if not self.timed:
            return values
        stored = self.store_all(section, values)
        if section not in self._sections:
            self._sections.append(section)
        self._close_block()
        self._blocks.append(Stamp(self._sections.index(section), CLOCK))
        return stored

    def program(self, **results: SX) -> Program:
        """Write results to registers and finish the program.

        Parameters
        ----------
        results
            Values by register. A register that is not declared becomes a report.

        Returns
        -------
        Program
            The finished program.
        """
        # check and declare the results
        for name, value in results.items():
            if name not in self._registers:
                self.declare(name, value.numel(), "report")
            if self._registers[name].kind == "parameter":
                raise ValueError(f"register {name!r} is a parameter: a program cannot write it")
            if self._registers[name].size != value.numel():
                raise ValueError(
                    f"register {name!r} has {self._registers[name].size} entries, not"
                    f" {value.numel()}"
                )
        # end the last block
        self._pending.update(results)
        self._close_block()
        # time the rest, and start the clock
        if self.timed:
            self.stamp(REST)
            self.declare(CYCLES, len(self._sections), "report")
            self.declare(CLOCK, 1, "temporary")
            self._blocks.insert(0, Stamp(None, CLOCK))
        # drop registers that nothing reads
        finisher = Finisher(self._registers, self._symbols, self._owner)
        read = finisher.registers_read(self._blocks)
        registers = [r for r in self._registers.values() if r.kind != "temporary" or r.name in read]
        blocks = finisher.finish(self._blocks, read)
        return Program(
            self.name, tuple(registers), blocks, dict(self._tables), tuple(self._sections)
        )

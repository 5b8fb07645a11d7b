"""Write a program as ordinary Python over CasADi symbols; the builder cuts it into blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike

from tarsus.program.ir.blocks import ColdLoop, Lookup, Stamp, Traced
from tarsus.program.ir.drafts import Drafts, tables_of
from tarsus.program.ir.kept_values import Held
from tarsus.program.ir.loops import Body, Loops, Values
from tarsus.program.ir.program import CYCLES, Program
from tarsus.program.ir.within_reach import expressions, held

CLOCK = "~clock"
GUESS = "guess"  # in the names of registers without a tangent
REST = "rest"  # the section of what follows the last stamp


class Builder(Loops):
    """Writes a program: ordinary expressions in, registers and blocks out.

    declare: symbols of a register that lasts from run to run.
    keep: a value computed once, here, for later use.
    loop: repeats until its body ends it, each world for itself.
    cold_loop: a loop that few worlds enter, traced when the first does.
    program: writes the results and closes the program.

    Only loops and look-ups cut the code into blocks: until the next cut a kept value stays an
    expression, and it is stored only if something reads it after the cut.
    timed: `stamp` cuts too and counts the cycles of sections; otherwise stamps do nothing.
    smooth: the program is one to be differentiated: solutions shall have exact derivatives.
    """

    def __init__(self, name: str, timed: bool = False, smooth: bool = False) -> None:
        super().__init__()
        self.name, self.timed, self.smooth = name, timed, smooth
        self._sections: list[str] = []
        self._tracing = RLock()

    def cold_loop(self, start: Mapping[str, SX], body: Body, maximum: int, first: SX) -> Values:
        """Write a loop whose body is traced on first need (`ColdLoop`).

        The body reads what its closure holds, and declares no more than temporaries.
        """
        if self.timed:
            return self.loop(start, body, maximum, first, cold=True)
        symbols, names, more = self._begun(start, first)
        body = held(body)
        inside = [ca.vec(ca.densify(x)) for x in expressions(body, self)]
        read = {self._owner.get(x.element_hash()) for x in ca.symvar(ca.vertcat(SX(0, 1), *inside))}
        reads = tuple(name for name in self._registers if name in read)
        writes = (*names.values(), more)

        def traced() -> Traced:
            with self._tracing:
                return self._trace_cold(
                    lambda: self._round(body, symbols, names, more), reads, writes
                )

        self._blocks.append(ColdLoop(more, maximum, reads, writes, traced))
        return dict(symbols)

    def _trace_cold(
        self, trace: Callable[[], None], reads: tuple[str, ...], writes: tuple[str, ...]
    ) -> Traced:
        """What a loop's body makes, traced when the program around it is finished."""
        # in blocks and under names of its own
        known, scope, blocks = set(self._registers), self._scope, self._blocks
        self._scope, self._blocks = f" in {writes[-1]}", []
        try:
            trace()
            body = self._blocks
        finally:
            self._scope, self._blocks, self._pending, self._kept = scope, blocks, {}, {}
        # it knows no more than it was said to
        drafts = Drafts(self._registers, self._symbols, self._owner)
        own = [r for r in self._registers.values() if r.name not in known]
        read = drafts.read_anywhere(body)
        given = {*reads, *writes, *(r.name for r in own)}
        lost = [name for name in read - given if self._registers[name].kind == "temporary"]
        lasting = [r.name for r in own if r.kind != "temporary"]
        if lost or lasting:
            raise ValueError(
                f"the body of a cold loop reads {lost}, which its closure does not hold, or"
                f" declares {lasting}: use loop(..., cold=True)"
            )
        finished = drafts.finished(body, {*read, *writes})
        registers = tuple(r for r in own if r.name in read)
        tables = {name: self._tables[name] for name in tables_of(finished)}
        return Traced(registers, finished, tables)

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

    def guess(self, values: Held) -> Held:
        """Store the initial guess of an iteration whose result does not depend on it.

        It has no tangent (`program.ir.tangent`).
        """
        held = self.store_all(GUESS, values, symbols_too=True)
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
        held = self.store_all(section, values)
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
        blocks = drafts.finished(self._blocks, read)
        return Program(
            self.name, tuple(registers), blocks, dict(self._tables), tuple(self._sections)
        )

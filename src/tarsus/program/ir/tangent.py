"""Differentiate a program along a direction by forward mode; the result is a program.

Each register that depends on the varied registers gets a second one, its tangent. A basic block
also computes the tangents of its outputs, by the chain rule. Loops run as many iterations as
before. A world is thus differentiated through the branches that it takes: exactly where the step is
smooth, one-sided where it switches. Worlds differ in direction, so the columns of a Jacobian are in
the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.blocks import (
    BasicBlock,
    Block,
    ColdLoop,
    Register,
    Slice,
    While,
    replace_cold_loops,
)
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import GUESS

Names = frozenset[str]
ENTERED = "~entered"  # report: positive where a world would enter an omitted cold loop


def tangent_name(register: str) -> str:
    """Name the tangent of a register."""
    return f"d {register}"


def tangent_program(
    program: Program, along: Collection[str], outputs: Collection[str], include_cold: bool = True
) -> Program:
    """Add the tangents of registers to a program.

    It also has tangents of other states on which the results depend. They are zero before a run,
    unless they are varied.

    Parameters
    ----------
    program
        Program to differentiate.
    along
        States and parameters that are varied. Their tangents give the direction, before a run.
    outputs
        States and reports whose tangents are computed.
    include_cold
        Whether cold loops are included; otherwise the report ENTERED marks the worlds that would
        enter one.

    Returns
    -------
    Program
        Program with the registers of `program` and their tangents.

    Raises
    ------
    ValueError
        If the program is timed.
    """
    if program.sections:
        raise ValueError("a timed program cannot be differentiated: trace it with timed=False")
    program = program.expanded if include_cold else _without_cold_loops(program)
    blocks: dict[int, TangentBlock | TangentSlice]
    blocks = {id(block): TangentBlock(block) for block, _ in program.basic_blocks()}
    blocks |= {id(block): TangentSlice(block) for block in program.slices}
    # activity analysis: registers that depend on the inputs, and on which the outputs depend
    guesses = {r.name for r in program.registers if r.name.startswith(f"~{GUESS}")}
    active = _fixed_point(
        frozenset(along),
        lambda names: names.union(*(b.dependents(names) for b in blocks.values())) - guesses,
    )
    needed = _fixed_point(
        active.intersection(outputs),
        lambda names: names.union(*(b.dependencies(names, active) for b in blocks.values())),
    )
    # registers and blocks with tangents
    retained = needed | active & frozenset(along)
    tangents = [
        Register(tangent_name(r.name), r.size, r.kind)
        for r in program.registers
        if r.name in retained
    ]

    def with_tangents(body: tuple[Block, ...]) -> tuple[Block, ...]:
        result: list[Block] = []
        for block in body:
            if isinstance(block, While):
                result.append(replace(block, body=with_tangents(block.body)))
            else:
                result += blocks[id(block)].dual(retained) if id(block) in blocks else [block]
        return tuple(result)

    name, registers = f"{program.name}_tangent", (*program.registers, *tangents)
    return Program(name, registers, with_tangents(program.blocks), program.tables)


def _without_cold_loops(program: Program) -> Program:
    """Remove the untraced cold loops, which set ENTERED instead."""
    more, entered = SX.sym("more"), SX.sym("entered")
    either = ca.Function("either", [entered, more], [ca.fmax(entered, more)])
    none = BasicBlock.of(ca.Function("none", [], [SX(0)]), (), (ENTERED,))

    def mark(loop: ColdLoop) -> Block:
        return BasicBlock.of(either, (ENTERED, loop.condition), (ENTERED,))

    registers = (*program.registers, Register(ENTERED, 1, "report"))
    blocks = (none, *replace_cold_loops(program.blocks, mark))
    return Program(program.name, registers, blocks, program.tables)


def _fixed_point(names: Names, grow: Callable[[Names], Names]) -> Names:
    """Apply `grow` until nothing changes."""
    while (grown := grow(names)) != names:
        names = grown
    return names


class TangentBlock:
    """Basic block and its derivative."""

    def __init__(self, block: BasicBlock) -> None:
        self.block = block
        function = block.function
        self._x = [SX.sym(name, function.size1_in(k)) for k, name in enumerate(block.inputs)]
        sized = zip(block.inputs, self._x, strict=True)
        self._dx = [SX.sym(tangent_name(name), x.numel()) for name, x in sized]
        self._y = function.call(self._x)

    @cached_property
    def _depends(self) -> dict[str, Names]:
        """Inputs on which each output depends."""
        owner = {
            symbol.element_hash(): name
            for name, dx in zip(self.block.inputs, self._dx, strict=True)
            for symbol in entries(dx)
        }
        return {
            name: frozenset(
                owner[symbol.element_hash()]
                for symbol in ca.symvar(dy)
                if symbol.element_hash() in owner
            )
            for name, dy in zip(self.block.outputs, self._along(self._dx), strict=True)
        }

    def _along(self, dx: list[SX]) -> list[SX]:
        """Compute the tangents of the outputs for tangents of the inputs."""
        if not self._x or not self._y:
            return [SX.zeros(y.numel()) for y in self._y]
        dy = ca.jtimes(ca.vertcat(*self._y), ca.vertcat(*self._x), ca.vertcat(*dx))
        offsets = [0, *np.cumsum([y.numel() for y in self._y]).tolist()]
        return [dy[a:b] for a, b in pairwise(offsets)]

    def dependents(self, active: Names) -> Names:
        """Find the outputs that depend on active registers."""
        return frozenset(name for name, inputs in self._depends.items() if inputs & active)

    def dependencies(self, needed: Names, active: Names) -> Names:
        """Find the active registers on which the tangents of needed ones depend."""
        outputs = needed.intersection(self._depends)
        return frozenset[str]().union(*(self._depends[name] for name in outputs)) & active

    def dual(self, retained: Names) -> list[Block]:
        """Add the tangents of the retained registers to the block."""
        block = self.block
        pairs = zip(block.inputs, self._dx, strict=True)
        inputs = {tangent_name(name): dx for name, dx in pairs if name in retained}
        outputs = [name for name in block.outputs if name in retained]
        if not outputs:
            return [block]
        sized = zip(block.inputs, self._x, strict=True)
        direction = [inputs.get(tangent_name(name), SX.zeros(x.numel())) for name, x in sized]
        tangents = dict(zip(block.outputs, self._along(direction), strict=True))
        function = ca.Function(
            "straight",
            [*self._x, *inputs.values()],
            [*self._y, *(ca.densify(tangents[name]) for name in outputs)],
            {"cse": True, "allow_free": False},
        )
        written = (*block.outputs, *(tangent_name(name) for name in outputs))
        return [BasicBlock.of(function, (*block.inputs, *inputs), written)]


@dataclass(frozen=True)
class TangentSlice:
    """Slice and the slice of its tangent.

    If one of its two registers has a tangent, so has the other, even if it is zero.
    """

    block: Slice

    @property
    def _both(self) -> Names:
        return frozenset((self.block.array, self.block.slice))

    def dependents(self, active: Names) -> Names:
        """Return both registers if either is active, else none."""
        return self._both if self._both & active else frozenset()

    def dependencies(self, needed: Names, active: Names) -> Names:
        """Return the active ones of both registers if either is needed, else none."""
        return self._both & active if self._both & needed else frozenset()

    def dual(self, retained: Names) -> list[Block]:
        """Add the slice of the tangents, if they are retained."""
        block = self.block
        tangent = replace(block, array=tangent_name(block.array), slice=tangent_name(block.slice))
        return [block, tangent] if self._both <= retained else [block]

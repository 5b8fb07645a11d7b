"""A program's derivative along a direction, as a program.

Beside each register that depends on what is varied stands another, its tangent; a straight block
becomes one that computes its outputs' tangents too, by the chain rule, and loops go round as often
as before. So each world is differentiated through the branches it takes: exact wherever the step is
smooth there, and one-sided where it switches. Worlds differ in direction: a Jacobian's columns lie
in the lanes.
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
    Block,
    ColdLoop,
    Register,
    Slice,
    Straight,
    While,
    with_cold_loops,
)
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import GUESS

Names = frozenset[str]
ENTERED = "~entered"  # report: positive where a world would have entered a loop that was left out


def named(register: str) -> str:
    """The name of a register's tangent."""
    return f"d {register}"


def tangent(
    program: Program, along: Collection[str], of: Collection[str], whole: bool = True
) -> Program:
    """The program with the tangents of registers.

    along: states and parameters that are varied; their tangents say how, before a run
    of: states and reports whose tangents are wanted after it
    whole: whether cold loops are in it; else ENTERED says who would need them
    The program has a tangent of other states too if what is wanted depends on them: zero, before a
    run, unless they are varied. Raises ValueError for a program that counts cycles.
    """
    if program.sections:
        raise ValueError("a program that counts cycles has no tangent: a counter is no function")
    program = program.whole if whole else _without_later(program)
    blocks: dict[int, Chained | Sliced]
    blocks = {id(block): Chained(block) for block, _ in program.straights()}
    blocks |= {id(block): Sliced(block) for block in program.slices}
    # what depends on the one, and what the other depends on
    guessed = {r.name for r in program.registers if r.name.startswith(f"~{GUESS}")}
    active = _grown(
        frozenset(along),
        lambda found: found.union(*(b.reached(found) for b in blocks.values())) - guessed,
    )
    needed = _grown(
        active.intersection(of),
        lambda found: found.union(*(b.used(found, active) for b in blocks.values())),
    )
    # the registers, and the blocks
    kept = needed | active & frozenset(along)
    duals = [Register(named(r.name), r.size, r.kind) for r in program.registers if r.name in kept]

    def duals_of(body: tuple[Block, ...]) -> tuple[Block, ...]:
        found: list[Block] = []
        for block in body:
            if isinstance(block, While):
                found.append(replace(block, body=duals_of(block.body)))
            else:
                found += blocks[id(block)].dual(kept) if id(block) in blocks else [block]
        return tuple(found)

    registers = (*program.registers, *duals)
    return Program(f"{program.name}_tangent", registers, duals_of(program.blocks), program.tables)


def _without_later(program: Program) -> Program:
    """The program without cold loops that are not traced, but with ENTERED."""
    more, entered = SX.sym("more"), SX.sym("entered")
    either = ca.Function("either", [entered, more], [ca.fmax(entered, more)])
    none = Straight.of(ca.Function("none", [], [SX(0)]), (), (ENTERED,))

    def told(loop: ColdLoop) -> Block:
        return Straight.of(either, (ENTERED, loop.more), (ENTERED,))

    registers = (*program.registers, Register(ENTERED, 1, "report"))
    blocks = (none, *with_cold_loops(program.blocks, told))
    return Program(program.name, registers, blocks, program.tables)


def _grown(names: Names, more: Callable[[Names], Names]) -> Names:
    """The names, and more of them until there are no more."""
    while (found := more(names)) != names:
        names = found
    return names


class Chained:
    """A straight block and the chain rule."""

    def __init__(self, block: Straight) -> None:
        self.block = block
        function = block.function
        self._x = [SX.sym(name, function.size1_in(k)) for k, name in enumerate(block.inputs)]
        sized = zip(block.inputs, self._x, strict=True)
        self._dx = [SX.sym(named(name), x.numel()) for name, x in sized]
        self._y = function.call(self._x)

    @cached_property
    def _depends(self) -> dict[str, Names]:
        """By output: the inputs whose change changes it."""
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
        """The outputs' tangents along those of the inputs."""
        if not self._x or not self._y:
            return [SX.zeros(y.numel()) for y in self._y]
        dy = ca.jtimes(ca.vertcat(*self._y), ca.vertcat(*self._x), ca.vertcat(*dx))
        ends = [0, *np.cumsum([y.numel() for y in self._y]).tolist()]
        return [dy[a:b] for a, b in pairwise(ends)]

    def reached(self, active: Names) -> Names:
        """Outputs that change where these registers do."""
        return frozenset(name for name, inputs in self._depends.items() if inputs & active)

    def used(self, needed: Names, active: Names) -> Names:
        """Of these registers, the active ones that the tangents of the needed ones take."""
        outputs = needed.intersection(self._depends)
        return frozenset[str]().union(*(self._depends[name] for name in outputs)) & active

    def dual(self, kept: Names) -> list[Block]:
        """The block with the tangents of the registers that are kept."""
        block = self.block
        inputs = [(n, dx) for n, dx in zip(block.inputs, self._dx, strict=True) if n in kept]
        wanted = [name for name in block.outputs if name in kept]
        if not wanted:
            return [block]
        moved = {named(name): dx for name, dx in inputs}
        sized = zip(block.inputs, self._x, strict=True)
        still = [moved.get(named(name), SX.zeros(x.numel())) for name, x in sized]
        tangents = dict(zip(block.outputs, self._along(still), strict=True))
        function = ca.Function(
            "straight",
            [*self._x, *moved.values()],
            [*self._y, *(ca.densify(tangents[name]) for name in wanted)],
            {"cse": True, "allow_free": False},
        )
        outputs = (*block.outputs, *(named(name) for name in wanted))
        return [Straight.of(function, (*block.inputs, *moved), outputs)]


@dataclass(frozen=True)
class Sliced:
    """A slice and that of the tangents. Where a register's tangent is known, that of the other is
    too, be it zero.
    """

    block: Slice

    @property
    def _both(self) -> Names:
        return frozenset((self.block.whole, self.block.part))

    def reached(self, active: Names) -> Names:
        """As of `Chained`."""
        return self._both if self._both & active else frozenset()

    def used(self, needed: Names, active: Names) -> Names:
        """As of `Chained`."""
        return self._both & active if self._both & needed else frozenset()

    def dual(self, kept: Names) -> list[Block]:
        """The slice, and that of the tangents if they are kept."""
        block = self.block
        moved = replace(block, whole=named(block.whole), part=named(block.part))
        return [block, moved] if self._both <= kept else [block]

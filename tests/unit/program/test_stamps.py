"""Time stamps: none in a normal program; in a timed one the sections sum to the total."""

from __future__ import annotations

import re
from dataclasses import replace
from time import perf_counter

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest
from casadi import SX
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions
from tarsus.program.codegen import emit
from tarsus.program.codegen.layout import Target
from tarsus.program.ir import reference
from tarsus.program.ir.blocks import BasicBlock, Stamp, While
from tarsus.program.ir.program import CYCLES, Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import native, ptx
from tarsus.program.run.cycle_counter import seconds_per_cycle
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.step_program import step_program
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.substeps import Substeps

pytestmark = pytest.mark.usefixtures("optimized")
SECTIONS = {"controller", "rest", "M, h", "M^-1", "u_E"}


def two_parts(timed: bool, stamped: bool = True) -> Program:
    """A loop of x[1] rounds in one section, a loop of x[2] rounds in another."""
    b = Builder("two", timed)
    x = b.declare("x", 3)

    def rounds(value: SX, most: SX) -> SX:
        return b.loop(
            {"v": value, "k": SX(0)},
            lambda v: ({"v": 0.5 * v["v"] + 1, "k": v["k"] + 1}, v["k"] + 1 < most),
            10**6,
        )["v"]

    first = rounds(x[0], x[1])
    first = b.stamp("first", ca.sin(first)) if stamped else ca.sin(first)
    second = rounds(first, x[2])
    if stamped:
        b.stamp("second")
    return b.program(x=ca.vertcat(second, x[1], x[2]))


def started(simulation: tarsus.Simulation, program: Program) -> Worlds:
    """A world of the program at the simulation's start."""
    registers = initial_registers(simulation.plan, simulation.dt, {"q": simulation.q})
    return write_registers(Worlds(program, 1, lanes=1), registers)


@pytest.fixture(scope="module")
def trot() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah", controller="trot")


@pytest.fixture(scope="module")
def timed(trot: tarsus.Simulation) -> Program:
    return step_program(replace(trot.plan, timed=True))


def test_untimed_programs_have_no_stamps() -> None:
    bare, stamped = two_parts(timed=False, stamped=False), two_parts(timed=False)
    assert stamped.fingerprint == bare.fingerprint and stamped.registers == bare.registers
    assert emit.ir_text(stamped, Target(8)) == emit.ir_text(bare, Target(8))


@pytest.mark.slow
def test_the_step_is_timed_only_on_request(trot: tarsus.Simulation, timed: Program) -> None:
    assert (
        not any(isinstance(block, Stamp) for block in trot.program.blocks)
        and not trot.program.sections
    )
    assert (
        "readcyclecounter" not in emit.ir_text(trot.program, Target(1))
        and CYCLES not in trot.program.sizes
    )
    assert set(timed.sections) == SECTIONS and timed.sizes[CYCLES] == len(SECTIONS)


@pytest.mark.slow
def test_a_timed_step_is_the_same_step(trot: tarsus.Simulation, timed: Program) -> None:
    plain, stamped = started(trot, trot.program), started(trot, timed)
    for worlds in (plain, stamped):
        worlds.advance(40)
    for name in ("q", "u", "impulse", "tau"):
        np.testing.assert_allclose(stamped.get(name), plain.get(name), rtol=1e-8, atol=1e-8)


def test_cycles_of_a_loop_belong_to_its_section() -> None:
    worlds = Worlds(two_parts(timed=True), 3, lanes=1)
    worlds.set("x", [[1.0, 1e5, 5e4], [1.0, 1e5, 2e5], [1.0, 1.0, 1.0]])
    found = []
    for _ in range(7):
        worlds.advance()
        found.append(worlds.get(CYCLES))
    assert worlds.program.sections == ("first", "second", "rest")
    (first, second, rest), (_, fourfold, _), nearly_none = np.min(found, axis=0)
    assert first / second == pytest.approx(2, rel=0.2) and fourfold / second == pytest.approx(
        4, rel=0.2
    )
    assert (
        rest < 0.01 * first
        and (nearly_none[:2] < 0.01 * first).all()
        and (np.min(found, axis=0) > 0).all()
    )


def test_values_are_computed_in_their_section() -> None:
    """Between two readings of the counter are exactly the operations of the section: here a
    number of square roots.
    """
    b = Builder("roots", timed=True)
    x = b.declare("x", 12)
    for section, count in (("five", 5), ("none", 0), ("seven", 7)):
        roots = [ca.sqrt(x[k] + len(section)) for k in range(count)]
        x = b.stamp(section, ca.vertcat(*roots, *(x[k] for k in range(count, 12))))
    text = native.compile_to_assembly(b.program(x=x), Target(1))
    read = r"\brdtsc\b" if "rdtsc" in text else r"\bmrs\b.*cnt"
    pieces = [len(re.findall(r"\bv?f?sqrt\w*\b", piece)) for piece in re.split(read, text)]
    assert pieces == [0, 5, 0, 7, 0, 0]


@pytest.mark.slow
def test_the_sections_make_up_the_step(trot: tarsus.Simulation, timed: Program) -> None:
    """The same steps made twice: their sections' cycles, and the time of all of them by the
    system's clock.
    """
    worlds, tick, steps = started(trot, timed), seconds_per_cycle(), 400
    worlds.advance(100)
    kept = {register.name: worlds.get(register.name) for register in timed.of_kind("state")}

    def again(make) -> float:
        for name, value in kept.items():
            worlds.set(name, value)
        return make()

    def wall() -> float:
        began = perf_counter()
        worlds.advance(steps)
        return perf_counter() - began

    rounds = [
        (again(lambda: worlds.record(steps)[CYCLES].sum()) * tick, again(wall)) for _ in range(25)
    ]
    sections, whole = np.min(rounds, axis=0)
    assert sections / whole == pytest.approx(1, abs=0.08)


@pytest.mark.slow
def test_substeps_add_up(trot: tarsus.Simulation) -> None:
    """Eight steps in one: each section but the controller's takes about eight times as long."""
    found = []
    for n in (1, 8):
        simulation = tarsus.Simulation(
            "mini_cheetah", "compliant", Substeps(Midpoint(), n), dt=0.001
        )
        program = step_program(replace(simulation.plan, timed=True))
        cycles = started(simulation, program).record(200)[CYCLES][:, 0].min(axis=0)
        found.append(dict(zip(program.sections, cycles, strict=True)))
    for section in ("M, h", "M^-1", "u_E"):
        assert found[1][section] / found[0][section] == pytest.approx(8, rel=0.3)


def test_the_reference_writes_zeros() -> None:
    program = two_parts(timed=True)
    found = reference.run(
        program, {"x": [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]], CYCLES: np.full((2, 3), 7.0)}
    )
    assert not found[CYCLES].any()
    assert [type(block) for block in program.blocks if not isinstance(block, BasicBlock)] == [
        *(Stamp, While, Stamp, While, Stamp, Stamp)
    ]
    worlds = Worlds(program, 2, lanes=1)
    worlds.set("x", [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]])
    worlds.advance()
    np.testing.assert_allclose(worlds.get("x"), found["x"], rtol=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: Worlds(p, 8, lanes=8),
        lambda p: Worlds(p, 1, bits=32),
        lambda p: ptx.compile_to_ptx(p, 64),
    ],
    ids=["lanes", "float32", "gpu"],
)
def test_unsupported_targets_are_rejected(make) -> None:
    with refused(IncompatibleOptions, "lanes"):
        make(two_parts(timed=True))


@pytest.mark.parametrize(
    ("triple", "read"),
    [
        ("x86_64-unknown-linux-gnu", "rdtsc"),
        ("aarch64-unknown-linux-gnu", "mrs"),
        ("arm64-apple-macosx13", "mrs"),
    ],
)
def test_the_cycle_counter_works_on_other_processors(triple: str, read: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(emit.ir_text(two_parts(timed=True), Target(1)))
    module.triple = triple
    assembly = llvm.Target.from_triple(triple).create_target_machine(opt=2).emit_assembly(module)
    assert len(re.findall(rf"\t{read}\b", assembly)) == 4

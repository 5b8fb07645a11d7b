"""Vectors and constants are found from registers that point near them: at the same addresses, by
shorter instructions.
"""

from __future__ import annotations

import platform
import re
from functools import cache

import llvmlite.binding as llvm
import pytest
from helpers.bench import Bench

from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.program.codegen.idle_registers import is_call, leaves
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.short_addresses import (
    KEPT,
    REACH,
    STACK,
    VECTOR,
    WORTH,
    with_short_addresses,
)
from tarsus.program.run import machine, native
from tarsus.robots import mini_cheetah

LABEL = r"\.LCPI\d+_(\d+)"
MEMORY = re.compile(rf"(?:{LABEL}|(-?\d+))?\(%(\w+)\)")
BASES = {base: (base, 0) for base in (STACK, *KEPT, "rip")}  # "rip": from the first constant
POINTS = re.compile(rf"leaq\t(?:{LABEL}\+)?(-?\d+)\(%({'|'.join(BASES)})\), %(\w+)$")


def accesses(lines: list[str]) -> list[tuple[str, tuple[str, int] | None]]:
    """Each instruction on vectors, its address cut out, with from where and how far away it reads
    or writes. A register that points there holds so until code jumps or calls.
    """
    found, points = list[tuple[str, tuple[str, int] | None]](), dict(BASES)
    for line in lines:
        if told := POINTS.search(line):
            base, at = points[told[3]]
            points[told[4]] = base, at + int(told[2])
        elif leaves(line) or is_call(line):
            points = dict(BASES)
        elif "%zmm" in line:
            place = MEMORY.search(line)
            known = place is not None and place[3] in points
            where = None
            if place and known:
                base, at = points[place[3]]
                where = base, at + 8 * int(place[1] or 0) + int(place[2] or 0)
            found.append((MEMORY.sub("()", line) if known else line, where))
    return found


def function(*body: str) -> str:
    """A function of these instructions, behind what LLVM begins one with, and its constants."""
    constants = [f".LCPI0_{k}:\n\t.quad\t0x{k:016x}" for k in range(300)]
    opening = ["\tpushq\t%rbp", "\tmovq\t%rsp, %rbp", "\tsubq\t$65536, %rsp", "\tmovq\t%r8, %rbx"]
    closing = ["\tleaq\t-8(%rbp), %rsp", "\tpopq\t%rbp", "\tretq", ".Lfunc_end0:", ""]
    return "\n".join([*constants, "kernel:", *opening, ".LBB0_1:", *body, *closing])


def on_stack(count: int) -> list[str]:
    """Instructions on the first 800 vectors of the stack."""
    return [f"\tvfmadd231pd\t{VECTOR * (k % 800)}(%rsp), %zmm{k % 8}, %zmm1" for k in range(count)]


MANY = on_stack(2000)
ON_RECORD = [f"\tvaddpd\t{VECTOR * k}(%r12), %zmm1, %zmm1" for k in range(400)]
ON_CONSTANTS = [
    line
    for k in range(300)
    for line in (
        f"\tvbroadcastsd\t.LCPI0_{k}(%rip), %zmm2",
        f"\tvmulpd\t.LCPI0_{k}(%rip){{1to8}}, %zmm1, %zmm2",
    )
]
BEHIND = [f"\tvaddpd\t-{VECTOR * k}(%rbx), %zmm1, %zmm1" for k in range(REACH + 100, REACH + 200)]
LENT = {"r8", "r9", "r10", "r11", "rdi", "rsi", "rdx"}


def lent(written: str) -> set[str]:
    """The registers that point somewhere."""
    return {found[4] for line in written.split("\n") if (found := POINTS.search(line))}


@pytest.mark.parametrize(
    ("body", "used"),
    [
        pytest.param(
            [*MANY, "\tcallq\t*%rax", *MANY, "\tmovq\t8(%r9), %rcx", "\tjne\t.LBB0_1"],
            {"r8", "r10", "r11"},
            id="a call, a jump, a register that is taken",
        ),
        pytest.param(
            [*ON_RECORD, "\tmovq\t8(%rsp), %r12", *ON_RECORD], {"r8", "r9"}, id="another record"
        ),
        pytest.param(ON_CONSTANTS, {"r8", "r9"}, id="constants"),
        pytest.param(
            [*BEHIND, *(f"\tmovq\t%r{k}, %rax" for k in (8, 9, 10)), "\tcqto", *MANY],
            {"r11", "rdi", "rsi"},
            id="vectors before a register, and a register that is taken unnamed",
        ),
        pytest.param(
            [*MANY, *ON_RECORD, *ON_CONSTANTS, *MANY],
            {"r8", "r9", "r10", "r11", "rdi", "rsi", "rdx"},
            id="all of them",
        ),
    ],
)
def test_addresses_stay_what_they_were(body: list[str], used: set[str]) -> None:
    before, after = function(*body), with_short_addresses(function(*body))
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    assert lent(after) == used
    assert far(after) < 0.2 * far(before)


def far(written: str) -> int:
    """Instructions on vectors whose address takes four bytes."""
    places = [MEMORY.search(line) for line in written.split("\n") if "%zmm" in line]
    near = range(-VECTOR * REACH, VECTOR * REACH)
    return sum(
        place is not None and (place[3] == "rip" or int(place[2] or 0) not in near)
        for place in places
    )


@pytest.mark.parametrize("between", ["", "\tmovq\t8(%rsp), %r13"], ids=["", "another record"])
def test_a_register_with_an_argument_points_nowhere_until_the_call(between: str) -> None:
    given = ["\tmovq\t312(%rsp), %rsi", "\tleaq\t64(%rsp), %rdx", "\tmovl\t$200, %edi"]
    taken = ["\tmovq\t%r8, %rax", "\tmovq\t%r9, %rax", "\tmovq\t%r10, %rax", "\tmovq\t%r11, %rax"]
    body = [*taken, *MANY, *given, between, *MANY, "\tcallq\t*%rax", *MANY]
    before, after = function(*body), with_short_addresses(function(*body))
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    lines = after.split("\n")
    held = lines[lines.index(given[0]) : lines.index("\tcallq\t*%rax")]
    assert [line for line in held if re.search("%(rsi|rdx|[er]di)", line)] == given
    assert lent(after) == {"rsi", "rdx", "rdi"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(on_stack(REACH + WORTH - 1), id="too few to be worth a register"),
        pytest.param(["\tsubq\t$64, %rsp", *MANY, "\taddq\t$64, %rsp"], id="a stack that moves"),
        pytest.param(
            [*MANY, *(f"\tmovq\t%{name}, %rax" for name in sorted(LENT))], id="no register is free"
        ),
        pytest.param(["\tvmulpd\t40960(%rsp){1to8}, %zmm1, %zmm2"] * 99, id="numbers on the stack"),
    ],
)
def test_a_function_is_left_alone(body: list[str]) -> None:
    assert with_short_addresses(function(*body)) == function(*body)


@cache
def step_text() -> str:
    """Mini Cheetah's step for eight worlds."""
    program = Bench(mini_cheetah.describe(), Moreau(), controller=Trot()).program
    return native.ir_text(program, Target(8))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86's instructions")
def test_a_step_has_shorter_code_at_the_same_addresses() -> None:
    machine.compiler(True)  # LLVM knows the instructions
    maker = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu="skylake-avx512", opt=1, reloc="pic", codemodel="small"
    )
    made = llvm.parse_assembly(step_text())
    made.triple = maker.triple
    before = maker.emit_assembly(made)
    after = with_short_addresses(before)
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    sizes = [
        len(maker.emit_object(machine.of_assembly(written, maker))) for written in (before, after)
    ]
    assert sizes[1] < 0.93 * sizes[0]

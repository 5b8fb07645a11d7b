"""Vectors on the stack are found from windows: at the same addresses, by shorter instructions."""

from __future__ import annotations

import platform
import re
from functools import cache

import llvmlite.binding as llvm
import pytest
from helpers.bench import Bench

from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.short_addresses import REACH, VECTOR, WORTH, with_short_addresses
from tarsus.program.run import machine, native
from tarsus.robots import mini_cheetah

MEMORY = re.compile(r"(-?\d+)?\(%(\w+)\)")
POINTS = re.compile(r"leaq\t(-?\d+)\(%rsp\), %(r\d+)$")


def stack_accesses(lines: list[str]) -> list[tuple[str, int | None]]:
    """Each instruction on vectors with where on the stack it reads or writes, and with its address
    cut out; a register that points there holds so until something is called.
    """
    found, points = list[tuple[str, int | None]](), {"rsp": 0}
    for line in lines:
        if told := POINTS.search(line):
            points[told[2]] = int(told[1])
        elif line.lstrip().startswith("call"):
            points = {"rsp": 0}
        elif "%zmm" in line:
            place = MEMORY.search(line)
            held = place is not None and place[2] in points
            at = points[place[2]] + int(place[1] or 0) if place and held else None
            found.append((MEMORY.sub("()", line) if held else line, at))
    return found


def function(*body: str) -> str:
    """A function of these instructions, behind what LLVM begins one with."""
    opening = ["\tpushq\t%rbp", "\tmovq\t%rsp, %rbp", "\tsubq\t$65536, %rsp", "\tmovq\t%r8, %rbx"]
    closing = ["\tleaq\t-8(%rbp), %rsp", "\tpopq\t%rbp", "\tretq", ".Lfunc_end0:", ""]
    return "\n".join(["kernel:", *opening, ".LBB0_1:", *body, *closing])


MANY = [
    f"\tvfmadd231pd\t{VECTOR * (k % 800)}(%rsp), %zmm{k % 8}, %zmm1" for k in range(9 * WORTH + 450)
]


def test_addresses_stay_what_they_were() -> None:
    """Through a call and a jump; r9 is in use, so that it points nowhere."""
    broadcast = "\tvmulpd\t40960(%rsp){1to8}, %zmm1, %zmm2"
    body = [*MANY, "\tcallq\t*%rax", *MANY, "\tmovq\t8(%r9), %rcx", broadcast, "\tjne\t.LBB0_1"]
    before, after = function(*body), with_short_addresses(function(*body))
    assert stack_accesses(after.split("\n")) == stack_accesses(before.split("\n"))
    assert broadcast in after
    assert {found[1] for found in re.finditer(r"leaq\t\d+\(%rsp\), %(r\d+)", after)} == {
        "r8",
        "r10",
        "r11",
    }
    far = [int(place[1] or 0) for place in MEMORY.finditer("\n".join(MANY))]
    near = [
        int(place[1] or 0)
        for line in after.split("\n")
        if line.startswith("\tvfm") and (place := MEMORY.search(line))
    ]
    assert sum(d >= VECTOR * REACH for d in far) > 0.8 * len(far)
    assert all(-VECTOR * REACH <= d < VECTOR * REACH for d in near)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(MANY[: WORTH // 2], id="too few to be worth a register"),
        pytest.param(["\tsubq\t$64, %rsp", *MANY, "\taddq\t$64, %rsp"], id="a stack that moves"),
        pytest.param(
            [*MANY, *(f"\tmovq\t%r{k}d, %rax" for k in (8, 9, 10, 11))], id="no register is free"
        ),
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
    assert stack_accesses(after.split("\n")) == stack_accesses(before.split("\n"))
    sizes = [
        len(maker.emit_object(machine.of_assembly(written, maker))) for written in (before, after)
    ]
    assert sizes[1] < 0.93 * sizes[0]

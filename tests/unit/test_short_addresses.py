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
from tarsus.program.codegen.idle_registers import PARTS, is_call, leaves
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.short_addresses import (
    ALWAYS_LONG,
    REACH,
    WORTH,
    size_of,
    with_short_addresses,
)
from tarsus.program.run import machine, native
from tarsus.robots import mini_cheetah

LABEL = r"(\.LCPI\d+_\d+)"
MEMORY = re.compile(rf"(?:{LABEL}|(-?\d+))?\(%(\w+)\)")
POINTS = re.compile(rf"leaq\t(?:{LABEL})?\+?(-?\d+)\(%(\w+)\), %(\w+)$")
KEPT = ("rbx", "r13", "r14", "r15")  # by who is called
BYTES = {".quad": 8, ".long": 4}
VECTOR = 64  # bytes


def constants(lines: list[str]) -> dict[str, tuple[str, int]]:
    """In which section constants lie, and where in it, in bytes."""
    found, section, at = dict[str, tuple[str, int]](), "", 0
    for line in lines:
        word = line.split()
        if word and word[0] in (".section", ".text"):
            section, at = line, 0
        elif line.startswith(".LCPI"):
            found[line[:-1]] = section, at
        elif word and word[0] in BYTES:
            at += BYTES[word[0]]
    return found


def accesses(lines: list[str]) -> list[tuple[str, tuple[str, int] | None]]:
    """Each instruction on numbers, its address cut out, with from where and how far away it reads
    or writes. A register that points there holds so until code jumps or calls.
    """
    found, points = list[tuple[str, tuple[str, int] | None]](), dict[str, tuple[str, int]]()
    labels = constants(lines)
    for line in lines:
        if (told := POINTS.search(line)) and line not in OWN:
            base, at = labels.get(told[1]) or points.get(told[3], (told[3], 0))
            points[told[4]] = base, at + int(told[2])
        elif leaves(line):
            points = {}
        elif is_call(line):
            points = {name: own for name, own in points.items() if name in KEPT}
        elif written := re.search(r"%([er]\w+)$", line):
            points.pop(re.sub("^e", "r", written[1]), None)
        elif "mm" in line:
            line, where = line.replace("{evex} ", "").replace(" ", ""), None
            if place := MEMORY.search(line):
                base, at = labels.get(place[1]) or points.get(place[3], (place[3], 0))
                where = base, at + int(place[2] or 0)
            found.append((MEMORY.sub("()", line).replace("\t", ""), where))
    return found


def function(*body: str) -> str:
    """A function of these instructions, behind what LLVM begins one with, and its constants."""
    constants = [f".LCPI0_{k}:\n\t.quad\t0x{k:016x}" for k in range(300)]
    opening = ["\tpushq\t%rbp", "\tmovq\t%rsp, %rbp", "\tpushq\t%rbx", "\tsubq\t$65536, %rsp"]
    closing = ["\tleaq\t-8(%rbp), %rsp", "\tpopq\t%rbx", "\tpopq\t%rbp", "\tretq", ".Lfunc_end0:"]
    return "\n".join([*constants, "kernel:", *opening, ".LBB0_1:", *body, *closing, ""])


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
NUMBERS = [
    line
    for k in range(0, 900, 2)
    for line in (
        f"\tvmovsd\t%xmm{k % 16}, {8 * k}(%rsp)",
        f"\tvfmadd213sd\t{8 * k + 8}(%rsp), %xmm3, %xmm{16 + k % 16}",
        f"\tvmovapd\t{16 * k}(%rsp), %xmm4",
        f"\tvcmpltsd\t{8 * k}(%rsp), %xmm1, %k1",
        "\tvmovsd\t%xmm1, %xmm2, %xmm3",
    )
]
SINGLE = [f"\tvaddss\t{4 * k}(%rbx), %xmm1, %xmm2" for k in range(600)]
BEHIND = [f"\tvaddpd\t-{VECTOR * k}(%rbx), %zmm1, %zmm1" for k in range(REACH + 100, REACH + 200)]
TAKEN = [f"\tmovq\t%{name}, 8(%rsp)" for name in PARTS]
OWN = {"\tleaq\t64(%rsp), %rdx", "\tleaq\t-8(%rbp), %rsp"}  # no windows


def lent(written: str) -> set[str]:
    """The registers that point somewhere."""
    lines = (line for line in written.split("\n") if line not in OWN)
    return {found[4] for line in lines if (found := POINTS.search(line))}


@pytest.mark.parametrize(
    ("body", "fewer"),
    [
        pytest.param(
            [*MANY, "\tcallq\t*%rax", *MANY, "\tmovq\t8(%r9), %rcx", "\tjne\t.LBB0_1"],
            {"rax", "rdi", "rsi", "rdx", "r9", "r12", "r13", "r14", "r15"},
            id="a call, a jump, a register that is taken",
        ),
        pytest.param(
            [*ON_RECORD, "\tmovq\t8(%rsp), %r12", *ON_RECORD], {"r12"}, id="another record"
        ),
        pytest.param(ON_CONSTANTS, set(), id="constants"),
        pytest.param([*NUMBERS, *NUMBERS], set(), id="numbers and pairs of them"),
        pytest.param(
            [*SINGLE, "\tmovq\t%r8, %rbx", *SINGLE, "\tcqto", *SINGLE],
            {"rbx"},
            id="numbers of four bytes, of three records",
        ),
        pytest.param(
            [*BEHIND, *TAKEN[:6], "\tcqto", *MANY],
            {"rax"},
            id="vectors before a register, and a register that is taken unnamed",
        ),
        pytest.param([*MANY, *ON_RECORD, *ON_CONSTANTS, *MANY], {"r12"}, id="all of them"),
    ],
)
def test_addresses_stay_what_they_were(body: list[str], fewer: set[str]) -> None:
    """Registers that hold something are not lent, nor those that who called wants back."""
    before, after = function(*body), with_short_addresses(function(*body), 3)
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    assert lent(after) and not lent(after) & {"rbp", "rsp", *fewer}
    assert far(after) < 0.25 * far(before)


def far(written: str) -> int:
    """Instructions on numbers whose address takes four bytes."""
    places = [(line, MEMORY.search(line)) for line in written.split("\n") if "mm" in line]
    return sum(
        place is not None
        and (place[3] == "rip" or not -REACH <= int(place[2] or 0) / counted(line) < REACH)
        for line, place in places
    )


def counted(line: str) -> int:
    """The bytes that an address of one byte counts in."""
    return size_of(line.replace("{evex} ", "")) if ALWAYS_LONG.search(line) else 1


@pytest.mark.parametrize("between", ["", "\tmovq\t8(%rsp), %r13"], ids=["", "another record"])
def test_a_register_with_an_argument_points_nowhere_until_the_call(between: str) -> None:
    given = ["\tmovq\t312(%rsp), %rsi", "\tleaq\t64(%rsp), %rdx", "\tmovl\t$200, %edi"]
    others = [line for line in TAKEN if not re.search("%r(si|di|dx)", line)]
    body = [*MANY, *given, between, *MANY, *others, "\tcallq\t*%rax", *MANY, *others]
    before, after = function(*body), with_short_addresses(function(*body), 3)
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    lines = after.split("\n")
    held = lines[lines.index(given[0]) : lines.index("\tcallq\t*%rax")]
    assert [line for line in held if re.search("%(rsi|rdx|[er]di)", line)] == given
    assert lent(after) - {"r13"} == {"rsi", "rdi", "rdx"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(on_stack(REACH + WORTH // 4 - 1), id="too few to be worth a register"),
        pytest.param(["\tsubq\t$64, %rsp", *MANY, "\taddq\t$64, %rsp"], id="a stack that moves"),
        pytest.param([*MANY, *TAKEN, "\tjmpq\t*%rax"], id="no register is free"),
        pytest.param(["\tvmovhpd\t40960(%rsp), %xmm1, %xmm2"] * 99, id="half of a pair"),
    ],
)
def test_a_function_is_left_alone(body: list[str]) -> None:
    assert with_short_addresses(function(*body), 3) == function(*body)


@cache
def step_text(lanes: int) -> str:
    """Mini Cheetah's step for so many worlds."""
    program = Bench(mini_cheetah.describe(), Moreau(), controller=Trot()).program
    return native.ir_text(program, Target(lanes))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86's instructions")
@pytest.mark.parametrize(("lanes", "left"), [(1, 0.85), (8, 0.9)])
def test_a_step_has_shorter_code_at_the_same_addresses(lanes: int, left: float) -> None:
    machine.compiler(True)  # LLVM knows the instructions
    maker = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu="skylake-avx512", opt=1, reloc="pic", codemodel="small"
    )
    made = llvm.parse_assembly(step_text(lanes))
    made.triple = maker.triple
    before = maker.emit_assembly(made)
    after = with_short_addresses(before, 3)
    assert accesses(after.split("\n")) == accesses(before.split("\n"))
    sizes = [
        len(maker.emit_object(machine.of_assembly(written, maker))) for written in (before, after)
    ]
    assert sizes[1] < left * sizes[0]

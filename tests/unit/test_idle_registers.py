"""Where registers hold nothing that is read: they may be lent there."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.program.codegen.idle_registers import idle_registers
from tarsus.program.codegen.short_addresses import FUNCTION, OPENING
from tarsus.program.run import machine, native

SET = "\tsete\t%al"
READ = "\tkmovd\t%eax, %k1"
NEXT = "\tvaddpd\t%zmm0, %zmm1, %zmm1"
CALL = "\tcallq\t*%r11"
HOME = ["\tpopq\t%rbx", "\tretq"]


def idle(name: str, *lines: str, handed: int = 6) -> list[int]:
    """The lines before which a register holds nothing, but those that name it."""
    spans = [own for own in idle_registers(list(lines), handed) if own.register == name]
    return sorted(k for own in spans for k in range(own.first, own.end))


def test_what_is_read_was_held_since_it_was_written() -> None:
    lines = [NEXT, "\tmovq\t8(%rsp), %r10", NEXT, "\tmovq\t%r10, 16(%rsp)", NEXT, *HOME]
    assert idle("r10", *lines) == [0, 4, 5, 6]
    lines = [NEXT, "\taddq\t$8, %r10", NEXT, "\tmovq\t%r10, 16(%rsp)", NEXT, *HOME]
    assert idle("r10", *lines) == [4, 5, 6]
    lines = [NEXT, "\tvaddpd\t64(%r10), %zmm1, %zmm1", NEXT, *HOME]
    assert idle("r10", *lines) == [2, 3, 4]


def test_who_called_wants_its_own_back() -> None:
    assert idle("rbx", NEXT, *HOME) == [0]
    assert idle("rbx", NEXT, "\tretq") == []
    assert idle("rax", NEXT, *HOME) == []
    assert idle("rcx", NEXT, *HOME) == [0, 1, 2]


def test_a_call_takes_arguments_and_leaves_nothing() -> None:
    lines = [NEXT, "\tmovl\t$1, %edx", NEXT, CALL, NEXT, *HOME]
    assert idle("rdx", *lines) == [0]
    assert idle("rcx", *lines) == [4, 5, 6]
    assert idle("rcx", *lines, handed=3) == [0, 1, 2, 4, 5, 6]
    assert idle("r11", *lines) == [4, 5, 6]
    assert idle("r10", *lines) == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("line", ["\tcqto", "\tidivq\t%rsi", "\tcpuid", "\trep\tstosq"])
def test_what_is_taken_unnamed_is_held(line: str) -> None:
    lines = ["\tmovl\t$1, %edx", NEXT, line, "\tmovl\t$1, %eax", *HOME]
    assert idle("rdx", *lines) == []


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        pytest.param(
            ["\txorl\t%eax, %eax", NEXT, SET, READ], {0, 1, 2, 3}, id="its rest is prepared"
        ),
        pytest.param([READ, NEXT, SET, READ], {0, 2, 3}, id="read before, so that nothing waits"),
        pytest.param([CALL, NEXT, SET, READ], {0, 2, 3}, id="lost in a call"),
        pytest.param([SET, NEXT, SET, READ], {0, 1, 2, 3}, id="two bytes, one after the other"),
        pytest.param(["\tmovb\t$1, %al", READ], {0, 1}, id="a byte that is moved"),
        pytest.param(
            [READ, "\tjne\t.L1", "\txorl\t%eax, %eax", ".L1:", NEXT, SET, READ],
            {0, 1, 2, 3, 4, 5, 6},
            id="prepared on one of two ways",
        ),
        pytest.param(
            [READ, "\tjne\t.L1", "\tmovl\t%ecx, 8(%rsp)", ".L1:", NEXT, SET, READ],
            {0, 5, 6},
            id="prepared on no way",
        ),
        pytest.param(
            [READ, "\tjmpq\t*%rcx", ".L1:", NEXT, SET, READ],
            {0, 1, 2, 3, 4, 5},
            id="who jumps here is not known",
        ),
    ],
)
def test_a_byte_that_is_written_leaves_the_rest(lines: list[str], taken: set[int]) -> None:
    found = idle("rax", *lines, "\tmovl\t$1, %eax", *HOME)
    assert set(range(len(lines))) - set(found) == taken


def test_around_a_loop_nothing_is_lost() -> None:
    lines = [
        "\tmovl\t$8, %ecx",
        ".L1:",
        NEXT,
        "\tdecq\t%rcx",
        "\tvaddpd\t(%r8), %zmm1, %zmm1",
        "\tjne\t.L1",
        NEXT,
        *HOME,
    ]
    assert idle("rcx", *lines) == [6, 7, 8]
    assert idle("r8", *lines) == [6, 7, 8]
    assert idle("r9", *lines) == list(range(9))


def garbled(assembly: str, handed: int, count: list[int]) -> str:
    """A module whose registers hold what nobody wants wherever they may hold anything."""

    def function(found: re.Match[str]) -> str:
        lines = found[2].split("\n")
        kept = ("rbx", "rbp", "r12", "r13", "r14", "r15")
        saved = {name for name in kept if f"\tpushq\t%{name}" in lines}
        opened = next((k for k, line in enumerate(lines) if OPENING.match(line)), len(lines))
        spans = [
            own
            for own in idle_registers(lines, handed)
            if own.first > opened and (own.register not in kept or own.register in saved)
        ]
        for own in sorted(spans, key=lambda own: -own.first):
            lines.insert(own.first, f"\tmovabsq\t$0x5a5a5a5a5a5a5a5a, %{own.register}")
        count[0] += len(spans)
        return f"{found[1]}:\n" + "\n".join(lines)

    return FUNCTION.sub(function, assembly)


def fallen(worlds: int) -> np.ndarray:
    """The state of Mini Cheetahs that trot, thrown at first."""
    simulation = tarsus.Simulation("mini_cheetah", controller="trot", worlds=worlds)
    drawn = np.random.default_rng(0).normal(size=(worlds, simulation.robot.nu))
    simulation.set(u=0.5 * (drawn if worlds > 1 else drawn[0]))
    simulation.advance(0.3)
    return simulation.state()


@pytest.mark.skipif(
    sys.platform != "linux" or machine.host().vector_bits != 512, reason="addresses stay long"
)
@pytest.mark.parametrize("worlds", [1, 9])
def test_a_step_needs_nothing_of_what_registers_are_said_not_to_hold(
    worlds: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TARSUS_OPTIMIZE", "1")
    wanted, count = fallen(worlds), [0]
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "_loaded", {})
    monkeypatch.setattr(machine, "with_short_addresses", partial(garbled, count=count))
    assert fallen(worlds).tobytes() == wanted.tobytes()
    assert count[0] > 100

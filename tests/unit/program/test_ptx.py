"""The GPU kernel as text, generated without a GPU; with ptxas, its registers and spills are
limited.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from casadi import SX
from helpers.patched_code import forget_programs
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions
from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.kernels import GpuThreads
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.trace import Builder
from tarsus.program.lowering.schedule import schedule_on_demand
from tarsus.program.lowering.spill import Memory, spill_values
from tarsus.program.lowering.tape import Node, Tape
from tarsus.program.run import ptx
from tarsus.program.run.cuda import CHIPS
from tarsus.stepping import fast_motion
from tarsus.terrain.heightfield import HeightField

# bytes a thread of Mini Cheetah's trot on hard ground stores to and loads from its own memory,
# spills and what the tape says itself (float64: 46320, 75932; 44024, 73244 before gaps were closed
# to round-off, one constant more; before stops and dry friction as rows
# of the contact problem were asked for twice, in a loop of two rounds, 37680, 66486, and float32
# 11892, 20788; before they could be rows at all 7124, 12876 and 24960, 44924; before joints had
# limits and dry friction in the step 2868, 5020 and 8192, 16088: docs/decisions/0011)
LIMITS = {32: (12500, 21900), 64: (48600, 79700)}
# the same with the branch for joints that turn fast, which worlds enter rarely (float64 59836,
# 98904; before 16032, 27240 and 53328, 92108, and before that 11260, 19548 and 38220, 67472)
LIMITS_WITH_BRANCH = {32: (16900, 28700), 64: (62800, 103800)}


@pytest.fixture(scope="module")
def program():
    return tarsus.Simulation("mini_cheetah", controller="trot").program


@pytest.fixture(scope="module")
def usual_program():
    """The same step without the branch for joints that turn fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_motion, "turns_fast", lambda *_: SX(0))
        forget_programs(patch)
        return tarsus.Simulation("mini_cheetah", tarsus.Moreau(), controller="trot").program


def test_a_kernel_has_one_world_per_thread(program) -> None:
    text = ptx.compile_to_ptx(program)
    assert ".visible .entry kernel(" in text and ".target sm_90" in text
    assert "ld.global" in text and "fma.rn.f32" in text
    assert (
        ".approx" not in text and ".ftz" not in text
    )  # divisions and roots round as on a processor
    assert ".extern" not in text  # nothing is left for a library of NVIDIA's
    called = set(re.findall(r"call\.uni\s+(?:\(.*?\),\s*)?(\w+),", text))
    assert called and all(name.startswith("kernel_cold") for name in called)
    assert text.count("call.uni") == len(called)


@pytest.mark.slow
def test_operations_round_separately_unless_fused_explicitly(program) -> None:
    for bits, scalar in ((32, "float"), (64, "double")):
        text, ir = (
            ptx.compile_to_ptx(program, bits),
            Emitter(program, Target(1, bits), GpuThreads()).text(),
        )
        arithmetic = re.findall(r"\s(?:add|sub|mul|div|fma|rcp|sqrt)\.(\S*)f(?:32|64)\s", text)
        assert len(arithmetic) > 1000 and set(arithmetic) == {"rn."}
        assert 1000 < text.count("fma.rn.") <= ir.count(f"call {scalar} @llvm.fma.")


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize(
    "chip",
    [
        pytest.param(f"sm_{chip}", marks=() if chip == min(CHIPS) else pytest.mark.slow)
        for chip in CHIPS
    ],
)
def test_every_chip_s_kernel_assembles(chip: str) -> None:
    flying = tarsus.Simulation("mini_cheetah", contacts=[]).program
    assert ptx.resources(ptx.compile_to_ptx(flying, 32, chip), chip) is not None


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
def test_slow_assemblers_are_terminated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole robot's kernel takes it many minutes; its files go with it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    b = Builder("small")
    text = ptx.compile_to_ptx(b.program(y=b.parameter("x") ** 2))
    with pytest.raises(TimeoutError, match="1e-06 s"):
        ptx.resources(text, seconds=1e-6)
    assert not list(tmp_path.iterdir()) and ptx.resources(text, seconds=60.0) is not None


def test_tables_too_long_for_float32_indices_are_rejected() -> None:
    b = Builder("long")
    program = b.program(y=b.lookup("long", np.zeros((1 << 24) + 2), b.parameter("x")))
    with refused(IncompatibleOptions, "precision") as caught:
        ptx.compile_to_ptx(program, 32)
    assert "16777218" in str(caught.value)
    assert "ld.global" in ptx.compile_to_ptx(program, 64)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("which", ["usual_program", "program"])
def test_register_spills_stay_within_limits(
    which: str, bits: int, request: pytest.FixtureRequest
) -> None:
    limits = LIMITS if which == "usual_program" else LIMITS_WITH_BRANCH
    found, (stores, loads) = (
        ptx.resources(ptx.compile_to_ptx(request.getfixturevalue(which), bits)),
        limits[bits],
    )
    assert found is not None
    assert found.registers <= 255 and found.code > 0
    assert found.planned_stores > 0 and found.spill_stores + found.planned_stores <= stores
    assert found.planned_loads > 0 and found.spill_loads + found.planned_loads <= loads


@pytest.mark.slow
def test_terrain_tables_are_read_in_the_kernel() -> None:
    heights = np.random.default_rng(0).uniform(0, 0.02, size=(20, 30))
    sim = tarsus.Simulation("mini_cheetah", terrain=HeightField(heights), controller="trot")
    assert sim.program.tables
    text = ptx.compile_to_ptx(sim.program)
    assert (
        "ld.global.b32" in text and "ld.b32" not in text
    )  # by pointers to global memory, not generic ones
    assert shutil.which("ptxas") is None or ptx.resources(text)


def test_scheduling_on_demand_keeps_few_values_alive() -> None:
    n = 40
    nodes = [Node("input", (), slot=(0, k)) for k in range(n)] + [
        Node("sq", (k,)) for k in range(n)
    ]
    nodes += [Node("add", (n if k == 1 else 2 * n + k - 2, n + k)) for k in range(1, n)]
    t = Tape(nodes, [((0, 0), len(nodes) - 1), ((1, 0), n + 7)])
    ordered = schedule_on_demand(t)
    assert alive(t) >= n and alive(ordered) <= 4
    assert ordered.operation_counts() == t.operation_counts()
    x = np.random.default_rng(1).normal(size=n)
    assert value(ordered, x) == value(t, x)


@pytest.mark.parametrize("again", [[], [0]])
@pytest.mark.parametrize("early", [[], [0]])
def test_register_allocation_preserves_the_meaning_of_a_tape(
    again: list[int], early: list[int]
) -> None:
    random, n = np.random.default_rng(3), 40
    nodes = [Node("input", (), slot=(0, k)) for k in range(n)]
    nodes += [
        Node("add", (int(random.integers(k)), int(random.integers(max(k - 60, 0), k))))
        for k in range(n, 300)
    ]
    outputs = [((0, k), 299 - 9 * k) for k in range(8)] + [((0, 8), 3), ((0, 9), 299)]
    t, x = Tape(nodes, outputs), random.normal(size=n)
    tight = spill_values(t, 12, Memory(again, early, 1))
    assert (
        alive(t) > 40 and alive(Tape(tight.nodes, [])) <= 12 + 1
    )  # the result beside what is held
    kinds = {node.op for node in tight.nodes}
    assert {"store", "reload"} <= kinds and ("again" in kinds) == bool(again)
    assert bool(early) == (len(tight.outputs) < len(outputs))
    assert results(tight, x) == results(t, x)
    assert spill_values(t, 50, Memory([], [], 1)).operation_counts() == t.operation_counts()


def results(t: Tape, x: np.ndarray) -> dict[tuple[int, int], float]:
    """Values that a tape of sums leaves in argument 0, including its early stores."""
    memory: dict[tuple[int, int], float] = {}
    found: list[float] = []
    for node in t.nodes:
        if node.op == "store":
            memory[node.slot] = found[node.args[0]]
        read = memory if node.op == "reload" else {(0, k): value for k, value in enumerate(x)}
        found.append(sum(found[a] for a in node.args) if node.args else read[node.slot])
    memory |= {place: found[k] for place, k in t.outputs}
    return {place: value for place, value in memory.items() if place[0] == 0}


def value(t: Tape, x: np.ndarray) -> list[float]:
    """The outputs of a tape of squares and sums."""
    found: list[float] = []
    for node in t.nodes:
        args = [found[a] for a in node.args]
        found.append(
            x[node.slot[1]]
            if node.op == "input"
            else args[0] ** 2
            if node.op == "sq"
            else sum(args)
        )
    return [found[k] for _, k in t.outputs]


def alive(t: Tape) -> int:
    """Largest number of live values in the order of the tape; constants and unused values do
    not count.
    """
    uses = t.use_counts()
    last = {a: k for k, node in enumerate(t.nodes) if uses[k] for a in node.args}
    last |= {k: len(t.nodes) for _, k in t.outputs}
    change = np.zeros(len(t.nodes) + 2, int)
    for born, dead in ((b, d) for b, d in last.items() if t.nodes[b].op != "const"):
        change[born] += 1
        change[dead + 1] -= 1
    return int(change.cumsum().max())

"""The hot path is optimized ahead of time; the cold path when first needed, for batches and if
it is small.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from tarsus.program.codegen.kernels import ColdShell, LaneGroups
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import native, tiers
from tarsus.program.run.machine import create_target_machine
from tarsus.program.run.worlds import Worlds

LINKER = native._create_jit.__wrapped__


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process that has loaded nothing, with the default tiers."""
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(tiers.OPTIMIZE, raising=False)
    monkeypatch.setattr(native, "_loaded", {})
    create_target_machine(True)
    linker = LINKER()
    monkeypatch.setattr(native, "_create_jit", lambda: linker)
    return tmp_path / "cache"


def halving(operations: int) -> Program:
    """x grows; beyond 5 a cold loop of so many operations, and some more, halves it."""
    b = Builder("halving")
    x = b.declare("x", 1)

    def halved(values: Values) -> tuple[Values, ca.SX]:
        half = values["x"] / 2
        for _ in range(operations):
            half = half / (1 + 1e-9 * half)
        return {"x": half}, ca.SX(0)

    start: Values = {"x": x + ca.exp(-x * x) + 0.1}
    return b.program(x=b.loop(start, halved, 1, x >= 5, cold=True)["x"])


def compiled(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.o")}


def expected(program: Program, worlds: Worlds, *, kernel: bool, cold: bool) -> set[str]:
    """Names of the code of a program that is optimized so."""
    key = native.KernelBuild(program, worlds.target, LaneGroups(), kernel).key
    part, shared = program.cold_program(0), program.shared_temporaries(0)
    own = native._key(part, worlds.target, ColdShell(), cold, shared)
    return {f"{key}.o", f"{own}.0.o"}


LARGE = 2 * tiers.SMALL


@pytest.mark.parametrize(
    ("asked", "lanes", "operations", "kernel", "cold"),
    [
        (None, 1, LARGE, True, False),
        (None, 1, 10, True, True),
        (None, 4, LARGE, True, True),
        ("1", 1, LARGE, True, True),
        ("0", 4, 10, False, False),
    ],
)
def test_optimized_code_is_selected_by_use(
    asked: str | None,
    lanes: int,
    operations: int,
    kernel: bool,
    cold: bool,
    own_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if asked:
        monkeypatch.setenv(tiers.OPTIMIZE, asked)
    program = halving(operations)
    worlds = Worlds(program, lanes, lanes=lanes)
    worlds.compile_ahead()
    assert compiled(own_cache) == expected(program, worlds, kernel=kernel, cold=cold)


def test_few_runs_do_not_trigger_optimization(own_cache: Path) -> None:
    program = halving(10)
    worlds = Worlds(program, 4, lanes=4, quick=True)
    worlds.compile_ahead()
    assert compiled(own_cache) == expected(program, worlds, kernel=False, cold=False)


def test_all_tiers_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    program, begin, ends = halving(LARGE), np.linspace(0.0, 7.0, 12)[:, None], set[bytes]()
    for asked in (None, "0", "1"):
        for lanes in (1, 4):
            with monkeypatch.context() as patch:
                patch.setattr(native, "_loaded", {})
                if asked:
                    patch.setenv(tiers.OPTIMIZE, asked)
                worlds = Worlds(program, 12, lanes=lanes)
                worlds.set("x", begin)
                worlds.advance(100)
                ends.add(worlds.get("x").tobytes())
    assert len(ends) == 1


def test_speed_measurements_optimize_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not tiers.optimizes_cold(1, LARGE)
    monkeypatch.setenv(tiers.OPTIMIZE, "")  # taken back after the test
    monkeypatch.delenv(tiers.OPTIMIZE)
    tiers.optimize_everything()
    assert tiers.optimizes_cold(1, LARGE)

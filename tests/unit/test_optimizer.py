"""Large programs run at once, not optimized, and optimized when a process beside has made the code;
the bits are the same.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import casadi as ca
import numpy as np
import pytest

from tarsus.program.codegen.kernels import LaneGroups, SeldomLoop
from tarsus.program.codegen.on_entry import NAME
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import cache as disk
from tarsus.program.run import native, optimizer
from tarsus.program.run.machine import compiler
from tarsus.program.run.worlds import Worlds

PATIENCE = 60.0  # s, for a process that takes one
LINKER = native._jit.__wrapped__


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a session that has loaded nothing yet, where all programs are large."""
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(optimizer.OPTIMIZE, raising=False)
    monkeypatch.setattr(optimizer, "LARGE", 0)
    monkeypatch.setattr(optimizer, "usable_cores", lambda: 2)
    monkeypatch.setattr(native, "_loaded", {})
    compiler(True)
    linker = LINKER()
    monkeypatch.setattr(native, "_jit", lambda: linker)
    return tmp_path / "cache"


def rare(name: str = "rare") -> Program:
    """x grows; beyond 5 it is halved by a loop that seldom runs."""
    b = Builder(name)
    x = b.declare("x", 1)
    start: Values = {"x": x + ca.exp(-x * x) + 0.1}
    back = b.loop(start, lambda v: ({"x": v["x"] / 2}, ca.SX(0)), 1, x >= 5, seldom=True)
    return b.program(x=back["x"])


def kernels(folder: Path) -> list[str]:
    return [file.name for file in folder.glob("*.o") if file.name.count(".") == 1]


def after(worlds: Worlds, steps: int) -> bytes:
    worlds.advance(steps)
    return worlds.get("x").tobytes()


def test_optimized_code_takes_over_with_the_same_bits(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # code that is not optimized, then half of the steps with either; none is optimized here
    monkeypatch.setattr(optimizer, "compiled", None)
    program, begin = rare(), np.linspace(0.0, 7.0, 12)[:, None]
    worlds = Worlds(program, 12)
    worlds.set("x", begin)
    quick = native.Build(program, worlds.target, LaneGroups(), False).key
    assert kernels(own_cache) == [f"{quick}.o"]
    middle = after(worlds, 200)
    (job,) = optimizer._pending
    worlds.compile_ahead()
    assert job.done.is_set() and not optimizer._pending
    loop = next(own_cache.glob("*.0.o")).stat().st_mtime_ns
    assert len(kernels(own_cache)) == 2
    end = after(worlds, 200)
    # its loop was compiled once, and all is as it is if it is optimized first
    assert [file.stat().st_mtime_ns for file in own_cache.glob("*.0.o")] == [loop]
    monkeypatch.setattr(native, "_loaded", {})
    other = Worlds(program, 12)
    assert not optimizer._pending, "found in the cache"
    other.set("x", begin)
    assert (after(other, 200), after(other, 200)) == (middle, end)


def test_it_is_other_code_that_runs_then() -> None:
    worlds = Worlds(rare("other"))
    ((trackers, kernel, _),) = native._loaded.values()
    optimizer.finish()
    first, second = (tracker["kernel"] for tracker in trackers)
    at = ctypes.cast(kernel, ctypes.c_void_p).value
    assert at == second != first
    worlds.advance()


def loops(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.0.o")}


def test_a_seldom_loop_is_optimized_once_it_was_entered(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizer, "SMALL", 0)
    monkeypatch.setattr(optimizer, "compiled", None)  # none is optimized here
    program, begin = rare("entered"), np.linspace(0.0, 7.0, 12)[:, None]
    worlds = Worlds(program, 12)
    optimizer.finish()
    assert not loops(own_cache)
    # at first as it is, then the better one, by the same bits
    worlds.set("x", begin)
    middle = after(worlds, 200)
    optimizer.finish()
    quick, best = (
        f"{native._key(program.part(0), worlds.target, SeldomLoop(), how, program.shared(0))}.0.o"
        for how in (False, True)
    )
    assert loops(own_cache) == {quick, best}
    assert worlds._asks is not None
    ((first, _),) = worlds._asks._made.values()
    (second,) = worlds._asks._better.values()
    (table,) = worlds._asks._tables[-1:]
    assert first[NAME] != table[0] == second[NAME]
    end = after(worlds, 200)
    # the next session has it at once
    monkeypatch.setattr(native, "_loaded", {})
    other = Worlds(program, 12)
    other.set("x", begin)
    assert (after(other, 200), after(other, 200)) == (middle, end)
    assert not optimizer._pending and other._asks is not None and not other._asks._better


def test_a_seldom_loop_stays_as_it_is_where_no_process_can_be_started(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizer, "SMALL", 0)
    monkeypatch.setattr(optimizer, "CHILD", "raise SystemExit(1)")
    worlds = Worlds(rare("alone"), 12)
    worlds.set("x", 7.0)
    worlds.advance()
    optimizer.finish()
    assert worlds._asks is not None and not worlds._asks._better
    assert len(loops(own_cache)) == 1
    worlds.advance()


@pytest.mark.parametrize("why", ["asked", "core", "small"])
def test_or_it_is_optimized_first(
    why: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "asked":
        optimizer.at_once()
        monkeypatch.setenv(optimizer.OPTIMIZE, os.environ[optimizer.OPTIMIZE])  # taken back later
    elif why == "core":
        monkeypatch.setattr(optimizer, "usable_cores", lambda: 1)
    else:
        monkeypatch.setattr(optimizer, "LARGE", 10_000)
    program = rare()
    worlds = Worlds(program)
    key = native.Build(program, worlds.target, LaneGroups(), True).key
    assert kernels(own_cache) == [f"{key}.o"] and not optimizer._pending


def test_without_the_process_beside_it_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "CHILD", "raise SystemExit(1)")
    worlds = Worlds(rare())
    optimizer.finish()
    (entry,) = native._loaded.values()
    assert len(entry[0]) == 2
    worlds.advance()


def test_a_forked_process_finds_the_code(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Worlds(rare())
    optimizer.finish()
    code = {name: disk.read(name) for name in kernels(own_cache)}
    key = native.Build(made.program, made.target, LaneGroups(), True).key
    (own_cache / f"{key}.o").unlink()
    # a parent whose process beside does not answer here
    monkeypatch.setattr(optimizer, "_started", lambda name, text: lambda: None)
    monkeypatch.setattr(native, "_loaded", {})
    monkeypatch.setattr(optimizer, "LOOK", 0.01)
    monkeypatch.setattr(optimizer, "Thread", lambda **given: Silent())
    Worlds(made.program)
    (job,) = optimizer._pending
    monkeypatch.setattr(optimizer, "Thread", Thread)
    optimizer._forked()
    assert not job.done.is_set()
    disk.write(f"{key}.o", code[f"{key}.o"] or b"")
    assert job.done.wait(PATIENCE) and not optimizer._pending


class Silent:
    def start(self) -> None:
        """It never begins."""


def test_a_process_that_ends_at_once_leaves_the_code_in_the_cache(own_cache: Path) -> None:
    script = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from test_optimizer import optimizer, rare, Worlds
        optimizer.LARGE, optimizer.usable_cores = 0, lambda: 2
        Worlds(rare()).advance()
        print(len(optimizer._pending))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)
    began = monotonic()
    while len(kernels(own_cache)) < 2 and monotonic() - began < PATIENCE:
        sleep(0.05)
    assert len(kernels(own_cache)) == 2

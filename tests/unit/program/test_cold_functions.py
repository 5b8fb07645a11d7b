"""Cold loops are compiled when a world first enters one, while the running kernel waits."""

from __future__ import annotations

import threading
import time
from _thread import interrupt_main
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest
from casadi import SX

from tarsus.commands._progress import COLD, Progress
from tarsus.errors import TarsusError
from tarsus.program.codegen.cold_table import NAME
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.lowering.cold_interface import cold_interfaces
from tarsus.program.run import native
from tarsus.program.run.tiers import optimizes
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.recording.recorder import Interventions, Records, record

LINKER = native._create_jit.__wrapped__


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a session that has loaded nothing."""
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_loaded", {})
    native.create_target_machine(optimizes())
    compiler = LINKER()
    monkeypatch.setattr(native, "_create_jit", lambda: compiler)
    return tmp_path / "cache"


def two_cold_loops() -> Program:
    """x counts up by one; from 10 on it doubles once a run as well, from 1000 on it is set to 1."""
    b = Builder("cold")
    x = b.declare("x", 1)
    start: Values = {"x": x + 1}
    doubled = b.loop(start, lambda v: ({"x": 2 * v["x"]}, ca.SX(0)), 1, x >= 10, cold=True)
    back = b.loop(
        doubled, lambda v: ({"x": ca.SX(1)}, ca.SX(0)), 1, doubled["x"] >= 1000, cold=True
    )
    return b.program(x=back["x"])


def told(x: float) -> float:
    after = 2 * (x + 1) if x >= 10 else x + 1
    return 1.0 if after >= 1000 else after


def objects(folder: Path) -> list[str]:
    """Compiled objects: "" for the kernel, otherwise the number of a loop."""
    return sorted(file.name.partition(".")[2].removesuffix("o") for file in folder.glob("*.o"))


def test_commands_report_waiting_for_a_cold_loop(capsys: pytest.CaptureFixture[str]) -> None:
    worlds = Worlds(two_cold_loops())
    worlds.set("x", 8.0)
    with Progress(quiet=False, verbose=True) as progress:
        progress.show_stage("running")
        worlds.advance()
        assert capsys.readouterr().err.splitlines()[1:] == []
        worlds.set("x", 20.0)
        worlds.advance()
        said = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
        assert said == [COLD, "compiled"]
        worlds.advance()
    worlds.set("x", 1000.0)
    worlds.advance()
    assert not capsys.readouterr().err, "no command listens"


def test_run_time_excludes_waiting_for_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    make = native._cold_loop

    def slow(*given: Any, **named: Any) -> Any:
        time.sleep(0.5)
        return make(*given, **named)

    monkeypatch.setattr(native, "_cold_loop", slow)
    b = Builder("cold")
    q = b.declare("q", 1)
    run = b.loop({"q": q + 1}, lambda v: ({"q": 2 * v["q"]}, ca.SX(0)), 1, q >= 3, cold=True)
    worlds, into = Worlds(b.program(q=run["q"])), (list[Records](), lambda done: None)
    began = time.perf_counter()
    kept = record(worlds, 8, 0.01, lambda records, done: None, Interventions(), into)
    assert time.perf_counter() - began > 0.5 and 0 < kept.wall < 0.4
    assert len(into[0][0]["q"]) == 8


def test_cold_loops_compile_when_entered(own_cache: Path) -> None:
    worlds, x = Worlds(two_cold_loops()), 0.0
    worlds.set("x", x)
    seen = []
    for _ in range(40):
        worlds.advance()
        x = told(x)
        assert worlds.get("x")[0, 0] == x
        seen.append((x, objects(own_cache)))
    assert next(value for value, files in seen if "0." in files) == 22
    assert seen[0][1] == [""]
    assert seen[-1][1] == ["", "0.", "1."]


def test_cold_loops_can_be_compiled_ahead(own_cache: Path) -> None:
    worlds = Worlds(two_cold_loops())
    worlds.compile_ahead()
    assert objects(own_cache) == ["", "0.", "1."]
    worlds.compile_ahead()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("lanes", [1, 4])
def test_worlds_that_enter_together_share_a_cold_loop(threads: int, lanes: int) -> None:
    begin = np.arange(200.0)
    worlds = Worlds(two_cold_loops(), 200, threads=threads, lanes=lanes)
    worlds.set("x", begin[:, None])
    worlds.advance(30)
    expected = begin
    for _ in range(30):
        expected = np.array([told(x) for x in expected])
    np.testing.assert_array_equal(worlds.get("x")[:, 0], expected)


def broken(monkeypatch: pytest.MonkeyPatch, instead: Callable[[], None]) -> None:
    """Something else happens before a loop's function is compiled."""
    compiled = native.compile_module

    def late(text: str, machine: llvm.TargetMachine) -> bytes:
        if NAME in text:
            instead()
        return compiled(text, machine)

    monkeypatch.setattr(native, "compile_module", late)


def test_failed_compilations_raise_and_are_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worlds = Worlds(two_cold_loops())
    with monkeypatch.context() as patch:
        broken(patch, lambda: (_ for _ in ()).throw(TarsusError("no room")))
        for how in (lambda: worlds.advance(), lambda: worlds.advance(3), lambda: worlds.record(2)):
            worlds.set("x", 10.0)
            with pytest.raises(TarsusError, match="no room"):
                how()
    worlds.set("x", 10.0)
    worlds.advance()
    assert worlds.get("x")[0, 0] == 22


def test_ctrl_c_during_compilation_acts_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = threading.Event()

    def interrupt() -> None:
        interrupt_main()
        sent.set()

    worlds = Worlds(two_cold_loops())
    worlds.set("x", 10.0)
    broken(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        worlds.advance()
        sent.wait(5)
    assert sent.is_set() and worlds.get("x")[0, 0] == 22


def test_cold_loops_are_read_from_the_cache(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        worlds = Worlds(two_cold_loops())
        worlds.set("x", 10.0)
        worlds.advance()
        assert worlds.get("x")[0, 0] == 22
        monkeypatch.setattr(native, "_loaded", {})
        compiler = LINKER()
        monkeypatch.setattr(native, "_create_jit", lambda compiler=compiler: compiler)
        broken(monkeypatch, lambda: pytest.fail("compiled again"))


def waiting(cold: bool) -> Program:
    """x grows by one and its quarter; from 10 on it is halved. Of three numbers that wait one is
    read in the cold case alone.
    """
    b = Builder("waiting")
    x = b.declare("x", 1)
    held = entries(b.store("held", ca.vertcat(x / 2, x / 4, x / 8)))
    start: Values = {"x": x + 1, "y": held[1]}

    def halved(values: Values) -> tuple[Values, SX]:
        return {"x": held[0], "y": 0 * values["y"]}, SX(0)

    after = b.loop(start, halved, 1, x >= 10, cold)
    return b.program(x=after["x"] + after["y"] + 0 * held[2])


def test_cold_functions_pass_only_live_registers() -> None:
    program = waiting(cold=True)
    [found] = cold_interfaces(program)
    assert found.live_in == [("~held", 0), ("~more", 0), ("~x", 0), ("~y", 0)]
    assert found.live_out == [("~x", 0), ("~y", 0)]
    # worlds that enter stand beside others that do not
    begin, ends = np.arange(4.0, 20.0), []
    for how in (program, waiting(cold=False)):
        worlds = Worlds(how, 16, lanes=4)
        worlds.set("x", begin[:, None])
        worlds.advance(5)
        ends.append(worlds.get("x"))
    np.testing.assert_array_equal(*ends)

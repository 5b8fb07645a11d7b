"""Cached programs are read unchanged, and never for another plan or other sources."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.patched_code import forget_programs

import tarsus
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint
from tarsus.program.ir.blocks import ColdLoop, LoopBody, replace_cold_loops
from tarsus.program.ir.program import Program
from tarsus.program.ir.serialization import deserialize, serialize
from tarsus.program.run import cache as disk
from tarsus.simulation import program_cache
from tarsus.simulation.fingerprint import find_or_add, fingerprint
from tarsus.simulation.program_cache import cache_key, cached_program
from tarsus.simulation.step_program import Plan, trace_step
from tarsus.stepping import joints
from tarsus.stepping.methods.symplectic_euler import SymplecticEuler
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.slope import Slope


@cache
def base() -> Plan:
    """A ball that falls on a plane."""
    return tarsus.Simulation(ball(), dt=0.001).plan


def ball() -> tarsus.Robot:
    body = Body("ball", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    return tarsus.Robot("ball", (body,), (Candidate("ball", 0, np.zeros(3), 0.1),))


def plan(law: Moreau | None = None, **changed: Any) -> Plan:
    return replace(base(), scene=replace(base().scene, law=law or base().scene.law), **changed)


def bodies_of(program: Program) -> Callable[[str], LoopBody]:
    """Return a function that gives the body of a cold loop by its condition register."""
    loops = dict[str, ColdLoop]()
    replace_cold_loops(program.blocks, lambda loop: loops.setdefault(loop.condition, loop))
    return lambda condition: loops[condition].traced_body


def refused(plan: Plan) -> Program:
    raise AssertionError("traced again")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_programs_round_trip() -> None:
    field = HeightField(np.arange(12.0).reshape(3, 4))
    program = trace_step(replace(base(), scene=replace(base().scene, terrain=field)))
    assert program.tables
    again = deserialize(serialize(program), bodies_of(program))
    assert again.fingerprint == program.fingerprint
    assert again.registers == program.registers and again.sections == program.sections
    assert list(again.tables) == list(program.tables)
    for name, values in program.tables.items():
        np.testing.assert_array_equal(again.tables[name], values)


def test_a_timed_program_keeps_its_stamps() -> None:
    program = trace_step(plan(timed=True))
    assert deserialize(serialize(program)).fingerprint == program.fingerprint


def test_plans_are_traced_once(own_cache: Path) -> None:
    program = cached_program(plan(), trace_step)
    assert serialize(cached_program(plan(), refused)) == serialize(program)
    assert len(list(own_cache.glob("*.program"))) == 1
    with pytest.raises(AssertionError, match="traced again"):
        cached_program(plan(Moreau(solver="sor")), refused)


@dataclass(frozen=True)
class Mine(Moreau):
    """A law of the user's."""


def test_a_plan_with_code_of_the_user_is_always_traced(own_cache: Path) -> None:
    assert cache_key(plan(Mine())) is None
    cached_program(plan(Mine()), trace_step)
    assert not own_cache.exists()


def test_cache_keys_include_sources_and_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = cache_key(base())
    assert key and key == cache_key(plan()) != cache_key(plan(timed=True))
    with monkeypatch.context() as patch:
        (tmp_path / "other.py").write_text("changed = True\n")
        patch.setattr(program_cache, "SOURCE", tmp_path)
        assert disk.source_hash(tmp_path) and cache_key(base()) not in (None, key)
    with monkeypatch.context() as patch:
        patch.setattr(program_cache, "_versions", lambda: ("3.11", "x86_64", "3", "0", "2"))
        assert cache_key(base()) not in (None, key)
    assert cache_key(base()) == key


def test_pickling_preserves_keys() -> None:
    """Pickling writes into a class when its first object is pickled."""
    if "__slotnames__" in vars(Slope):
        del Slope.__slotnames__
    key = cache_key(plan())
    pickle.dumps(Slope())
    assert "__slotnames__" in vars(Slope) and cache_key(plan()) == key is not None


def test_cleared_programs_are_traced_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def program() -> Program:
        return tarsus.Simulation(ball(), dt=0.001).program

    before = program()
    assert program() is before
    with monkeypatch.context() as patch:
        patch.setattr(joints, "MAX_PASSES", joints.MAX_PASSES + 1)
        patch.setattr("tarsus.contact.solvers.newton.TINY", 2e-30)
        forget_programs(patch)
        changed = program().expanded.fingerprint
    assert changed != before.expanded.fingerprint
    assert program() is before


def test_repeated_scripts_use_the_cached_program(own_cache: Path) -> None:
    script = "import tarsus, logging; logging.basicConfig(level=10); tarsus.Simulation('starleth')"
    logs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stderr
        for _ in range(2)
    ]
    assert "program traced in" in logs[0] and "program read in" in logs[1]


# ---------------------------------------------------------------- fingerprints


def test_plans_that_differ_have_different_fingerprints() -> None:
    scene, robot = base().scene, base().scene.mechanism
    [body] = robot.bodies
    heavier = replace(body, inertia=replace(body.inertia, mass=np.nextafter(1.0, 2.0)))
    plans = [
        base(),
        plan(Moreau(solver="sor")),
        plan(stepper=SymplecticEuler()),
        plan(controller=Trot()),
        plan(controller=Trot(step_height=0.061)),
        plan(scaled_bodies=("ball",)),
        plan(pushed_bodies=("ball",)),
        plan(timed=True),
        replace(base(), scene=replace(scene, terrain=Slope())),
        replace(base(), scene=replace(scene, mechanism=replace(robot, bodies=(heavier,)))),
    ]
    found = {fingerprint(one) for one in plans}
    assert all(one.portable for one in found) and len(found) == len(plans)
    assert fingerprint(base()) == fingerprint(plan())


def test_foreign_objects_compare_by_identity() -> None:
    mine = Mine()
    for value in (mine, len, lambda: 0, {"a": object()}):
        assert not fingerprint(value).portable
        assert fingerprint(value) == fingerprint(value)
    assert fingerprint(mine) == fingerprint(Mine()) != fingerprint(Moreau())
    first, second = object(), object()
    assert fingerprint({"a": first}) != fingerprint({"a": second})
    assert fingerprint(len) != fingerprint(print) and fingerprint(0.0) != fingerprint(-0.0)


def test_recent_values_are_shared() -> None:
    recent: dict[str, Slope] = {}
    steep, flat = Slope(0.3), Slope(0.1)
    assert find_or_add(recent, steep, 2) is steep and find_or_add(recent, flat, 2) is flat
    assert find_or_add(recent, Slope(0.3), 2) is steep
    third = Slope(0.2)
    assert find_or_add(recent, third, 2) is third and len(recent) == 2
    again = Slope(0.1)  # used before the others
    assert find_or_add(recent, again, 2) is again

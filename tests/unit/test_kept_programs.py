"""Programs kept on disk: read as they were written, and never for what they are not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import tarsus
from tarsus.contact.laws.moreau import SOLVERS, Moreau
from tarsus.contact.solvers import _cone_edges
from tarsus.contact.solvers._cone_edges import on_edges
from tarsus.contact.solvers._interior_point import settled
from tarsus.contact.solvers.newton import Newton
from tarsus.control.gaits.trot import Trot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint
from tarsus.program.ir.program import Program
from tarsus.program.ir.written import read, written
from tarsus.simulation import kept_programs, step_program
from tarsus.simulation.alike import description
from tarsus.simulation.step_program import Plan, traced
from tarsus.stepping import joints
from tarsus.stepping.methods.symplectic_euler import SymplecticEuler
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.slope import Slope


@cache
def base() -> Plan:
    """A ball that falls on a plane."""
    body = Body("ball", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    robot = tarsus.Robot("ball", (body,), (Candidate("ball", 0, np.zeros(3), 0.1),))
    return tarsus.Simulation(robot, dt=0.001).plan


def plan(law: Moreau | None = None, **changed: Any) -> Plan:
    return replace(base(), scene=replace(base().scene, law=law or base().scene.law), **changed)


def refused(plan: Plan) -> Program:
    raise AssertionError("traced again")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_read_is_what_was_written() -> None:
    field = HeightField(np.arange(12.0).reshape(3, 4))
    program = traced(replace(base(), scene=replace(base().scene, terrain=field)))
    assert program.tables
    again = read(written(program))
    assert again.fingerprint == program.fingerprint
    assert again.registers == program.registers and again.sections == program.sections
    assert list(again.tables) == list(program.tables)
    for name, values in program.tables.items():
        np.testing.assert_array_equal(again.tables[name], values)


def test_pickling_changes_no_name() -> None:
    """It writes into a class when the first of its objects is pickled."""
    if "__slotnames__" in vars(Slope):
        del Slope.__slotnames__
    name = kept_programs.name_of(plan())
    pickle.dumps(Slope())
    assert "__slotnames__" in vars(Slope) and kept_programs.name_of(plan()) == name is not None


def test_a_timed_program_keeps_its_stamps() -> None:
    program = traced(plan(timed=True))
    assert read(written(program)).fingerprint == program.fingerprint


def test_a_plan_is_traced_once(own_cache: Path) -> None:
    program = kept_programs.kept(plan(), traced)
    assert kept_programs.kept(plan(), refused).fingerprint == program.fingerprint
    assert len(list(own_cache.glob("*.program"))) == 1
    with pytest.raises(AssertionError, match="traced again"):
        kept_programs.kept(plan(Moreau(solver="sor")), refused)


@dataclass(frozen=True)
class Mine(Moreau):
    """A law of the user's."""


def test_what_is_the_user_s_is_always_traced(own_cache: Path) -> None:
    assert description(plan(Mine())) is None
    kept_programs.kept(plan(Mine()), traced)
    assert not own_cache.exists()


def mine(*arguments: object) -> None:
    raise NotImplementedError


PATCHES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a constant": lambda p: p.setattr(joints, "PASSES", joints.PASSES + 1),
    "one of two": lambda p: p.setattr(_cone_edges, "WIDE", 2 * _cone_edges.WIDE),
    "one imported": lambda p: p.setattr("tarsus.contact.solvers.newton.TINY", 2e-30),
    "a class's": lambda p: p.setattr(Newton, "patience", Newton.patience + 2),
    "a table's": lambda p: p.setitem(SOLVERS, "newton", Newton(patience=8)),
    "a default": lambda p: p.setattr(on_edges, "__defaults__", (7,)),
    "a default by name": lambda p: p.setattr(on_edges, "__kwdefaults__", {"steps": 3}),
    "a function's code": lambda p: p.setattr(on_edges, "__code__", settled.__code__),
    "another of ours": lambda p: p.setattr(step_program, "within_limits", step_program.applied),
}
FOREIGN: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a function": lambda p: p.setattr(step_program, "within_limits", mine),
    "one in disguise": lambda p: p.setattr(
        joints, "step_with_joints", wraps(joints.step_with_joints)(mine)
    ),
    "a method": lambda p: p.setattr(Moreau, "solve", mine),
    "a property": lambda p: p.setattr(Program, "seldom", property(mine)),
    "a part of one": lambda p: p.setattr(step_program, "applied", partial(mine, 1)),
    "a mock": lambda p: p.setattr(step_program, "applied", MagicMock()),
}


@pytest.mark.parametrize("patch", PATCHES)
def test_what_is_patched_has_another_name(patch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = kept_programs.name_of(base())
    assert name and name == kept_programs.name_of(base())
    with monkeypatch.context() as patches:
        PATCHES[patch](patches)
        assert kept_programs.name_of(base()) not in (None, name)
    assert kept_programs.name_of(base()) == name


@pytest.mark.parametrize("patch", FOREIGN)
def test_with_code_of_the_user_s_it_is_traced(patch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = base()
    FOREIGN[patch](monkeypatch)
    assert kept_programs.name_of(given) is None


def test_a_script_that_runs_again_finds_its_program(own_cache: Path) -> None:
    script = "import tarsus, logging; logging.basicConfig(level=10); tarsus.Simulation('starleth')"
    told = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stderr
        for _ in range(2)
    ]
    assert "program traced in" in told[0] and "program read in" in told[1]


def test_plans_that_differ_are_described_differently() -> None:
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
    described = {description(one) for one in plans}
    assert None not in described and len(described) == len(plans)
    assert description(base()) == description(plan())


def test_slices_among_the_constants_are_told_apart() -> None:
    # Python 3.14 keeps x[1:3] so; marshal's version without references cannot write it
    def with_constant(value: slice) -> Any:
        inner = compile("x", "f", "eval").replace(co_consts=((value, None),))
        return compile("y", "f", "eval").replace(co_consts=(1.5, inner))

    first = kept_programs.code_bytes(with_constant(slice(1, 3)))
    assert first == kept_programs.code_bytes(with_constant(slice(1, 3)))
    assert first != kept_programs.code_bytes(with_constant(slice(1, 4)))

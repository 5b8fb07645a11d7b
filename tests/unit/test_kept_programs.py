"""Programs kept on disk: read as they were written, and never for what they are not."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint
from tarsus.program.ir.blocks import Program
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


@pytest.mark.parametrize("patched", ["a constant", "a function", "a method"])
def test_what_is_patched_is_traced(
    patched: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mine(*arguments: object) -> None:
        raise NotImplementedError

    given = plan()
    if patched == "a constant":
        monkeypatch.setattr(joints, "PASSES", joints.PASSES + 1)
    elif patched == "a function":
        monkeypatch.setattr(step_program, "within_limits", mine)
    else:
        monkeypatch.setattr(Moreau, "solve", mine)
    assert kept_programs._name(given) is None


def test_nothing_is_patched_otherwise() -> None:
    changed = [m.__name__ for m in kept_programs._own_modules() if kept_programs._changed(m)]
    assert changed == [] and "tarsus.stepping.joints" in sys.modules


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

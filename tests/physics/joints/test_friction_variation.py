"""Dry friction that varies with angle, rate and motor torque, against closed forms.

A rotor of inertia I starts at rest or with a rate; over one step its rate changes by
dt (tau -+ f) / I, with f of `tarsus.model.friction` at the start of the step.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidModel, UnknownName
from tarsus.model.friction import FrictionVariation
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf

INERTIA, DRY, DT = 0.1, 0.5, 1e-3
ROTOR = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="rotor">
<joint name="j" axis="0 0 1" frictionloss="{DRY}"/>
<inertial pos="0 0 0" mass="1" diaginertia=".1 .1 {INERTIA}"/></body></worldbody>
<actuator><motor name="m" joint="j"/></actuator>{{}}</mujoco>"""
LEAST = 1e-6  # N m: friction of a joint whose friction is clipped at zero


def rotor(variation: FrictionVariation | None) -> Robot:
    robot = Robot.of(read_mjcf(ROTOR.format("")))
    body = robot.bodies[0]
    return replace(robot, bodies=(replace(body, joint=replace(body.joint, friction=variation)),))


def friction_in_step(variation: FrictionVariation, q: float, u: float, torque: float) -> float:
    """Measure the friction of a joint that slides at the end of one step, in N m."""
    sim = tarsus.Simulation(rotor(variation), dt=DT)
    sim.set(q=[q], u=[u])
    sim.step(np.array([torque]))
    end = float(np.ravel(sim.u)[0])
    assert abs(end) > 1e-6, "the joint must slide"
    return float(np.sign(end) * (torque - INERTIA * (end - u) / DT))


@pytest.mark.parametrize(
    ("variation", "q", "u", "torque", "limit"),
    [
        ({"slope": 0.2, "curvature": 0.3, "center": 0.1}, 0.5, 0.0, 2.0, 0.5 + 0.08 + 0.048),
        ({"slope": 0.2, "center": 0.1, "upper": 0.3}, 0.5, 1.0, 0.0, 0.5 + 0.04),
        ({"slope": 0.2, "lower": -0.5}, -3.0, 1.0, 0.0, 0.5 - 0.1),
        ({"slope": 1.0}, -3.0, 1.0, 0.0, 0.0),
        ({"stribeck": 0.4, "stribeck_rate": 0.2}, 0.0, 0.0, 2.0, 0.9),
        ({"stribeck": 0.4, "stribeck_rate": 0.2}, 0.0, -0.3, 0.0, 0.5 + 0.4 * np.exp(-1.5)),
        ({"load": 0.25}, 0.0, 0.0, 2.0, 0.5 + 0.5),
        ({"load": 0.25, "back_load": 0.1}, 0.0, 1.0, 2.0, 0.5 + 0.5),
        ({"load": 0.25, "back_load": 0.1}, 0.0, -1.0, 2.0, 0.5 + 0.2),
    ],
)
def test_friction_follows_its_law(
    variation: dict[str, float], q: float, u: float, torque: float, limit: float
) -> None:
    found = friction_in_step(FrictionVariation(**variation), q, u, torque)
    assert found == pytest.approx(limit, abs=1e-9)


def test_the_parts_add_up() -> None:
    parts: dict[str, Any] = {"slope": 0.2, "stribeck": 0.4, "stribeck_rate": 0.2, "load": 0.25}
    found = friction_in_step(FrictionVariation(**parts), 0.5, 0.1, 2.0)
    assert found == pytest.approx(0.5 + 0.1 + 0.4 * np.exp(-0.5) + 0.5, abs=1e-9)


@pytest.mark.parametrize(("torque", "moves"), [(0.899, False), (0.901, True)])
def test_a_joint_at_rest_breaks_away_at_the_static_friction(torque: float, moves: bool) -> None:
    sim = tarsus.Simulation(
        rotor(FrictionVariation(stribeck=0.4)), dt=DT, controller=lambda t, q, u: [torque]
    )
    log = sim.run(0.05)
    assert bool(np.abs(log.q.values).max() > 1e-7) == moves


def test_every_world_has_its_own_variation() -> None:
    names = ["stribeck", "load_friction", "friction_slope"]
    sim = tarsus.Simulation(rotor(FrictionVariation(slope=0.2)), dt=DT, worlds=3, varied=names)
    sim.set(stribeck=[0, 0, 0.2], load_friction=[0, 0.3, 0], friction_slope=[0.2, 0, 0], q=[0.5])
    sim.step(np.array([1.0]))
    limits = np.array([0.6, 0.8, 0.7])
    assert np.ravel(sim.u) * INERTIA / DT == pytest.approx(1.0 - limits, abs=1e-9)


def test_stiffness_and_rest_of_springs_differ_by_world() -> None:
    text = ROTOR.format("").replace(f'frictionloss="{DRY}"', 'stiffness="1" springref="0.5"')
    robot = Robot.of(read_mjcf(text.replace("<mujoco>", '<mujoco><compiler angle="radian"/>')))
    sim = tarsus.Simulation(robot, dt=1e-4, worlds=2, varied=["stiffness", "rest"])
    sim.set(stiffness=[1.0, 3.0], rest=[0.5, -0.2])
    sim.step(np.array([0.0]))
    assert np.ravel(sim.u) * INERTIA / 1e-4 == pytest.approx([0.5, -0.6], rel=1e-5)


def test_mjcf_files_keep_the_variation(tmp_path: Path) -> None:
    variation = FrictionVariation(0.1, 0.2, -1.8, -2.4, np.inf, 0.3, 0.05, 0.1, 0.2)
    written = to_mjcf(rotor(variation))
    assert read_mjcf(written).bodies[0].joint.friction == variation
    numeric = '<custom><numeric name="tarsus.friction.{}" data="{}"/></custom>'
    with refused(InvalidModel, "j"):
        read_mjcf(ROTOR.format(numeric.format("j", "1 2 3")))
    with refused(UnknownName, "k"):
        read_mjcf(ROTOR.format(numeric.format("k", "0 0 0 0 0 0 1 0 0")))


@pytest.mark.parametrize(
    "values",
    [{"load": -0.1}, {"stribeck_rate": 0.0}, {"slope": np.nan}, {"lower": 1.0, "upper": 0.0}],
)
def test_impossible_variations_are_rejected(values: dict[str, float]) -> None:
    with pytest.raises(InvalidModel):
        FrictionVariation(**values)
